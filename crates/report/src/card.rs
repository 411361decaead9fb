//! The model card of an export for the Hugging Face Hub: base model, training, results, and how to load the model.

mod subject;
mod usage;

use serde_json::{Value, json};

pub use self::subject::{CardSubject, Training};
use self::usage::usage;
use crate::metrics::EvaluationRecord;
use crate::plural::counted;

/// The whole card: YAML for the Hub and text for readers.
pub fn card(subject: &CardSubject, training: Option<&Training>) -> String {
    let mut text = format!("---\n{}---\n\n", head(subject, training));
    let title = subject.name.rsplit('/').next().unwrap_or(&subject.name);
    text.push_str(&format!("# {title}\n\n"));
    let base = match &subject.base_id {
        Some(id) => format!("[{id}](https://huggingface.co/{id})"),
        None => subject.base.clone(),
    };
    let what = if subject.is_adapter { "A LoRA adapter on" } else { "A model that began as" };
    match training {
        Some(training) => {
            let purpose = training.purpose();
            text.push_str(&format!(
                "{what} {base}, trained by reinforcement learning to {purpose}: each program it wrote was run in a \
                 sandbox, and what it achieved was its reward (GRPO, with grpo-2048 {}).\n\n",
                env!("CARGO_PKG_VERSION")
            ));
            text.push_str(&results(training));
            text.push_str(&settings(training, subject.rank));
        }
        None => text.push_str(&format!("{what} {base}, exported by grpo-2048 {}.\n\n", env!("CARGO_PKG_VERSION"))),
    }
    text.push_str(&usage(subject, training));
    text
}

/// The YAML for the Hub. Strings are written as JSON, which is valid YAML.
fn head(subject: &CardSubject, training: Option<&Training>) -> String {
    let mut lines = Vec::new();
    let mut line = |key: &str, value: Value| lines.push(format!("{key}: {value}\n"));
    if let Some(license) = &subject.license {
        line("license", license.clone().into());
    }
    if let Some(id) = &subject.base_id {
        line("base_model", id.clone().into());
        line("base_model_relation", if subject.is_adapter { "adapter" } else { "finetune" }.into());
    }
    line("library_name", if subject.is_adapter { "peft" } else { "transformers" }.into());
    line("pipeline_tag", "text-generation".into());
    let mut tags = vec!["grpo-2048"];
    if training.is_some() {
        tags.extend(["grpo", "reinforcement-learning", "code"]);
    }
    if subject.is_adapter {
        tags.push("lora");
    }
    line("tags", json!(tags));
    if let Some((training, last)) = training.and_then(|training| Some((training, training.last.as_ref()?))) {
        let name = training.environment();
        let data = if last.held_out == Some(0) { name.clone() } else { format!("{name}, held out") };
        let metrics: Vec<Value> =
            figures(last).iter().map(|one| json!({"type": one.id, "name": one.name, "value": one.value})).collect();
        line(
            "model-index",
            json!([{"name": subject.name, "results": [{
            "task": {"type": "text-generation"},
            "dataset": {"name": data, "type": name},
            "metrics": metrics}]}]),
        );
    }
    lines.concat()
}

/// A figure of an evaluation.
struct Figure {
    id: &'static str,
    name: &'static str,
    value: f64,
    /// The value in words, with its interval if it has one.
    text: String,
}

