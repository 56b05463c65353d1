//! `--debug` of `wc` and `sum`: the vector instructions that the processor has.

use crate::exit::{Exit, program};

/// Says of each of the sets of instructions on standard error whether the processor has it, nearly as coreutils do.
pub(super) fn report(sets: &[&str]) {
    for set in sets {
        let what = if detected(set) { "support detected" } else { "support not detected" };
        Exit::eprint(&format!("{}: {set} {what}\n", program("")));
    }
}

#[cfg(target_arch = "x86_64")]
fn detected(set: &str) -> bool {
    match set {
        "avx512" => is_x86_feature_detected!("avx512bw"),
        "avx2" => is_x86_feature_detected!("avx2"),
        _ => is_x86_feature_detected!("pclmulqdq"),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detected(_set: &str) -> bool {
    false
}
