//! Tests of completions by servers: runs are reproducible and resumable, and errors of a server never become a reward.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use grpo_2048::config::{Config, ModelConfig, RolloutConfig};
use grpo_2048::policy::{Device, Policy};
use grpo_2048::prompt::Prompt;
use grpo_2048::rollout::{Assignment, Completion, GroupRequest, RolloutError, RolloutEvent, Servers};
use grpo_2048::seed::Seed;
use serde_json::{Value, json};

use crate::runs::{assert_same, run, steps, told};
use crate::served::{Answer, Served, honest, policy};

const ADAPTERS: &[&str] = &["--lora-r", "4", "--set", "train.eval_samples=0", "--save-steps", "1"];

fn with<'a>(servers: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [ADAPTERS, &["--rollouts", servers], more].concat()
}

/// The exit code of a small run, and what it says, on one line.
fn output(dir: &Path, more: &[&str]) -> (Option<i32>, String) {
    let (code, said) = told(dir, more);
    (code, said.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn a_run_with_a_server_and_one_with_two_servers_are_the_same_byte_for_byte() {
    let root = tempfile::tempdir().unwrap();
    let [first, both] = ["first", "both"].map(|name| root.path().join(name));
    let served = [Served::start(honest), Served::start(honest)];
    let more = ["--steps", "2"];
    run(&first, &with(&served[0].url, &more));
    let urls = format!("{},{}", served[0].url, served[1].url);
    run(&both, &with(&urls, &[&more[..], &["--set", "rollout.server_requests=2"]].concat()));
    assert_same(&first, &both);

    // Two policies sampled: the initial one and that after one update. Only the newest adapter remains, loaded and on
    // disk.
    let loaded = served[1].loaded();
    assert_eq!(loaded.len(), 2, "{loaded:?}");
    assert_eq!(served[1].adapters(), loaded[1..]);
    let kept: Vec<_> = fs::read_dir(both.join("adapters")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, [loaded[1].as_str()]);
    // This server computes the same numbers as the trainer.
    for record in steps(&first) {
        assert!(record["sampling/sampling_logp_difference/max"].as_f64().unwrap() < 1e-4, "{record}");
        assert!((record["sampling/importance_sampling_ratio/mean"].as_f64().unwrap() - 1.0).abs() < 1e-4, "{record}");
        assert_eq!(record["sampling/frac_corrected"], 0.0);
        assert!(record["time/adapter"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn servers_write_every_turn_from_the_ids_of_those_before() {
    let root = tempfile::tempdir().unwrap();
    let [first, both, broken] = ["first", "both", "broken"].map(|name| root.path().join(name));
    let served = [Served::start(honest), Served::start(honest)];
    let turns = ["--steps", "2", "--turns", "2", "--set", "rollout.max_completion_length=490"];
    run(&first, &with(&served[0].url, &turns));
    run(&both, &with(&format!("{},{}", served[0].url, served[1].url), &turns));
    assert_same(&first, &both);
    let logged = fs::read_to_string(first.join("completions/step_00001.jsonl")).unwrap();
    assert!(logged.contains("Write the whole program again"), "{logged}");
    for record in steps(&first) {
        assert!(record["turns/mean"].as_f64().unwrap() > 1.0, "{record}");
        assert!(record["sampling/sampling_logp_difference/max"].as_f64().unwrap() < 1e-4, "{record}");
    }
    // It answers the first turns of a step, and one later turn.
    let fails = Served::start(|before, answer| if before < 9 { honest(before, answer) } else { (500, "full".into()) });
    let once = [&turns[..], &["--set", "rollout.resample_tied=0"]].concat();
    let (code, said) = output(&broken, &with(&fails.url, &once));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("answered 500: full") && !broken.join("completions/step_00001.jsonl").exists(), "{said}");
}

/// The tokens of an answer, with their log-probabilities.
fn tokens(answer: &mut Value) -> &mut Vec<Value> {
    answer["choices"][0]["logprobs"]["content"].as_array_mut().unwrap()
}

/// A server that makes this of a right answer.
fn changing(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Served {
    Served::start(move |_, mut answer| {
        change(&mut answer);
        (200, answer.to_string())
    })
}

/// A server whose log-probabilities are so many nats below the trainer's.
fn foreign(nats: f64) -> Served {
    changing(move |answer| shift(answer, nats))
}

fn shift(answer: &mut Value, nats: f64) {
    for token in tokens(answer) {
        token["logprob"] = json!(token["logprob"].as_f64().unwrap() - nats);
    }
}

#[test]
fn servers_are_compared_by_enough_tokens_of_several_completions() {
    let asked = Asked::new();
    let good = Served::start(honest);
    let (servers, config) = asked.opened(urls(&[&good]), 60.0);
    let probed = servers.probe(&asked.policy, &asked.prompts, &config).unwrap().remove(0);
    let written: Vec<&[u32]> = probed.completions.iter().map(|completion| &completion.ids[..]).collect();
    let count = written.concat().len();
    assert!(written.len() <= 8 && (count >= 128 || written.len() == 8), "{count} tokens: {written:?}");
    assert!(written.iter().collect::<BTreeSet<_>>().len() > 2, "each has another seed: {written:?}");
    let ids: BTreeSet<u32> = probed.prompts.iter().map(|prompt| prompt.id).collect();
    assert_eq!(ids, BTreeSet::from([0, 1]), "all prompts are asked");
}

#[test]
fn what_a_foreign_sampler_gets_wrong_is_weighed_counted_and_warned_of() {
    let root = tempfile::tempdir().unwrap();
    let served = foreign(0.09);
    let of = |name: &str, more: &[&str]| {
        let dir = root.path().join(name);
        let (code, said) = output(&dir, &with(&served.url, &[&["--steps", "1"], more].concat()));
        assert_eq!(code, Some(0), "{said}");
        (steps(&dir).remove(0), said)
    };
    let figure = |record: &Value, name: &str| record[format!("sampling/{name}")].as_f64().unwrap();
    let (plain, said) = of("plain", &[]);
    assert!((figure(&plain, "sampling_logp_difference/mean") - 0.09).abs() < 1e-3, "{plain}");
    assert!((figure(&plain, "importance_sampling_ratio/mean") - 0.09f64.exp()).abs() < 1e-3, "{plain}");
    assert!(said.contains("sampling and scoring differ by 0.090 nats a token (warns above 0.05)"), "{said}");
    let (truncated, _) = of("truncated", &["--set", "rollout.correction_cap=1.05"]);
    assert_eq!(figure(&truncated, "frac_corrected"), 1.0);
    assert!((figure(&truncated, "importance_sampling_ratio/mean") - 1.05).abs() < 1e-6);
    let masked = ["--set", "rollout.correction=mask", "--set", "rollout.correction_cap=1.05"];
    let (masked, _) = of("masked", &masked);
    assert_eq!((figure(&masked, "frac_corrected"), figure(&masked, "importance_sampling_ratio/mean")), (1.0, 0.0));
    let (none, _) = of("none", &["--set", "rollout.correction=none"]);
    assert!(none.get("sampling/frac_corrected").is_none());
}

/// Prompts and settings for completions by servers.
struct Asked {
    policy: Policy,
    prompts: Vec<Prompt>,
    config: RolloutConfig,
    dir: tempfile::TempDir,
}

impl Asked {
    fn new() -> Asked {
        let policy = policy("");
        let prompt =
            |id: u32, ids: &[u32]| Prompt { id, style: "plain".into(), ids: ids.to_vec(), ..Prompt::default() };
        let prompts = vec![prompt(0, &[5, 6, 7]), prompt(1, &[8, 9])];
        let rollout = Config::preset("builtin").unwrap().rollout;
        let config = RolloutConfig { num_generations: 3, max_completion_length: 24, server_seconds: 4.0, ..rollout };
        Asked { policy, prompts, config, dir: tempfile::tempdir().unwrap() }
    }

    /// Servers that are asked, and the settings for them.
    fn opened(&self, urls: Vec<String>, server_seconds: f64) -> (Servers, RolloutConfig) {
        let config = RolloutConfig { servers: urls, server_seconds, ..self.config.clone() };
        let mut servers = Servers::open(&config, 3).unwrap().unwrap();
        servers.keep_adapters_in(self.dir.path());
        (servers, config)
    }

    /// The completions of a batch, and the warnings.
    fn batch(&self, servers: &Servers, config: &RolloutConfig) -> (Result<Vec<Completion>, RolloutError>, Vec<String>) {
        let (mut told, mut troubles) = (Vec::new(), Vec::new());
        let mut hear = |event: RolloutEvent<'_>| match event {
            RolloutEvent::Finished(completion) => told.push(completion.clone()),
            RolloutEvent::Trouble(text) => troubles.push(text.to_owned()),
            _ => (),
        };
        let policy = &self.policy;
        let requests = &GroupRequest::all(&self.prompts, config.num_generations, Seed::root(7));
        let completions = servers
            .load_adapter(policy, &mut hear)
            .and_then(|loaded| servers.sample(&loaded, Assignment { policy, config, requests }, &mut hear));
        if let Ok(completions) = &completions {
            told.sort_by_key(|completion| completion.id.index);
            assert_eq!(&told, completions, "each is handed out once");
        }
        (completions, troubles)
    }

    fn of(&self, served: &[&Served]) -> (Result<Vec<Completion>, RolloutError>, Vec<String>) {
        let (servers, config) = self.opened(urls(served), self.config.server_seconds);
        self.batch(&servers, &config)
    }

    /// The warnings of two successive batches.
    fn troubles(&self, served: &[&Served]) -> [Vec<String>; 2] {
        let (servers, config) = self.opened(urls(served), 60.0);
        [(); 2].map(|()| {
            let (completions, troubles) = self.batch(&servers, &config);
            completions.unwrap();
            troubles
        })
    }
}

fn urls(served: &[&Served]) -> Vec<String> {
    served.iter().map(|served| served.url.clone()).collect()
}

#[test]
fn a_server_that_fails_is_warned_of_once_a_batch_with_a_count_and_one_that_is_left_out_once() {
    let (asked, good) = (Asked::new(), Served::start(honest));
    let bad = Served::start(|_, _| (500, "out of memory".into()));
    for troubles in asked.troubles(&[&bad, &good]) {
        // Three of the six completions are requested from it first.
        let [first, count] = &troubles[..] else { panic!("{troubles:?}") };
        assert!(first.starts_with("completion ") && first.contains("answered 500: out of memory"), "{first}");
        assert_eq!(*count, format!("{}: failed 3 times in this batch", bad.url));
    }
    let forgetful = Served::forgetful();
    let [first, second] = asked.troubles(&[&forgetful, &good]);
    assert!(matches!(&first[..], [one] if one.contains("its models are without grpo-2048-")), "{first:?}");
    assert!(second.is_empty(), "it is left out still: {second:?}");
}

/// What a server answers, and a part of the expected message.
type Answered = (fn() -> Answer, &'static str);
/// What is changed of a right answer, and a part of the expected message.
type Changed = (fn(&mut Value), &'static str);

/// Answers that are none: a refusal, no JSON, another shape, and too late.
const ANSWERS: &[Answered] = &[
    (|| (500, json!({ "error": { "message": "out of memory" } }).to_string()), "answered 500: out of memory"),
    (|| (200, "<html>".into()), "an answer that is no JSON"),
    (|| (200, "{}".into()), "an answer out of shape: missing field `choices`"),
    (
        || {
            thread::sleep(Duration::from_secs(6));
            (200, "{}".into())
        },
        "raise rollout.server_seconds",
    ),
];

/// What is wrong within an answer.
const CHANGES: &[Changed] = &[
    (
        |answer| {
            let choice = answer["choices"][0].clone();
            answer["choices"].as_array_mut().unwrap().push(choice);
        },
        "2 completions, expected 1",
    ),
    (|answer| drop(tokens(answer).pop()), "that are not theirs"),
    (
        |answer| {
            answer["choices"][0]["token_ids"][0] = json!(1 << 20);
            tokens(answer)[0]["token_id"] = json!(1 << 20);
        },
        "token 0 has the id 1048576",
    ),
    (|answer| tokens(answer)[0]["logprob"] = json!(0.5), "token 0 has the log-probability 0.5"),
    (|answer| tokens(answer)[0]["logprob"] = Value::Null, "an answer out of shape: invalid type: null"),
    (|answer| tokens(answer)[0]["logprob"] = json!(-9999.0), "token 0 has the log-probability -9999"),
    (
        |answer| {
            // The answer claims that the completion has ended, but it was truncated.
            answer["choices"][0]["finish_reason"] = json!("stop");
            answer["choices"][0]["token_ids"].as_array_mut().unwrap().truncate(1);
            tokens(answer).truncate(1);
        },
        "1 token that no stop ends (finish_reason stop), asked for 24; the server broke it off",
    ),
    (|answer| answer["model"] = json!("served"), "an answer by served, expected one by grpo-2048-"),
];

#[test]
fn whatever_a_server_does_wrong_is_named_and_becomes_no_completion() {
    let asked = Asked::new();
    let answers = ANSWERS.iter().map(|(answer, expected)| (Served::start(move |_, _| answer()), expected));
    let changes = CHANGES.iter().map(|(change, expected)| (changing(change), expected));
    for (served, expected) in answers.chain(changes) {
        let (completions, troubles) = asked.of(&[&served]);
        let Err(RolloutError::Server(fault)) = completions else { panic!("{expected}: {completions:?}") };
        assert_eq!(fault.server, served.url);
        assert!(fault.to_string().contains(expected), "{fault}, expected {expected}");
        assert!(!fault.hint.is_empty() && troubles.len() >= 2, "tried again: {troubles:?}");
    }
    let forgetful = Served::forgetful();
    let (completions, _) = asked.of(&[&forgetful]);
    let Err(RolloutError::Server(fault)) = completions else { panic!("{completions:?}") };
    assert!(fault.found.contains("its models are without grpo-2048-"), "{fault}");
}

#[test]
fn a_good_server_makes_up_for_a_bad_one_and_a_bad_moment_passes() {
    let asked = Asked::new();
    let good = Served::start(honest);
    let expected = asked.of(&[&good]).0.unwrap();
    // What is wrong within a completion is a fault as these are: see the test above.
    for (answer, what) in ANSWERS {
        let bad = Served::start(move |_, _| answer());
        let (completions, troubles) = asked.of(&[&bad, &good]);
        assert_eq!(completions.unwrap(), expected, "{what}");
        assert!(troubles.iter().all(|text| text.contains(&bad.url)) && !troubles.is_empty(), "{troubles:?}");
    }
    let forgetful = Served::forgetful();
    assert_eq!(asked.of(&[&forgetful, &good]).0.unwrap(), expected);
    let hiccup = Served::start(|before, answer| if before < 2 { (500, String::new()) } else { honest(before, answer) });
    let (completions, troubles) = asked.of(&[&hiccup]);
    assert_eq!(completions.unwrap(), expected);
    assert_eq!(troubles.len(), 2, "{troubles:?}");
}

#[test]
fn every_server_is_asked_and_one_that_is_away_for_seconds_is_waited_for() {
    let (asked, good) = (Asked::new(), Served::start(honest));
    let expected = asked.of(&[&good]).0.unwrap();
    let bad = [(); 4].map(|()| Served::start(|_, _| (500, "out of memory".into())));
    let (completions, _) = asked.of(&[&bad[0], &bad[1], &good, &bad[2], &bad[3]]);
    assert_eq!(completions.unwrap(), expected);
    // Each of the six completions is refused three times.
    let away = |before: usize, answer| if before < 18 { (503, "starting".into()) } else { honest(before, answer) };
    let (completions, troubles) = asked.of(&[&Served::start(away)]);
    assert_eq!(completions.unwrap(), expected);
    assert!(troubles[0].contains("answered 503: starting; it is busy, starting"), "{troubles:?}");
}

#[test]
fn a_server_that_fails_stops_the_run_and_a_resumed_one_equals_an_unbroken_one() {
    let root = tempfile::tempdir().unwrap();
    let [unbroken, broken] = ["unbroken", "broken"].map(|name| root.path().join(name));
    let good = Served::start(honest);
    let more = ["--steps", "2", "--set", "rollout.resample_tied=0"];
    run(&unbroken, &with(&good.url, &more));
    // It answers a step of eight completions, and two completions of the next step.
    let fails = Served::start(
        |before, answer| if before < 10 { honest(before, answer) } else { (500, "out of memory".into()) },
    );
    let (code, said) = output(&broken, &with(&fails.url, &more));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&fails.url) && said.contains("answered 500: out of memory; its log says more"), "{said}");
    assert!(broken.join("checkpoint-1").is_dir() && !broken.join("completions/step_00002.jsonl").exists());
    run(&broken, &with(&good.url, &[&more[..], &["--resume", broken.to_str().unwrap()]].concat()));
    assert_same(&unbroken, &broken);
}

#[test]
fn one_step_ahead_the_adapter_of_the_step_before_writes_and_the_run_repeats() {
    let root = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| root.path().join(name));
    let served = Served::start(honest);
    let more = ["--steps", "3", "--steps-ahead", "1", "--set", "rollout.resample_tied=0"];
    run(&first, &with(&served.url, &more));
    run(&second, &with(&served.url, &more));
    assert_same(&first, &second);
    let lags: Vec<_> = steps(&first).iter().map(|record| record["sampling/policy_lag"].clone()).collect();
    assert_eq!(lags, [0.0, 1.0, 1.0]);
    assert!(steps(&first)[2]["sampling/sampling_logp_difference/max"].as_f64().unwrap() > 1e-4);
}

#[test]
fn what_cannot_be_served_is_refused_before_anything_is_written() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let served = Served::start(honest);
    let other = foreign(1.0);
    let refused = |more: &[&str], expected: &[&str]| {
        let (code, said) = output(&dir, more);
        assert_eq!(code, Some(2), "{said}");
        expected.iter().for_each(|expected| assert!(said.contains(expected), "{said}, expected {expected}"));
        assert!(!dir.exists());
    };
    refused(&["--rollouts", &served.url], &["rollout.servers", "add --lora-r"]);
    refused(&with("localhost:8000", &[]), &["\"localhost:8000\" (rollout.servers)", "http://localhost:8000"]);
    refused(&with("http://127.0.0.1:9", &[]), &["--rollouts http://127.0.0.1:9: no answer", "is it up"]);
    for again in ["/", "/v1/"] {
        let twice = format!("http://127.0.0.1:9,http://127.0.0.1:9{again}");
        refused(&with(&twice, &[]), &["rollout.servers", "expected each server once"]);
    }
    refused(&with(&served.url, &["--temperature", "3"]), &["rollout.temperature", "vLLM takes no other"]);
    refused(&with(&other.url, &[]), &[&other.url, "differ from those of builtin by 1.0", "export --merge"]);
    // Weights that are near to the trainer's are others too.
    for (nats, found) in [(0.12, "differ from those of builtin by 0.1"), (0.19, "expected less than 0.1")] {
        let near = foreign(nats);
        refused(&with(&near.url, &[]), &[&near.url, found]);
    }
    // Of one completion both are sure.
    let asked = AtomicUsize::new(0);
    let alike_at_first = changing(move |answer| {
        if asked.fetch_add(1, Ordering::SeqCst) > 0 {
            shift(answer, 1.0);
        }
    });
    refused(&with(&alike_at_first.url, &[]), &[&alike_at_first.url, "differ from those of builtin by 0."]);
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    for closed in ["/proc/adapters", file.to_str().unwrap(), &format!("{}/below", file.display())] {
        let set = format!("rollout.adapter_dir={closed}");
        let expected = format!("rollout.adapter_dir {closed}: no adapter can be written there: ");
        refused(&with(&served.url, &["--set", &set]), &[&expected]);
    }
    let long = ["--set", "rollout.max_completion_length=510"];
    refused(&with(&served.url, &long), &["more than the 512 positions"]);
}

#[test]
fn an_adapter_that_a_server_lists_is_loaded_whatever_it_answered_to_the_request() {
    let (asked, good, denying) = (Asked::new(), Served::start(honest), Served::denying());
    let expected = asked.of(&[&good]).0.unwrap();
    let (completions, troubles) = asked.of(&[&denying]);
    assert_eq!((completions.unwrap(), troubles), (expected, Vec::new()));
    assert_eq!(denying.loaded().len(), 1, "it is asked once");
}

#[test]
fn a_server_that_was_started_again_is_not_said_to_keep_the_adapters_from_before() {
    let (asked, served) = (Asked::new(), Served::start(honest));
    // With the version at its end, as clients of OpenAI's are given it.
    let (servers, _) = asked.opened(vec![format!("{}/v1/", served.url)], 60.0);
    let mut troubles = Vec::new();
    let mut hear = |event: RolloutEvent<'_>| {
        if let RolloutEvent::Trouble(text) = event {
            troubles.push(text.to_owned());
        }
    };
    servers.load_adapter(&asked.policy, &mut hear).unwrap();
    served.restart();
    let model = ModelConfig { lora_r: 4, ..Config::preset("builtin").unwrap().model };
    let other = Policy::load(&model, Seed::root(1), &Device::Cpu).unwrap();
    servers.load_adapter(&other, &mut hear).unwrap();
    assert_eq!(troubles, Vec::<String>::new());
    let loaded = served.loaded();
    assert!(loaded.len() == 2 && served.adapters() == loaded[1..], "{loaded:?}");
    assert_eq!(names(&asked.dir.path().join("adapters")), BTreeSet::from([loaded[1].clone()]));
}

#[test]
fn servers_are_told_of_adapters_by_the_directory_s_name_as_it_was_given() {
    let (mut asked, served) = (Asked::new(), Served::start(honest));
    let [place, link] = ["place", "link"].map(|name| asked.dir.path().join(name));
    fs::create_dir(&place).unwrap();
    std::os::unix::fs::symlink(&place, &link).unwrap();
    asked.config.adapter_dir = link.to_str().unwrap().to_owned();
    asked.of(&[&served]).0.unwrap();
    let paths = served.paths();
    assert_eq!(paths.iter().map(|path| Path::new(path).parent()).collect::<Vec<_>>(), [Some(link.as_path())]);
}

#[test]
fn a_server_that_is_started_again_within_a_batch_is_told_its_adapter_once_and_goes_on() {
    let (asked, good) = (Asked::new(), Served::start(honest));
    let expected = asked.of(&[&good]).0.unwrap();
    let unknown =
        |_: usize, _: Value| (404, json!({ "error": { "message": "The model does not exist." } }).to_string());
    for (served, is_mended) in [(Served::start(honest), true), (Served::start(unknown), false)] {
        let (servers, config) = asked.opened(urls(&[&served]), 60.0);
        let policy = &asked.policy;
        let requests = &GroupRequest::all(&asked.prompts, config.num_generations, Seed::root(7));
        let loaded = servers.load_adapter(policy, &mut |_| ()).unwrap();
        served.restart();
        // Six requests at once find it without the adapter.
        let completions = servers.sample(&loaded, Assignment { policy, config: &config, requests }, &mut |_| ());
        let told = served.loaded();
        assert!(told.len() == 2 && told[0] == told[1], "{told:?}");
        served.restart();
        let again = servers.sample(&loaded, Assignment { policy, config: &config, requests }, &mut |_| ());
        assert_eq!((served.loaded().len(), again.is_ok()), (3, is_mended), "it is told at each restart");
        match completions {
            Ok(completions) => assert!(is_mended && completions == expected, "{completions:?}"),
            Err(RolloutError::Server(fault)) => {
                assert!(!is_mended && fault.hint.starts_with("it has lost the adapter and was told"), "{fault}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// The names in a directory.
fn names(dir: &Path) -> BTreeSet<String> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_run_that_goes_on_leaves_none_of_its_adapters_where_others_keep_theirs_and_none_on_servers() {
    let root = tempfile::tempdir().unwrap();
    let [own, shared] = ["run", "shared"].map(|name| root.path().join(name));
    fs::create_dir_all(shared.join("grpo-2048-of-another-run")).unwrap();
    let served = Served::start(honest);
    let directory = format!("rollout.adapter_dir={}", shared.display());
    let more = ["--set", directory.as_str(), "--steps"];
    let is_only = |adapter: &str| {
        assert_eq!(names(&shared), BTreeSet::from([adapter.to_owned(), "grpo-2048-of-another-run".to_owned()]));
        assert_eq!(names(&own.join("adapters")), BTreeSet::from([format!("{adapter}.made")]));
    };
    run(&own, &with(&served.url, &[&more[..], &["1"]].concat()));
    let first = served.adapters();
    is_only(&first[0]);

    // As if it had been killed while it wrote another one.
    let unfinished = shared.join(".partial-adapter");
    fs::create_dir(&unfinished).unwrap();
    fs::write(own.join("adapters/.partial-adapter.made"), unfinished.to_str().unwrap()).unwrap();
    run(&own, &with(&served.url, &[&more[..], &["2", "--resume", own.to_str().unwrap()]].concat()));
    let second = served.adapters();
    assert!(second.len() == 1 && second != first, "{first:?} {second:?}");
    is_only(&second[0]);
}
