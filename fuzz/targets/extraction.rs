//! Any completion gives a program or a reason, and what was taken as a program is taken again, unchanged.

#![no_main]

use grpo_environment::game2048;
use grpo_environment::program::{Program, SOURCE_BYTES_MAX};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(program) = Program::from_text(text, &game2048::entry()) else { return };
    assert!(program.source().len() <= SOURCE_BYTES_MAX + 1);
    let again = Program::from_text(program.source(), &game2048::entry()).expect("a program is a program");
    assert_eq!(again.source(), program.source());
    assert_eq!(again.digest(), program.digest());
});
