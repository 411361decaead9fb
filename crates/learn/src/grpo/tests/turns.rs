//! Several turns in one row: what the policy was told is read, and in no loss and no statistics.

use super::*;
use crate::fixture::{builtin_sized_policy, small_language_model};
use crate::rollout::{self, GroupRequest, Trajectory, TurnTokens};

/// What the policy is told between its turns: tokens that it hardly ever samples in a row.
const TOLD: [u32; 5] = [3, 3, 3, 14, 2];

/// Two turns of each completion, as training samples them.
struct Talked {
    prompts: Vec<Prompt>,
    first: Groups<Completion>,
    second: Groups<Completion>,
    rollout: RolloutConfig,
}

impl Talked {
    fn new(policy: &Policy) -> Talked {
        let (prompts, rollout) = (prompts(), rollout_config(4, 40));
        let short = RolloutConfig { max_completion_length: 12, ..rollout.clone() };
        let first = generate(policy, &prompts, &short, Seed::root(9), &mut |_| ()).unwrap();
        let next: Vec<Prompt> =
            first.with(&prompts).map(|(prompt, completion)| prompt.continued(&completion.ids, &TOLD)).collect();
        let second = {
            let pairs = next.iter().zip(first.items());
            let requests: Vec<GroupRequest<'_>> =
                pairs.map(|(prompt, first)| GroupRequest { prompt, ids: vec![first.id.in_turn(1)] }).collect();
            rollout::sample(policy, &requests, &rollout, &mut |_| ()).unwrap()
        };
        Talked { prompts, second: Groups::new(4, second), first, rollout }
    }

    /// Every third conversation has one turn only.
    fn batch(&self, config: &GrpoConfig) -> Batch {
        let both = self.first.items().iter().zip(self.second.items()).enumerate();
        let trajectories = both.map(|(index, (first, second))| {
            let turns =
                [(&[][..], first), (&TOLD[..], second)].map(|(told, completion)| TurnTokens { told, completion });
            Trajectory::new(turns[..turns_of(index)].to_vec())
        });
        let advantages = (0..self.first.items().len()).map(advantages_of).collect();
        Batch::new(
            &self.prompts,
            Groups::new(4, trajectories.collect()),
            Groups::new(4, advantages),
            &self.rollout,
            config,
        )
    }
}

fn turns_of(index: usize) -> usize {
    if index % 3 == 2 { 1 } else { 2 }
}

fn advantages_of(index: usize) -> Vec<f32> {
    let both = [[1.0, -0.5], [0.25, 0.5], [-0.75, 0.0], [-1.0, 2.0]][index % 4];
    both[..turns_of(index)].to_vec()
}

/// Every turn of the batch by itself: the tokens before it, its tokens, and its advantage.
fn alone(talked: &Talked) -> Vec<(Vec<u32>, Completion, f32)> {
    let mut all = Vec::new();
    for (index, (first, second)) in talked.first.items().iter().zip(talked.second.items()).enumerate() {
        let prompt = &talked.prompts[index / 4];
        let next = prompt.continued(&first.ids, &TOLD);
        let turns = [(prompt.ids.clone(), first), (next.ids, second)];
        let turns = turns.into_iter().zip(advantages_of(index));
        all.extend(turns.map(|((before, completion), advantage)| (before, completion.clone(), advantage)));
    }
    all
}

#[test]
fn sampling_and_scoring_agree_over_turns() {
    let policy = tiny_policy();
    let batch = Talked::new(&policy).batch(&config());
    let stats = stats_of(&policy, &batch);
    assert!(stats.logp_difference_max < 1e-5, "{stats:?}");
}

