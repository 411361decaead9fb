//! A warp: 32 lanes that share instructions.
//!
//! Of lanes that went different ways, those furthest behind go on first, and all that are at the same instruction go on
//! together: they meet again where their ways do. At an instruction that needs others, lanes wait for them.

use super::launch::Launch;
use super::shared::{Moment, Shared};
use crate::memory::Memory;
use crate::ptx::instruction::{Address, Instruction, Join, LANES, Numbers, Operand, Operation, Register, Special};
use crate::{DeviceFault, fault};

/// Why a warp stands still.
#[derive(Debug, PartialEq, Eq)]
pub enum WarpStop {
    Barrier,
    Done,
}

/// What the warps of a block have in common.
pub struct Surroundings<'a> {
    pub launch: &'a Launch,
    pub memory: &'a Memory,
    pub block: [u32; 3],
    pub shared: &'a mut Shared,
    /// Barriers that the block has passed.
    pub epoch: u32,
}

#[derive(Default)]
pub struct Warp {
    pub registers: Vec<Numbers>,
    /// Where each lane goes on.
    next: Numbers,
    /// Lanes that the block has threads for, and those that have not left.
    pub alive: u32,
    /// Lanes that wait for others of the warp.
    waiting: u32,
    first: u32,
    pub local: Vec<u8>,
    /// Barriers of its own that it has passed.
    pub epoch: u32,
    /// Global memory that was touched last: begin and end.
    pub touched: (u64, u64),
}

/// Lanes of a mask.
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

impl Warp {
    /// The warp that begins with thread `first` of a block of `threads`.
    pub fn reset(&mut self, launch: &Launch, first: u32, threads: u32) {
        self.registers.clear();
        self.registers.resize(launch.kernel.registers, [0; LANES]);
        self.next = [0; LANES];
        self.alive = if threads - first >= 32 { u32::MAX } else { (1 << (threads - first)) - 1 };
        self.waiting = 0;
        self.first = first;
        self.local.clear();
        self.local.resize(LANES * launch.kernel.local_bytes, 0xff);
        self.epoch = 0;
        self.touched = (0, 0);
    }

    pub fn moment(&self, lane: usize, around: &Surroundings<'_>) -> Moment {
        Moment { thread: self.first + lane as u32, block: around.epoch, warp: self.epoch }
    }

    /// Runs until a barrier of the block, or to the end.
    pub fn run(&mut self, around: &mut Surroundings<'_>) -> Result<WarpStop, DeviceFault> {
        while self.alive != 0 {
            let Some(behind) = lanes(self.alive & !self.waiting).map(|lane| self.next[lane]).min() else {
                let at: Vec<u32> = lanes(self.alive).map(|lane| self.line(lane, around)).collect();
                return Err(fault!("lanes of a warp wait for each other at different instructions, in lines {at:?}"));
            };
            let together = lanes(self.alive).filter(|lane| self.next[*lane] == behind);
            let together = together.fold(0, |mask, lane| mask | 1 << lane);
            self.waiting &= !together;
            if self.stretch(together, behind as usize, around)? == Some(WarpStop::Barrier) {
                return Ok(WarpStop::Barrier);
            }
        }
        Ok(WarpStop::Done)
    }

    /// Runs lanes that are at the same instruction, until they part, leave, wait or meet others.
    fn stretch(
        &mut self,
        mask: u32,
        mut at: usize,
        around: &mut Surroundings<'_>,
    ) -> Result<Option<WarpStop>, DeviceFault> {
        let kernel = around.launch.kernel.clone();
        let others = lanes(self.alive & !mask).map(|lane| self.next[lane]).min().unwrap_or(u64::MAX);
        loop {
            let Instruction { guard, operation, line } = &kernel.instructions[at];
            let active = match guard {
                None => mask,
                Some((predicate, held)) => mask & self.holding(*predicate, *held),
            };
            match operation {
                Operation::Branch(target) if active == mask => at = *target,
                Operation::Branch(target) if active != 0 => {
                    self.go_on(active, *target);
                    self.go_on(mask & !active, at + 1);
                    return Ok(None);
                }
                Operation::Exit if active != 0 => {
                    self.alive &= !active;
                    self.go_on(mask, at + 1);
                    return Ok(None);
                }
                operation if active != 0 && self.needed(operation, active, around) & !active != 0 => {
                    self.go_on(mask & !active, at + 1);
                    self.go_on(active, at);
                    self.waiting |= active;
                    return Ok(None);
                }
                Operation::Barrier => {
                    self.epoch += 1;
                    self.go_on(mask, at + 1);
                    return Ok(Some(WarpStop::Barrier));
                }
                operation => {
                    if active != 0 && !matches!(operation, Operation::Branch(_) | Operation::Exit) {
                        self.execute(operation, active, around)
                            .map_err(|DeviceFault(why)| fault!("line {line}: {why}"))?;
                    }
                    at += 1;
                }
            }
            if at as u64 >= others {
                self.go_on(mask, at);
                return Ok(None);
            }
        }
    }

    /// Lanes that must be at an instruction for it to be done.
    fn needed(&self, operation: &Operation, active: u32, around: &Surroundings<'_>) -> u32 {
        match operation {
            Operation::Barrier => self.alive,
            Operation::Shuffle { mask, .. } | Operation::Vote { mask, .. } | Operation::WarpBarrier(Some(mask)) => {
                let masks = self.fetch(*mask, around);
                lanes(active).fold(0, |named, lane| named | masks[lane] as u32) & self.alive
            }
            _ => 0,
        }
    }

