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

/// Runs the examples of `docs/files.md` as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/files.md")]
mod files_page {}
