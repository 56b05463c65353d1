//! Offsets and lengths: the operations of `crates/fullbore-io/tests/fsx`, selected by the input; after each, both files have the
//! bytes of the model.
#![no_main]
#![forbid(unsafe_code)]
#![allow(dead_code, reason = "the test judges more than this target")]

use libfuzzer_sys::fuzz_target;
use run::Run;

#[path = "../../crates/fullbore-io/tests/fsx/absurd.rs"]
mod absurd;
#[path = "../../crates/fullbore-io/tests/fsx/counts.rs"]
mod counts;
#[path = "../../crates/fullbore-io/tests/fsx/operation.rs"]
mod operation;
#[path = "../../crates/fullbore-io/tests/fsx/run.rs"]
mod run;

// libFuzzer's panic hook would abort before a failed run prints its operations.
fuzz_target!(init: drop(std::panic::take_hook()), |input: &[u8]| {
    let directory = tempfile::tempdir().expect("a directory");
    let mut bytes = input.to_vec().into_iter();
    // As many bytes as the bound has; after the end of the input, zeros.
    let numbers = move |bound: usize| {
        let count = bound.ilog2() as usize / 8 + 1;
        bytes.by_ref().take(count).fold(0, |number, byte| number << 8 | usize::from(byte)) % bound
    };
    let mut run = Run::new(directory.path(), Box::new(numbers), None);
    // An operation takes about 12 bytes.
    for _ in 0..=(input.len() / 12).min(40) {
        run.step();
        run.compare(0);
        run.compare(1);
    }
});
