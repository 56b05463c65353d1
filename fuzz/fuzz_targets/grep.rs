//! Searches in parts: for any cuts and settings, the output equals that of ripgrep's own searcher and printer on the
//! whole text.
#![no_main]
#![forbid(unsafe_code)]

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use arbitrary::Arbitrary;
use fullbore::file::File;
use fullbore::pattern::{Progress, search};
use fullbore::strategy::{Model, Strategy};
use fullbore_grep::{Boundary, Case, Nuls, PartOutcome, Query, ReadMode, Settings, Show};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    text: Vec<u8>,
    pattern: u8,
    show: u8,
    flags: u32,
    before: u8,
    after: u8,
    limit: Option<u8>,
    request: u8,
    workers: u8,
}

const PATTERNS: [&str; 12] =
    ["a", "^a", "a$", "", "^$", r"\bab\b", "a.*b", "[^a]", r"\w+", "b*", "\u{e9}", "(?i)needle"];

fuzz_target!(|input: Input| {
    let flag = |index: u32| input.flags >> index & 1 == 1;
    let settings = Settings {
        patterns: vec![PATTERNS[usize::from(input.pattern) % PATTERNS.len()].into()],
        case: if flag(0) { Case::Insensitive } else { Case::Sensitive },
        boundary: match (flag(1), flag(2)) {
            (true, false) => Some(Boundary::Word),
            (true, true) => Some(Boundary::Line),
            _ => None,
        },
        show: [Show::Lines, Show::Count, Show::CountMatches, Show::PathsWith, Show::PathsWithout]
            [usize::from(input.show) % 5],
        nuls: if flag(3) { Nuls::Text } else { Nuls::Auto },
        before_context: usize::from(input.before % 4),
        after_context: usize::from(input.after % 4),
        max_count: input.limit.map(|limit| u64::from(limit % 8) + 1),
        invert_match: flag(4),
        line_number: flag(5),
        column: flag(6),
        byte_offset: flag(7),
        only_matching: flag(8),
        passthru: flag(9) && flag(10),
        crlf: flag(11),
        color: flag(12),
        heading: flag(13),
        with_filename: flag(14),
        trim: flag(15),
        include_zero: flag(16),
        max_columns: flag(17).then_some(9),
        max_columns_preview: flag(18),
        replace: flag(19).then(|| b"<$0>".to_vec()),
        vimgrep: flag(20),
        ..Settings::default()
    };
    let (read_mode, named) = (if flag(21) { ReadMode::Mapped } else { ReadMode::Streamed }, flag(22));
    let query = Query::new(settings).expect("valid patterns");
    let (path, text) = (Path::new("some/path"), input.text.as_slice());
    let source = query.source_info(read_mode, named, text);
    if query.whole_file_reason(source).is_some() {
        return;
    }
    let mut tool = query.whole_searcher();
    let expected = tool.search_bytes(path, read_mode, named, text).expect("no matcher error");

    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(text).expect("enough space");
    std::io::Seek::rewind(&mut file).expect("a seekable file");
    let file = File::from_fd(file.into(), path).expect("an open file");
    let request = usize::from(input.request) + 1;
    let strategy = Strategy {
        request,
        workers: usize::from(input.workers % 8) + 1,
        model: Model::Pool,
        stripe: request as u64,
        ..Strategy::plain()
    };
    let (mut file_printer, mut printed, mut again) = (query.file_printer(path, source), Vec::new(), false);
    let parts = query.part_searcher(path, source);
    search(&parts, &file, &strategy, &Progress::default(), |found| {
        let taken = file_printer.take(found, &mut printed);
        again |= taken == PartOutcome::SearchWhole;
        Ok(if taken.more() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })
    .expect("no error");
    if again {
        assert!(tool.printed().starts_with(&printed), "{input:?}");
        return;
    }
    let result = file_printer.finish(&mut printed).expect("no matcher error");
    assert_eq!(String::from_utf8_lossy(&printed), String::from_utf8_lossy(tool.printed()), "{input:?}");
    assert_eq!(result.matched, expected.matched, "{input:?}");
});
