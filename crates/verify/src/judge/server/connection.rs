//! One connection: one request, one answer, and no call that waits for the client.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::poll::PollFlags;

use super::Bounds;
use super::admission::{Admission, Route};
use super::response::Response;
use crate::http::{Head, HeadError};

/// Time for a client to stop sending, once it has its answer. A connection that is closed with unread bytes would be
/// reset, and the answer lost.
const PARTING: Duration = Duration::from_secs(2);
/// The same for a client that is turned away while the server is ending.
const LAST_PARTING: Duration = Duration::from_millis(500);
/// What a client hears that asks before it sends its body, as curl does with long ones.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A complete request.
#[derive(Debug)]
pub(super) struct Request {
    pub route: Route,
    bytes: Vec<u8>,
    /// Bytes before the body.
    head_bytes: usize,
}

impl Request {
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.head_bytes..]
    }
}

/// How far a connection has come.
enum Stage {
    /// Its head comes in.
    Head { received: Vec<u8> },
    /// Its body comes in, which ends after so many bytes.
    Body { request: Request, end: usize },
    /// A thread makes the answer, and holds so many bytes of the request.
    Answering { bytes: usize },
    /// The answer goes out.
    Sending { answer: Vec<u8>, sent: usize },
    /// The answer is out, and the client may still be sending.
    Parting { was_turned_away: bool },
}

/// Which connections are given up first where there are too many: those that are the furthest from an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Parting,
    Head,
    Body,
    Sending,
}

/// What follows from what a client did.
#[derive(Debug)]
pub(super) enum Next {
    /// It is waited for.
    Wait,
    /// Its request is in; [`answer`](Connection::answer) has to follow.
    Answer(Request),
    /// The connection is over.
    End,
}

/// A connection with a client, for one request.
pub(super) struct Connection {
    stream: TcpStream,
    stage: Stage,
    accepted: Instant,
    /// When this stage has taken too long.
    deadline: Instant,
    bounds: Bounds,
}

