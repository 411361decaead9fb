//! The body of a kernel: declarations, labels and instructions.

use std::collections::HashMap;

use super::function::{Parameter, Reader, Variable};
use super::instruction::{
    Address, Instruction, LOCAL_WINDOW, Operand, Operation, Register, SHARED_WINDOW, Space, Special,
};
use super::lexer::Token;
use super::module::Constants;
use super::{names, opcode};
use crate::{DeviceFault, fault};

/// What names stand for.
#[derive(Debug, Clone, Copy)]
enum Symbol {
    Register(Register),
    /// A place in memory, as `mov` gives it.
    Place(u64),
}

/// An operand as it is written.
#[derive(Debug, Clone)]
pub enum Argument {
    Value(Operand),
    /// The opposite of a predicate.
    Not(Register),
    Address(Address),
    List(Vec<Argument>),
    /// Two results.
    Pair(Register, Register),
    /// A result that nobody wants.
    Nothing,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Body {
    pub registers: usize,
    pub shared_bytes: usize,
    pub local_bytes: usize,
    pub instructions: Vec<Instruction>,
}

struct Parser<'r, 't, 'a> {
    reader: &'r mut Reader<'t, 'a>,
    constants: &'r Constants,
    body: Body,
    /// Names, innermost braces last.
    scopes: Vec<HashMap<String, Symbol>>,
    labels: HashMap<&'a str, usize>,
    /// Branches, by the label that they lead to.
    jumps: Vec<(usize, &'a str)>,
}

impl Body {
    pub fn read(
        reader: &mut Reader<'_, '_>,
        parameters: &[Parameter<'_>],
        constants: &Constants,
    ) -> Result<Body, DeviceFault> {
        let names = parameters.iter().map(|it| (it.name.to_owned(), Symbol::Place(it.offset as u64))).collect();
        let (body, scopes, labels) = (Body::default(), vec![names], HashMap::new());
        let mut parser = Parser { reader, constants, body, scopes, labels, jumps: Vec::new() };
        parser.reader.expect('{')?;
        parser.scopes.push(HashMap::new());
        while parser.scopes.len() > 1 {
            let line = parser.reader.line();
            parser.statement().map_err(|DeviceFault(why)| fault!("line {line}: {why}"))?;
        }
        let Parser { mut body, labels, jumps, .. } = parser;
        for (place, label) in jumps {
            let target = *labels.get(label).ok_or_else(|| fault!("no label {label}"))?;
            body.instructions[place].operation = Operation::Branch(target);
        }
        let line = body.instructions.last().map_or(0, |last| last.line);
        body.instructions.push(Instruction { guard: None, operation: Operation::Exit, line });
        Ok(body)
    }
}

impl<'a> Parser<'_, '_, 'a> {
    fn statement(&mut self) -> Result<(), DeviceFault> {
        if self.reader.take('{') {
            self.scopes.push(HashMap::new());
            return Ok(());
        }
        if self.reader.take('}') {
            self.scopes.pop();
            return Ok(());
        }
        if self.reader.take(';') {
            return Ok(());
        }
        if self.reader.take('@') {
            let held = !self.reader.take('!');
            let predicate = self.register()?;
            let name = self.reader.word()?;
            return self.instruction(name, Some((predicate, held)));
        }
        let word = self.reader.word()?;
        if self.reader.take(':') {
            self.labels.insert(word, self.body.instructions.len());
            return Ok(());
        }
        match word.strip_prefix('.') {
            Some(directive) => self.directive(directive),
            None => self.instruction(word, None),
        }
    }

    fn directive(&mut self, directive: &str) -> Result<(), DeviceFault> {
        match directive {
            "reg" => self.registers(),
            "shared" | "local" | "param" => {
                let Variable { name, align, bytes, .. } = Variable::read(self.reader)?;
                let taken = match directive {
                    "shared" => &mut self.body.shared_bytes,
                    _ => &mut self.body.local_bytes,
                };
                let place = taken.next_multiple_of(align);
                *taken = place + bytes;
                self.declare(name.to_owned(), Symbol::Place(place as u64));
                self.reader.expect(';')
            }
            "loc" => self.skip_location(),
            "pragma" => self.reader.expect(';'),
            _ => Err(fault!("a directive that the emulator does not know: .{directive}")),
        }
    }

    /// `.loc 1 25 5`, and perhaps `, function_name $L__info_string0, inlined_at 1 49 3`.
    fn skip_location(&mut self) -> Result<(), DeviceFault> {
        for _ in 0..3 {
            self.reader.number()?;
        }
        while self.reader.take(',') {
            self.reader.word()?;
            while matches!(self.reader.peek(), Some(Token::Number(_)))
                || matches!(self.reader.peek(), Some(Token::Word(word)) if word.starts_with("$L__info"))
            {
                self.reader.next()?;
            }
            if self.reader.take('+') {
                self.reader.number()?;
            }
        }
        Ok(())
    }

