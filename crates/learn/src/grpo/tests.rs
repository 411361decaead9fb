mod losses;
mod turns;

use std::collections::BTreeMap;

use candle_core::{Device, Tensor, Var};

use super::*;
use crate::config::{Config, GrpoConfig, LossType, RolloutConfig, ScaleRewards};
use crate::fixture::{prompts, rollout_config, tiny_policy};
use crate::groups::Groups;
use crate::policy::{Activations, Adapters, Policy};
use crate::prompt::Prompt;
use crate::rollout::{Completion, CompletionId, FinishReason, generate};
use crate::seed::{Purpose, Seed};

fn config() -> GrpoConfig {
    GrpoConfig { entropy_coef: 0.0, ..Config::preset("builtin").unwrap().grpo }
}

/// A rollout of two groups with arbitrary advantages of both signs.
struct Sampled {
    prompts: Vec<Prompt>,
    completions: Groups<Completion>,
    advantages: Groups<f32>,
    rollout: RolloutConfig,
}

impl Sampled {
    fn new(policy: &Policy, rollout: RolloutConfig) -> Self {
        let prompts = prompts();
        let completions = generate(policy, &prompts, &rollout, Seed::root(9), &mut |_| ()).unwrap();
        let count = completions.items().len();
        let advantages = (0..count).map(|index| [1.0, -0.5, 0.25, -0.75][index % 4]).collect();
        Sampled { prompts, completions, advantages: Groups::new(rollout.num_generations, advantages), rollout }
    }

    fn batch(&self, config: &GrpoConfig) -> Batch {
        Batch::new(&self.prompts, self.completions.each_ref(), self.advantages.clone(), &self.rollout, config)
    }

    fn tokens(&self) -> usize {
        self.completions.items().iter().map(|completion| completion.ids.len()).sum()
    }
}

/// Loss and gradients of the first update.
fn loss_and_gradients(policy: &Policy, batch: &Batch) -> (f64, BTreeMap<String, Vec<f32>>) {
    let (loss, gradients) = update::pass_for_tests(policy, batch).unwrap();
    (loss, flattened(&gradients))
}

/// Statistics of an update that moves nothing.
fn stats_of(policy: &Policy, batch: &Batch) -> UpdateStats {
    let mut optimizer = Optimizer::new(policy.trainable(), &batch.config).unwrap();
    update(policy, &mut optimizer, batch, 0.0, &mut |_, _| ()).unwrap().unwrap()
}

/// The batch with the policy as its own reference.
fn with_reference(policy: &Policy, batch: Batch) -> Batch {
    let reference = reference_logprobs(policy.decoder(), Adapters::On, &batch).unwrap();
    batch.with_reference(reference)
}

/// Log-probabilities of the whole vocabulary at each token of one completion, `(N, V)`, in nats, computed directly from
/// the decoder's logits.
fn log_probabilities(policy: &Policy, prompt: &[u32], completion: &[u32]) -> Tensor {
    let ids = Tensor::new([prompt, completion].concat(), &Device::Cpu).unwrap().unsqueeze(0).unwrap();
    let hidden = policy.decoder().hidden(&ids, Adapters::On).unwrap().squeeze(0).unwrap();
    let states = hidden.narrow(0, prompt.len() - 1, completion.len()).unwrap();
    candle_nn::ops::log_softmax(&policy.decoder().logits(&states).unwrap(), 1).unwrap()
}

/// Those of the tokens of the completion, `(N,)`.
fn score(policy: &Policy, prompt: &[u32], completion: &[u32]) -> Tensor {
    let ids = Tensor::new(completion, &Device::Cpu).unwrap().unsqueeze(1).unwrap();
    log_probabilities(policy, prompt, completion).gather(&ids, 1).unwrap().squeeze(1).unwrap()
}

/// The entropies, in nats, at the tokens of which these are the log-probabilities.
fn entropies(log_probabilities: &Tensor) -> Vec<f32> {
    flat(&(log_probabilities.exp().unwrap() * log_probabilities).unwrap().sum(1).unwrap().neg().unwrap())
}

