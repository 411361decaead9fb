//! Files that are either complete or absent, whatever happens to the process that writes them; and what is no file.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use safetensors::SafeTensorError;

/// Whether a file is at `path`.
///
/// # Errors
/// Of the system, where it does not tell: in a directory that may not be looked into there may be one.
pub fn is_file(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.is_file()),
        // There cannot be one: the way to it leads through a file, or the name of a model is none of a file.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) if matches!(error.kind(), ErrorKind::InvalidFilename | ErrorKind::InvalidInput) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Prefix of unfinished files; a process that was killed may leave one.
pub const PARTIAL: &str = ".partial-";

/// Writes a file beside `target`, syncs it, and renames it. The directory must exist.
pub fn write_whole(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::create(target)?;
    file.write_all(bytes)?;
    file.finish()
}

/// A file that is written piece by piece. What is at its path stays there until `finish`, and without it.
pub struct WholeFile {
    unfinished: tempfile::NamedTempFile,
    target: PathBuf,
}

impl WholeFile {
    /// Begins a file beside `target`. The directory must exist.
    pub fn create(target: &Path) -> io::Result<WholeFile> {
        Ok(WholeFile { unfinished: beside(target)?, target: target.to_owned() })
    }

    /// Syncs the file and renames it.
    pub fn finish(self) -> io::Result<()> {
        self.unfinished.as_file().sync_all()?;
        self.unfinished.persist(&self.target).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unfinished.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unfinished.as_file_mut().flush()
    }
}

/// Writes tensors as a safetensors file with the usual permissions of a new file; the library alone would let only
/// this user read it.
pub fn write_tensors<N: AsRef<str> + Ord + std::fmt::Display, T: safetensors::View>(
    tensors: impl IntoIterator<Item = (N, T)>,
    metadata: Option<HashMap<String, String>>,
    path: &Path,
) -> io::Result<()> {
    safetensors::serialize_to_file(tensors, metadata, path).map_err(|error| match error {
        SafeTensorError::IoError(error) => error,
        other => io::Error::other(other),
    })?;
    let permissions = beside(path)?.as_file().metadata()?.permissions();
    fs::set_permissions(path, permissions)
}

/// Moves a directory that was filled elsewhere on the same disk to `target`, synced. An error if something is in `target`.
pub fn publish_dir(filled: &Path, target: &Path) -> io::Result<()> {
    sync_files(filled)?;
    fs::rename(filled, target)?;
    File::open(directory_of(target))?.sync_all()
}

/// The same, in place of a directory that is at `target`, which is removed with all that is in it. It stays until the new one
/// is synced, so that a full disk or a kill meanwhile leaves one of them. The two change places at once where the file system
/// can do that. Elsewhere, as on NFS, there is a moment in which none is at `target`, and the old one at `aside`: in the same
/// directory, under a name by which it is found as well.
pub fn replace_dir(filled: &Path, target: &Path, aside: &Path) -> io::Result<()> {
    if !target.exists() {
        return publish_dir(filled, target);
    }
    sync_files(filled)?;
    if exchange(filled, target).is_ok() {
        File::open(directory_of(target))?.sync_all()?;
        return remove_rest(filled);
    }
    replace_in_turn(filled, target, aside)
}

/// Replaces `target` by `filled`, which is synced, without exchanging them.
fn replace_in_turn(filled: &Path, target: &Path, aside: &Path) -> io::Result<()> {
    // What a killed process has left there is older than what is at `target`.
    if aside.exists() {
        remove_dir(aside)?;
    }
    fs::rename(target, aside)?;
    if let Err(error) = fs::rename(filled, target) {
        fs::rename(aside, target)?;
        return Err(error);
    }
    File::open(directory_of(target))?.sync_all()?;
    remove_dir(aside)
}

/// Removes a directory with all that is in it. It goes from its path at once, so that a kill meanwhile leaves no part of it
/// that could be taken for the whole, only one with the name of something unfinished.
pub fn remove_dir(path: &Path) -> io::Result<()> {
    let mut name = OsString::from(PARTIAL);
    name.push(path.file_name().unwrap_or_default());
    let leaving = path.with_file_name(name);
    fs::rename(path, &leaving)?;
    remove_rest(&leaving)
}

