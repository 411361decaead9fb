//! The thread that accepts connections, reads requests and sends answers. It never waits for one client, so a slow one
//! costs others nothing; where there are too many connections, the slowest is given up.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use grpo_sandbox::THREAD_STACK;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Service;
use super::admission::Admission;
use super::connection::{Connection, Next, Rank, Request};
use super::response::Response;
use crate::http::Head;

/// Milliseconds after which the thread looks at the time, and whether to stop.
pub(super) const LOOK_MS: u16 = 50;
/// Bytes per read.
const CHUNK: usize = 64 << 10;
/// Connections that are accepted before others are looked at again.
const ACCEPTED_AT_ONCE: usize = 64;
/// Connections beyond the most, of clients that were turned away and may not have heard so yet.
const PARTING_BEYOND: usize = 64;

/// The connections of a server, by number in the order in which they were accepted.
pub(super) struct EventLoop {
    service: Arc<Service>,
    /// None once the server is ending.
    listener: Option<TcpListener>,
    /// The process was out of files, so that for once nobody is listened to.
    is_resting: bool,
    connections: BTreeMap<u64, Connection>,
    accepted: u64,
    /// Requests that threads are answering.
    answering: usize,
    answers: Receiver<(u64, Response)>,
    sender: AnswerSender,
    /// The other end of the waker.
    woken: UnixStream,
    buffer: Vec<u8>,
}

/// By which a thread gives its answer, and wakes the loop.
#[derive(Clone)]
struct AnswerSender {
    answers: Sender<(u64, Response)>,
    waker: Arc<UnixStream>,
}

impl AnswerSender {
    fn send(&self, number: u64, response: Response) {
        // The loop ends after all answers, so it is there; a full waker wakes it anyway.
        let _ = self.answers.send((number, response));
        let _ = (&*self.waker).write(&[0]);
    }
}

impl EventLoop {
    pub fn new(listener: TcpListener, service: Arc<Service>) -> io::Result<EventLoop> {
        listener.set_nonblocking(true)?;
        let (waker, woken) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let (sender, answers) = channel();
        Ok(EventLoop {
            service,
            listener: Some(listener),
            is_resting: false,
            connections: BTreeMap::new(),
            accepted: 0,
            answering: 0,
            answers,
            sender: AnswerSender { answers: sender, waker: Arc::new(waker) },
            woken,
            buffer: vec![0; CHUNK],
        })
    }

    /// Waits until something can be done, and does it.
    pub fn run_once(&mut self) -> io::Result<()> {
        let ready = self.wait()?;
        while let Ok((number, response)) = self.answers.try_recv() {
            self.answering -= 1;
            self.then(number, |connection| connection.answer(&response));
        }
        for number in ready {
            self.advance(number);
        }
        self.accept();
        self.look_at_time();
        self.look_at_memory();
        Ok(())
    }

    /// Accepts no more, and turns away whoever has not sent all of a request.
    pub fn close(&mut self) {
        self.listener = None;
        let is_incomplete = |known: &Connection| matches!(known.rank(), Some(Rank::Head | Rank::Body));
        let incomplete = self.connections.iter().filter(|(_, known)| is_incomplete(known));
        let numbers: Vec<u64> = incomplete.map(|(&number, _)| number).collect();
        numbers.into_iter().for_each(|number| self.turn_away(number, "the server is ending"));
    }

    /// Whether nothing is left to be done.
    pub fn is_over(&self) -> bool {
        self.connections.is_empty()
    }

    /// The connections at which something has happened.
    fn wait(&mut self) -> io::Result<Vec<u64>> {
        let (numbers, watched): (Vec<u64>, Vec<_>) =
            self.connections.iter().filter_map(|(&number, known)| Some((number, known.watched()?))).unzip();
        let mut polled: Vec<PollFd> = watched.into_iter().map(|(socket, flags)| PollFd::new(socket, flags)).collect();
        polled.push(PollFd::new(self.woken.as_fd(), PollFlags::POLLIN));
        let listening = self.listener.iter().filter(|_| !std::mem::take(&mut self.is_resting));
        polled.extend(listening.map(|listener| PollFd::new(listener.as_fd(), PollFlags::POLLIN)));
        match poll(&mut polled, PollTimeout::from(LOOK_MS)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        // Flags that nix does not know are something that has happened too.
        let has_happened = |polled: &PollFd| polled.any() != Some(false);
        let ready = numbers.into_iter().zip(&polled).filter(|(_, polled)| has_happened(polled));
        let ready = ready.map(|(number, _)| number).collect();
        while matches!((&self.woken).read(&mut self.buffer), Ok(count) if count > 0) {}
        Ok(ready)
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let Some(accepted) = self.listener.as_ref().map(TcpListener::accept) else { return };
            match accepted {
                Ok((stream, _)) => {
                    self.make_room();
                    let Ok(connection) = Connection::new(stream, self.service.bounds) else { continue };
                    self.accepted += 1;
                    self.connections.insert(self.accepted, connection);
                    // Most requests are there already.
                    self.advance(self.accepted);
                }
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The process is out of files.
                Err(_) => {
                    if !self.drop_parting() {
                        // It leaves its file once it has had time to hear why.
                        self.turn_away_slowest();
                        self.is_resting = true;
                        return;
                    }
                }
            }
        }
    }

