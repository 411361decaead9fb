//! Agreement of the processes that train one run: they start from the same state, divide updates in the same way,
//! compare their results after every step, and stop together.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use candle_core::{DType, Device, Tensor};

use crate::grpo::Division;
use crate::metrics::StepRecord;
use crate::parallel::ParallelError;
use crate::policy::{Adapters, PolicyError, Precision};

use super::checkpoint::TrainerState;
use super::memory::{MemoryPlan, Workload};
use super::run_dir::{RunDir, RunDirError};
use super::{Progress, Run, TrainError};

impl Run<'_> {
    /// Refuses to train if processes start from different states, or if their machines round differently.
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

    /// Has the first process open the directory of the run. All processes get its path and the checkpoint to continue
    /// from.
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

    /// Whether any process was asked to stop. All processes call this together.
    pub(super) fn stopping(&self) -> Result<bool, TrainError> {
        let asked = u8::from(self.stop.load(Ordering::SeqCst));
        Ok(self.peers.gather(&[asked])?.iter().any(|asked| asked == &[1]))
    }

    /// The plan with the smallest division of all processes, since rounding depends on the division and must be the
    /// same everywhere. The number of gradients that are held is agreed on in the same way.
    pub(super) fn in_common(&self, workload: &Workload<'_>, plan: MemoryPlan) -> Result<MemoryPlan, TrainError> {
        let Division { at_once, held, .. } = plan.division;
        let all = self.peers.gather_values((plan.division, held))?;
        let all = all.into_iter().map(|(division, held)| Division { at_once, held, ..division });
        let common = all.reduce(Division::smaller_of).unwrap_or(plan.division);
        Ok(if common == plan.division { plan } else { MemoryPlan::of(workload, common) })
    }

    /// Seconds that each process has waited for the others in a step, by rank; none if there is one process.
    ///
    /// # Errors
    /// [`ParallelError::Apart`] if their results differ in any bit.
    pub(super) fn compare(&self, record: &StepRecord) -> Result<Option<Vec<f64>>, TrainError> {
        if self.peers.size() == 1 {
            return Ok(None);
        }
        let update = &record.update;
        let results = [record.reward, update.loss.unwrap_or(0.0), update.grad_norm.unwrap_or(0.0)];
        let all = self.peers.gather_numbers(&[&[self.peers.waited().as_secs_f64()], &results[..]].concat())?;
        let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
        if let Some(rank) = all.iter().position(|other| bits(&other[1..]) != bits(&all[0][1..])) {
            return Err(ParallelError::Apart { rank, step: record.step }.into());
        }
        Ok(Some(all.iter().map(|numbers| numbers[0]).collect()))
    }

    /// Says that another number of processes rounds in another way, where it does.
    pub(super) fn rounding_notice(&self) -> Option<String> {
        let decoder = self.policy.decoder();
        rounding_notice(self.peers.size(), decoder.device().is_cpu(), decoder.precision())
    }

    /// Digest of the decoder's output for the first prompt. It depends on all weights and on how this machine rounds.
    fn computes(&self) -> Result<String, TrainError> {
        let Some(prompt) = self.prompts.prompts().first() else { return Ok(String::new()) };
        let decoder = self.policy.decoder();
        let ids = Tensor::new(prompt.ids.as_slice(), decoder.device()).and_then(|ids| ids.unsqueeze(0));
        digest([decoder.hidden(&ids.map_err(PolicyError::from)?, Adapters::On)?])
    }
}

/// Digest of all bits of the tensors, in 12 hexadecimal digits.
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

/// Products are computed by kernels that are chosen by the number of rows on GPUs, and on processors in 16 bits.
fn rounding_notice(processes: usize, is_cpu: bool, precision: Precision) -> Option<String> {
    let rounds_by_rows = !is_cpu || precision != Precision::F32;
    (processes > 1 && rounds_by_rows).then(|| {
        let what = if is_cpu { "16 bits on a processor (model.precision)" } else { "a GPU" };
        format!("{what}: one process, or another number of them, repeats this run up to rounding, not exactly")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_processes_say_where_another_number_of_them_rounds_otherwise() {
        assert_eq!(rounding_notice(1, true, Precision::Bf16), None);
        assert_eq!(rounding_notice(2, true, Precision::F32), None);
        assert_eq!(
            rounding_notice(2, true, Precision::Bf16).as_deref(),
            Some(
                "16 bits on a processor (model.precision): one process, or another number of them, repeats this run up \
                 to rounding, not exactly"
            )
        );
        assert!(rounding_notice(3, true, Precision::F16).is_some());
        assert!(rounding_notice(2, false, Precision::F32).is_some_and(|words| words.starts_with("a GPU: ")));
    }
}
