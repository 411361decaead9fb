//! NCCL: numbers that cross from GPU to GPU, of one machine or several. Looked for when the program runs, as all of NVIDIA's
//! libraries are.
//!
//! Every tensor is `(n,)` of f32 on the GPU of its process, and all processes call the same function together. The work is
//! queued on the stream of the device, as that of any kernel.

#[cfg(not(feature = "cuda"))]
pub use without::NoNccl as Nccl;

#[cfg(feature = "cuda")]
pub use with::Nccl;

#[cfg(feature = "cuda")]
mod with {
    use std::ffi::c_char;
    use std::sync::{Mutex, PoisonError};
    use std::thread;
    use std::time::{Duration, Instant};

    use candle_core::cuda::CudaStorage;
    use candle_core::cuda::cudarc::driver::{CudaEvent, CudaSlice, CudaView};
    use candle_core::cuda::cudarc::nccl::result::NcclError;
    use candle_core::cuda::cudarc::nccl::safe::{Comm, Id, ReduceOp, group_end, group_start};
    use candle_core::{CpuStorage, DType, Device, Error, InplaceOp2, Layout, Result, Tensor, bail};

    use crate::device;

    /// How long an exchange may take once this process has come to it. All have met by MPI just before, so that the others
    /// come as soon as their GPU has done what it was given for one part of a batch.
    const PATIENCE: Duration = Duration::from_secs(50);
    /// Between two looks at whether an exchange is over.
    const PAUSE: Duration = Duration::from_micros(100);

    /// One of several processes with a GPU each.
    pub struct Nccl {
        /// Absent once a call has failed: nothing that is asked of it afterwards would come back.
        comm: Mutex<Option<Shared>>,
        size: usize,
    }

    struct Shared(Comm);

    // SAFETY: NCCL binds a communicator to no thread, and the lock around this one has calls come one at a time.
    unsafe impl Send for Shared {}

