//! Searching: results in the order of the file, from records that end with a delimiter.

use std::ops::Range;

/// An operation that finds something in the records of a file (its lines, say), and whose results come in the order of the
/// file.
///
/// **Law:** what is found in a record depends on that record and on [`reach`](Self::reach) records before and behind it; so
/// for every cut between records the results of the parts, one after the other, are the result of the whole.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use fullbore::file::File;
/// use fullbore::operation::{Part, Search};
/// use fullbore::pattern::{Progress, search};
/// use fullbore::strategy::Strategy;
///
/// /// The lines that begin a table.
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
    /// What is found in a part.
    type Found: Send;

    /// What ends a record: a newline, if not said otherwise.
    ///
    /// ```
    /// # use fullbore::operation::{Part, Search};
    /// # struct All;
    /// # impl Search for All {
    /// #     type Found = ();
    /// #     fn search(&self, _part: &Part<'_>) {}
    /// # }
    /// assert_eq!(All.delimiter(), b'\n');
    /// ```
    fn delimiter(&self) -> u8 {
        b'\n'
    }

    /// How many records before and behind a record bear on what is found in it: for lines of context. None, if not said
    /// otherwise.
    ///
    /// ```
    /// # use fullbore::operation::{Part, Search};
    /// # struct All;
    /// # impl Search for All {
    /// #     type Found = ();
    /// #     fn search(&self, _part: &Part<'_>) {}
    /// # }
    /// assert_eq!(All.reach(), 0);
    /// ```
    fn reach(&self) -> usize {
        0
    }

    /// What is found in the part's [own](Part::own) records. Parts come to several threads in any order.
    ///
    /// ```
    /// use fullbore::operation::{Part, Search};
    /// struct Count;
    /// impl Search for Count {
    ///     type Found = usize;
    ///     fn search(&self, part: &Part<'_>) -> usize {
    ///         part.own().iter().filter(|&&byte| byte == b'\n').count()
    ///     }
    /// }
    /// let part = Part { bytes: b"one\ntwo\nthree\n", own: 4..8, offset: 0 };
    /// assert_eq!(Count.search(&part), 1);
    /// ```
    fn search(&self, part: &Part<'_>) -> Self::Found;

    /// How much memory a result keeps, in bytes beside its own size: results that wait for their turn stay within the
    /// budget.
    ///
    /// ```
    /// # use fullbore::operation::{Part, Search};
    /// # struct All;
    /// # impl Search for All {
    /// #     type Found = Vec<u8>;
    /// #     fn search(&self, _part: &Part<'_>) -> Vec<u8> { Vec::new() }
    /// fn weight(&self, found: &Vec<u8>) -> usize {
    ///     found.capacity()
    /// }
    /// # }
    /// assert_eq!(All.weight(&vec![0; 100]), 100);
    /// ```
    fn weight(&self, found: &Self::Found) -> usize {
        let _ = found;
        0
    }
}

/// Whole records of a file, with those around them that bear on the results.
///
/// ```
/// let part = fullbore::operation::Part { bytes: b"one\ntwo\nthree\n", own: 4..8, offset: 100 };
/// assert_eq!(part.own(), b"two\n");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// The records.
    pub bytes: &'a [u8],
    /// Those of them whose results are asked for, as a range of `bytes`. Before and behind it stand as many records as
    /// [`Search::reach`] says, or as the file has.
    pub own: Range<usize>,
    /// Where `bytes` stands in the file, in bytes.
    pub offset: u64,
}

impl<'a> Part<'a> {
    /// The records whose results are asked for. Only the last one of a file may lack its delimiter.
    ///
    /// ```
    /// let part = fullbore::operation::Part { bytes: b"last", own: 0..4, offset: 0 };
    /// assert_eq!(part.own(), b"last");
    /// ```
    pub fn own(&self) -> &'a [u8] {
        &self.bytes[self.own.clone()]
    }
}