/// The gradients of the sum of all sampled log-probabilities, each times its `factor`, computed for one completion at a
/// time without `update`. `factor` gets the index of the completion, the place of the token in it, and its
/// log-probability.
fn by_hand(
    policy: &Policy,
    sampled: &Sampled,
    mut factor: impl FnMut(usize, usize, f32) -> f32,
) -> BTreeMap<String, Vec<f32>> {
    let mut loss = Tensor::new(0f32, &Device::Cpu).unwrap();
    for (index, completion) in sampled.completions.items().iter().enumerate() {
        let prompt = &sampled.prompts[index / sampled.completions.size()];
        let logp = score(policy, &prompt.ids, &completion.ids);
        let factors: Vec<f32> = flat(&logp).into_iter().enumerate().map(|(at, logp)| factor(index, at, logp)).collect();
        let factors = Tensor::new(factors, &Device::Cpu).unwrap();
        loss = (loss + (logp * factors).unwrap().sum_all().unwrap()).unwrap();
    }
    gradients_of(&loss, policy)
}

fn gradients_of(loss: &Tensor, policy: &Policy) -> BTreeMap<String, Vec<f32>> {
    flattened(&gradients(loss, policy.trainable()).unwrap())
}

fn flattened(gradients: &Gradients) -> BTreeMap<String, Vec<f32>> {
    gradients.iter().map(|(name, gradient)| (name.clone(), flat(gradient))).collect()
}

fn flat(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

fn weights(policy: &Policy) -> BTreeMap<String, Vec<f32>> {
    policy.trainable().iter().map(|(name, var)| (name.clone(), flat(var))).collect()
}

fn assert_close(found: &BTreeMap<String, Vec<f32>>, expected: &BTreeMap<String, Vec<f32>>, tolerance: f32) {
    assert!(found.keys().eq(expected.keys()));
    for (name, expected) in expected {
        let largest = expected.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        for (found, expected) in found[name].iter().zip(expected) {
            assert!((found - expected).abs() <= tolerance * largest, "{name}: {found} is not {expected} of {largest}");
        }
    }
}

#[test]
fn i7_sampling_and_scoring_agree_on_log_probabilities() {
    for temperature in [1.0, 0.7] {
        let policy = tiny_policy();
        let sampled = Sampled::new(&policy, RolloutConfig { temperature, ..rollout_config(8, 24) });
        let stats = stats_of(&policy, &sampled.batch(&config()));
        assert!(stats.logp_difference_max < 1e-5, "T = {temperature}: {stats:?}");
        assert!(stats.entropy > 1.0 && stats.entropy < 16f64.ln(), "{stats:?}");
        assert_eq!((stats.clip_ratio_low, stats.clip_ratio_high, stats.kl), (0.0, 0.0, None));
    }
}

#[test]
fn i8_one_update_a_rollout_is_the_policy_gradient() {
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(4, 12));
    // The mean of -A * logp over tokens.
    let tokens = sampled.tokens() as f32;
    let expected = by_hand(&policy, &sampled, |index, _, _| -sampled.advantages.items()[index] / tokens);
    // On the policy the ratio is 1, also where that is a bound of the clip.
    for (epsilon, epsilon_high) in [(0.2, 0.28), (0.0, 0.28), (0.2, 0.0), (0.0, 0.0)] {
        let config = GrpoConfig { epsilon, epsilon_high, ..config() };
        let (_, found) = loss_and_gradients(&policy, &sampled.batch(&config));
        assert_close(&found, &expected, 1e-4);
    }
}

/// Completions as a server would return them, with log-probabilities that are off by half a nat in alternating
/// directions.
fn served(policy: &Policy) -> Sampled {
    let servers = vec!["http://localhost".into()];
    let mut sampled = Sampled::new(policy, RolloutConfig { correction_cap: 1.5, servers, ..rollout_config(4, 12) });
    sampled.completions = sampled.completions.map(|completion| {
        let off = completion.logprobs.iter().enumerate().map(|(at, logp)| logp + [0.5, -0.5, 0.0][at % 3]);
        Completion { logprobs: off.collect(), ..completion }
    });
    sampled
}

