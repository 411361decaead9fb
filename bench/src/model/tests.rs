use std::time::Duration;

use super::count::{NumberBytes, Trained, decoded_bytes, update_flops};
use super::generation::Phases;
use super::*;
use crate::Spread;
use crate::table::Show;
use grpo_2048::policy::KNOWN_SHAPES;
use grpo_2048::rollout::RolloutEvent;

const F32: NumberBytes = NumberBytes { weight: 4.0, cache: 4 };

#[test]
fn decoding_reads_every_weight_and_the_cache_once_a_token() {
    let shape = &KNOWN_SHAPES[0].config;
    assert_eq!(decoded_bytes(shape, F32, 32, 168, 1), 0.0, "the first token comes from the prompt");
    // SmolLM2-135M: 134,515,008 weights, tied; 30 layers with 3 heads of 64, keys and values: 11,520 numbers a slot.
    let weights = 4.0 * 134_515_008.0;
    assert_eq!(decoded_bytes(shape, F32, 32, 168, 2), weights + 32.0 * 169.0 * 4.0 * 11_520.0);
    assert_eq!(decoded_bytes(shape, F32, 1, 2, 4), 3.0 * weights + f64::from(3 + 4 + 5) * 4.0 * 11_520.0);
    // An embedding that is not tied to the head is not read as a whole.
    let untied = &KNOWN_SHAPES[3].config;
    let bytes = NumberBytes { weight: 2.0, cache: 2 };
    let head = 2.0 * 152_064.0 * 3584.0;
    assert_eq!(decoded_bytes(untied, bytes, 0, 1, 2), 2.0 * 7_615_616_512.0 - head);
}

#[test]
fn an_update_costs_six_operations_a_trained_weight_and_four_a_frozen_one() {
    let shape = &KNOWN_SHAPES[0].config;
    let body = 30.0 * 576.0 * (2.0 * 576.0 + 2.0 * 192.0 + 3.0 * 1536.0);
    let head = 49_152.0 * 576.0;
    // These are all weights except norms.
    assert_eq!(body + head + 576.0 * 61.0, 134_515_008.0);
    // With a prompt and a completion of one token each, one position sees itself in 9 heads of 64.
    let attention = 3.0 * 4.0 * 576.0 * 30.0;
    assert_eq!(update_flops(shape, Trained::All, 1, 1, 1), 6.0 * (body + head) + attention);
    assert_eq!(update_flops(shape, Trained::Adapters(1000), 1, 1, 1), 4.0 * (body + head) + 6000.0 + attention);
    // Three positions see 1 + 2 + 3 keys; two of them predict a token of the completion.
    let three = 3.0 * 6.0 * body + 2.0 * 6.0 * head + 6.0 * attention;
    assert_eq!(update_flops(shape, Trained::All, 5, 2, 2), 5.0 * three);
}

fn heard(events: &[(RolloutEvent<'_>, u64)]) -> [Option<f64>; 3] {
    let mut phases = Phases::new(Duration::from_secs(10));
    for (event, now) in events {
        phases.hear(event, Duration::from_secs(*now));
    }
    phases.seconds(Duration::from_secs(100))
}

#[test]
fn phases_add_up_to_the_whole_and_are_not_made_up() {
    let tokens = |tokens| RolloutEvent::Tokens { tokens, finished: 0 };
    let drawn = [(RolloutEvent::Predicted, 30), (tokens(8), 31), (RolloutEvent::Predicted, 80), (tokens(16), 84)];
    assert_eq!(heard(&drawn), [Some(20.0), Some(65.0), Some(5.0)]);
    // Without separate events for logits.
    assert_eq!(heard(&[(tokens(8), 31), (tokens(16), 84)]), [Some(21.0), Some(69.0), None]);
    let now = std::time::Instant::now();
    let part = RolloutEvent::PartDone { part: 0, begin: now, end: now };
    assert_eq!(heard(&[(tokens(8), 31), (part, 84)]), [None; 3]);
}

#[test]
fn a_figure_that_one_round_lacks_is_unmeasured() {
    let round = |rate: f64| Round::from([("tokens_per_s", rate)]);
    let (own, other) = ([round(8.0), round(9.0)], [round(2.0), round(1.0)]);
    assert_eq!(Figure::of(&own, "tokens_per_s"), Figure::Measured(Spread { median: 8.5, low: 8.0, high: 9.0 }));
    assert_eq!(Figure::of(&[round(8.0), Round::new()], "tokens_per_s"), Figure::Unmeasured);
    // The ratios are 8 / 2 and 9 / 1; the ratio of the medians would be 8.5 / 1.5.
    let ratio = Figure::ratio(&own, Some(&other), "tokens_per_s");
    assert_eq!(ratio, Figure::Measured(Spread { median: 6.5, low: 4.0, high: 9.0 }));
    assert_eq!(Figure::ratio(&own, None, "tokens_per_s"), Figure::Nothing);
}

#[test]
fn a_sheet_says_what_was_not_measured_in_all_three_forms() {
    const COLUMNS: &[Column] = &[
        Column::of_all("tokens/s", "tokens_per_s", Show::Rate),
        Column::own("sampling", "sampling_s", Show::Seconds),
        Column::of_all("peak memory", "peak_bytes", Show::Bytes),
    ];
    let spread = |median: f64| Spread { median, low: median, high: median };
    let measured = |value: f64| Figure::Measured(spread(value));
    let rates = Rates { copied_bytes_per_s: 5e9, matmul_flops_per_s: 9e10 };
    let row = |way: &str, figures: [Figure; 3]| SheetRow { way: way.into(), figures: figures.to_vec() };
    let sheet = Sheet {
        columns: COLUMNS,
        rows: vec![
            row("grpo-2048", [measured(81.25), Figure::Unmeasured, measured(512.0 * 1024.0 * 1024.0)]),
            row("a=[1,2]", [measured(4000.0), measured(0.05), Figure::Nothing]),
        ],
        device: "cpu".into(),
        dtype: "f32",
        threads: 1,
        basis: Basis::Processor,
        rounds: 1,
        rates: Rates::spreads(&[rates]),
        peer: Some("torch".into()),
        failures: vec![("torch".into(), "no memory".into())],
    };
    let text = sheet.cells().concat().join("\n");
    for words in ["81.2 (81.2 to 81.2)", "4000 (4000 to 4000)", "unmeasured", "50.00 ms", "512 MiB", "a=[1,2]"] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    assert!(sheet.rates_text().contains("copy 5.0 (5.0 to 5.0) GB/s"), "{}", sheet.rates_text());
    let json = serde_json::to_value(&sheet).unwrap();
    assert_eq!(json["rows"][0]["sampling_s"], "unmeasured");
    assert_eq!(json["rows"][1]["sampling_s"]["median"], 0.05);
    assert_eq!(json["rows"][1]["peak_bytes"], serde_json::Value::Null);
    assert_eq!((&json["peer"], &json["failures"]["torch"]), (&"torch".into(), &"no memory".into()));
    assert_eq!(json["rates"]["matmul_flops_per_s"]["high"], 9e10);
}
