//! What a command needs around an operation: flags, an executor, progress, exit codes. The commands of `fullbore` are made of
//! it, and so can yours be: `examples/` has some in a few lines.
// Not `forbid`: the constructor in `standard` is written by a macro.
#![deny(unsafe_code)]

pub mod common_args;
pub mod exit;
pub mod for_each;
mod output;
pub mod progress;
mod signals;
pub mod standard;
pub mod values;
