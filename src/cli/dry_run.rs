//! `train --dry-run`: what a run would be, as a configuration file with comments.

use super::train::train_error;
use super::{CliError, output};
use crate::config::{Config, DEFAULT_TOML, Layers};
use crate::metrics::{Console, Event, duration};
use crate::train::{Forecast, Rehearsal, Run, Seconds};

/// Checks what a run would begin with, measures a little of it, and prints what it would be.
pub fn report(run: Run<'_>, layers: &Layers, console: &Console) -> Result<(), CliError> {
    let config = run.config;
    let plays = !run.arena.environment().has_tests();
    let limit = run.allowance.as_ref().map(|allowance| format!("# {allowance}\n")).unwrap_or_default();
    let wait = console.wait("measuring a little of a step");
    let rehearsed = run.rehearse(&mut |event| {
        if let Event::Message(text) = event {
            console.print(text);
        }
    });
    drop(wait);
    let Rehearsal { plan, notice, forecast } = rehearsed.map_err(train_error)?;
    let notice = notice.map(|notice| format!("# {notice}\n")).unwrap_or_default();
    let place = match config.train.output_dir.as_os_str().is_empty() {
        true => "the next of runs/train-001, -002, ...".into(),
        false => config.train.output_dir.display().to_string(),
    };
    output::print(&format!(
        "{}\n# {plan}\n{limit}{notice}\n{}\n# the run could start; it would be written to {place}, and nothing has been\n",
        effective(config, layers),
        time(config, &forecast, plays)
    ))
}

/// Every setting, and beside those that differ from the defaults where they come from.
fn effective(config: &Config, layers: &Layers) -> String {
    let defaults: toml::Table = DEFAULT_TOML.parse().expect("default.toml is TOML");
    let found = toml::Table::try_from(config).expect("a configuration is TOML");
    let mut text = String::from("# what differs from the defaults says where it comes from\n");
    for (section, values) in &found {
        text.push_str(&format!("\n[{section}]\n"));
        for (key, value) in values.as_table().into_iter().flatten() {
            let origin = layers.origin(&format!("{section}.{key}")).filter(|_| *value != defaults[section][key]);
            let origin = origin.map(|origin| format!("  # {origin}")).unwrap_or_default();
            text.push_str(&format!("{key} = {value}{origin}\n"));
        }
    }
    text
}

/// What steps and the run will take, how that is known, and how well.
fn time(config: &Config, forecast: &Forecast, plays: bool) -> String {
    let (rollout, train) = (&config.rollout, &config.train);
    let (step, whole) = (forecast.step(), forecast.tokens == rollout.max_completion_length);
    let evaluations = match (train.eval_samples, train.eval_steps) {
        (0, _) => 0,
        (_, 0) => 2,
        (_, every) => 2 + (train.max_steps - 1) / every,
    };
    let all = step.times(train.max_steps as f64).plus(forecast.evaluate.times(evaluations as f64));
    let range = |seconds: Seconds, words: fn(f64) -> String| match whole {
        true => format!("{} to {}", words(seconds.now), words(seconds.most)),
        false => format!("at most {}", words(seconds.most)),
    };
    let (a_step, in_all) = (range(step, seconds), range(all, duration));
    let (sampling, update) = (range(forecast.generate, seconds), range(forecast.update, seconds));
    let ended = 100.0 * forecast.ended;
    let mut text = format!(
        "# time: {a_step} a step (sampling {sampling}, update {update}); {} steps and {evaluations} evaluations {in_all}\n\
         # measured on this machine with this model in {}: {} completions of at most {} tokens, of which {ended:.0}% ended, \
         and an update on {} of them\n",
        train.max_steps,
        seconds(forecast.probe_s),
        config.completions_per_step(),
        forecast.tokens,
        forecast.rows,
    );
    text.push_str(match whole {
        true => "# from completions as long as they are now, to all of them at the longest; ",
        false => "# with all completions at the longest, in proportion to tokens; ",
    });
    text.push_str("good to a factor of two: other programs, ");
    if rollout.resample_tied > 0 {
        text.push_str("groups that are sampled anew, ");
    }
    text.push_str("and programs that run longer than the model writes come on top");
    if plays {
        let workers = config.arena.parallel_rewards.max(1) as f64;
        let games = (config.completions_per_step() * config.arena.games) as f64 * train.game_seconds / workers;
        text.push_str(&format!(" (games: at most {} of fuel a step)", seconds(games)));
    }
    text.push('\n');
    text
}

fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1} s") } else { duration(seconds) }
}