#[test]
fn a_foreign_sampler_weighs_each_token_of_the_policy_gradient_by_what_it_got_wrong() {
    let policy = tiny_policy();
    let sampled = served(&policy);
    let tokens = sampled.tokens() as f64;
    let (mut weights, mut cut) = (0.0, 0.0);
    let expected = by_hand(&policy, &sampled, |index, at, _| {
        // The ratios are exp(-1/2), exp(1/2), which is above the cap, and 1.
        let weight = [(-0.5f32).exp(), 1.5, 1.0][at % 3];
        weights += f64::from(weight);
        cut += f64::from(u8::from(at % 3 == 1));
        -weight * sampled.advantages.items()[index] / tokens as f32
    });
    let (_, found) = loss_and_gradients(&policy, &sampled.batch(&config()));
    assert_close(&found, &expected, 1e-4);

    // In each update the ratio is relative to the trainer's initial policy; the sampler's error does not clip it.
    for num_iterations in [1, 2] {
        let config = GrpoConfig { num_iterations, ..config() };
        let batch = sampled.batch(&config).off_policy();
        let stats = stats_of(&policy, &batch);
        assert_eq!((stats.clip_ratio_low, stats.clip_ratio_high), (0.0, 0.0));
        let corrected = stats.correction.unwrap();
        assert!((corrected.weight_mean - weights / tokens).abs() < 1e-5);
        assert!((corrected.share - cut / tokens).abs() < 1e-9);
    }
}

#[test]
fn what_is_kept_and_who_works_on_it_changes_no_bit() {
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(8, 24));
    let config = GrpoConfig { micro_batch: 4, entropy_coef: 0.01, beta: 0.02, ..config() };
    let with = |division: Division| {
        loss_and_gradients(&policy, &with_reference(&policy, sampled.batch(&config).divided(division)))
    };
    let whole = Division::from(&config);
    let expected = with(whole);
    for division in [
        Division { activations: Activations::Recomputed, ..whole },
        Division { at_once: 1, ..whole },
        Division { logit_bytes: 0, ..whole },
    ] {
        assert!(with(division) == expected, "{division:?}");
    }
}

fn completion(ids: &[u32], finish: FinishReason) -> Completion {
    Completion {
        id: CompletionId::new(Seed::root(0), 0),
        ids: ids.to_vec(),
        logprobs: vec![-1.0; ids.len()],
        text: String::new(),
        finish,
    }
}

#[test]
fn what_is_left_out_counts_among_completions_and_not_among_tokens() {
    // Completions of 1 and 3 tokens have advantages 1 and -2; one of 4 tokens has 5, is truncated and left out; the
    // maximum is 4. At ratio 1 the losses of tokens add up to -1 + 6, of 4 tokens in the loss; by completions they are -1,
    // 2 and 0, of 3. Those of "sapo" are -2 A / t, with t = 1.05 where A < 0.
    let prompts = &prompts()[..1];
    let policy = tiny_policy();
    let (stop, length) = (FinishReason::Stop, FinishReason::Length);
    let three = vec![completion(&[1], stop), completion(&[5, 6, 1], stop), completion(&[7, 8, 9, 10], length)];
    let (completions, advantages) = (Groups::new(3, three), Groups::new(3, vec![1.0, -2.0, 5.0]));
    let found = |loss_type| {
        let config = GrpoConfig { loss_type, mask_truncated_completions: true, epsilon_high: 5.0, ..config() };
        let rollout = rollout_config(3, 4);
        let batch = Batch::new(prompts, completions.each_ref(), advantages.clone(), &rollout, &config);
        loss_and_gradients(&policy, &batch)
    };
    let cases = [
        (LossType::Dapo, 5.0 / 4.0),
        (LossType::Grpo, 1.0 / 3.0),
        (LossType::DrGrpo, 5.0 / (3.0 * 4.0)),
        (LossType::Sapo, (-2.0 + 4.0 / 1.05) / 3.0),
    ];
    for (loss_type, expected) in cases {
        let (loss, _) = found(loss_type);
        assert!((loss - expected).abs() < 1e-6, "{loss_type:?}: {loss} is not {expected}");
    }
    // The loss of "cispo" is another one, with the same gradient.
    assert_close(&found(LossType::Cispo).1, &found(LossType::Dapo).1, 1e-5);
}

#[test]
fn truncated_completions_can_be_left_out() {
    let policy = tiny_policy();
    let mut sampled = Sampled::new(&policy, rollout_config(4, 12));
    let masked = GrpoConfig { mask_truncated_completions: true, ..config() };
    let truncated = |sampled: &Sampled| -> Vec<bool> {
        sampled.completions.items().iter().map(|completion| completion.finish == FinishReason::Length).collect()
    };
    assert!(truncated(&sampled).contains(&true) && truncated(&sampled).contains(&false));
    let before = loss_and_gradients(&policy, &sampled.batch(&masked));
    let mut wild = sampled.advantages.items().to_vec();
    wild.iter_mut().zip(truncated(&sampled)).for_each(|(advantage, cut)| *advantage *= if cut { 9.0 } else { 1.0 });
    sampled.advantages = Groups::new(4, wild);
    assert_eq!(before, loss_and_gradients(&policy, &sampled.batch(&masked)));
    assert_ne!(before.1, loss_and_gradients(&policy, &sampled.batch(&config())).1);
}

