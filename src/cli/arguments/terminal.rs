//! Flags about messages, progress and colour, which every command takes.

use std::io;

use anstream::AutoStream;
use clap::{Args, ColorChoice, ValueEnum};

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

impl TerminalArgs {
    /// The console with the progress and messages that were asked for.
    pub fn console(&self) -> Console {
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

/// Switches colours on or off for all output, as `--color` among the `typed` words says, or else the environment and
/// the terminal. It is called before the words are parsed, because the parser's help and errors are coloured too.
pub fn color(typed: &[String]) {
    let words: Vec<&str> = typed.iter().map(String::as_str).take_while(|word| *word != "--").collect();
    let following = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1]);
    let joined = words.iter().filter_map(|word| word.strip_prefix("--color="));
    let said = following.chain(joined).find_map(|word| ColorChoice::from_str(word, false).ok());
    match said.unwrap_or_default() {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    console::set_colors_enabled(AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never);
    console::set_colors_enabled_stderr(AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never);
}
