//! From syntax to a core module: tagged values in locals, small integers in place, everything else a call of the runtime.
//!
//! Takes the scopes of a program, gives the bytes of a module. Functions are written again and again, until what is known
//! of kinds no longer changes; the last round is the module.

mod arithmetic;
mod assign;
mod builtin;
mod call;
mod code;
mod comprehension;
mod condition;
mod cost;
mod display;
mod exceptions;
mod expression;
mod extreme;
mod function;
mod iterable;
mod iteration;
mod kind;
mod method;
mod module;
mod names;
mod pool;
mod reduce;
mod sorting;
mod statement;
mod subscript;
mod tag;
mod variable;

use std::collections::BTreeSet;

use ruff_text_size::TextSize;

pub(crate) use kind::Kind;

use crate::runtime::Interface;
use crate::scope::{Refused, Scopes};
use code::Body;
use pool::Pool;

/// Rounds that kinds have to settle in; the programs of a training run need four at most.
const ROUNDS_MAX: usize = 12;

/// Longest program, in instructions, and in bytes of WebAssembly. Cranelift takes about a millisecond for 1.5 KB, and
/// 12.6 KB is the most seen in 5,183 programs.
const STEPS_MAX: usize = 18_000;
const WASM_BYTES_MAX: usize = 24 << 10;

/// Most locals of a function, variables and what is held between: registers are given out in more than linear time.
const LOCALS_MAX: usize = 160;

/// What was written, or the construct that the compiler does not take.
pub(crate) type Emitted<T> = Result<T, String>;

pub(crate) fn outside<T>(construct: impl Into<String>) -> Emitted<T> {
    Err(construct.into())
}

/// A function that the host may call with so many arguments of such kinds.
#[derive(Debug)]
pub(crate) struct Callable {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Kind>,
}

impl Callable {
    pub(crate) fn takes(&self, kinds: &[Kind]) -> bool {
        let pairs = self.parameters.iter().zip(kinds);
        self.parameters.len() == kinds.len()
            && pairs.into_iter().all(|(takes, kind)| *takes == Kind::Any || takes == kind)
    }
}

/// A program as WebAssembly.
pub(crate) struct Emission {
    pub(crate) wasm: Vec<u8>,
    /// Tokens of its source, without those that are passed over.
    pub(crate) tokens: u64,
    /// Bytes of its comments, with some for each end of a line that ends no statement.
    pub(crate) passed_over: u64,
    /// Where variables at the top level lie, and how many there are.
    pub(crate) roots: u32,
    pub(crate) root_count: u32,
    /// Where its memory ends.
    pub(crate) heap: u32,
    pub(crate) callable: Vec<Callable>,
    /// Whether a closure may come to hold itself, as an inner function that calls itself does.
    pub(crate) has_cycles: bool,
    /// Whether it prints what may be a float, or hold floats.
    pub(crate) prints_floats: bool,
}

pub(crate) struct Emitter<'a> {
    scopes: &'a Scopes<'a>,
    interface: &'a Interface,
    /// Of every variable, and of what every function returns.
    kinds: Vec<Kind>,
    returns: Vec<Kind>,
    /// Functions that may be called without being named.
    escaped: Vec<bool>,
    /// Which functions each may call.
    calls: Vec<BTreeSet<usize>>,
    /// Something new was found out in this round.
    changed: bool,
    /// Instructions written in this round.
    steps: usize,
    /// Whether something was printed in this round that may be a float, or hold floats.
    prints_floats: bool,
    pool: Pool,
    body: Body,
    /// The statement being written.
    position: TextSize,
}

/// The module of a program, or what it has that is not compiled, and where.
pub(crate) fn compile<'a>(scopes: &'a Scopes<'a>, interface: &'a Interface) -> Result<Emission, Refused> {
    let roots = interface.heap;
    // Room for more than most have: constants then lie at the same addresses in all programs.
    let data = roots + 8 * scopes.global_count().next_multiple_of(64);
    let count = scopes.functions.len();
    let mut emitter = Emitter {
        scopes,
        interface,
        kinds: vec![Kind::Never; scopes.variables.len()],
        returns: vec![Kind::Never; count],
        escaped: vec![false; count],
        calls: vec![BTreeSet::new(); count],
        changed: false,
        steps: 0,
        prints_floats: false,
        pool: Pool::new(data),
        body: Body::default(),
        position: TextSize::new(0),
    };
    match emitter.settle() {
        Ok(bodies) => emitter.module(bodies).map_err(|construct| Refused { construct, at: TextSize::new(0) }),
        Err(construct) => Err(Refused { construct, at: emitter.position }),
    }
}

impl Emitter<'_> {
    /// Writes every function until nothing new is found out.
    fn settle(&mut self) -> Emitted<Vec<Body>> {
        for _ in 0..ROUNDS_MAX {
            self.changed = false;
            self.steps = 0;
            self.prints_floats = false;
            self.pool = Pool::new(self.pool.start);
            let mut bodies = Vec::with_capacity(self.scopes.functions.len());
            for id in 0..self.scopes.functions.len() {
                let body = self.function(id)?;
                self.steps += body.code.len();
                if self.steps > STEPS_MAX {
                    return outside("a program of this size");
                }
                if body.locals.len() > LOCALS_MAX {
                    return outside("so many values in a function");
                }
                bodies.push(body);
            }
            self.expose();
            if !self.changed {
                return Ok(bodies);
            }
        }
        outside("kinds that do not settle")
    }

    /// Functions that nothing but themselves names are for the host to call, with anything; so are, in the end, those of
    /// which nothing is known.
    fn expose(&mut self) {
        let is_last = !self.changed;
        for global in self.scopes.top_level() {
            let Kind::Function(id) = self.kinds[global.variable] else { continue };
            let parameters = &self.scopes.functions[id].parameters;
            let is_unknown = parameters.iter().any(|&parameter| self.kinds[parameter] == Kind::Never);
            if !global.used || (is_last && is_unknown) {
                parameters.iter().for_each(|&parameter| self.join(parameter, Kind::Any));
            }
        }
    }

    /// Lets a variable be of this kind too.
    fn join(&mut self, variable: usize, kind: Kind) {
        let joined = self.joined(self.kinds[variable], kind);
        if joined != self.kinds[variable] {
            self.kinds[variable] = joined;
            self.changed = true;
        }
    }

    fn joined(&mut self, one: Kind, two: Kind) -> Kind {
        let union = one.union(two);
        if union == Kind::Any {
            self.escape(one);
            self.escape(two);
        }
        union
    }

    /// A function whose value goes where kinds are not followed may be called with anything.
    fn escape(&mut self, kind: Kind) {
        if let Kind::Function(id) = kind
            && !self.escaped[id]
        {
            self.escaped[id] = true;
            self.changed = true;
            for &parameter in &self.scopes.functions[id].parameters {
                self.join(parameter, Kind::Any);
            }
        }
    }
}
