//! What packages are made of: the image's files are there and reach its builder, and archives are called what their readers
//! look for.

use std::fs;
use std::path::Path;
use std::process::Command;

use toml::Table;
use walkdir::WalkDir;

use crate::{assert_none, lexical, read, root};

/// Whether `.dockerignore` keeps a path of the repository from the builder; the last line that fits decides.
fn is_ignored(path: &str) -> bool {
    let text = read(".dockerignore");
    let lines = text.lines().filter(|line| !line.is_empty());
    let fits = |pattern: &str| {
        let pattern = glob::Pattern::new(pattern).unwrap();
        Path::new(path).ancestors().any(|part| pattern.matches_path(part))
    };
    lines.fold(false, |ignored, line| match line.strip_prefix('!') {
        Some(kept) => ignored && !fits(kept),
        None => ignored || fits(line),
    })
}

#[test]
fn what_the_image_is_built_from_is_there_and_reaches_its_builder() {
    let (dockerfile, manifest): (String, Table) = (read("Dockerfile"), read("Cargo.toml").parse().unwrap());
    let members = manifest["workspace"]["members"].as_array().unwrap().iter().filter_map(|member| member.as_str());
    let mut needed: Vec<String> = members.map(|member| format!("{member}/Cargo.toml")).collect();
    needed.extend(
        ["Cargo.lock", "src/main.rs", "models/builtin/model.safetensors", "prompts/tasks/system.md"].map(String::from),
    );
    let copied = dockerfile.lines().filter_map(|line| line.strip_prefix("COPY ")).flat_map(|line| line.split(' '));
    let of_source = copied.filter_map(|word| word.strip_prefix("/source/"));
    needed.extend(of_source.map(str::to_owned));
    assert!(dockerfile.contains("\nCOPY . .\n") && needed.iter().any(|path| path == "LICENSE-MIT"), "{needed:?}");
    for path in &needed {
        assert!(root().join(path).exists(), "the image needs {path}");
        assert!(!is_ignored(path), ".dockerignore leaves out {path}");
    }
    assert!(
        is_ignored("target/release/grpo-2048")
            && is_ignored("models/smollm2/config.json")
            && is_ignored("python/data/x")
    );
    let rust = manifest["workspace"]["package"]["rust-version"].as_str().unwrap();
    assert!(dockerfile.contains(&format!("FROM rust:{rust}-slim")), "the image builds with another Rust than {rust}");
}

#[test]
fn the_image_is_run_by_the_workflows_as_its_file_says() {
    let (dockerfile, workflow) = (read("Dockerfile"), read(".github/workflows/tests.yml"));
    // With the folder made before, which the daemon would make as root's, and by the user whose it is.
    let line = dockerfile.lines().find_map(|line| line.strip_prefix("# mkdir -p runs && ")).unwrap();
    assert!(line.contains("--user \"$(id -u):$(id -g)\" -v \"$PWD/runs:/work/runs\""), "{line}");
    assert!(workflow.contains(&format!("mkdir -p runs && {line}\n")), "no workflow runs: {line}");
    assert!(dockerfile.contains("install -d -m 1777 -o grpo /work/.cache /work/runs\n"));
}

/// The version of the workspace.
fn version() -> String {
    let manifest: Table = read("Cargo.toml").parse().unwrap();
    manifest["workspace"]["package"]["version"].as_str().unwrap().to_owned()
}

#[test]
fn a_tag_that_is_not_the_version_is_refused_before_anything_is_built() {
    let workflow = read(".github/workflows/release.yml");
    let (before, after) = workflow.split_once("TAG: ${{ github.ref_name }}\n").unwrap();
    let only = before.trim_end().strip_suffix("env:").unwrap().trim_end();
    assert!(only.ends_with("- if: github.ref_type == 'tag'") && !only.contains("run: "), "{only}");
    let lines = after.split_once("run: |\n").unwrap().1.lines();
    let step: Vec<&str> = lines.take_while(|line| line.starts_with("          ")).collect();
    let is_taken = |tag: &str| {
        let mut bash = Command::new("bash");
        bash.args(["-eo", "pipefail", "-c", &step.join("\n")]).env("TAG", tag);
        bash.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap().status.success()
    };
    let version = version();
    assert!(is_taken(&format!("v{version}")));
    for tag in [version.as_str(), &format!("v{version}.1"), "v", ""] {
        assert!(!is_taken(tag), "{tag}");
    }
}

#[test]
fn the_wheel_and_the_action_that_installs_it_have_the_version_of_the_program() {
    let (version, wheel): (String, Table) = (version(), read("python/pyproject.toml").parse().unwrap());
    assert_eq!(wheel["project"]["version"].as_str(), Some(&*version));
    let action = read(".github/actions/audit/action.yml");
    let name = wheel["project"]["name"].as_str().unwrap();
    assert!(action.contains(&format!("    default: {name}=={version}\n")), "the action installs another version");
}

