//! Uploads files to the Hugging Face Hub, as one commit.
//!
//! Takes a directory and the names of files in it; gives the address of the commit. The protocol is that of
//! `huggingface_hub` (`create_repo`, `preupload_lfs_files`, `create_commit`): the Hub is asked which files go through
//! Git LFS, those are uploaded to the addresses it names, and a commit in lines of JSON lists all files and contains
//! the others.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use ureq::http::Response;
use ureq::{Agent, Body, SendBody};

use crate::files::hub::HubSettings;

/// Bytes of a file's beginning, by which the Hub tells text from binary files.
const SAMPLE_BYTES: u64 = 512;
/// Media type of Git LFS.
const LFS: &str = "application/vnd.git-lfs+json";
/// What the Hub says while it makes another repository of the same owner; `huggingface_hub` waits for these words too.
const BUSY: &str = "conflicting operation";
/// Pauses before a failed part is sent again, and before a busy Hub is asked again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
const CONNECT: Duration = Duration::from_secs(30);

/// A model repository to push to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubRepo {
    owner: String,
    name: String,
}

impl HubRepo {
    /// Reads `owner/name`; `None` for anything else.
    pub fn parse(text: &str) -> Option<HubRepo> {
        let (owner, name) = text.split_once('/').filter(|_| crate::files::hub::is_hub_id(text))?;
        Some(HubRepo { owner: owner.to_owned(), name: name.to_owned() })
    }
}

impl std::fmt::Display for HubRepo {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.owner, self.name)
    }
}

/// Who may see a repository that a push creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// What the owner's settings say; public by default.
    Default,
    /// Only the owner.
    Private,
}

/// What was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// Address of the model's page.
    pub url: String,
    /// Address of the commit.
    pub commit_url: String,
}

/// Why nothing, or not everything, was pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The Hub refused, or could not be reached.
    #[error("{repo}: {message}")]
    Hub { repo: String, message: String, advice: String },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

/// A file to push.
struct Addition {
    /// Its name in the directory and in the repository.
    name: String,
    path: PathBuf,
    size: u64,
    sha256: String,
    sample: Vec<u8>,
}

impl Addition {
    fn read(dir: &Path, name: &str) -> Result<Addition, PushError> {
        let path = dir.join(name);
        let read = || -> io::Result<(u64, String, Vec<u8>)> {
            let mut sample = Vec::new();
            File::open(&path)?.take(SAMPLE_BYTES).read_to_end(&mut sample)?;
            let mut digest = Sha256::new();
            let size = io::copy(&mut File::open(&path)?, &mut digest)?;
            Ok((size, format!("{:x}", digest.finalize()), sample))
        };
        let (size, sha256, sample) = read().map_err(|source| PushError::Io { path: path.clone(), source })?;
        Ok(Addition { name: name.to_owned(), path, size, sha256, sample })
    }

    fn part(&self, bytes: Range<u64>) -> Result<impl Read, PushError> {
        let opened = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(bytes.start))?;
            Ok(file.take(bytes.end - bytes.start))
        });
        opened.map_err(|source| PushError::Io { path: self.path.clone(), source })
    }
}

/// One push to one repository.
struct Push<'a> {
    repo: &'a HubRepo,
    endpoint: &'a str,
    token: &'a str,
    agent: Agent,
}

/// Pushes `names` of `dir`, with the access settings of the environment.
pub fn push(dir: &Path, names: &[String], repo: &HubRepo, visibility: Visibility) -> Result<Pushed, PushError> {
    push_by(&HubSettings::given(), dir, names, repo, visibility)
}

/// Refuses a push that would fail for lack of a token or in offline mode, before its files are written.
pub fn check_push(repo: &HubRepo) -> Result<(), PushError> {
    token(&HubSettings::given(), repo).map(|_| ())
}

