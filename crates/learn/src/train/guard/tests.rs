use super::*;
use crate::config::Config;
use crate::metrics::UpdateRecord;

fn config() -> GuardConfig {
    Config::preset("builtin").unwrap().guard
}

fn entropy(nats: f64) -> UpdateRecord {
    UpdateRecord { entropy: Some(nats), ..UpdateRecord::default() }
}

fn difference(nats: f64) -> UpdateRecord {
    UpdateRecord { logp_difference_mean: Some(nats), ..entropy(0.29) }
}

/// A step of 64 completions.
fn healthy(step: usize) -> StepRecord {
    let mut record =
        StepRecord { step, frac_parsed: 0.95, frac_unique: 0.98, update: entropy(0.29), ..StepRecord::default() };
    record.count_verdict("succeeded", 64);
    record
}

/// `from` until step 20, `to` from step 50, linear in between.
fn falling(step: usize, from: f64, to: f64) -> f64 {
    from + (to - from) * ((step as f64 - 20.0) / 30.0).clamp(0.0, 1.0)
}

fn watch(config: &GuardConfig, steps: usize, record: impl Fn(usize) -> StepRecord) -> Vec<GuardReport> {
    watch_passes(1, config, steps, record)
}

/// The same of a run that asks all its tasks in `pass` steps.
fn watch_passes(
    pass: usize,
    config: &GuardConfig,
    steps: usize,
    record: impl Fn(usize) -> StepRecord,
) -> Vec<GuardReport> {
    let mut guard = Guard::new(config, pass, &[]);
    (1..=steps).map(|step| guard.observe(&record(step))).collect()
}

fn news(watches: &[GuardReport]) -> Vec<(usize, &str)> {
    let mut all = Vec::new();
    for (index, watch) in watches.iter().enumerate() {
        all.extend(watch.news.iter().map(|line| (index + 1, line.as_str())));
    }
    all
}

/// The step after which the run is stopped, if it is.
fn stopped(watches: &[GuardReport]) -> Option<usize> {
    watches.iter().find_map(|watch| Some(watch.collapse.as_ref()?.step))
}

fn collapsing(step: usize) -> StepRecord {
    let unique = falling(step, 63.0, 3.0) / 64.0;
    StepRecord { frac_unique: unique, update: entropy(falling(step, 0.29, 0.02)), ..healthy(step) }
}

#[test]
fn a_collapse_is_warned_of_then_stopped_and_names_the_checkpoint_of_before() {
    let watches = watch(&config(), 60, collapsing);
    // The number of distinct programs falls by 2 of 64 per step; 31 at step 36 is the first below half. The mean of
    // eight steps is 32 at step 39 and 30 at step 40; it is 6.75 at step 52 and 5.5 at step 53, with a limit of 6.4, a
    // tenth.
    let first = watches.iter().position(|watch| watch.level > AlarmLevel::Ok).unwrap() + 1;
    assert_eq!(first, 40);
    assert_eq!(watches[39].standing, [(Symptom::Unique, AlarmLevel::Warning)]);
    assert_eq!(stopped(&watches), Some(53));
    let collapse = watches[52].collapse.as_ref().unwrap();
    assert_eq!((collapse.step, collapse.began), (53, 36));
    assert_eq!(collapse.last_good([0, 10, 20, 30, 40, 50]), Some(30));
    assert_eq!(collapse.last_good([36, 40]), None);
    assert_eq!(collapse.reasons[0], "8.6% of the programs distinct over steps 46-53, 98% at best (stops below 10%)");
    assert!(collapse.reasons[1].starts_with("entropy at 11% of the first step's"), "{:?}", collapse.reasons);
    assert!(collapse.remedy.contains("grpo.entropy_target"), "{}", collapse.remedy);
    let said = news(&watches[..53]);
    assert_eq!(said.len(), 3, "two warnings and one stop, each once: {said:?}");
    assert_eq!(
        said[0].1,
        "warning, step 40: 47% of the programs distinct over steps 33-40, 98% at best (warns below 50%); set \
         grpo.elite_free_nats=0.5 if elites are imitated, raise grpo.entropy_target or grpo.entropy_coef_max, lower \
         grpo.learning_rate, or set grpo.beta=0.02"
    );
}

