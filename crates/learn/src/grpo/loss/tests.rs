use candle_core::{Device, Var};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::*;
use crate::config::Config;
use crate::grpo::ImportanceWeights;

/// The results of TRL, written by tests/goldens/losses.py.
const GOLDENS: &str = include_str!("../../../../../tests/goldens/losses.json");

fn vector(values: &[f64]) -> Tensor {
    Tensor::new(values, &Device::Cpu).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec1().unwrap()
}

/// A configuration without KL penalty and entropy bonus.
fn config(loss_type: LossType) -> GrpoConfig {
    GrpoConfig {
        loss_type,
        epsilon: 0.2,
        epsilon_high: 0.28,
        entropy_coef: 0.0,
        ..Config::preset("builtin").unwrap().grpo
    }
}

/// Tokens of completions of these lengths, with equal weights.
fn tokens(logp: &Var, old: &[f64], advantage: &[f64], lengths: &[usize]) -> Tokens {
    let ones = vec![1.0; old.len()];
    Tokens {
        logp: logp.as_tensor().clone(),
        old: vector(old),
        reference: None,
        entropy: vector(&ones),
        advantage: vector(advantage),
        weight: vector(&ones),
        bonus: None,
        kept: None,
        correction: None,
        imitation: None,
        lengths: lengths.to_vec(),
    }
}

/// Loss, derivative by `logp` and sign of the cut of one token with log-probability -1 and the given ratio.
fn at(ratio: f64, advantage: f64, config: &GrpoConfig) -> (f64, f64, f64) {
    let logp = Var::from_tensor(&vector(&[-1.0])).unwrap();
    let tokens = tokens(&logp, &[-1.0 - ratio.ln()], &[advantage], &[1]);
    let (loss, cut) = loss(&tokens, config).unwrap();
    let store = loss.backward().unwrap();
    let cut = values(&cut)[0];
    (loss.to_scalar().unwrap(), values(store.get(&logp).unwrap())[0], if cut == 0.0 { 0.0 } else { cut.signum() })
}

/// Compares `at` with tuples of (ratio, advantage, loss, d loss / d logp, cut).
fn check(config: &GrpoConfig, cases: &[(f64, f64, f64, f64, f64)]) {
    for (ratio, advantage, loss, gradient, cut) in cases {
        let found = at(*ratio, *advantage, config);
        let right = (found.0 - loss).abs() < 1e-9 && (found.1 - gradient).abs() < 1e-9 && found.2 == *cut;
        assert!(right, "ratio {ratio}, advantage {advantage}: {found:?} is not ({loss}, {gradient}, {cut})");
    }
}

#[test]
fn the_clipped_surrogate_and_its_gradient_are_those_calculated_by_hand() {
    // The gradient is -ratio * advantage if the ratio is not clipped.
    let cases = [
        (1.0, 2.0, -2.0, -2.0, 0.0),
        (1.2, 2.0, -2.4, -2.4, 0.0),
        (1.5, 2.0, -2.56, 0.0, -1.0),
        (0.5, 2.0, -1.0, -1.0, 0.0),
        (1.0, -3.0, 3.0, 3.0, 0.0),
        (0.9, -3.0, 2.7, 2.7, 0.0),
        (0.5, -3.0, 2.4, 0.0, 1.0),
        (1.5, -3.0, 4.5, 4.5, 0.0),
        (1.1, 0.0, 0.0, 0.0, 0.0),
    ];
    for loss_type in [LossType::Dapo, LossType::Grpo, LossType::DrGrpo] {
        check(&config(loss_type), &cases);
    }
}

#[test]
fn a_demonstration_that_has_become_unlikely_has_neither_ratio_nor_penalty() {
    for loss_type in [LossType::Dapo, LossType::Cispo, LossType::Sapo] {
        let config = GrpoConfig { beta: 0.1, elite_free_nats: 0.0, ..config(loss_type) };
        let logp = Var::from_tensor(&vector(&[-1001.0])).unwrap();
        // The exponential of 1000 is infinite.
        let tokens = Tokens {
            reference: Some(vector(&[-1.0])),
            weight: vector(&[0.0]),
            imitation: Some(vector(&[0.5])),
            ..tokens(&logp, &[-2001.0], &[0.0], &[1])
        };
        let (loss, _) = loss(&tokens, &config).unwrap();
        let store = loss.backward().unwrap();
        let found = (loss.to_scalar::<f64>().unwrap(), values(store.get(&logp).unwrap())[0]);
        assert_eq!(found, (500.5, -0.5), "{loss_type:?}");
    }
}

