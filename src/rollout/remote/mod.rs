//! Completions by servers of vLLM.
//!
//! Takes the policy, whose adapters it brings to every server when they have changed, and prompts; gives what
//! [`generate`](super::generate) gives, each completion the moment it arrives. A server that fails is asked again, others
//! first; what none of them gives is an error, never a completion.

mod adapter;
mod answer;
mod http;
mod outage;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::RolloutConfig;
use crate::groups::Groups;
use crate::policy::Policy;
use crate::prompt::Prompt;
use crate::seed::Seed;

use super::decoding::Row;
use super::{Completion, RolloutError, RolloutEvent, Streams, check_length};
use adapter::Adapter;
use http::{Client, Fault};
use outage::Outage;

/// How often something is asked for before it is given up.
const ATTEMPTS: usize = 3;
/// Wait before the second time, and twice that before the third.
const PAUSE: Duration = Duration::from_millis(500);
/// Tokens of the completion by which a server's weights are compared with ours.
const PROBE_TOKENS: usize = 32;

/// What is wrong with a server.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{server}: {found}; {hint}")]
pub struct ServerFault {
    /// Its address.
    pub server: String,
    /// What it did, or did not do.
    pub found: String,
    /// What may help.
    pub hint: String,
}

/// One server.
#[derive(Debug)]
struct Server {
    url: String,
    /// Its name for the model without adapters.
    model: String,
    /// Adapters that were brought to it and are there still, oldest first.
    adapters: Mutex<Vec<Adapter>>,
    outage: Mutex<Outage>,
}

/// The servers of a run.
#[derive(Debug)]
pub struct Servers {
    servers: Vec<Server>,
    client: Client,
    at_once: usize,
    dir: PathBuf,
    /// Spent on bringing adapters, since it was last asked for.
    loading: Mutex<Duration>,
}

/// An adapter, and the servers that have it: what processes that train together tell each other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Brought {
    /// Name of the adapter.
    adapter: String,
    /// Addresses of the servers.
    live: Vec<String>,
}

/// What a thread tells of its requests.
enum News {
    Completion(usize, Result<Completion, RolloutError>),
    Trouble(String),
}

/// What is asked of servers, and what all threads of a batch work on.
#[derive(Debug, Clone, Copy)]
pub struct Assignment<'a> {
    /// Whose tokens they are.
    pub policy: &'a Policy,
    /// How it is sampled.
    pub config: &'a RolloutConfig,
    /// Each is asked `num_generations` times.
    pub prompts: &'a [Prompt],
    /// Chance of the completions.
    pub streams: Streams,
}

impl Servers {
    /// The servers that the configuration names, asked for their models; none where it names none. `longest`: tokens of
    /// the longest prompt.
    ///
    /// # Errors
    /// [`RolloutError::Unfit`] for one that does not answer, or that has too little room.
    pub fn open(config: &RolloutConfig, longest: usize) -> Result<Option<Servers>, RolloutError> {
        if config.servers.is_empty() {
            return Ok(None);
        }
        let client = Client::new(Duration::from_secs_f64(config.server_seconds));
        let tokens = longest + config.max_completion_length;
        let open = |url: &String| {
            let url = url.trim_end_matches('/').to_owned();
            let model = base_model(&client, &url, tokens);
            let model = model.map_err(|fault| RolloutError::Unfit(fault.of(&url)))?;
            Ok(Server { url, model, adapters: Mutex::default(), outage: Mutex::default() })
        };
        let servers = config.servers.iter().map(open).collect::<Result<_, RolloutError>>()?;
        let dir = PathBuf::from(&config.adapter_dir);
        Ok(Some(Servers { servers, client, at_once: config.server_requests, dir, loading: Mutex::default() }))
    }

    /// Names the run's own directory, where adapters go unless the configuration names another. For the one process that
    /// [brings](Servers::bring) them.
    pub fn keep_adapters_in(&mut self, run: &Path) {
        if self.dir.as_os_str().is_empty() {
            self.dir = run.join("adapters");
            adapter::sweep(&self.dir);
        }
    }

    /// What each server's model writes after `prompt` without an adapter, a few tokens, with the server's address.
    ///
    /// # Errors
    /// [`RolloutError::Unfit`] for one whose answer is none.
    pub fn probe(
        &self,
        policy: &Policy,
        prompt: &Prompt,
        config: &RolloutConfig,
    ) -> Result<Vec<(String, Completion)>, RolloutError> {
        let longest = PROBE_TOKENS.min(config.max_completion_length);
        // Nothing is cut off the distribution that is compared.
        let whole = RolloutConfig { top_p: 1.0, top_k: 0, min_p: 0.0, ..config.clone() };
        let config = RolloutConfig { max_completion_length: longest, num_generations: 1, ..whole };
        let prompts = [prompt.clone()];
        let batch = Assignment { policy, config: &config, prompts: &prompts, streams: Seed::root(0).into() };
        let probe = |server: &Server| {
            let answered = self.ask(server, &server.model, &batch, 0);
            Ok((server.url.clone(), answered.map_err(|fault| RolloutError::Unfit(fault.of(&server.url)))?))
        };
        self.servers.iter().map(probe).collect()
    }

