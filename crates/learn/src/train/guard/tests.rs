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

fn healthy(step: usize) -> StepRecord {
    StepRecord { step, frac_parsed: 0.95, frac_unique: 0.98, update: entropy(0.29), ..StepRecord::default() }
}

/// `from` until step 20, `to` from step 50, linear in between.
fn falling(step: usize, from: f64, to: f64) -> f64 {
    from + (to - from) * ((step as f64 - 20.0) / 30.0).clamp(0.0, 1.0)
}

fn watch(config: &GuardConfig, steps: usize, record: impl Fn(usize) -> StepRecord) -> Vec<GuardReport> {
    let mut guard = Guard::new(config, 1, &[]);
    (1..=steps).map(|step| guard.observe(&record(step))).collect()
}

fn news(watches: &[GuardReport]) -> Vec<(usize, &str)> {
    let mut all = Vec::new();
    for (index, watch) in watches.iter().enumerate() {
        all.extend(watch.news.iter().map(|line| (index + 1, line.as_str())));
    }
    all
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
    let stopped = watches.iter().position(|watch| watch.collapse.is_some()).unwrap() + 1;
    assert_eq!(stopped, 53);
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
    assert_eq!(watches.iter().position(|watch| watch.collapse.is_some()), Some(15), "steps 9 to 16");
    assert_eq!(watches[15].collapse.as_ref().unwrap().began, 9);
    let nothing = watch(&config(), 40, |step| StepRecord { frac_reward_zero_std: 1.0, ..healthy(step) });
    assert_eq!(nothing.iter().position(|watch| watch.collapse.is_some()), Some(7), "at once, grace or not");
    let mute = |step: usize| StepRecord { frac_parsed: if step > 20 { 0.0 } else { 0.9 }, ..healthy(step) };
    let watches = watch(&config(), 40, mute);
    assert_eq!(watches.iter().position(|watch| watch.collapse.is_some()), Some(27), "steps 21 to 28");
    let reason = &watches[27].collapse.as_ref().unwrap().reasons[0];
    assert_eq!(reason, "0% of the completions parse over steps 21-28, 90% at best (stops at nothing)");
    let never = watch(&config(), 40, |step| StepRecord { frac_parsed: 0.0, ..healthy(step) });
    assert!(never.iter().all(|watch| watch.collapse.is_none()), "nothing was lost");
}

#[test]
fn tied_groups_end_a_run_on_tasks_only_when_every_task_was_asked() {
    let config = config();
    let watched = |tied: fn(usize) -> f64, steps: usize| {
        let mut guard = Guard::new(&config, 20, &[]);
        let record = |step| StepRecord { frac_reward_zero_std: tied(step), ..healthy(step) };
        (1..=steps).map(|step| guard.observe(&record(step))).collect::<Vec<GuardReport>>()
    };
    // The first seven tasks in ten are too hard, and steps 15 to 20 of each pass ask the others.
    let watches = watched(|step| f64::from(u8::from((step - 1) % 20 < 14)), 60);
    assert!(watches.iter().all(|watch| watch.collapse.is_none()), "{:?}", news(&watches));
    assert_eq!(watches[13].standing, [(Symptom::Tied, AlarmLevel::Warning)], "but it is told of");
    assert_eq!(news(&watches)[0].0, 8);
    let watches = watched(|_| 1.0, 25);
    assert_eq!(watches.iter().position(|watch| watch.collapse.is_some()), Some(19), "after a pass over all tasks");
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
        record.honeypots(8, if step == 3 { &["add (honeypot)", "add (honeypot)", "sort (honeypot)"] } else { &[] });
        record
    };
    let watches = watch(&config(), 3, cheated);
    assert!(watches[..2].iter().all(|watch| watch.level == AlarmLevel::Ok && watch.collapse.is_none()));
    assert_eq!(watches[2].standing, [(Symptom::Honeypot, AlarmLevel::Stop)]);
    let collapse = watches[2].collapse.as_ref().unwrap();
    let words = "3 completions passed a hidden test of a honeypot, which no honest program does (add (honeypot): 2, \
                 sort (honeypot): 1)";
    assert_eq!((collapse.began, collapse.reasons.as_slice()), (3, &[words.to_owned()][..]));
    assert_eq!(news(&watches), [(3, format!("warning, step 3: {words}").as_str())]);

    // Asked not to, it warns of every step.
    let config = GuardConfig { stop_honeypots: false, ..config() };
    let watches = watch(&config, 4, cheated);
    assert_eq!(watches[2].standing, [(Symptom::Honeypot, AlarmLevel::Warning)]);
    assert!(watches.iter().all(|watch| watch.collapse.is_none()));
    assert_eq!(watches[3].level, AlarmLevel::Ok);
}
