//! The updates of one rollout.

use candle_core::Tensor;

use crate::policy::{Activations, Adapters, Decoder, Policy};
use crate::stats;

use super::batch::Part;
use super::correction::Weight;
use super::division::countable;
use super::gradients::{Gradients, gradients_by_layer, gradients_kept};
use super::loss::{Tokens, k3_of, loss};
use super::scores::{keep_uncertain, score, score_old, scores, vector};
use super::shared::{Shared, agree_on_success};
use super::sums::Sums;
use super::{Batch, CorrectionStats, Division, LearnError, Optimizer};

/// Statistics of the updates of a rollout. Means are over the sampled tokens in the loss and over the updates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UpdateStats {
    pub loss: f64,
    /// Mean global norm of the gradient before clipping, of the updates whose gradient was finite; infinite if none was.
    pub grad_norm: f64,
    /// Mean entropy of the policy, in nats per token.
    pub entropy: f64,
    /// Mean KL divergence from the reference (k3), in nats per token; none without a reference.
    pub kl: Option<f64>,
    /// Share of tokens whose ratio was below the clipping range, 0 to 1.
    pub clip_ratio_low: f64,
    /// Share of tokens whose ratio was above the clipping range, 0 to 1, for advantages of both signs.
    pub clip_ratio_high: f64,
    /// Mean absolute difference between the log-probabilities of sampling and of scoring before the first update, in
    /// nats per token.
    pub logp_difference_mean: f64,
    /// The largest such difference of a token, in nats.
    pub logp_difference_max: f64,
    /// Mean KL divergence between the policy that sampled and this one (k3), before the first update, in nats per
    /// token.
    pub sampling_kl: f64,
    /// Statistics of the correction for servers, before the first update; none if the policy sampled.
    pub correction: Option<CorrectionStats>,
    /// Mean negative log-likelihood of demonstrations, in nats per token; none without demonstrations.
    pub demonstration_nll: Option<f64>,
    /// Number of updates that were skipped because the gradient left the range of f16.
    pub overflowed: usize,
    /// The division that was used in the end. It is smaller than the batch's if the device ran out of memory.
    pub division: Division,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateStage {
    /// The forward pass and the loss.
    Forward,
    /// The gradients, including activations that are recomputed for them.
    Backward,
    Optimiser,
}

/// Runs the given work, which belongs to a stage of an update. Several threads may call it at the same time.
pub type Stopwatch<'a> = &'a (dyn Fn(UpdateStage, &mut dyn FnMut()) + Sync);

pub struct UpdateWatch<'a> {
    /// Called with the number of parts that are done and the number of all parts.
    pub progress: &'a mut dyn FnMut(usize, usize),
    /// Runs every piece of work, to measure it.
    pub stopwatch: Stopwatch<'a>,
}

/// The result of `work`, run by `stopwatch`.
fn timed<T>(stopwatch: Stopwatch<'_>, stage: UpdateStage, work: impl FnOnce() -> T) -> T {
    let (mut work, mut done) = (Some(work), None);
    stopwatch(stage, &mut || done = work.take().map(|work| work()));
    done.expect("a stopwatch runs what it is given")
}

/// One pass over a batch, for one update of a rollout.
#[derive(Clone, Copy)]
struct Round<'a> {
    policy: &'a Policy,
    batch: &'a Batch,
    stopwatch: Stopwatch<'a>,
    /// The number of the update, from 0.
    iteration: usize,
    /// The factor of the loss in the backward pass.
    loss_scale: f64,
}

