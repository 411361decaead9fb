//! Describes a run in words, and formats numbers for people.

use super::event::RunHeader;
use crate::plural::{counted, prefixed};
use grpo_environment::Labels;

/// Precedes the description of a control run.
const CONTROL: &str =
    "CONTROL: rewards are shuffled inside each step (reward.shuffled = true); nothing can be learnt here\n";

/// Describes the run in two lines, after a line for a control run.
pub(super) fn headline(header: &RunHeader) -> String {
    let trained = if header.trainable == header.parameters {
        "all trained".to_owned()
    } else {
        format!("{} trained", prefixed(header.trainable))
    };
    let workers = match header.parallel_rewards {
        0 => "sequential".to_owned(),
        workers => counted(workers, "worker"),
    };
    let ahead = if header.steps_ahead > 0 { ", the next step written meanwhile" } else { "" };
    let cases = match header.labels {
        Labels::Board | Labels::Game => format!("{} each, ", counted(header.games, "game")),
        Labels::Tests => String::new(),
    };
    let (done, last) = (header.resumed_from, header.max_steps);
    let steps = match done < last {
        true => format!("steps {} to {last}", done + 1),
        false => format!("the end after step {done}"),
    };
    let control = if header.control { CONTROL } else { "" };
    format!(
        "{control}{} ({} weights, {trained}) on {}, seed {}\n\
         {} x {} = {} a step, {cases}{workers}{ahead}; {steps} in {}",
        header.model,
        prefixed(header.parameters),
        header.device,
        header.seed,
        counted(header.groups, "prompt"),
        counted(header.num_generations, "completion"),
        header.groups * header.num_generations,
        header.output_dir.display()
    )
}

/// Seconds as `8 s`, `2:05` (minutes) or `1:02:05` (hours).
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        assert_eq!([8.2, 125.0, 3725.0].map(duration), ["8 s", "2:05", "1:02:05"]);
    }

    #[test]
    fn the_headline_prints_the_product_of_groups_and_completions() {
        let header = RunHeader { groups: 8, num_generations: 8, max_steps: 60, ..RunHeader::default() };
        assert!(headline(&header).contains("8 prompts x 8 completions = 64 a step"));
        let one = RunHeader { games: 1, groups: 1, num_generations: 2, ..RunHeader::default() };
        assert!(headline(&one).contains("1 prompt x 2 completions = 2 a step, 1 game each, "), "{}", headline(&one));
        assert!(!headline(&header).contains("meanwhile"));
        assert!(headline(&header).contains("; steps 1 to 60 in "));
        let ending = RunHeader { resumed_from: 60, ..header.clone() };
        assert!(headline(&ending).contains("; the end after step 60 in "), "{}", headline(&ending));
        assert!(
            headline(&RunHeader { steps_ahead: 1, ..header }).contains("sequential, the next step written meanwhile;")
        );
    }

    #[test]
    fn a_control_says_so() {
        assert!(headline(&RunHeader { control: true, ..RunHeader::default() }).starts_with("CONTROL: "));
        assert!(!headline(&RunHeader::default()).contains("CONTROL"));
    }
}
