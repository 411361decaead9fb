//! What a run keeps of a step: its completions, the elites that played again, and programs that the tiers differ on.

use std::collections::BTreeMap;

use crate::arena::{Difference, Evaluation};
use crate::environment::{Outcome, Points};
use crate::json_line;
use crate::metrics::shortest;
use crate::reward::Reward;
use crate::rollout::FinishReason;

use super::super::TrainError;
use super::super::elites::Replayed;
use super::super::episode::Turn;
use super::super::run_dir::{COMPLETIONS, DIFFERENCES, REPLAYS, RunDir, step_file};
use super::lesson::Lesson;

/// Version of the lines in the files of `completions/` and `elites/`. Lines of version 2 have the verdict below `became`, and
/// `verdict` says how the program started. Lines of version 1 have no `version` key: verdict and games were inside
/// `evaluation`, a verdict with a reason was an object, and seeds were numbers.
pub const COMPLETIONS_VERSION: u64 = 3;

/// Adds verdict, reason, games and digest of an evaluation to the JSON object `line`; returns the line of the file.
fn with_evidence(line: serde_json::Value, evaluation: &Evaluation, cut: bool) -> String {
    let mut line = line;
    line["verdict"] = evaluation.verdict(cut).name().into();
    line["reason"] = evaluation.reason().into();
    line["games"] = serde_json::to_value(&evaluation.games).expect("outcomes are JSON");
    line["digest"] = evaluation.digest().into();
    json_line(&line).expect("evidence is JSON")
}

/// Writes all that is kept of the programs of a step.
pub(super) fn write(dir: &RunDir, lesson: &Lesson<'_>, replays: &[Replayed], turns: usize) -> Result<(), TrainError> {
    log_completions(dir, lesson, turns)?;
    log_replays(dir, lesson.step, replays)?;
    log_differences(dir, lesson, replays)
}

/// Writes `completions/step_00012.jsonl`: one line per completion, in order of their index. With several turns, the line has
/// the answer and beside it all turns.
fn log_completions(dir: &RunDir, lesson: &Lesson<'_>, turns: usize) -> Result<(), TrainError> {
    let advantages = lesson.advantages_in_loss();
    let learnt = lesson.learnt.items().iter().zip(advantages.items());
    let of_place: BTreeMap<usize, &[f32]> = learnt.map(|(place, turns)| (*place, &turns[..])).collect();
    let mut text = String::new();
    for (index, (prompt, episode)) in lesson.episodes.with(lesson.prompts).enumerate() {
        // None if the update does not learn from it.
        let advantages = of_place.get(&index).copied().unwrap_or_default();
        let Turn { completion, program, evaluation, .. } = episode.answer();
        let mut line = serde_json::json!({
            "version": COMPLETIONS_VERSION,
            "step": lesson.step,
            "index": index,
            "style": prompt.style,
            "prompt": prompt.text,
            "completion": completion.text,
            "tokens": episode.sampled_tokens(),
            "finish": completion.finish,
            "reward": shortest(episode.reward.value),
            "reward_parts": parts(&episode.reward),
            "advantage": advantages.first().map(|advantage| shortest(*advantage)),
            "program": program.as_ref().ok().map(|program| program.digest_text()),
        });
        if turns > 1 {
            line["turns"] =
                episode.turns.iter().enumerate().map(|(turn, of)| told_turn(of, turn, advantages)).collect();
        }
        text.push_str(&with_evidence(line, evaluation, episode.is_answer_truncated()));
    }
    Ok(dir.write_whole(&step_file(COMPLETIONS, lesson.step), text.as_bytes())?)
}

fn parts(reward: &Reward) -> serde_json::Map<String, serde_json::Value> {
    reward.parts.iter().map(|(name, value)| ((*name).to_owned(), shortest(*value).into())).collect()
}

/// One turn of a line, number `number` from 0: what the policy was told, what it wrote, and what came of it.
fn told_turn(turn: &Turn, number: usize, advantages: &[f32]) -> serde_json::Value {
    let Turn { told, completion, evaluation, reward, .. } = turn;
    let tests = evaluation.games.first().and_then(Outcome::tests);
    serde_json::json!({
        "told": told.text,
        "completion": completion.text,
        "tokens": completion.ids.len(),
        "finish": completion.finish,
        "verdict": evaluation.verdict(completion.finish == FinishReason::Length).name(),
        "reason": evaluation.reason(),
        "failed": tests.and_then(|tests| tests.failed.as_ref()),
        "score": Points(evaluation.mean_score()),
        "reward": shortest(reward.value),
        "advantage": advantages.get(number).or(advantages.first()).map(|advantage| shortest(*advantage)),
    })
}