/// Makes `num_iterations` updates with `batch` at `learning_rate`. `progress` is called with the number of parts that
/// are done and the number of all parts.
///
/// A batch whose advantages are all zero changes nothing and returns no statistics.
///
/// With one update per rollout the ratio is relative to the policy's own log-probabilities, so it is 1 and the gradient
/// is the policy gradient. With more updates, and if the batch is off policy, it is relative to the log-probabilities
/// of sampling.
pub fn update(
    policy: &Policy,
    optimizer: &mut Optimizer,
    batch: &Batch,
    learning_rate: f64,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Option<UpdateStats>, LearnError> {
    let watch = UpdateWatch { progress, stopwatch: &|_, work| work() };
    update_watched(policy, optimizer, batch, learning_rate, watch)
}

/// Like [`update`], but runs every piece of work by a stopwatch.
pub fn update_watched(
    policy: &Policy,
    optimizer: &mut Optimizer,
    batch: &Batch,
    learning_rate: f64,
    UpdateWatch { progress, stopwatch }: UpdateWatch<'_>,
) -> Result<Option<UpdateStats>, LearnError> {
    if !batch.has_signal() {
        return Ok(None);
    }
    if batch.config.beta > 0.0 && batch.reference.is_none() {
        return Err(LearnError::NoReference { beta: batch.config.beta });
    }
    let scored = if batch.needs_old() { Some(score_old(policy.decoder(), batch.clone())?) } else { None };
    let batch = scored.as_ref().unwrap_or(batch);
    let (iterations, mut division) = (batch.config.num_iterations, batch.division);
    let (mut all, mut first, mut norms) = (Sums::default(), None, Vec::new());
    for iteration in 0..iterations {
        let loss_scale = optimizer.loss_scale();
        let attempt = |batch: &Batch| {
            let mut parts: Vec<Part> = batch.parts().map(|(_, part)| part).collect();
            let keep = || keep_uncertain(policy.decoder(), batch, &mut parts, iteration);
            timed(stopwatch, UpdateStage::Forward, keep)?;
            let mut done = iteration * parts.len();
            let mut took = |_, _| {
                done += 1;
                progress(done, parts.len() * iterations);
            };
            pass(Round { policy, batch, stopwatch, iteration, loss_scale }, &parts, &mut took)
        };
        let ((sums, sum), fitted) = batch.in_parts_that_fit(division, policy.decoder(), attempt)?;
        division = fitted;
        if !sums.loss.is_finite() {
            return Err(LearnError::NotFiniteLoss { loss: sums.loss });
        }
        let step = || optimizer.apply(policy.trainable(), &sum, learning_rate);
        norms.extend(timed(stopwatch, UpdateStage::Optimiser, step)?);
        all.add(sums);
        first.get_or_insert(sums);
    }
    let (first, updates) = (first.unwrap_or_default(), iterations as f64);
    Ok(Some(UpdateStats {
        loss: all.loss / updates,
        grad_norm: if norms.is_empty() { f64::INFINITY } else { stats::mean(norms.iter().copied()) },
        entropy: all.entropy / all.tokens,
        kl: batch.reference.is_some().then_some(all.kl / all.tokens),
        clip_ratio_low: all.low / all.tokens,
        clip_ratio_high: all.high / all.tokens,
        logp_difference_mean: first.difference / first.tokens,
        logp_difference_max: first.difference_max,
        sampling_kl: first.sampling_kl / first.tokens,
        correction: batch.correction.map(|_| CorrectionStats {
            weight_mean: first.correction / first.tokens,
            share: first.corrected / first.tokens,
        }),
        demonstration_nll: (all.demonstrated > 0.0).then(|| all.nll / all.demonstrated),
        overflowed: iterations - norms.len(),
        division,
    }))
}

/// The sums and gradients of the whole batch.
fn pass(
    round: Round<'_>,
    parts: &[Part],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Sums, Gradients), LearnError> {
    let (Round { policy, batch, .. }, mut sums, mut done) = (round, Sums::default(), 0);
    let device = policy.decoder().device();
    // What is prepared takes memory of a GPU, and where one process has none left, all try again.
    let prepared = policy.decoder().prepared().map_err(|error| LearnError::from(error).on(device));
    let decoder = agree_on_success(&batch.peers, prepared)?;
    let work = |part: &Part| {
        let (sums, gradients) = part_pass(round, &decoder, part).map_err(|error| error.on(device))?;
        Ok((sums.numbers(), gradients))
    };
    let worked = |count| {
        for _ in 0..count {
            done += 1;
            progress(done, parts.len());
        }
    };
    let shared = Shared { batch, parts, device };
    let sum = shared.sums(policy.trainable(), work, |numbers| sums.add(numbers.into()), worked)?;
    Ok((sums, sum))
}

/// The sums and gradients of one part. `decoder` is the policy's, prepared for all parts.
fn part_pass(round: Round<'_>, decoder: &Decoder, part: &Part) -> Result<(Sums, Gradients), LearnError> {
    let Round { policy, batch, stopwatch, iteration, loss_scale } = round;
    let trainable = policy.trainable();
    if !decoder.device().is_cpu() {
        countable(part.tokens.ids.len(), decoder.config())?;
    }
    let ids = vector(&part.tokens.ids, decoder.device())?;
    let adapters = batch.adapters(part, iteration);
    let whole = match (&adapters, iteration) {
        // Tokens were sampled without dropout, so the comparison with sampling needs log-probabilities without dropout.
        (Adapters::Thinned(_), 0) => Some(scores(decoder, batch, part, Adapters::On)?.0),
        _ => None,
    };
    let scaled = |loss: Tensor| if loss_scale == 1.0 { Ok(loss) } else { loss * loss_scale };
    let loss = |hidden| part_loss(decoder, batch, part, hidden, whole);
    match batch.division.activations {
        Activations::Kept => {
            let forward = || {
                let (hidden, tokens) = decoder.hidden_kept(&ids, &part.tokens.spans, adapters)?;
                Ok::<_, LearnError>((loss(hidden)?, tokens))
            };
            let ((loss, sums), tokens) = timed(stopwatch, UpdateStage::Forward, forward)?;
            let backward = || gradients_kept(&scaled(loss)?, tokens, trainable);
            Ok((sums, timed(stopwatch, UpdateStage::Backward, backward)?))
        }
        Activations::Recomputed => {
            let forward = || {
                let (hidden, layers) = decoder.hidden_checkpointed(&ids, &part.tokens.spans, adapters)?;
                Ok::<_, LearnError>((loss(hidden)?, layers))
            };
            let ((loss, sums), layers) = timed(stopwatch, UpdateStage::Forward, forward)?;
            let backward = || gradients_by_layer(&scaled(loss)?, layers, trainable);
            Ok((sums, timed(stopwatch, UpdateStage::Backward, backward)?))
        }
    }
}

/// The loss of a part, differentiable, and its sums. `whole`: log-probabilities without dropout in nats, `(N,)`, if
/// dropout is on.
fn part_loss(
    decoder: &Decoder,
    batch: &Batch,
    part: &Part,
    hidden: Tensor,
    whole: Option<Vec<f32>>,
) -> Result<(Tensor, Sums), LearnError> {
    let (logp, entropy) = score(decoder, batch, part, hidden)?;
    let now = logp.detach();
    let mut tokens = tokens(part, logp, entropy, batch.has_ratio())?;
    let now = now.to_vec1::<f32>()?;
    let scored = whole.as_ref().unwrap_or(&now);
    let old = part.old.as_ref().unwrap_or(scored);
    let weights = batch.correction.map(|correction| correction.weights(old, &part.sampled, &part.lengths));
    if let Some(weights) = &weights {
        let values: Vec<f32> = weights.iter().map(|weight| weight.value).collect();
        tokens.correction = Some(vector(&values, decoder.device())?);
    }
    if let Some(bonus) = batch.bonus {
        let of_token = |weight: &f32| if *weight == 0.0 { 0.0 } else { bonus as f32 };
        let values: Vec<f32> = part.weight.iter().map(of_token).collect();
        tokens.bonus = Some(vector(&values, decoder.device())?);
    }
    let (loss, cut) = loss(&tokens, &batch.config)?;
    let mut sums = observe(part, &now, &cut.to_vec1::<f32>()?, scored, weights.as_deref());
    sums.loss = f64::from(loss.detach().to_scalar::<f32>()?);
    let entropies = tokens.entropy.detach().to_vec1::<f32>()?;
    let counts = entropies.iter().zip(&part.weight).filter(|(_, weight)| **weight != 0.0);
    sums.entropy = counts.map(|(entropy, _)| f64::from(*entropy)).sum();
    Ok((loss, sums))
}

/// The inputs of the loss of a part. With `has_ratio` false the ratio is relative to `logp` itself, so it is 1.
fn tokens(part: &Part, logp: Tensor, entropy: Tensor, has_ratio: bool) -> Result<Tokens, LearnError> {
    let device = logp.device().clone();
    let imitates = part.imitation.iter().any(|weight| *weight != 0.0);
    Ok(Tokens {
        old: if has_ratio { vector(part.old.as_ref().unwrap_or(&part.sampled), &device)? } else { logp.detach() },
        logp,
        reference: part.reference.as_ref().map(|reference| vector(reference, &device)).transpose()?,
        entropy,
        advantage: vector(&part.advantage, &device)?,
        weight: vector(&part.weight, &device)?,
        bonus: None,
        kept: part.kept.as_ref().map(|kept| vector(kept, &device)).transpose()?,
        correction: None,
        imitation: imitates.then(|| vector(&part.imitation, &device)).transpose()?,
        lengths: part.lengths.clone(),
    })
}

/// Sums over the tokens of a part. `now`: log-probabilities in nats, `(N,)`; `cut`: see
/// [`Surrogate::cut`](super::loss::Surrogate); `scored`: log-probabilities without dropout, which are compared with those of
/// sampling; `weights`: those that correct for servers, if there are any.
fn observe(part: &Part, now: &[f32], cut: &[f32], scored: &[f32], weights: Option<&[Weight]>) -> Sums {
    let mut sums = Sums::default();
    for (token, (now, cut)) in now.iter().zip(cut).enumerate() {
        if part.weight[token] == 0.0 {
            sums.demonstrated += 1.0;
            sums.nll -= f64::from(*now);
            continue;
        }
        sums.tokens += 1.0;
        sums.low += f64::from(u8::from(*cut > 0.0));
        sums.high += f64::from(u8::from(*cut < 0.0));
        sums.kl += part.reference.as_ref().map_or(0.0, |reference| k3_of(reference[token] - now));
        let apart = scored[token] - part.sampled[token];
        let difference = f64::from(apart.abs());
        sums.difference += difference;
        sums.difference_max = sums.difference_max.max(difference);
        sums.sampling_kl += k3_of(apart);
        if let Some(weights) = weights {
            sums.correction += f64::from(weights[token].value);
            sums.corrected += f64::from(u8::from(weights[token].is_bounded));
        }
    }
    sums
}

/// Loss and gradients of the first update of a batch.
#[cfg(test)]
pub(super) fn pass_for_tests(policy: &Policy, batch: &Batch) -> Result<(f64, Gradients), LearnError> {
    let batch = &batch.clone().for_decoder(policy.decoder());
    let mut parts: Vec<Part> = batch.parts().map(|(_, part)| part).collect();
    let round = Round { policy, batch, stopwatch: &|_, work| work(), iteration: 0, loss_scale: 1.0 };
    keep_uncertain(policy.decoder(), batch, &mut parts, 0)?;
    let (sums, sum) = pass(round, &parts, &mut |_, _| ())?;
    Ok((sums.loss, sum))
}
