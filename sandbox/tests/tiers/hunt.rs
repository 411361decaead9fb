//! A long search for differences: many programs, on several threads, with what it came to each second.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::compare::{Difference, Tally, Tiers};
use crate::program::Program;
use crate::reducer::reduce;

/// Differences after which there is enough to do.
const DIFFERENCES_MAX: usize = 40;

/// Characters of a program or an answer that are shown.
const TEXT_MAX: usize = 4000;

/// Where differences are written down.
fn notes() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tier-differences.md")
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: a number")))
}

/// Plays the programs of `nth` for `TIER_SECONDS` on `TIER_THREADS` threads, beginning at `TIER_SEED`.
pub fn hunt(tiers: &Tiers, nth: impl Fn(u64) -> Program + Sync) -> Tally {
    let seconds = Duration::from_secs(number("TIER_SECONDS", 60));
    let threads = number("TIER_THREADS", 1);
    let next = AtomicU64::new(number("TIER_SEED", 0));
    let (tally, found, done) =
        (Mutex::new(Tally::default()), Mutex::new(Vec::<Difference>::new()), AtomicBool::new(false));
    let start = Instant::now();
    let work = || {
        while !done.load(Ordering::Relaxed) {
            let program = nth(next.fetch_add(1, Ordering::Relaxed));
            let mut own = Tally::default();
            let difference = tiers.compare(&program, &mut own);
            tally.lock().unwrap().add(&own);
            if let Some(difference) = difference {
                let reduced = reduce(tiers, &difference);
                write_down(&reduced);
                found.lock().unwrap().push(reduced);
            }
        }
    };
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(work)));
        while start.elapsed() < seconds && found.lock().unwrap().len() < DIFFERENCES_MAX {
            std::thread::sleep(Duration::from_secs(1));
            print!("\r{:.0} s: {}", start.elapsed().as_secs_f64(), summary(&tally.lock().unwrap()));
            std::io::stdout().flush().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    let tally = tally.into_inner().unwrap();
    println!("\r{}; ended at seed {}", summary(&tally), next.into_inner());
    for (title, counts) in [("outside", &tally.outside), ("given up", &tally.given_up)] {
        let mut counts: Vec<_> = counts.iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        println!("{title}: {counts:?}");
    }
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{} differences, in {}:\n{}", found.len(), notes().display(), told(&found[0]));
    tally
}

/// How programs ended, in a line.
pub fn summary(tally: &Tally) -> String {
    let share = 100.0 * tally.stayed as f64 / tally.functions.max(1) as f64;
    format!(
        "{} programs, {} functions, {share:.0} % of them stayed in the tier, {} calls alike, {} out of gas, {} different",
        tally.programs, tally.functions, tally.equal, tally.out_of_gas, tally.differences
    )
}

/// The beginning of a text that may be long.
fn cut(text: &str) -> String {
    let begun: String = text.chars().take(TEXT_MAX).collect();
    if begun.len() < text.len() { format!("{begun}...") } else { begun }
}

/// A difference as someone reads it.
pub fn told(found: &Difference) -> String {
    let Difference { program, call, interpreter, compiled } = found;
    let mut text =
        format!("## {}, seed {}\n\n```python\n{}\n```\n\n", program.name, program.seed, cut(program.source().trim()));
    for (index, group) in program.groups.iter().enumerate() {
        let last = index + 1 == program.groups.len();
        let calls = group.calls.iter().take(if last { call + 1 } else { usize::MAX });
        calls.for_each(|call| text += &format!("    {}{call}\n", group.function));
    }
    text + &format!("\n- interpreter: `{}`\n- compiled:    `{}`\n", cut(interpreter), cut(compiled))
}

fn write_down(found: &Difference) {
    fs::create_dir_all(notes().parent().unwrap()).unwrap();
    let mut file = OpenOptions::new().create(true).append(true).open(notes()).unwrap();
    file.write_all(format!("{}\n", told(found)).as_bytes()).unwrap();
}