#[test]
fn the_gradient_ends_at_the_edges_of_the_clip() {
    let config = config(LossType::Dapo);
    for (edge, advantage, inward) in [(1.28, 1.0, -1e-6), (0.8, -1.0, 1e-6)] {
        let (inside, outside) = (at(edge + inward, advantage, &config), at(edge - inward, advantage, &config));
        assert!((inside.1 + (edge + inward) * advantage).abs() < 1e-9 && inside.2 == 0.0, "inside {edge}");
        assert!(outside.1 == 0.0 && outside.2 == -advantage, "outside {edge}");
        assert!((outside.0 + edge * advantage).abs() < 1e-9, "value outside {edge}");
    }
}

#[test]
fn a_second_clip_bounds_what_pushes_a_bad_token_away_and_nothing_else() {
    let config = GrpoConfig { delta: 4.0, ..config(LossType::Dapo) };
    let cases = [
        (3.9, -2.0, 7.8, 7.8, 0.0),
        (4.1, -2.0, 8.0, 0.0, -1.0),
        (50.0, -2.0, 8.0, 0.0, -1.0),
        (0.5, -2.0, 1.6, 0.0, 1.0),
        (50.0, 2.0, -2.56, 0.0, -1.0),
        (1.1, 2.0, -2.2, -2.2, 0.0),
    ];
    check(&config, &cases);
    let unbounded = GrpoConfig { delta: 0.0, ..config };
    check(&unbounded, &[(50.0, -2.0, 100.0, 100.0, 0.0)]);
}

#[test]
fn cispo_truncates_the_weight_and_keeps_the_gradient() {
    // With logp = -1 the loss is min(ratio, 5) * advantage, and its gradient the negative of that.
    let cases = [
        (1.0, 2.0, 2.0, -2.0, 0.0),
        (4.0, 2.0, 8.0, -8.0, 0.0),
        (7.0, 2.0, 10.0, -10.0, -1.0),
        (7.0, -2.0, -10.0, 10.0, -1.0),
        (0.01, -2.0, -0.02, 0.02, 0.0),
        (7.0, 0.0, 0.0, 0.0, 0.0),
    ];
    check(&GrpoConfig { epsilon_high: 5.0, ..config(LossType::Cispo) }, &cases);
}

#[test]
fn sapo_fades_what_is_far_away() {
    // 4 / t * sigmoid(t (r - 1)): its slope by logp is 4 r s (1 - s) with s the sigmoid. At t (r - 1) = ln 3, s = 3 / 4.
    let config = GrpoConfig { sapo_temperature_pos: 1.0, sapo_temperature_neg: 2.0, ..config(LossType::Sapo) };
    let ratio = |temperature: f64| 1.0 + 3f64.ln() / temperature;
    let cases = [
        (1.0, 2.0, -4.0, -2.0, 0.0),
        (1.0, -2.0, 2.0, 2.0, 0.0),
        (ratio(1.0), 2.0, -6.0, -1.5 * ratio(1.0), 0.0),
        (ratio(2.0), -2.0, 3.0, 1.5 * ratio(2.0), 0.0),
        (ratio(2.0), 0.0, 0.0, 0.0, 0.0),
    ];
    check(&config, &cases);
}

#[test]
fn the_ratio_of_a_sequence_is_its_geometric_mean_at_every_token() {
    // Ratios 2 and 1/2 have the geometric mean 1; ratios 1.1, 1.1 and 1.331 have 1.1 ^ (5/3). The gradient of each
    // token is -s A divided by the length, where s is this mean.
    let logs = [2f64.ln(), -(2f64.ln()), 1.1f64.ln(), 1.1f64.ln(), 1.331f64.ln()];
    let logp = Var::from_tensor(&vector(&[-1.0; 5])).unwrap();
    let tokens = tokens(&logp, &logs.map(|log| -1.0 - log), &[1.0, 1.0, -2.0, -2.0, -2.0], &[2, 3]);
    let config = GrpoConfig { importance_sampling_level: ImportanceSamplingLevel::Sequence, ..config(LossType::Grpo) };
    let Surrogate { loss, cut } = surrogate(&tokens, &config).unwrap();
    let mean = 1.1f64.powf(5.0 / 3.0);
    let store = loss.sum_all().unwrap().backward().unwrap();
    let expected = [-1.0, -1.0, 2.0 * mean, 2.0 * mean, 2.0 * mean];
    for found in [values(&loss), values(store.get(&logp).unwrap())] {
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
    }
    assert_eq!(values(&cut), [0.0; 5], "2 and 1/2 are outside of the clip, their mean is not");
    let narrow = GrpoConfig { epsilon: 0.1, epsilon_high: 0.1, ..config };
    let cut = surrogate(&tokens, &narrow).unwrap().cut;
    assert_eq!(values(&cut), [0.0; 5], "a bad completion that became likelier is not clipped");
}

