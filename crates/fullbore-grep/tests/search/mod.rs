//! Searches of a text in parts and as a whole. The fuzz target `grep` has this file, too.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use fullbore::file::File;
use fullbore::pattern::{Progress, search};
use fullbore::strategy::{Model, Strategy};
use fullbore_grep::{PartOutcome, Query, ReadMode, SearchResult};

/// Searches the text in parts, by blocks of `request` bytes.
pub(crate) fn in_parts(
    query: &Query,
    read_mode: ReadMode,
    named: bool,
    text: &[u8],
    request: usize,
    workers: usize,
) -> (Vec<u8>, SearchResult) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let input = File::open(file.path()).unwrap();
    let path = Path::new("some/path");
    let source = query.source_info(read_mode, named, text);
    let (mut file_printer, mut out) = (query.file_printer(path, source), Vec::new());
    let strategy =
        Strategy { request, workers, model: Model::Pool, stripe: request as u64, ..Strategy::plain() };
    let mut again = false;
    let parts = query.part_searcher(path, source);
    search(&parts, &input, &strategy, &Progress::default(), |found| {
        let taken = file_printer.take(found, &mut out);
        again |= matches!(taken, PartOutcome::SearchWhole(_));
        Ok(if taken.more() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })
    .unwrap();
    if again {
        let printed = file_printer.printed() as usize;
        assert_eq!(printed, out.len());
        let (whole, result) = whole(query, read_mode, named, text);
        assert_eq!(whole[..printed], out, "the output before the NUL");
        return (whole, result);
    }
    let result = file_printer.finish(&mut out).unwrap();
    (out, result)
}

/// Searches the text as a whole.
pub(crate) fn whole(query: &Query, read_mode: ReadMode, named: bool, text: &[u8]) -> (Vec<u8>, SearchResult) {
    let mut tool = query.whole_searcher();
    let result = tool.search_bytes(Path::new("some/path"), read_mode, named, text).unwrap();
    (tool.printed().to_vec(), result)
}
