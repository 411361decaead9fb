//! The corpus of hostile programs: each ends in the fault on its first line, within its budget and its memory, and the
//! next program is unharmed. Alone in its process, so that the memory measured is its own.

use std::fs;
use std::path::{Path, PathBuf};

use grpo_sandbox::{FUEL_PER_SECOND, Failure, Fault, FuelScope, Limits, Sandbox, TierChoice};
use grpo_sandbox_compiled::CompiledTier;

/// Small, so that hangs are cheap to prove; enough for every program that is meant to end by itself.
const LIMITS: Limits =
    Limits { game_fuel: FUEL_PER_SECOND / 2, call_fuel: FUEL_PER_SECOND / 6, memory_bytes: 96 << 20 };

/// For those that never end and take no more memory as they go on, which use up whatever they are given: several times what any
/// of them needs to get there.
const ENDLESS: Limits = Limits { game_fuel: FUEL_PER_SECOND / 10, call_fuel: FUEL_PER_SECOND / 30, ..LIMITS };

/// Programs of other names that never end either.
const ENDLESS_TOO: [&str; 6] = [
    "destructor", "output_flood", "output_flood_at_stderr", "script_endless_output_caught", "script_hangs_at_exit",
    "script_hangs_in_a_thread",
];

/// What the host may need beside the memory of one guest.
const HOST_MEMORY: u64 = 32 << 20;

/// What `strategy` is called with, one after the other.
const ARGUMENTS: [&str; 4] = [
    "[[[2,0,0,4],[0,0,0,0],[0,8,0,0],[0,0,0,2]]]",
    "[[[2,4,8,16],[4,8,16,32],[0,2,4,64],[0,0,2,128]]]",
    "[[[1024,512,256,128],[2,4,8,64],[4,2,16,32],[2,0,2,4]]]",
    "[[[2,4,2,4],[4,2,4,2],[2,4,2,4],[4,2,4,2]]]",
];

/// What the programs named `script_*` read.
const STDIN: &str = "3\n1 2 3\nlast line";

/// An honest program that would notice patched builtins or modules, a patched library, spent clocks, changed limits,
/// another order of sets or other random numbers.
const WITNESS: &str = "\
import colorsys, gc, math, os, random, sys, time

def strategy(board):
    n = sum(x for row in board for x in row)
    words = list({str(x) + 'x' for row in board for x in row})
    random.shuffle(words)
    limits = (sys.getrecursionlimit(), sys.get_int_max_str_digits(), gc.isenabled(), len(sys.modules))
    library = (colorsys.rgb_to_hsv(0.1, 0.2, 0.3), os.urandom(8))
    seen = (int(math.log(n) * 1000), max(1, 2), random.random(), words, time.time(), limits, library, ''.join(sorted(dir())))
    return 'WASD'[sum(map(ord, str(seen))) % 4]
";

/// The limits of the program of this name.
fn limits(name: &str) -> Limits {
    let grows =
        ["decimal", "deep_copies", "exception_chain", "factorial", "growing_sort", "huge_power", "replace", "tasks"];
    let endless = name.strip_prefix("endless_").filter(|what| !grows.contains(what));
    if endless.is_some() || ENDLESS_TOO.contains(&name) { ENDLESS } else { LIMITS }
}

/// What a program did in every call, or as a script, in a word or two each, and the fuel it took.
fn run(sandbox: &Sandbox, name: &str, source: &str) -> (Vec<String>, u64) {
    let limits = limits(name);
    if name.starts_with("script_") {
        let run = sandbox.run(source, STDIN, 7, &limits).unwrap_or_else(|error| panic!("the host failed: {error}"));
        let told = run.printed.map_or_else(|fault| told(&Failure::Program(fault)), |text| format!("prints {text:?}"));
        return (vec![told], run.fuel);
    }
    let mut session = match sandbox.load(source, 7, &limits) {
        Ok(session) => session,
        Err(unloaded) => return (vec![told(&unloaded.failure)], unloaded.fuel),
    };
    let mut answers = Vec::new();
    for arguments in ARGUMENTS {
        match session.call("strategy", arguments) {
            Ok(value) => answers.push(format!("gives {value}")),
            Err(failure) => {
                answers.push(told(&failure));
                break;
            }
        }
    }
    (answers, session.fuel_used())
}

fn told(failure: &Failure) -> String {
    match failure {
        Failure::Program(Fault::OutOfFuel { scope: FuelScope::Call }) => "hang".into(),
        Failure::Program(Fault::OutOfFuel { scope: FuelScope::Game }) => "out_of_fuel".into(),
        Failure::Program(Fault::OutOfMemory) => "out_of_memory".into(),
        Failure::Program(Fault::StackOverflow { .. }) => "stack_overflow".into(),
        Failure::Program(Fault::Raised { kind, .. }) => format!("raised {kind}"),
        Failure::Program(Fault::BadValue { .. }) => "bad_value".into(),
        Failure::Program(Fault::NotCompiled { line, .. }) => format!("not_compiled {line}"),
        Failure::Host(error) => panic!("the host failed: {error}"),
    }
}

