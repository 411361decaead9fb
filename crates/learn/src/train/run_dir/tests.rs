use super::checkpoints::aside_of;
use super::place::{unlocked, unopened, unwritable};
use super::*;

mod changed;

fn config(dir: &Path) -> Config {
    let mut config = Config::preset("builtin").unwrap();
    config.train.output_dir = dir.to_owned();
    config
}

/// A new run, which this process writes, in a directory that is gone when the first is dropped.
fn created() -> (tempfile::TempDir, RunDir) {
    let root = tempfile::tempdir().unwrap();
    let dir = RunDir::create(&config(&root.path().join("run")), &[]).unwrap();
    (root, dir)
}

const NEWEST: Retention = Retention { limit: 2, before: Vec::new() };

/// What every checkpoint has.
fn state(path: &Path) -> Result<(), RunDirError> {
    fs::write(path.join("trainer_state.json"), "{}").map_err(RunDirError::io(path))
}

#[test]
fn the_checkpoint_from_before_the_trouble_stays() {
    let (_root, dir) = created();
    let steps = || dir.checkpoints().into_iter().map(|(step, _)| step).collect::<Vec<_>>();
    for step in [10, 20, 30, 40, 50] {
        dir.write_whole_dir::<RunDirError>(&format!("checkpoint-{step}"), |_| Ok(())).unwrap();
    }
    dir.advance("checkpoint-50", Retention { limit: 2, before: vec![27, 11] }).unwrap();
    assert_eq!(steps(), [10, 20, 40, 50], "each trouble has its own");
    dir.advance("checkpoint-50", Retention { limit: 2, before: vec![27] }).unwrap();
    assert_eq!(steps(), [20, 40, 50]);
    dir.advance("checkpoint-50", Retention { limit: 2, before: vec![10] }).unwrap();
    assert_eq!(steps(), [40, 50], "nothing is left from before");
}

#[test]
fn a_directory_with_a_run_is_refused_and_differences_are_named() {
    let root = tempfile::tempdir().unwrap();
    let mut config = config(&root.path().join("run"));
    let dir = RunDir::create(&config, &[]).unwrap();
    dir.write_whole_dir("checkpoint-0", state).unwrap();
    drop(dir);
    assert!(
        matches!(RunDir::create(&config, &[]), Err(RunDirError::Occupied { differing, .. }) if differing.is_empty())
    );
    config.rollout.groups = 3;
    let message = RunDir::create(&config, &[]).unwrap_err().to_string();
    assert!(message.contains("rollout.groups: 8 -> 3") && message.contains("--resume"), "{message}");
}

#[test]
fn a_checkpoint_is_there_only_when_the_metrics_that_it_stands_for_are_on_the_disk() {
    let (_root, dir) = created();
    let metrics = dir.path().join(METRICS_FILE);
    // Nobody can open a link to itself.
    std::os::unix::fs::symlink(&metrics, &metrics).unwrap();
    let error = dir.write_whole_dir("checkpoint-1", state).unwrap_err();
    assert!(matches!(&error, RunDirError::Io { path, .. } if *path == metrics), "{error}");
    assert!(!dir.path().join("checkpoint-1").exists());
    fs::remove_file(&metrics).unwrap();
    std::os::unix::fs::symlink("/dev/null", &metrics).unwrap();
    dir.write_whole_dir("checkpoint-1", state).unwrap();
}

