//! What an operation costs in each tier: the difference that more turns of it make.

use grpo_sandbox::Sandbox;
use grpo_sandbox_compiled::{CompiledTier, GasLimits};

use crate::USUAL;
use crate::cases::{Case, Setting};

const GAS: GasLimits = GasLimits { game_gas: u64::MAX / 4, call_gas: u64::MAX / 4, memory_bytes: 1 << 30 };
const FUEL: grpo_sandbox::Limits =
    grpo_sandbox::Limits { game_fuel: u64::MAX / 4, call_fuel: u64::MAX / 4, memory_bytes: 1 << 30 };

pub struct Meter {
    tier: CompiledTier,
    sandbox: Sandbox,
}

impl Meter {
    pub fn open() -> Meter {
        let directory = Sandbox::default_cache_dir().expect("a cache directory");
        let sandbox = Sandbox::open(&directory, || ()).expect("the interpreter opens");
        let tier = CompiledTier::open().expect("the tier opens");
        Meter { tier, sandbox: sandbox.interpreting() }
    }

    /// What an operation costs compiled, as a share of what it costs interpreted.
    pub fn ratio(&self, case: &Case, setting: Setting) -> f64 {
        let source = case.source();
        let turns = match setting.size {
            0..100 => 1_000,
            100..10_000 => 30,
            _ => 2,
        };
        let order = setting.order as u32;
        let arguments = |turns: u32| format!("[{}, {order}, {turns}]", setting.size);
        let program = self.tier.compile(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let mut compiled = program.start(7, &GAS).unwrap_or_else(|stop| panic!("{stop}\n{source}"));
        let mut interpreted = self.sandbox.load(&source, 7, &FUEL).expect("the interpreter loads what is compiled");
        let mut ratio = |turns: u32| {
            let gas = per_turn(turns, &mut |function, turns| {
                let before = compiled.gas_used();
                compiled.call(function, &arguments(turns)).unwrap_or_else(|stop| panic!("{stop}\n{source}"));
                (compiled.gas_used() - before) as f64
            });
            let fuel = per_turn(turns, &mut |function, turns| {
                let before = interpreted.fuel_used();
                interpreted.call(function, &arguments(turns)).unwrap_or_else(|failure| panic!("{failure}\n{source}"));
                (interpreted.fuel_used() - before) as f64
            });
            gas / fuel
        };
        // What a call spends on its numbers before it begins differs from call to call: on garbage and on memory that is found
        // or moved. More turns drown that.
        let usual = Some(ratio(turns)).filter(|ratio| USUAL.contains(ratio));
        usual.unwrap_or_else(|| ratio(8 * turns))
    }
}

/// What a turn costs, by what twice as many turns cost more. The first calls are not counted: CPython then adapts its
/// bytecode to what it meets.
fn per_turn(turns: u32, spent: &mut dyn FnMut(&str, u32) -> f64) -> f64 {
    for function in ["base", "measured"] {
        spent(function, turns.min(100));
    }
    let mut slope = |function: &str| spent(function, 2 * turns) - spent(function, turns);
    (slope("measured") - slope("base")) / f64::from(turns)
}