fn were(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

fn figures(record: &EvaluationRecord) -> Vec<Figure> {
    let decimals = if record.mean_score.is_some_and(|mean| mean.abs() < 100.0) { 2 } else { 0 };
    let points = |value: f64| format!("{value:.decimals$}");
    let percent = |value: f64| format!("{:.1} %", 100.0 * value);
    let interval = |low: Option<f64>, high: Option<f64>, show: &dyn Fn(f64) -> String| match (low, high) {
        (Some(low), Some(high)) if low < high => format!(" ({} to {})", show(low), show(high)),
        _ => String::new(),
    };
    let mut figures = Vec::new();
    let mut add = |id, name, value: Option<f64>, ends: (Option<f64>, Option<f64>), show: &dyn Fn(f64) -> String| {
        if let Some(value) = value {
            figures.push(Figure {
                id,
                name,
                value,
                text: format!("{}{}", show(value), interval(ends.0, ends.1, show)),
            });
        }
    };
    let ends = (record.mean_score_low, record.mean_score_high);
    add("mean_score", "mean score of a program's games", record.mean_score, ends, &points);
    add("frac_played", "programs that play every game to its end", record.frac_played, (None, None), &percent);
    let ends = (record.frac_passed_low, record.frac_passed_high);
    add("pass@1", "programs that pass all tests of their task", record.frac_passed, ends, &percent);
    let ends = (record.frac_tests_low, record.frac_tests_high);
    add("frac_tests", "tests passed", record.frac_tests, ends, &percent);
    figures
}

fn results(training: &Training) -> String {
    let Some(last) = &training.last else { return String::new() };
    let what = match (last.games, last.tasks) {
        (_, Some(tasks)) if last.held_out == Some(0) => {
            format!("{} that {} trained on", counted(tasks, "task"), were(tasks))
        }
        (_, Some(tasks)) => format!("{} that {} not trained on", counted(tasks, "task"), were(tasks)),
        (Some(games), _) => format!("{} each that {} not trained on", counted(games, "game"), were(games)),
        _ => "what was not trained on".into(),
    };
    let first = training.first.as_ref();
    let is_mixed = first.is_some_and(|first| first.is_sampled_otherwise(last));
    let evaluated_at = training.evaluated_at().filter(|_| !is_mixed);
    let at = evaluated_at.map_or_else(String::new, |value| format!(" at a temperature of {value}"));
    let (before, after) = (first.map(figures).unwrap_or_default(), figures(last));
    let has_intervals = before.iter().chain(&after).any(|figure| figure.text.ends_with(')'));
    let intervals = if has_intervals { "; 95 % intervals in brackets" } else { "" };
    let mut text =
        format!("## Results\n\n{}, sampled{at} and tried on {what}{intervals}.\n\n", counted(last.samples, "program"));
    let own = |record: &EvaluationRecord| match record.temperature.filter(|_| is_mixed) {
        Some(value) => format!(", sampled at a temperature of {value:?}"),
        None => String::new(),
    };
    let steps = counted(last.step, "step");
    text.push_str(&format!(
        "| | before training{} | after {steps}{} |\n|---|---|---|\n",
        first.map(&own).unwrap_or_default(),
        own(last)
    ));
    for figure in after {
        let before = before.iter().find(|one| one.id == figure.id).map_or("–", |one| &one.text);
        text.push_str(&format!("| {} | {before} | {} |\n", figure.name, figure.text));
    }
    if last.step < training.steps {
        let more = counted(training.steps - last.step, "step");
        text.push_str(&format!("\nThis model was trained for {more} more than the one evaluated.\n"));
    }
    text + "\n"
}

/// `rank`: that of the adapter that was trained, which need not be `model.lora_r`.
fn settings(training: &Training, rank: Option<u64>) -> String {
    let mut text = format!("## Training\n\n- {}", counted(training.steps, "step"));
    let sizes = (training.number("rollout", "groups"), training.number("rollout", "num_generations"));
    if let (Some(groups), Some(generations)) = sizes {
        text.push_str(&format!(
            " of {} ({} × {generations})",
            counted((groups * generations) as usize, "completion"),
            counted(groups as usize, "prompt")
        ));
    }
    text.push('\n');
    for (section, key, words) in [
        ("grpo", "loss_type", "loss"),
        ("grpo", "learning_rate", "learning rate"),
        ("grpo", "beta", "KL coefficient"),
        ("rollout", "temperature", "temperature of sampling"),
        ("rollout", "max_completion_length", "longest completion, in tokens"),
        ("model", "lora_r", "rank of the adapter"),
        ("train", "seed", "seed"),
    ] {
        let value = match key {
            "lora_r" => rank.map(|rank| rank.to_string()),
            _ => training.setting(section, key),
        };
        text.extend(value.map(|value| format!("- {words}: {value}\n")));
    }
    if training.setting("reward", "shuffled").as_deref() == Some("true") {
        text.push_str("- a control: its rewards were shuffled, and what it seems to have learnt is chance\n");
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::METRICS_FILE;

    fn subject() -> CardSubject {
        CardSubject {
            name: "me/player".into(),
            base: "base.gguf".into(),
            base_id: Some("you/base".into()),
            base_revision: None,
            license: Some("apache-2.0".into()),
            is_adapter: true,
            rank: Some(4),
        }
    }

    fn run() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let evaluated = |step: usize, score: f64| {
            json!({"step": step, "eval_samples": 96, "eval_games": 3, "eval_reward": 0.1, "eval_game/mean_score": score,
                "eval_game/mean_score_low": score - 9.0, "eval_game/mean_score_high": score + 9.0,
                "eval_game/frac_played": 0.5, "eval_runtime": 1.0})
        };
        let lines =
            [evaluated(0, 1000.0), json!({"step": 1, "reward": 0.5}), evaluated(20, 2000.0), evaluated(40, 3000.0)];
        std::fs::write(dir.path().join(METRICS_FILE), lines.map(|line| format!("{line}\n")).concat()).unwrap();
        let config = "[environment]\nenv = \"2048\"\n[rollout]\ngroups = 8\nnum_generations = 4\n[train]\nseed = 5\n";
        std::fs::write(dir.path().join("config.toml"), config).unwrap();
        dir
    }

    #[test]
    fn a_card_gives_the_figures_of_its_own_checkpoint_with_their_intervals() {
        let run = run();
        let text = card(&subject(), Some(&Training::read(run.path(), 20).unwrap()));
        assert!(
            text.contains("| mean score of a program's games | 1000 (991 to 1009) | 2000 (1991 to 2009) |"),
            "{text}"
        );
        assert!(text.contains("| programs that play every game to its end | 50.0 % | 50.0 % |"), "{text}");
        assert!(!text.contains("3000"), "a later checkpoint's");
        assert!(text.contains("- 20 steps of 32 completions (8 prompts × 4)") && text.contains("- seed: 5"), "{text}");
        assert!(text.contains("96 programs, sampled and tried on 3 games each"), "{text}");
        let later = card(&subject(), Some(&Training::read(run.path(), 30).unwrap()));
        assert!(later.contains("10 steps more than the one evaluated"), "{later}");
        let untrained = card(&subject(), None);
        assert!(!untrained.contains("## Results") && !untrained.contains("reinforcement"), "{untrained}");
    }

    #[test]
    fn a_card_says_at_which_temperature_its_figures_were_sampled_if_not_at_that_of_training() {
        let settings = |value: f64| {
            format!("[rollout]\ntemperature = 0.7\n[train]\neval_temperature = {value:?}\n").parse().unwrap()
        };
        let sampled = |value| {
            let last = Some(EvaluationRecord { samples: 2, games: Some(3), ..EvaluationRecord::default() });
            card(&subject(), Some(&Training { last, settings: settings(value), ..Training::default() }))
        };
        let cooler = sampled(0.3);
        assert!(cooler.contains("2 programs, sampled at a temperature of 0.3 and tried on 3 games each"), "{cooler}");
        for same in [sampled(0.0), sampled(0.7)] {
            assert!(same.contains("2 programs, sampled and tried on 3 games each"), "{same}");
        }
    }

    #[test]
    fn a_card_says_so_if_its_columns_were_sampled_at_two_temperatures() {
        let sampled = |first, last| {
            let at = |step, temperature| Some(EvaluationRecord { step, temperature, ..EvaluationRecord::default() });
            // Those of the newest launch, which went on from a later step.
            let settings = "[rollout]\ntemperature = 0.7\n[train]\neval_temperature = 0.4\n".parse().unwrap();
            card(
                &subject(),
                Some(&Training { first: at(0, first), last: at(20, last), settings, ..Training::default() }),
            )
        };
        let mixed = sampled(Some(0.7), Some(0.3));
        let [before, after] = [0.7, 0.3].map(|value| format!(", sampled at a temperature of {value}"));
        assert!(mixed.contains(&format!("| | before training{before} | after 20 steps{after} |\n")), "{mixed}");
        assert!(mixed.contains("0 programs, sampled and tried on") && mixed.contains("temperature=0.3, "), "{mixed}");
        for (at, words) in
            [(Some(0.3), " at a temperature of 0.3"), (Some(0.7), ""), (None, " at a temperature of 0.4")]
        {
            let same = sampled(at, at);
            assert!(same.contains("| | before training | after 20 steps |\n"), "{same}");
            assert!(same.contains(&format!("0 programs, sampled{words} and tried on")), "{same}");
        }
    }

    #[test]
    fn an_interval_has_the_digits_of_its_figure() {
        let text = |mean, low, high| {
            let [mean_score, mean_score_low, mean_score_high] = [mean, low, high].map(Some);
            figures(&EvaluationRecord { mean_score, mean_score_low, mean_score_high, ..EvaluationRecord::default() })
                .remove(0)
                .text
        };
        assert_eq!(text(437.6, 45.33, 919.2), "438 (45 to 919)");
        assert_eq!(text(40.25, -1.5, 130.0), "40.25 (-1.50 to 130.00)");
    }

    #[test]
    fn tasks_that_were_trained_on_are_not_called_held_out() {
        let training = |held_out| Training {
            last: Some(EvaluationRecord { step: 20, tasks: Some(2), held_out, ..EvaluationRecord::default() }),
            ..Training::default()
        };
        let text = card(&subject(), Some(&training(Some(0))));
        assert!(text.contains("tried on 2 tasks that were trained on.\n") && !text.contains("held out"), "{text}");
        let text = card(&subject(), Some(&training(Some(2))));
        assert!(text.contains("tried on 2 tasks that were not trained on.\n") && text.contains(", held out"), "{text}");
        // A point is no interval.
        let scored = |low, high| {
            let [mean_score, mean_score_low, mean_score_high] = [3.0, low, high].map(Some);
            let last = EvaluationRecord { mean_score, mean_score_low, mean_score_high, ..EvaluationRecord::default() };
            card(&subject(), Some(&Training { last: Some(last), ..Training::default() }))
        };
        assert!(
            scored(2.0, 4.0).contains("; 95 % intervals in brackets.\n")
                && scored(2.0, 4.0).contains("3.00 (2.00 to 4.00)")
        );
        assert!(!scored(3.0, 3.0).contains("brackets") && scored(3.0, 3.0).contains("| 3.00 |"));
    }

    #[test]
    fn a_card_reads_a_plain_prompt_behind_the_token_that_begins_a_sequence_as_training_did() {
        let used = |settings: &str| {
            let prompt = Some("def strategy(board):\n".to_owned());
            let training = Training { settings: settings.parse().unwrap(), prompt, ..Training::default() };
            card(&subject(), Some(&training))
        };
        let plain = used("[model]\nraw_prompt = true\n");
        assert!(plain.contains("add_special_tokens=True") && !plain.contains("special tokens and all"), "{plain}");
        let chat = used("[model]\nraw_prompt = false\n");
        assert!(chat.contains("add_special_tokens=False") && chat.contains("special tokens and all"), "{chat}");
    }

    #[test]
    fn the_head_of_a_card_is_yaml_that_the_hub_knows() {
        let run = run();
        let training = Training::read(run.path(), 20).unwrap();
        let read = |text: &str| -> Value {
            let head = text.strip_prefix("---\n").unwrap().split_once("---\n").unwrap().0;
            serde_saphyr::from_str(head).unwrap()
        };
        let hostile = CardSubject { name: "a\"b: [c]\n---".into(), ..subject() };
        let found = read(&card(&CardSubject { name: hostile.name.clone(), ..subject() }, Some(&training)));
        assert_eq!((&found["license"], &found["base_model"]), (&json!("apache-2.0"), &json!("you/base")));
        assert_eq!((&found["library_name"], &found["pipeline_tag"]), (&json!("peft"), &json!("text-generation")));
        let result = &found["model-index"][0]["results"][0];
        assert_eq!(found["model-index"][0]["name"], hostile.name);
        assert_eq!(
            (&result["metrics"][0]["type"], &result["metrics"][0]["value"]),
            (&json!("mean_score"), &json!(2000.0))
        );
        let unknown = CardSubject { base_id: None, license: None, is_adapter: false, ..subject() };
        let found = read(&card(&unknown, None));
        assert!(
            found.get("license").is_none()
                && found.get("base_model").is_none()
                && found["library_name"] == "transformers"
        );
    }
}
