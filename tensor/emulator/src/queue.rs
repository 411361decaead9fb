//! Work that was asked for, and when it is done.
//!
//! A stream's work is done when somebody waits for it and no sooner: a program that reads too early finds old numbers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::blas::Product;
use crate::machine::Launch;
use crate::memory::Memory;
use crate::{DeviceFault, census, fault};

/// A piece of work.
#[derive(Clone)]
pub enum Work {
    Launch(Arc<Launch>),
    Product(Product),
    Fill {
        to: u64,
        bytes: u64,
        with: u8,
    },
    /// From the host, taken when it was asked for: memory that the system may move.
    Write {
        to: u64,
        bytes: Arc<[u8]>,
    },
    /// From memory that the host has pinned, taken when its turn comes.
    WritePinned {
        to: u64,
        from: u64,
        bytes: u64,
    },
    /// To the host.
    Read {
        to: u64,
        from: u64,
        bytes: u64,
    },
    Copy {
        to: u64,
        from: u64,
        bytes: u64,
    },
    Free {
        address: u64,
    },
    /// Something happened: event and how often it was recorded.
    Record {
        event: u64,
        count: u64,
    },
    /// Waits for another stream's event.
    Await {
        event: u64,
        count: u64,
    },
    Graph(Arc<[Work]>),
}

impl Work {
    /// Whether a graph may hold it.
    pub fn recordable(&self) -> bool {
        matches!(self, Work::Launch(_) | Work::Product(_) | Work::Fill { .. } | Work::Copy { .. })
    }
}

#[derive(Default)]
struct Stream {
    waiting: VecDeque<Work>,
    /// What is being recorded in place of being done.
    recorded: Option<Vec<Work>>,
}

/// All streams, and what they work on.
pub struct Queues {
    pub memory: Memory,
    streams: BTreeMap<u64, Stream>,
    /// How often each event was asked to be recorded, in which stream last, and how often that has come about.
    events: BTreeMap<u64, (u64, u64, u64)>,
    /// Pinned memory of the host: where it begins, its bytes, and whether it is write-combined: the host reads that a
    /// hundred times slower than other memory.
    pinned: BTreeMap<u64, (u64, bool)>,
    /// Whether an exchange by NCCL came to no end, so that no event comes about any more.
    pub hangs: bool,
    /// The first fault; after it nothing works.
    pub fault: Option<DeviceFault>,
}

/// Whether a kernel is to fail, to see what a program says then.
fn fails(kernel: &str) -> bool {
    static ASKED: OnceLock<Option<String>> = OnceLock::new();
    ASKED.get_or_init(|| std::env::var("GPU_EMULATOR_FAILS").ok()).as_deref() == Some(kernel)
}

impl Queues {
    pub fn new() -> Self {
        Queues {
            memory: Memory::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            pinned: BTreeMap::new(),
            hangs: false,
            fault: None,
        }
    }

    /// Notes the first fault, and says it.
    pub fn fail(&mut self, DeviceFault(why): DeviceFault) {
        if self.fault.is_none() {
            eprintln!("emulated GPU: {why}");
            self.fault = Some(DeviceFault(why));
        }
    }

    /// Asks for work. An error where it may not be asked for while a graph is recorded.
    pub fn ask(&mut self, stream: u64, work: Work) -> Result<(), DeviceFault> {
        let stream = self.streams.entry(stream).or_default();
        match &mut stream.recorded {
            Some(_) if !work.recordable() => Err(fault!("a graph is being recorded, which cannot hold this work")),
            Some(recorded) => {
                recorded.push(work);
                Ok(())
            }
            None => {
                stream.waiting.push_back(work);
                Ok(())
            }
        }
    }

    pub fn records(&self, stream: u64) -> bool {
        self.streams.get(&stream).is_some_and(|stream| stream.recorded.is_some())
    }

    /// Whether any stream records.
    pub fn any_records(&self) -> bool {
        self.streams.values().any(|stream| stream.recorded.is_some())
    }

    pub fn begin_recording(&mut self, stream: u64) -> Result<(), DeviceFault> {
        let stream = self.streams.entry(stream).or_default();
        match stream.recorded.replace(Vec::new()) {
            Some(_) => Err(fault!("a graph is being recorded already")),
            None => Ok(()),
        }
    }

    pub fn end_recording(&mut self, stream: u64) -> Option<Vec<Work>> {
        self.streams.get_mut(&stream)?.recorded.take()
    }

    pub fn new_event(&mut self, event: u64) {
        self.events.insert(event, (0, 0, 0));
    }

    pub fn record_event(&mut self, event: u64, stream: u64) -> Result<(), DeviceFault> {
        let (asked, at, _) = self.events.get_mut(&event).ok_or_else(|| fault!("no such event"))?;
        (*asked, *at) = (*asked + 1, stream);
        let count = *asked;
        self.ask(stream, Work::Record { event, count })
    }

    pub fn await_event(&mut self, event: u64, stream: u64) -> Result<(), DeviceFault> {
        let (count, ..) = *self.events.get(&event).ok_or_else(|| fault!("no such event"))?;
        self.ask(stream, Work::Await { event, count })
    }

    /// Whether an event has come about since it was last asked for. Where it has not, some work is done, so that who asks
    /// again and again gets on.
    pub fn event_is_done(&mut self, event: u64) -> Result<bool, DeviceFault> {
        let waits = self.events.get(&event).filter(|(asked, _, done)| done < asked);
        let Some((_, stream, _)) = waits.copied() else { return Ok(true) };
        if let Some(work) = if self.hangs { None } else { self.take(stream) } {
            self.work(work)?;
        }
        Ok(false)
    }