#[test]
fn tokens_that_are_not_kept_have_penalty_and_bonus_alone() {
    let logp = Var::from_tensor(&vector(&[-1.0, -1.0])).unwrap();
    let mut tokens = tokens(&logp, &[-1.0, -1.0], &[2.0, 2.0], &[2]);
    tokens.kept = Some(vector(&[1.0, 0.0]));
    tokens.entropy = vector(&[3.0, 5.0]);
    let config = GrpoConfig { entropy_coef: 0.01, ..config(LossType::Dapo) };
    assert!((loss(&tokens, &config).unwrap().0.to_scalar::<f64>().unwrap() - (-2.0 - 0.08)).abs() < 1e-12);
}

#[test]
fn the_entropy_threshold_is_a_quantile() {
    let entropies = [0.5, 0.1, 0.4, 0.2, 0.3, 0.6].map(f64::from);
    let threshold = |share| f64::from(entropy_threshold(entropies.map(|entropy| entropy as f32).to_vec(), share));
    // torch.quantile(1 - share) is 0.1 + 0.5 (1 - share); the smallest entropy that is not below it is expected.
    for (share, first) in
        [(1.0, 0.1), (0.9, 0.2), (0.8, 0.2), (0.5, 0.4), (0.3, 0.5), (0.2, 0.5), (0.1, 0.6), (1e-6, 0.6)]
    {
        assert!((threshold(share) - first).abs() < 1e-6, "{share}: {} is not {first}", threshold(share));
    }
    assert_eq!(entropy_threshold(vec![0.7; 9], 0.2), 0.7, "equal entropies are all kept");
    assert_eq!(entropy_threshold(Vec::new(), 0.2), 0.0);
}

#[test]
fn k3_is_zero_at_the_reference_and_positive_elsewhere() {
    let logp = vector(&[-1.0, -1.0, -1.0]);
    let found = k3(&logp, &vector(&[-1.0, -1.0 + 2f64.ln(), -1.0 - 2f64.ln()])).unwrap();
    // The expected values are 2 - ln 2 - 1 and 1/2 + ln 2 - 1.
    let expected = [0.0, 0.306_852_819_440_054_7, 0.193_147_180_559_945_3];
    for (found, expected) in values(&found).iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12);
    }
    assert!((k3_of(2f32.ln()) - expected[1]).abs() < 1e-7 && k3_of(0.0) == 0.0);
}

#[derive(Deserialize)]
struct Goldens {
    lengths: Vec<usize>,
    longest: usize,
    advantages: Vec<f64>,
    logp: Vec<f64>,
    old: Vec<f64>,
    sampled: Vec<f64>,
    reference: Vec<f64>,
    entropy: Vec<f64>,
    cases: Vec<Golden>,
}

#[derive(Deserialize)]
struct Golden {
    name: String,
    settings: Map<String, Value>,
    loss: f64,
    gradient: Vec<f64>,
    figures: Map<String, Value>,
}

impl Goldens {
    /// One value per completion, repeated at each of its tokens.
    fn spread(&self, of: impl Fn(usize) -> f64) -> Vec<f64> {
        self.lengths.iter().enumerate().flat_map(|(row, length)| vec![of(row); *length]).collect()
    }

    /// The weights that correct for the sampler, with settings that correspond to TRL's.
    fn correction(&self, settings: &Map<String, Value>) -> Option<Vec<f64>> {
        let (level, kind) = settings.get("vllm_importance_sampling_mode")?.as_str()?.split_once('_')?;
        let bound = |end: &str| settings.get(&format!("vllm_importance_sampling_clip_{end}")).and_then(Value::as_f64);
        let rollout = serde_json::json!({
            "servers": ["http://localhost"], "correction": kind, "correction_level": level,
            "correction_cap": bound("max"), "correction_floor": bound("min").unwrap_or(0.0),
        });
        let mut table = serde_json::to_value(Config::preset("builtin").unwrap().rollout).unwrap();
        table.as_object_mut().unwrap().extend(rollout.as_object().unwrap().clone());
        let correction = ImportanceWeights::of(&serde_json::from_value(table).unwrap()).unwrap();
        let [old, sampled] =
            [&self.old, &self.sampled].map(|all| all.iter().map(|one| *one as f32).collect::<Vec<_>>());
        let weights = correction.weights(&old, &sampled, &self.lengths);
        assert!(weights.iter().any(|weight| weight.is_bounded) && weights.iter().any(|weight| !weight.is_bounded));
        Some(weights.iter().map(|weight| f64::from(weight.value)).collect())
    }