#[test]
fn a_run_that_ended_before_its_first_checkpoint_is_begun_anew() {
    let root = tempfile::tempdir().unwrap();
    let mut config = config(&root.path().join("run"));
    let path = config.train.output_dir.clone();
    let dir = RunDir::create(&config, &[]).unwrap();
    assert!(matches!(RunDir::check(&config), Err(RunDirError::Locked { .. })), "it may be about to write one");
    fs::write(path.join(METRICS_FILE), "{\"step\":0}\n").unwrap();
    drop(dir);
    assert!(matches!(RunDir::reopen(&path, &config), Err(RunDirError::NothingToResume { .. })));
    config.rollout.groups = 3;
    RunDir::check(&config).unwrap();
    drop(RunDir::create(&config, &[]).unwrap());
    assert!(!path.join(METRICS_FILE).exists(), "the evaluation of the run before it");
    assert_eq!(recorded(&path).unwrap().rollout.groups, 3);
    let written = fs::read_to_string(path.join(CONFIG)).unwrap();
    fs::write(path.join(CONFIG), written.replacen("# Written", "# Kept", 1)).unwrap();
    assert!(matches!(RunDir::check(&config), Err(RunDirError::Occupied { .. })), "the user's own configuration");
    fs::write(path.join(CONFIG), written).unwrap();
    fs::create_dir(path.join(COMPLETIONS)).unwrap();
    fs::write(path.join(step_file(COMPLETIONS, 1)), "").unwrap();
    assert!(matches!(RunDir::check(&config), Err(RunDirError::Occupied { .. })), "a step is something to lose");
}

#[test]
fn a_recorded_configuration_that_was_cut_is_refused_and_stays() {
    let root = tempfile::tempdir().unwrap();
    let (path, config) = with_checkpoints(root.path(), &[1]);
    let written = fs::read_to_string(path.join(CONFIG)).unwrap();
    for section in ["run", "grpo", "sft"] {
        let (before, _) = written.split_once(&format!("[{section}]\n")).unwrap();
        fs::write(path.join(CONFIG), before).unwrap();
        let refused = RunDir::reopen(&path, &config).unwrap_err();
        let words = refused.to_string();
        assert!(refused.is_user() && words.contains(&format!("config.toml: has no [{section}], ")), "{words}");
        assert_eq!(fs::read_to_string(path.join(CONFIG)).unwrap(), before);
    }
    fs::write(path.join(CONFIG), written).unwrap();
    drop(RunDir::reopen(&path, &config).unwrap());
}

#[test]
fn a_link_to_nowhere_is_no_place_for_a_run() {
    let root = tempfile::tempdir().unwrap();
    let link = root.path().join("link");
    std::os::unix::fs::symlink(root.path().join("nowhere"), &link).unwrap();
    assert!(matches!(RunDir::check(&config(&link)), Err(RunDirError::NoDirectory { .. })));
}

#[test]
fn the_word_for_the_newest_run_is_no_name_for_one() {
    let refused = RunDir::check(&config(Path::new("latest"))).unwrap_err();
    assert!(matches!(refused, RunDirError::Newest { .. }) && refused.is_user(), "{refused}");
    let root = tempfile::tempdir().unwrap();
    RunDir::check(&config(&root.path().join("latest"))).unwrap();
}

#[test]
fn a_place_where_nothing_can_be_created_is_the_users_to_mend() {
    let root = tempfile::tempdir().unwrap();
    let long = RunDir::check(&config(&root.path().join("a".repeat(259)))).unwrap_err();
    assert!(matches!(long, RunDirError::NotWritable { .. }) && long.is_user(), "{long}");
    let file = root.path().join("runs");
    fs::write(&file, "").unwrap();
    let taken = next_free(&file, "demo").unwrap_err();
    assert!(matches!(taken, RunDirError::NoDirectory { .. }) && taken.is_user(), "{taken}");
}

#[test]
fn a_full_disk_is_no_mistake_of_the_users() {
    let told = |kind: io::ErrorKind| unwritable(Path::new("runs/new"), Path::new("runs"), kind.into());
    let (full, denied) = (told(io::ErrorKind::StorageFull), told(io::ErrorKind::PermissionDenied));
    assert!(!full.is_user() && full.to_string() == "runs/new: no storage space", "{full}");
    assert!(denied.is_user() && denied.to_string().starts_with("--output-dir runs: permission denied; "), "{denied}");
}

