//! `train --dry-run`: what a run would be, as a configuration file with comments.

use crate::cli::said::{CliError, effective, output};
use crate::config::{Config, Layers};
use crate::metrics::{Console, Event, duration};
use crate::parallel::Peers;
use crate::plural::counted;
use crate::train::{Forecast, Rehearsal, Run, Seconds, divided};

/// Measures a little of the run, of which `done` steps are done, and prints its configuration, memory and time.
pub fn report(run: Run<'_>, peers: &Peers, layers: &Layers, done: usize, console: &Console) -> Result<(), CliError> {
    let config = run.config;
    let trained = run.policy.trainable().values().map(|var| var.elem_count()).sum();
    let plays = !run.arena.environment().has_tests();
    let limit = run.allowance.as_ref().map(|allowance| format!("# {allowance}\n")).unwrap_or_default();
    let wait = console.wait("measuring a little of a step");
    let rehearsed = run.rehearse(peers.size(), &mut |event| {
        if let Event::Message(text) = event {
            console.print(text);
        }
    });
    drop(wait);
    let Rehearsal { plan, notice, forecast } = rehearsed?;
    let notice = notice.map(|notice| format!("# {notice}\n")).unwrap_or_default();
    let place = match config.train.output_dir.as_os_str().is_empty() {
        true => "the next of runs/train-001, -002, ...".into(),
        false => config.train.output_dir.display().to_string(),
    };
    output::print(&format!(
        "{}\n# {plan}\n{limit}{notice}{}\n{}\n# the run could start; it would be written to {place}, and nothing has been\n",
        effective(config, layers),
        divided::forecast(config, plan.division, trained, peers),
        time(config, &forecast, done, plays)
    ))
}

/// Seconds of a step and of the run, how they were measured, and how exact they are.
fn time(config: &Config, forecast: &Forecast, done: usize, plays: bool) -> String {
    let (rollout, train) = (&config.rollout, &config.train);
    let (step, whole) = (forecast.step(), forecast.tokens == rollout.max_completion_length);
    let left = train.max_steps.saturating_sub(done);
    // One before the first step, and one at the end.
    let ends = if done == 0 { 2 } else { 1 };
    let evaluations = match (train.eval_samples, train.eval_steps) {
        (0, _) => 0,
        (_, 0) => ends,
        (_, every) => ends + ((train.max_steps - 1) / every).saturating_sub(done / every),
    };
    let all = step.times(left as f64).plus(forecast.evaluate.times(evaluations as f64));
    let range = |seconds: Seconds, words: fn(f64) -> String| match (words(seconds.now), words(seconds.most)) {
        (now, most) if whole && now == most => now,
        (now, most) if whole => format!("{now} to {most}"),
        (_, most) => format!("at most {most}"),
    };
    let (a_step, in_all) = (range(step, seconds), range(all, duration));
    let (sampling, update) = (range(forecast.generate, seconds), range(forecast.update, seconds));
    let ended = 100.0 * forecast.ended;
    let mut text = format!(
        "# time: {a_step} a step (sampling {sampling}, update {update}); {} and {} {in_all}\n\
         # measured on this machine with this model in {}: {} of at most {}, of which {ended:.0}% ended, \
         and an update on {} of them\n",
        counted(left, "step"),
        counted(evaluations, "evaluation"),
        seconds(forecast.probe_s),
        counted(config.completions_per_step(), "completion"),
        counted(forecast.tokens, "token"),
        forecast.rows,
    );
    text.push_str(match whole {
        true => "# from completions as long as they are now, to all of them at the longest; ",
        false => "# with all completions at the longest, in proportion to tokens; ",
    });
    text.push_str("good to a factor of two: other programs, ");
    if rollout.turns > 1 {
        text.push_str("later turns, ");
    }
    if rollout.resample_tied > 0 {
        text.push_str("groups that are sampled anew, ");
    }
    text.push_str("and programs that run longer than the model writes come on top");
    if plays {
        let workers = config.arena.parallel_rewards.at_once() as f64;
        let games = (config.completions_per_step() * config.arena.games) as f64 * train.game_seconds / workers;
        text.push_str(&format!(" (games: at most {} of fuel a step)", seconds(games)));
    }
    text.push('\n');
    text
}

fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1} s") } else { duration(seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(tokens: usize) -> Forecast {
        let seconds = |now, most| Seconds { now, most };
        let (generate, update, evaluate) = (seconds(2.0, 3.0), seconds(1.0, 4.0), seconds(5.0, 8.0));
        Forecast { probe_s: 4.2, tokens, ended: 0.25, rows: 8, generate, update, evaluate }
    }

    #[test]
    fn times_are_those_calculated_by_hand() {
        let mut config = Config::preset("builtin").unwrap();
        (config.train.max_steps, config.train.eval_steps) = (100, 40);
        // 100 x (2 + 1) + 4 x 5 = 320 s; 100 x (3 + 4) + 4 x 8 = 732 s. Evaluations after 0, 40, 80 and 100 steps.
        let text = time(&config, &forecast(config.rollout.max_completion_length), 0, true);
        let expected = "# time: 3.0 s to 7.0 s a step (sampling 2.0 s to 3.0 s, update 1.0 s to 4.0 s); 100 steps and 4 \
                        evaluations 5:20 to 12:12\n";
        assert!(text.starts_with(expected), "{text}");
        assert!(
            text.contains("in 4.2 s: 128 completions of at most 384 tokens, of which 25% ended, and an update on 8")
        );
        // 128 games of a second on 8 workers.
        assert!(text.contains("games: at most 16 s of fuel"), "{text}");
        let text = time(&config, &forecast(64), 0, false);
        assert!(text.contains("at most 7.0 s a step") && text.contains("evaluations at most 12:12"), "{text}");
        assert!(!text.contains("fuel"), "{text}");
    }

    #[test]
    fn evaluations_are_counted_as_the_loop_makes_them() {
        let mut config = Config::preset("builtin").unwrap();
        for (samples, every, steps, expected) in [(96, 0, 10, 2), (0, 5, 10, 0), (96, 5, 10, 3), (96, 5, 11, 4)] {
            (config.train.eval_samples, config.train.eval_steps, config.train.max_steps) = (samples, every, steps);
            let text = time(&config, &forecast(256), 0, true);
            assert!(text.contains(&format!("{steps} steps and {expected} evaluations")), "{every} of {steps}: {text}");
        }
        // Of 11 steps 7 are done: evaluations after the steps 10 and 11.
        let text = time(&config, &forecast(256), 7, true);
        assert!(text.contains("4 steps and 2 evaluations"), "{text}");
    }
}
