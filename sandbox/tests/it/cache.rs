//! The machine-code cache: used when whole and ours, rebuilt otherwise. And the committed artifact agrees with its
//! sources.

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use grpo_sandbox::{FUEL_PER_SECOND, Limits, Sandbox, TierChoice};
use sha2::Digest;

/// Whether opening had to compile.
fn compiles(dir: &Path) -> bool {
    let mut compiled = false;
    Sandbox::open(dir, || compiled = true).unwrap();
    compiled
}

/// Whether opening begins to compile. It ends there, because compiling takes most of a minute of a processor.
fn begins_to_compile(dir: &Path) -> bool {
    panic::catch_unwind(|| Sandbox::open(dir, || panic::resume_unwind(Box::new("not compiled")))).is_err()
}

/// A directory with a good file in it: the one that this user's sandboxes use.
fn filled() -> (tempfile::TempDir, PathBuf) {
    static USED: OnceLock<PathBuf> = OnceLock::new();
    let used = USED.get_or_init(|| {
        let cache = Sandbox::default_cache_dir().unwrap();
        Sandbox::open(&cache, || ()).unwrap();
        let mut files = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| !begins_to_compile(with(path).0.path())).expect("a file that is used")
    });
    with(used)
}

/// A directory with a copy of a file in it.
fn with(file: &Path) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    assert!(begins_to_compile(dir.path()), "an empty directory holds nothing to use");
    let path = dir.path().join(file.file_name().unwrap());
    fs::copy(file, &path).unwrap();
    (dir, path)
}

/// Flips a bit in the middle of a file, and returns its bytes from before.
fn damage(path: &Path) -> Vec<u8> {
    let good = fs::read(path).unwrap();
    let mut damaged = good.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(path, &damaged).unwrap();
    good
}

#[test]
fn a_damaged_file_is_never_loaded() {
    let (dir, path) = filled();
    assert!(!begins_to_compile(dir.path()), "a whole file is used");
    damage(&path);
    assert!(begins_to_compile(dir.path()), "one flipped bit");
}

#[test]
#[ignore = "compiles the interpreter once more; `make proofs` runs it"]
fn a_damaged_file_is_rebuilt_as_it_was() {
    let (dir, path) = filled();
    let good = damage(&path);
    assert!(compiles(dir.path()), "one flipped bit");
    assert_eq!(fs::read(&path).unwrap(), good, "compiled alike");
    assert!(!begins_to_compile(dir.path()), "and used");
}

#[test]
fn the_runtime_of_compiled_programs_is_kept_beside_the_interpreter() {
    let (dir, interpreter) = filled();
    let plays = || {
        let sandbox = Sandbox::open(dir.path(), || ()).unwrap().with_tiers(TierChoice::Compiled, 0);
        let limits = Limits { game_fuel: FUEL_PER_SECOND, call_fuel: FUEL_PER_SECOND, memory_bytes: 128 << 20 };
        let mut session = sandbox.load("def double(x):\n    return 2 * x\n", 0, &limits).unwrap();
        assert_eq!(session.call("double", "[21]").unwrap(), "42");
    };
    plays();
    let mut files = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let runtime = files.find(|path| *path != interpreter).expect("a second file");
    let good = damage(&runtime);
    plays();
    assert!(fs::read(&runtime).unwrap() == good, "compiled alike, and kept");
}

/// Holds the checksums that a list has of files in a folder of this package; returns how many there are.
fn checked(list: &str, folder: &str, target: &str) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recorded = fs::read_to_string(root.join("artifact").join(list)).unwrap();
    for line in recorded.lines() {
        let (expected, name) = line.split_once("  ").unwrap();
        let found = format!("{:x}", sha2::Sha256::digest(fs::read(root.join(folder).join(name)).unwrap()));
        assert_eq!(found, expected, "{name} has changed; run `make {target}` and commit the artifact");
    }
    recorded.lines().count()
}

#[test]
fn the_artifacts_were_built_from_these_sources() {
    assert_eq!(checked("sources.sha256", "guest", "guest"), 25, "files of sandbox/guest");
    let with_numpy = checked("numpy.sources.sha256", "", "numpy-guest");
    assert!(with_numpy >= 33, "files of sandbox/numpy and sandbox/guest");
}