#[test]
fn a_directory_that_one_may_not_write_is_named_as_it_was_or_would_be() {
    let read_only = || io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
    let here = unwritable(Path::new(RUNS), Path::new("."), read_only());
    assert!(here.to_string().starts_with("--output-dir runs: "), "{here}");
    let run = unopened(Path::new("runs/train-001"), read_only());
    assert!(run.is_user() && run.to_string().starts_with("runs/train-001: "), "{run}");
    assert!(!unopened(Path::new("runs/train-001"), io::ErrorKind::StorageFull.into()).is_user());
}

#[test]
fn two_processes_do_not_share_a_run() {
    let (_root, first) = created();
    let config = config(first.path());
    first.write_whole_dir("checkpoint-1", state).unwrap();
    // As the first one leaves it for a moment when it removes an old checkpoint.
    fs::remove_file(first.path().join("checkpoint-1/trainer_state.json")).unwrap();
    let refused = RunDir::reopen(first.path(), &config);
    assert!(matches!(refused, Err(RunDirError::Locked { .. })), "{refused:?}");
}

#[test]
fn a_checkpoint_that_cannot_be_finished_leaves_the_last_one_and_one_that_nothing_names_yet_counts() {
    let (_root, dir) = created();
    dir.write_whole_dir("checkpoint-1", state).unwrap();
    dir.advance("checkpoint-1", NEWEST).unwrap();
    let full = dir.write_whole_dir::<RunDirError>("checkpoint-2", |path| {
        fs::write(path.join("model"), "tw").unwrap();
        Err(RunDirError::Io { path: path.to_owned(), source: io::Error::from(io::ErrorKind::StorageFull) })
    });
    assert!(full.is_err());
    assert_eq!(latest_checkpoint(dir.path()).unwrap(), dir.path().join("checkpoint-1"));
    assert!(!dir.path().join("checkpoint-2").exists());
    dir.write_whole_dir("checkpoint-2", state).unwrap();
    assert_eq!(latest_checkpoint(dir.path()).unwrap(), dir.path().join("checkpoint-2"));
}

#[test]
fn only_the_newest_checkpoints_stay_and_leftovers_are_swept() {
    let (_root, dir) = created();
    for step in [2, 10, 9] {
        dir.write_whole_dir(&format!("checkpoint-{step}"), state).unwrap();
    }
    dir.advance("checkpoint-10", NEWEST).unwrap();
    assert!(!dir.path().join("checkpoint-2").exists() && dir.path().join("checkpoint-9").exists());
    fs::create_dir(dir.path().join(".partial-killed")).unwrap();
    dir.write_whole(&step_file(COMPLETIONS, 10), b"{}").unwrap();
    let unfinished = dir.path().join(COMPLETIONS).join(".partial-killed");
    fs::write(&unfinished, "").unwrap();
    let path = dir.path().to_owned();
    drop(dir);
    let reopened = RunDir::reopen(&path, &config(&path)).unwrap();
    assert_eq!(reopened.newest, path.join("checkpoint-10"));
    assert!(reopened.notices.is_empty());
    assert!(!path.join(".partial-killed").exists() && !unfinished.exists());
    assert!(path.join(step_file(COMPLETIONS, 10)).exists());
}

#[test]
fn an_old_checkpoint_is_whole_until_it_is_gone() {
    let (_root, dir) = created();
    for step in [1, 2, 3] {
        dir.write_whole_dir(&format!("checkpoint-{step}"), state).unwrap();
    }
    let in_its_way = dir.path().join(".partial-checkpoint-1");
    fs::write(&in_its_way, "").unwrap();
    assert!(dir.advance("checkpoint-3", NEWEST).is_err());
    assert_eq!(fs::read_dir(dir.path().join("checkpoint-1")).unwrap().count(), 2, "its state and its digests");
    fs::remove_file(&in_its_way).unwrap();
    dir.advance("checkpoint-3", NEWEST).unwrap();
    assert!(!dir.path().join("checkpoint-1").exists() && !in_its_way.exists());
}