#[test]
fn groups_that_are_tied_because_programs_are_alike_are_not_to_be_made_larger() {
    let tied_from = |entropy_left: f64| {
        move |step: usize| StepRecord {
            frac_reward_zero_std: f64::from(u8::from(step > 20)),
            update: entropy(if step > 20 { entropy_left } else { 0.29 }),
            ..healthy(step)
        }
    };
    let remedy = |entropy_left| {
        let watches = watch(&config(), 28, tied_from(entropy_left));
        let collapse = watches[27].collapse.clone().expect("all groups of a window are tied");
        assert!(collapse.reasons[0].starts_with("100% of the groups tied"), "{:?}", collapse.reasons);
        collapse.remedy
    };
    // The entropy falls to a fifth, below the warning at 30 % and far from the stop at 5 %.
    assert_eq!(remedy(0.2 * 0.29), Symptom::Entropy.remedy());
    assert!(remedy(0.29).contains("rollout.num_generations"), "{}", remedy(0.29));
    // Nor where the run goes on.
    let some_tied = |entropy_left: f64| {
        move |step: usize| StepRecord {
            frac_reward_zero_std: if step > 30 { 0.5 } else { 0.0 },
            ..tied_from(entropy_left)(step)
        }
    };
    for (entropy_left, larger) in [(0.1 * 0.29, false), (0.29, true)] {
        let watches = watch(&config(), 40, some_tied(entropy_left));
        let said = news(&watches);
        let tied = said.iter().find(|(_, line)| line.contains("of the groups tied")).unwrap().1;
        assert_eq!(tied.contains("rollout.num_generations"), larger, "{tied}");
        assert_eq!(tied.contains("grpo.elite_free_nats"), !larger, "{tied}");
    }
}

#[test]
fn groups_that_are_tied_because_they_are_cut_whole_are_to_be_given_more_tokens() {
    let record = |tied, cut| move |step| StepRecord { frac_reward_zero_std: tied, clipped_ratio: cut, ..healthy(step) };
    // As where grpo.mask_truncated_completions leaves all out, before the guard warns of what a model began with.
    let watches = watch(&config(), 8, record(1.0, 1.0));
    assert_eq!(watches[7].standing, [(Symptom::Tied, AlarmLevel::Stop)]);
    assert_eq!(watches[7].collapse.as_ref().unwrap().remedy, Symptom::Clipped.remedy());
    let told = |tied, cut| news(&watch(&config(), 30, record(tied, cut)))[0].1.to_owned();
    assert!(told(0.4, 0.5).ends_with(Symptom::Clipped.remedy()), "{}", told(0.4, 0.5));
    assert!(told(0.4, 0.2).ends_with(Symptom::Tied.remedy()), "{}", told(0.4, 0.2));
}

#[test]
fn an_entropy_that_no_later_step_has_keeps_its_figure() {
    // The entropy falls to a fifth; from step 31 on all groups are tied, and nothing is updated.
    let watches = watch(&config(), 40, |step| match step {
        ..=30 => StepRecord { update: entropy(if step > 10 { 0.2 * 0.29 } else { 0.29 }), ..healthy(step) },
        _ => StepRecord { frac_reward_zero_std: 1.0, update: UpdateRecord::default(), ..healthy(step) },
    });
    let collapse = watches[37].collapse.as_ref().unwrap();
    assert!(collapse.reasons[0].starts_with("100% of the groups tied over steps 31-38"), "{:?}", collapse.reasons);
    assert!(
        collapse.reasons[1].starts_with("entropy at 20% of the first step's over steps 27-34"),
        "{:?}",
        collapse.reasons
    );
}