    fn tokens(&self, logp: &Var, config: &GrpoConfig) -> Tokens {
        let weight = token_weight(config.loss_type, self.lengths.iter().sum(), self.lengths.len(), self.longest);
        let entropies: Vec<f32> = self.entropy.iter().map(|entropy| *entropy as f32).collect();
        let threshold = entropy_threshold(entropies.clone(), config.top_entropy_quantile);
        let kept: Vec<f64> = entropies.iter().map(|entropy| f64::from(u8::from(*entropy >= threshold))).collect();
        let advantage = self.spread(|row| self.advantages[row]);
        Tokens {
            reference: Some(vector(&self.reference)),
            entropy: vector(&self.entropy),
            weight: vector(&self.spread(|row| weight(self.lengths[row]))),
            kept: (config.top_entropy_quantile < 1.0).then(|| vector(&kept)),
            ..tokens(logp, &self.old, &advantage, &self.lengths)
        }
    }

    /// Share of the tokens for which `holds` is true, or of the completions if the ratio is per completion, as in TRL.
    fn share(&self, cut: &[f64], config: &GrpoConfig, holds: impl Fn(f64, f64) -> bool) -> f64 {
        let weight = self.spread(|row| match config.importance_sampling_level {
            ImportanceSamplingLevel::Token => 1.0 / self.old.len() as f64,
            ImportanceSamplingLevel::Sequence => 1.0 / (self.lengths.len() * self.lengths[row]) as f64,
        });
        let advantage = self.spread(|row| self.advantages[row]);
        let tokens = cut.iter().zip(&advantage).zip(weight);
        tokens.filter(|((cut, advantage), _)| holds(**cut, **advantage)).map(|(_, weight)| weight).sum()
    }
}

/// TRL's settings over its defaults, by TRL's names.
fn of_trl(settings: &Map<String, Value>) -> GrpoConfig {
    let mut table = serde_json::to_value(config(LossType::Dapo)).unwrap();
    table["epsilon_high"] = settings.get("epsilon").cloned().unwrap_or(0.2.into());
    let of_loss = settings.iter().filter(|(key, _)| !key.starts_with("vllm_"));
    table.as_object_mut().unwrap().extend(of_loss.map(|(key, value)| (key.clone(), value.clone())));
    serde_json::from_value(table).unwrap()
}

#[test]
fn losses_gradients_and_clip_figures_are_those_of_trl() {
    let goldens: Goldens = serde_json::from_str(GOLDENS).unwrap();
    for golden in &goldens.cases {
        let (name, config) = (&golden.name, of_trl(&golden.settings));
        let logp = Var::from_tensor(&vector(&goldens.logp)).unwrap();
        let weights = goldens.correction(&golden.settings);
        // Weights are f32 numbers with 24 bits of precision.
        let tolerance = if weights.is_some() { 1e-7 } else { 1e-12 };
        let correction = weights.as_deref().map(vector);
        let tokens = Tokens { correction, ..goldens.tokens(&logp, &config) };
        let (loss, cut) = loss(&tokens, &config).unwrap();
        let gradient = values(loss.backward().unwrap().get(&logp).unwrap());
        let loss: f64 = loss.to_scalar().unwrap();
        assert!((loss - golden.loss).abs() < tolerance, "{name}: {loss} is not {}", golden.loss);
        for (found, expected) in gradient.iter().zip(&golden.gradient) {
            assert!((found - expected).abs() < tolerance, "{name}: {found} is not {expected} in the gradient");
        }
        // For the upper limit TRL counts positive advantages only.
        let low = goldens.share(&values(&cut), &config, |cut, _| cut > 0.0);
        let high = goldens.share(&values(&cut), &config, |cut, advantage| cut < 0.0 && advantage > 0.0);
        let pairs = goldens.logp.iter().zip(&goldens.reference);
        let kl =
            pairs.map(|(logp, reference)| k3_of((reference - logp) as f32)).sum::<f64>() / goldens.logp.len() as f64;
        let found =
            [("clip_ratio/low_mean", low), ("clip_ratio/high_mean", high), ("cispo_clip_ratio", high), ("kl", kl)];
        for (figure, expected) in &golden.figures {
            let (_, found) = found.iter().find(|(known, _)| known == figure).unwrap();
            assert!((found - expected.as_f64().unwrap()).abs() < 1e-6, "{name}: {figure} is {found}, not {expected}");
        }
    }
    assert_eq!(goldens.cases.len(), 22);
}
