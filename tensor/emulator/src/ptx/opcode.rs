//! Opcodes as operations.

use super::arithmetic;
use super::body::{Argument, window};
use super::comparison::{comparison, truth};
use super::instruction::{
    Address, Atomic, Conversion, Join, Operand, Operation, Register, Rounding, Shuffle, Space, Type, Vote,
};
use super::names;
use crate::{DeviceFault, fault};

/// An instruction without its guard.
pub fn operation(name: &str, arguments: &[Argument]) -> Result<Operation, DeviceFault> {
    let parts: Vec<&str> = name.split('.').collect();
    let given = Given { name, parts: &parts, arguments };
    let done = match parts[0] {
        "ret" | "exit" => Some(Operation::Exit),
        "trap" => Some(Operation::Trap),
        "bar" | "barrier" if parts.contains(&"warp") => Some(Operation::WarpBarrier(Some(given.value(0)?))),
        "bar" | "barrier" => Some(Operation::Barrier),
        "membar" | "fence" => Some(Operation::WarpBarrier(None)),
        "mov" => Some(given.mov()?),
        "cvta" => Some(given.cvta()?),
        "cvt" => Some(given.cvt()?),
        "ld" | "ldu" => Some(given.load()?),
        "st" => Some(given.store()?),
        "atom" | "red" => Some(given.atomic()?),
        "setp" | "set" => Some(given.compare()?),
        "selp" => Some(Operation::Select(given.register(0)?, [given.value(1)?, given.value(2)?], given.value(3)?)),
        "shfl" => Some(given.shuffle()?),
        "vote" => Some(given.vote()?),
        "activemask" => Some(Operation::ActiveMask(given.register(0)?)),
        _ => given.arithmetic()?,
    };
    done.ok_or_else(|| fault!("an instruction that the emulator does not know: {name}"))
}

/// An instruction as it is written.
struct Given<'g> {
    name: &'g str,
    parts: &'g [&'g str],
    arguments: &'g [Argument],
}

