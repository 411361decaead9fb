//! `grpo-2048 tasks show`: a task as a model sees it, and as its programs are judged.

use clap::Args;

use crate::cli::arguments::{Flags, SourceArgs};
use crate::cli::opened::model;
use crate::cli::opened::tasks::{numbered, opened};
use crate::cli::said::{CliError, output};
use crate::config::Config;
use crate::environment::tasks::{Split, Task, Tasks};
use crate::metrics::Console;
use crate::plural::{counted, cut};
use crate::policy::Device;
use crate::prompt::conversation;

/// Characters of the longest test that is printed whole.
const TEST_WIDTH: usize = 200;

/// Print the prompt of a task, and the tests behind it
///
/// With --model the prompt is printed exactly as the model reads it, through its chat template, with its number of tokens;
/// without it, the turns of the chat: system text, worked example, request, and how the answer begins. The tests that the
/// prompt does not show come after it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 tasks show mine
  grpo-2048 tasks show mine count_words
  grpo-2048 tasks show tasks.jsonl add --model smollm2.gguf")]
pub struct ShowArgs {
    #[command(flatten)]
    flags: Flags,
    /// A .jsonl file of tasks, or a directory with env.toml
    #[arg(value_name = "E")]
    tasks: String,
    /// The task [default: the first]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// A Hugging Face id, a local directory in its layout, or a .gguf file
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// Branch, tag or commit of a Hugging Face model
    #[arg(long, value_name = "R")]
    revision: Option<String>,
    /// Send prompts as plain text, without the model's chat template
    #[arg(long)]
    raw_prompt: bool,
    #[command(flatten)]
    source: SourceArgs,
}

impl ShowArgs {
    pub fn run(mut self, console: &Console) -> Result<(), CliError> {
        self.flags.add("env", Some(self.tasks.clone()));
        let config = self.source.resolve(&self.flags, console)?;
        let arena = opened(&config, console)?;
        let Some(tasks) = arena.environment().tasks() else {
            return Err(CliError::user_hint(
                format!("{}: is a game, and no tasks", self.tasks),
                "its prompt is the text at the beginning of its file",
            ));
        };
        let number = number(tasks, self.id.as_deref())?;
        let (task, briefing) = (&tasks.tasks()[number], arena.environment().briefing());
        let mut text = heading(tasks, task, &config);
        match self.model {
            None => {
                for turn in conversation(&briefing, &briefing.requests[number]) {
                    text.push_str(&section(turn.role, &turn.content));
                }
                let begin = format!("```python\n{}", briefing.requests[number].opening);
                text.push_str(&section("assistant, as far as it is given", &begin));
            }
            Some(_) => {
                let policy = model::policy_shown(&config, &Device::Cpu, console)?;
                let prompts = model::prompts_of_any_length(&config, &policy, arena.environment())?;
                let prompt = prompts.of_task(number as u32).expect("every task has a prompt");
                let (tokens, room) = (prompt.ids.len(), model::room(&config, &policy));
                let mut name = format!("as {} reads it: {}", config.model.model, counted(tokens, "token"));
                if tokens > room.prompt() {
                    name.push_str(&format!("; too long: {room}"));
                }
                text.push_str(&section(&name, &prompt.text));
            }
        }
        text.push_str(&hidden(task));
        output::print(&text)
    }
}

/// The index of the task with this id, or of the first.
fn number(tasks: &Tasks, id: Option<&str>) -> Result<usize, CliError> {
    let Some(id) = id else { return Ok(0) };
    numbered(tasks, id, format!("{}: has no task {id:?}", tasks.path().display()))
}

fn heading(tasks: &Tasks, task: &Task, config: &Config) -> String {
    let (split, usual) = match task.split {
        Split::Train => ("for training", config.train.game_seconds),
        Split::HeldOut => ("held out", config.sandbox.game_seconds),
    };
    let tests = counted(task.tests_and_checker() as usize, "test");
    let (shown, seconds) = (task.examples().len(), task.seconds.unwrap_or(usual));
    let place = format!("{}:{}", tasks.path().display(), task.line);
    format!("{} ({place}), {split}; {tests}, {shown} shown; {seconds} s of a reference core\n", task.id)
}

fn section(name: &str, text: &str) -> String {
    format!("\n--- {name}\n{}\n", text.trim_end_matches('\n'))
}

/// The tests that the prompt does not show.
fn hidden(task: &Task) -> String {
    let lines = |tests| task.told(tests).iter().map(|test| cut(test, TEST_WIDTH)).collect::<Vec<_>>();
    let public = lines(task.examples().end..task.hidden().start);
    let told = (!public.is_empty()).then(|| section("public tests, which only feedback tells", &public.join("\n")));
    let mut hidden = lines(task.hidden());
    hidden.extend(task.has_checker().then(|| "and a checker".to_owned()));
    told.unwrap_or_default() + &section("tests that it does not show", &hidden.join("\n"))
}
