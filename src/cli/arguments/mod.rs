//! Arguments that several commands share, and the configuration that they come to.

pub mod boards;
mod flags;
mod reads;
mod source;
mod terminal;
mod unknown_flag;

pub use boards::Boards;
pub use flags::{Defaults, Flags, WorkerArgs, text_path, with_defaults};
pub use source::{Base, SourceArgs, settled};
pub use terminal::{TerminalArgs, color};
pub use unknown_flag::{help, meant};
