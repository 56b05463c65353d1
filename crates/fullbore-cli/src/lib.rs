//! Building blocks of a command around an operation: flags, an executor, progress, exit codes. The commands of
//! `fullbore` use them; `examples/` shows commands of a few lines.
// Not `forbid`: the macro that generates the constructor in `standard` contains unsafe code.
#![deny(unsafe_code)]

pub mod common_args;
pub mod exit;
pub mod for_each;
mod output;
pub mod progress;
mod signals;
pub mod standard;
pub mod values;
