//! Detects that a process has ended, because not every launcher then ends the others.
//!
//! Every process has a TCP connection to the first one. The kernel closes it when a process ends for any reason. If a
//! machine is lost, its heartbeats are missing. When the first process ends, all others notice it. A process that has
//! announced its end is not missed; it still gets heartbeats, since it waits for the others.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::ifaddrs::getifaddrs;
use serde::{Deserialize, Serialize};

use super::error::ParallelError;

/// Time between the heartbeats of each side.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Time without heartbeats after which a machine counts as lost. Longer than a process is usually suspended.
const SILENCE: Duration = Duration::from_secs(120);
/// Time limit for connecting processes that have already found each other by MPI.
const CONNECTING: Duration = Duration::from_secs(60);
/// How long one of several addresses may take to answer.
const ANSWERING: Duration = Duration::from_secs(5);
const ALIVE: u8 = 1;
const BYE: u8 = 0;
const ABORT: u8 = 2;

/// The machine and process id of a process, and how to connect to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// The host name of the machine.
    pub host: String,
    /// The process id.
    pub process: u32,
    /// The addresses of the machine, without those that only the machine itself can reach.
    addresses: Vec<IpAddr>,
    /// The TCP port on which the first process listens; 0 for the others.
    port: u16,
    /// The token of the first process, which the others send, so that no other program is accepted as one of them.
    token: u64,
}

impl Place {
    fn here(port: u16, token: u64) -> Place {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
        let interfaces = getifaddrs().into_iter().flatten().filter_map(|interface| interface.address);
        let addresses = interfaces.filter_map(|address| Some(IpAddr::V4(address.as_sockaddr_in()?.ip())));
        let addresses = addresses.filter(|address| !address.is_loopback()).collect();
        Place { host, process: std::process::id(), addresses, port, token }
    }
}

/// Connections that are watched until both ends have said [`bye`](Watch::bye).
pub(super) struct Watch {
    connections: Vec<TcpStream>,
    /// The places of all processes, in the order of the ranks.
    places: Vec<Place>,
}

/// Called with the rank of a process that has ended, and a description.
pub type OnLost = Arc<dyn Fn(usize, &str) + Send + Sync>;

impl Watch {
    /// Connects all processes with the first one. `gather` gives the places of all processes for that of this one, `lost` is
    /// called when one of them ends.
    pub fn begin(
        rank: usize,
        gather: impl FnOnce(Place) -> Result<Vec<Place>, ParallelError>,
        lost: &OnLost,
    ) -> Result<Watch, ParallelError> {
        let unwatched = |reason: io::Error| ParallelError::Unwatched { reason };
        let listener = if rank == 0 { Some(TcpListener::bind(("0.0.0.0", 0)).map_err(unwatched)?) } else { None };
        let port = listener.as_ref().map_or(Ok(0), |listener| listener.local_addr().map(|address| address.port()));
        let token = getrandom::u64().map_err(|error| unwatched(io::Error::other(error.to_string())))?;
        let places = gather(Place::here(port.map_err(unwatched)?, token))?;
        let connections = match &listener {
            Some(listener) => accept_all(listener, &places),
            None => connect(&places, rank).map(|stream| vec![(0, stream)]),
        };
        let mut watch = Watch { connections: Vec::new(), places };
        for (rank, stream) in connections.map_err(unwatched)? {
            watch.connections.push(stream.try_clone().map_err(unwatched)?);
            let (lost, place) = (Arc::clone(lost), watch.places[rank].clone());
            let follow = move || {
                if let Err(reason) = follow(stream, HEARTBEAT, SILENCE, clock()) {
                    lost(rank, &format!("process {} on {}: {reason}", place.process, place.host));
                }
            };
            thread::Builder::new().name(format!("rank-{rank}")).spawn(follow).map_err(unwatched)?;
        }
        Ok(watch)
    }

    /// Number of processes of the machine of a rank.
    pub fn on_its_machine(&self, rank: usize) -> usize {
        self.places.iter().filter(|place| place.host == self.places[rank].host).count()
    }

    /// Announces that this process ends normally.
    pub fn bye(&self) {
        self.say(BYE);
    }

    /// Announces that this process ends all of them.
    pub fn abort(&self) {
        self.say(ABORT);
    }

    fn say(&self, word: u8) {
        for mut stream in &self.connections {
            // An error means that the other process has ended already, which was reported.
            let _ = stream.write_all(&[word]);
        }
    }
}

