//! Searches: results in file order, from records that end with a delimiter.

use std::ops::Range;

/// An operation that finds something in the records of a file (its lines, for example), with results in file order.
///
/// **Law:** the result for a record depends on that record and on [`reach`](Self::reach) records before and after it.
/// For every cut between records, the concatenated results of the parts therefore equal the result of the whole.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use fullbore::file::File;
/// use fullbore::operation::{Part, Search};
/// use fullbore::pattern::{Progress, search};
/// use fullbore::strategy::Strategy;
///
/// /// Finds the lines that begin a table.
/// struct Tables;
/// impl Search for Tables {
///     type Found = Vec<String>;
///     fn search(&self, part: &Part<'_>) -> Vec<String> {
///         let lines = part.own().split(|&byte| byte == b'\n');
///         lines.filter(|line| line.starts_with(b"[")).map(|line| String::from_utf8_lossy(line).into()).collect()
///     }
/// }
///
/// let (file, mut all) = (File::open("Cargo.toml")?, Vec::new());
/// search(&Tables, &file, &Strategy::plain(), &Progress::default(), |found| {
///     all.extend(found);
///     Ok(ControlFlow::Continue(()))
/// })?;
/// assert_eq!(all[0], "[package]");
/// # Ok::<(), fullbore::Error>(())
/// ```
pub trait Search: Send + Sync {
    /// Result of a part.
    type Found: Send;

    /// Returns the byte that ends a record: by default a newline.
    fn delimiter(&self) -> u8 {
        b'\n'
    }

    /// Returns the number of records before and after a record that affect its result, such as lines of context: by
    /// default 0.
    fn reach(&self) -> usize {
        0
    }

    /// Returns the result for the part's [own](Part::own) records. Several threads receive parts, in any order.
    fn search(&self, part: &Part<'_>) -> Self::Found;

    /// Returns the memory of a result in bytes, in addition to its own size, so that results waiting to be delivered
    /// stay within the budget.
    fn weight(&self, found: &Self::Found) -> usize {
        let _ = found;
        0
    }
}

/// Whole records of a file, with those around them that affect the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// The records.
    pub bytes: &'a [u8],
    /// Range of `bytes` with the records to search. It has as many records before and after it as [`Search::reach`]
    /// requires, or as the file has.
    pub own: Range<usize>,
    /// Offset of `bytes` in the file, in bytes.
    pub offset: u64,
}

impl<'a> Part<'a> {
    /// Returns the records to search. Only the last one of a file may lack its delimiter.
    pub fn own(&self) -> &'a [u8] {
        &self.bytes[self.own.clone()]
    }
}
