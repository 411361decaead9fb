//! Tasks that the user named by their ids or their file.

use super::arena;
use crate::arena::Arena;
use crate::cli::said::CliError;
use crate::config::{Config, nearest};
use crate::environment::tasks::Tasks;
use crate::metrics::Console;

/// Names of tasks in a hint.
const NAMES_SHOWN: usize = 8;

/// The index of the task with this id; without one, an error with the words of `refusal` and a hint.
pub fn numbered(tasks: &Tasks, id: &str, refusal: String) -> Result<usize, CliError> {
    let ids = || tasks.tasks().iter().map(|task| task.id.as_str());
    ids().position(|known| known == id).ok_or_else(|| {
        let hint = match nearest(id, ids()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are: {}", first_ids(tasks)),
        };
        CliError::user_hint(refusal, hint)
    })
}

/// [The same](numbered) for the id that `--task` gave.
pub fn named(tasks: &Tasks, id: &str) -> Result<usize, CliError> {
    numbered(tasks, id, format!("--task {id}: {} has no such task", tasks.path().display()))
}

/// The ids of the first tasks, and dots if there are more.
pub fn first_ids(tasks: &Tasks) -> String {
    let ids: Vec<&str> = tasks.tasks().iter().map(|task| task.id.as_str()).take(NAMES_SHOWN).collect();
    let more = if tasks.tasks().len() > NAMES_SHOWN { ", ..." } else { "" };
    format!("{}{more}", ids.join(", "))
}

/// The arena of the tasks that a command was given without a flag, which messages about `--env` name.
pub fn opened(config: &Config, console: &Console) -> Result<Arena, CliError> {
    arena::open(config, console).map_err(arena::without_flag)
}
