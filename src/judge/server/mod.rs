//! The judge over HTTP, and programs run as by SandboxFusion.
//!
//! Each connection has one thread and one request, and all of them are counted: a client above the bounds waits, or is
//! told to come back, and is never dropped silently. Head, body and the time to send them are bounded; fuel bounds the
//! programs. When the server stops, it first finishes the requests at hand.

mod http;
mod run_code;
mod seats;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use grpo_sandbox::THREAD_STACK;
use serde::Serialize;

use self::http::{Request, Response, Unread};
use self::run_code::RunCode;
use self::seats::Seats;
use super::{Item, Judge, JudgeError};

pub use self::run_code::{Job, Runner, runner};

/// Interval at which the server looks whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Seconds after which a client that was turned away may come back.
const RETRY_AFTER: &str = "1";

/// Limits on one client, and on all clients together.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of the longest request body.
    pub body_bytes: usize,
    /// Time to send a request.
    pub read_within: Duration,
    /// Requests that are answered or wait; one more is told to come back.
    pub requests: usize,
    /// Connections that are served; more wait to be accepted.
    pub connections: usize,
    /// Programs that `/run_code` runs at once.
    pub runs: usize,
}

impl Bounds {
    /// Bounds of a server with so many workers. They assume the usual limit of about a thousand open files.
    pub fn new(workers: usize) -> Bounds {
        Bounds {
            body_bytes: super::ITEM_BYTES_MAX,
            read_within: Duration::from_secs(30),
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
    runner: Box<Runner>,
    bounds: Bounds,
    connections: Seats,
    requests: Seats,
    runs: Seats,
    closing: AtomicBool,
}

impl Server {
    /// A server at the first of these addresses that is free; port 0 stands for any free port. Nothing is answered
    /// before [`run`](Server::run).
    pub fn bind(
        addresses: &[SocketAddr],
        judge: Judge,
        runner: Box<Runner>,
        bounds: Bounds,
    ) -> std::io::Result<Server> {
        let service = Service {
            judge,
            runner,
            bounds,
            connections: Seats::new(bounds.connections),
            requests: Seats::new(bounds.requests),
            runs: Seats::new(bounds.runs),
            closing: AtomicBool::new(false),
        };
        Ok(Server { listener: TcpListener::bind(addresses)?, service: Arc::new(service) })
    }

    /// The address of the server.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until `stop` is set, and then finishes the requests at hand.
    pub fn run(self, stop: &AtomicBool) -> std::io::Result<()> {
        let address = self.address()?;
        let service = Arc::clone(&self.service);
        let accept = std::thread::Builder::new().name("judge-accept".into());
        let accepting = accept.spawn(move || service.accept(&self.listener))?;
        while !stop.load(Ordering::SeqCst) {
            std::thread::sleep(LOOK);
        }
        self.service.closing.store(true, Ordering::SeqCst);
        // This connection wakes the thread that waits in `accept`, so that it sees `closing`.
        if TcpStream::connect(reachable(address)).is_ok() {
            let _ = accepting.join();
        }
        self.service.connections.wait_until_free();
        Ok(())
    }
}

/// An address on all interfaces is reached through the loopback address.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

impl Service {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            let seat = self.connections.take();
            let accepted = listener.accept();
            if self.closing.load(Ordering::SeqCst) {
                return;
            }
            // The process is out of files or threads; it waits until other requests free theirs.
            let Ok((stream, _)) = accepted else {
                std::thread::sleep(LOOK);
                continue;
            };
            let service = Arc::clone(self);
            let serve = move || {
                service.serve(stream);
                drop(seat);
            };
            // The thread may play a program, so it needs the sandbox's stack. A connection that gets no thread is
            // closed.
            let _ = std::thread::Builder::new().name("judge-request".into()).stack_size(THREAD_STACK).spawn(serve);
        }
    }

    /// Reads a request and answers it.
    fn serve(&self, stream: TcpStream) {
        let mut connection = http::Connection::new(stream, self.bounds.read_within);
        let response = match connection.read(self.bounds.body_bytes) {
            Ok(request) => self.answer(&request),
            Err(Unread::Refused(response)) => response,
            Err(Unread::Gone) => return,
        };
        connection.answer(&response);
    }

    fn answer(&self, request: &Request) -> Response {
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/health") => self.health(),
            ("POST", "/judge") => self.seated(|| self.judge(&request.body)),
            ("POST", "/run_code") => self.seated(|| self.run_code(&request.body)),
            (_, "/health") => Response::error(405, "expected GET").with("Allow", "GET"),
            (_, "/judge" | "/run_code") => Response::error(405, "expected POST").with("Allow", "POST"),
            _ => Response::error(404, "expected POST /judge, POST /run_code or GET /health"),
        }
    }

    /// Runs `answer` if there is room for one more request.
    fn seated(&self, answer: impl FnOnce() -> Response) -> Response {
        match self.requests.take_if_free() {
            Some(_seat) => answer(),
            None => {
                let words = format!("{} requests are being answered already", self.bounds.requests);
                Response::error(503, &words).with("Retry-After", RETRY_AFTER)
            }
        }
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
                let words = format!("{error}; expected {{\"id\": \"...\", \"completion\": \"...\"}} or a list of them");
                return Response::error(400, &words);
            }
        };
        match self.judge.judge(&items) {
            Ok(judgements) if is_list => Response::json(200, &judgements),
            Ok(judgements) => Response::json(200, &judgements[0]),
            Err(error @ JudgeError::Arena(_)) => Response::error(500, &error.to_string()),
            Err(error) => Response::error(400, &error.to_string()),
        }
    }

    /// Runs a program on a standard input, in the format of SandboxFusion.
    fn run_code(&self, body: &[u8]) -> Response {
        let request: RunCode = match serde_json::from_slice(body) {
            Ok(request) => request,
            Err(error) => return Response::error(400, &format!("{error}; expected a request as of SandboxFusion")),
        };
        let answer = match request.job() {
            Err(reason) => run_code::Answer::sandbox_error(reason),
            Ok(job) => {
                let _seat = self.runs.take();
                // An error of the sandbox is tried once more, as in the arena.
                run_code::Answer::new((self.runner)(&job).or_else(|_| (self.runner)(&job)))
            }
        };
        Response::json(200, &answer)
    }
}
