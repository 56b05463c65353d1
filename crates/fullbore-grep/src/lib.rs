//! Searches files in parts with ripgrep's own crates. The output of all parts in order equals ripgrep's output for
//! the whole file, with line numbers, context, offsets and limits correct across the cuts.
//!
//! It is a separate crate because the library should not depend on ripgrep's crates, which only this operation needs,
//! and because fuzzing must reach the code that cuts files, which a binary crate does not permit.
//!
//! - [`Settings`] has the options of a search, named after `rg`'s flags; [`Query`] is their compiled form.
//! - [`WholeSearcher`] searches a file as a whole: ripgrep's searcher with ripgrep's printer.
//! - [`PartSearcher`] is the [`Search`](fullbore::operation::Search) over parts. Its [results](PartResult) are numbered
//!   from the start of the part; [`FilePrinter`] converts them in order to the numbers, separators and limits of the
//!   file.
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
//! let result = file_printer.finish(&mut printed)?;
//! assert!(result.matched && printed.starts_with(b"2:name = "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod file_printer;
mod matcher;
mod part_searcher;
mod query;
mod recorded_output;
mod settings;
mod whole_searcher;

pub use file_printer::{FilePrinter, PartOutcome};
pub use matcher::pcre2_version;
pub use part_searcher::{PartResult, PartSearcher};
pub use query::Query;
pub use settings::{Boundary, Case, Coding, Engine, Nuls, ReadMode, Settings, Show, SourceInfo};
pub use whole_searcher::{SearchResult, WholeSearcher, catches_panics};

// Crates that a caller needs too, in matching versions.
pub use {grep_printer, grep_searcher, termcolor};
