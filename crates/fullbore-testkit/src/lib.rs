//! Helpers shared by the workspace's test suites.
#![forbid(unsafe_code)]

pub mod ground;
pub mod numbers;

/// True if slow tests run too (`FULLBORE_TESTS=all`); otherwise prints that `test` is skipped.
///
/// # Panics
/// If the variable has another value: a typing error must not skip tests silently.
pub fn runs_all(test: &str) -> bool {
    match std::env::var("FULLBORE_TESTS").as_deref() {
        Ok("all") => true,
        Ok("") | Err(std::env::VarError::NotPresent) => {
            println!("skipped: {test}: takes long; FULLBORE_TESTS=all runs it");
            false
        }
        other => panic!("FULLBORE_TESTS is {other:?}; the only valid value is \"all\""),
    }
}

/// The cases of a long list that `test` checks: all if slow tests run too, else the first of every `one_in`.
pub fn cases<T>(test: &str, one_in: usize, all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let step = if runs_all(&format!("{test}: all cases but one in {one_in}")) { 1 } else { one_in };
    all.into_iter().step_by(step)
}

/// Runs the examples of `docs/files.md` as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/files.md")]
mod files_page {}