/// Writes `elites/step_00012.jsonl`: one line per elite that played again in this step; no file if none did.
fn log_replays(dir: &RunDir, step: usize, replays: &[Replayed]) -> Result<(), TrainError> {
    if replays.is_empty() {
        return Ok(());
    }
    let line = |replayed: &Replayed| {
        let Replayed { program, reward, evaluation } = replayed;
        let line = serde_json::json!({
            "version": COMPLETIONS_VERSION,
            "step": step,
            "program": program,
            "reward": shortest(*reward),
        });
        with_evidence(line, evaluation, false)
    };
    let text: String = replays.iter().map(line).collect();
    Ok(dir.write_whole(&step_file(REPLAYS, step), text.as_bytes())?)
}

/// Writes `tier_differences/step_00012.jsonl`: one line per program of this step, whether sampled or played again, that
/// compiled code ran otherwise than CPython; no file if there is none.
fn log_differences(dir: &RunDir, lesson: &Lesson<'_>, replays: &[Replayed]) -> Result<(), TrainError> {
    let replayed = replays.iter().map(|replayed| &replayed.evaluation);
    let turns = lesson.episodes.items().iter().flat_map(|episode| &episode.turns);
    let evaluations = turns.map(|turn| &turn.evaluation).chain(replayed);
    let found = evaluations.filter_map(|evaluation| evaluation.usage.difference.as_deref());
    let by_program: BTreeMap<&str, &Difference> = found.map(|one| (one.program.as_str(), one)).collect();
    if by_program.is_empty() {
        return Ok(());
    }
    let line = |difference: &Difference| {
        let mut line = difference.to_json();
        (line["version"], line["step"]) = (COMPLETIONS_VERSION.into(), lesson.step.into());
        json_line(&line).expect("a difference is JSON")
    };
    let text: String = by_program.into_values().map(line).collect();
    Ok(dir.write_whole(&step_file(DIFFERENCES, lesson.step), text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::groups::Groups;
    use crate::prompt::Prompt;
    use crate::seed::Seed;
    use crate::train::episode::fixture::truncated_after_its_answer;

    /// The line of a conversation whose answer ended by itself and whose last turn was truncated, with an advantage of 0.5.
    fn logged(masks_truncated: bool) -> serde_json::Value {
        let root = tempfile::tempdir().unwrap();
        let mut config = Config::preset("builtin").unwrap();
        config.train.output_dir = root.path().join("run");
        let dir = RunDir::create(&config, &[]).unwrap();
        let (prompts, episodes) = ([Prompt::default()], Groups::new(1, vec![truncated_after_its_answer()]));
        let lesson = Lesson {
            step: 1,
            prompts: &prompts,
            episodes: &episodes,
            learnt: Groups::new(1, vec![0]),
            advantages: Groups::new(1, vec![vec![0.5]]),
            masks_truncated,
            control_correlation: None,
            elites: Vec::new(),
            seed: Seed::root(0),
            off_policy: false,
        };
        write(&dir, &lesson, &[], 2).unwrap();
        let logged = std::fs::read_to_string(config.train.output_dir.join(step_file(COMPLETIONS, 1))).unwrap();
        serde_json::from_str(&logged).unwrap()
    }

    #[test]
    fn a_completion_whose_answer_ended_by_itself_is_logged_as_that_whatever_came_after_it() {
        let line = logged(false);
        assert_eq!((line["finish"].as_str(), line["verdict"].as_str()), (Some("stop"), Some("no_function")), "{line}");
        let turns = [0, 1].map(|turn| line["turns"][turn]["verdict"].clone());
        assert_eq!(turns, ["no_function", "cut"]);
    }

    #[test]
    fn a_truncated_completion_that_the_update_leaves_out_is_logged_without_an_advantage() {
        for (masks_truncated, expected) in [(false, Some(0.5)), (true, None)] {
            let line = logged(masks_truncated);
            let found = [&line, &line["turns"][0], &line["turns"][1]].map(|of| of["advantage"].as_f64());
            assert_eq!(found, [expected; 3], "{line}");
        }
    }
}
