//! `grpo-2048 judge`: rewards for the completions of anybody's trainer.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use grpo_sandbox::SESSIONS_MAX;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value;

use crate::arena::{Arena, Rules};
use crate::cli::arguments::{Flags, SourceArgs, WorkerArgs, text_path};
use crate::cli::opened::{arena, interrupt};
use crate::cli::said::{CliError, output};
use crate::config::{Config, RewardConfig, Workers};
use crate::files;
use crate::http::host_of;
use crate::json_line;
use crate::judge::server::{Bounds, Callers, Server, runner};
use crate::judge::{Judge, Judgement, LinesError, judge_calls, judge_lines};
use crate::metrics::Console;
use crate::seed::Seed;

/// What stands for standard input.
const STDIN: &str = "-";
/// What a server says to the first Ctrl-C.
const AFTER_REQUESTS: &str = "stopping after the requests at hand; Ctrl-C again ends at once";

/// Judge completions of another trainer: JSON lines in, rewards out
///
/// Each line is {"id": "...", "completion": "..."}: the task (in a game, any name) and what a policy wrote, as text or as a
/// list of messages with "content". Each line out is
/// {"id", "reward", "verdict", "passed", "tests", "score", "fuel", "parts", "reason", "feedback"}, in the order of the
/// input, as soon as it and all before it are judged; input may be endless. A line that is no item ends it with exit code
/// 2; it never earns a reward. Rewards depend on the completion, the environment and the settings alone.
///
/// With --serve the same is answered over HTTP: POST /judge takes an item or a list of them. POST /run_code and
/// POST /run_jupyter take the requests of SandboxFusion, such as verl's, and run Python on a standard input, or the cells of
/// a notebook. Programs run in the sandbox, but the requests of others cost time: a server is for this machine, unless
/// --allow-remote is given.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 judge completions.jsonl > rewards.jsonl
  grpo-2048 judge --env tasks.jsonl --parallel-rewards 16 < completions.jsonl
  grpo-2048 judge --env tasks.jsonl --set reward.tests=all -
  grpo-2048 judge --env tasks.jsonl --serve 127.0.0.1:8080")]
pub struct JudgeArgs {
    #[command(flatten)]
    flags: Flags,
    /// JSON lines; - is standard input
    #[arg(value_name = "FILE", default_value = STDIN)]
    file: PathBuf,
    /// What completions were written for: "2048", a file of tasks, a game, or a directory
    #[arg(long, value_name = "E", help_heading = "Judging")]
    env: Option<String>,
    /// Games each program plays, where there are no tasks [default: 10]
    #[arg(long, value_name = "K", help_heading = "Judging", value_parser = clap::value_parser!(u32).range(1..))]
    games: Option<u32>,
    /// Root of the games [default: 0]
    #[arg(id = "games_root", long = "seed", value_name = "S", help_heading = "Judging")]
    seed: Option<u64>,
    /// Answer over HTTP at this address instead, until Ctrl-C; port 0 is any that is free
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "file", help_heading = "Serving")]
    serve: Option<String>,
    /// Answer lists of items, {"call", "items"} on a line, many at once; the Python module asks so
    #[arg(long, conflicts_with_all = ["file", "serve"], help_heading = "Serving")]
    calls: bool,
    /// Let other machines ask as well
    #[arg(long, help_heading = "Serving")]
    allow_remote: bool,
    /// Append each program that compiled code runs otherwise than CPython, which judges it, with both answers
    #[arg(long, value_name = "FILE", help_heading = "Judging", value_parser = text_path())]
    differences: Option<PathBuf>,
    #[command(flatten)]
    workers: WorkerArgs,
    #[command(flatten)]
    source: SourceArgs,
}

