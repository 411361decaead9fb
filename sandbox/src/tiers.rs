//! Which tier runs a program, and how budgets convert between the tiers.

use std::sync::{Arc, OnceLock};

use grpo_sandbox_compiled::{
    self as compiled, CompiledProgram, CompiledTier, GAS_PER_SECOND, NotCompiled, Outside, TierError,
};

use crate::{FUEL_PER_SECOND, HostError, Limits};

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

/// The compiled tier, and when it is used.
#[derive(Clone)]
pub(crate) struct Tiers {
    /// Opened for the first program that is compiled, so that a sandbox that only interprets never opens it.
    tier: Arc<OnceLock<Result<CompiledTier, TierError>>>,
    choice: TierChoice,
    /// One in so many sessions is played by both tiers; 0 means none.
    check_one_in: u32,
}

impl Tiers {
    pub fn new(choice: TierChoice, check_one_in: u32) -> Tiers {
        Tiers { tier: Arc::default(), choice, check_one_in }
    }

    fn tier(&self) -> Result<&CompiledTier, HostError> {
        self.tier.get_or_init(CompiledTier::open).as_ref().map_err(|error| HostError::tier(error.clone()))
    }

    /// The same compiled programs, with other settings.
    pub fn with(&self, choice: TierChoice, check_one_in: u32) -> Tiers {
        Tiers { tier: Arc::clone(&self.tier), choice, check_one_in }
    }

    /// The same compiled programs, with leaving the tier an error; `None` if none is compiled.
    pub fn compiled(&self) -> Option<Tiers> {
        (self.choice != TierChoice::Interpreter).then(|| self.with(TierChoice::Compiled, self.check_one_in))
    }

    /// The same settings, with no program compiled.
    pub fn emptied(&self) -> Result<Tiers, HostError> {
        let tiers = Tiers::new(self.choice, self.check_one_in);
        tiers.tier()?;
        Ok(tiers)
    }

    /// The compiled program; `None` if it is left to the interpreter.
    pub fn program(&self, source: &str) -> Result<Option<CompiledProgram>, HostError> {
        if self.choice == TierChoice::Interpreter {
            return Ok(None);
        }
        match self.tier()?.compile(source) {
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

/// Converts budgets of fuel to gas. A second has a different number of each.
pub(crate) fn gas_limits(limits: &Limits) -> compiled::GasLimits {
    let gas = |fuel: u64| scaled(fuel, GAS_PER_SECOND, FUEL_PER_SECOND);
    let memory_bytes = limits.memory_bytes.min(crate::MEMORY_MAX);
    compiled::GasLimits { game_gas: gas(limits.game_fuel), call_gas: gas(limits.call_fuel), memory_bytes }
}

/// Converts gas to fuel.
pub(crate) fn fuel_of(gas: u64) -> u64 {
    scaled(gas, FUEL_PER_SECOND, GAS_PER_SECOND)
}

fn scaled(count: u64, to: u64, from: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(to) / u128::from(from)).unwrap_or(u64::MAX)
}
