//! What is known of a value before it is there.

/// The kind of every value that an expression gives or a variable holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// None has been seen: nothing was ever stored, or the code is never reached.
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
    /// This very function, by its number; its closure is the value.
    Function(usize),
    /// A module of the library. No value stands for it.
    Module(Library),
    /// An exception that was caught; its arguments are the value.
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
    /// Whether it can be an integer, so that a fast way for those pays.
    pub(super) fn may_be_int(self) -> bool {
        matches!(self, Kind::Int | Kind::Bool | Kind::Any | Kind::Never)
    }

    /// Whether its number of items is the second word of its object.
    pub(super) fn has_length(self) -> bool {
        matches!(self, Kind::List | Kind::Tuple | Kind::Dict | Kind::Set | Kind::Str)
    }

    /// Whether its items lie in a row.
    pub(super) fn is_sequence(self) -> bool {
        matches!(self, Kind::List | Kind::Tuple)
    }

    /// Whether `+=` and `*=` make a new value of it, never change it in place.
    pub(super) fn is_immutable(self) -> bool {
        matches!(self, Kind::Int | Kind::Float | Kind::Bool | Kind::Str | Kind::Tuple | Kind::None)
    }

    /// Both of these; functions that meet are for the caller to let escape.
    pub(super) fn union(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Never, kind) | (kind, Kind::Never) => kind,
            (one, two) if one == two => one,
            _ => Kind::Any,
        }
    }
}
