//! The two tiers of the sandbox give the same answers: on generated programs, on mutants, on hard cases by hand.

mod generator;
mod grammar;
mod program;
mod scope;

use grammar::Grammar;
use grpo_sandbox::{FUEL_PER_SECOND, Limits, Sandbox};

#[test]
fn try_it() {
    let grammar = Grammar::read();
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
    let limits = Limits { game_fuel: 10 * FUEL_PER_SECOND, call_fuel: FUEL_PER_SECOND, memory_bytes: 128 << 20 };
    let mut faults = std::collections::BTreeMap::<String, u32>::new();
    let (mut calls, mut raised, mut bytes, mut values) = (0, 0, 0, 0);
    let n: u64 = std::env::var("N").map_or(50, |n| n.parse().unwrap());
    let from: u64 = std::env::var("FROM").map_or(0, |n| n.parse().unwrap());
    let mut used = vec![0; grammar.rows.len()];
    for seed in from..from + n {
        let (program, counts) = program::generated(&grammar, seed);
        counts.iter().zip(&mut used).for_each(|(count, used)| *used += count);
        let source = program.source();
        bytes += source.len();
        if std::env::var("SHOW").is_ok() {
            println!("{source}");
        }
        let mut session = match sandbox.load(&source, seed, &limits) {
            Ok(session) => session,
            Err(failure) => {
                *faults.entry(format!("load {seed}: {failure}")).or_default() += 1;
                continue;
            }
        };
        'groups: for group in &program.groups {
            for call in &group.calls {
                calls += 1;
                match session.call(&group.function, call) {
                    Ok(value) => values += value.len(),
                    Err(failure) => {
                        raised += 1;
                        let text: String = failure.to_string().chars().filter(|c| !c.is_ascii_digit()).collect();
                        *faults.entry(text).or_default() += 1;
                        if std::env::var("RAISED").is_ok_and(|r| failure.to_string().contains(&r)) {
                            println!("{seed} {} {call} {failure}\n{}", group.function, group.text);
                        }
                        if session.is_spent() {
                            break 'groups;
                        }
                    }
                }
            }
        }
    }
    for (fault, count) in faults {
        println!("{count} {fault}");
    }
    for (row, used) in grammar.rows.iter().zip(used) {
        if used == 0 {
            println!("never: {} {:?} {}", row.kind, row.flavour, row.text);
        }
    }
    println!("calls {calls}, raised {raised}, bytes {bytes}, values {values}");
}