#[test]
fn a_checkpoint_that_was_set_aside_for_one_of_its_step_is_gone_on_from() {
    let root = tempfile::tempdir().unwrap();
    for step in [0_usize, 7] {
        let (path, config) = with_checkpoints(&root.path().join(step.to_string()), &[step]);
        let checkpoint = path.join(format!("checkpoint-{step}"));
        let aside = aside_of(&checkpoint);
        fs::rename(&checkpoint, &aside).unwrap();
        let reopened = RunDir::reopen(&path, &config).unwrap();
        assert_eq!((&reopened.newest, step_of(&aside)), (&aside, Some(step)));
        reopened.dir.write_whole_dir(&format!("checkpoint-{step}"), state).unwrap();
        assert_eq!(latest_checkpoint(&path).unwrap(), checkpoint);
        reopened.dir.advance(&format!("checkpoint-{step}"), Retention { limit: 1, ..NEWEST }).unwrap();
        assert_eq!(reopened.dir.checkpoints(), [(step, checkpoint)], "the older one has gone");
    }
}

#[test]
fn what_is_kept_of_steps_that_are_made_again_goes() {
    let root = tempfile::tempdir().unwrap();
    let (path, config) = with_checkpoints(root.path(), &[2]);
    for (folder, step) in [(COMPLETIONS, 2), (COMPLETIONS, 3), (REPLAYS, 4), (DIFFERENCES, 10)] {
        fs::create_dir_all(path.join(folder)).unwrap();
        fs::write(path.join(step_file(folder, step)), "{}").unwrap();
    }
    fs::write(path.join("completions/mine.txt"), "").unwrap();
    let dir = RunDir::reopen(&path, &config).unwrap().dir;
    for (end, stays) in [(3, false), (2, true)] {
        dir.record_end(end).unwrap();
        dir.drop_steps_after(2).unwrap();
        assert_eq!(has_ended(&path, end), stays, "{end}");
    }
    let left = |folder: &str| fs::read_dir(path.join(folder)).unwrap().count();
    assert_eq!([COMPLETIONS, REPLAYS, DIFFERENCES].map(left), [2, 0, 0]);
    assert!(path.join(step_file(COMPLETIONS, 2)).exists());
}

#[test]
fn a_file_system_without_locks_is_told_as_such() {
    // ENOSYS and EOPNOTSUPP of Lustre, ENOLCK of NFS, and an error that says nothing of locks.
    let is_told =
        |code| matches!(unlocked(Path::new("run"), io::Error::from_raw_os_error(code)), RunDirError::NoLocks { .. });
    assert_eq!([38, 95, 37, 5].map(is_told), [true, true, true, false]);
}

#[test]
fn a_run_has_ended_at_the_step_that_it_recorded() {
    let (_root, dir) = created();
    dir.write_whole(HALL_OF_FAME, b"[]").unwrap();
    assert!(!has_ended(dir.path(), 3));
    dir.record_end(3).unwrap();
    assert!(has_ended(dir.path(), 3) && !has_ended(dir.path(), 30));
}

/// A run that no process holds, with checkpoints of these steps; each has one file.
fn with_checkpoints(root: &Path, steps: &[usize]) -> (PathBuf, Config) {
    let config = config(&root.join("run"));
    let dir = RunDir::create(&config, &[]).unwrap();
    for step in steps {
        let fill = |path: &Path| {
            fs::write(path.join("model"), format!("of step {step}")).unwrap();
            state(path)
        };
        dir.write_whole_dir::<RunDirError>(&format!("checkpoint-{step}"), fill).unwrap();
    }
    (dir.path().to_owned(), config)
}

