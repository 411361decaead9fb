//! Numbers of steps.
//!
//! TRL counts updates; a step of this program has one sampling and `num_iterations` updates. TRL's numbers below 1 are
//! shares of the run, whose length other layers may set.

use super::coerce::whole;
use super::{Given, Lacking, Meaning};

/// Interprets a key that counts steps.
pub(super) fn of(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    let number = given.number(key)?.expect("a key that is given");
    let has_length = given.number("max_steps")?.is_some_and(|steps| steps > 0.0);
    match key {
        "max_steps" if number <= 0.0 => {
            Ok(Meaning::nothing("num_train_epochs decides in TRL; the length stays as it is"))
        }
        "max_steps" => Ok(counted("train.max_steps", given, number)?),
        "num_train_epochs" if has_length => Ok(Meaning::nothing("max_steps decides")),
        "num_train_epochs" => {
            let need = Some(("train.max_steps", Lacking::Epochs(number)));
            Ok(Meaning { need, ..Meaning::nothing("the number of steps is said elsewhere") })
        }
        "save_steps" => share(given, "train.save_steps", number),
        "eval_steps" => match given.word("eval_strategy").or(given.word("evaluation_strategy")).as_deref() {
            Some("steps") => share(given, "train.eval_steps", number),
            _ => Ok(Meaning::nothing("only eval_strategy: steps reads it")),
        },
        "warmup_ratio" | "warmup_steps" if given.word("lr_scheduler_type").as_deref() == Some("constant") => {
            Ok(Meaning::nothing("lr_scheduler_type: constant has no warm-up in TRL; constant_with_warmup has"))
        }
        // 0 is the default of both, and says nothing.
        "warmup_ratio" if is_positive(given, "warmup_steps") => Ok(Meaning::nothing("warmup_steps decides")),
        "warmup_ratio" if !(0.0..=1.0).contains(&number) => Err("expected a share, 0 to 1".into()),
        "warmup_steps" if number <= 0.0 && is_positive(given, "warmup_ratio") => {
            Ok(Meaning::nothing("warmup_ratio decides"))
        }
        _ => share(given, "grpo.warmup_steps", number),
    }
}

/// Whether the key has a number above 0. One that has no number is refused for itself.
fn is_positive(given: &Given<'_>, key: &str) -> bool {
    given.number(key).is_ok_and(|number| number.is_some_and(|number| number > 0.0))
}

fn share(given: &Given<'_>, ours: &'static str, number: f64) -> Result<Meaning, String> {
    match number > 0.0 && number < 1.0 {
        false => counted(ours, given, number),
        true => Ok(Meaning { share: Some(number), ..Meaning::set(ours, 0) }),
    }
}

/// Converts a number of updates to steps.
fn counted(ours: &'static str, given: &Given<'_>, updates: f64) -> Result<Meaning, String> {
    let updates = whole(updates)?;
    if updates < 0 {
        return Err("expected a number of steps, 0 or more".into());
    }
    let each = given.number("num_iterations")?.map_or(Ok(1), whole)?.max(1);
    let note = if each > 1 { format!("{updates} updates, {each} a step") } else { String::new() };
    Ok(Meaning::set(ours, (updates + each - 1) / each).because(note))
}
