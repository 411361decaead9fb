//! The help of every command as files, so that changes are visible in reviews.
//!
//! `INSTA_UPDATE=always cargo test --release --test rules help` writes them again.

use clap::Command;

/// Width of the terminal for which help is written, in characters.
const WIDTH: usize = 100;

#[test]
fn help_is_as_it_was_reviewed() {
    let mut program = grpo_2048::cli::command().term_width(WIDTH);
    program.build();
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| each(&mut program, "grpo-2048"));
}

#[test]
fn an_argument_has_one_default() {
    fn check(command: &Command) {
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let defaults = help.matches("[default: ").count();
            assert!(defaults < 2, "{} {}: {help}", command.get_name(), argument.get_id());
        }
        command.get_subcommands().for_each(check);
    }
    check(&grpo_2048::cli::command());
}

fn each(command: &mut Command, name: &str) {
    insta::assert_snapshot!(name, command.render_long_help());
    for subcommand in command.get_subcommands_mut().filter(|subcommand| subcommand.get_name() != "help") {
        let longer = format!("{name}-{}", subcommand.get_name());
        each(subcommand, &longer);
    }
}