/// Mean distance of the log-probabilities that tokens were sampled with and those that training computes, in each turn.
fn differences(policy: &Policy, talked: &Talked) -> [f64; 2] {
    let batch = talked.batch(&config());
    let scored = reference_logprobs(policy.decoder(), Adapters::On, &batch).unwrap();
    let mut found = [Vec::new(), Vec::new()];
    for ((index, first), second) in talked.first.items().iter().enumerate().zip(talked.second.items()) {
        let turns = [first, second].into_iter().take(turns_of(index));
        let mut scored = scored[index].iter();
        for (turn, completion) in turns.enumerate() {
            let pairs = completion.logprobs.iter().zip(scored.by_ref());
            found[turn].extend(pairs.map(|(sampled, scored)| f64::from((sampled - scored).abs())));
        }
        assert_eq!(scored.next(), None);
    }
    found.map(|all| all.iter().sum::<f64>() / all.len() as f64)
}

#[test]
fn sampled_and_scored_differ_in_the_second_turn_no_more_than_twice_as_much_as_in_the_first() {
    let policy = tiny_policy();
    let [first, second] = differences(&policy, &Talked::new(&policy));
    assert!(first > 0.0 && second <= 2.0 * first, "{first:e} {second:e}");
}

#[test]
#[ignore = "a measurement: cargo test --release measure_the_differences -- --ignored --nocapture"]
fn measure_the_differences_of_both_turns() {
    for (name, policy) in [("built-in", builtin_sized_policy()), ("135M", small_language_model())] {
        let [first, second] = differences(&policy, &Talked::new(&policy));
        println!("{name}: {first:.2e} nats in the first turn, {second:.2e} in the second: {:.2}", second / first);
    }
}

#[test]
fn several_turns_are_the_policy_gradient_of_the_sampled_tokens_alone() {
    let policy = tiny_policy();
    let talked = Talked::new(&policy);
    let turns = alone(&talked);
    let tokens: usize = turns.iter().map(|(_, completion, _)| completion.ids.len()).sum();
    let mut loss = Tensor::new(0f32, &Device::Cpu).unwrap();
    for (before, completion, advantage) in &turns {
        let logp = score(&policy, before, &completion.ids);
        loss = (loss - (logp.sum_all().unwrap() * (f64::from(*advantage) / tokens as f64)).unwrap()).unwrap();
    }
    let expected = gradients_of(&loss, &policy);
    for micro_batch in [1, 3, 8] {
        let config = GrpoConfig { micro_batch, ..config() };
        let (_, found) = loss_and_gradients(&policy, &talked.batch(&config));
        assert_close(&found, &expected, 1e-4);
    }
}

#[test]
fn what_the_policy_was_told_is_in_no_statistics() {
    let policy = tiny_policy();
    let talked = Talked::new(&policy);
    let turns = alone(&talked);
    let config = GrpoConfig { beta: 0.1, ..config() };
    let batch = talked.batch(&config);
    let lengths: usize = batch.parts().map(|(_, part)| part.lengths.iter().sum::<usize>()).sum();
    let tokens: usize = turns.iter().map(|(_, completion, _)| completion.ids.len()).sum();
    assert_eq!(lengths, tokens);
    // A reference that gives every sampled token half a nat less: KL is k3(-1/2) if no other token is counted.
    let reference = reference_logprobs(policy.decoder(), Adapters::On, &batch).unwrap();
    let reference = reference.into_iter().map(|row| row.into_iter().map(|logp| logp - 0.5).collect()).collect();
    let stats = stats_of(&policy, &batch.with_reference(reference));
    let k3 = (-0.5f64).exp() + 0.5 - 1.0;
    assert!((stats.kl.unwrap() - k3).abs() < 1e-4, "{stats:?}");
    // The entropy is the mean over the sampled tokens.
    let of_turn = |(before, completion, _): &(Vec<u32>, Completion, f32)| {
        entropies(&log_probabilities(&policy, before, &completion.ids))
    };
    let mean = turns.iter().flat_map(of_turn).map(f64::from).sum::<f64>() / tokens as f64;
    assert!((stats.entropy - mean).abs() < 1e-5, "{} {mean}", stats.entropy);
}
