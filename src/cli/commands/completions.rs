//! `grpo-2048 completions`: scripts with which a shell completes commands, flags, presets, styles and configuration
//! keys.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;

use super::NAME;
use crate::cli::said::{CliError, output};
use crate::config;

/// The files that the shell offers for arguments, by the arguments' ids.
const OFFERED: [(&str, ValueHint); 3] = [
    ("model against env tasks grader", ValueHint::AnyPath),
    ("adapter output_dir resume run runs", ValueHint::DirPath),
    ("config", ValueHint::FilePath),
];

/// Print a completion script for a shell
///
/// It knows every command and flag, presets, styles, baselines, and the keys of --set.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  source <(grpo-2048 completions bash)      this shell only; a line for ~/.bashrc
  grpo-2048 completions zsh > ~/.zfunc/_grpo-2048
  grpo-2048 completions fish > ~/.config/fish/completions/grpo-2048.fish
  make install-completions                  for the shells of this user")]
pub struct CompletionsArgs {
    /// Shell to write it for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsArgs {
    pub fn run(self) -> Result<(), CliError> {
        output::print(&script(self.shell)?)
    }
}

fn script(shell: Shell) -> Result<String, CliError> {
    let mut command = super::command().mut_subcommands(with_offers);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, NAME, &mut script);
    let script = String::from_utf8(script).map_err(CliError::run)?;
    // clap_complete spells a name with a hyphen in two ways in its script for bash, so that bash would never recognise
    // a command.
    Ok(match shell {
        Shell::Bash => script.replace(&NAME.replace('-', "__subcmd__"), &NAME.replace('-', "__")),
        _ => script,
    })
}

/// The command with what a shell should offer for its arguments, and for those of the commands below it.
fn with_offers(command: Command) -> Command {
    command.mut_args(offering).mut_subcommands(with_offers)
}

/// The argument with what a shell should offer for it. This changes the script alone, not what the program accepts.
fn offering(arg: Arg) -> Arg {
    let id = arg.get_id().as_str().to_owned();
    if id == "set" {
        // The value follows the equals sign, so the shell may add no blank.
        let assignments = config::keys().into_iter().map(|key| format!("{key}="));
        return arg.value_parser(PossibleValuesParser::new(assignments)).value_hint(ValueHint::Other);
    }
    if id == "device" {
        return arg.value_parser(PossibleValuesParser::new(["auto", "cpu", "cuda", "cuda:0"]));
    }
    if let Some((_, hint)) = OFFERED.iter().find(|(names, _)| names.split(' ').any(|name| name == id)) {
        return arg.value_hint(*hint);
    }
    let numbers = arg.get_value_hint() == ValueHint::Unknown && arg.get_possible_values().is_empty();
    // Without a hint a shell would offer files.
    if numbers && arg.get_action().takes_values() { arg.value_hint(ValueHint::Other) } else { arg }
}

/// Names of the commands, for the tests of scripts and pages.
#[cfg(test)]
pub(super) fn command_names() -> Vec<String> {
    super::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::config::PRESETS;
    use crate::corpus::Style;

    #[test]
    fn every_script_knows_the_commands_and_what_their_values_may_be() {
        for shell in Shell::value_variants() {
            let script = script(*shell).unwrap();
            let presets = PRESETS.iter().map(|preset| preset.name.to_owned());
            let styles = Style::ALL.map(|style| style.name().to_owned());
            let mut words: Vec<String> = command_names();
            words.push("parallel-rewards".into());
            // For these two shells clap_complete writes no values of options.
            if !matches!(shell, Shell::Elvish | Shell::PowerShell) {
                words.extend(presets.chain(styles).chain(["greedy".into(), "cuda".into()]));
                words.extend(config::keys());
            }
            for word in words {
                assert!(script.contains(&word), "{shell}: no {word}");
            }
        }
    }
}
