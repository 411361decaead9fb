//! Held-out evaluation: fixed sampling seeds, fixed boards that no training step can draw, and its own limits.

use std::time::Instant;

use crate::config::Config;
use crate::environment::Labels;
use crate::environment::tasks::Tasks;
use crate::evaluation::{self, ChanceStream, Sample, chance};
use crate::metrics::{EvaluationRecord, Event, shortest};
use crate::prompt::{Prompt, PromptSet};
use crate::rollout::GroupRequest;
use crate::seed::Seed;

use super::TrainError;
use super::episode::{Episode, Turn};
use super::in_play::EarlierProgress;
use super::scoring::{Draw, Stage};

/// Minimum and maximum number of completions that are sampled together. It bounds memory and changes no result.
const BATCH: (usize, usize) = (16, 64);
/// With more tasks than this, a record has no figures of single tasks.
const TASKS_NAMED: usize = 64;

/// Number of completions of an evaluation that are sampled together.
pub(super) fn at_once(config: &Config) -> usize {
    config.completions_per_step().clamp(BATCH.0, BATCH.1)
}

/// How many completions are sampled and on what they are tried.
#[derive(Debug, Clone, Copy)]
pub struct Protocol<'a> {
    pub samples: usize,
    /// Boards that each program plays. A task is tried once, and needs one board as a place holder.
    pub boards: &'a [Seed],
}

/// Samples from the current policy, plays on the boards, and summarises the results.
pub fn evaluate(
    stage: &Stage<'_>,
    prompts: &PromptSet,
    protocol: Protocol<'_>,
    step: usize,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<EvaluationRecord, TrainError> {
    let start = Instant::now();
    let samples = sample(stage, prompts, protocol, ChanceStream::Sampling, observer)?;
    let environment = stage.arena.environment();
    let record = match environment.tasks() {
        Some(tasks) => of_tasks(&samples, tasks, stage.config.rollout.turns),
        None => of_games(&samples, protocol.boards.len(), environment.labels()),
    };
    let (samples, runtime) = (samples.len(), start.elapsed().as_secs_f64());
    let temperature = Some(stage.config.rollout.temperature);
    Ok(EvaluationRecord { step, samples, temperature, runtime, ..record })
}

/// Samples programs and plays them on the boards, a batch at a time. A program depends only on `stream` and on its
/// index, not on the size of batches.
pub fn sample(
    stage: &Stage<'_>,
    prompts: &PromptSet,
    protocol: Protocol<'_>,
    stream: ChanceStream,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<Sample>, TrainError> {
    let seed = chance(stream);
    // Groups of one, because evaluation computes no advantages.
    let prompts = prompts.draw_held_out(seed, protocol.samples);
    let requests = GroupRequest::all(&prompts, 1, seed);
    let mut samples: Vec<Sample> = Vec::with_capacity(protocol.samples);
    let mut tokens = 0;
    for requests in requests.chunks(at_once(stage.config)) {
        let earlier = EarlierProgress { turns: 0, completions: samples.len(), tokens, of: protocol.samples };
        let mut observer = |event: Event<'_>| earlier.emit(event, observer);
        // With step 0 these games come before those of a step that was sampled ahead, which nothing waits for yet.
        let draw = Draw { boards: protocol.boards, step: 0 };
        let (episodes, _) = stage.episodes(requests, draw, &mut observer)?;
        let answered = requests.iter().zip(episodes.into_items());
        samples.extend(answered.map(|(request, episode)| of_episode(request.prompt, episode)));
        tokens = samples.iter().map(|sample| sample.tokens).sum();
    }
    Ok(samples)
}

fn of_episode(prompt: &Prompt, episode: Episode) -> Sample {
    let logprobs = episode.turns.iter().flat_map(|turn| &turn.completion.logprobs);
    let Turn { program, evaluation, .. } = episode.answer().clone();
    Sample {
        style: prompt.style.clone(),
        reward: shortest(episode.reward.value),
        tokens: episode.sampled_tokens(),
        cut: episode.is_answer_truncated(),
        surprise: -logprobs.map(|&logprob| f64::from(logprob)).sum::<f64>(),
        turns: episode.turns.iter().map(|turn| turn.evaluation.plays()).collect(),
        program,
        selection: evaluation,
        report: Vec::new(),
    }
}

fn of_games(samples: &[Sample], games: usize, labels: Labels) -> EvaluationRecord {
    let summary = evaluation::summarise(samples, &[], labels);
    let mut record = EvaluationRecord {
        games: Some(games),
        reward: summary.reward,
        mean_score: Some(summary.mean_score.value),
        mean_score_low: Some(summary.mean_score.interval.low),
        mean_score_high: Some(summary.mean_score.interval.high),
        median_score: Some(summary.median_score.value),
        frac_unique: Some(summary.unique),
        entropy: Some(summary.entropy),
        max_tile: summary.max_tile,
        frac_played: Some(summary.plays.value),
        ..EvaluationRecord::default()
    };
    summary.styles.iter().for_each(|(style, of)| record.set_style(style, of.mean_score));
    record
}

fn of_tasks(samples: &[Sample], tasks: &Tasks, turns: usize) -> EvaluationRecord {
    let summary = evaluation::summarise_tasks(tasks, samples, turns);
    let passed = summary.pass_at.get(&1).copied().unwrap_or_default();
    let mut record = EvaluationRecord {
        reward: summary.reward,
        entropy: Some(summary.entropy),
        tasks: Some(summary.tasks.len()),
        held_out: Some(if tasks.holds_out() { summary.tasks.len() } else { 0 }),
        frac_passed: Some(passed.value),
        frac_passed_low: summary.interval(&passed).map(|interval| interval.low),
        frac_passed_high: summary.interval(&passed).map(|interval| interval.high),
        frac_tests: Some(summary.tests.value),
        frac_tests_low: summary.interval(&summary.tests).map(|interval| interval.low),
        frac_tests_high: summary.interval(&summary.tests).map(|interval| interval.high),
        ..EvaluationRecord::default()
    };
    record.set_passed_by_turn(summary.pass_by_turn.iter().map(|share| share.value));
    if summary.tasks.len() <= TASKS_NAMED {
        summary.tasks.iter().for_each(|task| record.set_style(&task.task, task.tests));
    }
    record
}

#[cfg(test)]
mod tests {
    use super::super::episode::fixture::truncated_after_its_answer;
    use super::*;

    #[test]
    fn a_sample_is_cut_if_its_answer_was() {
        assert!(!of_episode(&Prompt::default(), truncated_after_its_answer()).cut);
    }
}
