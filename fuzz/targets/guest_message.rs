//! Whatever a guest says of its own fault is read, cut and stripped, and is a refusal only before the program has run.

#![no_main]

use grpo_sandbox::Fault;
use grpo_sandbox::fuzzing::{fault_when_called, fault_when_compiled, fault_when_loaded, fault_when_run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|told: &str| {
    let after = [fault_when_loaded(told), fault_when_run(told), fault_when_called(told)];
    for fault in after.iter().chain([&fault_when_compiled(told)]) {
        let text = fault.to_string();
        assert!(text.chars().count() < 500);
        assert!(!text.chars().any(char::is_control));
    }
    assert!(!after.iter().any(|fault| matches!(fault, Fault::NotCompiled { .. })));
});
