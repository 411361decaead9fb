//! Plays the programs of a template in both tiers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use grpo_sandbox::Sandbox;
use grpo_sandbox_compiled::{CompiledProgram, CompiledTier, GasLimits, NotCompiled, Stop};

use crate::variants::{Extent, Storage, Traced, program, variants};

/// Small, so that lists that grow as they are gone through end soon.
const GAS: GasLimits = GasLimits { game_gas: 1 << 40, call_gas: 50_000_000, memory_bytes: 64 << 20 };
const FUEL: grpo_sandbox::Limits =
    grpo_sandbox::Limits { game_fuel: 1 << 50, call_fuel: 1 << 30, memory_bytes: 64 << 20 };

/// How it went.
#[derive(Default)]
pub struct Tally {
    pub variants: usize,
    pub compiled: usize,
    pub calls: usize,
    /// Calls of compiled variants that ended in a value.
    pub answered: usize,
    pub outside: BTreeMap<String, Vec<String>>,
    pub given_up: BTreeMap<&'static str, usize>,
}

impl fmt::Display for Tally {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let Tally { variants, compiled, calls, answered, .. } = self;
        write!(to, "{compiled} of {variants} variants compiled, {answered} of {calls} calls answered")
    }
}

pub struct Tiers {
    sandbox: Sandbox,
    tier: CompiledTier,
}

impl Tiers {
    pub fn open() -> Tiers {
        static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
            let cache = Sandbox::default_cache_dir().expect("a directory for the cache");
            Sandbox::open(&cache, || ()).expect("the interpreter opens").interpreting()
        });
        Tiers { sandbox: SANDBOX.clone(), tier: CompiledTier::open().expect("the tier opens") }
    }

    /// The first call of a template on which the tiers differ, in words.
    pub fn play(&self, template: &str, storage: Storage, extent: Extent, tally: &mut Tally) -> Option<String> {
        let all = variants(template, storage, extent);
        tally.variants += all.len();
        self.play_all(template, &all, storage, extent, tally)
    }

    /// The same of these variants: in one program, or each alone where that is outside.
    fn play_all(
        &self,
        template: &str,
        all: &[Vec<usize>],
        storage: Storage,
        extent: Extent,
        tally: &mut Tally,
    ) -> Option<String> {
        let traced = program(template, all, storage, extent);
        match self.tier.compile(&traced.source) {
            Ok(compiled) => {
                tally.compiled += all.len();
                self.compare(&traced, &compiled, tally)
            }
            Err(NotCompiled::Machine(error)) => panic!("{error}\n{}", traced.source),
            Err(NotCompiled::Outside(_)) if all.len() > 1 => {
                all.chunks(1).find_map(|one| self.play_all(template, one, storage, extent, tally))
            }
            Err(NotCompiled::Outside(outside)) => {
                tally.outside.entry(outside.construct).or_default().push(template.to_owned());
                None
            }
        }
    }

    fn compare(&self, traced: &Traced, compiled: &CompiledProgram, tally: &mut Tally) -> Option<String> {
        let loaded = self.sandbox.load(&traced.source, 7, &FUEL);
        let mut interpreted = loaded.unwrap_or_else(|failure| panic!("{failure:?}\n{}", traced.source));
        let mut session = None;
        for call in &traced.calls {
            let arguments = format!("{call:?}");
            let mut playing = session.take().unwrap_or_else(|| compiled.start(7, &GAS).expect("it starts"));
            tally.calls += 1;
            let value = match playing.call("play", &arguments) {
                Ok(value) => value,
                Err(Stop::GivenUp { reason }) => {
                    *tally.given_up.entry(reason).or_default() += 1;
                    continue;
                }
                Err(Stop::OutOfGas { .. }) => continue,
                Err(Stop::Machine(error)) => panic!("{error}\n{}", traced.source),
            };
            session = Some(playing);
            tally.answered += 1;
            match interpreted.call("play", &arguments) {
                Ok(expected) if expected == value => {}
                Ok(expected) => return Some(told(traced, *call, &value, &expected)),
                Err(failure) => return Some(told(traced, *call, &value, &failure.to_string())),
            }
        }
        None
    }
}

/// The variant that was played, and both answers.
fn told(traced: &Traced, call: [usize; 4], compiled: &str, interpreted: &str) -> String {
    let begin = format!("    if V == {}:\n", call[0]);
    let variant = traced.source.split(&begin).nth(1).unwrap_or_default();
    let variant = variant.split("    if V == ").next().unwrap_or_default();
    let variant = variant.split("    return [r, L").next().unwrap_or_default().trim_end();
    format!(
        "{variant}\n    slot {}, effect {}, turn {}\n    compiled {compiled}\n    CPython  {interpreted}",
        call[1], call[2], call[3]
    )
}