    enum Collective<'a> {
        Exchange { given: &'a [usize], taken: &'a [usize] },
        Gather,
        Sum,
    }

    impl Nccl {
        /// The version that was found, or why there is none.
        pub fn version() -> std::result::Result<String, String> {
            let found = device::examine_cuda().expect("built with CUDA").nccl;
            found.usable().map(|version| version.to_string()).ok_or_else(|| found.to_string())
        }

        /// By which processes find each other: one makes it, all join with it.
        #[allow(clippy::unnecessary_cast, reason = "characters have no sign on Arm")]
        pub fn id() -> std::result::Result<Vec<i8>, String> {
            Id::new()
                .map(|id| id.internal().map(|byte| byte as i8).to_vec())
                .map_err(|error| told("ncclGetUniqueId", &error))
        }

        /// Waits for the others.
        pub fn join(device: &Device, rank: usize, size: usize, id: &[i8]) -> std::result::Result<Nccl, String> {
            let id: [i8; 128] = id.try_into().map_err(|_| "an id of NCCL has 128 bytes".to_owned())?;
            let stream = device.as_cuda_device().map_err(|error| error.to_string())?.cuda_stream();
            stream.context().bind_to_thread().map_err(|error| error.to_string())?;
            let comm = Comm::from_rank(stream, rank, size, Id::uninit(id.map(|byte| byte as c_char)));
            let comm = comm.map_err(|error| told("ncclCommInitRank", &error))?;
            Ok(Nccl { comm: Mutex::new(Some(Shared(comm))), size })
        }

        /// Gives `mine` to the others, `given[r]` numbers to rank r, and what they give to this one, `taken[r]` numbers
        /// from rank r, both in the order of the ranks.
        pub fn exchange(&self, mine: &Tensor, given: &[usize], taken: &[usize]) -> Result<Tensor> {
            self.asked_for(mine, taken.iter().sum(), Collective::Exchange { given, taken })
        }

        /// What all have, as many numbers each, in the order of the ranks.
        pub fn gather(&self, mine: &Tensor) -> Result<Tensor> {
            self.asked_for(mine, mine.elem_count() * self.size, Collective::Gather)
        }

        /// The sum of what all have, in an order that NCCL chooses.
        pub fn sum(&self, mine: &Tensor) -> Result<Tensor> {
            self.asked_for(mine, mine.elem_count(), Collective::Sum)
        }

        fn asked_for(&self, mine: &Tensor, count: usize, collective: Collective<'_>) -> Result<Tensor> {
            let room = Tensor::zeros(count, DType::F32, mine.device())?;
            room.inplace_op2(mine, &Asked { nccl: self, collective })?;
            Ok(room)
        }
    }

    struct Asked<'a> {
        nccl: &'a Nccl,
        collective: Collective<'a>,
    }

    impl InplaceOp2 for Asked<'_> {
        fn name(&self) -> &'static str {
            "nccl"
        }

        fn cpu_fwd(&self, _: &mut CpuStorage, _: &Layout, _: &CpuStorage, _: &Layout) -> Result<()> {
            bail!("NCCL carries what GPUs hold")
        }

        fn cuda_fwd(&self, room: &mut CudaStorage, _: &Layout, mine: &CudaStorage, layout: &Layout) -> Result<()> {
            let Some((from, to)) = layout.contiguous_offsets() else { bail!("NCCL carries numbers that lie in a row") };
            let mine = mine.as_cuda_slice::<f32>()?.slice(from..to);
            let room = room.as_cuda_slice_mut::<f32>()?;
            let mut kept = self.nccl.comm.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(Shared(comm)) = &*kept else { bail!("NCCL has failed before") };
            comm.context().bind_to_thread().map_err(Error::wrap)?;
            let begun = comm.stream().record_event(None).map_err(Error::wrap)?;
            let asked = match self.collective {
                Collective::Gather => {
                    comm.all_gather(&mine, room).map(drop).map_err(|error| failed("ncclAllGather", &error))
                }
                Collective::Sum => {
                    let sum = comm.all_reduce(&mine, room, &ReduceOp::Sum);
                    sum.map(drop).map_err(|error| failed("ncclAllReduce", &error))
                }
                Collective::Exchange { given, taken } => exchange(comm, &mine, room, given, taken),
            };
            let done = asked.and_then(|()| settled(comm, &begun));
            if done.is_err() {
                // Its destructor aborts what is under way and panics if that fails. The process ends with this error, and
                // the launcher ends the others, which wait for it.
                let _ = Box::leak(Box::new(kept.take()));
            }
            done
        }
    }

    /// Waits until what was asked for is over. NCCL itself waits for ever, for a process that hangs as for a network that
    /// has broken.
    fn settled(comm: &Comm, begun: &CudaEvent) -> Result<()> {
        let done = comm.stream().record_event(None).map_err(Error::wrap)?;
        begun.synchronize().map_err(Error::wrap)?;
        let since = Instant::now();
        while !done.try_is_complete().map_err(Error::wrap)? {
            if since.elapsed() > PATIENCE {
                bail!(
                    "NCCL: nothing has come for {} s: another process hangs, or the way to it is broken; NCCL_DEBUG=INFO has \
                     NCCL say more",
                    PATIENCE.as_secs()
                );
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// One group of calls, which is closed whatever happens in it: in an open one every later call would only be noted.
    fn exchange(
        comm: &Comm,
        mine: &CudaView<'_, f32>,
        room: &mut CudaSlice<f32>,
        given: &[usize],
        taken: &[usize],
    ) -> Result<()> {
        group_start().map_err(|error| failed("ncclGroupStart", &error))?;
        let (mut sent, mut received) = (0, 0);
        let calls = given.iter().zip(taken).enumerate().try_for_each(|(peer, (given, taken))| {
            if *given > 0 {
                let piece = mine.slice(sent..sent + given);
                comm.send(&piece, peer as i32).map_err(|error| failed("ncclSend", &error))?;
            }
            if *taken > 0 {
                let mut piece = room.slice_mut(received..received + taken);
                comm.recv(&mut piece, peer as i32).map_err(|error| failed("ncclRecv", &error))?;
            }
            (sent, received) = (sent + given, received + taken);
            Ok::<_, Error>(())
        });
        let closed = group_end().map(drop).map_err(|error| failed("ncclGroupEnd", &error));
        calls.and(closed)
    }

    fn failed(call: &str, error: &NcclError) -> Error {
        Error::Msg(told(call, error))
    }

    fn told(call: &str, NcclError(code): &NcclError) -> String {
        format!("{call}: {code:?}; NCCL_DEBUG=INFO has NCCL say more")
    }
}

#[cfg(not(feature = "cuda"))]
mod without {
    use candle_core::{Device, Result, Tensor};

    /// Nobody has one: this build knows nothing of GPUs.
    pub enum NoNccl {}

    impl NoNccl {
        pub fn version() -> std::result::Result<String, String> {
            Err("this program was built without CUDA".to_owned())
        }

        pub fn id() -> std::result::Result<Vec<i8>, String> {
            Self::version().map(|_| Vec::new())
        }

        pub fn join(_: &Device, _: usize, _: usize, _: &[i8]) -> std::result::Result<NoNccl, String> {
            Err(Self::version().unwrap_or_default())
        }

        pub fn exchange(&self, _: &Tensor, _: &[usize], _: &[usize]) -> Result<Tensor> {
            match *self {}
        }

        pub fn gather(&self, _: &Tensor) -> Result<Tensor> {
            match *self {}
        }

        pub fn sum(&self, _: &Tensor) -> Result<Tensor> {
            match *self {}
        }
    }
}