    fn advance(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let (service, is_full) = (&self.service, self.answering >= self.service.bounds.requests);
        let admit = |head: &Head| match service.admit(head) {
            Admission::Body { .. } if is_full => Admission::Answer(service.busy()),
            admission => admission,
        };
        let next = connection.advance(&mut self.buffer, admit);
        self.go_on(number, next);
    }

    /// Does something with a connection, and what follows from it.
    fn then(&mut self, number: u64, act: impl FnOnce(&mut Connection) -> io::Result<Next>) {
        if let Some(connection) = self.connections.get_mut(&number) {
            let next = act(connection);
            self.go_on(number, next);
        }
    }

    fn go_on(&mut self, number: u64, next: io::Result<Next>) {
        match next {
            Ok(Next::Wait) => {}
            Ok(Next::Answer(request)) => self.answer(number, request),
            Ok(Next::End) | Err(_) => {
                self.connections.remove(&number);
            }
        }
    }

    /// Has a thread answer a request. It may play a program, so it needs the sandbox's stack.
    fn answer(&mut self, number: u64, request: Request) {
        if self.answering >= self.service.bounds.requests {
            let busy = self.service.busy();
            return self.then(number, |connection| connection.answer(&busy));
        }
        let (service, sender) = (Arc::clone(&self.service), self.sender.clone());
        let answer = move || {
            let answered = catch_unwind(AssertUnwindSafe(|| service.answer(request)));
            let panicked = |_| Response::error(500, "the server panicked; this is a bug in grpo-2048");
            sender.send(number, answered.unwrap_or_else(panicked));
        };
        let thread = std::thread::Builder::new().name("judge-request".into()).stack_size(THREAD_STACK);
        match thread.spawn(answer) {
            Ok(_) => self.answering += 1,
            Err(_) => {
                let none = Response::busy("the system gave no thread");
                self.then(number, |connection| connection.answer(&none));
            }
        }
    }

    fn look_at_time(&mut self) {
        let now = Instant::now();
        let numbers: Vec<u64> = self.connections.keys().copied().collect();
        for number in numbers {
            let is_ending = self.listener.is_none();
            self.then(number, |connection| {
                if is_ending {
                    connection.hurry(now);
                }
                connection.look_at_time(now)
            });
        }
    }

    /// Gives up bodies, the oldest first, and then answers that are not taken, while all of them together take too much
    /// memory.
    fn look_at_memory(&mut self) {
        let most = self.service.bounds.all_bytes;
        while self.connections.values().map(Connection::bytes).sum::<usize>() > most {
            let oldest = |rank| self.connections.iter().find(|(_, known)| known.rank() == Some(rank));
            let Some((&number, _)) = oldest(Rank::Body).or_else(|| oldest(Rank::Sending)) else { return };
            self.turn_away(number, &format!("all requests and answers together have more than {most} bytes"));
        }
    }

    /// Makes room for one more connection.
    fn make_room(&mut self) {
        let most = self.service.bounds.connections;
        if self.connections.len() < most {
            return;
        }
        let parting = self.connections.values().filter(|known| known.rank() == Some(Rank::Parting)).count();
        if self.connections.len() - parting < most {
            self.drop_parting();
        } else {
            self.turn_away_slowest();
            if parting >= PARTING_BEYOND {
                self.drop_parting();
            }
        }
    }

    /// Drops the connection that has been parting for longest; says whether there was one.
    fn drop_parting(&mut self) -> bool {
        let parting = self.connections.iter().filter(|(_, known)| known.rank() == Some(Rank::Parting));
        let longest = parting.min_by_key(|(_, known)| known.deadline()).map(|(&number, _)| number);
        longest.is_some_and(|number| self.connections.remove(&number).is_some())
    }

    /// Gives up the connection that is the furthest from a request that could be answered, and of those the oldest.
    fn turn_away_slowest(&mut self) {
        let waiting = self.connections.iter().filter(|(_, known)| known.rank() != Some(Rank::Parting));
        let candidates = waiting.filter_map(|(&number, known)| Some((known.rank()?, number)));
        if let Some((_, number)) = candidates.min() {
            let words = "there are too many connections, and this request was the slowest";
            self.turn_away(number, words);
        }
    }

    fn turn_away(&mut self, number: u64, words: &str) {
        self.then(number, |connection| connection.turn_away(words));
    }
}
