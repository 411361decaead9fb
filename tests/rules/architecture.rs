//! Rules of the program's structure: which module may use which, which module may use a library, and limits of size.

mod graph;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::{assert_none, root};
use graph::{Graph, Place};
use sources::{Function, Module, functions, names, of_modules};

/// Each module and the modules that it may use. It may not use others.
const USES: &[(&str, &str)] = &[
    ("start", ""),
    ("seed", ""),
    ("groups", ""),
    ("causes", ""),
    ("files", ""),
    ("stats", ""),
    ("plural", ""),
    ("shell", ""),
    ("http", ""),
    ("json_line", ""),
    ("config", ""),
    ("corpus", ""),
    ("environment", "config files program seed"),
    ("program", ""),
    ("arena", "config environment plural program seed stats"),
    ("policy", "config files seed"),
    ("prompt", "environment policy seed"),
    ("rollout", "config files groups policy prompt seed"),
    ("evaluation", "arena environment plural program seed stats"),
    ("feedback", "arena config environment program"),
    ("reward", "arena config environment program stats"),
    ("grader", "environment plural"),
    ("preflight", "arena config environment grader plural program reward seed stats"),
    ("judge", "arena causes config environment feedback http json_line program reward seed"),
    ("parallel", "config"),
    ("grpo", "config files groups parallel policy prompt rollout seed stats"),
    ("metrics", "environment files json_line plural stats"),
    ("hardware", ""),
    (
        "train",
        "arena config environment evaluation feedback files groups grpo json_line metrics parallel plural policy \
         program prompt reward rollout seed shell stats",
    ),
    (
        "evolve",
        "arena config environment evaluation files groups grpo metrics parallel plural policy program prompt reward \
         rollout seed train",
    ),
    ("sft", "arena config corpus environment feedback files grpo policy program prompt seed train"),
    ("report", "environment files http metrics plural seed stats train"),
    (
        "cli",
        "arena causes config corpus environment evaluation evolve feedback files grader hardware http json_line judge \
         metrics parallel plural policy preflight program prompt report reward rollout seed sft shell stats train",
    ),
];

/// Rooms of the command line, each with the rooms that it may use.
const ROOMS: &[(&str, &[&str])] = &[
    ("said", &[]),
    ("arguments", &["said"]),
    ("opened", &["arguments", "said"]),
    ("commands", &["arguments", "opened", "said"]),
];

/// Libraries, each with the modules that may use it.
const HOMES: &[(&str, &[&str])] = &[
    ("candle_core", &["policy", "grpo", "parallel", "rollout", "sft", "train"]),
    ("candle_nn", &["policy", "grpo"]),
    ("grpo_tensor", &["policy", "grpo", "parallel", "sft", "train"]),
    ("grpo_sandbox", &["arena", "cli", "judge"]),
    ("wasmtime", &[]),
    ("crossbeam", &["arena"]),
    ("httparse", &["http"]),
    ("indicatif", &["metrics"]),
    ("parquet", &["cli"]),
    ("grpo_mpi", &["parallel"]),
    ("nvml_wrapper", &["hardware"]),
    ("clap", &["cli"]),
    ("hf_hub", &["policy"]),
    ("ureq", &["grader", "policy", "rollout"]),
    ("minijinja", &["prompt"]),
    ("serde_saphyr", &["config"]),
    ("ruff_python_parser", &["environment", "program"]),
];

/// Functions whose results differ from run to run, each with the modules that may call it. Clocks are for measurements
/// and time limits only.
const ASKS: &[(&str, &[&str])] = &[
    (
        "Instant::now",
        &["arena", "cli", "hardware", "judge", "metrics", "parallel", "report", "rollout", "sft", "train"],
    ),
    ("SystemTime::now", &["cli", "hardware", "metrics"]),
    ("env::var", &["cli", "metrics", "policy"]),
    ("env::var_os", &["start"]),
    ("env::vars", &[]),
    ("env::current_dir", &[]),
    ("thread::current", &[]),
];

/// Libraries that speak to other machines, which no test may name.
const NETWORK: &[&str] = &["hf_hub", "reqwest", "ureq"];

/// Chance that no seed repeats, which no test may ask for.
const CHANCE: &[&str] =
    &["rand::rng", "rand::random", "thread_rng", "OsRng", "from_os_rng", "from_entropy", "getrandom::fill"];