impl Given<'_> {
    fn wrong(&self) -> DeviceFault {
        fault!("operands that the emulator does not know: {} {:?}", self.name, self.arguments)
    }

    fn argument(&self, index: usize) -> Result<&Argument, DeviceFault> {
        self.arguments.get(index).ok_or_else(|| self.wrong())
    }

    fn value(&self, index: usize) -> Result<Operand, DeviceFault> {
        self.as_value(self.argument(index)?)
    }

    fn as_value(&self, argument: &Argument) -> Result<Operand, DeviceFault> {
        match argument {
            Argument::Value(operand) => Ok(*operand),
            _ => Err(self.wrong()),
        }
    }

    fn register(&self, index: usize) -> Result<Register, DeviceFault> {
        self.as_register(self.argument(index)?)
    }

    fn as_register(&self, argument: &Argument) -> Result<Register, DeviceFault> {
        match argument {
            Argument::Value(Operand::Register(register)) => Ok(*register),
            _ => Err(self.wrong()),
        }
    }

    fn address(&self, index: usize) -> Result<Address, DeviceFault> {
        match self.argument(index)? {
            Argument::Address(address) => Ok(*address),
            _ => Err(self.wrong()),
        }
    }

    /// The last kind of number in the name.
    fn kind(&self) -> Result<Type, DeviceFault> {
        self.parts.iter().rev().find_map(|part| names::kind(part)).ok_or_else(|| self.wrong())
    }

    fn space(&self) -> Space {
        self.parts.iter().find_map(|part| names::space(part)).unwrap_or(Space::Generic)
    }

    fn mov(&self) -> Result<Operation, DeviceFault> {
        let width = |list: &[Argument]| Ok::<_, DeviceFault>((8 * self.kind()?.bytes() / list.len().max(1)) as u8);
        match self.arguments {
            [Argument::List(list), Argument::Value(from)] => {
                let into = list.iter().map(|argument| match argument {
                    Argument::Nothing => Ok(None),
                    other => self.as_register(other).map(Some),
                });
                Ok(Operation::Unpack(into.collect::<Result<_, _>>()?, *from, width(list)?))
            }
            [Argument::Value(Operand::Register(into)), Argument::List(list)] => {
                let from = list.iter().map(|argument| self.as_value(argument));
                Ok(Operation::Pack(*into, from.collect::<Result<_, _>>()?, width(list)?))
            }
            _ => Ok(Operation::Unary(arithmetic::narrow(self.kind()?), self.register(0)?, self.value(1)?)),
        }
    }

    /// Between places of one memory and addresses of any.
    fn cvta(&self) -> Result<Operation, DeviceFault> {
        let distance = window(self.space());
        let distance = if self.parts.contains(&"to") { distance.wrapping_neg() } else { distance };
        let add = arithmetic::binary(&["add", "u64"]).ok_or_else(|| self.wrong())?;
        Ok(Operation::Binary(add, self.register(0)?, [self.value(1)?, Operand::Bits(distance)]))
    }

    fn cvt(&self) -> Result<Operation, DeviceFault> {
        let mut kinds = self.parts.iter().filter_map(|part| names::kind(part));
        let (Some(to), Some(from)) = (kinds.next(), kinds.next()) else { return Err(self.wrong()) };
        let (into, value) = (self.register(0)?, self.value(1)?);
        let named = self.parts.iter().find_map(|part| names::rounding(part));
        let (rounding, whole) = named.unwrap_or((Rounding::Zero, false));
        let saturate = self.parts.contains(&"sat");
        if let (false, Some(plain)) = (saturate, arithmetic::resize(to, from)) {
            return Ok(Operation::Unary(plain, into, value));
        }
        Ok(Operation::Convert(Conversion { to, from, rounding, whole, saturate }, into, value))
    }

    fn load(&self) -> Result<Operation, DeviceFault> {
        let into = match self.argument(0)? {
            Argument::List(list) => list.iter().map(|one| self.as_register(one)).collect::<Result<_, _>>()?,
            one => vec![self.as_register(one)?],
        };
        Ok(Operation::Load { space: self.space(), kind: self.kind()?, into, address: self.address(1)? })
    }

    fn store(&self) -> Result<Operation, DeviceFault> {
        let from = match self.argument(1)? {
            Argument::List(list) => list.iter().map(|one| self.as_value(one)).collect::<Result<_, _>>()?,
            one => vec![self.as_value(one)?],
        };
        // What is handed to a function that is called: only the one that ends the kernel is.
        let space = if self.space() == Space::Parameter { Space::Local } else { self.space() };
        Ok(Operation::Store { space, kind: self.kind()?, from, address: self.address(0)? })
    }

    fn atomic(&self) -> Result<Operation, DeviceFault> {
        let kind = self.kind()?;
        let (old, rest) = match self.parts[0] {
            "red" => (None, 0),
            _ => (Some(self.register(0)?), 1),
        };
        let names = ["add", "min", "max", "and", "or", "xor", "exch", "cas"];
        let what = self.parts.iter().find(|part| names.contains(part)).ok_or_else(|| self.wrong())?;
        let what = match *what {
            "cas" => Atomic::CompareAndSwap,
            "exch" => Atomic::Exchange,
            what => {
                let ending = self.parts.last().ok_or_else(|| self.wrong())?;
                Atomic::Update(arithmetic::binary(&[what, ending]).ok_or_else(|| self.wrong())?)
            }
        };
        let operands = (rest + 1..self.arguments.len()).map(|index| self.value(index)).collect::<Result<_, _>>()?;
        Ok(Operation::Atomic { space: self.space(), kind, what, old, address: self.address(rest)?, operands })
    }

    fn compare(&self) -> Result<Operation, DeviceFault> {
        let of = self.kind()?;
        let compare = comparison(self.parts[1], of).ok_or_else(|| self.wrong())?;
        let (into, operands) = (self.register(0)?, [self.value(1)?, self.value(2)?]);
        if self.parts[0] == "set" {
            let mut kinds = self.parts.iter().filter_map(|part| names::kind(part));
            let one = truth(kinds.next().ok_or_else(|| self.wrong())?).ok_or_else(|| self.wrong())?;
            return Ok(Operation::Set(compare, into, operands, one));
        }
        let join = match self.parts.get(2) {
            Some(&"and") => Some(Join::And),
            Some(&"or") => Some(Join::Or),
            Some(&"xor") => Some(Join::Xor),
            _ => None,
        };
        let join = match (join, self.arguments.get(3)) {
            (None, None) => None,
            (Some(join), Some(Argument::Value(Operand::Register(with)))) => Some((join, *with, true)),
            (Some(join), Some(Argument::Not(with))) => Some((join, *with, false)),
            _ => return Err(self.wrong()),
        };
        Ok(Operation::Compare(compare, into, operands, join))
    }

    fn shuffle(&self) -> Result<Operation, DeviceFault> {
        let how = match self.parts.get(2) {
            Some(&"up") => Shuffle::Up,
            Some(&"down") => Shuffle::Down,
            Some(&"bfly") => Shuffle::Butterfly,
            Some(&"idx") => Shuffle::Index,
            _ => return Err(self.wrong()),
        };
        let (into, inside) = match self.argument(0)? {
            Argument::Value(Operand::Register(into)) => (*into, None),
            Argument::Pair(into, inside) => (*into, Some(*inside)),
            _ => return Err(self.wrong()),
        };
        let operands = [self.value(1)?, self.value(2)?, self.value(3)?];
        Ok(Operation::Shuffle { how, into, inside, operands, mask: self.value(4)? })
    }

    fn vote(&self) -> Result<Operation, DeviceFault> {
        let what = match self.parts.get(2) {
            Some(&"ballot") => Vote::Ballot,
            Some(&"any") => Vote::Any,
            Some(&"all") => Vote::All,
            _ => return Err(self.wrong()),
        };
        let of = match self.argument(1)? {
            Argument::Value(Operand::Register(of)) => (*of, true),
            Argument::Not(of) => (*of, false),
            _ => return Err(self.wrong()),
        };
        Ok(Operation::Vote { what, into: self.register(0)?, of, mask: self.value(2)? })
    }

    fn arithmetic(&self) -> Result<Option<Operation>, DeviceFault> {
        let unary = |function| Ok(Operation::Unary(function, self.register(0)?, self.value(1)?));
        let binary = |function| Ok(Operation::Binary(function, self.register(0)?, [self.value(1)?, self.value(2)?]));
        let ternary = |function| {
            let operands = [self.value(1)?, self.value(2)?, self.value(3)?];
            Ok(Operation::Ternary(function, self.register(0)?, operands))
        };
        let found = match self.arguments.len() {
            2 => arithmetic::unary(self.parts).map(unary),
            3 => arithmetic::binary(self.parts).map(binary),
            4 => arithmetic::ternary(self.parts).map(ternary),
            _ => None,
        };
        found.transpose()
    }
}
