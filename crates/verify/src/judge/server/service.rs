//! What is answered to a request.

use grpo_sandbox::{HostError, Limits, Sandbox};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::admission::{self, Admission, Callers, Route};
use super::bounds::Bounds;
use super::connection::Request;
use super::response::Response;
use super::run_code::{self, RunCode, ScriptRunner};
use super::run_jupyter::{self, CellRunner, RunJupyter};
use super::seats::Seats;
use crate::causes::with_causes;
use crate::http::Head;
use crate::judge::{Item, Judge, JudgeError, object};

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

/// State that the threads of a server share.
pub(super) struct Service {
    pub judge: Judge,
    pub runner: Runner,
    pub bounds: Bounds,
    pub callers: Callers,
    pub runs: Seats,
}

impl Service {
    /// The bytes of a request are given up once it is read: what it asks for may wait for long.
    pub fn answer(&self, request: Request) -> Response {
        match request.route {
            Route::Judge => self.judge(request),
            Route::RunCode => self.run_code(request).unwrap_or_else(|refused| refused),
            Route::RunJupyter => self.run_jupyter(request).unwrap_or_else(|refused| refused),
        }
    }

    pub fn admit(&self, head: &Head) -> Admission {
        admission::admit(head, &self.callers, self.bounds, || self.health())
    }

    pub fn busy(&self) -> Response {
        Response::busy(&format!("{} requests are being answered already", self.bounds.requests))
    }

    fn health(&self) -> Response {
        Response::json(200, &json!({ "status": "ok", "environment": self.judge.arena().environment().name() }))
    }

    /// Judges one item, or a list of items.
    fn judge(&self, request: Request) -> Response {
        let body = request.body();
        let is_list = body.trim_ascii_start().first() == Some(&b'[');
        let items: serde_json::Result<Vec<Item>> = match is_list {
            true => object::read_list(body),
            false => object::read(body).map(|item| vec![item]),
        };
        drop(request);
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
        match self.judge.judge(items) {
            Ok(judgements) if is_list => Response::json(200, &judgements),
            Ok(judgements) => Response::json(200, &judgements[0]),
            Err(error @ JudgeError::Arena(_)) => Response::error(500, &with_causes(&error)),
            Err(error) => Response::error(400, &error.to_string()),
        }
    }

    /// Runs a program on a standard input, in the format of SandboxFusion.
    fn run_code(&self, request: Request) -> Result<Response, Response> {
        let answer = match fusion_request::<RunCode>(request)?.job() {
            Err(reason) => run_code::Answer::sandbox_error(reason),
            Ok(job) => run_code::Answer::new(self.run(&*self.runner.script, &job), &job.source),
        };
        Ok(Response::json(200, &answer))
    }

    /// Runs the cells of a notebook, in the format of SandboxFusion.
    fn run_jupyter(&self, request: Request) -> Result<Response, Response> {
        let answer = match fusion_request::<RunJupyter>(request)?.cells() {
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
pub(super) fn fusion_request<R: DeserializeOwned>(request: Request) -> Result<R, Response> {
    let refused = |error| Response::error(400, &format!("{error}; expected a request as of SandboxFusion"));
    object::read(request.body()).map_err(refused)
}