    fn line(&self, lane: usize, around: &Surroundings<'_>) -> u32 {
        around.launch.kernel.instructions[self.next[lane] as usize].line
    }

    fn go_on(&mut self, mask: u32, at: usize) {
        lanes(mask).for_each(|lane| self.next[lane] = at as u64);
    }

    /// Lanes in which a predicate is as it should be.
    pub fn holding(&self, predicate: Register, held: bool) -> u32 {
        let numbers = &self.registers[predicate];
        (0..LANES).fold(0, |mask, lane| mask | u32::from((numbers[lane] & 1 == 1) == held) << lane)
    }

    /// What an operand is in each lane.
    pub fn fetch(&self, operand: Operand, around: &Surroundings<'_>) -> Numbers {
        match operand {
            Operand::Register(register) => self.registers[register],
            Operand::Bits(bits) => [bits; LANES],
            Operand::Special(Special::Lane) => std::array::from_fn(|lane| lane as u64),
            Operand::Special(Special::Threads(of)) => [u64::from(around.launch.threads[of]); LANES],
            Operand::Special(Special::Blocks(of)) => [u64::from(around.launch.blocks[of]); LANES],
            Operand::Special(Special::Block(of)) => [u64::from(around.block[of]); LANES],
            Operand::Special(Special::Thread(of)) => std::array::from_fn(|lane| {
                let [x, y, _] = around.launch.threads;
                let thread = self.first + lane as u32;
                u64::from([thread % x, thread / x % y, thread / (x * y)][of])
            }),
        }
    }

    /// Addresses in each lane.
    pub fn addresses(&self, address: &Address, around: &Surroundings<'_>) -> Numbers {
        self.fetch(address.base, around).map(|base| base.wrapping_add(address.offset))
    }

    /// What comes of an operand in each lane.
    fn with<T>(&self, operand: Operand, around: &Surroundings<'_>, function: impl FnOnce(&Numbers) -> T) -> T {
        match operand {
            Operand::Register(register) => function(&self.registers[register]),
            other => function(&self.fetch(other, around)),
        }
    }

    /// Puts numbers into the lanes of a register.
    pub fn put(&mut self, into: Register, active: u32, numbers: &Numbers) {
        let register = &mut self.registers[into];
        match active {
            u32::MAX => *register = *numbers,
            _ => lanes(active).for_each(|lane| register[lane] = numbers[lane]),
        }
    }

    fn execute(
        &mut self,
        operation: &Operation,
        active: u32,
        around: &mut Surroundings<'_>,
    ) -> Result<(), DeviceFault> {
        match operation {
            Operation::Unary(function, into, a) => {
                let results = self.with(*a, around, function);
                self.put(*into, active, &results);
            }
            Operation::Binary(function, into, [a, b]) => {
                let results = self.with(*a, around, |a| self.with(*b, around, |b| function(a, b)));
                self.put(*into, active, &results);
            }
            Operation::Ternary(function, into, [a, b, c]) => {
                let c = self.fetch(*c, around);
                let results = self.with(*a, around, |a| self.with(*b, around, |b| function(a, b, &c)));
                self.put(*into, active, &results);
            }
            Operation::Compare(compare, into, [a, b], join) => {
                let holds = self.with(*a, around, |a| self.with(*b, around, |b| compare(a, b)));
                let holds = match join.map(|(join, with, held)| (join, self.holding(with, held))) {
                    None => holds,
                    Some((Join::And, mask)) => holds & mask,
                    Some((Join::Or, mask)) => holds | mask,
                    Some((Join::Xor, mask)) => holds ^ mask,
                };
                self.put(*into, active, &std::array::from_fn(|lane| u64::from(holds >> lane & 1)));
            }
            Operation::Set(compare, into, [a, b], one) => {
                let holds = self.with(*a, around, |a| self.with(*b, around, |b| compare(a, b)));
                self.put(*into, active, &std::array::from_fn(|lane| if holds >> lane & 1 == 1 { *one } else { 0 }));
            }
            Operation::Select(into, [a, b], by) => {
                let (a, b, by) = (self.fetch(*a, around), self.fetch(*b, around), self.fetch(*by, around));
                self.put(*into, active, &std::array::from_fn(|lane| if by[lane] & 1 == 1 { a[lane] } else { b[lane] }));
            }
            Operation::Convert(conversion, into, a) => {
                let results = self.fetch(*a, around).map(|a| conversion.convert(a));
                self.put(*into, active, &results);
            }
            Operation::Pack(into, from, width) => {
                let mut all = [0; LANES];
                for (place, part) in from.iter().enumerate() {
                    let (part, by) = (self.fetch(*part, around), place * usize::from(*width));
                    all.iter_mut().zip(part).for_each(|(all, part)| *all |= (part & ((1 << width) - 1)) << by);
                }
                self.put(*into, active, &all);
            }
            Operation::Unpack(into, from, width) => {
                let whole = self.fetch(*from, around);
                for (place, into) in into.iter().enumerate() {
                    let Some(into) = into else { continue };
                    let by = place * usize::from(*width);
                    self.put(*into, active, &whole.map(|whole| whole >> by & ((1 << width) - 1)));
                }
            }
            Operation::Trap => return Err(fault!("an assertion does not hold")),
            Operation::Branch(_) | Operation::Exit | Operation::Barrier => {}
            Operation::Load { .. } | Operation::Store { .. } | Operation::Atomic { .. } => {
                self.access(operation, active, around)?;
            }
            exchange => self.exchange(exchange, active, around)?,
        }
        Ok(())
    }
}
