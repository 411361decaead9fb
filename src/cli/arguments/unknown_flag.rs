//! Arguments that the parser refuses, in the words of this program or of TRL: flags that do not exist but name a setting,
//! and numbers that are none.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use super::flags::{argument_of, plain, with_key};
use super::reads::{reads, who_reads};
use crate::cli::said::CliError;
use crate::config::trl::{self, TrlAnswer};
use crate::config::{ConfigError, Layers, keys, known_as, nearest};
use crate::shell;

/// Flags whose setting a command refuses: command, flag, why, what to do.
const REFUSED: [(&str, &str, &str, &str); 16] = [
    (
        "play",
        "--env",
        "`play` shows boards of 2048, and nothing else",
        "`grpo-2048 score --env E FILE.py` says how programs do there",
    ),
    ("corpus", "--env", "`corpus` writes players of 2048, and nothing else", "leave it away"),
    ("show", "--env", "`tasks show` takes its tasks without a flag", "say `grpo-2048 tasks show TASKS ID`"),
    ("verify", "--run", "`verify` takes its run without a flag", "say `grpo-2048 verify RUN`"),
    ("report", "--run", "`report` takes its runs without a flag", "say `grpo-2048 report RUN`"),
    ("eval", "--run", "`eval` takes a run for a model", "say --model RUN"),
    ("eval", "--num-generations", "`eval` has no groups", "say --samples N"),
    ("eval", "--eval-samples", "`eval` has a flag of its own", "say --samples N"),
    ("evolve", "--steps", "`evolve` counts rounds", "say --rounds N"),
    ("evolve", "--max-steps", "`evolve` counts rounds", "say --rounds N"),
    ("sft", "--steps", "`sft` counts tokens", "say --total-tokens N"),
    ("sft", "--max-steps", "`sft` counts tokens", "say --total-tokens N"),
    ("train", "--rounds", "`train` counts steps", "say --steps N"),
    (
        "train",
        "--samples",
        "`train` asks --groups times for --num-generations programs",
        "say --num-generations N, or --set train.eval_samples=N for its evaluations",
    ),
    (
        "check",
        "--samples",
        "`check` runs references and cheats, and samples nothing",
        "`grpo-2048 eval --model M --samples N` samples from a model",
    ),
    ("score", "--model", "`score` takes programs", "`grpo-2048 eval --model M` samples them from a model"),
];

/// The help of a command, where a line asks for it behind a flag that does not exist: the parser ends at the first of the two.
pub fn help(error: &Error, command: &Command, typed: &[String]) -> Option<Error> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let words = typed.iter().take_while(|word| *word != "--");
    let asks = words.clone().find(|word| ["--help", "-h"].contains(&word.as_str()))?;
    let (mut reached, mut line) = (command, vec![typed.first()?]);
    for word in words.skip(1) {
        if let Some(next) = reached.find_subcommand(word) {
            reached = next;
            line.push(word);
        }
    }
    line.push(asks);
    command.clone().try_get_matches_from(line).err()
}

/// The error for an unknown flag that has the name of a setting, with what to say instead; `None` where the parser's
/// own message stands. Only commands with `--set` have settings.
pub fn meant(error: &Error, command: &Command, typed: &[String]) -> Option<CliError> {
    if error.kind() == ErrorKind::ValueValidation {
        return no_value(error);
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    // The parser takes `-1e-5` for the flag `-1`, and names that.
    let is_it = |word: &String| word.split('=').next() == Some(flag) || (flag.len() == 2 && word.starts_with(flag));
    let place = typed.iter().position(is_it)?;
    let command = subcommand(command, &typed[1..place]);
    if flag.strip_prefix('-').is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit())) {
        let before = typed[place - 1].as_str();
        return Some(CliError::user_hint(
            format!("{before} {}: is below zero", typed[place]),
            "expected a number above 0",
        ));
    }
    let refused = REFUSED.iter().find(|(of, long, ..)| *of == command.get_name() && long == flag);
    if let Some((.., why, hint)) = refused {
        return Some(CliError::user_hint(format!("{flag}: {why}"), *hint));
    }
    let has = |long: &str| command.get_arguments().any(|argument| argument.get_long() == Some(long));
    if !flag.starts_with('-') {
        return without_flag(command, flag, has);
    }
    let long = flag.strip_prefix("--")?;
    let unknown = || format!("{flag}: `{}` has no such flag", command.get_name());
    if error.get(ContextKind::SuggestedArg).is_none()
        && let Some(near) = transposed(command, long)
    {
        return Some(CliError::user_hint(unknown(), format!("did you mean `--{near}`?")));
    }
    // What the lines of a run call it.
    let name = if long == "lr" { "learning_rate".into() } else { long.replace('-', "_") };
    if !has("set") {
        return None;
    }
    let updates = if typed.iter().any(|word| word == "--update") { " --update" } else { "" };
    let reader = format!("{}{updates}", command.get_name());
    let following = typed.get(place + 1).filter(|word| !word.starts_with("--")).map(String::as_str);
    let value = typed[place].split_once('=').map(|(_, value)| value).or(following);
    // It takes no value, and sets its key to a number.
    let value = if long == "sequential" { Some("0") } else { value };
    let say = |key: &str, value: &str| match argument_of(key).map(|name| name.replace('_', "-")) {
        Some(long) if has(&long) => format!("--{long} {}", shell::quoted(value)),
        _ => format!("--set {}", shell::quoted(format_args!("{key}={value}"))),
    };
    let hint = hint(Meant { command, reader: &reader, say: &say }, &name, value)?;
    Some(CliError::user_hint(unknown(), hint))
}