/// [`push`] with given settings.
pub(crate) fn push_by(
    settings: &HubSettings,
    dir: &Path,
    names: &[String],
    repo: &HubRepo,
    visibility: Visibility,
) -> Result<Pushed, PushError> {
    let (token, endpoint) = (token(settings, repo)?, settings.endpoint.as_str());
    let agent = Agent::config_builder().http_status_as_error(false).timeout_connect(Some(CONNECT)).build().into();
    let push = Push { repo, endpoint, token, agent };
    let additions = names.iter().map(|name| Addition::read(dir, name)).collect::<Result<Vec<_>, _>>()?;
    push.create(visibility)?;
    let large = push.large(&additions)?;
    push.send_large(&large)?;
    let commit_url = push.commit(&additions, &large)?;
    Ok(Pushed { url: format!("{endpoint}/{repo}"), commit_url })
}

fn token<'a>(settings: &'a HubSettings, repo: &HubRepo) -> Result<&'a str, PushError> {
    let refuse = |message: &str, advice: &str| {
        Err(PushError::Hub { repo: repo.to_string(), message: message.into(), advice: advice.into() })
    };
    match settings.token.as_deref() {
        _ if settings.offline => refuse("HF_HUB_OFFLINE is set", "unset it, or leave --push away"),
        Some(token) => Ok(token),
        None => refuse(
            "there is no token to push with",
            "set HF_TOKEN to a token that may write (https://huggingface.co/settings/tokens), or run `hf auth login`",
        ),
    }
}