impl Connection {
    pub fn new(stream: TcpStream, bounds: Bounds) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        let accepted = Instant::now();
        let (stage, deadline) = (Stage::Head { received: Vec::new() }, accepted + bounds.head_within);
        Ok(Connection { stream, stage, accepted, deadline, bounds })
    }

    /// The socket, and what is waited for there.
    pub fn watched(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let flags = match self.stage {
            Stage::Head { .. } | Stage::Body { .. } | Stage::Parting { .. } => PollFlags::POLLIN,
            Stage::Sending { .. } => PollFlags::POLLOUT,
            Stage::Answering { .. } => return None,
        };
        Some((self.stream.as_fd(), flags))
    }

    /// None for a request that is being answered.
    pub fn rank(&self) -> Option<Rank> {
        match self.stage {
            Stage::Parting { .. } => Some(Rank::Parting),
            Stage::Head { .. } => Some(Rank::Head),
            Stage::Body { .. } => Some(Rank::Body),
            Stage::Sending { .. } => Some(Rank::Sending),
            Stage::Answering { .. } => None,
        }
    }

    /// When its time is over.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Bytes of its request or its answer that are in memory.
    pub fn bytes(&self) -> usize {
        match &self.stage {
            Stage::Head { received } => received.len(),
            Stage::Body { request, .. } => request.bytes.len(),
            Stage::Answering { bytes } => *bytes,
            Stage::Sending { answer, .. } => answer.len(),
            Stage::Parting { .. } => 0,
        }
    }

    /// Does what can be done without waiting. An error says that the client is gone.
    pub fn advance(&mut self, buffer: &mut [u8], admit: impl Fn(&Head) -> Admission) -> io::Result<Next> {
        match std::mem::replace(&mut self.stage, Stage::Parting { was_turned_away: false }) {
            Stage::Head { received } => self.receive_head(received, buffer, admit),
            Stage::Body { request, end } => self.receive_body(request, end, buffer),
            Stage::Sending { answer, sent } => self.send(answer, sent),
            stage @ Stage::Answering { .. } => Ok(self.wait_at(stage)),
            stage @ Stage::Parting { .. } => {
                self.read(buffer)?;
                Ok(self.wait_at(stage))
            }
        }
    }

    /// Has this answer sent.
    pub fn answer(&mut self, response: &Response) -> io::Result<Next> {
        self.begin_sending(response.bytes("POST"))
    }

    /// Ends a stage that has taken too long; waits if none has.
    pub fn look_at_time(&mut self, now: Instant) -> io::Result<Next> {
        match self.stage {
            Stage::Answering { .. } => Ok(Next::Wait),
            _ if now < self.deadline => Ok(Next::Wait),
            Stage::Head { .. } | Stage::Body { .. } => {
                self.answer(&Response::error(408, "the request did not come in time"))
            }
            Stage::Sending { .. } | Stage::Parting { .. } => Ok(Next::End),
        }
    }

    /// Gives it up. With these words where there is no answer yet; who is still sending has a time to hear them.
    pub fn turn_away(&mut self, words: &str) -> io::Result<Next> {
        if !matches!(self.stage, Stage::Head { .. } | Stage::Body { .. }) {
            return Ok(Next::End);
        }
        // Who does not take it at once goes without.
        self.stream.write_all(&Response::busy(words).bytes("POST"))?;
        self.part(true)
    }

    /// Leaves a short time to take the answer. Who has it is not waited for, and who was turned away for less.
    pub fn hurry(&mut self, now: Instant) {
        let left = match self.stage {
            Stage::Parting { was_turned_away: false } => Duration::ZERO,
            Stage::Parting { was_turned_away: true } => LAST_PARTING,
            _ => PARTING,
        };
        self.deadline = self.deadline.min(now + left);
    }

    fn receive_head(
        &mut self,
        mut received: Vec<u8>,
        buffer: &mut [u8],
        admit: impl Fn(&Head) -> Admission,
    ) -> io::Result<Next> {
        let count = self.read(buffer)?;
        received.extend_from_slice(&buffer[..count]);
        let parsed = if may_be_over(&received, count) { Head::parse(&received) } else { Ok(None) };
        let head = match parsed {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(self.wait_at(Stage::Head { received })),
            Err(error) => {
                let status = if error == HeadError::TooLong { 431 } else { 400 };
                return self.answer(&Response::error(status, &error.to_string()));
            }
        };
        match admit(&head) {
            Admission::Answer(response) => self.begin_sending(response.bytes(&head.method)),
            Admission::Body { route, bytes } => {
                let end = head.bytes + bytes;
                if received.len() < end && head.values("expect").next().is_some() {
                    self.stream.write_all(CONTINUE)?;
                }
                self.deadline = self.accepted + self.bounds.body_within;
                Ok(self.whole(Request { route, bytes: received, head_bytes: head.bytes }, end))
            }
        }
    }

    fn receive_body(&mut self, mut request: Request, end: usize, buffer: &mut [u8]) -> io::Result<Next> {
        let count = self.read(buffer)?;
        request.bytes.extend_from_slice(&buffer[..count]);
        Ok(self.whole(request, end))
    }

    /// The request, once all of it is there.
    fn whole(&mut self, mut request: Request, end: usize) -> Next {
        if request.bytes.len() < end {
            return self.wait_at(Stage::Body { request, end });
        }
        request.bytes.truncate(end);
        self.stage = Stage::Answering { bytes: end };
        Next::Answer(request)
    }

    fn begin_sending(&mut self, answer: Vec<u8>) -> io::Result<Next> {
        self.deadline = Instant::now() + self.bounds.answer_within;
        self.send(answer, 0)
    }

    fn send(&mut self, answer: Vec<u8>, mut sent: usize) -> io::Result<Next> {
        while sent < answer.len() {
            match self.stream.write(&answer[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(self.wait_at(Stage::Sending { answer, sent }));
                }
                Err(error) => return Err(error),
            }
        }
        self.part(false)
    }

    fn part(&mut self, was_turned_away: bool) -> io::Result<Next> {
        self.stream.shutdown(Shutdown::Write)?;
        self.deadline = Instant::now() + PARTING;
        Ok(self.wait_at(Stage::Parting { was_turned_away }))
    }

    fn wait_at(&mut self, stage: Stage) -> Next {
        self.stage = stage;
        Next::Wait
    }

    /// Bytes read; 0 where there are none yet. The end of the stream is an error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stream.read(buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
            read => read,
        }
    }
}

/// Whether a head may be over, or wrong, in the last `count` bytes received: to parse at each byte that a slow client
/// sends would take time from all others.
fn may_be_over(received: &[u8], count: usize) -> bool {
    let is_first = received.len() == count;
    let last = &received[received.len().saturating_sub(count + 3)..];
    let has_empty_line = last.windows(2).any(|pair| pair == b"\n\n") || last.windows(3).any(|three| three == b"\n\r\n");
    is_first || has_empty_line || received.len() > crate::http::HEAD_BYTES_MAX
}
