//! The lists of `--check`, read line by line.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use fullbore::operation::hash::Algorithm;
use fullbore_cli::for_each::standard_stream;
use fullbore_cli::values::is_stdio;

use super::parse::{ChecksumLine, ParsedLine, Parser};

/// An item of the lists, in their order.
pub(super) enum Item {
    List(PathBuf),
    /// A list that cannot be opened.
    Closed(PathBuf, io::Error),
    /// A list that cannot be read any further.
    Unreadable(PathBuf),
    /// A malformed line with its number and the algorithm of the last tagged line.
    Malformed(u64, Option<&'static Algorithm>),
    ChecksumLine(ChecksumLine),
    End,
}

/// The lists, read line by line.
pub(super) struct Lists {
    files: VecDeque<PathBuf>,
    parser: Parser,
    open: Option<(PathBuf, BufReader<fs::File>, u64)>,
}

impl Lists {
    /// Creates the lists at these paths; `-` is standard input.
    pub(super) fn new(files: VecDeque<PathBuf>, parser: Parser) -> Self {
        Self { files, parser, open: None }
    }

    fn open(&mut self, path: PathBuf) -> io::Result<()> {
        let file = if is_stdio(&path) { standard_stream()? } else { fs::File::open(&path)? };
        self.open = Some((path, BufReader::new(file), 0));
        Ok(())
    }
}

impl Iterator for Lists {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let mut line = Vec::new();
        loop {
            let Some((path, from, number)) = &mut self.open else {
                let path = self.files.pop_front()?;
                return Some(match self.open(path.clone()) {
                    Ok(()) => Item::List(path),
                    Err(error) => Item::Closed(path, error),
                });
            };
            line.clear();
            let is_stdin = is_stdio(path);
            match next_line(from, &mut line) {
                Err(_) => {
                    let path = path.clone();
                    self.open = None;
                    return Some(Item::Unreadable(path));
                }
                Ok(false) => {
                    self.open = None;
                    return Some(Item::End);
                }
                Ok(true) => *number += 1,
            }
            match self.parser.line(&line) {
                ParsedLine::Nothing => {}
                // The list itself is on standard input: reading it as a file would take the lines that follow.
                ParsedLine::ChecksumLine(expected) if is_stdin && is_stdio(&expected.name) => {
                    return Some(Item::Malformed(*number, self.parser.tag()));
                }
                ParsedLine::ChecksumLine(expected) => return Some(Item::ChecksumLine(expected)),
                ParsedLine::Malformed => return Some(Item::Malformed(*number, self.parser.tag())),
            }
        }
    }
}

/// Reads a line; of an overlong line only the beginning is kept. False at the end.
fn next_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    const KEPT: usize = 128 << 10;
    let kept = Read::take(&mut *from, KEPT as u64).read_until(b'\n', line)?;
    if kept == KEPT && !line.ends_with(b"\n") {
        from.skip_until(b'\n')?;
    }
    Ok(kept > 0)
}