/// The error for a path that a command takes behind a flag alone, as `check` takes tasks.
fn without_flag(command: &Command, path: &str, has: impl Fn(&str) -> bool) -> Option<CliError> {
    let is_there = |name: &str| Path::new(path).join(name).is_file();
    let is_file_of = |ending: &str| path.ends_with(ending) && Path::new(path).is_file();
    // Lines for `judge` are completions, if anything.
    let is_tasks = is_file_of(".jsonl") && command.get_name() != "judge";
    let flags: &[&str] = if is_there("config.toml") {
        &["run", "resume", "model"]
    } else if is_tasks || is_there("env.toml") || is_file_of(".py") {
        &["env"]
    } else {
        return None;
    };
    let flag = flags.iter().find(|flag| has(flag))?;
    Some(CliError::user_hint(
        format!("{path}: `{}` takes it behind a flag", command.get_name()),
        format!("say --{flag} {}", shell::path(path)),
    ))
}

/// The flag of a command that was typed with two neighbouring letters in each other's place. In a short name, to the parser two
/// letters are wrong then, and too much to suggest it.
fn transposed<'a>(command: &'a Command, typed: &str) -> Option<&'a str> {
    let is_meant = |long: &&str| {
        let (long, typed) = (long.as_bytes(), typed.as_bytes());
        let swapped = |at: usize| (long[at - 1], long[at]) == (typed[at], typed[at - 1]);
        let equal = |at: usize| long[..at - 1] == typed[..at - 1] && long[at + 1..] == typed[at + 1..];
        long.len() == typed.len() && (1..long.len()).any(|at| swapped(at) && equal(at))
    };
    command.get_arguments().filter_map(|argument| argument.get_long()).find(is_meant)
}

/// Ends of the ranges of whole numbers that have no end but that of their type.
const ENDLESS: [&str; 2] = ["4294967295", "18446744073709551615"];

/// The error for a value that its argument does not take, where the parser's message speaks of types or is in words of its own.
fn no_value(error: &Error) -> Option<CliError> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (argument, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
    let why = std::error::Error::source(error)?.to_string();
    let long = argument.split(' ').next()?;
    Some(CliError::user(format!("{long} {value}: {}", expected(long, value, &why)?)))
}

/// What `long` takes in place of `value`, which was refused for the reason `why`; `None` where the parser's message stands.
fn expected(long: &str, value: &str, why: &str) -> Option<String> {
    let begins = |starts: &[&str]| starts.iter().any(|start| why.starts_with(start));
    // Arguments of our own say so themselves.
    if begins(&["expected "]) {
        return Some(why.to_owned());
    }
    if begins(&["invalid float", "cannot parse float"]) {
        return Some("expected a number".to_owned());
    }
    let range = ends(why);
    if let Some((lowest, highest)) = range.filter(|(_, highest)| !ENDLESS.contains(highest)) {
        return Some(format!("expected a whole number, {lowest} to {highest}"));
    }
    if range.is_none() && !begins(&["invalid digit", "number too large", "cannot parse integer"]) {
        return None;
    }
    let lowest = range.map(|(lowest, _)| lowest).into_iter().chain(least(long)).max();
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let is_large = |number: i128| number >= lowest.unwrap_or(0).into();
    let is_too_large = is_digits(value) && value.parse().is_ok_and(is_large);
    Some(match lowest {
        _ if is_too_large => "expected a smaller whole number".to_owned(),
        Some(lowest) => format!("expected a whole number, at least {lowest}"),
        None if value.starts_with('-') => "expected a whole number, at least 0".to_owned(),
        None => "expected a whole number".to_owned(),
    })
}

/// The ends of the range that the parser names, as in "0 is not in 1..=8".
fn ends(why: &str) -> Option<(u32, &str)> {
    let (lowest, highest) = why.split_once(" is not in ")?.1.split_once("..=")?;
    Some((lowest.parse().ok()?, highest))
}

/// The smallest number that the setting behind a flag takes: 0, or 1 where 0 is refused; none where no setting is behind it.
fn least(long: &str) -> Option<u32> {
    let name = long.trim_start_matches('-').replace('-', "_");
    let takes_0 = |key: &str| {
        let mut layers = Layers::default();
        layers.preset("llm").and_then(|()| layers.value(long, key, 0)).is_ok() && layers.resolve().is_ok()
    };
    with_key(&name).map(|(_, key)| u32::from(!takes_0(key)))
}

