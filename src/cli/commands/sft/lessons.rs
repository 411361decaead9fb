//! What a warm-up reads of tasks, and what is said of those of which nothing is read.

use crate::arena::{Arena, Rules};
use crate::cli::said::CliError;
use crate::config::Config;
use crate::metrics::Console;
use crate::plural::counted;
use crate::policy::Policy;
use crate::prompt::PromptSet;
use crate::sft::{LeftOut, LessonSource, Lessons, SftError, Unread};

/// What is read of tasks.
pub fn lessons(
    config: &Config,
    policy: &Policy,
    prompts: &PromptSet,
    arena: &Arena,
    console: &Console,
) -> Result<Lessons, CliError> {
    let count = arena.environment().tasks().map_or(0, |tasks| tasks.tasks().len());
    let bar = console.count(count, "tasks");
    // In the budget in which training will try its programs.
    let arena = &arena.under(Rules::training(config));
    let source = LessonSource { arena, prompts, policy, feedback: config.rollout.feedback };
    let lessons = Lessons::new(&source, &mut |done| bar.show(done, "references, and programs that fail, are judged"));
    drop(bar);
    let left_out = match &lessons {
        Ok(lessons) => lessons.left_out.as_slice(),
        Err(SftError::NoLessons { left_out, .. }) => left_out,
        Err(_) => &[],
    };
    tell_left_out(left_out, console);
    let lessons = lessons.map_err(|error| match error {
        SftError::NoLessons { .. } | SftError::NoEnd => {
            CliError::user(format!("--env {}: {error}", config.environment.env))
        }
        other => CliError::run(other),
    })?;
    let (references, repairs) = (counted(lessons.references(), "reference"), counted(lessons.repairs(), "repair"));
    console.print(&format!("{references} of {}, {repairs}", counted(count, "task")));
    Ok(lessons)
}

/// Warns of the tasks of which nothing is read, by the first one for each reason.
fn tell_left_out(left_out: &[LeftOut], console: &Console) {
    let (failing, unsuited): (Vec<&LeftOut>, Vec<&LeftOut>) =
        left_out.iter().partition(|task| matches!(task.why, Unread::Fails(_)));
    for tasks in [unsuited, failing] {
        let [LeftOut { id, why }, others @ ..] = tasks.as_slice() else { continue };
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        let words = match why {
            Unread::Unsuited => {
                "is missing, too long, or does not pass its tests when it begins like the program in the prompt; \
                                 \"opening\" in the task says how that begins"
                    .to_owned()
            }
            Unread::Fails(reason) => format!("fails its own tests ({reason}); `grpo-2048 check --env E` tells of each"),
        };
        console.warn(&format!("not read: {id}{more}, whose reference {words}"));
    }
}
