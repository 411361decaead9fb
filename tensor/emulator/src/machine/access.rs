//! Loads, stores and atomic operations.

use std::sync::{Mutex, PoisonError};

use super::warp::{Surroundings, Warp, lanes};
use crate::ptx::instruction::{Atomic, LANES, LOCAL_WINDOW, Operation, SHARED_WINDOW, Space, Type};
use crate::{DeviceFault, fault};

/// One atomic operation at a time, whichever block asks.
static ATOMIC: Mutex<()> = Mutex::new(());

/// One number in memory.
struct Place {
    space: Space,
    address: u64,
    bytes: usize,
    lane: usize,
}

impl Warp {
    pub(super) fn access(
        &mut self,
        operation: &Operation,
        active: u32,
        around: &mut Surroundings<'_>,
    ) -> Result<(), DeviceFault> {
        match operation {
            Operation::Load { space, kind, into, address } => {
                let (addresses, bytes) = (self.addresses(address, around), kind.bytes());
                for lane in lanes(active) {
                    aligned(addresses[lane], bytes * into.len())?;
                }
                for (index, into) in into.iter().enumerate() {
                    for lane in lanes(active) {
                        let address = addresses[lane] + (index * bytes) as u64;
                        let number = self.read(&Place { space: *space, address, bytes, lane }, around)?;
                        self.registers[*into][lane] = widened(number, *kind);
                    }
                }
            }
            Operation::Store { space, kind, from, address } => {
                let (addresses, bytes) = (self.addresses(address, around), kind.bytes());
                for lane in lanes(active) {
                    aligned(addresses[lane], bytes * from.len())?;
                }
                for (index, from) in from.iter().enumerate() {
                    let numbers = self.fetch(*from, around);
                    for lane in lanes(active) {
                        let address = addresses[lane] + (index * bytes) as u64;
                        self.write(&Place { space: *space, address, bytes, lane }, numbers[lane], around)?;
                    }
                }
            }
            Operation::Atomic { space, kind, what, old, address, operands } => {
                let _turn = ATOMIC.lock().unwrap_or_else(PoisonError::into_inner);
                let (addresses, bytes) = (self.addresses(address, around), kind.bytes());
                let operands: Vec<[u64; LANES]> = operands.iter().map(|operand| self.fetch(*operand, around)).collect();
                for lane in lanes(active) {
                    aligned(addresses[lane], bytes)?;
                    let place = Place { space: *space, address: addresses[lane], bytes, lane };
                    let before = self.read(&place, around)?;
                    let given = |index: usize| operands.get(index).map_or(0, |operand| operand[lane]);
                    let after = match what {
                        Atomic::Update(function) => function(&[before; LANES], &[given(0); LANES])[0],
                        Atomic::Exchange => given(0),
                        Atomic::CompareAndSwap if before == given(0) => given(1),
                        Atomic::CompareAndSwap => before,
                    };
                    self.write(&place, after, around)?;
                    if let Some(old) = old {
                        self.registers[*old][lane] = before;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn read(&mut self, place: &Place, around: &mut Surroundings<'_>) -> Result<u64, DeviceFault> {
        let Place { bytes, lane, .. } = *place;
        match resolved(place) {
            (Space::Shared, at) => around.shared.read(at, bytes, self.moment(lane, around)),
            (Space::Local, at) => Ok(number(&self.local[self.own(at, bytes, lane)?])),
            (Space::Parameter, at) => {
                let parameters = &around.launch.parameters;
                let range = at as usize..at as usize + bytes;
                let found =
                    parameters.get(range).ok_or_else(|| fault!("parameter {at} of {} bytes", parameters.len()))?;
                Ok(number(found))
            }
            (_, at) => {
                let from = self.global(at, bytes, around)?;
                // Safety: the memory lives, holds as many bytes there, and the address is a multiple of them.
                Ok(unsafe {
                    match bytes {
                        1 => u64::from(from.read()),
                        2 => u64::from(from.cast::<u16>().read()),
                        4 => u64::from(from.cast::<u32>().read()),
                        _ => from.cast::<u64>().read(),
                    }
                })
            }
        }
    }

    fn write(&mut self, place: &Place, number: u64, around: &mut Surroundings<'_>) -> Result<(), DeviceFault> {
        let Place { bytes, lane, .. } = *place;
        match resolved(place) {
            (Space::Shared, at) => around.shared.write(at, bytes, number, self.moment(lane, around)),
            (Space::Local, at) => {
                let own = self.own(at, bytes, lane)?;
                self.local[own].copy_from_slice(&number.to_le_bytes()[..bytes]);
                Ok(())
            }
            (Space::Parameter, _) => Err(fault!("a parameter is written")),
            (_, at) => {
                let to = self.global(at, bytes, around)?;
                // Safety: the memory lives, holds as many bytes there, and the address is a multiple of them.
                unsafe {
                    match bytes {
                        1 => to.write(number as u8),
                        2 => to.cast::<u16>().write(number as u16),
                        4 => to.cast::<u32>().write(number as u32),
                        _ => to.cast::<u64>().write(number),
                    }
                }
                Ok(())
            }
        }
    }

    fn own(&self, at: u64, bytes: usize, lane: usize) -> Result<std::ops::Range<usize>, DeviceFault> {
        let each = self.local.len() / LANES;
        match usize::try_from(at).ok().filter(|at| at + bytes <= each) {
            Some(at) => Ok(lane * each + at..lane * each + at + bytes),
            None => Err(fault!("{bytes} bytes at {at} of {each} bytes of a thread's own")),
        }
    }

    fn global(&mut self, at: u64, bytes: usize, around: &Surroundings<'_>) -> Result<*mut u8, DeviceFault> {
        let (begin, end) = self.touched;
        if at < begin || at + bytes as u64 > end {
            let constants = || around.launch.kernel.constants.around(at);
            self.touched = around.memory.around(at, bytes as u64).or_else(|why| constants().ok_or(why))?;
        }
        Ok(at as *mut u8)
    }
}

/// Which memory a generic address means.
fn resolved(place: &Place) -> (Space, u64) {
    match (place.space, place.address) {
        (Space::Generic, at) if at >= LOCAL_WINDOW => (Space::Local, at - LOCAL_WINDOW),
        (Space::Generic, at) if at >= SHARED_WINDOW => (Space::Shared, at - SHARED_WINDOW),
        (space, at) => (space, at),
    }
}

fn aligned(address: u64, bytes: usize) -> Result<(), DeviceFault> {
    match address.is_multiple_of(bytes as u64) {
        true => Ok(()),
        false => Err(fault!("{bytes} bytes at {address:#x}, which is no multiple of it")),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A register is at least 16 bits wide: signs go on where a load says so.
fn widened(number: u64, kind: Type) -> u64 {
    match kind {
        Type::Signed(8) => u64::from(number as u8 as i8 as i64 as u32) & 0xffff_ffff,
        Type::Signed(16) => u64::from(number as u16 as i16 as i32 as u32),
        _ => number,
    }
}
