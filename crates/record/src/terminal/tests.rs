use super::super::{TurnFigures, UpdateRecord};
use super::*;

#[test]
fn what_succeeds_by_each_turn_stands_in_the_line_of_a_step_with_several() {
    let mut record = StepRecord::default();
    assert_eq!(by_turn(&record), "");
    record.set_turns(TurnFigures { mean: 1.7, succeeded: vec![0.31, 0.5, 0.5], ..TurnFigures::default() });
    assert_eq!(by_turn(&record), "by turn 31% 50% 50%");
}

#[test]
fn a_symptom_leaves_a_mark() {
    let mut record = StepRecord::default();
    assert_eq!(mark(&record), "");
    record.set_symptom("unique", 1);
    record.set_symptom("entropy", 2);
    assert!(mark(&record).contains("! entropy, unique"));
}

#[test]
fn the_line_of_a_step_has_length_divergence_and_rate_within_80_columns() {
    let update = UpdateRecord { kl: Some(0.01234), learning_rate: 1.25e-5, ..UpdateRecord::default() };
    let record = StepRecord { mean_length: 211.6, update, ..StepRecord::default() };
    let told = |line: &str| {
        let mut line = line.to_owned();
        learnt(&record).for_each(|words| append(&mut line, &words));
        line
    };
    let tests = "step 120/200  reward 0.292  passes 94%  tests 61%";
    assert_eq!(told(tests), format!("{tests}  212 tok  kl 0.012  lr 1e-5"));
    let board = "step 120/200  reward 0.475  plays 95%  score 19120  tile 4096";
    assert_eq!(told(board), format!("{board}  212 tok  kl 0.012"));
    assert!(learnt(&StepRecord::default()).all(|words| !words.starts_with("kl")));
    assert_eq!([40, 80, 100, 300].map(bar_columns), [6, 6, 26, 40]);
}

#[test]
fn a_watched_gpu_stands_beside_the_speed() {
    let mut record = StepRecord::default();
    assert_eq!(gpu(&record), "");
    record.families.extend([("gpu/util".to_owned(), 96.6), ("gpu/power_w".to_owned(), 612.0)]);
    assert_eq!(gpu(&record), "  gpu 97% 612 W");
    assert_eq!(speed(&record), gpu(&record), "tokens that were read from a checkpoint have no speed");
    assert_eq!(speed(&StepRecord { tokens_per_s: 812.4, ..record }), "  812 tok/s  gpu 97% 612 W");
}

/// What is said of the step once the sink has this event, two seconds after its turn began.
fn words_after(sink: &mut TerminalSink, event: &Event<'_>) -> String {
    sink.note(event).unwrap();
    sink.phase.words(2.0, &sink.next)
}

#[test]
fn a_turn_goes_on_where_the_one_before_ended_and_the_next_batch_begins_with_the_first() {
    let mut sink = TerminalSink::new(Console::for_log(), Show::Steps);
    let mut note = |event: Event<'_>| words_after(&mut sink, &event);
    let decoding = |turn, tokens, finished| Event::Decoding { step: 0, turn, tokens, finished, total: 8 };
    note(decoding(1, 90, 4));
    note(Event::Scored { step: 0, done: 4, total: 8 });
    assert_eq!(note(decoding(2, 90, 1)), "held out, turn 2, decoding: 90 tokens at 0/s, 1/8 written, 1 scored");
    note(decoding(2, 110, 4));
    note(Event::Scored { step: 0, done: 4, total: 8 });
    assert_eq!(note(decoding(1, 112, 4)), "held out, decoding: 112 tokens at 0/s, 4/8 written, 4 scored");
    assert_eq!(note(decoding(1, 132, 5)), "held out, decoding: 132 tokens at 10/s, 5/8 written, 4 scored");
}

#[test]
fn groups_that_are_sampled_again_are_counted_after_those_that_stay_at_a_speed_of_their_own() {
    let mut sink = TerminalSink::new(Console::for_log(), Show::Steps);
    let mut note = |event: Event<'_>| words_after(&mut sink, &event);
    let decoding = |tokens, finished| Event::Decoding { step: 1, turn: 1, tokens, finished, total: 8 };
    note(Event::StepStarted { step: 1 });
    note(decoding(160, 8));
    note(Event::Scored { step: 1, done: 8, total: 8 });
    assert_eq!(note(decoding(160, 6)), "decoding: 160 tokens at 0/s, 6/8 written, 6 scored");
    assert_eq!(note(decoding(180, 7)), "decoding: 180 tokens at 10/s, 7/8 written, 6 scored");
    note(decoding(190, 8));
    assert_eq!(note(Event::Scored { step: 1, done: 7, total: 8 }), "rewards: 7/8 scored");
}