    /// Has every server know the policy's adapter as it is now. Of processes that train together one does it, before the
    /// others ask for completions.
    ///
    /// # Errors
    /// [`RolloutError::Server`] when no server takes it, after some attempts.
    pub fn bring(&self, policy: &Policy, observer: &mut dyn FnMut(RolloutEvent<'_>)) -> Result<Brought, RolloutError> {
        let begin = Instant::now();
        let brought = self.brought(policy, observer);
        *held(&self.loading) += begin.elapsed();
        brought
    }

    /// What [`generate`](super::generate) gives, by the servers that were brought the adapter.
    ///
    /// # Errors
    /// [`RolloutError::Server`] when no server does what it is asked for, after some attempts.
    pub fn generate(
        &self,
        brought: &Brought,
        batch: Assignment<'_>,
        observer: &mut dyn FnMut(RolloutEvent<'_>),
    ) -> Result<Groups<Completion>, RolloutError> {
        let Assignment { policy, config, prompts, .. } = batch;
        check_length(policy, prompts, config)?;
        let total = prompts.len() * config.num_generations;
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = |sender: Sender<News>| {
            while !failed.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= total {
                    break;
                }
                let completion = self.complete(&batch, index, brought, &sender);
                failed.fetch_or(completion.is_err(), Ordering::Relaxed);
                // Somebody listens until all threads have ended.
                let _ = sender.send(News::Completion(index, completion));
            }
        };
        let completions = thread::scope(|scope| {
            let (sender, receiver) = channel();
            for _ in 0..self.at_once.min(total) {
                let sender = sender.clone();
                scope.spawn(|| work(sender));
            }
            drop(sender);
            collect(receiver, total, observer)
        });
        let counted = |server: &Server| held(&server.outage).counted(&server.url);
        self.servers.iter().filter_map(counted).for_each(|text| observer(RolloutEvent::Trouble(&text)));
        Ok(Groups::new(config.num_generations, completions?))
    }

    /// Time that was spent on bringing adapters since this was last asked.
    pub fn take_loading(&self) -> Duration {
        std::mem::take(&mut *held(&self.loading))
    }

    /// One completion, asked for until a server gives it.
    fn complete(
        &self,
        batch: &Assignment<'_>,
        index: usize,
        brought: &Brought,
        sender: &Sender<News>,
    ) -> Result<Completion, RolloutError> {
        let Brought { adapter, live } = brought;
        let live: Vec<&Server> = self.servers.iter().filter(|server| live.contains(&server.url)).collect();
        // Processes that train together begin with different ones.
        let (first, mut attempt) = (batch.streams.number(index) as usize, 0);
        loop {
            let server = live[(first + attempt) % live.len()];
            let fault = match self.ask(server, adapter, batch, index) {
                Ok(completion) => return Ok(completion),
                Err(fault) => fault.of(&server.url),
            };
            attempt += 1;
            if attempt == ATTEMPTS {
                return Err(RolloutError::Server(fault));
            }
            if let Some(text) = held(&server.outage).failed(&format!("completion {index}"), &fault) {
                let _ = sender.send(News::Trouble(text));
            }
            thread::sleep(PAUSE * attempt as u32);
        }
    }

    /// One completion by what `server` calls `model`.
    fn ask(&self, server: &Server, model: &str, batch: &Assignment<'_>, index: usize) -> Result<Completion, Fault> {
        let Assignment { policy, config, prompts, streams } = *batch;
        let prompt = &prompts[index / config.num_generations];
        let question = answer::question(model, prompt, config, policy.tokenizer().stop_ids(), streams.of(index));
        let answer = self.client.ask(&format!("{}/inference/v1/generate", server.url), &question)?;
        let row = Row::one(prompts, config.num_generations, streams, index);
        answer::completion(answer, model, row, policy, config.max_completion_length)
    }

    fn brought(&self, policy: &Policy, observer: &mut dyn FnMut(RolloutEvent<'_>)) -> Result<Brought, RolloutError> {
        let adapter = Adapter::write(policy, &self.dir)?;
        let mut attempt = 0;
        loop {
            let (mut live, mut last) = (Vec::new(), None);
            for server in &self.servers {
                let brought = self.bring_to(server, &adapter).map_err(|fault| fault.of(&server.url));
                let told = match &brought {
                    Ok(()) => held(&server.outage).is_back(&server.url),
                    Err(fault) => held(&server.outage).left_out(&adapter.name, fault),
                };
                told.iter().for_each(|text| observer(RolloutEvent::Trouble(text)));
                match brought {
                    Ok(()) => live.push(server),
                    Err(fault) => last = Some(fault),
                }
            }
            attempt += 1;
            match last {
                Some(fault) if live.is_empty() && attempt == ATTEMPTS => return Err(RolloutError::Server(fault)),
                Some(_) if live.is_empty() => thread::sleep(PAUSE * attempt as u32),
                _ => {
                    self.forget_older(&adapter, &live, observer);
                    let live = live.into_iter().map(|server| server.url.clone()).collect();
                    return Ok(Brought { adapter: adapter.name, live });
                }
            }
        }
    }

    /// Loads the adapter there, unless it is there. What a server says of itself counts, not that it agreed.
    fn bring_to(&self, server: &Server, adapter: &Adapter) -> Result<(), Fault> {
        let (client, url) = (&self.client, &server.url);
        if !knows(client, url, &adapter.name)? {
            let body = json!({ "lora_name": adapter.name, "lora_path": adapter.path });
            client.tell(&format!("{url}/v1/load_lora_adapter"), &body)?;
            if !knows(client, url, &adapter.name)? {
                let found = format!("its models are without {}, which it said that it loaded", adapter.name);
                return Err(Fault { found, hint: "serve with one API server: --api-server-count 1" });
            }
        }
        let mut adapters = held(&server.adapters);
        adapters.retain(|known| known != adapter);
        adapters.push(adapter.clone());
        Ok(())
    }

    /// Unloads what was brought before `adapter`, and removes the files that no server may still read.
    fn forget_older(&self, adapter: &Adapter, live: &[&Server], observer: &mut dyn FnMut(RolloutEvent<'_>)) {
        let mut old = Vec::new();
        for server in live {
            let mut adapters = held(&server.adapters);
            let newest = adapters.len() - 1;
            for older in adapters.drain(..newest) {
                let body = json!({ "lora_name": older.name });
                if let Err(fault) = self.client.tell(&format!("{}/v1/unload_lora_adapter", server.url), &body) {
                    let fault = fault.of(&server.url);
                    observer(RolloutEvent::Trouble(&format!("adapter {} stays: {fault}", older.name)));
                }
                old.push(older);
            }
        }
        let is_held = |older: &Adapter| self.servers.iter().any(|server| held(&server.adapters).contains(older));
        old.iter().filter(|older| *older != adapter && !is_held(older)).for_each(Adapter::remove);
    }
}

impl Fault {
    fn of(self, server: &str) -> ServerFault {
        ServerFault { server: server.to_owned(), found: self.found, hint: self.hint.to_owned() }
    }
}

/// Hands on what the threads tell until all have ended; then the completions in their order, or the first error.
fn collect(
    news: Receiver<News>,
    total: usize,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) -> Result<Vec<Completion>, RolloutError> {
    let mut completions = vec![None; total];
    let (mut tokens, mut finished, mut error) = (0, 0, None);
    for news in news {
        match news {
            News::Completion(index, Ok(completion)) => {
                observer(RolloutEvent::Finished { index, completion: &completion });
                (tokens, finished) = (tokens + completion.ids.len(), finished + 1);
                observer(RolloutEvent::Tokens { tokens, finished });
                completions[index] = Some(completion);
            }
            News::Completion(_, Err(found)) => error = error.or(Some(found)),
            News::Trouble(text) => observer(RolloutEvent::Trouble(&text)),
        }
    }
    match error {
        Some(error) => Err(error),
        None => Ok(completions.into_iter().flatten().collect()),
    }
}

/// The server's name for the model itself, if it has room for so many tokens.
fn base_model(client: &Client, url: &str, tokens: usize) -> Result<String, Fault> {
    let models = models(client, url)?;
    let base = models.iter().find(|model| model.get("parent").is_none_or(Value::is_null));
    let Some(name) = base.and_then(|base| base["id"].as_str()) else {
        return Err(Fault::rubbish("no model in /v1/models"));
    };
    match base.and_then(|base| base["max_model_len"].as_u64()) {
        Some(room) if room < tokens as u64 => Err(Fault {
            found: format!("room for {room} tokens, a prompt and rollout.max_completion_length take {tokens}"),
            hint: "raise --max-model-len there, or lower --max-completion-length here",
        }),
        _ => Ok(name.to_owned()),
    }
}

/// Whether the server lists a model of this name.
fn knows(client: &Client, url: &str, name: &str) -> Result<bool, Fault> {
    Ok(models(client, url)?.iter().any(|model| model["id"] == name))
}

fn models(client: &Client, url: &str) -> Result<Vec<Value>, Fault> {
    match client.get(&format!("{url}/v1/models"))?.get_mut("data").map(Value::take) {
        Some(Value::Array(models)) => Ok(models),
        _ => Err(Fault::rubbish("no list in /v1/models")),
    }
}

/// What a mutex holds; nothing here leaves it half changed.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
