//! `--debug` of `wc` and `sum`: the processor's vector instructions.

use crate::exit::{Exit, program};

/// Reports on standard error for each instruction set whether the processor supports it, nearly in coreutils' wording.
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
