//! The lines of Rust on the page of this package, compiled and run.

use std::error::Error;

use grpo_sandbox::{FUEL_PER_SECOND, Limits, Sandbox};

#[test]
fn the_lines_of_the_page_work() -> Result<(), Box<dyn Error>> {
    let limits = Limits { game_fuel: FUEL_PER_SECOND, call_fuel: FUEL_PER_SECOND, memory_bytes: 128 << 20 };

    let sandbox = Sandbox::open(&Sandbox::default_cache_dir()?, || eprintln!("compiling, once"))?;
    let mut session = sandbox.load("def add(a, b):\n    return a + b\n", 7, &limits)?;
    assert_eq!(session.call("add", "[1, 2]")?, "3");
    let run = sandbox.run("print(sum(map(int, input().split())))", "1 2 3\n", 7, &limits)?;
    assert_eq!(run.printed, Ok("6\n".into()));
    Ok(())
}