/// Files of tests that may ask for the time, and what for.
const TEST_CLOCKS: &[(&str, &str)] = &[
    ("bench/src/model/tests.rs", "times as an input"),
    ("sandbox/compiled/tests/promises.rs", "what must end is given up after many times what it takes; measurements"),
    ("sandbox/tests/tiers/hunt.rs", "a search that goes on for as long as it is told to"),
    ("crates/verify/src/arena/tests.rs", "times as an input, and their order"),
    ("crates/environment/src/tasks/tests.rs", "reading a large file is given up after many times what it takes"),
    ("crates/verify/src/judge/server/tests/slow_clients.rs", "limits that are times"),
    ("crates/record/src/trace.rs", "times as an input"),
    ("crates/report/src/follow.rs", "a limit that is a time"),
    ("crates/rollout/src/tests.rs", "a measurement"),
    ("tensor/src/tests/tiles.rs", "a ratio of processor times, with a bound that only scalar code exceeds"),
    ("tests/it/judge_served.rs", "limits that are times"),
    ("tests/it/memory_refused.rs", "a process is given up"),
    ("tests/mutations.rs", "a process is given up"),
    ("tests/it/parallel.rs", "processes are given up"),
    ("tests/it/runs.rs", "a process is given up"),
];

/// The places that may contain unsafe code: kernels and drivers, the place that loads machine code, and the start of
/// the program.
const UNSAFE: &[&str] = &["mpi", "tensor", "sandbox/src/machine_code.rs", "src/start.rs"];

/// Maximum number of lines of a file, without tests, and of a function.
const LONGEST_FILE: usize = 400;
const LONGEST_FUNCTION: usize = 70;

/// Modules that use what the module above them defines, which uses them: arrows back up. The list only gets shorter.
const BACK_UP: &[(&str, &str)] = &[
    // Scripts of completion and manual pages describe all commands, and the demo parses one.
    (" cli::commands::completions", " cli::commands"),
    (" cli::commands::demo", " cli::commands"),
    (" cli::commands::man", " cli::commands"),
    (" cli::commands::score::tasks", " cli::commands::score"),
    ("bench model::generation", "bench model"),
    ("bench model::sheet", "bench model"),
    ("bench model::update", "bench model"),
    ("crates/config trl", "crates/config "),
    ("crates/config trl::table", "crates/config trl"),
    ("sandbox begun", "sandbox "),
    ("sandbox engine", "sandbox "),
    ("sandbox interpreted", "sandbox "),
    ("sandbox tiers", "sandbox "),
    ("sandbox/compiled emit::code", "sandbox/compiled emit"),
    ("sandbox/compiled emit::pool", "sandbox/compiled emit"),
    ("sandbox/compiled scope::bindings", "sandbox/compiled scope"),
    ("sandbox/compiled scope::walk", "sandbox/compiled scope"),
];

/// Crates whose modules have rows of their own.
const IN_ROWS: &[&str] = &["", "crates/base", "crates/check", "crates/learn", "crates/verify"];

/// Crates that are one row, by the name that the others know them by, but for modules that have rows of their own.
const ONE_ROW: &[(&str, &str, &[&str])] = &[
    ("crates/config", "config", &[]),
    ("crates/corpus", "corpus", &[]),
    ("crates/decoder", "policy", &[]),
    ("crates/environment", "environment", &["program"]),
    ("crates/parallel", "parallel", &[]),
    ("crates/record", "metrics", &[]),
    ("crates/report", "report", &[]),
    ("crates/rollout", "rollout", &["groups", "prompt"]),
];

/// The row of a module of the main package or of `crates/`.
fn row_of(module: &Module) -> Option<&str> {
    let first = module.path.first().map(String::as_str);
    if IN_ROWS.contains(&&*module.package) {
        return first;
    }
    let (_, row, own) = ONE_ROW.iter().find(|(package, ..)| *package == module.package)?;
    Some(first.filter(|first| own.contains(first)).unwrap_or(row))
}

/// The modules that have a row in the table: name, allowed modules, module.
fn with_rows(modules: &[Module]) -> impl Iterator<Item = (&str, &str, &Module)> {
    modules.iter().filter_map(|module| {
        let (row, allowed) = USES.iter().find(|(row, _)| row_of(module) == Some(row))?;
        Some((*row, *allowed, module))
    })
}

/// What `wrong` says of the names in each module that has a row: of its row, the modules that it may use, and the name.
fn names_where(modules: &[Module], wrong: impl Fn(&str, &str, &[String]) -> Option<String>) -> Vec<String> {
    let of_module = |(row, allowed, module): (&str, &str, &Module)| -> BTreeSet<String> {
        let said = names(module).into_iter().filter_map(|name| wrong(row, allowed, &name));
        said.map(|wrong| format!("{}: {wrong}", module.file.display())).collect()
    };
    with_rows(modules).flat_map(of_module).collect()
}

#[test]
fn modules_use_only_what_the_table_allows() {
    assert_none(of_modules(|modules| {
        names_where(modules, |row, allowed, name| {
            let [start, used, ..] = name else { return None };
            let is_known = start == "crate" && USES.iter().any(|(known, _)| known == used);
            let is_wrong = is_known && used != row && allowed.split(' ').all(|allowed| allowed != used);
            is_wrong.then(|| format!("{row} may not use {used}"))
        })
    }));
}

