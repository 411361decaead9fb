//! A server with vLLM's protocol that samples by this program's decoder.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use grpo_2048::config::{Config, ModelConfig, RolloutConfig};
use grpo_2048::policy::{Device, Policy};
use grpo_2048::prompt::Prompt;
use grpo_2048::rollout::{FinishReason, generate};
use grpo_2048::seed::Seed;
use serde_json::{Value, json};

/// The server's name of the model.
const BASE: &str = "served";

/// The most tokens that the check before a run asks for, by several requests, and no other does.
const CHECKED_TOKENS: u64 = 32;

/// What a server makes of its answer to a request for tokens. The first argument is the number of earlier requests, besides those
/// of the check before a run.
type Mischief = Box<dyn Fn(usize, Value) -> Answer + Send + Sync>;

/// Status and body.
pub type Answer = (u16, String);

/// A correct answer.
pub fn honest(_: usize, answer: Value) -> Answer {
    (200, answer.to_string())
}

/// The model of all tests, with the adapter in the directory `adapter`, or a new one.
pub fn policy(adapter: &str) -> Policy {
    let config = Config::preset("builtin").unwrap().model;
    let config = ModelConfig { adapter: adapter.into(), lora_r: 4, ..config };
    Policy::load(&config, Seed::root(0), &Device::Cpu).unwrap()
}

/// A model that writes, and what it has written. The same request has the same answer, as from vLLM if it is started to, and is made
/// in one run of a test as in the others.
struct Model {
    policy: Policy,
    written: Mutex<BTreeMap<String, Value>>,
}

/// The models of all servers by the files of their adapters, of which several runs write the same.
static MODELS: Mutex<BTreeMap<Vec<u8>, Arc<Model>>> = Mutex::new(BTreeMap::new());

impl Model {
    /// The model with the adapter in the directory `adapter`, or a new one.
    fn of(adapter: &str) -> Arc<Model> {
        let names = if adapter.is_empty() { &[][..] } else { &["adapter_config.json", "adapter_model.safetensors"] };
        let files = names.iter().flat_map(|name| fs::read(Path::new(adapter).join(name)).unwrap());
        let files: Vec<u8> = files.collect();
        if let Some(model) = MODELS.lock().unwrap().get(&files) {
            return Arc::clone(model);
        }
        let model = Arc::new(Model { policy: policy(adapter), written: Mutex::default() });
        Arc::clone(MODELS.lock().unwrap().entry(files).or_insert(model))
    }

    fn answer(&self, body: &Value) -> Value {
        let asked = format!("{} {}", body["token_ids"], body["sampling_params"]);
        let known = self.written.lock().unwrap().get(&asked).cloned();
        let mut answer = known.unwrap_or_else(|| {
            let answer = written(&self.policy, body);
            self.written.lock().unwrap().insert(asked, answer.clone());
            answer
        });
        answer["model"] = body["model"].clone();
        answer
    }
}

/// A running server.
pub struct Served {
    pub url: String,
    state: Arc<State>,
}

/// What a server makes of the request to load an adapter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loading {
    Done,
    /// It answers that it has loaded the adapter without loading it.
    Forgotten,
    /// It loads the adapter and answers that it has not.
    Denied,
}

struct State {
    mischief: Mischief,
    loading: Loading,
    /// The loaded adapters by name, and the model without an adapter.
    models: Mutex<BTreeMap<String, Arc<Model>>>,
    /// Number of requests for tokens, besides those of the check before a run.
    asked: Mutex<usize>,
    /// Names and paths of all adapters that were loaded at some time.
    loaded: Mutex<Vec<(String, String)>>,
}

impl Served {
    /// Starts a server, which runs until the test ends.
    pub fn start(mischief: impl Fn(usize, Value) -> Answer + Send + Sync + 'static) -> Served {
        Served::with(Box::new(mischief), Loading::Done)
    }

    /// A server that does not load adapters.
    pub fn forgetful() -> Served {
        Served::with(Box::new(honest), Loading::Forgotten)
    }

    /// A server that loads adapters and answers that it has failed.
    pub fn denying() -> Served {
        Served::with(Box::new(honest), Loading::Denied)
    }

    fn with(mischief: Mischief, loading: Loading) -> Served {
        let models = Mutex::new(BTreeMap::from([(BASE.to_owned(), Model::of(""))]));
        let state = State { mischief, loading, models, asked: Mutex::default(), loaded: Mutex::default() };
        let state = Arc::new(state);
        let shared = Arc::clone(&state);
        Served { url: serve(move |path, body| shared.answer(path, body)), state }
    }

    /// Forgets all adapters, as a server does that is started again.
    pub fn restart(&self) {
        self.state.models.lock().unwrap().retain(|name, _| name == BASE);
    }

