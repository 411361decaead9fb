//! A launch: a kernel on a grid of blocks.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::shared::Shared;
use super::warp::{Surroundings, Warp, WarpStop};
use crate::memory::Memory;
use crate::ptx::Kernel;
use crate::{DeviceFault, fault};

/// Limits of every GPU that the program is built for.
const MOST_THREADS: u64 = 1024;
const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MOST_SHARED_BYTES: usize = 48 << 10;

/// Threads of a launch from which on the host's other cores help: fewer are run while a helper starts.
const WORTH_HELP: u64 = 1 << 15;

thread_local! {
    /// What a block takes to run, kept from one to the next.
    static RUNNING: RefCell<(Shared, Vec<Warp>)> = RefCell::default();
}

pub struct Launch {
    pub kernel: Arc<Kernel>,
    pub blocks: [u32; 3],
    pub threads: [u32; 3],
    /// Shared memory beyond what the kernel declares.
    pub shared_bytes: usize,
    pub parameters: Vec<u8>,
}

impl Launch {
    /// Whether a GPU would take it.
    pub fn check(&self) -> Result<(), DeviceFault> {
        let threads: u64 = self.threads.iter().map(|count| u64::from(*count)).product();
        let most = self.kernel.most_threads.unwrap_or(MOST_THREADS).min(MOST_THREADS);
        let shared = self.kernel.shared_bytes + self.shared_bytes;
        if threads == 0 || threads > most {
            return Err(fault!("{threads} threads a block, of 1 to {most}"));
        }
        if self.blocks.iter().zip(MOST_BLOCKS).any(|(blocks, most)| *blocks == 0 || *blocks > most) {
            return Err(fault!("{:?} blocks, of at least one and at most {MOST_BLOCKS:?}", self.blocks));
        }
        match shared > MOST_SHARED_BYTES {
            true => Err(fault!("{shared} bytes of shared memory, of {MOST_SHARED_BYTES}")),
            false => Ok(()),
        }
    }

    /// Runs all blocks, in any order, several at a time.
    pub fn run(&self, memory: &Memory) -> Result<(), DeviceFault> {
        let count: u64 = self.blocks.iter().map(|blocks| u64::from(*blocks)).product();
        let (next, broken) = (AtomicU64::new(0), Mutex::new(None));
        let work = || {
            RUNNING.with_borrow_mut(|(shared, warps)| {
                loop {
                    let block = next.fetch_add(1, Ordering::Relaxed);
                    if block >= count {
                        return;
                    }
                    if let Err(fault) = self.block(block, memory, shared, warps) {
                        broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
                        next.store(count, Ordering::Relaxed);
                    }
                }
            });
        };
        let threads = count * self.threads.iter().map(|threads| u64::from(*threads)).product::<u64>();
        let helpers = match threads < WORTH_HELP {
            true => 0,
            false => thread::available_parallelism().map_or(1, usize::from).min(count as usize) - 1,
        };
        thread::scope(|scope| {
            (0..helpers).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        match broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(DeviceFault(why)) => Err(fault!("{}: {why}", self.kernel.name)),
            None => Ok(()),
        }
    }

    fn block(
        &self,
        block: u64,
        memory: &Memory,
        shared: &mut Shared,
        warps: &mut Vec<Warp>,
    ) -> Result<(), DeviceFault> {
        let [x, y, _] = self.blocks.map(u64::from);
        let index = [(block % x) as u32, (block / x % y) as u32, (block / x / y) as u32];
        let threads: u32 = self.threads.iter().product();
        shared.reset(self.kernel.shared_bytes + self.shared_bytes);
        warps.resize_with(threads.div_ceil(32) as usize, Warp::default);
        for (place, warp) in warps.iter_mut().enumerate() {
            warp.reset(self, 32 * place as u32, threads);
        }
        let mut around = Surroundings { launch: self, memory, block: index, shared, epoch: 0 };
        loop {
            let mut waiting = false;
            for warp in warps.iter_mut() {
                let stop = warp.run(&mut around).map_err(|DeviceFault(why)| fault!("block {index:?}, {why}"))?;
                waiting |= stop == WarpStop::Barrier;
            }
            if !waiting {
                return Ok(());
            }
            around.epoch += 1;
        }
    }
}
