//! What is shown of the work: how much, how, and in colour or not.

use clap::{Args, ValueEnum};

use crate::metrics::{Console, Narration, Progress};

/// Flags of every command about what is shown; results on standard output are the same whatever is chosen.
#[derive(Debug, Args)]
#[command(next_help_heading = "Terminal")]
pub struct TerminalArgs {
    /// More messages; twice for debugging
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Nothing but results, warnings and errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Bars, a line at a time, or neither; auto: bars on a terminal, lines elsewhere
    #[arg(long, global = true, value_name = "P", default_value = "auto", conflicts_with = "quiet")]
    progress: ProgressChoice,
    /// Colour; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "C", default_value = "auto")]
    color: ColorChoice,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProgressChoice {
    Auto,
    Bar,
    Plain,
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ColorChoice {
    Auto,
    Always,
    Never,
}

impl TerminalArgs {
    /// The narrator, as it was asked for.
    pub fn console(&self) -> Console {
        if let Some(colored) = match self.color {
            ColorChoice::Auto => None,
            ColorChoice::Always => Some(true),
            ColorChoice::Never => Some(false),
        } {
            console::set_colors_enabled(colored);
            console::set_colors_enabled_stderr(colored);
        }
        let progress = match self.progress {
            ProgressChoice::Auto => Progress::suiting(),
            ProgressChoice::Bar => Progress::Bar,
            ProgressChoice::Plain => Progress::Plain,
            ProgressChoice::None => Progress::None,
        };
        match self.quiet {
            true => Console::showing(Progress::None, Narration::Warnings),
            false => Console::showing(progress, Narration::Full),
        }
    }
}