/// Damages checkpoint 7 of a run that has another of step 5; gives what is said of it.
fn notice_after(damage: impl Fn(&Path)) -> String {
    let root = tempfile::tempdir().unwrap();
    let (path, config) = with_checkpoints(root.path(), &[5, 7]);
    damage(&path.join("checkpoint-7"));
    assert_eq!(steps_done(&path).unwrap(), 5);
    let reopened = RunDir::reopen(&path, &config).unwrap();
    assert_eq!(reopened.newest, path.join("checkpoint-5"));
    let notice = reopened.notices.concat();
    assert!(notice.contains("checkpoint-7: ") && notice.contains("going on from"), "{notice}");
    assert_eq!(reopened.dir.checkpoints(), [(5, path.join("checkpoint-5"))]);
    assert!(path.join("checkpoint-7.damaged").is_dir());
    notice
}

#[test]
fn a_run_goes_on_from_the_newest_checkpoint_that_is_as_it_was_written() {
    let damages: [fn(&Path); 5] = [
        |checkpoint| fs::write(checkpoint.join("model"), "of step 4").unwrap(),
        |checkpoint| fs::remove_file(checkpoint.join("model")).unwrap(),
        |checkpoint| fs::write(checkpoint.join("trainer_state.json"), "{} ").unwrap(),
        |checkpoint| fs::write(checkpoint.join("BLAKE3SUMS"), "half a li").unwrap(),
        |checkpoint| {
            fs::remove_dir_all(checkpoint).unwrap();
            fs::create_dir(checkpoint).unwrap();
        },
    ];
    damages.into_iter().for_each(|damage| drop(notice_after(damage)));
}

#[test]
fn a_checkpoint_that_cannot_be_read_is_not_called_damaged() {
    for name in ["model", "trainer_state.json", "BLAKE3SUMS"] {
        let root = tempfile::tempdir().unwrap();
        let (path, config) = with_checkpoints(root.path(), &[5, 7]);
        let file = path.join("checkpoint-7").join(name);
        fs::remove_file(&file).unwrap();
        // Nobody can open a link to itself, not even those whom no permission stops.
        std::os::unix::fs::symlink(&file, &file).unwrap();
        let error = RunDir::reopen(&path, &config).unwrap_err();
        assert!(matches!(&error, RunDirError::Io { path: at, .. } if *at == file) && !error.is_user(), "{error}");
        assert!(path.join("checkpoint-7").is_dir(), "it is not set aside");
        assert!(steps_done(&path).is_err());
    }
}

#[test]
fn the_digests_of_a_checkpoint_name_exactly_its_files_by_plain_names() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    let empty = blake3::hash(b"").to_hex();
    let (absolute, plain) = (outside.path().to_string_lossy(), outside.path().file_name().unwrap().to_string_lossy());
    let listed = |change: &dyn Fn(&str) -> String| {
        notice_after(|checkpoint| {
            let list = checkpoint.join("BLAKE3SUMS");
            // A way that leaves the directory leads to a file with the digest that is listed.
            fs::copy(outside.path(), checkpoint.parent().unwrap().join(&*plain)).unwrap();
            fs::write(&list, change(&fs::read_to_string(&list).unwrap())).unwrap();
        })
    };
    let emptied = listed(&|_| String::new());
    assert!(emptied.contains("BLAKE3SUMS does not name model"), "{emptied}");
    let shortened = listed(&|list| list.lines().take(1).map(|line| format!("{line}\n")).collect());
    assert!(shortened.contains("BLAKE3SUMS does not name trainer_state.json"), "{shortened}");
    let more = [
        format!("{empty}  {absolute}\n"),
        format!("{empty}  ../{plain}\n"),
        format!("{empty}  ./model\n"),
        format!("{empty}  ..\n"),
        format!("{empty}  \n"),
    ];
    for line in more {
        let notice = listed(&|list| format!("{list}{line}"));
        assert!(notice.contains("BLAKE3SUMS is damaged"), "{line}: {notice}");
    }
    let twice = listed(&|list| format!("{list}{list}"));
    assert!(twice.contains("BLAKE3SUMS is damaged"), "{twice}");
    let foreign = notice_after(|checkpoint| fs::write(checkpoint.join("note"), "").unwrap());
    assert!(foreign.contains("BLAKE3SUMS does not name note"), "{foreign}");
    let stateless = notice_after(|checkpoint| {
        fs::remove_file(checkpoint.join("model")).unwrap();
        fs::remove_file(checkpoint.join("trainer_state.json")).unwrap();
        fs::write(checkpoint.join("BLAKE3SUMS"), "").unwrap();
    });
    assert!(stateless.contains("trainer_state.json is missing"), "{stateless}");
}

