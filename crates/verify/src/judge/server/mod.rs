//! The judge over HTTP, and programs run as by SandboxFusion.
//!
//! One thread reads and writes for all connections, each with one request, and a request that is complete gets a thread
//! of its own. All of them are counted: a client above the bounds is told to come back, and is never dropped silently.
//! Head, body and the time to take the answer are bounded; fuel bounds the programs. When the server stops, it first
//! finishes the requests at hand.

mod admission;
mod bounds;
mod connection;
mod counted;
mod event_loop;
mod response;
mod run_code;
mod run_jupyter;
mod seats;
mod service;
#[cfg(test)]
mod tests;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use self::admission::Callers;
pub use self::bounds::Bounds;
use self::event_loop::EventLoop;
pub use self::run_code::{Job, ScriptRunner};
pub use self::run_jupyter::{CellRunner, Cells, CellsRun};
use self::seats::Seats;
use self::service::Service;
pub use self::service::{Runner, runner};
use super::Judge;

/// A judge with a socket.
pub struct Server {
    listener: TcpListener,
    service: Arc<Service>,
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
