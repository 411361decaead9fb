//! Tests of what the built-in model is pretrained on, as players.

use std::ops::Range;

use grpo_2048::corpus::{self, Mix, Style};
use grpo_2048::environment::Outcome;
use grpo_2048::seed::{Purpose, Seed};
use grpo_2048::stats::mean;

use crate::arena::evaluate;

fn programs(mix: &Mix, count: usize) -> Vec<String> {
    let mut rng = Seed::root(4242).child(Purpose::Corpus, 0).rng();
    (0..count).map(|_| corpus::program(&mut rng, mix).source).collect()
}

fn first_games(sources: &[String]) -> Vec<Outcome> {
    let texts: Vec<&str> = sources.iter().map(String::as_str).collect();
    evaluate(2, &texts, 1).into_iter().map(|evaluation| evaluation.games.into_iter().next().unwrap()).collect()
}

/// Mean score of each program over these boards.
fn mean_scores(sources: &[String], boards: Range<usize>) -> Vec<f64> {
    let texts: Vec<&str> = sources.iter().map(String::as_str).collect();
    let evaluations = evaluate(2, &texts, boards.end as u64);
    let later = |games: &[Outcome]| mean(games.iter().skip(boards.start).map(|game| game.score));
    evaluations.iter().map(|evaluation| later(&evaluation.games)).collect()
}

/// Those with the best scores, which are `count`.
fn best(sources: &[String], boards: Range<usize>, count: usize) -> Vec<String> {
    let scores = mean_scores(sources, boards);
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order[..count].iter().map(|index| sources[*index].clone()).collect()
}

/// A program whose rows are asked for their values after a move, with the same values of boards that are moved.
fn moving_boards(source: &str) -> String {
    let (before, ahead) = source.split_once("    W += zip(*W)\n").unwrap();
    let (row, after) = ahead.split_once("    def look(b):\n").unwrap();
    let (head, value) = row.split_once(" = [").unwrap();
    let (value, rest) = value.split_once(" for r in (").unwrap();
    let (_, tail) = rest.split_once('\n').unwrap();
    let after = &after[after.find("    def ").unwrap()..];
    let look = "    def look(b):\n        return max(sum(map(row, move(b, m), range(4))) for m in \"WASD\")\n";
    format!("{before}{head} = {value}\n{tail}{look}{after}")
}

/// What a table of rows says of a board after a move is what the moved board says. A term for merges counts them in moved
/// columns instead of in the rows that lie across these, so such programs are left out.
#[test]
fn looking_ahead_by_rows_and_by_boards_plays_the_same_games() {
    let is_comparable = |source: &String| {
        let one_move = source.contains("def move(b, m)") && !source.contains("x == y > 0");
        source.contains("W += zip(*W)") && one_move
    };
    let written = programs(&Mix::only(Style::Chance), 1000);
    let by_rows: Vec<String> = written.into_iter().filter(is_comparable).collect();
    assert!(by_rows.len() > 8, "{} programs", by_rows.len());
    let by_boards: Vec<String> = by_rows.iter().map(|source| moving_boards(source)).collect();
    for ((rows, boards), source) in first_games(&by_rows).iter().zip(first_games(&by_boards)).zip(&by_rows) {
        // The slower of the two may use its budget up earlier.
        let both = rows.moves_text().len().min(boards.moves_text().len());
        assert!(both > 20 || rows.moves_text() == boards.moves_text(), "{source}");
        assert_eq!(rows.moves_text()[..both], boards.moves_text()[..both], "{source}");
    }
}

/// The built-in model finds its best players by itself: nothing that it has read scores what training comes to. Of 3,000
/// programs the best hundred are chosen by two games and five of these by sixteen others; what they score is the mean over two
/// hundred more, because the best of many in a few games is a lucky one.
#[test]
#[ignore = "three minutes; `make proofs` runs it"]
fn no_program_of_the_corpus_is_strong() {
    let written = programs(&Mix::default(), 3000);
    let five = best(&best(&written, 0..2, 100), 2..18, 5);
    let strongest = mean_scores(&five, 18..218).into_iter().fold(0.0, f64::max);
    println!("the best of 3,000 programs of the corpus has a mean score of {strongest:.0}");
    assert!(strongest < 30_000.0, "{strongest}");
}
