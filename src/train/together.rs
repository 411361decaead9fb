//! What the processes of a run do in common: begin alike, cut updates alike, compare what they came to, and stop together.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use candle_core::{DType, Device, Tensor};

use crate::grpo::Division;
use crate::metrics::StepRecord;
use crate::parallel::ParallelError;
use crate::policy::{Adapters, PolicyError};

use super::checkpoint::TrainerState;
use super::memory::{MemoryPlan, Workload};
use super::run_dir::{RunDir, RunDirError};
use super::{Progress, Run, TrainError};

impl Run<'_> {
    /// Refuses to train with processes that begin elsewhere, or whose machine rounds in another way.
    pub(super) fn agree(&self, progress: &Progress) -> Result<(), TrainError> {
        if self.peers.size() == 1 {
            return Ok(());
        }
        let TrainerState { global_step, num_input_tokens_seen, .. } = &progress.state;
        let begins = format!("step {global_step}, {num_input_tokens_seen} tokens seen");
        let trained = self.policy.trainable().values().map(|var| var.as_tensor().clone());
        let moments = progress.optimizer.state()?.into_values();
        let mut on = vec![
            ("checkpoint".to_owned(), begins),
            ("trained weights".to_owned(), digest(trained)?),
            ("state of the optimiser".to_owned(), digest(moments)?),
        ];
        if !self.config.parallel.allow_other_processors {
            on.push(("what the model computes (see parallel.allow_other_processors)".to_owned(), self.computes()?));
        }
        Ok(self.peers.agree(on)?)
    }

    /// What the first process opens, and the others know of: the directory of the run, and the checkpoint to go on from.
    pub(super) fn dir(
        &self,
        open: impl FnOnce() -> Result<(RunDir, Option<PathBuf>), RunDirError>,
    ) -> Result<(RunDir, Option<PathBuf>), TrainError> {
        let opened = if self.peers.leads() { Some(open()?) } else { None };
        let told = opened.as_ref().map(|(dir, newest)| (dir.path().to_owned(), newest.clone()));
        let first = self.peers.gather_values(told)?.into_iter().next().flatten();
        Ok(match (opened, first) {
            (None, Some((path, newest))) => (RunDir::of_another(path), newest),
            (opened, _) => opened.expect("the first process has opened it"),
        })
    }

    /// Whether any of the processes was asked to stop. All of them ask together.
    pub(super) fn stopping(&self) -> Result<bool, TrainError> {
        let asked = u8::from(self.stop.load(Ordering::SeqCst));
        Ok(self.peers.gather(&[asked])?.iter().any(|asked| asked == &[1]))
    }

    /// The plan with a division that suits every process. It is part of the result's last bits, so the one with the least
    /// memory says it for all, and for how many gradients are held until all add them up.
    pub(super) fn in_common(&self, workload: &Workload<'_>, plan: MemoryPlan) -> Result<MemoryPlan, TrainError> {
        let Division { at_once, held, .. } = plan.division;
        let all = self.peers.gather_values((plan.division, held))?;
        let all = all.into_iter().map(|(division, held)| Division { at_once, held, ..division });
        let common = all.reduce(Division::smaller_of).unwrap_or(plan.division);
        Ok(if common == plan.division { plan } else { MemoryPlan::of(workload, common) })
    }

    /// Adds what every process has waited for the others, and refuses to go on where they have come to other results.
    pub(super) fn compare(&self, record: &mut StepRecord) -> Result<(), TrainError> {
        if self.peers.size() == 1 {
            return Ok(());
        }
        let results = [record.reward, record.loss.unwrap_or(0.0), record.grad_norm.unwrap_or(0.0)];
        let all = self.peers.gather_numbers(&[&[self.peers.waited().as_secs_f64()], &results[..]].concat())?;
        let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
        if let Some(rank) = all.iter().position(|other| bits(&other[1..]) != bits(&all[0][1..])) {
            return Err(ParallelError::Apart { rank, step: record.step }.into());
        }
        record.waited(&all.iter().map(|numbers| numbers[0]).collect::<Vec<_>>());
        Ok(())
    }

    /// Digest of what the model makes of the first prompt: of all its weights, and of the rounding of this machine.
    fn computes(&self) -> Result<String, TrainError> {
        let Some(prompt) = self.prompts.prompts().first() else { return Ok(String::new()) };
        let decoder = self.policy.decoder();
        let ids = Tensor::new(prompt.ids.as_slice(), decoder.device()).and_then(|ids| ids.unsqueeze(0));
        digest([decoder.hidden(&ids.map_err(PolicyError::from)?, Adapters::On)?])
    }
}

/// Digest of the numbers of tensors, to the last bit, in 12 hexadecimal digits.
fn digest(tensors: impl IntoIterator<Item = Tensor>) -> Result<String, TrainError> {
    let mut hasher = blake3::Hasher::new();
    for tensor in tensors {
        let numbers = tensor
            .to_device(&Device::Cpu)
            .and_then(|tensor| tensor.detach().to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>());
        for number in numbers.map_err(PolicyError::from)? {
            hasher.update(&number.to_le_bytes());
        }
    }
    Ok(hasher.finalize().to_hex()[..12].to_owned())
}
