//! Log-probabilities and entropies of the completion tokens of a batch, in nats.

use candle_core::{Device, Tensor, WithDType};

use super::batch::Part;
use super::division::countable;
use super::loss::entropy_threshold;
use super::shared::Shared;
use super::{Batch, LearnError};
use crate::policy::{Adapters, Decoder};
use grpo_tensor::{ScoreSettings, select_rows};

/// Log-probabilities of every completion under a reference, in nats, in the order of the completions. `decoder` is a
/// copy of the initial policy, or the policy's own with `adapters` off. Completions that are not in the loss get an
/// empty list. Where a GPU has no memory for them they are computed in smaller parts, like an update.
pub fn reference_logprobs(decoder: &Decoder, adapters: Adapters, batch: &Batch) -> Result<Vec<Vec<f32>>, LearnError> {
    let scored = batch.in_parts_that_fit(batch.division, decoder, |batch| logprobs(decoder, &adapters, batch));
    scored.map(|(logprobs, _)| logprobs)
}

/// The batch with its [log-probabilities under a reference](reference_logprobs), divided into parts that these found
/// memory for, because an update in larger ones would run out of it again. A batch [without signal](Batch::has_signal)
/// stays as it is, because no update would read them.
pub fn score_reference(decoder: &Decoder, adapters: Adapters, batch: Batch) -> Result<Batch, LearnError> {
    if !batch.has_signal() {
        return Ok(batch);
    }
    with_scored(batch, decoder, |batch| logprobs(decoder, &adapters, batch), Batch::with_reference)
}

/// The batch with the policy's own log-probabilities before the first update, divided in the same way.
pub(super) fn score_old(decoder: &Decoder, batch: Batch) -> Result<Batch, LearnError> {
    with_scored(batch, decoder, |batch| logprobs(decoder, &Adapters::On, batch), Batch::with_old)
}

/// The batch with what `score` computes, which `add` puts into it, divided into parts that this found memory for.
fn with_scored(
    batch: Batch,
    decoder: &Decoder,
    score: impl FnMut(&Batch) -> Result<Vec<Vec<f32>>, LearnError>,
    add: fn(Batch, Vec<Vec<f32>>) -> Batch,
) -> Result<Batch, LearnError> {
    let (logprobs, division) = batch.in_parts_that_fit(batch.division, decoder, score)?;
    Ok(add(batch.divided(division), logprobs))
}

fn logprobs(decoder: &Decoder, adapters: &Adapters, batch: &Batch) -> Result<Vec<Vec<f32>>, LearnError> {
    let mut all = vec![Vec::new(); batch.len()];
    let (rows, parts): (Vec<&[usize]>, Vec<Part>) = batch.parts().unzip();
    let work = |part: &Part| scores(decoder, batch, part, adapters.clone()).map(|(logp, _)| logp);
    for (rows, logp) in rows.into_iter().zip((Shared { batch, parts: &parts, device: decoder.device() }).lists(work)?) {
        let mut logp = logp.into_iter();
        for row in rows {
            all[*row] = logp.by_ref().take(batch.completion_length(*row)).collect();
        }
    }
    Ok(all)
}

/// Restricts the surrogate to the share `top_entropy_quantile` of the batch's tokens with the highest entropies. A share
/// below 1 needs the entropies of all parts, and therefore an additional forward pass, with the dropout of update number
/// `iteration`.
pub(super) fn keep_uncertain(
    decoder: &Decoder,
    batch: &Batch,
    parts: &mut [Part],
    iteration: usize,
) -> Result<(), LearnError> {
    let share = batch.config.top_entropy_quantile;
    if share >= 1.0 {
        return Ok(());
    }
    let work = |part: &Part| Ok(scores(decoder, batch, part, batch.adapters(part, iteration))?.1);
    let entropies = (Shared { batch, parts, device: decoder.device() }).lists(work)?;
    let weights = parts.iter().flat_map(|part| &part.weight);
    let counts = entropies.iter().flatten().zip(weights).filter(|(_, weight)| **weight != 0.0);
    let threshold = entropy_threshold(counts.map(|(entropy, _)| *entropy).collect(), share);
    for (part, entropies) in parts.iter_mut().zip(entropies) {
        part.kept = Some(entropies.iter().map(|entropy| f32::from(u8::from(*entropy >= threshold))).collect());
    }
    Ok(())
}