#[test]
fn where_all_completions_are_left_out_only_demonstrations_are_in_the_loss() {
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(4, 12));
    let all_cut = sampled.completions.clone().map(|it| Completion { finish: FinishReason::Length, ..it });
    let demonstration = Demonstration { prompt: &sampled.prompts[0].ids, completion: &[5, 6, 1] };
    let logp = score(&policy, demonstration.prompt, demonstration.completion);
    let expected = -0.3 * f64::from(flat(&logp).iter().sum::<f32>()) / 3.0;
    for loss_type in [LossType::Dapo, LossType::Grpo, LossType::DrGrpo, LossType::Cispo, LossType::Sapo] {
        let config = GrpoConfig { loss_type, mask_truncated_completions: true, entropy_coef: 0.01, ..config() };
        let (prompts, advantages) = (&sampled.prompts, sampled.advantages.clone());
        let batch = Batch::new(prompts, all_cut.each_ref(), advantages, &sampled.rollout, &config);
        assert!(!batch.has_signal());
        let (loss, _) = loss_and_gradients(&policy, &batch.with_demonstrations(&[demonstration], 0.3));
        assert!((loss - expected).abs() < 1e-5, "{loss_type:?}: {loss} is not {expected}");
    }
}

#[test]
fn i11_a_step_without_signal_moves_nothing_bonus_and_penalty_or_not() {
    let policy = tiny_policy();
    let mut sampled = Sampled::new(&policy, rollout_config(4, 12));
    sampled.advantages = sampled.advantages.map(|_| 0.0);
    let config = GrpoConfig { entropy_coef: 0.5, beta: 0.5, ..config() };
    let mut optimizer = Optimizer::new(policy.trainable(), &config).unwrap();
    let before = weights(&policy);
    let demonstration = Demonstration { prompt: &sampled.prompts[1].ids, completion: &[5, 6, 1] };
    for demonstrations in [&[][..], &[demonstration]] {
        let batch = sampled.batch(&config).with_demonstrations(demonstrations, 0.3);
        assert_eq!(update(&policy, &mut optimizer, &batch, 0.1, &mut |_, _| ()).unwrap(), None);
        assert_eq!(before, weights(&policy));
    }
}

#[test]
fn i6_a_variable_without_a_gradient_is_refused_by_name() {
    let policy = tiny_policy();
    let mut trainable = policy.trainable().clone();
    let stray = Var::from_tensor(&Tensor::new(&[1f32], &Device::Cpu).unwrap()).unwrap();
    trainable.insert("model.layers.9.stray.weight".into(), stray);
    let logp = score(&policy, &prompts()[0].ids, &[5, 6, 1]);
    let error = gradients(&logp.sum_all().unwrap(), &trainable).unwrap_err().to_string();
    assert!(error.starts_with("no gradient for `model.layers.9.stray.weight`;"), "{error}");
}

#[test]
fn a_loss_that_is_no_number_is_refused() {
    let policy = tiny_policy();
    let mut sampled = Sampled::new(&policy, rollout_config(4, 12));
    sampled.advantages = sampled.advantages.map(|_| f32::NAN);
    let mut optimizer = Optimizer::new(policy.trainable(), &config()).unwrap();
    let before = weights(&policy);
    let error = update(&policy, &mut optimizer, &sampled.batch(&config()), 0.1, &mut |_, _| ()).unwrap_err();
    assert!(matches!(error, LearnError::NotFiniteLoss { .. }), "{error}");
    assert_eq!(before, weights(&policy));
}

