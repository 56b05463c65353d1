//! `--debug` and `--trace`: log messages of ripgrep's crates.

use log::{LevelFilter, Log, Metadata, Record};

use crate::exit::{Exit, program};

struct Logger;

/// Prints messages up to `level` on standard error from now on.
pub(crate) fn start(level: LevelFilter) {
    // The logger can be set only once per process.
    if log::set_logger(&Logger).is_ok() {
        log::set_max_level(level);
    }
}

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let place = match (record.file(), record.line()) {
            (Some(file), Some(line)) => format!("|{file}:{line}"),
            _ => String::new(),
        };
        let (level, target) = (record.level(), record.target());
        Exit::eprint(&format!("{}: {level}|{target}{place}: {}\n", program(""), record.args()));
    }

    fn flush(&self) {}
}