#[test]
fn hidden_files_of_file_managers_and_network_disks_are_no_damage() {
    let root = tempfile::tempdir().unwrap();
    let (path, config) = with_checkpoints(root.path(), &[5, 7]);
    for name in [".DS_Store", ".nfs000012"] {
        fs::write(path.join("checkpoint-7").join(name), "").unwrap();
    }
    let reopened = RunDir::reopen(&path, &config).unwrap();
    assert!(reopened.newest.ends_with("checkpoint-7"), "{:?}", reopened.notices);
}

#[test]
fn a_run_without_a_whole_checkpoint_names_what_is_wrong_with_each() {
    let root = tempfile::tempdir().unwrap();
    let (path, config) = with_checkpoints(root.path(), &[5]);
    fs::write(path.join("checkpoint-5/model"), "another").unwrap();
    fs::create_dir(path.join("checkpoint-99999")).unwrap();
    let error = RunDir::reopen(&path, &config).unwrap_err().to_string();
    assert!(error.contains("checkpoint-5: model is not what was written"), "{error}");
    assert!(error.contains("checkpoint-99999: trainer_state.json is missing"), "{error}");
}

#[test]
fn a_directory_that_was_removed_is_not_made_anew() {
    for replaced in [false, true] {
        let (_root, dir) = created();
        fs::remove_dir_all(dir.path()).unwrap();
        if replaced {
            drop(RunDir::create(&config(dir.path()), &[]).unwrap());
        }
        let gone = |error: RunDirError| matches!(error, RunDirError::Gone { .. }) && !error.is_user();
        assert!(gone(dir.write_whole("hall_of_fame.json", b"[]").unwrap_err()));
        assert!(gone(dir.write_whole_dir::<RunDirError>("checkpoint-1", |_| Ok(())).unwrap_err()));
        assert_eq!(dir.path().exists(), replaced);
    }
}

#[test]
fn a_run_whose_lock_was_removed_is_not_called_lost() {
    for replaced in [false, true] {
        let (_root, dir) = created();
        let told = || {
            fs::remove_file(dir.path().join(LOCK)).unwrap();
            let _other = replaced.then(|| lock(dir.path()).unwrap());
            let error = dir.write_whole(HALL_OF_FAME, b"[]").unwrap_err();
            assert!(matches!(error, RunDirError::Unlocked { .. }) && !error.is_user(), "{error}");
            fs::write(dir.path().join(LOCK), "").unwrap();
            error.to_string()
        };
        assert!(told().ends_with("; no checkpoint is there to go on from"));
        write_whole_dir(dir.path(), "checkpoint-2", state).unwrap();
        assert!(told().ends_with("; `--resume` goes on from checkpoint-2"));
    }
}

#[test]
fn a_directory_that_was_moved_is_not_called_lost() {
    let (root, dir) = created();
    fs::rename(dir.path(), root.path().join("moved")).unwrap();
    let error = dir.write_whole(HALL_OF_FAME, b"[]").unwrap_err();
    assert!(matches!(error, RunDirError::Moved { .. }) && !error.is_user(), "{error}");
    assert!(!dir.path().exists());
}