#[test]
fn archives_are_called_what_binstall_and_the_installer_look_for() {
    let manifest: Table = read("Cargo.toml").parse().unwrap();
    let metadata = &manifest["package"]["metadata"]["binstall"];
    let (url, inside) = (metadata["pkg-url"].as_str().unwrap(), metadata["bin-dir"].as_str().unwrap());
    let filled = |text: &str, [name, version, target]: [&str; 3]| {
        let text = text.replace("{ name }", name).replace("{ version }", version).replace("{ target }", target);
        text.replace("{ bin }", name).replace("{ binary-ext }", "")
    };
    let shell = ["grpo-2048", "$version", "$target"];
    let archive = filled(url.rsplit('/').next().unwrap(), shell);
    let (release, installer) = (read("scripts/release.sh"), read("scripts/install.sh"));
    let name = archive.strip_suffix(".tar.gz").expect("tgz");
    assert!(
        release.contains(&format!("local name={}", name.replace("$target", "$1")))
            && release.contains("\"$out.tar.gz\"")
    );
    assert!(installer.contains(&format!("    name={name}\n")) && installer.contains("$from/$file"));
    assert_eq!(filled(inside, shell), format!("{name}/grpo-2048"));
    assert!(release.contains("\"$out/grpo-2048\"") && installer.contains("\"$scratch/$name/grpo-2048\""));
    // The oldest C library that wheels, and so archives, are linked for is the one that the installer asks for.
    let wheel = read("scripts/wheel.sh");
    let minor = wheel.split("--compatibility manylinux_2_").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    assert!(installer.contains(&format!("-ge {minor} ]")), "{minor}");
    let targets =
        read("Makefile").lines().find_map(|line| line.strip_prefix("WHEEL_TARGETS ?= ").map(str::to_owned)).unwrap();
    assert!(targets.split(' ').all(|target| installer.contains(&format!("target={target} "))), "{targets}");
}

#[test]
fn the_wheel_has_the_texts_of_the_licences() {
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        assert_eq!(read(&format!("python/{licence}")), read(licence), "cp {licence} python/");
    }
}

/// Libraries that can be used without this repository; `make packages` packs and builds them.
const STANDING_ALONE: &[&str] = &[
    "crates/base", "crates/check", "crates/config", "crates/decoder", "crates/environment", "crates/verify", "sandbox",
    "sandbox/artifact/numpy", "sandbox/compiled", "tensor",
];

/// What files of texts and numbers a source takes in: the arguments of `include_str!` and `include_bytes!`.
fn taken_in(source: &str) -> Vec<&str> {
    let of = |name| source.split(name).skip(1).filter_map(|rest| rest.split_once('"').map(|(path, _)| path));
    of("include_str!(\"").chain(of("include_bytes!(\"")).collect()
}

#[test]
fn libraries_that_stand_alone_take_in_nothing_from_outside_their_folders() {
    let mut wrong = Vec::new();
    for package in STANDING_ALONE {
        let folder = root().join(package);
        for entry in WalkDir::new(&folder) {
            let file = entry.unwrap().into_path();
            let is_of_tests = file.with_extension("").iter().any(|part| part == "tests");
            if is_of_tests || file.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            let places = taken_in(&text).into_iter().map(|path| lexical(&file.parent().unwrap().join(path)));
            let outside = places.filter(|place| !place.starts_with(&folder) || !place.exists());
            wrong.extend(outside.map(|place| format!("{}: {}", file.display(), place.display())));
        }
    }
    assert_none(wrong);
    assert_eq!(taken_in("include_str!(\"../a.md\"); include_bytes!(\"b\")"), ["../a.md", "b"]);
}

#[test]
fn libraries_that_stand_alone_depend_on_each_other_alone_and_by_version() {
    let version = read("Cargo.toml").parse::<Table>().unwrap()["workspace"]["package"]["version"].clone();
    let mut names = Vec::new();
    for package in STANDING_ALONE {
        let manifest: Table = read(&format!("{package}/Cargo.toml")).parse().unwrap();
        assert!(manifest["package"].get("publish").is_none(), "{package} says that it is not published");
        names.push(manifest["package"]["name"].as_str().unwrap().to_owned());
        let of_paths = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten();
        for (name, dependency) in of_paths.filter(|(_, dependency)| dependency.get("path").is_some()) {
            assert_eq!(dependency.get("version"), Some(&version), "{package}: {name}");
            let folder = lexical(&Path::new(package).join(dependency["path"].as_str().unwrap()));
            assert!(STANDING_ALONE.iter().any(|package| Path::new(package) == folder), "{package}: {name}");
        }
    }
    let script = read("scripts/packages.sh");
    let packed = script.lines().find_map(|line| line.strip_prefix("packages=\"")).unwrap().trim_end_matches('"');
    let mut packed: Vec<&str> = packed.split(' ').collect();
    names.sort();
    packed.sort_unstable();
    assert_eq!(packed, names);
}