#[test]
fn rooms_of_the_command_line_use_only_those_below() {
    assert_none(of_modules(|modules| {
        let mut wrong = Vec::new();
        for module in modules {
            let [top, room, ..] = &module.path[..] else { continue };
            let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| top == "cli" && name == room) else { continue };
            for name in names(module) {
                let [start, top, used, ..] = &name[..] else { continue };
                if start == "crate" && top == "cli" && used != room && !allowed.contains(&used.as_str()) {
                    wrong.push(format!("{}: {room} may not use {used}", module.file.display()));
                }
            }
        }
        wrong
    }));
}

/// A folder's file is its roof: what the files below it use lies below it too, and not in the roof that uses them.
#[test]
fn modules_use_each_other_in_no_circle() {
    assert_none(of_modules(circles));
}

fn circles(modules: &[Module]) -> Vec<String> {
    let mut uses = Graph::new(modules).uses();
    let name = |place: Place<'_>| format!("{} {}", place.0, place.1.join("::"));
    let mut wrong = Vec::new();
    for (from, to) in BACK_UP {
        let place = |wanted: &str| uses.keys().copied().find(|place| name(*place) == wanted);
        let ends = place(from).zip(place(to));
        if !ends.is_some_and(|(from, to)| uses.get_mut(&from).is_some_and(|uses| uses.remove(&to))) {
            wrong.push(format!("{from} no longer uses {to}: take it off the list"));
        }
    }
    // What uses nothing that is left, or is used by nothing that is left, is in no circle.
    loop {
        let used: BTreeSet<_> = uses.values().flatten().copied().collect();
        let (before, left) = (uses.len(), uses.keys().copied().collect::<BTreeSet<_>>());
        uses.retain(|module, uses| used.contains(module) && uses.iter().any(|used| left.contains(used)));
        if uses.len() == before {
            break;
        }
    }
    let left: BTreeSet<_> = uses.keys().copied().collect();
    for (module, used) in &uses {
        let used = used.iter().filter(|used| left.contains(*used)).map(|used| name(*used)).collect::<Vec<_>>();
        wrong.push(format!("{} is in a circle with {}", name(*module), used.join(", ")));
    }
    wrong
}

#[test]
fn heavy_libraries_stay_at_home() {
    assert_none(of_modules(|modules| {
        names_where(modules, |row, _, name| {
            let (library, _) = HOMES
                .iter()
                .find(|(library, homes)| name.first().is_some_and(|first| first == library) && !homes.contains(&row))?;
            Some(format!("{library} does not live in {row}"))
        })
    }));
}

#[test]
fn what_differs_from_run_to_run_is_handed_in() {
    assert_none(of_modules(|modules| {
        names_where(modules, |row, _, name| {
            let [.., kind, function] = name else { return None };
            let (asked, _) = ASKS
                .iter()
                .find(|(asked, allowed)| *asked == format!("{kind}::{function}") && !allowed.contains(&row))?;
            Some(format!("{row} may not ask for {asked}"))
        })
    }));
}

#[test]
fn what_is_unsafe_has_its_places() {
    assert_none(of_modules(|modules| {
        let placed = |module: &&Module| UNSAFE.iter().any(|place| module.file.starts_with(place));
        let wrong = modules.iter().filter(|module| sources::is_unsafe(module)).filter(|module| !placed(module));
        wrong.map(|module| format!("{}: unsafe", module.file.display())).collect()
    }));
}

/// A result of a test depends on its sources alone. A program that a test starts is not seen here.
#[test]
fn i12_tests_use_no_network_no_unseeded_chance_and_no_clock_but_to_give_up() {
    let (mut wrong, mut asking) = (Vec::new(), BTreeSet::new());
    for module in sources::tests() {
        let file = module.file.display().to_string();
        for name in names(&module) {
            let (library, end) =
                (name.first().map_or("", String::as_str), name[name.len().saturating_sub(2)..].join("::"));
            if NETWORK.contains(&library) || CHANCE.iter().any(|asked| end.ends_with(asked)) {
                wrong.push(format!("{file}: {}", name.join("::")));
            }
            if end.ends_with("::now") {
                asking.insert(file.clone());
            }
        }
    }
    let listed = TEST_CLOCKS.iter().map(|(file, _)| (*file).to_owned()).collect();
    wrong.extend(
        asking.symmetric_difference(&listed).map(|file| format!("{file}: asks for the time, or no longer does")),
    );
    assert_none(wrong);
}

/// The lints of the workspace apply to every member.
#[test]
fn every_package_has_the_workspace_s_lints() {
    let without = sources::packages().into_iter().filter(|package| {
        let manifest: toml::Table =
            fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap().parse().unwrap();
        manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool) != Some(true)
    });
    assert_none(without.map(|package| format!("{package}/Cargo.toml: no `lints.workspace = true`")).collect());
}