    /// Names of the loaded adapters.
    pub fn adapters(&self) -> Vec<String> {
        self.state.models.lock().unwrap().keys().filter(|name| *name != BASE).cloned().collect()
    }

    /// Names of all adapters that were loaded at some time, in order.
    pub fn loaded(&self) -> Vec<String> {
        self.state.loaded.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }

    /// The paths that it was told of these.
    pub fn paths(&self) -> Vec<String> {
        self.state.loaded.lock().unwrap().iter().map(|(_, path)| path.clone()).collect()
    }
}

impl State {
    fn answer(&self, path: &str, body: Value) -> Answer {
        let named = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        match path {
            "/v1/models" => {
                let models = self.models.lock().unwrap();
                let models = models.keys().map(|name| {
                    let parent = (name != BASE).then_some(BASE);
                    json!({ "id": name, "object": "model", "parent": parent, "max_model_len": 512 })
                });
                (200, json!({ "object": "list", "data": models.collect::<Vec<_>>() }).to_string())
            }
            "/v1/load_lora_adapter" => {
                self.loaded.lock().unwrap().push((named("lora_name"), named("lora_path")));
                if self.loading != Loading::Forgotten {
                    let model = Model::of(&named("lora_path"));
                    self.models.lock().unwrap().insert(named("lora_name"), model);
                }
                match self.loading {
                    Loading::Denied => (500, json!({ "error": { "message": "no answer of a worker" } }).to_string()),
                    Loading::Done | Loading::Forgotten => (200, "Success".into()),
                }
            }
            "/v1/unload_lora_adapter" => match self.models.lock().unwrap().remove(&named("lora_name")) {
                Some(_) => (200, "Success".into()),
                None => (404, json!({ "error": { "message": "no such adapter" } }).to_string()),
            },
            "/inference/v1/generate" => {
                let before = {
                    let mut asked = self.asked.lock().unwrap();
                    let before = *asked;
                    *asked += usize::from(body["sampling_params"]["max_tokens"] != CHECKED_TOKENS);
                    before
                };
                let model = self.models.lock().unwrap().get(&named("model")).cloned();
                match model {
                    Some(model) => (self.mischief)(before, model.answer(&body)),
                    None => (404, json!({ "error": { "message": "The model does not exist." } }).to_string()),
                }
            }
            _ => (404, json!({ "detail": "Not Found" }).to_string()),
        }
    }
}

/// A completion in vLLM's format, but for the name of the model, sampled with the seed of the request.
fn written(policy: &Policy, body: &Value) -> Value {
    let sampling = &body["sampling_params"];
    assert_eq!((&sampling["n"], &sampling["logprobs"]), (&json!(1), &json!(0)));
    let ids: Vec<u32> = serde_json::from_value(body["token_ids"].clone()).unwrap();
    let prompt = Prompt { ids, ..Prompt::default() };
    let config = RolloutConfig {
        num_generations: 1,
        max_completion_length: sampling["max_tokens"].as_u64().unwrap() as usize,
        temperature: sampling["temperature"].as_f64().unwrap(),
        ..Config::preset("builtin").unwrap().rollout
    };
    let seed = Seed::root(sampling["seed"].as_u64().unwrap());
    let completion = generate(policy, &[prompt], &config, seed, &mut |_| ()).unwrap().into_items().remove(0);
    let pairs = completion.ids.iter().zip(&completion.logprobs);
    let content: Vec<Value> = pairs.map(|(id, logprob)| json!({ "token_id": id, "logprob": logprob })).collect();
    let reason = if completion.finish == FinishReason::Stop { "stop" } else { "length" };
    json!({
        "choices": [{
            "index": 0,
            "finish_reason": reason,
            "token_ids": completion.ids,
            "logprobs": { "content": content },
        }],
    })
}

/// Answers requests, by their paths and their JSON, until the test ends. Returns the address.
pub fn serve(answer: impl Fn(&str, Value) -> Answer + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let Some((path, body)) = read(&mut stream) else { return };
                let (status, body) = answer(&path, body);
                let length = body.len();
                let head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
                let _ = stream.write_all((head + &body).as_bytes());
            });
        }
    });
    url
}

/// Reads the path and the JSON of a request.
fn read(stream: &mut TcpStream) -> Option<(String, Value)> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                let path = head.split(' ').nth(1)?.to_owned();
                return Some((path, serde_json::from_str(body).unwrap_or(Value::Null)));
            }
        }
        let count = stream.read(&mut chunk).ok()?;
        if count == 0 {
            return None;
        }
        bytes.extend_from_slice(&chunk[..count]);
    }
}
