//! `grpo-2048 man`: the help as manual pages.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::NAME;
use crate::cli::said::{CliError, output};
use crate::plural::counted;

/// Print the manual page, or write the pages of all commands
///
/// With a directory: one page for the program and one for each command. Without: the program's own page.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 man | man -l -
  grpo-2048 man ~/.local/share/man/man1 && man grpo-2048-train")]
pub struct ManArgs {
    /// Directory to write all pages to; made where it is missing
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl ManArgs {
    pub fn run(self) -> Result<(), CliError> {
        let pages = pages().map_err(CliError::run)?;
        let Some(dir) = self.dir else {
            let own = pages.iter().find(|(name, _)| *name == format!("{NAME}.1")).expect("the program has a page");
            return output::print(&own.1);
        };
        fs::create_dir_all(&dir).map_err(|error| {
            CliError::user_hint(format!("{}: {error}", dir.display()), "name a directory that can be written")
        })?;
        for (name, page) in &pages {
            let path = dir.join(name);
            output::write_file(path.display(), &path, page.as_bytes())?;
        }
        output::print(&format!("{}  ({})\n", dir.display(), counted(pages.len(), "page")))
    }
}

/// File name and text of every page: the program's, and one a command and what a command consists of.
fn pages() -> io::Result<Vec<(String, String)>> {
    let mut program = super::command().disable_help_subcommand(true);
    program.build();
    with_subcommands(&program).into_iter().map(page).collect()
}

/// The command and all below it: the page of `tasks` refers to a page for each of its commands.
fn with_subcommands(command: &Command) -> Vec<Command> {
    // Nobody looks up a page for `help`.
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    [command.clone()].into_iter().chain(below.flat_map(with_subcommands)).collect()
}

fn page(command: Command) -> io::Result<(String, String)> {
    let closing = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let subcommands = command.has_subcommands();
    let man = Man::new(command).source(format!("{NAME} {}", env!("CARGO_PKG_VERSION"))).manual("User Commands");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if subcommands {
        man.render_subcommands_section(&mut text)?;
    }
    // clap_mangen would join these lines into paragraphs, though they are columns.
    closing_sections(&closing).to_writer(&mut text)?;
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    Ok((man.get_filename(), text))
}

/// Sections of what follows the options in the help. Each paragraph begins with its heading; its lines are not joined.
fn closing_sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        let (heading, lines) = paragraph.split_once(":\n").unwrap_or(("Notes", paragraph));
        roff.control("SH", [heading.to_uppercase().as_str()]).control("nf", []);
        lines.lines().for_each(|line| {
            roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        });
        roff.control("fi", []);
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_for_the_program_and_for_every_command() {
        let pages = pages().unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        let commands = crate::cli::commands::completions::command_names();
        let expected = commands.iter().map(|command| format!("{NAME}-{command}.1"));
        let below = format!("{NAME}-tasks-");
        let own: Vec<&str> = names.iter().copied().filter(|name| !name.starts_with(&below)).collect();
        assert_eq!(own, [format!("{NAME}.1")].into_iter().chain(expected).collect::<Vec<_>>());
        for (name, page) in &pages {
            for line in page.lines().map(|line| line.replace('\\', "")).filter(|line| line.starts_with(NAME)) {
                let Some(other) = line.strip_suffix("(1)") else { continue };
                assert!(names.contains(&format!("{other}.1").as_str()), "{name} refers to {other}");
            }
            for section in [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH EXAMPLES"] {
                assert!(page.contains(section), "{name}: no {section}");
            }
        }
    }

    #[test]
    fn examples_keep_their_lines() {
        let text = closing_sections("Examples:\n  a  first\n  b  second\n\nExit codes:\n  0  done").to_roff();
        let expected = ".SH EXAMPLES\n.nf\na  first\nb  second\n.fi\n.SH \"EXIT CODES\"\n.nf\n0  done\n.fi\n";
        assert!(text.ends_with(expected), "{text}");
    }
}