/// Every program, with the fault that its first line names.
fn corpus() -> Vec<(PathBuf, String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let source = fs::read_to_string(&path).unwrap();
        let expected = source.lines().next().and_then(|line| line.strip_prefix("# expect: ")).unwrap().to_owned();
        (path, source, expected)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn every_hostile_program_ends_in_its_fault_and_the_next_one_is_unharmed() {
    all_end_in_their_faults(3);
}

#[test]
#[ignore = "takes half a minute; `make proofs` runs it"]
fn every_hostile_program_ends_in_its_fault_in_both_tiers_and_with_numpy() {
    all_end_in_their_faults(1);
}

/// Every program in the interpreter, and every one that the compiled tier takes in that. Of those that the tier leaves to the
/// interpreter, and of all in the interpreter with numpy, one in `stride`.
fn all_end_in_their_faults(stride: usize) {
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
    let tier = CompiledTier::open().unwrap();
    let is_one = |number: usize, _: &str| number.is_multiple_of(stride);
    let is_taken = |number, source: &str| is_one(number, source) || tier.compile(source).is_ok();
    let tiers = [TierChoice::Interpreter, TierChoice::Auto];
    let [interpreter, auto] = tiers.map(|choice| sandbox.with_tiers(choice, 0));
    ends_in_its_fault(&interpreter, TierChoice::Interpreter, "", |_, _| true);
    ends_in_its_fault(&auto, TierChoice::Auto, "", is_taken);
    // The word alone opens the interpreter with numpy.
    ends_in_its_fault(&sandbox.interpreting(), TierChoice::Interpreter, "\n# numpy\n", is_one);
}

/// Whether a program may end so: as it should or, compiled, by another limit that it runs into as well.
fn ends_well(found: &str, expected: &str, tier: TierChoice) -> bool {
    let is_limit = |word: &str| ["hang", "out_of_fuel", "out_of_memory"].contains(&word);
    found == expected || (tier == TierChoice::Auto && is_limit(found) && is_limit(expected))
}

/// Whether a program may end otherwise in the interpreter with numpy. What one that corrupts its interpreter ends in depends
/// on what lies there. Of `subprocess`, which numpy's own tests use, a class is left to be found, which starts nothing.
fn differs_with_numpy(name: &str, found: &str) -> bool {
    match name {
        "internals_mappingproxy" => found == "stack_overflow",
        "internals_gc_finds_no_socket" => found == "gives \"X\"",
        "subclasses" => found == "bad_value",
        _ => false,
    }
}

/// Plays the programs that are chosen by their numbers and sources.
fn ends_in_its_fault(sandbox: &Sandbox, tier: TierChoice, last_line: &str, is_chosen: impl Fn(usize, &str) -> bool) {
    let corpus = corpus();
    assert!(corpus.len() >= 233, "{} programs", corpus.len());
    let numbered = corpus.into_iter().enumerate();
    let chosen = numbered.filter(|(number, (_, source, _))| is_chosen(*number, source));
    let chosen: Vec<(PathBuf, String, String)> = chosen.map(|(_, program)| program).collect();
    let witness = format!("{WITNESS}{last_line}");
    let unharmed = run(sandbox, "witness", &witness);
    assert!(unharmed.0.iter().all(|answer| answer.starts_with("gives ")), "{unharmed:?}");
    let resident = memory::resident();
    let (mut wrong, mut peak) = (Vec::new(), 0);
    for (path, source, expected) in chosen {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        memory::forget_peak();
        let (answers, fuel) = run(sandbox, &name, &format!("{source}{last_line}"));
        peak = peak.max(memory::peak().saturating_sub(resident));
        let found = answers.last().unwrap();
        let with_numpy = !last_line.is_empty();
        let is_known = with_numpy && differs_with_numpy(&name, found);
        if !(is_known || ends_well(found, &expected, tier)) {
            wrong.push(format!("{tier:?}, {name}: {found:.100}, expected {expected}"));
        }
        if fuel > limits(&name).game_fuel {
            wrong.push(format!("{tier:?}, {name}: used {fuel} of {}", limits(&name).game_fuel));
        }
        if peak > LIMITS.memory_bytes + HOST_MEMORY {
            wrong.push(format!("{tier:?}, {name}: {} MiB of host memory", peak >> 20));
        }
        let after = run(sandbox, "witness", &witness);
        if after != unharmed {
            wrong.push(format!("{tier:?}, {name}: the next program gave {after:?}, alone {unharmed:?}"));
        }
    }
    let kept = memory::resident().saturating_sub(resident);
    println!("{tier:?}: peak {} MiB above, {} MiB kept", peak >> 20, kept >> 20);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(kept <= HOST_MEMORY, "{} MiB stayed after the last program", kept >> 20);
}

/// Memory of this process, as Linux counts it. Other systems do not say; there the rest of the test counts.
mod memory {
    use std::fs;

    fn status(key: &str) -> u64 {
        if cfg!(not(target_os = "linux")) {
            return 0;
        }
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    pub fn resident() -> u64 {
        status("VmRSS:")
    }

    /// Most that was resident since [`forget_peak`].
    pub fn peak() -> u64 {
        status("VmHWM:")
    }

    pub fn forget_peak() {
        if cfg!(target_os = "linux") {
            fs::write("/proc/self/clear_refs", "5").unwrap();
        }
    }
}
