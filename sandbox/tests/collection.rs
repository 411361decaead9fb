//! A folder of programs that others wrote, such as a clone of TheAlgorithms/Python: which fail here for want of a module, and
//! whose module that is. `make collection COLLECTION=folder` runs it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use grpo_sandbox::{FUEL_PER_SECOND, Limits, Sandbox};

const LIMITS: Limits = Limits { game_fuel: FUEL_PER_SECOND, call_fuel: FUEL_PER_SECOND, memory_bytes: 128 << 20 };

/// Names every import of the program that it reads, wherever it stands, and what becomes of it here: `whole`, or a message.
const IMPORTS: &str = "\
import ast, importlib, sys
tree = ast.parse(sys.stdin.read())
names = set()
for node in ast.walk(tree):
    if isinstance(node, ast.Import):
        names.update(alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        names.add('.' if node.level else node.module)
for name in sorted(names):
    try:
        if name != '.':
            importlib.import_module(name)
        told = 'whole'
    except ModuleNotFoundError as error:
        told = str(error)
    except BaseException as error:
        told = f'{type(error).__name__}: {error}'
    print(name, name.partition('.')[0] in sys.stdlib_module_names, told)
";

/// What a sandbox refuses because there is no world, as docs/sandbox.md says.
const REFUSED: &str = "in the sandbox: ";

fn python_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            python_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            found.push(path);
        }
    }
}

/// Modules that programs lack, by whose they are, each with how many programs lack it first of all.
#[derive(Default)]
struct Lacking {
    /// The standard library's, and no reason is known.
    unexplained: BTreeMap<String, Vec<String>>,
    /// The standard library's, refused with a reason.
    refused: BTreeMap<String, Vec<String>>,
    /// Packages of others.
    packages: BTreeMap<String, Vec<String>>,
    /// The collection's own files, which are not handed over.
    own: usize,
    whole: usize,
}

impl Lacking {
    /// Sorts a program by the worst of what it lacks.
    fn add(&mut self, program: &str, own: &BTreeSet<String>, told: &str) {
        let mut worst = (0, String::new());
        for line in told.lines() {
            let mut words = line.splitn(3, ' ');
            let [name, library, how] = [(); 3].map(|()| words.next().unwrap());
            let top = name.split('.').next().unwrap();
            let rank = match how {
                _ if name == "." => 1,
                "whole" => 0,
                _ if library == "True" && how.contains(REFUSED) => 3,
                _ if library == "True" => 4,
                _ if own.contains(top) => 1,
                _ => 2,
            };
            worst = worst.max((rank, if rank == 4 { format!("{name}: {how}") } else { top.to_owned() }));
        }
        let (rank, name) = worst;
        let of = match rank {
            0 => return self.whole += 1,
            1 => return self.own += 1,
            2 => &mut self.packages,
            3 => &mut self.refused,
            _ => &mut self.unexplained,
        };
        of.entry(name).or_default().push(program.to_owned());
    }
}

/// The programs: files with examples that `doctest` runs, or with a part that runs when they are the main program.
fn programs(folder: &Path) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    python_files(folder, &mut paths);
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(folder).unwrap().display().to_string();
        fs::read_to_string(path).ok().map(|source| (name, source))
    };
    let runs = |source: &str| source.contains(">>> ") || source.contains("if __name__");
    paths.into_iter().filter_map(read).filter(|(_, source)| runs(source)).collect()
}

#[test]
#[ignore = "needs a folder of programs; `make collection COLLECTION=folder` runs it"]
fn no_program_fails_for_a_missing_module_without_a_reason() {
    let folder = std::env::var_os("COLLECTION").expect("COLLECTION names a folder of programs");
    let programs = programs(Path::new(&folder));
    let parts = programs.iter().flat_map(|(name, _)| name.trim_end_matches(".py").split('/').map(str::to_owned));
    let own: BTreeSet<String> = parts.collect();
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
    let with_numpy = sandbox.with_numpy();
    let (mut lacking, mut unread, mut passed, mut others) =
        (Lacking::default(), 0, 0, BTreeMap::<String, usize>::new());
    for (name, source) in &programs {
        let its = if source.contains("numpy") { &with_numpy } else { &sandbox };
        let Ok(told) = its.run(IMPORTS, source, 7, &LIMITS).unwrap().printed else {
            unread += 1;
            continue;
        };
        lacking.add(name, &own, &told);
        // Its examples are run as `python -m doctest` runs them, after the program itself, which has no input.
        let tested = format!("{source}\nimport doctest as _doctest\nassert not _doctest.testmod().failed\n");
        match its.run(&tested, "", 7, &LIMITS).unwrap().printed {
            Ok(_) => passed += 1,
            Err(fault) => {
                *others.entry(fault.to_string().split([':', ',', '(']).next().unwrap().to_owned()).or_default() += 1
            }
        }
    }
    let shown = |what: &str, of: &BTreeMap<String, Vec<String>>| {
        let in_all: usize = of.values().map(Vec::len).sum();
        let each: Vec<String> = of.iter().map(|(name, programs)| format!("{name} {}", programs.len())).collect();
        println!("{in_all} lack {what}: {}", each.join(", "));
    };
    println!("{} programs, {unread} of which could not be read", programs.len());
    println!("{} lack nothing, {} nothing but files of the collection", lacking.whole, lacking.own);
    shown("a package", &lacking.packages);
    shown("a module that is refused", &lacking.refused);
    shown("a module of the library", &lacking.unexplained);
    println!("{passed} run to their end within a second with all their examples; the others: {others:?}");
    assert!(lacking.whole > 0, "no program was tried");
    assert!(lacking.unexplained.is_empty(), "{:?}", lacking.unexplained);
}
