//! Models by their id, from a server of our own that answers as the Hub does, and from the cache.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::server::{self, Asked};
use super::*;
use crate::files::hub::{HubSettings, fetch};

const MODEL: &str = "someone/tiny";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// What the server has, and what it was asked.
#[derive(Default)]
struct Shelf {
    files: BTreeMap<String, Vec<u8>>,
    /// Answer for everything but files: code, error code, body.
    model: (u16, &'static str, &'static str),
    /// Answer for files that are not there.
    absent: u16,
    seen: Mutex<Vec<Asked>>,
}

/// Serves `shelf` until the process ends, and gives the address.
fn serve(shelf: Arc<Shelf>) -> String {
    server::serve(move |asked, stream, _| answer(asked, stream, &shelf))
}

fn answer(asked: Asked, mut stream: TcpStream, shelf: &Shelf) -> std::io::Result<()> {
    let path = asked.line.split(' ').nth(1).unwrap_or_default().to_owned();
    let probe = asked.headers.get("range").is_some_and(|range| range == "bytes=0-0");
    shelf.seen.lock().unwrap().push(asked);
    let file = path.split_once("/resolve/main/").map(|(_, file)| file.to_owned());
    let (status, extra, body) = match file.map(|file| shelf.files.get(&file)) {
        Some(Some(content)) => {
            let end = if probe { 0 } else { content.len() - 1 };
            let extra = format!(
                "etag: \"{}\"\r\nx-repo-commit: {COMMIT}\r\ncontent-range: bytes 0-{end}/{}\r\n",
                etag(&path),
                content.len()
            );
            (206, extra, content[..=end].to_vec())
        }
        Some(None) => (shelf.absent, String::new(), Vec::new()),
        None => {
            let (status, code, body) = shelf.model;
            (status, format!("x-error-code: {code}\r\n"), body.as_bytes().to_vec())
        }
    };
    write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{extra}\r\n", body.len())?;
    stream.write_all(&body)
}

/// What the server calls the content at this path, which the cache names the file after.
fn etag(path: &str) -> String {
    format!("{:x}", path.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())))
}

fn settings(endpoint: String, cache: &Path) -> HubSettings {
    HubSettings { endpoint, cache: cache.into(), token: None, offline: false }
}

/// The files of a model that loads.
fn model_files() -> BTreeMap<String, Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    policy(config(), 31).save(dir.path()).unwrap();
    let names = ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"];
    names.map(|name| (name.to_owned(), std::fs::read(dir.path().join(name)).unwrap())).into()
}

/// Why a model cannot be had from a server with this shelf.
fn refusal(shelf: Shelf, token: Option<&str>) -> String {
    let cache = tempfile::tempdir().unwrap();
    let settings = HubSettings { token: token.map(Into::into), ..settings(serve(Arc::new(shelf)), cache.path()) };
    fetch(MODEL, "main", &settings).unwrap_err().to_string()
}

#[test]
fn a_model_is_fetched_once_and_then_found_without_a_network() {
    let cache = tempfile::tempdir().unwrap();
    let shelf = Arc::new(Shelf { files: model_files(), absent: 404, ..Shelf::default() });
    let online = HubSettings { token: Some("hf_secret".into()), ..settings(serve(shelf.clone()), cache.path()) };
    let dir = fetch(MODEL, "main", &online).unwrap();
    let asked = shelf.seen.lock().unwrap().len();
    assert!(shelf.seen.lock().unwrap().iter().all(|asked| asked.headers["authorization"] == "Bearer hf_secret"));
    assert_eq!(dir, cache.path().join("models--someone--tiny/snapshots").join(COMMIT));
    assert!(load(&settings_of(&dir)).is_ok());
    assert_eq!(crate::Location::Directory(dir.clone()).commit(), Some(COMMIT));
    // By branch and by commit, online and offline: the cache comes first, and nobody is asked again.
    for (revision, offline) in [("main", false), ("main", true), (COMMIT, true)] {
        let settings = HubSettings { offline, ..online.clone() };
        assert_eq!(fetch(MODEL, revision, &settings).unwrap(), dir, "{revision} {offline}");
    }
    assert_eq!(shelf.seen.lock().unwrap().len(), asked);
}

#[test]
fn a_model_that_another_process_fetches_is_waited_for_and_not_fetched_again() {
    let cache = tempfile::tempdir().unwrap();
    let shelf = Arc::new(Shelf { files: model_files(), absent: 404, ..Shelf::default() });
    let online = settings(serve(shelf.clone()), cache.path());
    let dir = fetch(MODEL, "main", &online).unwrap();
    let asked = shelf.seen.lock().unwrap().len();
    // As while another process fetches it: that one has the lock, and no branch names a complete model yet.
    let (branch, unnamed) = (cache.path().join("models--someone--tiny/refs/main"), cache.path().join("unnamed"));
    let other = File::open(cache.path().join(".locks/models--someone--tiny/grpo-2048.lock")).unwrap();
    other.lock().unwrap();
    std::fs::rename(&branch, &unnamed).unwrap();
    let found = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fetch(MODEL, "main", &online));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished());
        std::fs::rename(&unnamed, &branch).unwrap();
        drop(other);
        waiting.join().unwrap()
    });
    assert_eq!(found.unwrap(), dir);
    assert_eq!(shelf.seen.lock().unwrap().len(), asked, "nobody was asked again");
}

