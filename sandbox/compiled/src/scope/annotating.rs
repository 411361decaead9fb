//! Imports of what annotations are written with. Annotations are never evaluated, so such an import has no effect that a
//! program can see: its names stay unbound, and a program that uses one as a value is given up where it does so.

use ruff_python_ast::{Alias, Stmt, StmtImport, StmtImportFrom};

const TYPING: &[&str] = &[
    "AbstractSet", "Annotated", "Any", "AnyStr", "Callable", "ClassVar", "Collection", "Container", "Counter",
    "DefaultDict", "Deque", "Dict", "Final", "FrozenSet", "Generator", "Generic", "Hashable", "ItemsView", "Iterable",
    "Iterator", "KeysView", "List", "Literal", "Mapping", "MutableMapping", "MutableSequence", "MutableSet",
    "NamedTuple", "Never", "NoReturn", "Optional", "OrderedDict", "Protocol", "Reversible", "Self", "Sequence", "Set",
    "Sized", "Text", "Tuple", "Type", "TypeAlias", "TypeVar", "TypedDict", "Union", "ValuesView",
];
const COLLECTIONS_ABC: &[&str] = &[
    "Callable", "Collection", "Container", "Generator", "Hashable", "ItemsView", "Iterable", "Iterator", "KeysView",
    "Mapping", "MappingView", "MutableMapping", "MutableSequence", "MutableSet", "Reversible", "Sequence", "Set",
    "Sized", "ValuesView",
];

/// Instructions of CPython for an import of these modules, and for each name.
const FROM_TYPING: u32 = 14_000;
const FROM_OTHERS: u32 = 3_500;
const NAME: u32 = 1_000;

/// What CPython spends on such an import; `None` for any other statement.
pub(crate) fn cost_of(statement: &Stmt) -> Option<u32> {
    match statement {
        Stmt::Import(import) => is_typing(import).then_some(FROM_OTHERS),
        Stmt::ImportFrom(import) => {
            let module = known(import)?;
            let fixed = if module == "typing" { FROM_TYPING } else { FROM_OTHERS };
            Some(fixed + NAME * import.names.len() as u32)
        }
        _ => None,
    }
}

/// The names that such an import binds in CPython.
pub(super) fn names_of(statement: &Stmt) -> impl Iterator<Item = &str> {
    let names: &[Alias] = match statement {
        Stmt::Import(import) if is_typing(import) => &import.names,
        Stmt::ImportFrom(import) if known(import).is_some() => &import.names,
        _ => &[],
    };
    names.iter().map(|alias| alias.name.as_str())
}

fn is_typing(import: &StmtImport) -> bool {
    matches!(import.names.as_slice(), [alias] if alias.name.as_str() == "typing" && alias.asname.is_none())
}

/// The module, if it is one of these and has all names; another name might be that of a builtin.
fn known(import: &StmtImportFrom) -> Option<&str> {
    let module = import.module.as_deref().filter(|_| import.level == 0)?;
    let has: &[&str] = match module {
        "__future__" => &["annotations"],
        "typing" => TYPING,
        "collections.abc" => COLLECTIONS_ABC,
        _ => return None,
    };
    import.names.iter().all(|alias| alias.asname.is_none() && has.contains(&alias.name.as_str())).then_some(module)
}