    /// Works until an event has come about.
    pub fn finish_event(&mut self, event: u64) -> Result<(), DeviceFault> {
        match self.events.get(&event) {
            Some((asked, stream, done)) if done < asked => {
                let (asked, stream) = (*asked, *stream);
                self.work_until(stream, event, asked)
            }
            _ => Ok(()),
        }
    }

    fn work_until(&mut self, stream: u64, event: u64, count: u64) -> Result<(), DeviceFault> {
        while self.events.get(&event).is_some_and(|(_, _, done)| *done < count) {
            let Some(work) = self.take(stream) else { return Ok(()) };
            self.work(work)?;
        }
        Ok(())
    }

    fn take(&mut self, stream: u64) -> Option<Work> {
        self.streams.get_mut(&stream)?.waiting.pop_front()
    }

    /// Does all work of a stream.
    pub fn finish(&mut self, stream: u64) -> Result<(), DeviceFault> {
        while let Some(work) = self.take(stream) {
            self.work(work)?;
        }
        Ok(())
    }

    pub fn finish_all(&mut self) -> Result<(), DeviceFault> {
        let streams: Vec<u64> = self.streams.keys().copied().collect();
        streams.into_iter().try_for_each(|stream| self.finish(stream))
    }

    fn work(&mut self, work: Work) -> Result<(), DeviceFault> {
        match work {
            Work::Launch(launch) if fails(&launch.kernel.name) => {
                Err(fault!("{}: fails, as GPU_EMULATOR_FAILS asks", launch.kernel.name))
            }
            Work::Launch(launch) => {
                let begin = Instant::now();
                launch.run(&self.memory)?;
                census::count(&launch.kernel.name, begin.elapsed());
                Ok(())
            }
            Work::Product(product) => {
                let begin = Instant::now();
                product.run(&self.memory)?;
                census::count("product of cuBLAS", begin.elapsed());
                Ok(())
            }
            Work::Fill { to, bytes, with } => {
                let to = self.memory.bytes(to, bytes)?;
                // Safety: checked.
                unsafe { std::ptr::write_bytes(to, with, bytes as usize) };
                Ok(())
            }
            Work::Write { to, bytes } => {
                let to = self.memory.bytes(to, bytes.len() as u64)?;
                // Safety: checked.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
                Ok(())
            }
            Work::WritePinned { to, from, bytes } => {
                let to = self.memory.bytes(to, bytes)?;
                if !self.is_pinned(from, bytes) {
                    return Err(fault!("host memory was given back before it was copied"));
                }
                // Safety: checked.
                unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to, bytes as usize) };
                Ok(())
            }
            Work::Read { to, from, bytes } => {
                let from = self.memory.bytes(from, bytes)?;
                // Safety: checked; whoever asked keeps the host's memory until it has waited.
                unsafe { std::ptr::copy_nonoverlapping(from, to as *mut u8, bytes as usize) };
                Ok(())
            }
            Work::Copy { to, from, bytes } => {
                let (from, to) = (self.memory.bytes(from, bytes)?, self.memory.bytes(to, bytes)?);
                // Safety: checked.
                unsafe { std::ptr::copy(from, to, bytes as usize) };
                Ok(())
            }
            Work::Free { address } => {
                self.memory.free(address);
                Ok(())
            }
            Work::Record { event, count } => {
                if let Some((_, _, done)) = self.events.get_mut(&event) {
                    *done = count;
                }
                Ok(())
            }
            Work::Await { event, count } => {
                let stream = self.events.get(&event).map(|(_, stream, _)| *stream);
                stream.map_or(Ok(()), |stream| self.work_until(stream, event, count))
            }
            Work::Graph(all) => all.iter().cloned().try_for_each(|work| self.work(work)),
        }
    }

    /// Pins `bytes` bytes of the host from `address` on.
    pub fn pin(&mut self, address: u64, bytes: u64, write_combined: bool) {
        self.pinned.insert(address, (bytes, write_combined));
    }

    /// Gives pinned memory back. Returns its bytes.
    ///
    /// The driver waits for all work before it frees any, but does not promise to: whoever frees memory that a copy is on
    /// its way to relies on luck.
    pub fn unpin(&mut self, address: u64) -> Result<u64, DeviceFault> {
        let (bytes, _) = self.pinned.remove(&address).ok_or_else(|| fault!("host memory that was not pinned"))?;
        let there = |place: &u64| (address..address + bytes).contains(place);
        let under_way = self.streams.values().flat_map(|stream| &stream.waiting).any(|work| match work {
            Work::Read { to, .. } => there(to),
            Work::WritePinned { from, .. } => there(from),
            _ => false,
        });
        if under_way { Err(fault!("pinned memory was freed while a copy of it was under way")) } else { Ok(bytes) }
    }

    /// Asks for a copy to the host, of `bytes` bytes.
    pub fn ask_to_read(&mut self, stream: u64, to: u64, from: u64, bytes: u64) -> Result<(), DeviceFault> {
        let before = self.pinned.range(..=to).next_back();
        if before.is_some_and(|(begin, (length, write_combined))| *write_combined && to < begin + length) {
            return Err(fault!("a copy to write-combined memory, which the host is slow to read"));
        }
        self.ask(stream, Work::Read { to, from, bytes })
    }

    pub fn is_pinned(&self, address: u64, bytes: u64) -> bool {
        let before = self.pinned.range(..=address).next_back();
        before.is_some_and(|(begin, (length, _))| address + bytes <= begin + length)
    }
}
