//! Tests of the choice of the best of many programs, with the real sandbox.

use grpo_2048::arena::Arena;
use grpo_2048::environment::game2048::entry;
use grpo_2048::evaluation::{EarlierGames, HeldOut, Sample, choose_best, play_report};
use grpo_2048::program::Program;

use crate::arena::arena;

/// Programs that play, one for each order of the four moves, and two that do not play.
fn sources() -> Vec<String> {
    let mut sources = vec!["def strategy(board):\n    return board[9]\n".to_owned(), "no program".to_owned()];
    for first in 0..4 {
        for (second, third) in [(1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2)] {
            let order: String = [0, second, third, 6 - second - third]
                .iter()
                .map(|place| ["W", "A", "S", "D"][(first + place) % 4])
                .collect();
            sources.push(format!(
                "def strategy(board, calls=[0]):\n    calls[0] += 1\n    return '{order}'[calls[0] % 4]\n"
            ));
        }
    }
    sources
}

fn samples(arena: &Arena, sources: &[String], games: usize) -> Vec<Sample> {
    let held_out = HeldOut::published();
    let programs = sources.iter().map(|source| (Program::from_text(source, &entry()), held_out.selection(games)));
    let evaluations = arena.evaluate_all(programs, &mut |_, _| ()).unwrap().into_iter().zip(sources);
    let sample = |(selection, source): (_, &String)| Sample {
        style: "plain".into(),
        program: Program::from_text(source, &entry()),
        reward: 0.0,
        tokens: 1,
        cut: false,
        surprise: 0.0,
        turns: vec![true],
        selection,
        report: Vec::new(),
    };
    evaluations.map(sample).collect()
}

#[test]
fn halving_plays_the_promising_ones_more_and_the_winner_as_if_it_had_played_all_along() {
    let arena = arena(2);
    let mut sources = sources();
    sources.extend(sources[2..6].to_vec());
    let mut tried = samples(&arena, &sources, 1);
    let halving = choose_best(&arena, &HeldOut::published(), &mut tried, EarlierGames::default(), &mut |_, _| ())
        .unwrap()
        .unwrap();
    let rungs: Vec<(usize, usize)> = halving.rungs.iter().map(|rung| (rung.programs, rung.games)).collect();
    // Of 30 samples one is no program and four are copies. A quarter of the 25 others is 7, but at least 8 remain.
    assert_eq!(rungs, [(25, 1), (8, 2), (8, 4), (8, 8)]);

    let whole = samples(&arena, &sources, 8);
    let winner = &tried[halving.winner];
    assert_eq!(winner.selection.games, whole[halving.winner].selection.games);
    let finalists =
        tried.iter().zip(&whole).filter(|(sample, _)| sample.selection.games.len() == 8 && sample.score() > 0.0);
    assert_eq!(winner.score(), finalists.map(|(_, whole)| whole.score()).fold(0.0, f64::max));

    let mut games = vec![0; tried.len()];
    games[halving.winner] = 3;
    play_report(&arena, &HeldOut::published(), &mut tried, &games, &mut |_, _| ()).unwrap();
    let played: Vec<usize> = tried.iter().map(|sample| sample.report.len()).collect();
    assert_eq!(played, games);
    assert!(tried[halving.winner].report_score().unwrap() > 500.0);
}

#[test]
fn where_nothing_is_a_program_nothing_is_chosen() {
    let arena = arena(2);
    let mut none = samples(&arena, &["no program".to_owned(), "nor this".to_owned()], 1);
    assert_eq!(
        choose_best(&arena, &HeldOut::published(), &mut none, EarlierGames::default(), &mut |_, _| ()).unwrap(),
        None
    );
}
