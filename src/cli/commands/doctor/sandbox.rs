//! The sandbox: does it work, what does an instance cost, and what is a budget here?

use std::time::{Duration, Instant};

use grpo_sandbox::{FUEL_PER_SECOND, Limits, Sandbox, TierChoice};

use super::caches::directory_bytes;
use crate::arena::Rules;
use crate::cli::opened::arena::{self, Opened};
use crate::cli::said::{CliError, Finding};
use crate::config::Config;
use crate::metrics::Console;

/// Instances timed for the median.
const INSTANCES: usize = 21;
/// The smallest strategy.
const IDLE: &str = "def strategy(board):\n    return 'W'\n";
/// Its arguments.
const EMPTY: &str = "[[[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0]]]";
/// What to do when the interpreter itself misbehaves.
const REPORT: &str = "this is a bug, please report it with the output of `grpo-2048 doctor --json`";

/// What the sandbox costs here, and the sandbox if it opens.
pub fn examine(config: &Config, console: &Console, findings: &mut Vec<Finding>) -> Option<Sandbox> {
    let started = Instant::now();
    let opened = Sandbox::default_cache_dir()
        .map_err(CliError::run)
        .and_then(|cache| arena::open_sandbox(&cache, console).map(|(sandbox, how)| (cache, sandbox, how)));
    let (cache, sandbox, how) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let advice = "$GRPO_2048_CACHE names the directory of its machine code; it must be writable";
            findings.push(Finding::problem("sandbox", error, advice));
            return None;
        }
    };
    let took = match how {
        Opened::Compiled => format!("compiled in {:.0} s, once", started.elapsed().as_secs_f64()),
        Opened::FromCache => format!("opened in {}", milliseconds(started.elapsed())),
    };
    let size = directory_bytes(&cache) as f64 / 1e6;
    findings.push(Finding::ok("sandbox cache", format!("{} ({size:.0} MB), {took}", cache.display())));
    let tier = |choice| sandbox.with_tiers(choice, 0);
    findings.push(instances(&tier(TierChoice::Interpreter), config, "a fresh interpreter with a program loaded"));
    findings.push(instances(&tier(TierChoice::Compiled), config, "a fresh instance of a compiled program"));
    findings.push(fuel(&sandbox, config));
    Some(sandbox)
}

fn instances(sandbox: &Sandbox, config: &Config, what: &str) -> Finding {
    let mut times = Vec::with_capacity(INSTANCES);
    for seed in 0..INSTANCES as u64 {
        let started = Instant::now();
        let chosen =
            sandbox.load(IDLE, seed, &limits(config)).and_then(|mut session| Ok(session.call("strategy", EMPTY)?));
        times.push(started.elapsed());
        match chosen {
            Ok(value) if value == "\"W\"" => {}
            Ok(value) => {
                let found = format!("self-test returned {value}, expected \"W\"");
                return Finding::problem("sandbox", found, REPORT);
            }
            Err(failure) => return Finding::problem("sandbox", format!("self-test: {failure}"), REPORT),
        }
    }
    times.sort();
    let line = format!(
        "{what}: median {}, worst {} (of {INSTANCES})",
        milliseconds(times[INSTANCES / 2]),
        milliseconds(times[INSTANCES - 1])
    );
    let advice = "expected below 2 ms: look for what else keeps the machine busy";
    Finding::warning_if(times[INSTANCES / 2] > Duration::from_millis(10), "sandbox", line, advice)
}

/// Fuel a second on this machine, and what the budget of a game comes to.
fn fuel(sandbox: &Sandbox, config: &Config) -> Finding {
    match sandbox.calibrate() {
        Ok(speed) => {
            let budget = config.sandbox.game_seconds * FUEL_PER_SECOND as f64;
            Finding::ok(
                "fuel",
                format!(
                    "{:.1} Gfuel a second here, {:.1} by definition: a budget of {} s takes {:.2} s of this core",
                    speed / 1e9,
                    FUEL_PER_SECOND as f64 / 1e9,
                    config.sandbox.game_seconds,
                    budget / speed
                ),
            )
        }
        Err(failure) => Finding::problem("fuel", format!("self-test: {failure}"), REPORT),
    }
}

fn limits(config: &Config) -> Limits {
    Rules::new(&config.sandbox, &config.arena).limits
}

/// A compiled program is there within hundredths of a millisecond.
fn milliseconds(duration: Duration) -> String {
    let decimals = if duration < Duration::from_millis(1) { 3 } else { 1 };
    format!("{:.decimals$} ms", 1e3 * duration.as_secs_f64())
}