/// Log-probabilities and entropies of a part in nats, both `(N,)`, without gradients: no layer keeps its activations, also
/// where the adapters are trained.
pub(super) fn scores(
    decoder: &Decoder,
    batch: &Batch,
    part: &Part,
    adapters: Adapters,
) -> Result<(Vec<f32>, Vec<f32>), LearnError> {
    if !decoder.device().is_cpu() {
        countable(part.tokens.ids.len(), decoder.config())?;
    }
    let scored = || {
        let ids = vector(&part.tokens.ids, decoder.device())?;
        let (hidden, _) = decoder.hidden_checkpointed(&ids, &part.tokens.spans, adapters)?;
        let (logp, entropy) = score(decoder, batch, part, hidden.detach())?;
        Ok::<_, LearnError>((logp.detach().to_vec1::<f32>()?, entropy.detach().to_vec1::<f32>()?))
    };
    scored().map_err(|error| error.on(decoder.device()))
}

/// Log-probabilities and entropies of a part in nats, both `(N,)`, at the sampling temperature. The head is computed at
/// completion tokens only.
pub(super) fn score(
    decoder: &Decoder,
    batch: &Batch,
    part: &Part,
    hidden: Tensor,
) -> Result<(Tensor, Tensor), LearnError> {
    let device = decoder.device();
    let hidden = select_rows(&hidden, &part.tokens.places)?;
    let how = ScoreSettings { temperature: batch.temperature, logit_bytes: batch.division.logit_bytes };
    Ok(decoder.score(&hidden, &vector(&part.targets, device)?, how)?)
}

pub(super) fn vector<T: WithDType>(values: &[T], device: &Device) -> candle_core::Result<Tensor> {
    Tensor::from_slice(values, values.len(), device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, GrpoConfig};
    use crate::fixture::{prompts, rollout_config, tiny_policy};
    use crate::groups::Groups;
    use crate::policy::Policy;
    use crate::rollout::generate;
    use crate::seed::Seed;

    /// Two groups of four completions, each with this advantage, in parts of four.
    fn batch(policy: &Policy, advantage: f32) -> Batch {
        let (rollout, prompts) = (rollout_config(4, 6), prompts());
        let completions = generate(policy, &prompts, &rollout, Seed::root(9), &mut |_| ()).unwrap();
        let advantages = Groups::new(4, vec![advantage; completions.items().len()]);
        let config = Config::preset("builtin").unwrap().grpo;
        let config = GrpoConfig { micro_batch: 4, mask_truncated_completions: false, ..config };
        Batch::new(&prompts, completions.each_ref(), advantages, &rollout, &config)
    }

    fn out_of_memory() -> LearnError {
        LearnError::Tensor(candle_core::Error::Msg("CUDA_ERROR_OUT_OF_MEMORY".into()))
    }

    #[test]
    fn log_probabilities_that_find_no_memory_are_computed_in_smaller_parts() {
        let policy = tiny_policy();
        let (batch, mut tried) = (batch(&policy, 1.0), Vec::new());
        let found = batch.in_parts_that_fit(batch.division, policy.decoder(), |batch| {
            tried.push((batch.division.micro_batch, batch.parts().count()));
            if tried.len() < 3 {
                return Err(out_of_memory());
            }
            logprobs(policy.decoder(), &Adapters::On, batch)
        });
        assert_eq!(tried, [(4, 2), (2, 4), (1, 8)]);
        let whole = reference_logprobs(policy.decoder(), Adapters::On, &batch).unwrap();
        let apart = found.unwrap().0.concat().into_iter().zip(whole.concat()).map(|(here, there)| (here - there).abs());
        assert!(apart.fold(0.0, f32::max) < 1e-5);
    }

    #[test]
    fn an_update_is_divided_as_its_reference_had_to_be_and_there_is_none_where_nothing_is_learnt() {
        let (policy, mut tried) = (tiny_policy(), 0);
        let mut scored = |add: fn(Batch, Vec<Vec<f32>>) -> Batch| {
            tried = 0;
            let score = |batch: &Batch| {
                tried += 1;
                if tried == 1 { Err(out_of_memory()) } else { logprobs(policy.decoder(), &Adapters::On, batch) }
            };
            let scored = with_scored(batch(&policy, 1.0), policy.decoder(), score, add).unwrap();
            assert_eq!((scored.division.micro_batch, scored.parts().count(), tried), (2, 4, 2));
            scored
        };
        assert_eq!(scored(Batch::with_reference).reference.unwrap().len(), 8);
        // Where servers sampled, the policy's own log-probabilities divide it in the same way.
        let old = scored(Batch::with_old);
        assert!(old.parts().all(|(_, part)| part.old.is_some_and(|old| old.len() == part.targets.len())));
        let idle = score_reference(policy.decoder(), Adapters::On, batch(&policy, 0.0)).unwrap();
        assert!(idle.reference.is_none());
    }
}