#[test]
fn the_penalty_needs_a_reference_and_pulls_towards_it() {
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(4, 12));
    let config = GrpoConfig { beta: 0.5, num_iterations: 3, ..config() };
    let mut optimizer = Optimizer::new(policy.trainable(), &config).unwrap();
    let bare = update(&policy, &mut optimizer, &sampled.batch(&config), 0.1, &mut |_, _| ());
    assert!(matches!(bare, Err(LearnError::NoReference { .. })));
    let kl_after = |beta: f64| {
        let policy = tiny_policy();
        let config = GrpoConfig { beta, ..config.clone() };
        let batch = with_reference(&policy, sampled.batch(&config));
        let mut optimizer = Optimizer::new(policy.trainable(), &config).unwrap();
        let mut kls = Vec::new();
        for _ in 0..4 {
            let stats = update(&policy, &mut optimizer, &batch, 3e-3, &mut |_, _| ()).unwrap().unwrap();
            kls.push(stats.kl.unwrap());
        }
        kls[3]
    };
    let (free, held) = (kl_after(1e-9), kl_after(2.0));
    assert!(held > 0.0 && held < free, "with penalty {held}, without {free}");
}

#[test]
fn demonstrations_add_their_mean_negative_log_likelihood_and_nothing_else() {
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(4, 12));
    let (prompt, examples) = (&sampled.prompts[1].ids, [&[5u32, 6, 1][..], &[9, 9, 9, 9, 1]]);
    let demonstrations = examples.map(|completion| Demonstration { prompt, completion });
    // The mean over their eight tokens, computed for one completion at a time without `update`.
    let mut nll = Tensor::new(0f32, &Device::Cpu).unwrap();
    for completion in examples {
        let logp = score(&policy, prompt, completion);
        nll = (nll - (logp.sum_all().unwrap() * (1.0 / 8.0)).unwrap()).unwrap();
    }
    let of_nll = gradients_of(&nll, &policy);
    for micro_batch in [2, 16] {
        let config = GrpoConfig { beta: 0.5, entropy_coef: 0.01, micro_batch, ..config() };
        let bare = with_reference(&policy, sampled.batch(&config));
        let batch = with_reference(&policy, sampled.batch(&config).with_demonstrations(&demonstrations, 0.3));
        let ((loss, with), (bare_loss, without)) =
            (loss_and_gradients(&policy, &batch), loss_and_gradients(&policy, &bare));
        let expected = bare_loss + 0.3 * f64::from(nll.to_scalar::<f32>().unwrap());
        assert!((loss - expected).abs() < 1e-5, "{loss} is not {expected}");
        let expected = without.iter().map(|(name, without)| {
            let added = without.iter().zip(&of_nll[name]).map(|(without, added)| without + 0.3 * added);
            (name.clone(), added.collect())
        });
        assert_close(&with, &expected.collect(), 1e-4);
        let (with, without) = (stats_of(&policy, &batch), stats_of(&policy, &bare));
        assert!((with.entropy - without.entropy).abs() < 1e-5 && with.kl.unwrap() < 1e-9, "{with:?} {without:?}");
        assert!((with.demonstration_nll.unwrap() - f64::from(nll.to_scalar::<f32>().unwrap())).abs() < 1e-5);
        assert_eq!(without.demonstration_nll, None);
    }
}

#[test]
fn tokens_of_demonstrations_that_are_likely_enough_are_not_imitated() {
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(4, 12));
    let demonstration = Demonstration { prompt: &sampled.prompts[1].ids, completion: &[5, 6, 7, 1] };
    let logp = score(&policy, demonstration.prompt, demonstration.completion);
    let mut nats: Vec<f64> = logp.to_vec1::<f32>().unwrap().iter().map(|logp| f64::from(-logp)).collect();
    nats.sort_by(f64::total_cmp);
    // Between the second and the third: two of the four are imitated.
    let elite_free_nats = (nats[1] + nats[2]) / 2.0;
    let imitated = (nats[2] + nats[3]) / 4.0;
    let loss_of = |config: &GrpoConfig| {
        let batch = sampled.batch(config);
        let bare = loss_and_gradients(&policy, &batch).0;
        let (loss, gradients) =
            loss_and_gradients(&policy, &sampled.batch(config).with_demonstrations(&[demonstration], 0.3));
        (loss - bare, gradients)
    };
    let (added, with) = loss_of(&GrpoConfig { elite_free_nats, ..config() });
    assert!((added - 0.3 * imitated).abs() < 1e-5, "{added} is not {}", 0.3 * imitated);
    // Where all are likely enough, nothing is.
    let (added, without) = loss_of(&GrpoConfig { elite_free_nats: nats[3] + 1.0, ..config() });
    assert_eq!(added, 0.0);
    assert!(with.iter().any(|(name, with)| with != &without[name]));
}