    /// `.reg .b32 %r<18>;` or `.reg .b16 low, high;`
    fn registers(&mut self) -> Result<(), DeviceFault> {
        let kind = self.reader.word()?;
        names::kind(kind.trim_start_matches('.')).ok_or_else(|| fault!("no kind of register: {kind}"))?;
        loop {
            let name = self.reader.word()?;
            if self.reader.take('<') {
                for index in 0..self.reader.number()? {
                    self.new_register(format!("{name}{index}"));
                }
                self.reader.expect('>')?;
            } else {
                self.new_register(name.to_owned());
            }
            if !self.reader.take(',') {
                return self.reader.expect(';');
            }
        }
    }

    fn new_register(&mut self, name: String) {
        let register = self.body.registers;
        self.body.registers += 1;
        self.declare(name, Symbol::Register(register));
    }

    fn declare(&mut self, name: String, symbol: Symbol) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, symbol);
        }
    }

    fn instruction(&mut self, name: &'a str, guard: Option<(Register, bool)>) -> Result<(), DeviceFault> {
        let line = self.reader.line();
        if name == "bra" || name == "bra.uni" {
            self.jumps.push((self.body.instructions.len(), self.reader.word()?));
            self.reader.expect(';')?;
            self.push(Instruction { guard, operation: Operation::Exit, line });
            return Ok(());
        }
        if name.starts_with("call") {
            return self.call(guard);
        }
        let mut arguments = Vec::new();
        while !self.reader.take(';') {
            arguments.push(self.argument()?);
            self.reader.take(',');
        }
        let operation = opcode::operation(name, &arguments)?;
        self.push(Instruction { guard, operation, line });
        Ok(())
    }

    fn push(&mut self, instruction: Instruction) {
        self.body.instructions.push(instruction);
    }

    /// The one function that is called rather than inlined: what an assertion does when it does not hold.
    fn call(&mut self, guard: Option<(Register, bool)>) -> Result<(), DeviceFault> {
        let (line, name) = (self.reader.line(), self.reader.word()?);
        if name != "__assertfail" {
            return Err(fault!("a call of {name}, which the emulator does not know"));
        }
        while !self.reader.take(';') {
            self.reader.next()?;
        }
        self.push(Instruction { guard, operation: Operation::Trap, line });
        Ok(())
    }

    fn argument(&mut self) -> Result<Argument, DeviceFault> {
        if self.reader.take('{') {
            let mut list = Vec::new();
            while !self.reader.take('}') {
                list.push(self.argument()?);
                self.reader.take(',');
            }
            return Ok(Argument::List(list));
        }
        if self.reader.take('[') {
            let base = self.value()?;
            let mut offset = 0;
            if self.reader.take('+') {
                let negative = self.reader.take('-');
                let number = self.reader.number()?;
                offset = if negative { number.wrapping_neg() } else { number };
            }
            self.reader.expect(']')?;
            return Ok(Argument::Address(Address { base, offset }));
        }
        if self.reader.take('!') {
            return Ok(Argument::Not(self.register()?));
        }
        if self.reader.peek() == Some(&Token::Word("_")) {
            self.reader.next()?;
            return Ok(Argument::Nothing);
        }
        let value = self.value()?;
        match (value, self.reader.take('|')) {
            (Operand::Register(first), true) => Ok(Argument::Pair(first, self.register()?)),
            _ => Ok(Argument::Value(value)),
        }
    }

    fn value(&mut self) -> Result<Operand, DeviceFault> {
        if self.reader.take('-') {
            return Ok(Operand::Bits(self.reader.number()?.wrapping_neg()));
        }
        if let Some(Token::Number(number)) = self.reader.peek() {
            self.reader.next()?;
            return Ok(Operand::Bits(*number));
        }
        let name = self.reader.word()?;
        if let Some(special) = special(name) {
            return Ok(special);
        }
        match self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            Some(Symbol::Register(register)) => Ok(Operand::Register(*register)),
            Some(Symbol::Place(place)) => Ok(Operand::Bits(*place)),
            None => self.constants.address(name).map(Operand::Bits).ok_or_else(|| fault!("no {name}")),
        }
    }

    fn register(&mut self) -> Result<Register, DeviceFault> {
        match self.value()? {
            Operand::Register(register) => Ok(register),
            other => Err(fault!("found {other:?}, expected a register")),
        }
    }
}

fn special(name: &str) -> Option<Operand> {
    let dimension = |name: &str| ["x", "y", "z"].iter().position(|dimension| *dimension == name);
    Some(Operand::Special(match name.strip_prefix('%')?.split_once('.') {
        Some(("tid", of)) => Special::Thread(dimension(of)?),
        Some(("ntid", of)) => Special::Threads(dimension(of)?),
        Some(("ctaid", of)) => Special::Block(dimension(of)?),
        Some(("nctaid", of)) => Special::Blocks(dimension(of)?),
        None if name == "%laneid" => Special::Lane,
        _ => return None,
    }))
}

/// What is added to a place to make an address of any memory of it, and taken away to make a place of that.
pub fn window(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Generic | Space::Global | Space::Parameter => 0,
    }
}