impl Push<'_> {
    fn refuse(&self, message: impl Into<String>, advice: impl Into<String>) -> PushError {
        PushError::Hub { repo: self.repo.to_string(), message: message.into(), advice: advice.into() }
    }

    fn unreachable(&self, error: &ureq::Error) -> PushError {
        self.refuse(
            format!("{} cannot be reached ({error})", self.endpoint),
            "check the network, and HF_ENDPOINT where it is set",
        )
    }

    /// Sends a request to the Hub itself; the token is sent nowhere else.
    fn ask(&self, path: &str, kind: &str, body: &[u8]) -> Result<Response<Body>, PushError> {
        let address = format!("{}/{path}", self.endpoint);
        let request = self.agent.post(address).header("authorization", format!("Bearer {}", self.token));
        let request = request.header("content-type", kind).header("accept", kind);
        request.send(body).map_err(|error| self.unreachable(&error))
    }

    fn answer(&self, doing: &str, mut response: Response<Body>) -> Result<Value, PushError> {
        if !response.status().is_success() {
            return Err(self.explained(doing, response));
        }
        let text = response.body_mut().read_to_string().map_err(|error| self.unreachable(&error))?;
        serde_json::from_str(&text).map_err(|_| self.unintelligible(doing))
    }

    fn unintelligible(&self, doing: &str) -> PushError {
        self.refuse(format!("{doing}: {} answers in words of its own", self.endpoint), "is HF_ENDPOINT a Hub?")
    }

    /// The error for an unsuccessful answer, with advice.
    fn explained(&self, doing: &str, mut response: Response<Body>) -> PushError {
        let text = response.body_mut().read_to_string().unwrap_or_default();
        self.explained_by(doing, response.status().as_u16(), &text)
    }

    fn explained_by(&self, doing: &str, status: u16, text: &str) -> PushError {
        let told = serde_json::from_str::<Value>(text).ok().and_then(|answer| {
            let told = answer.get("error").or_else(|| answer.get("message"))?;
            told.as_str().map(str::to_owned)
        });
        let told = told.map(|told| format!(": {told}")).unwrap_or_default();
        let advice = match status {
            401 => "the token is not valid; set HF_TOKEN to one of https://huggingface.co/settings/tokens".to_owned(),
            403 => format!(
                "the token may not write to {}; make one with write access, or name another owner",
                self.repo.owner
            ),
            404 => "check the owner's spelling, and whether the token may see the repository".to_owned(),
            409 | 412 => "somebody else wrote to the repository at the same time; push again".to_owned(),
            400 | 422 => "the Hub refuses what was sent; its words say what".to_owned(),
            413 => "the owner's space on the Hub is used up, or the file is too large".to_owned(),
            _ => "try again later".to_owned(),
        };
        self.refuse(format!("{doing}: {} answers {status}{told}", self.endpoint), advice)
    }

    /// Creates the repository. An existing repository is pushed to and keeps its history.
    fn create(&self, visibility: Visibility) -> Result<(), PushError> {
        let mut wish = json!({"name": self.repo.name, "organization": self.repo.owner, "type": "model"});
        if visibility == Visibility::Private {
            wish["visibility"] = "private".into();
        }
        let wish = wish.to_string();
        let mut pauses = PAUSES.iter();
        loop {
            let mut response = self.ask("api/repos/create", "application/json", wish.as_bytes())?;
            let status = response.status().as_u16();
            let text = response.body_mut().read_to_string().unwrap_or_default();
            let is_busy = status == 409 && text.contains(BUSY);
            match (status, pauses.next()) {
                (200..=299, _) => return Ok(()),
                (409, _) if !is_busy => return Ok(()),
                (409, Some(pause)) => std::thread::sleep(*pause),
                // A token for this repository alone may make none, and still write to this one.
                (401..=403, _) if self.exists()? => return Ok(()),
                _ => return Err(self.explained_by("making the repository", status, &text)),
            }
        }
    }

    /// Whether the token may see the repository.
    fn exists(&self) -> Result<bool, PushError> {
        let address = format!("{}/api/models/{}", self.endpoint, self.repo);
        let request = self.agent.get(address).header("authorization", format!("Bearer {}", self.token));
        let response = request.call().map_err(|error| self.unreachable(&error))?;
        Ok(response.status().is_success())
    }

    /// The files that the Hub wants through Git LFS.
    fn large<'f>(&self, additions: &'f [Addition]) -> Result<Vec<&'f Addition>, PushError> {
        let described = additions
            .iter()
            .map(|file| json!({"path": file.name, "size": file.size, "sample": STANDARD.encode(&file.sample)}));
        let files = json!({"files": described.collect::<Vec<_>>()});
        let path = format!("api/models/{}/preupload/main", self.repo);
        let doing = "asking how files are sent";
        let answer = self.answer(doing, self.ask(&path, "application/json", files.to_string().as_bytes())?)?;
        let modes = answer["files"].as_array().ok_or_else(|| self.unintelligible(doing))?;
        let mode = |file: &Addition| modes.iter().find(|mode| mode["path"] == file.name.as_str());
        let mut large = Vec::new();
        for file in additions {
            match mode(file).and_then(|mode| mode["uploadMode"].as_str()) {
                // Object storage accepts no empty files.
                Some("lfs") if file.size > 0 => large.push(file),
                Some("lfs" | "regular") => {}
                _ => return Err(self.unintelligible(doing)),
            }
        }
        Ok(large)
    }

    fn send_large(&self, files: &[&Addition]) -> Result<(), PushError> {
        if files.is_empty() {
            return Ok(());
        }
        let objects: Vec<Value> = files.iter().map(|file| json!({"oid": file.sha256, "size": file.size})).collect();
        let batch = json!({"operation": "upload", "transfers": ["basic", "multipart"], "objects": objects,
            "hash_algo": "sha256", "ref": {"name": "main"}});
        let path = format!("{}.git/info/lfs/objects/batch", self.repo);
        let doing = "asking where large files go";
        let answer = self.answer(doing, self.ask(&path, LFS, batch.to_string().as_bytes())?)?;
        for file in files {
            let object =
                answer["objects"].as_array().and_then(|all| all.iter().find(|one| one["oid"] == file.sha256.as_str()));
            let object = object.ok_or_else(|| self.unintelligible(doing))?;
            if let Some(why) = object["error"]["message"].as_str() {
                return Err(self.refuse(format!("{}: {why}", file.name), "see the Hub's page of the repository"));
            }
            // Without an address the object is already stored.
            if let Some(upload) = object["actions"].get("upload") {
                self.send_file(file, upload)?;
            }
            if let Some(verify) = object["actions"]["verify"]["href"].as_str() {
                self.verify(file, verify)?;
            }
        }
        Ok(())
    }

    /// Sends one file to the given address, whole or in parts of the requested size.
    fn send_file(&self, file: &Addition, upload: &Value) -> Result<(), PushError> {
        let doing = format!("sending {}", file.name);
        let href = upload["href"].as_str().ok_or_else(|| self.unintelligible(&doing))?;
        let Some(asked) = upload["header"].get("chunk_size") else {
            return self.put(file, 0..file.size, href).map(|_| ());
        };
        let size = asked.as_str().and_then(|text| text.parse().ok()).or(asked.as_u64()).filter(|&size| size > 0);
        let size: u64 = size.ok_or_else(|| self.unintelligible(&doing))?;
        let mut parts = Vec::new();
        for number in 1..=file.size.div_ceil(size) {
            // Part numbers are keys, which some servers write with leading zeros.
            let places = upload["header"].as_object().into_iter().flatten();
            let place = places.filter(|(key, _)| key.parse() == Ok(number)).find_map(|(_, place)| place.as_str());
            let place = place.ok_or_else(|| self.unintelligible(&doing))?;
            let start = (number - 1) * size;
            let tag = self.put(file, start..file.size.min(start + size), place)?;
            parts.push(json!({"partNumber": number, "etag": tag.ok_or_else(|| self.unintelligible(&doing))?}));
        }
        let whole = json!({"oid": file.sha256, "parts": parts}).to_string();
        // The address carries its own permission. It may belong to another server, which must not see the token.
        let request = self.agent.post(href).header("content-type", LFS).header("accept", LFS);
        let response = request.send(whole.as_bytes()).map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() { Ok(()) } else { Err(self.explained(&doing, response)) }
    }

    /// Sends these bytes of a file, again if it fails; returns the tag that the storage answers with.
    fn put(&self, file: &Addition, bytes: Range<u64>, href: &str) -> Result<Option<String>, PushError> {
        let mut pauses = PAUSES.iter();
        loop {
            let mut part = file.part(bytes.clone())?;
            // Storage requires the length of the body.
            let request = self.agent.put(href).header("content-length", (bytes.end - bytes.start).to_string());
            let sent = request.send(SendBody::from_reader(&mut part));
            let passing = sent.as_ref().map_or(true, |response| response.status().is_server_error());
            match (sent, pauses.next()) {
                (_, Some(pause)) if passing => std::thread::sleep(*pause),
                (Err(error), _) => return Err(self.unreachable(&error)),
                (Ok(response), _) if !response.status().is_success() => {
                    return Err(self.explained(&format!("sending {}", file.name), response));
                }
                (Ok(response), _) => {
                    let tag = response.headers().get("etag").and_then(|tag| tag.to_str().ok());
                    return Ok(tag.map(str::to_owned));
                }
            }
        }
    }

    fn verify(&self, file: &Addition, href: &str) -> Result<(), PushError> {
        let body = json!({"oid": file.sha256, "size": file.size}).to_string();
        let mut request = self.agent.post(href).header("content-type", "application/json");
        if href.starts_with(&format!("{}/", self.endpoint)) {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        let response = request.send(body.as_bytes()).map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            Ok(())
        } else {
            Err(self.explained(&format!("verifying {}", file.name), response))
        }
    }

    /// Makes the commit: one line of JSON describes it, and one line for each file follows.
    fn commit(&self, additions: &[Addition], large: &[&Addition]) -> Result<String, PushError> {
        let summary = format!("Export by grpo-2048 {}", env!("CARGO_PKG_VERSION"));
        let mut lines = json!({"key": "header", "value": {"summary": summary, "description": ""}}).to_string();
        for file in additions {
            let is_large = large.iter().any(|one| one.name == file.name);
            let line = match is_large {
                true => json!({"key": "lfsFile", "value":
                    {"path": file.name, "algo": "sha256", "oid": file.sha256, "size": file.size}}),
                false => {
                    let read = std::fs::read(&file.path);
                    let bytes = read.map_err(|source| PushError::Io { path: file.path.clone(), source })?;
                    json!({"key": "file", "value":
                        {"content": STANDARD.encode(bytes), "path": file.name, "encoding": "base64"}})
                }
            };
            lines.push('\n');
            lines.push_str(&line.to_string());
        }
        lines.push('\n');
        let path = format!("api/models/{}/commit/main", self.repo);
        let doing = "making the commit";
        let answer = self.answer(doing, self.ask(&path, "application/x-ndjson", lines.as_bytes())?)?;
        answer["commitUrl"].as_str().map(str::to_owned).ok_or_else(|| self.unintelligible(doing))
    }
}