/// Removes a directory of which nobody takes a part for the whole, because of its name or because a newer one is there. It
/// stays, empty but for what NFS keeps there, while a program of this machine has one of its files open.
pub fn remove_rest(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if is_kept_open(&error) => Ok(()),
        done => done,
    }
}

/// Whether an error is that of removing a directory in which NFS keeps a file that is open.
fn is_kept_open(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::ResourceBusy)
}

/// Lets two paths of one file system change places, without a moment in which nothing is at one of them.
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Moves these files of a directory that was filled on the same disk into `dir`, which stays: synced one by one, in this
/// order, so that the last ones say that all are there. An error if one of them is in `dir`.
pub fn publish_files(filled: &Path, names: &[&str], dir: &Path) -> io::Result<()> {
    if let Some(name) = names.iter().find(|name| dir.join(name).exists()) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{name} has come there meanwhile")));
    }
    sync_files(filled)?;
    for name in names {
        fs::rename(filled.join(name), dir.join(name))?;
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

/// Syncs each file of a directory.
pub fn sync_files(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        File::open(entry?.path())?.sync_all()?;
    }
    Ok(())
}

/// An unnamed new file beside `target`, with the permissions that the user's umask allows.
fn beside(target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PARTIAL);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(directory_of(target)).map_err(without_path)
}

/// The error without the name of the unfinished file, which nobody knows, that tempfile puts at its end.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    let words = text.split_once(" at path ").map_or(text.as_str(), |(words, _)| words);
    io::Error::new(error.kind(), words)
}

/// Whether an error is that of a full disk, or of as much of it as this user may have.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// What a path is that a reader may wait for without end: a named pipe, a socket or a device. None for all else.
pub fn special(path: &Path) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    let kind = fs::metadata(path).ok()?.file_type();
    match kind {
        _ if kind.is_fifo() => Some("a named pipe"),
        _ if kind.is_socket() => Some("a socket"),
        _ if kind.is_char_device() || kind.is_block_device() => Some("a device"),
        _ => None,
    }
}

/// Where a path leads. A link keeps its own name where that alone says what the file is: a cache of the Hub has `model.gguf` as a
/// link to a digest.
pub fn place(path: &Path) -> io::Result<PathBuf> {
    let target = path.canonicalize()?;
    match target.is_file() && target.extension() != path.extension() {
        true => std::path::absolute(path),
        false => Ok(target),
    }
}

