//! How a model of a card is loaded, and asked as it was in training.

use serde_json::json;

use super::subject::{CardSubject, Training};

/// The section of a card that says how the model is loaded and asked.
pub(super) fn usage(subject: &CardSubject, training: Option<&Training>) -> String {
    let name = json!(subject.name);
    let revision = subject.base_revision.as_ref().map(|of| format!(", revision={}", json!(of))).unwrap_or_default();
    let load = match (subject.is_adapter, &subject.base_id) {
        (false, _) => format!("model = AutoModelForCausalLM.from_pretrained({name})"),
        (true, base) => {
            let base = base.as_deref().map_or_else(|| "base".to_owned(), |base| json!(base).to_string());
            let base = match base.as_str() {
                "base" => "base = ...  # the model that the adapter was trained on\n".to_owned(),
                id => format!("base = AutoModelForCausalLM.from_pretrained({id}{revision})\n"),
            };
            format!("{base}model = PeftModel.from_pretrained(base, {name})")
        }
    };
    let import = if subject.is_adapter { "from peft import PeftModel\n" } else { "" };
    let known = training.and_then(|training| training.prompt.as_deref());
    let prompt = json!(known.unwrap_or("def strategy(board):\n"));
    let longest = training.and_then(|training| training.number("rollout", "max_completion_length")).unwrap_or(256);
    // A chat template writes the token that begins a sequence. The words of a plain prompt are without it, and it stood
    // before them all the same.
    let is_plain = training.and_then(|training| training.setting("model", "raw_prompt")).as_deref() == Some("true");
    let (given, added) = match is_plain {
        true => ("behind the token that begins a sequence, where the tokenizer has one", "True"),
        false => ("special tokens and all", "False"),
    };
    let given = match known {
        Some(_) => format!("What it was given in training, {given}."),
        None => "An example: ask it as it was asked in training, such as by its chat template.".to_owned(),
    };
    let sampled = training.map(sampling).unwrap_or_default();
    format!(
        "## Use\n\n```python\n{import}from transformers import AutoModelForCausalLM, AutoTokenizer\n\n\
         tokenizer = AutoTokenizer.from_pretrained({name})\n{load}\n\n\
         # {given}\nprompt = {prompt}\n\
         ids = tokenizer(prompt, return_tensors=\"pt\", add_special_tokens={added}).input_ids\n\
         written = model.generate(ids, do_sample=True, {sampled}max_new_tokens={longest})\n\
         print(tokenizer.decode(written[0]))\n```\n\n\
         Programs that a model writes may do anything: run them in a sandbox.\n"
    )
}

/// Arguments of `generate` by which it samples as the programs of the results were sampled. Without them transformers
/// keeps the fifty likeliest tokens, and the files of many models bring filters and a penalty for repetitions.
fn sampling(training: &Training) -> String {
    let given = ["temperature", "top_p", "top_k", "min_p"].into_iter().filter_map(|key| {
        let trained = || training.setting("rollout", key);
        let value = if key == "temperature" { training.evaluated_at().or_else(trained) } else { trained() };
        // Versions of transformers before 4.39 know no min_p.
        let value = value.filter(|value| key != "min_p" || value.parse::<f64>() != Ok(0.0))?;
        Some(format!("{key}={value}, "))
    });
    given.chain(["repetition_penalty=1.0, ".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_card_sample_as_its_results_were_sampled() {
        let written = |settings: &str| {
            let training = Training { settings: settings.parse().unwrap(), ..Training::default() };
            usage(&CardSubject::default(), Some(&training))
        };
        let games = "[rollout]\ntemperature = 0.7\ntop_p = 1.0\ntop_k = 0\nmin_p = 0.0\nmax_completion_length = 640\n";
        let all = "temperature=0.7, top_p=1.0, top_k=0, repetition_penalty=1.0, max_new_tokens=640)";
        assert!(written(games).contains(&format!("model.generate(ids, do_sample=True, {all}")), "{}", written(games));
        let filtered = written("[rollout]\ntemperature = 1.0\nmin_p = 0.05\n[train]\neval_temperature = 0.4\n");
        let all = "do_sample=True, temperature=0.4, min_p=0.05, repetition_penalty=1.0, max_new_tokens=256)";
        assert!(filtered.contains(all), "{filtered}");
        // Nothing is known of how a model was sampled that no run trained.
        let untrained = usage(&CardSubject::default(), None);
        assert!(untrained.contains("generate(ids, do_sample=True, max_new_tokens=256)"), "{untrained}");
    }

    #[test]
    fn an_adapter_is_put_on_the_revision_that_it_was_trained_on() {
        let subject = |base_revision| CardSubject {
            name: "me/player".into(),
            base_id: Some("you/base".into()),
            base_revision,
            is_adapter: true,
            ..CardSubject::default()
        };
        let line = |subject| {
            let text = usage(&subject, None);
            text.lines().find(|line| line.starts_with("base = ")).unwrap().to_owned()
        };
        assert_eq!(line(subject(None)), "base = AutoModelForCausalLM.from_pretrained(\"you/base\")");
        let of_then = "base = AutoModelForCausalLM.from_pretrained(\"you/base\", revision=\"0123abcd\")";
        assert_eq!(line(subject(Some("0123abcd".into()))), of_then);
    }

    #[test]
    fn a_card_calls_a_prompt_that_of_training_only_where_it_is() {
        let written = |training: Option<&Training>| usage(&CardSubject::default(), training);
        for unknown in [None, Some(&Training::default())] {
            let text = written(unknown);
            assert!(text.contains("# An example: ask it as it was asked in training"), "{text}");
            assert!(!text.contains("was given"), "{text}");
        }
        let asked = Training { prompt: Some("<|user|>add".into()), ..Training::default() };
        let text = written(Some(&asked));
        assert!(text.contains("was given in training, special tokens and all.\nprompt = \"<|user|>add\"\n"), "{text}");
    }
}