#[test]
fn after_the_last_evaluation_no_time_is_left() {
    let mut sink = TerminalSink::new(Console::for_log(), Show::Steps);
    let header = RunHeader { max_steps: 2, evaluations: Some(0), ..RunHeader::default() };
    let mut left_after = |event: Event<'_>| {
        sink.note(&event).unwrap();
        sink.left()
    };
    left_after(Event::RunStarted(&header));
    let step = |step| StepRecord { step, step_time: 30.0, ..StepRecord::default() };
    let evaluation = |step| EvaluationRecord { step, runtime: 60.0, ..EvaluationRecord::default() };
    assert_eq!(left_after(Event::Evaluated(&evaluation(0))), None, "no step is done");
    assert_eq!(left_after(Event::StepDone(&step(1))).as_deref(), Some("1:30 left"));
    assert_eq!(left_after(Event::StepDone(&step(2))).as_deref(), Some("1:00 left"));
    assert_eq!(left_after(Event::Evaluated(&evaluation(2))), None);
}

#[test]
fn what_one_game_came_to_has_no_interval() {
    let of = |low, high| {
        let ends = EvaluationRecord { mean_score_low: low, mean_score_high: high, ..EvaluationRecord::default() };
        interval(&ends, Labels::Board)
    };
    let found = [of(Some(90.0), Some(110.0)), of(Some(90.0), Some(90.0)), of(None, None)];
    assert_eq!(found, [" (90 to 110)", "", ""]);
}

#[test]
fn what_a_step_written_ahead_has_shown_waits_for_its_turn() {
    let mut sink = TerminalSink::new(Console::for_log(), Show::Completions);
    let mut note = |event: Event<'_>| {
        sink.note(&event).unwrap();
        let of = |phase: &Phase| (phase.step, phase.finished, phase.scored, phase.total);
        (of(&sink.phase), of(&sink.next), sink.early.len())
    };
    note(Event::StepStarted { step: 2 });
    note(Event::Scored { step: 2, done: 5, total: 8 });
    note(Event::Decoding { step: 3, turn: 1, tokens: 90, finished: 8, total: 8 });
    let early = ScoredCompletion { step: 3, ..frozen() };
    note(Event::CompletionScored(&early));
    let beside = note(Event::Scored { step: 3, done: 1, total: 8 });
    assert_eq!(beside, ((2, 0, 5, 8), (3, 8, 1, 8), 1));
    assert_eq!(note(Event::StepStarted { step: 3 }), ((3, 8, 1, 8), (0, 0, 0, 0), 0));
    let evaluation = note(Event::Decoding { step: 0, turn: 1, tokens: 10, finished: 1, total: 4 });
    assert_eq!(evaluation, ((0, 1, 0, 4), (0, 0, 0, 0), 0));
}

fn frozen() -> ScoredCompletion {
    ScoredCompletion {
        step: 1,
        index: 3,
        source: "def strategy(board):\n    return 'W'".into(),
        verdict: Verdict::Froze,
        reason: "freeze".into(),
        reward: 0.21,
        parts: vec![("game".into(), 0.2), ("gate".into(), 0.01)],
        mean_score: 512.0,
        max_tile: 128,
        games: 1,
        final_board: Some([[128, 64, 0, 0]; 4]),
    }
}

#[test]
fn a_completion_shows_source_verdict_reward_and_board() {
    let text = completion_text(&frozen(), Labels::Board);
    for expected in
        ["completion 4", "   2 |     return 'W'", "(freeze)", "reward 0.210 = game 0.200 + gate 0.010", "128"]
    {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let raised = ScoredCompletion { reason: "ValueError: \u{1b}[2J\u{202e}a".into(), ..frozen() };
    let text = completion_text(&raised, Labels::Board);
    assert!(text.contains("(ValueError: \\u{1b}[2J\\u{202e}a)"), "{text}");
}
