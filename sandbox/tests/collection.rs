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

/// What a program lacks, from what matters least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lack {
    Nothing,
    /// A file of the collection, which is not handed over.
    OwnFile,
    /// A package of others.
    Package,
    /// A module of the standard library, refused with a reason.
    Refused,
    /// A module of the standard library, and no reason is known.
    Unexplained,
}

/// The worst of what a program lacks, and its name.
fn worst_lack(own: &BTreeSet<String>, told: &str) -> (Lack, String) {
    let lacks = told.lines().map(|line| {
        let mut words = line.splitn(3, ' ');
        let [name, library, how] = [(); 3].map(|()| words.next().unwrap());
        let top = name.split('.').next().unwrap();
        match how {
            _ if name == "." => (Lack::OwnFile, String::new()),
            "whole" => (Lack::Nothing, String::new()),
            _ if library == "True" && how.contains(REFUSED) => (Lack::Refused, top.to_owned()),
            _ if library == "True" => (Lack::Unexplained, format!("{name}: {how}")),
            _ if own.contains(top) => (Lack::OwnFile, String::new()),
            _ => (Lack::Package, top.to_owned()),
        }
    });
    lacks.max().unwrap_or((Lack::Nothing, String::new()))
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
    let mut lacking = BTreeMap::<(Lack, String), Vec<&str>>::new();
    let (mut unread, mut passed, mut others) = (0, 0, BTreeMap::<String, usize>::new());
    for (name, source) in &programs {
        let its = if source.contains("numpy") { &with_numpy } else { &sandbox };
        let Ok(told) = its.run(IMPORTS, source, 7, &LIMITS).unwrap().printed else {
            unread += 1;
            continue;
        };
        lacking.entry(worst_lack(&own, &told)).or_default().push(name);
        // Its examples are run as `python -m doctest` runs them, after the program itself, which has no input.
        let tested = format!("{source}\nimport doctest as _doctest\nassert not _doctest.testmod().failed\n");
        match its.run(&tested, "", 7, &LIMITS).unwrap().printed {
            Ok(_) => passed += 1,
            Err(fault) => {
                *others.entry(fault.to_string().split([':', ',', '(']).next().unwrap().to_owned()).or_default() += 1
            }
        }
    }
    let of = |lack: Lack| lacking.iter().filter(move |((worst, _), _)| *worst == lack);
    let count = |lack: Lack| of(lack).map(|(_, programs)| programs.len()).sum::<usize>();
    println!("{} programs, {unread} of which could not be read", programs.len());
    let [whole, own] = [Lack::Nothing, Lack::OwnFile].map(count);
    println!("{whole} lack nothing, {own} nothing but files of the collection");
    let kinds = [Lack::Package, Lack::Refused, Lack::Unexplained];
    for (lack, what) in kinds.into_iter().zip(["a package", "a module that is refused", "a module of the library"]) {
        let each: Vec<String> = of(lack).map(|((_, name), programs)| format!("{name} {}", programs.len())).collect();
        println!("{} lack {what}: {}", count(lack), each.join(", "));
    }
    println!("{passed} run to their end within a second with all their examples; the others: {others:?}");
    assert!(whole > 0, "no program was tried");
    let unexplained: Vec<_> = of(Lack::Unexplained).map(|((_, name), programs)| (name, programs)).collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
}
