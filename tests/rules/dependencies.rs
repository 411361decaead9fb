//! Tests of dependencies: licences, sources and bans of `deny.toml`, which cargo-deny reads as well.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};
use toml::Table;

use crate::{assert_none, read};

fn table(file: &str) -> Table {
    read(file).parse().unwrap()
}

fn texts(list: &toml::Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// The packages that are built on this platform, according to cargo, without access to the network.
fn packages() -> Vec<Value> {
    let cargo = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO")).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let version = cargo(&["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let told = cargo(&["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host]);
    let told: Value = serde_json::from_str(&told).unwrap();
    told["packages"].as_array().unwrap().clone()
}

#[test]
fn licences_are_those_that_are_allowed() {
    let deny = table("deny.toml");
    let allowed = texts(&deny["licenses"]["allow"]);
    let exceptions: BTreeMap<&str, Vec<&str>> = deny["licenses"]["exceptions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|exception| (exception["name"].as_str().unwrap(), texts(&exception["allow"])))
        .collect();
    let packages = packages();
    let mut wrong = Vec::new();
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        let Some(licence) = package["license"].as_str() else {
            wrong.push(format!("{name}: says no licence"));
            continue;
        };
        let own = exceptions.get(name);
        let expression =
            Expression::parse_mode(licence, ParseMode::LAX).unwrap_or_else(|error| panic!("{name}: {error}"));
        let is_allowed = expression.evaluate(|wanted| {
            let wanted = wanted.to_string();
            allowed.contains(&wanted.as_str()) || own.is_some_and(|own| own.contains(&wanted.as_str()))
        });
        if !is_allowed {
            wrong.push(format!("{name}: {licence}"));
        }
    }
    let names: Vec<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let over = exceptions.keys().filter(|name| !names.contains(*name));
    wrong.extend(over.map(|name| format!("{name}: the exception is no longer needed")));
    assert_none(wrong);
}

/// The packages of a lock file that depend on `name`.
fn users<'a>(lock: &'a Table, name: &str) -> Vec<&'a str> {
    let is_name = |used: &toml::Value| used.as_str().unwrap().split(' ').next() == Some(name);
    let packages = lock["package"].as_array().unwrap().iter();
    let uses = packages.filter(|package| {
        package.get("dependencies").and_then(toml::Value::as_array).is_some_and(|used| used.iter().any(is_name))
    });
    uses.map(|package| package["name"].as_str().unwrap()).collect()
}

/// In all lock files, packages of others come from the registry with a checksum, and none is banned, or only those use it
/// that may.
#[test]
fn packages_come_from_the_registry_and_none_is_banned() {
    let deny = table("deny.toml");
    let registries = texts(&deny["sources"]["allow-registry"]);
    let banned: Vec<&toml::Value> = deny["bans"]["deny"].as_array().unwrap().iter().collect();
    let mut wrong = Vec::new();
    for (file, is_program) in [("Cargo.lock", true), ("fuzz/Cargo.lock", false), ("tensor/emulator/Cargo.lock", false)]
    {
        let lock = table(file);
        for package in lock["package"].as_array().unwrap() {
            let name = package["name"].as_str().unwrap();
            let Some(source) = package.get("source").and_then(toml::Value::as_str) else { continue };
            let is_known = source.strip_prefix("registry+").is_some_and(|registry| registries.contains(&registry));
            if !is_known || package.get("checksum").is_none() {
                wrong.push(format!("{file}: {name} comes from {source}"));
            }
            let ban = banned.iter().find(|ban| is_program && ban["name"].as_str() == Some(name));
            let ban = ban.filter(|ban| {
                let may = ban.get("wrappers").map(texts).unwrap_or_default();
                may.is_empty() || users(&lock, name).iter().any(|user| !may.contains(user))
            });
            wrong.extend(ban.map(|ban| format!("{file}: {name}: {}", ban["reason"])));
        }
    }
    assert_none(wrong);
}
