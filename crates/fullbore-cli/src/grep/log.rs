//! `--debug` and `--trace`: what the crates of ripgrep say of what they do.

use log::{LevelFilter, Log, Metadata, Record};

use crate::exit::{Exit, program};

struct Logger;

/// From now on messages up to `level` are printed on standard error.
pub(crate) fn start(level: LevelFilter) {
    // It can only be set once, by whoever is first.
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
