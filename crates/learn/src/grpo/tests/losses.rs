//! Tests of the losses in a whole update. The formulas are tested in `loss/tests.rs`.

use super::*;
use crate::config::ImportanceSamplingLevel;
use crate::policy::Precision;

/// Configurations with every loss and every setting that changes how tokens count.
fn losses() -> Vec<GrpoConfig> {
    let clipped = |loss_type| GrpoConfig { loss_type, ..config() };
    let of_sequences = GrpoConfig {
        importance_sampling_level: ImportanceSamplingLevel::Sequence,
        epsilon: 0.01,
        epsilon_high: 0.01,
        ..clipped(LossType::Grpo)
    };
    vec![
        clipped(LossType::Dapo),
        clipped(LossType::Grpo),
        clipped(LossType::DrGrpo),
        GrpoConfig { delta: 1.29, ..config() },
        GrpoConfig { epsilon_high: 1.2, ..clipped(LossType::Cispo) },
        clipped(LossType::Sapo),
        of_sequences,
        GrpoConfig { top_entropy_quantile: 0.3, ..config() },
    ]
}

/// A policy, and completions that it sampled before an update.
fn moved_on() -> (Policy, Sampled) {
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(8, 24));
    let mut optimizer = Optimizer::new(policy.trainable(), &config()).unwrap();
    update(&policy, &mut optimizer, &sampled.batch(&config()), 4e-2, &mut |_, _| ()).unwrap();
    (policy, sampled)
}

#[test]
fn i13_micro_batches_change_nothing_beyond_rounding() {
    let losses = losses();
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(8, 24));
    // On policy the other losses are like one of the first three.
    let on_policy = ((policy, sampled), &losses[..3], false, 1e-5);
    for ((policy, sampled), losses, is_off_policy, tolerance) in [on_policy, (moved_on(), &losses[..], true, 2e-5)] {
        for config in losses {
            let with = |micro_batch| {
                let config = GrpoConfig { micro_batch, entropy_coef: 0.01, beta: 0.02, ..config.clone() };
                let batch = sampled.batch(&config);
                let batch = if is_off_policy { batch.off_policy() } else { batch };
                loss_and_gradients(&policy, &with_reference(&policy, batch))
            };
            let (loss, whole) = with(16);
            for micro_batch in [1, 4] {
                let (part_loss, parts) = with(micro_batch);
                assert!((part_loss - loss).abs() < 1e-5 * loss.abs(), "{config:?}: {part_loss} is not {loss}");
                assert_close(&parts, &whole, tolerance);
            }
        }
    }
}

#[test]
fn i8_on_policy_only_the_averaging_tells_losses_apart() {
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(8, 24));
    let gradients = |config: &GrpoConfig| loss_and_gradients(&policy, &sampled.batch(config)).1;
    let of = |loss_type| gradients(&GrpoConfig { loss_type, ..config() });
    let (by_tokens, by_completions) = (of(LossType::Dapo), of(LossType::Grpo));
    for config in losses().iter().filter(|config| config.top_entropy_quantile == 1.0) {
        match config.loss_type {
            LossType::Dapo | LossType::Cispo => assert_close(&gradients(config), &by_tokens, 1e-5),
            LossType::Grpo | LossType::Sapo => assert_close(&gradients(config), &by_completions, 1e-5),
            // Dr. GRPO divides by a maximum length that no completion reaches.
            LossType::DrGrpo => {}
        }
    }
    assert_ne!(by_tokens, by_completions);
}

#[test]
fn the_entropy_bonus_is_a_mean_over_tokens_whatever_the_surrogate_is_averaged_over() {
    let policy = tiny_policy();
    let mut sampled = Sampled::new(&policy, rollout_config(4, 12));
    let configs = [false, true].map(|mask_truncated_completions| GrpoConfig { mask_truncated_completions, ..config() });
    let entropies = configs.each_ref().map(|config| stats_of(&policy, &sampled.batch(config)).entropy);
    assert!(entropies[0] != entropies[1], "some completions are left out: {entropies:?}");
    // Without advantages the bonus is all that is left of the loss.
    sampled.advantages = sampled.advantages.map(|_| 0.0);
    for (config, entropy) in configs.iter().zip(entropies) {
        let with = |loss_type| {
            let config = GrpoConfig { loss_type, entropy_coef: 0.1, ..config.clone() };
            loss_and_gradients(&policy, &sampled.batch(&config))
        };
        let (_, expected) = with(LossType::Dapo);
        for loss_type in [LossType::Dapo, LossType::Grpo, LossType::DrGrpo, LossType::Cispo, LossType::Sapo] {
            let (loss, gradients) = with(loss_type);
            assert!((loss + 0.1 * entropy).abs() < 1e-6, "{loss_type:?}: {loss} is no tenth of {entropy}");
            assert_close(&gradients, &expected, 1e-5);
        }
    }
}