#[test]
fn more_updates_a_rollout_move_the_ratio_and_are_clipped() {
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(8, 12));
    let config = GrpoConfig { num_iterations: 4, epsilon: 0.01, epsilon_high: 0.01, ..config() };
    let mut optimizer = Optimizer::new(policy.trainable(), &config).unwrap();
    let mut told = Vec::new();
    let batch = sampled.batch(&GrpoConfig { micro_batch: 8, ..config });
    let stats = update(&policy, &mut optimizer, &batch, 1e-2, &mut |done, total| told.push((done, total)));
    let stats = stats.unwrap().unwrap();
    assert!(stats.clip_ratio_low > 0.0 && stats.clip_ratio_high > 0.0, "{stats:?}");
    assert!(stats.logp_difference_max < 1e-5, "before the first update: {stats:?}");
    assert_eq!(told, (1..=8).map(|done| (done, 8)).collect::<Vec<_>>());
}

#[test]
fn off_policy_the_ratio_is_that_to_the_sampler_clipped_and_reported() {
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(8, 12));
    let mut optimizer = Optimizer::new(policy.trainable(), &config()).unwrap();
    // The policy is updated between sampling and learning.
    update(&policy, &mut optimizer, &sampled.batch(&config()), 2e-2, &mut |_, _| ()).unwrap();

    // If the ratio is not clipped, the gradient is that of -ratio * A * logp / tokens.
    let tokens = sampled.tokens() as f64;
    let (mut low, mut high, mut kl) = (0.0, 0.0, 0.0);
    let expected = by_hand(&policy, &sampled, |index, at, now| {
        let (then, advantage) = (sampled.completions.items()[index].logprobs[at], sampled.advantages.items()[index]);
        let ratio = (now - then).exp();
        let is_low = advantage < 0.0 && ratio < 0.8;
        let is_high = advantage > 0.0 && ratio > 1.28;
        (low, high) = (low + f64::from(u8::from(is_low)), high + f64::from(u8::from(is_high)));
        kl += f64::from(ratio - 1.0 - (now - then));
        if is_low || is_high { 0.0 } else { -ratio * advantage / tokens as f32 }
    });
    assert!(low > 0.0 && high > 0.0, "{low} and {high} of {tokens} tokens clipped");
    let batch = sampled.batch(&config()).off_policy();
    assert_close(&loss_and_gradients(&policy, &batch).1, &expected, 1e-4);

    let found = stats_of(&policy, &batch);
    assert_eq!((found.clip_ratio_low, found.clip_ratio_high), (low / tokens, high / tokens));
    assert!((found.sampling_kl - kl / tokens).abs() < 1e-4 * kl / tokens && found.sampling_kl > 1e-4, "{found:?}");
    let on_policy = stats_of(&policy, &sampled.batch(&config()));
    assert_eq!((on_policy.clip_ratio_low, on_policy.clip_ratio_high), (0.0, 0.0), "1 by construction");
}

#[test]
fn a_rewarded_word_becomes_likely() {
    const REWARDED: u32 = 12;
    let (policy, rollout) = (tiny_policy(), rollout_config(16, 1));
    let config = GrpoConfig { scale_rewards: ScaleRewards::Group, ..config() };
    let mut optimizer = Optimizer::new(policy.trainable(), &config).unwrap();
    let mut share = Vec::new();
    for step in 0..30 {
        let seed = Seed::root(4).child(Purpose::Step, step);
        let completions = generate(&policy, &prompts(), &rollout, seed, &mut |_| ()).unwrap();
        let rewards = completions.clone().map(|completion| vec![f32::from(u8::from(completion.ids[0] == REWARDED))]);
        share.push(rewards.items().concat().iter().sum::<f32>() / rewards.items().len() as f32);
        let advantages = advantages(&rewards, &config);
        let batch = Batch::new(&prompts(), completions.each_ref(), advantages, &rollout, &config);
        update(&policy, &mut optimizer, &batch, 1e-2, &mut |_, _| ()).unwrap();
    }
    assert!(share[0] < 0.3, "at first about one in sixteen: {share:?}");
    assert!(share[25..].iter().all(|share| *share > 0.9), "{share:?}");
}
