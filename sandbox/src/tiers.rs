//! Which tier runs a program, and how budgets convert between the tiers.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use grpo_sandbox_compiled::{self as compiled, CompiledProgram, CompiledTier, NotCompiled, Outside, TierError};

use crate::{HostError, Limits, machine_code};

/// What runs the functions of a program. Whole programs ([`Sandbox::run`](crate::Sandbox::run)) are always
/// interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TierChoice {
    /// Compiled code where it certainly behaves as CPython does, otherwise the interpreter.
    #[default]
    Auto,
    /// Compiled code only; a program that leaves it is an error of the host.
    Compiled,
    /// CPython.
    Interpreter,
}

/// Where the budgets of a session end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Where the tier that runs the program has counted so much.
    Counted,
    /// Where the interpreter would end them.
    Exact,
}

/// The compiled tier, and when it is used.
#[derive(Clone)]
pub(crate) struct Tiers {
    /// Opened for the first program that is compiled, so that a sandbox that only interprets never opens it.
    tier: Arc<OnceLock<Result<CompiledTier, TierError>>>,
    choice: TierChoice,
    /// One in so many sessions is played by both tiers; 0 means none.
    check_one_in: u32,
    /// The directory in which its runtime is kept compiled.
    cache: Arc<Path>,
    /// What the compiled tier reads in place of a source; only in tests.
    misread: Option<fn(&str) -> String>,
}

impl Tiers {
    pub fn new(choice: TierChoice, check_one_in: u32, cache: &Path) -> Tiers {
        Tiers { tier: Arc::default(), choice, check_one_in, cache: cache.into(), misread: None }
    }

    fn tier(&self) -> Result<&CompiledTier, HostError> {
        let open = || {
            CompiledTier::open_with(|engine, wasm| {
                let digest = blake3::hash(wasm).to_hex();
                machine_code::kept(&self.cache, engine, &digest, || {
                    engine.precompile_module(wasm).map_err(HostError::engine)
                })
                .map_err(HostError::into_tier)
            })
        };
        self.tier.get_or_init(open).as_ref().map_err(|error| HostError::tier(error.clone()))
    }

    /// The same compiled programs, with other settings.
    pub fn with(&self, choice: TierChoice, check_one_in: u32) -> Tiers {
        Tiers { choice, check_one_in, ..self.clone() }
    }

    /// The same tiers, with compiled code of another text.
    pub fn misreading(&self, misread: fn(&str) -> String) -> Tiers {
        Tiers { misread: Some(misread), ..self.clone() }
    }

    /// The same compiled programs, with leaving the tier an error; `None` if none is compiled.
    pub fn compiled(&self) -> Option<Tiers> {
        (self.choice != TierChoice::Interpreter).then(|| self.with(TierChoice::Compiled, self.check_one_in))
    }

    /// The same tiers, in which leaving the compiled one is no error.
    pub fn of_rules(&self) -> Tiers {
        match self.choice {
            TierChoice::Compiled => self.with(TierChoice::Auto, self.check_one_in),
            TierChoice::Auto | TierChoice::Interpreter => self.clone(),
        }
    }

    /// The same settings, with no program compiled.
    pub fn emptied(&self) -> Result<Tiers, HostError> {
        let tiers = Tiers { tier: Arc::default(), ..self.clone() };
        tiers.tier()?;
        Ok(tiers)
    }

    /// The compiled program; `None` if it is left to the interpreter.
    pub fn program(&self, source: &str) -> Result<Option<CompiledProgram>, HostError> {
        if self.choice == TierChoice::Interpreter {
            return Ok(None);
        }
        let misread = self.misread.map(|misread| misread(source));
        match self.tier()?.compile(misread.as_deref().unwrap_or(source)) {
            Ok(program) => Ok(Some(program)),
            Err(NotCompiled::Outside(outside)) => self.left(source, &outside.to_string()).map(|()| None),
            Err(NotCompiled::Machine(error)) => Err(HostError::tier(error)),
        }
    }

    /// Why a program is not compiled; `None` if it is.
    pub fn outside(&self, source: &str) -> Result<Option<Outside>, HostError> {
        match self.tier()?.compile(source) {
            Ok(_) => Ok(None),
            Err(NotCompiled::Outside(outside)) => Ok(Some(outside)),
            Err(NotCompiled::Machine(error)) => Err(HostError::tier(error)),
        }
    }

    /// Records that a program leaves the compiled tier, which is an error if only that tier was asked for.
    pub fn left(&self, source: &str, reason: &str) -> Result<(), HostError> {
        tracing::debug!(reason, bytes = source.len(), "left to the interpreter");
        match self.choice {
            TierChoice::Compiled => Err(HostError::LeftTier(reason.to_owned())),
            TierChoice::Auto | TierChoice::Interpreter => Ok(()),
        }
    }

    /// Whether a session is played by both tiers. This depends on the program and the seed only, so that it is the
    /// same on every machine.
    pub fn is_checked(&self, source: &str, seed: u64) -> bool {
        if self.check_one_in == 0 {
            return false;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed.to_le_bytes()).update(source.as_bytes());
        let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
        u32::from_le_bytes([a, b, c, d]).is_multiple_of(self.check_one_in)
    }
}