impl JudgeArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        // Clap lets it pass, because the file has a default and conflicts with --serve.
        if self.allow_remote && self.serve.is_none() {
            return Err(CliError::user_hint(
                "--allow-remote: nothing is served to other machines without --serve",
                "add --serve HOST:PORT, or leave --allow-remote out",
            ));
        }
        let config = self.source.resolve_on(arena::GAMES, &self.flags, console)?;
        self.source.tell_idle("judge", console);
        fits(&config.reward)?;
        if self.serve.is_none() && self.source.layers(&self.flags)?.origin("environment.env").is_none() {
            console.print("judging players of 2048; --env names tasks or another game");
        }
        if let Some(address) = &self.serve {
            return self.serve(address, config, console);
        }
        if self.calls {
            let judge = self.judge(arena::open(&config, console)?, &config)?;
            end_with_reader()?;
            return finished(judge_calls(&judge, io::stdin().lock(), "stdin", io::stdout()));
        }
        let (input, name) = open(&self.file, console)?;
        let arena = arena::open(&config, console)?;
        let judge = Arc::new(self.judge(arena, &config)?);

        let mut stdout = io::stdout().lock();
        finished(judge_lines(&judge, input, &name, &mut |judgement| print(&mut stdout, judgement)))
    }

    fn judge(&self, arena: Arena, config: &Config) -> Result<Judge, CliError> {
        let of_games = [("--games", self.games.is_some()), ("--seed", self.seed.is_some())];
        arena::refuse_on_tasks(&arena, config, &of_games)?;
        let games = Seed::root(self.seed.unwrap_or(0)).games(config.arena.games);
        let judge = Judge::new(arena, &config.reward, games).telling(config.rollout.feedback);
        let Some(path) = &self.differences else { return Ok(judge) };
        let named = format!("--differences {}", path.display());
        output::refuse_other(&named, path, |there| {
            let first = serde_json::from_slice::<Value>(files::lines(there)[0]);
            first.is_ok_and(|line| line["compiled"].is_string() && line["interpreted"].is_string())
        })?;
        let opened = File::options().create(true).append(true).open(path);
        let file = opened.map_err(|error| CliError::user(format!("{named}: {error}")))?;
        Ok(judge.keeping_differences(file))
    }

    fn serve(&self, address: &str, mut config: Config, console: &Console) -> Result<(), CliError> {
        let addresses = address_of(address, self.allow_remote)?;
        let callers = match self.allow_remote {
            true => Callers::Everybody,
            false => Callers::ThisMachine { name: host_of(address).unwrap_or_default().to_owned() },
        };
        // The other half of the sandbox's sessions is for `/run_code`. The threads that answer requests play nothing
        // themselves, because there may be more of them than sessions.
        let (asked, most) = (config.arena.parallel_rewards.threads(), SESSIONS_MAX / 2);
        config.arena.parallel_rewards = Workers::new(asked.clamp(1, most));
        if asked > most {
            console.print(&format!("warning: arena.parallel_rewards = {asked}: a server plays {most} games at once"));
        }
        let (arena, sandbox) = arena::open_with_sandbox(&config, console)?;
        let environment = arena.environment().name().to_owned();
        let judge = self.judge(arena, &config)?;
        let runner = runner(sandbox, Rules::new(&config.sandbox, &config.arena).limits);
        let bounds = Bounds::new(config.arena.parallel_rewards.threads());
        let server = Server::bind(&addresses, judge, runner, bounds, callers).map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrNotAvailable => "name an address of this machine, or 0.0.0.0 for all that it has",
                _ => "choose another port, or 0 for a free one",
            };
            CliError::user_hint(format!("--serve {}: {error}", addresses[0]), hint)
        })?;
        let stop = interrupt::stop_flag(console, AFTER_REQUESTS)?;
        let address = server.address().map_err(CliError::run)?;
        console.print(&format!(
            "judging {environment} at http://{address}: POST /judge, /run_code, /run_jupyter, GET /health; Ctrl-C ends it"
        ));
        server.run(&stop).map_err(CliError::run)
    }
}

/// Refuses settings of a reward that nobody can follow who is given texts, one at a time.
fn fits(reward: &RewardConfig) -> Result<(), CliError> {
    let (message, hint) = if reward.length_penalty > 0.0 {
        (
            format!("reward.length_penalty: found {}, expected 0", reward.length_penalty),
            "a judge is given texts and not their tokens: say --set reward.length_penalty=0, and let the trainer subtract what these cost",
        )
    } else if reward.shuffled {
        (
            "reward.shuffled: found true, expected false".to_owned(),
            "a judge knows no step whose rewards it could shuffle: say --set reward.shuffled=false; `train` makes control runs",
        )
    } else {
        return Ok(());
    };
    Err(CliError::user_hint(message, hint))
}

/// Ends the process once nobody can read its answers: a trainer that is killed would leave it judging all that is at hand.
#[expect(clippy::disallowed_methods, reason = "whatever is judged now is for nobody")]
fn end_with_reader() -> Result<(), CliError> {
    let watch = || {
        let answers = io::stdout();
        loop {
            // Without flags that are asked for, only its end counts.
            match poll(&mut [PollFd::new(answers.as_fd(), PollFlags::empty())], PollTimeout::NONE) {
                Ok(_) => std::process::exit(0),
                Err(Errno::EINTR) => {}
                // Then it ends after its input.
                Err(_) => return,
            }
        }
    };
    std::thread::Builder::new().name("judge-reader".into()).spawn(watch).map(drop).map_err(CliError::run)
}

/// What became of the lines, in the terms of a command.
fn finished(judged: Result<(), LinesError>) -> Result<(), CliError> {
    match judged {
        // Who reads the rewards may stop at any time; that is no failure.
        Err(LinesError::System { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error @ LinesError::Line { .. }) => Err(CliError::user(error)),
        judged => judged.map_err(CliError::run),
    }
}

/// The socket addresses of `address`. One that other machines can reach needs `allow_remote`.
fn address_of(address: &str, allow_remote: bool) -> Result<Vec<SocketAddr>, CliError> {
    let found: Vec<SocketAddr> = address
        .to_socket_addrs()
        .map_err(|error| {
            CliError::user_hint(format!("--serve {address}: {error}"), "expected HOST:PORT, such as 127.0.0.1:8080")
        })?
        .collect();
    match found.iter().find(|address| !address.ip().is_loopback()) {
        Some(remote) if !allow_remote => Err(CliError::user_hint(
            format!("--serve {address}: other machines reach {}, and anybody there could use this one", remote.ip()),
            "serve at 127.0.0.1, or say --allow-remote where only machines that you trust reach it",
        )),
        _ => Ok(found),
    }
}

fn open(file: &Path, console: &Console) -> Result<(Box<dyn Read + Send>, String), CliError> {
    if file == Path::new(STDIN) {
        if io::stdin().is_terminal() {
            console.print("reading JSON lines from the terminal; Ctrl-D ends them");
        }
        return Ok((Box::new(io::stdin()), "stdin".to_owned()));
    }
    let name = file.display().to_string();
    if file.is_dir() {
        return Err(CliError::user_hint(format!("{name}: is a directory"), "expected a file of JSON lines"));
    }
    let opened = File::open(file).map_err(|error| CliError::user_path(format!("{name}: {error}"), file))?;
    Ok((Box::new(opened), name))
}

/// Prints a line and flushes it: a trainer may wait for it before it sends the next.
fn print(output: &mut impl Write, judgement: &Judgement) -> io::Result<()> {
    output.write_all(json_line(judgement)?.as_bytes())?;
    output.flush()
}