/// Whether an open file or directory is the one at `path`, which may have been removed or replaced since.
pub fn is_at(open: &File, path: &Path) -> io::Result<bool> {
    let held = open.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((held.dev(), held.ino()) == (found.dev(), found.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The directory of `target`.
pub fn directory_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The lines of a file, without their ends. They are split here, because what is generic is compiled where it is called, for the
/// program's commands without optimisation.
pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split(|&byte| byte == b'\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_may_not_be_looked_for_is_not_called_missing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(is_file(&file).unwrap());
        let long = dir.path().join("a".repeat(300));
        for none in [dir.path(), &dir.path().join("nowhere"), &file.join("in-a-file"), &long, Path::new("a\0b")] {
            assert!(!is_file(none).unwrap(), "{}", none.display());
        }
        // What the system gives up, also for root: a link to itself.
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&link, &link).unwrap();
        assert!(is_file(&link).is_err() && is_file(&link.join("in-it")).is_err());
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("trace.json");
        for text in ["a longer first text", "second"] {
            write_whole(&target, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&target).unwrap(), text);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let missing = write_whole(&dir.path().join("missing/trace.json"), b"").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(!missing.to_string().contains("missing"), "the caller names the file: {missing}");
    }

    #[test]
    fn a_file_that_is_not_finished_leaves_the_one_of_before() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("table.csv");
        write_whole(&target, b"of before").unwrap();
        let mut file = WholeFile::create(&target).unwrap();
        file.write_all(b"half of").unwrap();
        drop(file);
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "of before");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_as_open_to_others_as_any_new_one() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        let [plain, whole, tensors] = ["plain", "whole", "tensors"].map(|name| dir.path().join(name));
        std::fs::write(&plain, "").unwrap();
        write_whole(&whole, b"").unwrap();
        let one = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![1], &[0; 4]).unwrap();
        write_tensors([("one", &one)], None, &tensors).unwrap();
        let missing = write_tensors([("one", &one)], None, &dir.path().join("missing/tensors")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert_eq!([mode(&whole), mode(&tensors)], [mode(&plain); 2]);
    }

    #[test]
    fn a_directory_is_replaced_only_where_that_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("model");
        let filled = |name: &str| {
            let filled = dir.path().join("filled");
            fs::create_dir(&filled).unwrap();
            fs::write(filled.join(name), "").unwrap();
            filled
        };
        publish_dir(&filled("first"), &target).unwrap();
        let second = filled("second");
        assert!(publish_dir(&second, &target).is_err() && target.join("first").exists());
        let aside = dir.path().join("aside");
        assert!(replace_dir(&dir.path().join("missing"), &target, &aside).is_err() && target.join("first").exists());
        // A directory cannot be moved into itself, which is found out once the old one has gone aside.
        assert!(replace_dir(dir.path(), &target, &aside).is_err() && target.join("first").exists());
        replace_dir(&second, &target, &aside).unwrap();
        assert!(target.join("second").exists() && !target.join("first").exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "the old one is gone");
        // Where the two cannot be exchanged, the old one goes to that place alone, even if one is left there.
        let third = filled("third");
        let nowhere = dir.path().join("missing/aside");
        assert!(replace_in_turn(&third, &target, &nowhere).is_err() && target.join("second").exists());
        fs::create_dir(&aside).unwrap();
        fs::write(aside.join("left"), "").unwrap();
        replace_in_turn(&third, &target, &aside).unwrap();
        assert!(target.join("third").exists() && !target.join("second").exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "the old one is gone");
    }

    #[test]
    fn a_directory_that_is_removed_goes_from_its_path_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let [old, in_its_way] = ["old", ".partial-old"].map(|name| dir.path().join(name));
        fs::create_dir(&old).unwrap();
        fs::write(old.join("file"), "").unwrap();
        fs::write(&in_its_way, "").unwrap();
        assert!(remove_dir(&old).is_err() && old.join("file").exists(), "before anything in it is removed");
        fs::remove_file(&in_its_way).unwrap();
        remove_dir(&old).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_stays_where_nfs_keeps_a_file_that_is_open() {
        // ENOTEMPTY and EBUSY of NFS, EIO and EACCES of any file system.
        let stays = |code| is_kept_open(&io::Error::from_raw_os_error(code));
        assert_eq!([39, 16, 5, 13].map(stays), [true, true, false, false]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_directory_that_is_replaced_is_set_aside_at_no_moment() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        // The longest path of Linux has 4,095 bytes, so nothing with a longer name fits beside these two: an old directory
        // cannot be set aside there.
        let longest = 4095 - "/filled".len();
        let mut deep = dir.path().to_owned();
        while deep.as_os_str().len() + 1 < longest {
            let room = longest - deep.as_os_str().len() - 1;
            deep.push("d".repeat(room.min(200)));
        }
        let [filled, target] = ["filled", "target"].map(|name| deep.join(name));
        for path in [&filled, &target] {
            fs::create_dir_all(path).unwrap();
        }
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        let new = inode(&filled);
        replace_dir(&filled, &target, &deep.join("set-aside")).unwrap();
        assert_eq!((inode(&target), filled.exists()), (new, false));
    }

    #[test]
    fn a_bare_name_is_in_the_directory_at_hand() {
        assert_eq!(directory_of(Path::new("trace.json")), Path::new("."));
        assert_eq!(directory_of(Path::new("a/trace.json")), Path::new("a"));
    }
}
