//! Whether a piece only repeats what an earlier one of the same answer has written, as where it is explained.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::Stmt;
use ruff_python_ast::comparable::ComparableStmt;

use super::{fences, helpers};

/// Whether the `own` lines of a program stand in one of the `earlier` pieces, and what it uses (of all its `code`) was there by then:
/// its other lines in any piece, and what it defines as it is there, not as a later piece has mended it.
pub(super) fn quotes(own: &str, code: &str, body: &[Stmt], earlier: &[String]) -> bool {
    let own: BTreeSet<&str> = lines(own).collect();
    let defined: BTreeMap<&str, ComparableStmt<'_>> = body.iter().filter_map(definition).collect();
    // What is not yet there, piece by piece.
    let mut unseen: BTreeSet<&str> = lines(code).collect();
    let mut other: BTreeSet<&str> = defined.keys().copied().collect();
    fences::blocks(earlier).iter().any(|block| {
        let here: BTreeSet<&str> = lines(block).collect();
        for line in &here {
            unseen.remove(line);
        }
        let module = helpers::parsed(block);
        for (name, written) in module.iter().flat_map(|module| &module.body).filter_map(definition) {
            let Some((&name, meant)) = defined.get_key_value(name) else { continue };
            if *meant == written {
                other.remove(name);
            } else {
                other.insert(name);
            }
        }
        unseen.is_empty() && other.is_empty() && own.is_subset(&here)
    })
}

/// The lines of a text that are neither empty nor comments.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The name of the function or the class that a statement defines, and what it defines, whatever its comments and spaces.
fn definition(statement: &Stmt) -> Option<(&str, ComparableStmt<'_>)> {
    let name = match statement {
        Stmt::FunctionDef(function) => &function.name,
        Stmt::ClassDef(class) => &class.name,
        _ => return None,
    };
    Some((name.as_str(), ComparableStmt::from(statement)))
}
