//! Log-probabilities and entropies of the completion tokens of a batch, in nats.

use candle_core::{Device, Tensor, WithDType};

use super::batch::Part;
use super::shared::Shared;
use super::{Batch, LearnError, entropy_threshold};
use crate::policy::{Adapters, Decoder};
use grpo_tensor::{ScoreSettings, select_rows};

/// Log-probabilities of every completion under a reference, in nats, in the order of the completions. `decoder` is a
/// copy of the initial policy, or the policy's own with `adapters` off. Completions that are not in the loss get an
/// empty list.
pub fn reference_logprobs(decoder: &Decoder, adapters: Adapters, batch: &Batch) -> Result<Vec<Vec<f32>>, LearnError> {
    let batch = &batch.clone().for_decoder(decoder);
    let mut all = vec![Vec::new(); batch.len()];
    let (rows, parts): (Vec<&[usize]>, Vec<Part>) = batch.parts().unzip();
    let work = |part: &Part| {
        let ids = vector(&part.tokens.ids, decoder.device())?;
        let (logp, _) = score(decoder, batch, part, decoder.hidden_of(&ids, &part.tokens.spans, adapters.clone())?)?;
        Ok(logp.detach().to_vec1::<f32>()?)
    };
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

/// Log-probabilities and entropies of a part in nats, both `(N,)`, without gradients.
pub(super) fn scores(
    decoder: &Decoder,
    batch: &Batch,
    part: &Part,
    adapters: Adapters,
) -> Result<(Vec<f32>, Vec<f32>), LearnError> {
    let ids = vector(&part.tokens.ids, decoder.device())?;
    let (hidden, _) = decoder.hidden_checkpointed(&ids, &part.tokens.spans, adapters)?;
    let (logp, entropy) = score(decoder, batch, part, hidden.detach())?;
    Ok((logp.detach().to_vec1()?, entropy.detach().to_vec1()?))
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
