use std::sync::atomic::{AtomicU64, Ordering};

use super::table::Reference;
use super::*;

fn run(wall_s: f64, cpu_s: f64, results: &[(&str, bool, u64)]) -> WayRun {
    let played = results.iter().map(|&(result, stopped, moves)| Played { result: result.into(), stopped, moves });
    WayRun { cost: Cost { wall_s, cpu_s }, played: played.collect() }
}

#[test]
fn a_median_lies_in_the_middle_and_between_two_when_there_is_none() {
    assert_eq!(Spread::of([3.0, 1.0, 10.0]), Some(Spread { median: 3.0, low: 1.0, high: 10.0 }));
    assert_eq!(Spread::of([4.0, 1.0, 2.0, 10.0]), Some(Spread { median: 3.0, low: 1.0, high: 10.0 }));
    assert_eq!(Spread::of([7.0]), Some(Spread { median: 7.0, low: 7.0, high: 7.0 }));
    assert_eq!(Spread::of([]), None);
}

#[test]
fn ratios_are_taken_round_by_round() {
    // The ratios are 8/2, 9/1 and 20/10, with the median 4. The ratio of the medians would be 4.5.
    let peer = [run(8.0, 6.0, &[]), run(9.0, 6.0, &[]), run(20.0, 6.0, &[])];
    let own = [run(2.0, 2.0, &[]), run(1.0, 3.0, &[]), run(10.0, 4.0, &[])];
    let reference = Reference { peer: Some(&peer), results: &[], spinning_share: None };
    let row = Row::new("healthy", "own".into(), &own, reference);
    assert_eq!(row.wall_ratio, Some(Spread { median: 4.0, low: 2.0, high: 9.0 }));
    assert_eq!(row.cpu_ratio, Some(Spread { median: 2.0, low: 1.5, high: 3.0 }));
    assert_eq!((row.wall_s.median, row.cpu_s.median, row.innocents), (2.0, 3.0, None));
    let alone = Row::new("healthy", "own".into(), &own, Reference { peer: None, ..reference });
    assert_eq!((alone.wall_ratio, alone.cpu_ratio), (None, None));
}

#[test]
fn an_innocent_has_changed_when_any_round_differs_and_who_spins_is_not_counted() {
    let alone = run(1.0, 1.0, &[("a", false, 5), ("b", false, 6), ("c", false, 7), ("d", false, 8)]);
    let runs = [
        run(1.0, 1.0, &[("a", false, 5), ("b", false, 6), ("late", true, 0), ("spins", true, 0)]),
        run(1.0, 1.0, &[("a", false, 5), ("other", false, 9), ("late", true, 0), ("spins", true, 0)]),
        run(1.0, 1.0, &[("a", false, 5), ("b", false, 6), ("c", false, 7), ("spins", true, 0)]),
    ];
    let reference = Reference { peer: None, results: &alone.played, spinning_share: Some(4) };
    let row = Row::new("1/4 spinning", "own".into(), &runs, reference);
    // The rounds have 11, 14 and 18 moves of a, b and c together.
    assert_eq!(row.innocents, Some(Innocents { count: 3, changed: 2, stopped: 1, moves: 14 }));
    let healthy = Row::new("healthy", "own".into(), &runs[..1], Reference { spinning_share: None, ..reference });
    assert_eq!(healthy.innocents, Some(Innocents { count: 4, changed: 2, stopped: 2, moves: 11 }));
}

#[test]
fn a_table_lines_up() {
    let peer = [run(2.5, 1.25, &[("a", false, 5)])];
    let own = [run(0.05, 0.02, &[("a", false, 5)])];
    let reference = Reference { peer: Some(&peer), results: &own[0].played, spinning_share: None };
    let rows = vec![
        Row::new("healthy", "python3".into(), &peer, reference),
        Row::new("healthy", "arena inline".into(), &own, reference),
    ];
    let table = Table { completions: 1, rounds: 1, rows };
    let cells = table.cells();
    assert!(cells.iter().all(|row| row.len() == cells[0].len()), "{cells:?}");
    assert_eq!(cells[1][..3], ["healthy", "python3", "2.50 s (2.50 to 2.50)"]);
    assert_eq!(cells[2][..3], ["", "arena inline", "50.00 ms (50.00 to 50.00)"]);
    assert_eq!(cells[2][4], "50.00x (50.00 to 50.00)");
    assert!(cells[2][5].starts_with("62.50x"), "{cells:?}");
}

#[test]
fn work_is_timed_by_the_clocks_handed_in() {
    let readings = AtomicU64::new(0);
    let wall = || Duration::from_secs(10 * (readings.fetch_add(1, Ordering::Relaxed) + 1));
    let cpu = || Duration::from_secs(readings.load(Ordering::Relaxed));
    let (done, cost) = Clocks { wall: &wall, cpu: &cpu }.time(|| "done");
    assert_eq!((done, cost), ("done", Cost { wall_s: 10.0, cpu_s: 1.0 }));
}

#[test]
fn healthy_programs_are_different_and_every_fourth_is_replaced() {
    let healthy = programs::healthy(64, Seed::root(0));
    assert_eq!(healthy.iter().collect::<std::collections::BTreeSet<_>>().len(), 64);
    assert_eq!(healthy, programs::healthy(64, Seed::root(0)));
    let spinning = programs::with_spinning(&healthy, 4);
    let replaced: Vec<usize> = (0..64).filter(|&index| healthy[index] != spinning[index]).collect();
    assert_eq!(replaced, (0..16).map(|group| 4 * group + 3).collect::<Vec<_>>());
    assert!(replaced.iter().all(|&index| Program::from_text(&spinning[index], &entry()).is_ok()));
    assert_eq!(spinning.iter().collect::<std::collections::BTreeSet<_>>().len(), 64);
}
