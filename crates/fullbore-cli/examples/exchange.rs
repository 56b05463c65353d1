//! Exchanges two names in a loop until it is killed, as an attacker would to redirect a program's writes: `exchange ONE
//! OTHER`. `scripts/attack` uses it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn main() -> ExitCode {
    use rustix::fs::{CWD, RenameFlags};
    use std::path::PathBuf;

    let names: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [one, other] = names.as_slice() else {
        eprintln!("usage: exchange ONE OTHER");
        return ExitCode::from(2);
    };
    loop {
        if let Err(error) = rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
            eprintln!("exchange: {error}");
            return ExitCode::FAILURE;
        }
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn main() -> ExitCode {
    eprintln!("exchange: this system cannot exchange two names");
    ExitCode::from(2)
}
