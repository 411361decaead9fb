//! A terminal of a test's own, of which nothing that a program writes is lost.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};

use rustix::fs::OFlags;
use rustix::pty::{self, OpenptFlags};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::COLOURS;

/// A terminal that nobody sees.
pub struct Pty {
    /// What programs write comes out here.
    pub reader: File,
    name: String,
}

impl Pty {
    pub fn new(columns: u16) -> Pty {
        let reader = pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        pty::unlockpt(&reader).unwrap();
        tcsetwinsize(&reader, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = pty::ptsname(&reader, Vec::new()).unwrap().into_string().unwrap();
        Pty { reader: reader.into(), name }
    }

    /// The side that programs write to.
    pub fn opened(&self) -> File {
        // Where the tests have no terminal of their own, it is not to become that of all.
        let not_ours = OFlags::NOCTTY.bits() as i32;
        File::options().read(true).write(true).custom_flags(not_ours).open(&self.name).unwrap()
    }
}

/// All that a command writes to a terminal of `columns` characters, whose kind `TERM` names. The command must succeed.
pub fn shown(mut command: Command, columns: u16, kind: &str) -> String {
    let mut pty = Pty::new(columns);
    for name in COLOURS {
        command.env_remove(name);
    }
    command.env("TERM", kind).env_remove("RUST_LOG");
    let mut child = command.stdin(Stdio::null()).stdout(pty.opened()).stderr(pty.opened()).spawn().unwrap();
    // Reading ends once nobody has the other side open.
    drop(command);
    let mut bytes = Vec::new();
    let end = pty.reader.read_to_end(&mut bytes).map_err(|error| error.raw_os_error());
    assert!(matches!(end, Ok(_) | Err(Some(EIO))), "{end:?}");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(child.wait().unwrap().success(), "{text}");
    text
}

/// What Linux answers once the other side is closed.
const EIO: i32 = rustix::io::Errno::IO.raw_os_error();
