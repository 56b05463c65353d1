//! Searching as ripgrep does, made of its own crates, and cut: what is found in the parts of a file, one after the other, is
//! what is found in the whole, with line numbers, context, offsets and limits right across the cuts.
//!
//! A crate of its own, because ripgrep's crates are for this one operation and the library shall not need them, and because what
//! cuts must be reachable for fuzzing, which a binary is not.
//!
//! - [`Settings`] is what is asked for, in the words of `rg`'s flags; [`Query`] is that, ready to run.
//! - [`WholeSearcher`] searches something as a whole: it is ripgrep's searcher before ripgrep's printer.
//! - [`PartSearcher`] is the [`Search`](fullbore::operation::Search) over parts; what it [finds](PartResult) is numbered from the start of its
//!   part, and [`FilePrinter`] makes the file's own numbers, separators and limits of it, in order.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::path::Path;
//!
//! use fullbore::file::File;
//! use fullbore::pattern::{Progress, search};
//! use fullbore::strategy::Strategy;
//! use fullbore_grep::{ReadMode, Query, Settings};
//!
//! let query = Query::new(Settings { patterns: vec!["^name".into()], line_number: true, ..Settings::default() })?;
//! let path = Path::new("Cargo.toml");
//! let source = query.source_info(ReadMode::Mapped, true, &std::fs::read(path)?);
//! let (mut file_printer, mut printed) = (query.file_printer(path, source), Vec::new());
//! search(&query.part_searcher(path, source), &File::open(path)?, &Strategy::plain(), &Progress::default(), |found| {
//!     Ok(if file_printer.take(found, &mut printed).more() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
//! })?;
//! let told = file_printer.finish(&mut printed)?;
//! assert!(told.matched && printed.starts_with(b"2:name = "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod file_printer;
mod json;
mod matcher;
mod part_searcher;
mod part_sink;
mod query;
mod recorded_output;
mod settings;
mod source;
mod whole_searcher;

pub use file_printer::{FilePrinter, PartOutcome};
pub use matcher::pcre2_version;
pub use part_searcher::{PartResult, PartSearcher};
pub use query::Query;
pub use settings::{Boundary, Case, Coding, Engine, Nuls, Settings, Show, shown};
pub use source::{ReadMode, SourceInfo};
pub use whole_searcher::{SearchResult, WholeSearcher};

// What a program needs beside it, of the versions that fit.
pub use {grep_printer, grep_searcher, termcolor};
