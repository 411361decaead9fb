//! Memory of the GPU.

use std::collections::BTreeMap;

use crate::{DeviceFault, fault};

/// Bytes of a GPU that nobody sized.
const DEFAULT_MIB: u64 = 2048;
/// What fresh memory holds: no number, whichever kind is read.
const FRESH: u128 = u128::MAX;

/// All memory, by where it begins. Addresses are the host's own, so that a stray one is never a valid other.
pub struct Memory {
    allocations: BTreeMap<u64, Allocation>,
    /// Given out and not yet given back, in the order in which the program asks.
    pub used: u64,
    /// The most of that since somebody began to count.
    pub highest: u64,
    pub total: u64,
}

struct Allocation {
    words: Box<[u128]>,
    bytes: u64,
}

impl Memory {
    /// As large as `GPU_EMULATOR_MIB` says.
    pub fn new() -> Self {
        let mib = std::env::var("GPU_EMULATOR_MIB").ok().and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_MIB);
        Memory { allocations: BTreeMap::new(), used: 0, highest: 0, total: mib << 20 }
    }

    /// None where there is no room.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        if bytes > self.total - self.used {
            return None;
        }
        self.used += bytes;
        self.highest = self.highest.max(self.used);
        let words = vec![FRESH; bytes.div_ceil(16) as usize].into_boxed_slice();
        let address = words.as_ptr() as u64;
        self.allocations.insert(address, Allocation { words, bytes });
        Some(address)
    }

    /// Says that memory will be given back once the work before has been done: from then on there is room for other.
    pub fn release(&mut self, address: u64) -> Result<(), DeviceFault> {
        let found =
            self.allocations.get(&address).ok_or_else(|| fault!("{address:#x} is given back and was not given"))?;
        self.used -= found.bytes;
        Ok(())
    }

    /// Gives memory back.
    pub fn free(&mut self, address: u64) {
        self.allocations.remove(&address);
    }

    /// Begins to count the highest use from the present one.
    pub fn count_highest(&mut self) {
        self.highest = self.used;
    }

    pub fn available(&self) -> u64 {
        self.total - self.used
    }

    /// The memory around `bytes` bytes at an address: where it begins and ends.
    pub fn around(&self, address: u64, bytes: u64) -> Result<(u64, u64), DeviceFault> {
        match self.allocations.range(..=address).next_back() {
            Some((begin, allocation)) if address + bytes <= begin + allocation.bytes => {
                Ok((*begin, begin + allocation.bytes))
            }
            Some((begin, allocation)) if address < begin + 16 * allocation.words.len() as u64 + 4096 => {
                Err(fault!("{bytes} bytes at byte {} of memory of {} bytes", address - begin, allocation.bytes))
            }
            _ => Err(fault!("{bytes} bytes at {address:#x}, where there is no memory")),
        }
    }

    /// Bytes to read or write, checked.
    pub fn bytes(&self, address: u64, bytes: u64) -> Result<*mut u8, DeviceFault> {
        self.around(address, bytes).map(|_| address as *mut u8)
    }
}
