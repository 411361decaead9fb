//! Memory that a block shares, and who touched it when.

use crate::{DeviceFault, fault};

/// A thread at a time: between two barriers of its block, between two of its warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    pub thread: u32,
    pub block: u32,
    pub warp: u32,
}

impl Moment {
    /// Whether nothing orders what the two did.
    fn races(self, other: Moment) -> bool {
        let same_warp = self.thread / 32 == other.thread / 32;
        self.thread != other.thread && self.block == other.block && !(same_warp && self.warp != other.warp)
    }
}

/// Who last wrote and read a byte.
#[derive(Clone, Copy, Default)]
struct Touched {
    written: Option<Moment>,
    read: Option<Moment>,
    /// Another that read it in the same stretch.
    read_too: Option<Moment>,
}

/// Shared memory of one block.
#[derive(Default)]
pub struct Shared {
    bytes: Vec<u8>,
    touched: Vec<Touched>,
}

impl Shared {
    /// Fresh memory, which holds no numbers.
    pub fn reset(&mut self, bytes: usize) {
        self.bytes.clear();
        self.bytes.resize(bytes, 0xff);
        self.touched.clear();
        self.touched.resize(bytes, Touched::default());
    }

    fn range(&self, place: u64, bytes: usize) -> Result<std::ops::Range<usize>, DeviceFault> {
        let end = place.checked_add(bytes as u64).filter(|end| *end <= self.bytes.len() as u64);
        let end =
            end.ok_or_else(|| fault!("{bytes} bytes at {place} of {} bytes of shared memory", self.bytes.len()))?;
        Ok(place as usize..end as usize)
    }

    pub fn read(&mut self, place: u64, bytes: usize, now: Moment) -> Result<u64, DeviceFault> {
        let range = self.range(place, bytes)?;
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(&self.bytes[range.clone()]);
        for touched in &mut self.touched[range] {
            match touched.written {
                Some(written) if written.races(now) => {
                    return Err(fault!(
                        "thread {} reads byte {place} of shared memory that thread {} wrote, and no barrier lies between",
                        now.thread,
                        written.thread
                    ));
                }
                _ => {}
            }
            if touched.read.is_some_and(|read| read.thread != now.thread && read.block == now.block) {
                touched.read_too = touched.read;
            }
            touched.read = Some(now);
        }
        Ok(u64::from_le_bytes(number))
    }

    pub fn write(&mut self, place: u64, bytes: usize, number: u64, now: Moment) -> Result<(), DeviceFault> {
        let range = self.range(place, bytes)?;
        for (byte, new) in range.zip(number.to_le_bytes()) {
            let touched = &mut self.touched[byte];
            let reader = [touched.read, touched.read_too].into_iter().flatten().find(|read| read.races(now));
            let writer = touched.written.filter(|written| written.races(now) && self.bytes[byte] != new);
            if let Some((other, did)) = reader.map(|it| (it, "reads")).or(writer.map(|it| (it, "writes"))) {
                return Err(fault!(
                    "thread {} writes byte {place} of shared memory that thread {} {did}, and no barrier lies between",
                    now.thread,
                    other.thread
                ));
            }
            touched.written = Some(now);
            self.bytes[byte] = new;
        }
        Ok(())
    }
}