/// The subcommand that these words lead to.
fn subcommand<'a>(command: &'a Command, words: &[String]) -> &'a Command {
    words.iter().fold(command, |command, word| command.find_subcommand(word).unwrap_or(command))
}

/// For whom a hint is: the command, its name with the flags that decide what it reads, and how it sets a key to a value.
#[derive(Clone, Copy)]
struct Meant<'a> {
    command: &'a Command,
    reader: &'a str,
    say: &'a dyn Fn(&str, &str) -> String,
}

/// What to say in place of the unknown flag `name`, which has underscores for hyphens here.
fn hint(meant: Meant<'_>, name: &str, value: Option<&str>) -> Option<String> {
    let Meant { command, reader, say } = meant;
    let longs = command.get_arguments().filter_map(|argument| argument.get_long());
    let flags: Vec<String> = longs.map(|long| long.replace('-', "_")).collect();
    let is_flag = |name: &str| flags.iter().any(|flag| flag == name);
    if is_flag(name) {
        return Some(format!("say --{}", name.replace('_', "-")));
    }
    // Another command's flag stands for one of the keys of its name, beside which `sft` may have its own.
    let of_flag = with_key(name).map(|(_, key)| key.to_owned());
    let mut known = known_as(name);
    if let Some(flag) = &of_flag {
        known.retain(|key| key.starts_with("sft.") && key != flag);
        known.insert(0, flag.clone());
    }
    let ours = of_command(reader, &known);
    let unread = known.iter().find(|key| !key.starts_with("sft.")).or(known.first());
    if let Some(key) = unread.filter(|_| ours.is_empty()) {
        return Some(who_reads(reader, key));
    }
    // A name that TRL has too may stand for other values there, so that its value decides; not that of a flag of another command.
    let answer = value.and_then(|value| trl::answer(name, value)).and_then(Result::ok);
    let is_ours =
        |answer: &TrlAnswer| answer.settings.first().is_some_and(|(key, _)| ours.iter().any(|our| our == key));
    if let Some(answer) = answer.filter(|answer| of_flag.is_none() && is_ours(answer)) {
        return Some(of_trl(Ok(answer), true, say));
    }
    if !ours.is_empty() {
        let said: Vec<String> = ours.iter().map(|key| say(key, value.unwrap_or("VALUE"))).collect();
        return Some(format!("say {}", said.join(" or ")));
    }
    if let Some(answer) = trl::answer(name, value.unwrap_or("true")) {
        let keys = answer.iter().flat_map(|answer| &answer.settings).map(|(key, _)| *key);
        // Epochs become steps where there are tasks.
        let epochs = (name == "num_train_epochs").then_some("train.max_steps");
        return Some(match keys.chain(epochs).find(|key| !reads(reader, key)) {
            Some(key) => who_reads(reader, key),
            None => of_trl(answer, value.is_some(), say),
        });
    }
    let keys = keys();
    let mut names: Vec<&str> = keys.iter().filter_map(|key| Some(key.split_once('.')?.1)).collect();
    trl::names().for_each(|name| names.push(name));
    // Flags come last, because `nearest` takes the last of equally near names.
    names.extend(flags.iter().map(String::as_str));
    let near = nearest(name, names)?;
    if is_flag(near) {
        return None;
    }
    hint(meant, near, value).map(|hint| format!("did you mean `{near}`? {hint}"))
}

/// The keys of one name that the command reads; `sft` reads those of section `sft` where it can.
fn of_command<'a>(reader: &str, keys: &'a [String]) -> Vec<&'a str> {
    let read = keys.iter().map(String::as_str).filter(|key| reads(reader, key));
    let (of_sft, others): (Vec<_>, Vec<_>) = read.partition(|key| key.starts_with("sft."));
    if others.is_empty() || (reader == "sft" && !of_sft.is_empty()) { of_sft } else { others }
}

fn of_trl(answer: Result<TrlAnswer, ConfigError>, has_value: bool, say: &dyn Fn(&str, &str) -> String) -> String {
    match answer {
        // In a file of TRL it counts passes over the tasks; left away, the run would have another length.
        Ok(answer) if answer.key == "num_train_epochs" => {
            format!("say {}; a .yaml file of TRL that --config names may count epochs", say("train.max_steps", "N"))
        }
        Ok(answer) if answer.settings.is_empty() => format!("TRL's {}: {}; leave it away", answer.key, answer.note),
        Ok(answer) => {
            let value = |value: &toml::Value| if has_value { plain(value) } else { "VALUE".into() };
            let said: Vec<String> = answer.settings.iter().map(|(key, found)| say(key, &value(found))).collect();
            let note = if answer.note.is_empty() { String::new() } else { format!(" ({})", answer.note) };
            format!("say {}{note}", said.join(" "))
        }
        Err(ConfigError::Foreign { refused, .. }) => format!("TRL's {}", refused.join("; ")),
        Err(error) => error.to_string(),
    }
}
