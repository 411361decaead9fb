//! A kernel: its parameters, what it needs, what it does.

use std::sync::Arc;

use super::body::Body;
use super::instruction::Instruction;
use super::lexer::{Token, tokens};
use super::module::Constants;
use super::names::kind;
use crate::{DeviceFault, fault};

/// A kernel, ready to be run.
#[derive(Debug)]
pub struct Kernel {
    pub name: String,
    /// Offset and bytes of each parameter.
    pub parameters: Vec<(usize, usize)>,
    /// Bytes of all parameters.
    pub parameter_bytes: usize,
    pub registers: usize,
    /// Bytes of memory that a block shares, without what a launch adds.
    pub shared_bytes: usize,
    /// Bytes of memory that each thread has for itself.
    pub local_bytes: usize,
    /// Most threads of a block, where the kernel says so.
    pub most_threads: Option<u64>,
    pub instructions: Vec<Instruction>,
    /// Numbers of the module, which it knows by address.
    pub constants: Arc<Constants>,
}

/// A parameter of a kernel.
pub struct Parameter<'a> {
    pub name: &'a str,
    pub offset: usize,
    pub bytes: usize,
}

/// Tokens, read from the front.
pub struct Reader<'t, 'a> {
    tokens: &'t [(Token<'a>, u32)],
}

impl<'t, 'a> Reader<'t, 'a> {
    pub fn new(tokens: &'t [(Token<'a>, u32)]) -> Self {
        Reader { tokens }
    }

    pub fn peek(&self) -> Option<&'t Token<'a>> {
        self.tokens.first().map(|(token, _)| token)
    }

    pub fn line(&self) -> u32 {
        self.tokens.first().map_or(0, |(_, line)| *line)
    }

    pub fn next(&mut self) -> Result<&'t Token<'a>, DeviceFault> {
        let ((token, _), rest) = self.tokens.split_first().ok_or_else(|| fault!("ends too early"))?;
        self.tokens = rest;
        Ok(token)
    }

    pub fn take(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    pub fn expect(&mut self, mark: char) -> Result<(), DeviceFault> {
        let line = self.line();
        match self.next()? {
            Token::Mark(found) if *found == mark => Ok(()),
            found => Err(fault!("line {line}: found {found:?}, expected {mark}")),
        }
    }

    pub fn word(&mut self) -> Result<&'a str, DeviceFault> {
        let line = self.line();
        match self.next()? {
            Token::Word(word) => Ok(word),
            found => Err(fault!("line {line}: found {found:?}, expected a word")),
        }
    }

    pub fn number(&mut self) -> Result<u64, DeviceFault> {
        let line = self.line();
        match self.next()? {
            Token::Number(number) => Ok(*number),
            found => Err(fault!("line {line}: found {found:?}, expected a number")),
        }
    }
}

/// Reads `.entry name(parameters) { ... }`, the first line of which is `line`.
pub fn read(name: &str, text: &str, line: u32, constants: &Arc<Constants>) -> Result<Kernel, DeviceFault> {
    let mut tokens = tokens(text)?;
    tokens.iter_mut().for_each(|(_, at)| *at += line - 1);
    let mut reader = Reader::new(&tokens);
    while reader.peek() != Some(&Token::Mark('(')) && reader.peek() != Some(&Token::Mark('{')) {
        reader.next()?;
    }
    let parameters = if reader.take('(') { parameters(&mut reader)? } else { Vec::new() };
    let mut most_threads = None;
    while reader.peek() != Some(&Token::Mark('{')) {
        if let (".maxntid" | ".reqntid", line) = (reader.word().unwrap_or_default(), reader.line()) {
            let mut threads = reader.number().map_err(|DeviceFault(why)| fault!("line {line}: {why}"))?;
            while reader.take(',') {
                threads *= reader.number()?;
            }
            most_threads = Some(threads);
        }
    }
    let parameter_bytes = parameters.last().map_or(0, |last| last.offset + last.bytes);
    let body = Body::read(&mut reader, &parameters, constants)?;
    Ok(Kernel {
        name: name.to_owned(),
        parameters: parameters.iter().map(|parameter| (parameter.offset, parameter.bytes)).collect(),
        parameter_bytes,
        registers: body.registers,
        shared_bytes: body.shared_bytes,
        local_bytes: body.local_bytes,
        most_threads,
        instructions: body.instructions,
        constants: constants.clone(),
    })
}

/// `.param .u64 a, .param .align 8 .b8 b[16])`
fn parameters<'a>(reader: &mut Reader<'_, 'a>) -> Result<Vec<Parameter<'a>>, DeviceFault> {
    let mut parameters: Vec<Parameter<'a>> = Vec::new();
    while !reader.take(')') {
        let Variable { name, align, bytes, .. } = Variable::read(reader)?;
        let offset = parameters.last().map_or(0, |last| last.offset + last.bytes).next_multiple_of(align);
        parameters.push(Parameter { name, offset, bytes });
        reader.take(',');
    }
    Ok(parameters)
}

/// A declaration of something with bytes.
pub struct Variable<'a> {
    pub name: &'a str,
    pub align: usize,
    /// Bytes of one of its numbers, and of all.
    pub each: usize,
    pub bytes: usize,
}

impl<'a> Variable<'a> {
    /// `.param .align 8 .b8 name[16]`, up to what follows it.
    pub fn read(reader: &mut Reader<'_, 'a>) -> Result<Self, DeviceFault> {
        let (mut align, mut each, line) = (None, None, reader.line());
        let name = loop {
            let word = reader.word()?;
            match word.strip_prefix('.') {
                Some("align") => align = Some(reader.number()? as usize),
                Some(directive) => each = kind(directive).map(|kind| kind.bytes()).or(each),
                None => break word,
            }
        };
        let each = each.ok_or_else(|| fault!("line {line}: {name} has no type"))?;
        let mut count = 1;
        while reader.take('[') {
            count *= reader.number()? as usize;
            reader.expect(']')?;
        }
        Ok(Variable { name, align: align.unwrap_or(each), each, bytes: each * count })
    }
}