#[test]
fn a_file_that_another_program_fetches_is_waited_for_however_long_it_takes() {
    let cache = tempfile::tempdir().unwrap();
    let shelf = Arc::new(Shelf { files: model_files(), absent: 404, ..Shelf::default() });
    let online = settings(serve(shelf), cache.path());
    let blobs = cache.path().join("models--someone--tiny/blobs");
    std::fs::create_dir_all(&blobs).unwrap();
    let held = blobs.join(etag(&format!("/{MODEL}/resolve/main/model.safetensors"))).with_extension("lock");
    let other = File::create(held).unwrap();
    other.lock().unwrap();
    let fetched = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fetch(MODEL, "main", &online));
        // hf-hub by itself gives up after five seconds.
        std::thread::sleep(Duration::from_millis(6_500));
        drop(other);
        waiting.join().unwrap()
    });
    assert!(fetched.unwrap().join("model.safetensors").is_file());
}

#[test]
fn weights_in_one_file_are_fetched_and_without_it_the_shards_that_the_index_names() {
    const SHARD: &str = "model-00001-of-00001.safetensors";
    let mut files = model_files();
    let index = format!("{{\"weight_map\": {{\"model.norm.weight\": \"{SHARD}\"}}}}");
    files.insert("model.safetensors.index.json".into(), index.into());
    let has_fetched = |files: &BTreeMap<String, Vec<u8>>, name: &str| {
        let cache = tempfile::tempdir().unwrap();
        let shelf = Arc::new(Shelf { files: files.clone(), absent: 404, ..Shelf::default() });
        fetch(MODEL, "main", &settings(serve(shelf), cache.path())).unwrap().join(name).is_file()
    };
    // The shard that the index names is not there.
    assert!(has_fetched(&files, "model.safetensors"));
    let weights = files.remove("model.safetensors").unwrap();
    files.insert(SHARD.into(), weights);
    assert!(has_fetched(&files, SHARD));
    files.remove(SHARD);
    // Of a model that has neither, the usual file is named.
    files.retain(|name, _| !name.starts_with("model.safetensors"));
    let error = refusal(Shelf { files, absent: 404, model: (200, "", "{}"), ..Shelf::default() }, None);
    assert!(error.contains("the model has no model.safetensors;"), "{error}");
}

#[test]
fn gated_absent_and_unknown_are_told_apart() {
    let gated = (200, "", r#"{"gated": "manual"}"#);
    for (model, absent, token, parts) in [
        (gated, 401, None, &["gated", "no token", "HF_TOKEN"][..]),
        (gated, 403, Some("hf_x"), &["gated", "the token that is set"]),
        ((401, "RepoNotFound", ""), 401, None, &["knows no such model", "spelling"]),
        ((404, "RevisionNotFound", ""), 404, None, &["no such revision", "--revision"]),
        ((200, "", "{}"), 404, None, &["has no config.json", ".gguf"]),
        ((503, "", ""), 503, None, &["answers 503", "again later"]),
    ] {
        let error = refusal(Shelf { model, absent, ..Shelf::default() }, token);
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn no_network_is_called_that() {
    let cache = tempfile::tempdir().unwrap();
    // A port that was free a moment ago: nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = settings(format!("http://127.0.0.1:{port}"), cache.path());
    let error = fetch(MODEL, "main", &settings).unwrap_err().to_string();
    assert!(error.contains("cannot be reached") && error.contains("check the network"), "{error}");
}

#[test]
fn offline_says_what_the_cache_lacks() {
    let cache = tempfile::tempdir().unwrap();
    let offline = HubSettings { offline: true, ..settings("http://127.0.0.1:1".into(), cache.path()) };
    let error = fetch(MODEL, "main", &offline).unwrap_err().to_string();
    assert!(error.contains("not in the cache") && error.contains("unset HF_HUB_OFFLINE"), "{error}");
    let model = cache.path().join("models--someone--tiny");
    let snapshot = model.join("snapshots").join(COMMIT);
    for dir in ["refs", "blobs"] {
        std::fs::create_dir_all(model.join(dir)).unwrap();
    }
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::write(model.join("refs/main"), COMMIT).unwrap();
    std::fs::write(snapshot.join("config.json"), "{}").unwrap();
    std::fs::write(model.join("blobs/abc.incomplete"), "half").unwrap();
    let error = fetch(MODEL, "main", &offline).unwrap_err().to_string();
    for part in ["tokenizer.json", "model.safetensors", "cut off", "abc.incomplete"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn the_variables_of_hugging_face_are_heeded() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().display().to_string();
    std::fs::write(dir.path().join("token"), "hf_filed\n").unwrap();
    let read = |pairs: &[(&str, &str)]| {
        let pairs: BTreeMap<String, String> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        HubSettings::from_env(&|name| pairs.get(name).cloned())
    };
    let filed = read(&[("HF_HOME", &home)]);
    assert_eq!(filed.token.as_deref(), Some("hf_filed"));
    assert_eq!((filed.cache, filed.offline), (dir.path().join("hub"), false));
    assert_eq!(filed.endpoint, "https://huggingface.co");
    let given = read(&[
        ("HF_HOME", &home),
        ("HF_TOKEN", " hf_given "),
        ("HF_HUB_CACHE", "/elsewhere"),
        ("HF_HUB_OFFLINE", "true"),
        ("HF_ENDPOINT", "https://mirror.example/"),
    ]);
    assert_eq!(given.token.as_deref(), Some("hf_given"));
    assert_eq!((given.cache, given.offline), (PathBuf::from("/elsewhere"), true));
    assert_eq!(given.endpoint, "https://mirror.example");
    let plain = read(&[("HOME", "/home/x"), ("HF_HUB_OFFLINE", "0")]);
    assert_eq!((plain.cache, plain.token), (PathBuf::from("/home/x/.cache/huggingface/hub"), None));
    assert!(!plain.offline);
}
