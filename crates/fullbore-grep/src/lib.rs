//! Searching as ripgrep does, made of its own crates, and cut: what is found in the parts of a file, one after the other, is
//! what is found in the whole, with line numbers, context, offsets and limits right across the cuts.
//!
//! A crate of its own, because ripgrep's crates are for this one operation and the library shall not need them, and because what
//! cuts must be reachable for fuzzing, which a binary is not.
//!
//! - [`Settings`] is what is asked for, in the words of `rg`'s flags; [`Query`] is that, ready to run.
//! - [`Tool`] searches something as a whole: it is ripgrep's searcher before ripgrep's printer.
//! - [`Parts`] is the [`Search`](fullbore::operation::Search) over parts; what it [finds](Found) is numbered from the start of its
//!   part, and [`Page`] makes the file's own numbers, separators and limits of it, in order.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::path::Path;
//!
//! use fullbore::file::File;
//! use fullbore::pattern::{Progress, search};
//! use fullbore::strategy::Strategy;
//! use fullbore_grep::{Arrival, Query, Settings};
//!
//! let query = Query::new(Settings { patterns: vec!["^name".into()], line_number: true, ..Settings::default() })?;
//! let path = Path::new("Cargo.toml");
//! let opening = query.opening(Arrival::Mapped, true, &std::fs::read(path)?);
//! let (mut page, mut printed) = (query.page(path, opening), Vec::new());
//! search(&query.parts(path, opening), &File::open(path)?, &Strategy::plain(), &Progress::default(), |found| {
//!     Ok(if page.take(found, &mut printed).more() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
//! })?;
//! let told = page.finish(&mut printed)?;
//! assert!(told.matched && printed.starts_with(b"2:name = "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod ink;
mod json;
mod matcher;
mod opening;
mod page;
mod parts;
mod query;
mod settings;
mod sieve;
mod tool;

pub use matcher::pcre2_version;
pub use opening::{Arrival, Opening};
pub use page::{Page, Taken};
pub use parts::{Found, Parts};
pub use query::Query;
pub use settings::{Boundary, Case, Coding, Engine, Nuls, Settings, Show, shown};
pub use tool::{Told, Tool};

// What a program needs beside it, of the versions that fit.
pub use {grep_printer, grep_searcher, termcolor};
