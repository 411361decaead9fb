//! Which settings each command reads.

/// Sections, and single keys of others, that each command with `--set` reads; what a flag adds stands behind its command. Those
/// that are not listed read all but `sft`, and `config` that too.
const READS: [(&str, &str); 9] = [
    ("train", "environment model rollout sandbox arena reward grpo train parallel guard"),
    (
        "sft",
        "environment model rollout.groups rollout.num_generations rollout.max_completion_length rollout.turns \
         rollout.feedback rollout.temperature rollout.top_p rollout.top_k rollout.min_p rollout.cuda_graphs sandbox \
         arena reward sft train.seed train.game_seconds train.memory_mib train.gpu_memory_fraction",
    ),
    // Evaluations, those of `sft` too, sample as many programs at once as a step would, from 16 to 64.
    // Games and samples have flags of their own, and a run's `train.eval_temperature` is taken from what it recorded.
    (
        "eval",
        "environment model rollout.groups rollout.num_generations rollout.max_completion_length rollout.turns \
         rollout.feedback rollout.temperature rollout.top_p rollout.top_k rollout.min_p rollout.cuda_graphs sandbox \
         arena.freeze_after arena.moves_max arena.parallel_rewards reward",
    ),
    (
        "evolve",
        "environment model rollout.groups rollout.num_generations rollout.max_completion_length rollout.temperature \
         rollout.top_p rollout.top_k rollout.min_p rollout.cuda_graphs rollout.servers rollout.adapter_dir \
         rollout.server_requests rollout.server_seconds sandbox arena.freeze_after arena.moves_max \
         arena.parallel_rewards reward train.seed train.board_salt train.memory_mib train.gpu_memory_fraction",
    ),
    (
        "evolve --update",
        "grpo rollout.correction rollout.correction_level rollout.correction_cap rollout.correction_floor",
    ),
    ("judge", "environment sandbox arena reward rollout.feedback"),
    ("score", "environment sandbox arena reward"),
    // What a run would have; the model chooses its preset. Programs have the time of training games, and references that
    // compute the answers of tasks that of others.
    (
        "check",
        "environment model.model rollout.turns rollout.feedback sandbox.tier sandbox.check_one_in sandbox.on_difference \
         sandbox.call_share sandbox.memory_mib arena.freeze_after arena.moves_max arena.parallel_rewards reward train.seed \
         train.board_salt train.game_seconds",
    ),
    ("check --env TASKS", "sandbox.game_seconds"),
];

/// The budget of training games, and that of all others.
const SECONDS: [&str; 2] = ["train.game_seconds", "sandbox.game_seconds"];

/// Whether `command` reads the setting `key`.
pub fn reads(command: &str, key: &str) -> bool {
    let mut read = READS.iter().filter(|(of, _)| command.starts_with(of)).peekable();
    match read.peek() {
        None => command == "config" || !is_among("sft", key),
        Some(_) => read.any(|(_, read)| is_among(read, key)),
    }
}

fn is_among(read: &str, key: &str) -> bool {
    let section = key.split('.').next().unwrap_or_default();
    read.split(' ').any(|name| name == key || name == section)
}

/// That `command` does not read `key`, with the commands that do, and the key that it reads in its place.
pub fn who_reads(command: &str, key: &str) -> String {
    let readers = READS.iter().filter(|(_, read)| is_among(read, key));
    let readers: Vec<&str> = readers.map(|(of, _)| *of).collect();
    let instead = SECONDS.into_iter().find(|other| SECONDS.contains(&key) && *other != key && reads(command, other));
    let instead = instead.map_or_else(String::new, |other| format!("; say {other}"));
    match &readers[..] {
        [reader] => format!("`grpo-2048 {reader}` alone reads {key}{instead}"),
        _ => format!("`{command}` does not read {key}, as `{}` do{instead}", readers.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys;

    #[test]
    fn what_is_read_exists_and_all_settings_are_read_by_some_command() {
        let keys = keys();
        for (command, read) in READS {
            for name in read.split(' ') {
                assert!(keys.iter().any(|key| is_among(name, key)), "{command}: {name:?}");
            }
        }
        let idle: Vec<_> = keys.iter().filter(|key| !READS.iter().any(|(_, read)| is_among(read, key))).collect();
        assert!(idle.is_empty(), "{idle:?}");
        assert!(!reads("eval", "rollout.draw") && reads("eval", "reward.scale") && reads("config", "rollout.draw"));
        assert!(["eval", "sft"].iter().all(|of| reads(of, "rollout.groups")), "so many at once");
        assert!(
            !reads("verify", "sft.error_rate") && reads("verify", "grpo.beta") && reads("config", "sft.error_rate")
        );
        assert!(!reads("evolve", "grpo.beta") && reads("evolve --update", "grpo.beta"));
        assert!(reads("sft", "train.game_seconds"), "references are judged as programs of training are");
        assert!(reads("check", "train.game_seconds") && !reads("check", "sandbox.game_seconds"));
        assert!(reads("check --env TASKS", "sandbox.game_seconds") && !reads("check", "train.save_steps"));
        assert!(reads("evolve --update", "rollout.groups") && !reads("evolve --update", "rollout.turns"));
    }

    #[test]
    fn who_reads_a_setting_is_named_where_a_command_does_not() {
        assert_eq!(who_reads("evolve", "train.save_steps"), "`grpo-2048 train` alone reads train.save_steps");
        let expected = "`judge` does not read rollout.turns, as `train`, `sft`, `eval`, `check` do";
        assert_eq!(who_reads("judge", "rollout.turns"), expected);
        let expected =
            "`score` does not read train.game_seconds, as `train`, `sft`, `check` do; say sandbox.game_seconds";
        assert_eq!(who_reads("score", "train.game_seconds"), expected);
        assert!(who_reads("check", "sandbox.game_seconds").ends_with("; say train.game_seconds"));
    }
}
