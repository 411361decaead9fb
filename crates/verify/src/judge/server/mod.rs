//! The judge over HTTP, and programs run as by SandboxFusion.
//!
//! One thread reads and writes for all connections, each with one request, and a request that is complete gets a thread
//! of its own. All of them are counted: a client above the bounds is told to come back, and is never dropped silently.
//! Head, body and the time to take the answer are bounded; fuel bounds the programs. When the server stops, it first
//! finishes the requests at hand.

mod admission;
mod connection;
mod event_loop;
mod response;
mod run_code;
mod run_jupyter;
mod seats;
#[cfg(test)]
mod tests;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use grpo_sandbox::{HostError, Limits, Sandbox};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::admission::Callers;
use self::admission::Route;
use self::connection::Request;
use self::event_loop::EventLoop;
use self::response::Response;
use self::run_code::RunCode;
use self::run_jupyter::RunJupyter;
use self::seats::Seats;
use super::{Item, Judge, JudgeError};

pub use self::run_code::{Job, ScriptRunner};
pub use self::run_jupyter::{CellRunner, Cells, CellsRun};

/// What runs programs that are not judged.
pub struct Runner {
    /// For `/run_code`.
    pub script: Box<ScriptRunner>,
    /// For `/run_jupyter`.
    pub cells: Box<CellRunner>,
}

/// A runner in `sandbox`, with at most the memory of `limits`; fuel is that of requests.
pub fn runner(sandbox: Sandbox, limits: Limits) -> Runner {
    Runner {
        script: run_code::script_runner(sandbox.clone(), limits),
        cells: run_jupyter::cell_runner(sandbox, limits),
    }
}

/// Limits on one client, and on all clients together.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of the longest request body.
    pub body_bytes: usize,
    /// Bytes of all requests that have not been answered.
    pub all_bytes: usize,
    /// Items of the longest list.
    pub items: usize,
    /// Time to send the head of a request.
    pub head_within: Duration,
    /// Time to send a request.
    pub body_within: Duration,
    /// Time to take the answer.
    pub answer_within: Duration,
    /// Requests that are answered or wait; one more is told to come back.
    pub requests: usize,
    /// Connections; where there is one more, the slowest is told to come back. More than `requests`.
    pub connections: usize,
    /// Programs and notebooks that `/run_code` and `/run_jupyter` run at once.
    pub runs: usize,
}

impl Bounds {
    /// Bounds of a server with so many workers. They assume the usual limit of about a thousand open files.
    pub fn new(workers: usize) -> Bounds {
        Bounds {
            body_bytes: super::ITEM_BYTES_MAX,
            all_bytes: 1 << 30,
            items: 512,
            head_within: Duration::from_secs(5),
            body_within: Duration::from_secs(30),
            answer_within: Duration::from_secs(30),
            requests: 512,
            connections: 768,
            runs: workers.max(1),
        }
    }
}

/// A judge with a socket.
pub struct Server {
    listener: TcpListener,
    service: Arc<Service>,
}

/// State that the threads of a server share.
struct Service {
    judge: Judge,
    runner: Runner,
    bounds: Bounds,
    callers: Callers,
    runs: Seats,
}

impl Server {
    /// A server at the first of these addresses that is free; port 0 stands for any free port. Nothing is answered
    /// before [`run`](Server::run).
    pub fn bind(
        addresses: &[SocketAddr],
        judge: Judge,
        runner: Runner,
        bounds: Bounds,
        callers: Callers,
    ) -> std::io::Result<Server> {
        let service = Service { judge, runner, bounds, callers, runs: Seats::new(bounds.runs) };
        Ok(Server { listener: TcpListener::bind(addresses)?, service: Arc::new(service) })
    }

    /// The address of the server.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until `stop` is set, and then finishes the requests at hand.
    pub fn run(self, stop: &AtomicBool) -> std::io::Result<()> {
        let mut events = EventLoop::new(self.listener, self.service)?;
        while !stop.load(Ordering::SeqCst) {
            events.run_once()?;
        }
        events.close();
        while !events.is_over() {
            events.run_once()?;
        }
        Ok(())
    }
}

impl Service {
    fn answer(&self, request: &Request) -> Response {
        match request.route {
            Route::Judge => self.judge(request.body()),
            Route::RunCode => self.run_code(request.body()).unwrap_or_else(|refused| refused),
            Route::RunJupyter => self.run_jupyter(request.body()).unwrap_or_else(|refused| refused),
        }
    }

    fn busy(&self) -> Response {
        Response::busy(&format!("{} requests are being answered already", self.bounds.requests))
    }

    fn health(&self) -> Response {
        #[derive(Serialize)]
        struct Health<'a> {
            status: &'static str,
            environment: &'a str,
        }
        Response::json(200, &Health { status: "ok", environment: self.judge.arena().environment().name() })
    }

    /// Judges one item, or a list of items.
    fn judge(&self, body: &[u8]) -> Response {
        let is_list = body.trim_ascii_start().first() == Some(&b'[');
        let items: serde_json::Result<Vec<Item>> = match is_list {
            true => serde_json::from_slice(body),
            false => serde_json::from_slice(body).map(|item| vec![item]),
        };
        let items = match items {
            Ok(items) => items,
            Err(error) => {
                let found = if error.is_eof() { "the body ends too early".to_owned() } else { error.to_string() };
                let words = format!("{found}; expected {{\"id\": \"...\", \"completion\": \"...\"}} or a list of them");
                return Response::error(400, &words);
            }
        };
        let (found, most) = (items.len(), self.bounds.items);
        if found > most {
            let words = format!("a list of {found} items; expected at most {most}: send several requests");
            return Response::error(413, &words);
        }
        match self.judge.judge(&items) {
            Ok(judgements) if is_list => Response::json(200, &judgements),
            Ok(judgements) => Response::json(200, &judgements[0]),
            Err(error @ JudgeError::Arena(_)) => Response::error(500, &error.to_string()),
            Err(error) => Response::error(400, &error.to_string()),
        }
    }

    /// Runs a program on a standard input, in the format of SandboxFusion.
    fn run_code(&self, body: &[u8]) -> Result<Response, Response> {
        let answer = match fusion_request::<RunCode>(body)?.job() {
            Err(reason) => run_code::Answer::sandbox_error(reason),
            Ok(job) => run_code::Answer::new(self.run(&*self.runner.script, &job)),
        };
        Ok(Response::json(200, &answer))
    }

    /// Runs the cells of a notebook, in the format of SandboxFusion.
    fn run_jupyter(&self, body: &[u8]) -> Result<Response, Response> {
        let answer = match fusion_request::<RunJupyter>(body)?.cells() {
            Err(reason) => run_jupyter::Answer::sandbox_error(reason),
            Ok(cells) => run_jupyter::Answer::new(self.run(&*self.runner.cells, &cells)),
        };
        Ok(Response::json(200, &answer))
    }

    /// Runs what is not judged, when there is a seat for it.
    fn run<J, R>(&self, runner: impl Fn(&J) -> Result<R, HostError>, job: &J) -> Result<R, HostError> {
        let _seat = self.runs.take();
        // An error of the sandbox is tried once more, as in the arena.
        runner(job).or_else(|_| runner(job))
    }
}

/// A request of SandboxFusion, or the answer that it is none.
fn fusion_request<R: DeserializeOwned>(body: &[u8]) -> Result<R, Response> {
    let refused = |error| Response::error(400, &format!("{error}; expected a request as of SandboxFusion"));
    serde_json::from_slice(body).map_err(refused)
}
