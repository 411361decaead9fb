//! What the sandbox promises, apart from its two tiers being alike (`tests/tiers`) and from what measures the memory of its own
//! process (`tests/hostile.rs`, `tests/soak.rs`).

mod cache;
mod edges;
mod library;
mod numpy;
mod page;
mod promises;
mod scripts;
mod sizes;
mod threads;
mod values;

use std::sync::OnceLock;

use grpo_sandbox::{FUEL_PER_SECOND, Limits, Sandbox, TierChoice};

const LIMITS: Limits = Limits { game_fuel: FUEL_PER_SECOND, call_fuel: FUEL_PER_SECOND, memory_bytes: 128 << 20 };

fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap())
}

/// The interpreter alone, and with the compiled tier, without the comparison of sessions, which would hide a difference.
fn tiers() -> [Sandbox; 2] {
    [TierChoice::Interpreter, TierChoice::Auto].map(|tier| sandbox().with_tiers(tier, 0))
}

/// What a program prints, or its fault in words.
fn printed(source: &str) -> String {
    sandbox().run(source, "", 7, &LIMITS).unwrap().printed.unwrap_or_else(|fault| fault.to_string())
}