#[test]
fn every_module_is_in_the_table() {
    assert_none(of_modules(|modules| {
        let rows: BTreeSet<&str> = modules.iter().filter_map(row_of).collect();
        let missing = rows.into_iter().filter(|row| !USES.iter().any(|(known, _)| known == row));
        missing.map(|row| format!("{row} has no row")).collect()
    }));
}

#[test]
fn files_are_short() {
    assert_none(of_modules(|modules| {
        let lengths = modules.iter().filter_map(|module| Some((module, module.lines?)));
        let long = lengths.filter(|(_, lines)| *lines > LONGEST_FILE);
        long.map(|(module, lines)| format!("{}: {lines} lines", module.file.display())).collect()
    }));
}

#[test]
fn functions_are_short() {
    assert_none(of_modules(|modules| {
        functions_where(modules, |function| {
            (function.lines > LONGEST_FUNCTION).then(|| format!("{} lines", function.lines))
        })
    }));
}

/// What `wrong` says of each function, with the function's name and file.
fn functions_where(modules: &[Module], wrong: impl Fn(&Function<'_>) -> Option<String>) -> Vec<String> {
    let of_module = |module: &Module| -> Vec<String> {
        let said = |function: Function<'_>| Some((wrong(&function)?, function.name));
        let said = functions(module).into_iter().filter_map(said);
        said.map(|(wrong, name)| format!("{}: {name}: {wrong}", module.file.display())).collect()
    };
    modules.iter().flat_map(of_module).collect()
}

/// A parameter with a tuple type hides the number of parameters and their names.
#[test]
fn parameters_are_no_tuples() {
    assert_none(of_modules(tuples_as_parameters));
}

fn tuples_as_parameters(modules: &[Module]) -> Vec<String> {
    let items = modules.iter().flat_map(|module| &module.items);
    let aliases: Vec<&syn::Ident> = items
        .filter_map(|item| match item {
            syn::Item::Type(alias) if is_tuple(&alias.ty, &[]) => Some(&alias.ident),
            _ => None,
        })
        .collect();
    functions_where(modules, |function| {
        let typed = |input: &syn::FnArg| match input {
            syn::FnArg::Typed(typed) => is_tuple(&typed.ty, &aliases),
            syn::FnArg::Receiver(_) => false,
        };
        function.signature.inputs.iter().any(typed).then(|| "a parameter is a tuple".to_owned())
    })
}

/// Whether this is a tuple, a reference to one, or one of the `aliases` of tuples.
fn is_tuple(kind: &syn::Type, aliases: &[&syn::Ident]) -> bool {
    match kind {
        syn::Type::Reference(reference) => is_tuple(&reference.elem, aliases),
        syn::Type::Tuple(tuple) => !tuple.elems.is_empty(),
        syn::Type::Path(path) => path.path.segments.last().is_some_and(|last| aliases.contains(&&last.ident)),
        _ => false,
    }
}

/// Every public type has its own name, so that a search finds it.
#[test]
fn public_types_have_names_of_their_own() {
    assert_none(of_modules(|modules| {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for module in modules {
            for name in module.items.iter().filter_map(public_type) {
                places.entry(name).or_default().push(module.file.display().to_string());
            }
        }
        let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
        repeated.map(|(name, places)| format!("{name}: {}", places.join(" "))).collect()
    }));
}

fn public_type(item: &syn::Item) -> Option<String> {
    let (visibility, name) = match item {
        syn::Item::Struct(item) => (&item.vis, &item.ident),
        syn::Item::Enum(item) => (&item.vis, &item.ident),
        syn::Item::Trait(item) => (&item.vis, &item.ident),
        syn::Item::Type(item) => (&item.vis, &item.ident),
        _ => return None,
    };
    matches!(visibility, syn::Visibility::Public(_)).then(|| name.to_string())
}

/// Items after a file's first test are read as well, and so are names in macros and with `super`.
#[test]
fn sources_are_read_whole() {
    let text = "#[cfg(test)] mod tests { use crate::cli; } \
                fn late() { let _ = super::super::config::keys(); println!(\"{}\", crate::files::x()); }";
    let file = root().join("crates/learn/src/grpo/late.rs");
    let mut read = Vec::new();
    let path = vec!["grpo".to_owned(), "late".to_owned()];
    sources::add("", &file, path, syn::parse_file(text).unwrap().items, &mut read);
    let named: BTreeSet<Vec<String>> = read.iter().flat_map(names).collect();
    let is_named = |used: &str| named.iter().any(|name| name[..].starts_with(&["crate".to_owned(), used.to_owned()]));
    assert!(is_named("config") && is_named("files") && !is_named("cli"), "{named:?}");
}