#[test]
fn off_policy_losses_differ_and_say_what_they_cut() {
    let (policy, sampled) = moved_on();
    let found = losses().into_iter().map(|config| {
        let batch = sampled.batch(&config).off_policy();
        let stats = stats_of(&policy, &batch);
        (loss_and_gradients(&policy, &batch).1, (stats.clip_ratio_low, stats.clip_ratio_high))
    });
    let (gradients, cuts): (Vec<_>, Vec<_>) = found.unzip();
    for (index, gradient) in gradients.iter().enumerate() {
        assert!(!gradients[..index].contains(gradient), "{index} is like another");
    }
    let [dapo, grpo, dr_grpo, two_sided, cispo, sapo, gspo, uncertain] = cuts[..] else { panic!("{cuts:?}") };
    assert!(dapo.0 > 0.0 && dapo.1 > 0.0 && [grpo, dr_grpo, uncertain] == [dapo; 3], "{cuts:?}");
    assert!(two_sided.0 == dapo.0 && two_sided.1 > dapo.1, "bad tokens that became likely are cut as well: {cuts:?}");
    assert!(cispo.0 == 0.0 && cispo.1 > 0.0 && sapo == (0.0, 0.0), "{cuts:?}");
    assert!(gspo.0 + gspo.1 > 0.0 && gspo != dapo, "{cuts:?}");
}

#[test]
fn cispo_cuts_nothing_in_the_first_of_several_updates_and_learns_on_in_the_others() {
    let (policy, sampled) = (tiny_policy(), Sampled::new(&tiny_policy(), rollout_config(8, 12)));
    let config = GrpoConfig { num_iterations: 4, loss_type: LossType::Cispo, epsilon_high: 1.0, ..config() };
    let mut optimizer = Optimizer::new(policy.trainable(), &config).unwrap();
    let stats = update(&policy, &mut optimizer, &sampled.batch(&config), 1e-2, &mut |_, _| ()).unwrap().unwrap();
    assert!(stats.clip_ratio_high > 0.0 && stats.clip_ratio_low == 0.0 && stats.grad_norm > 0.0, "{stats:?}");
}

#[test]
fn only_the_most_uncertain_tokens_of_all_completions_move_the_policy() {
    let policy = tiny_policy();
    let sampled = Sampled::new(&policy, rollout_config(4, 12));
    // (entropy, advantage * logp) of every token, computed for one completion at a time without `update`.
    let mut terms = Vec::new();
    for (index, completion) in sampled.completions.items().iter().enumerate() {
        let all = log_probabilities(&policy, &sampled.prompts[index / 4].ids, &completion.ids);
        for (place, (token, entropy)) in completion.ids.iter().zip(entropies(&all)).enumerate() {
            let logp = all.get(place).unwrap().get(*token as usize).unwrap();
            terms.push((entropy, (logp * f64::from(sampled.advantages.items()[index])).unwrap()));
        }
    }
    let tokens = terms.len();
    terms.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    // The 0.7 quantile is at rank 0.7 (n - 1), and tokens at or above it count.
    let kept = tokens - (0.7 * (tokens - 1) as f64).ceil() as usize;
    let mut loss = Tensor::new(0f32, &Device::Cpu).unwrap();
    for (_, term) in &terms[..kept] {
        loss = (loss - (term / tokens as f64).unwrap()).unwrap();
    }
    let expected = gradients_of(&loss, &policy);
    for micro_batch in [1, 16] {
        let config = GrpoConfig { top_entropy_quantile: 0.3, micro_batch, ..config() };
        let batch = sampled.batch(&config);
        assert_close(&loss_and_gradients(&policy, &batch).1, &expected, 1e-4);
        let stats = stats_of(&policy, &batch);
        let norm = norm_of(&expected);
        assert!((stats.grad_norm - norm).abs() < 1e-4 * norm, "{stats:?} and {norm}");
    }
}

fn norm_of(gradients: &BTreeMap<String, Vec<f32>>) -> f64 {
    gradients.values().flatten().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn a_gradient_that_leaves_the_range_of_f16_moves_nothing_and_its_norm_is_not_nought() {
    let policy = tiny_policy();
    let mut sampled = Sampled::new(&policy, rollout_config(4, 12));
    // The loss is finite, and the loss times its scale is not.
    sampled.advantages = sampled.advantages.map(|advantage| advantage * 1e37);
    let mut optimizer = Optimizer::new(policy.trainable(), &config()).unwrap().in_precision(Precision::F16);
    let before = weights(&policy);
    let stats = update(&policy, &mut optimizer, &sampled.batch(&config()), 0.1, &mut |_, _| ()).unwrap().unwrap();
    assert_eq!((stats.overflowed, stats.grad_norm), (1, f64::INFINITY));
    assert_eq!(before, weights(&policy));
}
