//! Samples completions by vLLM servers.
//!
//! Takes the policy, whose adapter is loaded on every server when it has changed, and prompts; returns the same as
//! [`sample`](super::sample), with each completion as soon as it arrives. A request that fails is repeated, with
//! other servers first. If no server answers, the result is an error.

mod adapter;
mod answer;
mod collect;
mod http;
mod models;
mod outage;
mod patience;
mod probe;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::{RolloutConfig, server_root};
use crate::policy::Policy;
use crate::prompt::Prompt;

use super::decoding::Row;
use super::error::ServerFault;
use super::identity::{Assignment, rows};
use super::{Completion, CompletionId, RolloutError, RolloutEvent, check_length};
use adapter::{Adapter, AdapterDir};
use collect::{RequestMessage, collect};
use http::{AnswerFault, Client};
use models::{base_model, knows, models};
use outage::Outage;
use patience::Patience;
pub use probe::Probed;

#[derive(Debug)]
struct Server {
    url: String,
    /// The server's name of the model without adapters.
    model: String,
    /// Number of tokens that a prompt and its completion may have together there, if it tells.
    room: Option<usize>,
    /// The adapters that are loaded on it, oldest first.
    adapters: Mutex<Vec<Adapter>>,
    /// Whether it has lost its adapter and refused to load it again, and has not answered with a completion since.
    refused: Mutex<bool>,
    outage: Mutex<Outage>,
}

/// The servers of a run.
#[derive(Debug)]
pub struct Servers {
    servers: Vec<Server>,
    client: Client,
    /// Maximum number of simultaneous requests.
    at_once: usize,
    /// Where adapters are written.
    dir: AdapterDir,
    /// Whether the policy is the model that is served, so that no adapter is written and loaded.
    pub without_adapter: bool,
    /// Time spent on loading adapters since it was last taken.
    loading: Mutex<Duration>,
}

/// An adapter and the servers that have loaded it, in the form that processes exchange.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadedAdapter {
    /// None: the model without adapters, which each server names as it likes.
    adapter: Option<Adapter>,
    /// The addresses of the servers.
    live: Vec<String>,
}

/// A completion to be sampled by any server.
struct Request<'a> {
    policy: &'a Policy,
    config: &'a RolloutConfig,
    prompt: &'a Prompt,
    id: CompletionId,
}

impl Request<'_> {
    /// Requests the completion by the model that `server` names `model`.
    fn ask(&self, client: &Client, server: &Server, model: &str) -> Result<Completion, AnswerFault> {
        let Request { policy, config, prompt, id } = *self;
        let question = answer::question(model, prompt, config, policy.tokenizer().stop_ids(), id.stream());
        let answer = client.ask(&format!("{}/inference/v1/generate", server.url), &question)?;
        answer::completion(answer, model, Row::one(prompt, id, config), policy)
    }
}

impl Servers {
    /// Connects to the servers of the configuration and asks for their models; none if it names no servers. `longest`:
    /// number of tokens of the longest prompt.
    ///
    /// # Errors
    /// [`RolloutError::Unfit`] if a server does not answer or its maximum length is too short.
    pub fn open(config: &RolloutConfig, longest: usize) -> Result<Option<Servers>, RolloutError> {
        if config.servers.is_empty() {
            return Ok(None);
        }
        let client = Client::new(Duration::from_secs_f64(config.server_seconds));
        let tokens = longest + config.max_completion_length;
        let open = |url: &String| {
            let url = server_root(url).to_owned();
            let base = base_model(&client, &url, tokens);
            let (model, room) = base.map_err(|fault| RolloutError::Unfit(fault.of(&url)))?;
            let (adapters, refused, outage) = Default::default();
            Ok(Server { url, model, room, adapters, refused, outage })
        };
        let servers = config.servers.iter().map(open).collect::<Result<_, RolloutError>>()?;
        let (at_once, dir) = (config.server_requests, AdapterDir::named(&config.adapter_dir));
        Ok(Some(Servers { servers, client, at_once, dir, without_adapter: false, loading: Mutex::default() }))
    }

    /// Number of tokens that every server has room for, a prompt and its completion together; none if none tells.
    pub fn room(&self) -> Option<usize> {
        self.servers.iter().filter_map(|server| server.room).min()
    }

