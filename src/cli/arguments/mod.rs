//! Arguments that several commands share, and the configuration that they come to.

pub mod boards;
mod options;
mod terminal;
mod unknown_flag;

pub use boards::Boards;
pub use options::{Flags, SourceArgs, WorkerArgs, settled, text_path, with_defaults};
pub use terminal::{TerminalArgs, color};
pub use unknown_flag::meant;
