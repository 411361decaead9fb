//! A module: kernels, and numbers that they share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::function::{Kernel, Reader, Variable, read};
use super::lexer::{Token, tokens};
use crate::{DeviceFault, fault};

/// PTX that was loaded. Kernels are read when they are asked for.
pub struct Module {
    text: String,
    /// Where each kernel stands in the text, and in which line it begins.
    kernels: BTreeMap<String, (std::ops::Range<usize>, u32)>,
    constants: Arc<Constants>,
    /// Kernels that were asked for.
    read: Mutex<BTreeMap<String, Arc<Kernel>>>,
}

/// Numbers of a module, in memory that does not move.
#[derive(Debug, Default)]
pub struct Constants(BTreeMap<String, Box<[u64]>>);

impl Constants {
    pub fn address(&self, name: &str) -> Option<u64> {
        self.0.get(name).map(|numbers| numbers.as_ptr() as u64)
    }

    /// Where numbers lie around an address: begin and end.
    pub fn around(&self, address: u64) -> Option<(u64, u64)> {
        let mut all = self.0.values().map(|numbers| {
            let begin = numbers.as_ptr() as u64;
            (begin, begin + 8 * numbers.len() as u64)
        });
        all.find(|(begin, end)| (*begin..*end).contains(&address))
    }
}

impl Module {
    pub fn read(text: String) -> Result<Module, DeviceFault> {
        let mut module = Module { kernels: BTreeMap::new(), constants: Arc::default(), read: Mutex::default(), text };
        let mut from = 0;
        while let Some(found) = module.text[from..].find(".entry") {
            let begin = from + found;
            let rest = &module.text[begin + ".entry".len()..];
            let name = rest.trim_start().split(|c: char| c == '(' || c.is_whitespace()).next().unwrap_or_default();
            let end = begin + end_of_body(&module.text[begin..])?;
            let line = 1 + module.text[..begin].matches('\n').count() as u32;
            module.kernels.insert(name.to_owned(), (begin..end, line));
            from = end;
        }
        let between = module.text.split('\n').filter(|line| line.starts_with(".global") || line.starts_with(".const"));
        module.constants = Arc::new(Constants(between.map(constant).collect::<Result<_, _>>()?));
        match module.kernels.is_empty() {
            true => Err(fault!("PTX without a kernel")),
            false => Ok(module),
        }
    }

    /// None where the module has no kernel of this name.
    pub fn function(&self, name: &str) -> Option<Result<Arc<Kernel>, DeviceFault>> {
        let mut kept = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kept.get(name) {
            return Some(Ok(kernel.clone()));
        }
        let kernel = self.kernel(name)?.map(Arc::new);
        if let Ok(kernel) = &kernel {
            kept.insert(name.to_owned(), kernel.clone());
        }
        Some(kernel)
    }

    fn kernel(&self, name: &str) -> Option<Result<Kernel, DeviceFault>> {
        let (range, line) = self.kernels.get(name)?;
        let read = read(name, &self.text[range.clone()], *line, &self.constants);
        Some(read.map_err(|DeviceFault(why)| fault!("{name}: {why}")))
    }
}

/// Where the braces that open first close again.
fn end_of_body(text: &str) -> Result<usize, DeviceFault> {
    let mut depth = 0;
    for (place, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return Ok(place + 1),
            '}' => depth -= 1,
            _ => {}
        }
    }
    Err(fault!("a kernel without an end"))
}

/// `.global .align 4 .b8 name[24] = {1, 2, ...};`
fn constant(declaration: &str) -> Result<(String, Box<[u64]>), DeviceFault> {
    let tokens = tokens(declaration)?;
    let Variable { name, each, bytes, .. } = Variable::read(&mut Reader::new(&tokens))?;
    let mut all = vec![0_u8; bytes.next_multiple_of(8)];
    let values = tokens.iter().skip_while(|(token, _)| *token != Token::Mark('='));
    let values = values.filter_map(|(token, _)| match token {
        Token::Number(number) => Some(number),
        _ => None,
    });
    for (place, value) in values.enumerate() {
        all[place * each..][..each].copy_from_slice(&value.to_le_bytes()[..each]);
    }
    let words = all.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    Ok((name.to_owned(), words.collect()))
}
