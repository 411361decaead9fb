//! What is known of values at compile time.

/// The kind that all values of an expression or variable share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// No value: nothing was ever stored, or the code is never reached.
    Never,
    Int,
    Bool,
    Float,
    Str,
    List,
    Tuple,
    Dict,
    Set,
    None,
    /// The function with this number; the value is its closure.
    Function(usize),
    /// A module of the library, which has no value at run time.
    Module(Library),
    /// A caught exception; the value is its arguments.
    Caught,
    Any,
}

/// Modules that may be imported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Library {
    Random,
    Math,
}

impl Kind {
    /// Whether a value may be an integer, so that a fast path for integers pays.
    pub(super) fn may_be_int(self) -> bool {
        matches!(self, Kind::Int | Kind::Bool | Kind::Any | Kind::Never)
    }

    /// Whether the number of items is the second word of the object.
    pub(super) fn has_length(self) -> bool {
        matches!(self, Kind::List | Kind::Tuple | Kind::Dict | Kind::Set | Kind::Str)
    }

    /// Whether the items lie one after the other.
    pub(super) fn is_sequence(self) -> bool {
        matches!(self, Kind::List | Kind::Tuple)
    }

    /// Whether `+=` and `*=` always make a new value, rather than changing the old one in place.
    pub(super) fn is_immutable(self) -> bool {
        matches!(self, Kind::Int | Kind::Float | Kind::Bool | Kind::Str | Kind::Tuple | Kind::None)
    }

    /// The kind that covers both. If two functions meet, the caller must let them escape.
    pub(super) fn union(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Never, kind) | (kind, Kind::Never) => kind,
            (one, two) if one == two => one,
            _ => Kind::Any,
        }
    }
}
