//! Exchanges gradients between processes: from GPU to GPU by NCCL, or through the host by MPI.

use candle_core::{Device, Tensor};
use grpo_tensor::Nccl;
use grpo_tensor::device::gpu_identity;

use super::{Joined, ParallelError, Peers, Route};
use crate::config::Reduce;

/// Collective operations on `(n,)` tensors of f32, which all processes call together. Results are on the GPU for NCCL
/// and on the host for MPI.
pub trait Carrier {
    /// Sends `given[r]` numbers of `mine` to rank r, and returns the numbers that this process receives, `taken[r]`
    /// from rank r; both in the order of the ranks.
    fn exchange(&self, mine: &Tensor, given: &[usize], taken: &[usize]) -> Result<Tensor, ParallelError>;
    /// The tensors of all processes, of equal length, in the order of the ranks.
    fn gather(&self, mine: &Tensor) -> Result<Tensor, ParallelError>;
    /// The sum of the tensors of all processes, in any order, with the same bits for all.
    fn sum(&self, mine: &Tensor) -> Result<Tensor, ParallelError>;
}

impl Carrier for Nccl {
    fn exchange(&self, mine: &Tensor, given: &[usize], taken: &[usize]) -> Result<Tensor, ParallelError> {
        Ok(self.exchange(mine, given, taken)?)
    }

    fn gather(&self, mine: &Tensor) -> Result<Tensor, ParallelError> {
        Ok(self.gather(mine)?)
    }

    fn sum(&self, mine: &Tensor) -> Result<Tensor, ParallelError> {
        Ok(self.sum(mine)?)
    }
}

/// The collectives of MPI, through the host.
impl Carrier for Joined {
    fn exchange(&self, mine: &Tensor, given: &[usize], taken: &[usize]) -> Result<Tensor, ParallelError> {
        let bytes = |counts: &[usize]| counts.iter().map(|count| count * size_of::<f32>()).collect::<Vec<_>>();
        numbers(&self.mpi.exchange(&self::bytes(mine)?, &bytes(given), &bytes(taken))?)
    }

    fn gather(&self, mine: &Tensor) -> Result<Tensor, ParallelError> {
        let mine = bytes(mine)?;
        numbers(&self.mpi.gather(&mine, &vec![mine.len(); self.mpi.size()])?)
    }

    fn sum(&self, mine: &Tensor) -> Result<Tensor, ParallelError> {
        let all = self.mpi.sum(&mine.to_vec1::<f32>()?)?;
        Ok(Tensor::from_vec(all, mine.elem_count(), &Device::Cpu)?)
    }
}

fn bytes(tensor: &Tensor) -> Result<Vec<u8>, ParallelError> {
    Ok(tensor.to_vec1::<f32>()?.into_iter().flat_map(f32::to_le_bytes).collect())
}

fn numbers(bytes: &[u8]) -> Result<Tensor, ParallelError> {
    let numbers: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let count = numbers.len();
    Ok(Tensor::from_vec(numbers, count, &Device::Cpu)?)
}

/// Identity of the GPU and version of NCCL, or why a process cannot use NCCL.
type Reachable = Result<(String, String), String>;

impl Peers {
    /// Decides how gradients of models on `device` are exchanged: by NCCL if each process has its own GPU and all have
    /// the same version of NCCL, otherwise through the host. Returns lines for the user.
    pub fn connect(&self, device: &Device, reduce: Reduce) -> Result<Vec<String>, ParallelError> {
        let Some(joined) = &self.joined else { return Ok(Vec::new()) };
        let mut lines = Vec::new();
        if reduce == Reduce::Fast {
            lines.push(
                "parallel.reduce = \"fast\": the last bits of this run depend on how many processes train, and on their \
                 library: one process, or another number of them, does not repeat it exactly"
                    .to_owned(),
            );
        }
        let own: Option<Reachable> = (!device.is_cpu()).then(|| {
            let gpu = gpu_identity(device).map_err(|error| error.to_string())?;
            Ok((gpu, Nccl::version()?))
        });
        let all = self.gather_values(own)?;
        let nccl = match refusal(&all) {
            _ if all.iter().all(Option::is_none) => None,
            Some(reason) => {
                lines.push(format!("gradients cross through the host, not by NCCL: {reason}"));
                None
            }
            None => {
                let failed = |reason| ParallelError::Nccl { reason };
                let id = if self.leads() { Nccl::id() } else { Ok(Vec::new()) };
                let id = self.gather_values(id)?.swap_remove(0).map_err(failed)?;
                lines.push("gradients cross from GPU to GPU by NCCL".to_owned());
                Some(Nccl::join(device, self.rank(), self.size(), &id).map_err(failed)?)
            }
        };
        joined.route.get_or_init(|| Route { reduce, nccl });
        Ok(lines)
    }

    /// Whether vectors of several processes are added in the order of the parts, so that each has to be held until
    /// then.
    pub fn adds_in_order(&self) -> bool {
        self.route().is_some_and(|(reduce, _)| reduce == Reduce::Exact)
    }

    /// How gradients are added and exchanged; none for a single process.
    pub(super) fn route(&self) -> Option<(Reduce, &dyn Carrier)> {
        let joined = self.joined.as_deref()?;
        Some(match joined.route.get() {
            Some(Route { reduce, nccl: Some(nccl) }) => (*reduce, nccl),
            Some(Route { reduce, .. }) => (*reduce, joined),
            None => (Reduce::Exact, joined),
        })
    }
}

/// Why these processes cannot use NCCL, if they cannot.
fn refusal(all: &[Option<Reachable>]) -> Option<String> {
    for (rank, own) in all.iter().enumerate() {
        let (gpu, version) = match own {
            None => return Some(format!("rank {rank} computes on the processor")),
            Some(Err(reason)) => return Some(format!("rank {rank}: {reason}")),
            Some(Ok(found)) => found,
        };
        for (other, own) in all[..rank].iter().enumerate() {
            match own {
                Some(Ok((same, _))) if same == gpu => {
                    return Some(format!("ranks {other} and {rank} share a GPU"));
                }
                Some(Ok((_, its))) if its != version => {
                    return Some(format!("rank {other} has version {its}, rank {rank} has {version}"));
                }
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nccl_joins_processes_that_have_a_gpu_each_and_the_same_version() {
        let gpu = |uuid: &str, version: &str| Some(Ok((uuid.to_owned(), version.to_owned())));
        let lacking: Option<Reachable> = Some(Err("no NCCL (libnccl.so.2: not found)".into()));
        assert_eq!(refusal(&[gpu("a", "2.27"), gpu("b", "2.27"), gpu("c", "2.27")]), None);
        let told = |all: &[Option<Reachable>]| refusal(all).unwrap();
        assert_eq!(told(&[gpu("a", "2.27"), gpu("b", "2.27"), gpu("a", "2.27")]), "ranks 0 and 2 share a GPU");
        assert_eq!(told(&[gpu("a", "2.27"), gpu("b", "2.18")]), "rank 0 has version 2.27, rank 1 has 2.18");
        assert_eq!(told(&[gpu("a", "2.27"), lacking]), "rank 1: no NCCL (libnccl.so.2: not found)");
        assert_eq!(told(&[None, gpu("a", "2.27")]), "rank 0 computes on the processor");
    }
}