#[test]
fn what_ends_a_run_began_with_itself_and_not_with_a_warning_of_before() {
    // A third of the groups is tied from the first step on, as with many sets of tasks.
    let record = |step| StepRecord { frac_reward_zero_std: 0.35, ..collapsing(step) };
    let watches = watch(&config(), 60, record);
    let collapse = watches.iter().find_map(|watch| watch.collapse.as_ref()).unwrap();
    assert_eq!((collapse.step, collapse.began), (53, 36));
    let records: Vec<StepRecord> = (1..=53).map(record).collect();
    let began = Guard::new(&config(), 1, &records).troubles_began();
    assert!(began.contains(&36) && began.iter().any(|step| *step < 21), "{began:?}");
}

/// A run on a game, of whose completions `share` play.
fn playing(share: impl Fn(usize) -> f64) -> impl Fn(usize) -> StepRecord {
    move |step| StepRecord { frac_played: Some(share(step)), ..healthy(step) }
}

/// Of 16 that each succeed with a chance of `chance` in 16, how many do in this step of a run.
fn lucky(run: u64, step: usize, chance: u64) -> f64 {
    let number = ((run << 32) + step as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let number = number ^ (number >> 31);
    (0..64_u32).step_by(4).filter(|place| (number >> *place) & 15 < chance).count() as f64
}

/// A step that differs from the others by chance.
fn scatter(step: usize) -> f64 {
    [0.03, -0.02, 0.0, -0.03, 0.02][step % 5]
}

#[test]
fn a_policy_that_stops_playing_is_warned_of_then_stopped() {
    let fallen = playing(|step| falling(step, 0.8, 0.1) + scatter(step));
    let watches = watch(&config(), 80, fallen);
    let said = news(&watches);
    assert_eq!(said.len(), 2, "{said:?}");
    let stopped = stopped(&watches).unwrap();
    assert!(said[0].0 < stopped && (30..50).contains(&said[0].0) && (50..60).contains(&stopped), "{said:?}");
    assert!(said[0].1.contains("of the completions succeed over steps"), "{}", said[0].1);
    assert!(said[0].1.contains("80% at best (warns below 40%); read in the report"), "{}", said[0].1);
    assert!(said[1].1.contains("(stops below 16%)"), "{}", said[1].1);
    let collapse = watches[stopped - 1].collapse.as_ref().unwrap();
    assert_eq!(collapse.remedy, Symptom::Succeeded.remedy());
    assert!((30..45).contains(&collapse.began), "{}", collapse.began);
    // Where completions are cut, that is what to change.
    let share = |step| falling(step, 0.8, 0.1);
    let cut = |step| StepRecord { clipped_ratio: falling(step, 0.0, 0.9), ..playing(share)(step) };
    let watches = watch(&config(), 80, cut);
    let collapse = watches.iter().find_map(|watch| watch.collapse.as_ref()).unwrap();
    assert_eq!(collapse.remedy, Symptom::Clipped.remedy());
}

#[test]
fn few_that_play_are_no_symptom_where_no_more_ever_did_or_chance_explains_it() {
    let quiet = |share: &dyn Fn(usize) -> f64| {
        let watches = watch(&config(), 120, playing(share));
        assert!(watches.iter().all(|watch| watch.level == AlarmLevel::Ok), "{:?}", news(&watches));
    };
    quiet(&|_| 0.0);
    quiet(&|step| falling(step, 0.0, 0.8));
    quiet(&|step| falling(step, 0.8, 0.5) + scatter(step));
    // Of steps of 32 completions every fourth has four that play, later one.
    quiet(&|step| if step % 4 > 0 { 0.0 } else { falling(step, 0.125, 0.031) });
    // A single bad step.
    quiet(&|step| if step == 50 { 0.0 } else { 0.8 + scatter(step) });
}

#[test]
fn steps_of_few_completions_are_no_symptom_and_a_fall_of_theirs_is_one() {
    let of_16 = |succeeded: f64, step: usize| {
        let mut record = StepRecord { frac_played: Some(succeeded / 16.0), ..healthy(step) };
        record.count_verdict("succeeded", 16);
        record
    };
    for run in 0..40 {
        let watches = watch(&config(), 300, |step| of_16(lucky(run, step, 1), step));
        assert!(watches.iter().all(|watch| watch.level == AlarmLevel::Ok), "run {run}: {:?}", news(&watches));
    }
    let falls = watch(&config(), 80, |step| of_16(if step <= 40 { 12.0 } else { 1.0 }, step));
    assert_eq!(stopped(&falls), Some(47));
    // One step is compared with another where the window is one.
    let config = GuardConfig { window: 1, ..config() };
    let watches = watch(&config, 40, |step| of_16(if step % 9 == 0 { 6.0 } else { 2.0 }, step));
    assert!(watches.iter().all(|watch| watch.level == AlarmLevel::Ok), "{:?}", news(&watches));
}

#[test]
fn what_passes_is_compared_over_a_pass_of_tasks_and_not_where_pools_choose_them() {
    let watched = |pass, record: &dyn Fn(usize) -> StepRecord| watch_passes(pass, &config(), 120, record);
    let is_told = |watches: &[GuardReport]| watches.iter().any(|watch| watch.level > AlarmLevel::Ok);
    let passing = |share: f64, step| StepRecord { frac_passed: Some(share + scatter(step)), ..healthy(step) };
    // Half of a pass is easy and half is hard, each time.
    let halves = |step: usize| passing(if (step - 1) % 40 < 20 { 0.9 } else { 0.1 }, step);
    assert!(!is_told(&watched(40, &halves)));
    assert!(is_told(&watched(8, &halves)), "such steps would be told of otherwise");
    let falls = |step: usize| passing(if step <= 40 { 0.8 } else { 0.1 }, step);
    let stopped = stopped(&watched(20, &falls)).unwrap();
    assert!((55..=60).contains(&stopped), "{stopped}: nearly a pass after it fell");
    let pools = |step: usize| {
        let mut record = falls(step);
        record.set_curriculum(vec![("never_solved", 3)]);
        record
    };
    assert!(!is_told(&watched(20, &pools)));
}

#[test]
fn tasks_of_which_a_pass_takes_longer_than_the_run_are_watched_and_chance_among_them_is_no_symptom() {
    let passing = |share: f64, groups: usize, step: usize| {
        let mut record = StepRecord { frac_passed: Some(share), groups_trainable: groups, ..healthy(step) };
        record.count_verdict("succeeded", 4 * groups);
        record
    };
    // Sixteen new tasks a step, each of which all completions of its group pass or none.
    let watched =
        |share: &dyn Fn(usize) -> f64| watch_passes(1000, &config(), 100, |step| passing(share(step), 16, step));
    for chance in [2, 4, 8, 12] {
        for run in 0..20 {
            let watches = watched(&|step| lucky(run, step, chance) / 16.0);
            assert!(watches.iter().all(|watch| watch.level == AlarmLevel::Ok), "run {run}: {:?}", news(&watches));
            let watches = watched(&|step| if step <= 50 { lucky(run, step, chance) / 16.0 } else { 0.0 });
            let (said, stopped) = (news(&watches), stopped(&watches).expect("nothing passes"));
            assert!(said[0].0 <= stopped && (76..=90).contains(&stopped), "run {run}: {stopped}: {said:?}");
        }
    }
    // With four tasks a step, completions of which one in eight passed might have found easy tasks; of which half did, not.
    let falls_from = |share: f64| {
        let record = |step: usize| passing(if step <= 40 { share } else { 0.0 }, 4, step);
        watch_passes(1000, &config(), 100, record)
    };
    assert!(falls_from(0.125).iter().all(|watch| watch.level == AlarmLevel::Ok));
    assert_eq!(stopped(&falls_from(0.5)), Some(73), "below a fifth of 40 steps");
}

#[test]
fn a_healthy_run_says_nothing() {
    let watches = watch(&config(), 200, |step| StepRecord {
        frac_unique: falling(step, 63.0, 52.0) / 64.0,
        update: entropy(falling(step, 0.29, 0.19)),
        frac_reward_zero_std: if step % 4 == 0 { 0.25 } else { 0.0 },
        clipped_ratio: 0.05,
        ..healthy(step)
    });
    assert!(watches.iter().all(|watch| watch.level == AlarmLevel::Ok && watch.news.is_empty()), "{:?}", news(&watches));
}

#[test]
fn a_model_that_starts_low_is_not_warned_of_what_it_never_had() {
    let weak =
        |step: usize| StepRecord { frac_parsed: 0.3, frac_unique: 0.4, frac_reward_zero_std: 0.4, ..healthy(step) };
    let watches = watch(&config(), 30, weak);
    assert!(watches[..20].iter().all(|watch| watch.level == AlarmLevel::Ok));
    assert_eq!(watches[20].standing, [(Symptom::Tied, AlarmLevel::Warning)], "after the grace");
    assert_eq!(news(&watches).len(), 1);
    let worse = |step: usize| StepRecord { frac_parsed: if step > 30 { 0.1 } else { 0.3 }, ..healthy(step) };
    let watches = watch(&config(), 60, worse);
    assert_eq!(watches[59].standing, [(Symptom::Parsed, AlarmLevel::Warning)], "but of what it has lost");
}

#[test]
fn a_run_without_signal_or_without_programs_is_stopped() {
    let tied = |step: usize| StepRecord { frac_reward_zero_std: f64::from(u8::from(step > 8)), ..healthy(step) };
    let watches = watch(&config(), 40, tied);
    assert_eq!(stopped(&watches), Some(16), "steps 9 to 16");
    assert_eq!(watches[15].collapse.as_ref().unwrap().began, 9);
    let nothing = watch(&config(), 40, |step| StepRecord { frac_reward_zero_std: 1.0, ..healthy(step) });
    assert_eq!(stopped(&nothing), Some(8), "at once, grace or not");
    let mute = |step: usize| StepRecord { frac_parsed: if step > 20 { 0.0 } else { 0.9 }, ..healthy(step) };
    let watches = watch(&config(), 40, mute);
    assert_eq!(stopped(&watches), Some(28), "steps 21 to 28");
    let reason = &watches[27].collapse.as_ref().unwrap().reasons[0];
    assert_eq!(reason, "0% of the completions parse over steps 21-28, 90% at best (stops at nothing)");
    let never = watch(&config(), 40, |step| StepRecord { frac_parsed: 0.0, ..healthy(step) });
    assert!(never.iter().all(|watch| watch.collapse.is_none()), "nothing was lost");
}

#[test]
fn tied_groups_end_a_run_on_tasks_only_when_every_task_was_asked() {
    let watched = |tied: fn(usize) -> f64, steps: usize| {
        let record = |step| StepRecord { frac_reward_zero_std: tied(step), ..healthy(step) };
        watch_passes(20, &config(), steps, record)
    };
    // The first seven tasks in ten are too hard, and steps 15 to 20 of each pass ask the others.
    let watches = watched(|step| f64::from(u8::from((step - 1) % 20 < 14)), 60);
    assert!(watches.iter().all(|watch| watch.collapse.is_none()), "{:?}", news(&watches));
    assert_eq!(watches[13].standing, [(Symptom::Tied, AlarmLevel::Warning)], "but it is told of");
    assert_eq!(news(&watches)[0].0, 8);
    let watches = watched(|_| 1.0, 25);
    assert_eq!(stopped(&watches), Some(20), "after a pass over all tasks");
    assert_eq!(watches[19].collapse.as_ref().unwrap().began, 1);
}

#[test]
fn a_warning_is_repeated_only_after_a_whole_window_of_health() {
    let flapping = |step: usize| StepRecord { clipped_ratio: if step % 16 < 8 { 0.0 } else { 0.9 }, ..healthy(step) };
    assert_eq!(news(&watch(&config(), 60, flapping)).len(), 1);
    let rare = |step: usize| StepRecord { clipped_ratio: if step % 40 < 30 { 0.0 } else { 0.9 }, ..healthy(step) };
    assert_eq!(news(&watch(&config(), 80, rare)).len(), 2);
}

#[test]
fn a_resumed_guard_goes_on_as_if_it_had_never_stopped() {
    let watches = watch(&config(), 53, collapsing);
    for cut in [1, 30, 41, 52] {
        let records: Vec<StepRecord> = (1..=cut).map(collapsing).collect();
        let mut resumed = Guard::new(&config(), 1, &records);
        let rest: Vec<GuardReport> = (cut + 1..=53).map(|step| resumed.observe(&collapsing(step))).collect();
        assert_eq!(rest, watches[cut..]);
    }
}

#[test]
fn without_stop_it_only_warns() {
    let watches = watch(&GuardConfig { stop: false, ..config() }, 60, collapsing);
    assert!(watches.iter().all(|watch| watch.collapse.is_none()));
    assert_eq!(watches[59].level, AlarmLevel::Stop);
    assert!(news(&watches).iter().any(|(_, line)| line.ends_with("guard.stop = false, going on")));
}

#[test]
fn a_policy_that_scores_other_than_it_samples_is_told_of_at_once() {
    let differing = |step| StepRecord {
        update: difference(if (3..6).contains(&step) || step == 9 { 0.0312 } else { 0.0199 }),
        ..healthy(step)
    };
    let watches = watch(&config(), 10, differing);
    let said: Vec<usize> = news(&watches).iter().map(|(step, _)| *step).collect();
    assert_eq!(said, [3, 9], "once each time it begins");
    let line = news(&watches)[0].1;
    assert!(line.starts_with("warning, step 3: sampling and scoring differ by 0.031 nats a token (warns above 0.02);"));
    for (watch, step) in watches.iter().zip(1..) {
        let stands = (3..6).contains(&step) || step == 9;
        assert_eq!(watch.standing.contains(&(Symptom::Sampling, AlarmLevel::Warning)), stands, "step {step}");
        assert_eq!(watch.collapse, None);
    }
}

#[test]
fn a_policy_that_has_moved_since_it_sampled_is_no_mismatch() {
    let lagging = |lag| move |step| StepRecord { update: difference(0.0312), policy_lag: Some(lag), ..healthy(step) };
    assert!(news(&watch(&config(), 10, lagging(1.0))).is_empty());
    assert_eq!(news(&watch(&config(), 10, lagging(0.0))).len(), 1, "on policy it is one, one step ahead or not");
}

#[test]
fn a_honeypot_that_is_passed_stops_the_run_at_once_and_is_named() {
    let cheated = |step| {
        let mut record = healthy(step);
        record.set_honeypots(8, if step == 3 { &["add (honeypot)", "add (honeypot)", "sort (honeypot)"] } else { &[] });
        record
    };
    let watches = watch(&config(), 3, cheated);
    assert!(watches[..2].iter().all(|watch| watch.level == AlarmLevel::Ok && watch.collapse.is_none()));
    assert_eq!(watches[2].standing, [(Symptom::Honeypot, AlarmLevel::Stop)]);
    let collapse = watches[2].collapse.as_ref().unwrap();
    let words = "3 completions passed a hidden test of a honeypot, which no honest program does (add (honeypot): 2, \
                 sort (honeypot): 1)";
    assert_eq!((collapse.began, collapse.reasons.as_slice()), (3, &[words.to_owned()][..]));
    let told = format!("warning, step 3: {words}; {}", Symptom::Honeypot.remedy());
    assert_eq!(news(&watches), [(3, told.as_str())]);
    assert!(told.contains("read these programs in the report"), "{told}");
    // The checkpoint from before it is worth keeping, also where the one of this step is all that is kept.
    let records: Vec<StepRecord> = (1..=4).map(cheated).collect();
    let began = [2, 3, 4].map(|steps| Guard::new(&config(), 1, &records[..steps]).troubles_began());
    assert_eq!(began, [vec![], vec![3], vec![]]);

    // Asked not to, it warns of every step.
    let config = GuardConfig { stop_honeypots: false, ..config() };
    let watches = watch(&config, 4, cheated);
    assert_eq!(watches[2].standing, [(Symptom::Honeypot, AlarmLevel::Warning)]);
    assert!(watches.iter().all(|watch| watch.collapse.is_none()));
    assert_eq!(watches[3].level, AlarmLevel::Ok);
}
