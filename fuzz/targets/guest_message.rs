//! Whatever a guest says of its own fault is read, cut and stripped, and is a refusal only before the program has run.

#![no_main]

use grpo_sandbox::Fault;
use grpo_sandbox::fuzzing::faults;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|told: &str| {
    let faults = faults(told);
    for fault in &faults {
        let text = fault.to_string();
        assert!(text.chars().count() < 500);
        assert!(!text.chars().any(char::is_control));
    }
    assert!(!faults[1..].iter().any(|fault| matches!(fault, Fault::NotCompiled { .. })));
});