/// The connections of all other processes, by rank.
fn accept_all(listener: &TcpListener, places: &[Place]) -> io::Result<Vec<(usize, TcpStream)>> {
    let (begin, mut found) = (Instant::now(), Vec::new());
    listener.set_nonblocking(true)?;
    while found.len() + 1 < places.len() {
        match listener.accept() {
            Ok((stream, _)) => found.extend(read_rank(stream, places[0].token)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && begin.elapsed() < CONNECTING => {
                thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The rank of the process at the other end, if it has sent the token.
fn read_rank(mut stream: TcpStream, token: u64) -> Option<(usize, TcpStream)> {
    let mut words = [0; 12];
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(HEARTBEAT)).ok()?;
    stream.read_exact(&mut words).ok()?;
    let (shown, rank) = words.split_at(8);
    let rank = u32::from_le_bytes(rank.try_into().ok()?);
    (shown == token.to_le_bytes()).then_some((rank as usize, stream))
}

/// Connects to the first process, by its host name or, if that name cannot be resolved, as in a container, by the first of
/// its addresses that answers.
fn connect(places: &[Place], rank: usize) -> io::Result<TcpStream> {
    let (first, here) = (&places[0], &places[rank]);
    let named = match first.host == here.host {
        true => Ok(vec![SocketAddr::from(([127, 0, 0, 1], first.port))]),
        false => (first.host.as_str(), first.port).to_socket_addrs().map(Iterator::collect),
    };
    let named = named.unwrap_or_default().into_iter();
    let numbered = first.addresses.iter().map(|address| SocketAddr::new(*address, first.port));
    let mut refused = io::Error::other(format!("{} has no address", first.host));
    for address in named.chain(numbered) {
        match TcpStream::connect_timeout(&address, ANSWERING) {
            Ok(mut stream) => {
                stream.write_all(&[&first.token.to_le_bytes()[..], &(rank as u32).to_le_bytes()].concat())?;
                return Ok(stream);
            }
            Err(error) => refused = io::Error::new(error.kind(), format!("{address}: {error}")),
        }
    }
    Err(refused)
}

/// Reads the messages of a process until the connection ends. An error means that it ended, or that nothing was heard for
/// the time `silence`, before the process had announced its end. A heartbeat is sent in any case: who has announced its end
/// waits for this process. Where this process itself stood still for longer than that, the others gave it up, so the error
/// says so. `now` is the time since any moment.
fn follow(
    mut stream: TcpStream,
    heartbeat: Duration,
    silence: Duration,
    mut now: impl FnMut() -> Duration,
) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    stream.set_read_timeout(Some(heartbeat)).map_err(text)?;
    let (mut said, mut heard, mut ran, mut words) = (None, now(), now(), [0; 64]);
    let (mut parted, mut aborts) = (false, false);
    // For how long this process last stood still, and when it went on.
    let (mut still, mut went_on) = (Duration::ZERO, ran);
    let reason = loop {
        if said.is_none_or(|said| ran - said >= heartbeat) {
            // A closed connection is noticed when reading.
            let _ = stream.write_all(&[ALIVE]);
            said = Some(ran);
        }
        let read = stream.read(&mut words);
        let time = now();
        if time - ran > silence {
            (still, went_on) = (time - ran, time);
        }
        ran = time;
        match read {
            Ok(0) if parted => return Ok(()),
            Ok(0) => break "it has ended".into(),
            Ok(count) => {
                heard = time;
                parted |= words[..count].contains(&BYE);
                aborts |= words[..count].contains(&ABORT);
            }
            // This process was stopped by a signal and continues.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if !parted && time - heard > silence {
                    break format!("nothing was heard of it for {} s", silence.as_secs());
                }
            }
            Err(_) if parted => return Ok(()),
            Err(error) => break error.to_string(),
        }
    };
    if aborts {
        // It has said why, and the launcher ends this process too; if it does not, this one misses it.
        thread::sleep(heartbeat);
    }
    // What came in meanwhile is read at once, and after it that the other end is closed.
    match !still.is_zero() && ran - went_on <= heartbeat {
        true => Err(format!("{reason}, after this process itself stood still for {} s", still.as_secs())),
        false => Err(reason),
    }
}

/// A clock that begins at 0 now.
fn clock() -> impl Fn() -> Duration {
    let start = Instant::now();
    move || start.elapsed()
}

#[cfg(test)]
mod tests {
    use std::net::Shutdown;

    use super::*;

    const BEAT: Duration = Duration::from_millis(20);
    const QUIET: Duration = Duration::from_millis(200);

    /// Both ends of a connection.
    fn connected() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (here, listener.accept().unwrap().0)
    }

    #[test]
    fn a_process_that_has_announced_its_end_hears_of_this_one_and_is_not_missed() {
        let (here, mut there) = connected();
        let following = thread::spawn(move || follow(here, BEAT, QUIET, clock()));
        there.write_all(&[BYE]).unwrap();
        // Heartbeats of more than three times the silence after which it would be missed.
        let mut heard = [0; 32];
        there.read_exact(&mut heard).unwrap();
        assert_eq!(heard, [ALIVE; 32]);
        assert!(!following.is_finished());
        drop(there);
        assert_eq!(following.join().unwrap(), Ok(()));
    }

    #[test]
    fn a_process_that_ends_or_is_silent_without_a_word_is_missed() {
        let (here, there) = connected();
        let silent = follow(here, BEAT, QUIET, clock()).unwrap_err();
        assert!(silent.starts_with("nothing was heard of it for"), "{silent}");
        drop(there);
        let (here, there) = connected();
        drop(there);
        assert!(follow(here, BEAT, QUIET, clock()).is_err());
    }

    #[test]
    fn a_process_that_ends_all_is_missed_only_where_this_one_lives_on() {
        let aborted = |heartbeat: Duration| {
            let (here, mut there) = connected();
            there.write_all(&[ABORT]).unwrap();
            thread::spawn(move || follow(here, heartbeat, SILENCE, clock()))
        };
        assert!(aborted(BEAT).join().unwrap().is_err());
        let waiting = aborted(SILENCE);
        thread::sleep(BEAT);
        assert!(!waiting.is_finished());
    }

    #[test]
    fn a_process_that_stood_still_itself_says_so_of_the_others_that_gave_it_up() {
        for (waits, told) in
            [(3600, "it has ended, after this process itself stood still for 3600 s"), (0, "it has ended")]
        {
            let (here, mut there) = connected();
            there.write_all(&[ALIVE]).unwrap();
            // A connection that were closed altogether would be reset by the heartbeats that nobody reads.
            there.shutdown(Shutdown::Write).unwrap();
            let mut looks = 0;
            let clock = || {
                looks += 1;
                Duration::from_secs(if looks > 2 { waits } else { 0 })
            };
            assert_eq!(follow(here, BEAT, QUIET, clock), Err(told.to_owned()));
        }
    }

    #[test]
    fn a_machine_whose_name_nobody_knows_is_reached_by_its_addresses() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let place = |host: &str, addresses: &[[u8; 4]]| Place {
            host: host.to_owned(),
            process: 1,
            addresses: addresses.iter().map(|address| IpAddr::from(*address)).collect(),
            port,
            token: 5,
        };
        // Nothing listens at the first of its addresses.
        let places = [place("pod-0.invalid", &[[127, 0, 0, 2], [127, 0, 0, 1]]), place("pod-1", &[])];
        let stream = connect(&places, 1).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert_eq!(read_rank(accepted, 5).unwrap().0, 1);
        drop(stream);
        let refused = connect(&[place("pod-0.invalid", &[[127, 0, 0, 2]]), place("pod-1", &[])], 1).unwrap_err();
        assert!(refused.to_string().starts_with(&format!("127.0.0.2:{port}: ")), "{refused}");
    }

    #[test]
    fn processes_of_a_machine_are_counted_by_its_host_name() {
        let place = |host: &str| Place { host: host.to_owned(), ..Place::here(0, 0) };
        let watch = Watch { connections: Vec::new(), places: ["a", "b", "a", "b", "b"].map(place).into() };
        let of_each: Vec<usize> = (0..5).map(|rank| watch.on_its_machine(rank)).collect();
        assert_eq!(of_each, [2, 3, 2, 3, 3]);
    }

    #[test]
    fn a_process_tells_the_addresses_at_which_others_reach_it() {
        let here = Place::here(7, 9);
        assert!(here.addresses.iter().all(|address| !address.is_loopback()), "{here:?}");
        assert_eq!(here.process, std::process::id());
    }
}
