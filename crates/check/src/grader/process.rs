//! A process that is written to and read from with a limit on time, and that takes all that it has started with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use parking_lot::Mutex;

use super::transport::shortened;

/// Bytes of error output that are kept.
const SAID_BYTES_MAX: usize = 1 << 16;
/// Time between two looks at whether a process has ended, and how often it is looked at after its last line.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: usize = 250;
/// Ends a group of processes once this process is gone, whatever ended it: nobody ever writes the line that it reads.
const LEASH: &str = "read -r line; kill -s KILL -- \"-$1\"";

/// A running process and its children, which end when it is dropped.
pub(super) struct Process {
    child: Child,
    lines: Receiver<String>,
    said: Arc<Mutex<Vec<u8>>>,
    leash: Option<Child>,
}

/// Why there is no further line.
pub(super) enum Silence {
    Ended,
    TooLong,
}

impl Process {
    /// Starts a command, with its standard input if that is wanted.
    pub fn start(command: &mut Command) -> Result<(Process, ChildStdin), String> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
        let (Some(stdin), Some(stdout), Some(mut stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(format!("{name}: started without its pipes"));
        };
        let (sender, lines) = channel();
        // Not joined: what the process has started may keep its output open for longer than anybody listens.
        std::thread::spawn(move || {
            let mut output = BufReader::new(stdout);
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(bytes @ 1..) = stderr.read(&mut part) {
                let mut said = heard.lock();
                said.extend_from_slice(&part[..bytes]);
                let excess = said.len().saturating_sub(SAID_BYTES_MAX);
                said.drain(..excess);
            }
        });
        Ok((Process { child, lines, said, leash: None }, stdin))
    }

    /// The same, which ends with this process too. The terminal's Ctrl-C does not reach its group, and a loop without end
    /// would go on alone.
    pub fn leashed(mut self) -> Result<Process, String> {
        let group = self.child.id().to_string();
        let mut leash = Command::new("sh");
        leash.args(["-c", LEASH, "sh", &group]).process_group(0);
        leash.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.leash = Some(leash.spawn().map_err(|error| format!("sh: {error}"))?);
        Ok(self)
    }

    /// The next line of the output, if it comes in time.
    pub fn line(&self, limit: Duration) -> Result<String, Silence> {
        self.lines.recv_timeout(limit).map_err(|error| match error {
            RecvTimeoutError::Timeout => Silence::TooLong,
            RecvTimeoutError::Disconnected => Silence::Ended,
        })
    }

    /// Waits a little for the end after the last line, and says in words how it went, if not well.
    pub fn failure(&mut self) -> Option<String> {
        for _ in 0..LOOKS {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return None,
                Ok(Some(status)) => return Some(format!("{status}{}", self.last_words())),
                Ok(None) => std::thread::sleep(LOOK),
                Err(error) => return Some(error.to_string()),
            }
        }
        Some("its output ended, and it went on".to_owned())
    }

    /// The last line of the error output, after a colon; empty if there is none.
    pub fn last_words(&self) -> String {
        let said = self.said.lock();
        let said = String::from_utf8_lossy(&said);
        said.lines()
            .map(str::trim)
            .rfind(|line| !line.is_empty())
            .map_or(String::new(), |line| format!(": {}", shortened(line)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Before its input ends, by which it would take this process for gone.
        if let Some(leash) = &mut self.leash {
            let _ = leash.kill();
            let _ = leash.wait();
        }
        // The group, whose number is that of its first process, is there for as long as nobody has waited for that one.
        if let (Ok(pid), Ok(None)) = (i32::try_from(self.child.id()), self.child.try_wait()) {
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

/// Writes all input on a thread of its own and closes it, so that a process may answer before it has read everything.
pub(super) fn feed(mut stdin: ChildStdin, input: String) {
    // A process that ends before it has read everything says so by its output.
    std::thread::spawn(move || stdin.write_all(input.as_bytes()));
}
