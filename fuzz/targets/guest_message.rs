//! Whatever a guest says of its own fault is read, cut and stripped, and is a refusal only before the program has run.

#![no_main]

use grpo_sandbox::Fault;
use grpo_sandbox::fuzzing::{fault_when_called, fault_when_compiled, fault_when_run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|told: &str| {
    for fault in [fault_when_compiled(told), fault_when_run(told), fault_when_called(told)] {
        let text = fault.to_string();
        assert!(text.chars().count() < 500);
        assert!(!text.chars().any(char::is_control));
    }
    assert!(!matches!(fault_when_run(told), Fault::NotCompiled { .. }));
    assert!(!matches!(fault_when_called(told), Fault::NotCompiled { .. }));
});