    /// Has adapters written below the directory of the run, unless the configuration names another. Those that the run has
    /// left there when it was killed are removed, and unloaded after the next one is loaded. For the process that
    /// [loads](Servers::load_adapter) them.
    pub fn keep_adapters_in(&mut self, run: &Path) {
        let left = self.dir.settle(&run.join("adapters"));
        if left.is_empty() {
            return;
        }
        for server in &self.servers {
            // One that does not answer now is told of when an adapter is loaded on it.
            let listed = models(&self.client, &server.url).unwrap_or_default();
            let has = |adapter: &&Adapter| listed.iter().any(|model| model["id"] == adapter.name);
            server.adapters.lock().extend(left.iter().filter(has).cloned());
        }
    }

    /// Loads the policy's current adapter on every server. Of several processes one does it, before the others request
    /// completions.
    ///
    /// # Errors
    /// [`RolloutError::Server`] if no server loads it as often as it is asked.
    pub fn load_adapter(
        &self,
        policy: &Policy,
        observer: &mut dyn FnMut(RolloutEvent<'_>),
    ) -> Result<LoadedAdapter, RolloutError> {
        if self.without_adapter {
            let live = self.servers.iter().map(|server| server.url.clone()).collect();
            return Ok(LoadedAdapter { adapter: None, live });
        }
        let begin = Instant::now();
        let loaded = self.load_on_all(policy, observer);
        *self.loading.lock() += begin.elapsed();
        loaded
    }

    /// Returns the same as [`sample`](super::sample), sampled by the servers that have loaded the adapter.
    ///
    /// # Errors
    /// [`RolloutError::Server`] if a completion fails as often as it is requested.
    pub fn sample(
        &self,
        loaded: &LoadedAdapter,
        batch: Assignment<'_>,
        observer: &mut dyn FnMut(RolloutEvent<'_>),
    ) -> Result<Vec<Completion>, RolloutError> {
        let Assignment { policy, config, requests } = batch;
        check_length(policy, requests.iter().map(|request| request.prompt), config)?;
        let all: Vec<_> = rows(requests).map(|(prompt, id)| Request { policy, config, prompt, id }).collect();
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = |sender: Sender<RequestMessage>| {
            while !failed.load(Ordering::Relaxed) {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(request) = all.get(place) else { break };
                let completion = self.complete(request, loaded, &failed, &sender);
                failed.fetch_or(completion.is_err(), Ordering::Relaxed);
                // The receiver exists until all threads have ended.
                let _ = sender.send(RequestMessage::Completion(place, completion));
            }
        };
        let completions = thread::scope(|scope| {
            let (sender, receiver) = channel();
            for _ in 0..self.at_once.min(all.len()) {
                let sender = sender.clone();
                scope.spawn(|| work(sender));
            }
            drop(sender);
            collect(receiver, all.len(), observer)
        });
        let counted = |server: &Server| server.outage.lock().counted(&server.url);
        self.servers.iter().filter_map(counted).for_each(|text| observer(RolloutEvent::Trouble(&text)));
        completions
    }

    /// Takes the time that was spent on loading adapters since the last call.
    pub fn take_loading(&self) -> Duration {
        std::mem::take(&mut *self.loading.lock())
    }

    /// Requests one completion until a server returns it, or patience ends or another completion has `failed`.
    fn complete(
        &self,
        request: &Request<'_>,
        loaded: &LoadedAdapter,
        failed: &AtomicBool,
        sender: &Sender<RequestMessage>,
    ) -> Result<Completion, RolloutError> {
        let LoadedAdapter { adapter, live } = loaded;
        let live: Vec<&Server> = self.servers.iter().filter(|server| live.contains(&server.url)).collect();
        // Completions start with different servers, also those of different processes.
        let (first, mut patience) = (request.id.number as usize, Patience::new(live.len()));
        loop {
            let server = live[(first + patience.attempts) % live.len()];
            let fault = match self.ask(request, server, adapter.as_ref()) {
                Ok(completion) => return Ok(completion),
                Err(fault) => fault,
            };
            let (pause, fault) = (patience.after(&fault), fault.of(&server.url));
            let Some(pause) = pause.filter(|_| !failed.load(Ordering::Relaxed)) else {
                return Err(RolloutError::Server(fault));
            };
            if let Some(text) = server.outage.lock().failed(&format!("completion {}", request.id.index), &fault) {
                let _ = sender.send(RequestMessage::Trouble(text));
            }
            thread::sleep(pause);
        }
    }

    /// Requests a completion of `server`, and once more where it has lost the adapter, as one has that was started again.
    fn ask(
        &self,
        request: &Request<'_>,
        server: &Server,
        adapter: Option<&Adapter>,
    ) -> Result<Completion, AnswerFault> {
        let model = adapter.map_or(&server.model, |adapter| &adapter.name);
        let mut answered = request.ask(&self.client, server, model);
        if let (Err(fault), Some(adapter)) = (&answered, adapter)
            && fault.is_unknown
        {
            self.load_again(server, adapter).map_err(|fault| fault.after_loss(&adapter.name))?;
            answered = request.ask(&self.client, server, model).map_err(AnswerFault::lost);
        }
        if answered.is_ok() {
            *server.refused.lock() = false;
        }
        answered
    }

    /// Loads the adapter that `server` has lost. Of several requests that find it missing one does it while the others wait,
    /// and where the server refuses, none does it again before a completion has arrived.
    fn load_again(&self, server: &Server, adapter: &Adapter) -> Result<(), AnswerFault> {
        let mut refused = server.refused.lock();
        if *refused {
            return Ok(());
        }
        let loaded = self.load_on(server, adapter);
        *refused = loaded.as_ref().is_err_and(|fault| fault.passing.is_none());
        loaded
    }

    fn load_on_all(
        &self,
        policy: &Policy,
        observer: &mut dyn FnMut(RolloutEvent<'_>),
    ) -> Result<LoadedAdapter, RolloutError> {
        let adapter = self.dir.write(policy)?;
        let mut patience = Patience::new(self.servers.len());
        loop {
            let (mut live, mut last) = (Vec::new(), None);
            for server in &self.servers {
                let loaded = self.load_on(server, &adapter);
                let pause = loaded.as_ref().err().and_then(|fault| patience.after(fault));
                let loaded = loaded.map_err(|fault| fault.of(&server.url));
                let told = match &loaded {
                    Ok(()) => server.outage.lock().is_back(&server.url),
                    Err(fault) => server.outage.lock().left_out(&adapter.name, fault),
                };
                told.iter().for_each(|text| observer(RolloutEvent::Trouble(text)));
                match loaded {
                    Ok(()) => live.push(server),
                    Err(fault) => last = Some((fault, pause)),
                }
            }
            match last {
                Some((fault, None)) if live.is_empty() => return Err(RolloutError::Server(fault)),
                Some((_, Some(pause))) if live.is_empty() => thread::sleep(pause),
                _ => {
                    self.forget_older(&adapter, &live, observer);
                    let live = live.into_iter().map(|server| server.url.clone()).collect();
                    return Ok(LoadedAdapter { adapter: Some(adapter), live });
                }
            }
        }
    }

    /// Loads the adapter on `server`, unless it is loaded already. It counts as loaded if the server lists it among its
    /// models, whatever the answer to the request was.
    fn load_on(&self, server: &Server, adapter: &Adapter) -> Result<(), AnswerFault> {
        let (client, url) = (&self.client, &server.url);
        if !knows(client, url, &adapter.name)? {
            let body = json!({ "lora_name": adapter.name, "lora_path": adapter.path });
            let told = client.tell(&format!("{url}/v1/load_lora_adapter"), &body);
            let listed = knows(client, url, &adapter.name);
            if !matches!(listed, Ok(true)) {
                // The answer to the request says more of why than that the adapter is not there.
                told?;
                listed?;
                let found = format!("its models are without {}, which it said that it loaded", adapter.name);
                return Err(AnswerFault::new(found, "serve with one API server: --api-server-count 1"));
            }
        }
        let mut adapters = server.adapters.lock();
        adapters.retain(|known| known.name != adapter.name);
        adapters.push(adapter.clone());
        Ok(())
    }

    /// Unloads the adapters before `adapter`, and removes the files of those that are loaded on no server.
    fn forget_older(&self, adapter: &Adapter, live: &[&Server], observer: &mut dyn FnMut(RolloutEvent<'_>)) {
        let mut old = Vec::new();
        for server in live {
            let mut adapters = server.adapters.lock();
            let newest = adapters.len() - 1;
            for older in adapters.drain(..newest) {
                let body = json!({ "lora_name": older.name });
                // A server that was started again has none of the adapters from before.
                if let Err(fault) = self.client.tell(&format!("{}/v1/unload_lora_adapter", server.url), &body)
                    && knows(&self.client, &server.url, &older.name).unwrap_or(true)
                {
                    let fault = fault.of(&server.url);
                    observer(RolloutEvent::Trouble(&format!("adapter {} stays: {fault}", older.name)));
                }
                old.push(older);
            }
        }
        let is_held = |older: &Adapter| self.servers.iter().any(|server| server.adapters.lock().contains(older));
        old.iter().filter(|older| *older != adapter && !is_held(older)).for_each(|older| self.dir.remove(older));
    }
}

impl AnswerFault {
    fn of(self, server: &str) -> ServerFault {
        ServerFault { server: server.to_owned(), found: self.found, hint: self.hint.to_owned() }
    }
}