/// What a budget that each tier counts by itself is worth in the compiled tier: 21 units of gas for 20 of fuel. Gas is
/// fuel as it was measured, and whole programs are charged 0.7 to 1.03 of what the interpreter spends, so that no
/// program gains by leaving the tier (`a_player_is_charged_in_both_tiers_alike`).
const GAS: u64 = 21;
const FUEL: u64 = 20;

/// The interpreter takes at most this many times the fuel that a program is charged compiled. The table of costs has no
/// operation above two, but compiled code is charged for an integer of sixty bits what a small one costs, and CPython takes
/// up to 12.1 times that: for comparing lists of them, and up to 9.6 times for `//` of a negative one by one of 31 bits, less
/// for `%`, `&` and `*`. So an exact budget gives compiled code one part in so many: whatever ends within it, the interpreter
/// ends within all of it.
const FUEL_RATIO: u64 = 13;

/// The same where a program prints what may hold floats, whose text takes CPython up to 216 times what is charged for one:
/// for very large and very small ones of seventeen digits.
const PRINTED_FUEL_RATIO: u64 = 230;

/// Most fuel that the interpreter takes beside that: for collecting garbage, which any call may come to do and none is
/// charged for, and for each byte of arguments and answers.
const COLLECTION_FUEL: u64 = 30_000_000;
/// The dearest byte is a bracket: lists of one item, as deep as may cross, take up to 7,210 for each.
const TEXT_BYTE_FUEL: u64 = 10_000;

/// Most fuel that the interpreter takes to copy a byte of a text that grows and that something else has too.
const COPIED_BYTE_FUEL: u64 = 2;

/// The interpreter needs less than this many times the memory for the same values: for a captured integer of sixty bits, 52
/// bytes for 8.
const MEMORY_RATIO: u64 = 7;

/// Memory that the interpreter needs to compile a byte of a source.
const SOURCE_BYTE_MEMORY: u64 = 200;

/// The most that the interpreter takes for a unit of what a program does compiled. Loading it prints nothing by itself.
fn fuel_ratio(program: &CompiledProgram) -> u64 {
    if program.prints_floats() { PRINTED_FUEL_RATIO } else { FUEL_RATIO }
}

/// The budgets of a compiled program, for a source of so many bytes and an interpreter that takes `taken` of the memory.
pub(crate) fn gas_limits(
    program: &CompiledProgram,
    limits: &Limits,
    ending: Ending,
    source_bytes: usize,
    taken: u64,
) -> compiled::GasLimits {
    let gas = |fuel: u64| match ending {
        Ending::Exact => {
            let loading = program.loading_gas();
            loading + fuel.saturating_sub(loading * FUEL_RATIO) / fuel_ratio(program)
        }
        Ending::Counted => scaled(fuel, GAS, FUEL),
    };
    let taken = taken + SOURCE_BYTE_MEMORY * source_bytes as u64;
    let memory_bytes = limits.memory_bytes.min(crate::MEMORY_MAX).saturating_sub(taken) / MEMORY_RATIO;
    compiled::GasLimits { game_gas: gas(limits.game_fuel), call_gas: gas(limits.call_fuel), memory_bytes }
}

/// The most fuel that the interpreter would have used for what ran compiled, but for collecting garbage.
pub(crate) struct MostFuel {
    ratio: u64,
    last: u64,
    in_all: u64,
}

impl MostFuel {
    /// For loading a program, which took so much gas and may copy so many bytes that cost none.
    pub fn of_loading(program: &CompiledProgram, gas: u64, copied: u64) -> MostFuel {
        let (ratio, loading) = (fuel_ratio(program), program.loading_gas());
        let most = most_fuel(gas - loading, ratio, copied).saturating_add(loading * FUEL_RATIO);
        MostFuel { ratio, last: most, in_all: most }
    }

    /// Adds a call with so many bytes of arguments and answer, which took so much gas and may copy so many bytes that cost
    /// none.
    pub fn add_call(&mut self, text_bytes: usize, gas: u64, copied: u64) {
        self.last = (TEXT_BYTE_FUEL * text_bytes as u64).saturating_add(most_fuel(gas, self.ratio, copied));
        self.in_all = self.in_all.saturating_add(self.last);
    }

    /// In loading and all calls.
    pub fn in_all(&self) -> u64 {
        self.in_all.saturating_add(COLLECTION_FUEL)
    }

    /// Whether it is within the budgets of the last call and of the session.
    pub fn is_within(&self, limits: &Limits) -> bool {
        self.last.saturating_add(COLLECTION_FUEL) <= limits.call_fuel && self.in_all() <= limits.game_fuel
    }
}

fn most_fuel(gas: u64, ratio: u64, copied: u64) -> u64 {
    gas.saturating_mul(ratio).saturating_add(copied.saturating_mul(COPIED_BYTE_FUEL))
}

/// The fuel that gas stands for.
pub(crate) fn fuel_of(gas: u64) -> u64 {
    scaled(gas, FUEL, GAS)
}

fn scaled(count: u64, to: u64, from: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(to) / u128::from(from)).unwrap_or(u64::MAX)
}
