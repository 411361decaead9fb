//! The number of prompts per step.
//!
//! TRL sets the number of completions on a device, from which the number of prompts follows. This program sets the
//! number of prompts.

use super::coerce::whole;
use super::{Given, Meaning};

/// TRL's default batch size and number of generations.
const TRL_BATCH: usize = 8;

/// Computes `rollout.groups` from TRL's batch sizes.
///
/// TRL samples `per_device_train_batch_size x steps_per_generation` completions on each device and updates the model
/// after `gradient_accumulation_steps` parts of them. This program makes one update with all completions, so the two
/// numbers must agree, as they do by TRL's defaults, or the update takes several whole samplings, in which TRL normalises
/// `scale_rewards: batch` and averages tokens for themselves.
pub(super) fn completions(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    if key == "num_iterations" {
        return given.is(key, "grpo.num_iterations");
    }
    let at_once = count(given, "per_device_train_batch_size")?.unwrap_or(TRL_BATCH);
    let parts = count(given, "gradient_accumulation_steps")?.unwrap_or(1);
    let generations = count(given, "num_generations")?.unwrap_or(TRL_BATCH);
    let sampled = match (count(given, "generation_batch_size")?, count(given, "steps_per_generation")?) {
        (Some(_), Some(_)) => return Err("TRL takes either generation_batch_size or steps_per_generation".into()),
        (Some(batch), None) => batch,
        (None, steps) => at_once * steps.unwrap_or(parts),
    };
    if !sampled.is_multiple_of(at_once) {
        return Err(format!("{sampled} completions are sampled at a time, which are no whole number of {at_once}"));
    }
    let updated = at_once * parts;
    let more_than_once = count(given, "num_iterations")?.is_some_and(|times| times > 1);
    let of_batch = given.word("scale_rewards").as_deref() == Some("batch");
    // Several batches that are sampled by one policy and used in one update are one batch, but for what is taken over a batch.
    let together = !more_than_once && !of_batch && updated.is_multiple_of(sampled);
    if sampled != updated && !together {
        return Err(format!(
            "{sampled} completions are sampled at a time and {updated} learnt from; here every update is made on all that \
             was sampled: say gradient_accumulation_steps: {}, or leave generation_batch_size and steps_per_generation away",
            sampled.div_ceil(at_once)
        ));
    }
    if !updated.is_multiple_of(generations) {
        return Err(format!(
            "{at_once} x {parts} = {updated} completions are no whole number of groups of num_generations = {generations}"
        ));
    }
    // Means of completions are the same over all samplings as over each; means of tokens are not.
    let is_of_completions = matches!(given.word("loss_type").as_deref(), Some("grpo" | "sapo" | "dr_grpo"));
    let apart = if sampled < updated && !is_of_completions { ", averaged together, as TRL does not" } else { "" };
    let note =
        format!("groups: {at_once} at once x {parts} accumulated / {generations} generations, on one device{apart}");
    let meaning = Meaning::set("rollout.groups", (updated / generations) as i64).because(note);
    Ok(match key {
        "per_device_train_batch_size" => meaning.and("grpo.micro_batch", at_once as i64),
        "num_generations" => meaning.and("rollout.num_generations", generations as i64),
        _ => meaning,
    })
}

fn count(given: &Given<'_>, key: &str) -> Result<Option<usize>, String> {
    let Some(number) = given.number(key).map_err(|why| format!("{key}: {why}"))? else { return Ok(None) };
    match whole(number)? {
        count @ 1..=1_000_000 => Ok(Some(count as usize)),
        _ => Err(format!("{key} = {number}: expected a whole number, 1 to a million")),
    }
}
