//! What a group of completions is shown: the request, and programs with what they came to.

use crate::environment::{Labels, Request};

use super::database::{Candidate, Database, Lineage};

/// The request of a group. With `inspirations` fewer of them are shown, if a model's context has no room.
pub(super) fn request(
    asked: &Request,
    database: &Database,
    lineage: &Lineage,
    inspirations: usize,
    labels: Labels,
) -> Request {
    let Some(parent) = lineage.parent else { return asked.clone() };
    let known = database.candidates();
    let mut words = asked.words.clone();
    for (number, id) in lineage.inspirations.iter().take(inspirations).rev().enumerate() {
        let opening = if number == 0 { "\n\nEarlier programs, and what they came to." } else { "" };
        words += &format!("{opening}\n\n{}", told(&known[*id], labels));
    }
    words += &format!("\n\nImprove this program.\n\n{}", told(&known[parent], labels));
    words += "\n\nWrite the whole program again, so that it comes to more.";
    // What is to be improved is example enough, and its form is that of the answer.
    Request { words, example: None, ..asked.clone() }
}

fn told(candidate: &Candidate, labels: Labels) -> String {
    let result = match labels {
        Labels::Tests => format!("It passes {}% of the tests", whole_percent(candidate.score)),
        _ => format!("It scores {} points a game", labels.written_closely(candidate.score)),
    };
    let millions = candidate.fuel as f64 / 1e6;
    // Digits by which programs of nearly the same cost are told apart.
    let decimals = if millions < 10.0 { 3 } else { 1 };
    let source = candidate.source.trim_end();
    format!("```python\n{source}\n```\n{result}, with {millions:.decimals$} million instructions.")
}

/// A share as whole percent, of which 100 is all.
fn whole_percent(share: f64) -> f64 {
    let percent = (100.0 * share).round();
    if share < 1.0 { percent.min(99.0) } else { percent }
}

#[cfg(test)]
mod tests {
    use super::super::database::JudgedProgram;
    use super::*;
    use crate::evaluation::FailedGames;

    fn asked() -> Request {
        Request {
            style: "chance".into(),
            example: None,
            words: "Write `strategy(board)`.".into(),
            opening: "def strategy(board".into(),
            task: None,
            held_out: false,
            honeypot: false,
        }
    }

    /// Programs with these scores and costs, in the order of the search.
    fn found(programs: &[(&str, f64, u64)]) -> Database {
        let mut database = Database::new(1);
        for &(name, score, fuel) in programs {
            let source = format!("def strategy(board):\n    return '{name}'\n");
            let judged = JudgedProgram {
                digest: name.into(),
                source,
                reward: score,
                score,
                failed: FailedGames::default(),
                fuel,
            };
            database.take_in(judged, &Lineage::default(), 1);
        }
        database
    }

    #[test]
    fn the_program_to_improve_comes_last_and_the_best_of_the_others_before_it() {
        let database = found(&[("x", 100.0, 2_400_000), ("y", 200.0, 2_400_000), ("z", 300.0, 2_400_000)]);
        let lineage = Lineage { island: 0, parent: Some(0), inspirations: vec![2, 1] };
        let words = request(&asked(), &database, &lineage, 2, Labels::Board).words;
        let place = |text: &str| words.find(text).unwrap_or_else(|| panic!("{text} in {words}"));
        assert!(place("return 'y'") < place("It scores 200 points a game, with 2.400 million instructions."));
        assert!(place("It scores 200") < place("return 'z'") && place("return 'z'") < place("Improve this program."));
        assert!(place("Improve this program.") < place("return 'x'"));
        assert!(words.ends_with("Write the whole program again, so that it comes to more."));
        assert!(!request(&asked(), &database, &lineage, 0, Labels::Board).words.contains("Earlier"));
        assert_eq!(request(&asked(), &database, &Lineage::default(), 2, Labels::Board), asked());
    }

    #[test]
    fn programs_that_differ_a_little_are_told_apart() {
        assert_eq!([0.0, 0.29, 299.0 / 300.0, 1.0].map(whole_percent), [0.0, 29.0, 99.0, 100.0]);
        let database = found(&[("x", 1.0, 1_619_465), ("y", 1.0, 1_602_000)]);
        let lineage = Lineage { island: 0, parent: Some(0), inspirations: vec![1] };
        let words = request(&asked(), &database, &lineage, 1, Labels::Tests).words;
        for expected in ["It passes 100% of the tests, with 1.619 million", "100% of the tests, with 1.602 million"] {
            assert!(words.contains(expected), "{words}");
        }
    }
}
