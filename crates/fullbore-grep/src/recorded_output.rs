//! A printer's output with the positions of numbers and colours, so that the numbers of a part can be converted to
//! those of the file when the part is printed.
//!
//! ripgrep's printer has no option for the position of its part in the file, but it sets a colour before each
//! number and resets it afterwards. Its writer therefore reports colour support, and special colours identify what
//! is written. Real colours are added when the part is printed.
//!
//! The messages of `--json` have no colours: the positions of their numbers are found in the text.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use grep_printer::{ColorSpecs, Stats, UserColorSpec};
use termcolor::{Ansi, Color, ColorSpec, WriteColor};

/// The kind of text that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Path = 1,
    Line = 2,
    Column = 3,
    Match = 4,
    Highlight = 5,
}

impl Style {
    const ALL: [(Self, &str); 5] = [
        (Self::Path, "path"),
        (Self::Line, "line"),
        (Self::Column, "column"),
        (Self::Match, "match"),
        (Self::Highlight, "highlight"),
    ];

    pub(crate) fn spec(self, colors: &ColorSpecs) -> &ColorSpec {
        match self {
            Self::Path => colors.path(),
            Self::Line => colors.line(),
            Self::Column => colors.column(),
            Self::Match => colors.matched(),
            Self::Highlight => colors.highlight(),
        }
    }

    /// Returns the kind that a [marker colour](marker_colors) identifies.
    pub(crate) fn from_color(spec: &ColorSpec) -> Option<Self> {
        let Some(Color::Ansi256(number)) = spec.fg() else { return None };
        Self::ALL.into_iter().map(|(style, _)| style).find(|&style| style as u8 == *number)
    }
}

/// Returns the colours that identify the kind of text to the writer. Matches and highlights have one only if real
/// colours are on, because the printer searches for every match to colour it.
pub(crate) fn marker_colors(color: bool, colors: &ColorSpecs) -> ColorSpecs {
    let wanted = |(style, _): &(Style, &str)| {
        !matches!(style, Style::Match | Style::Highlight) || (color && !style.spec(colors).is_none())
    };
    let specs: Vec<UserColorSpec> = (Style::ALL.into_iter().filter(wanted))
        .filter_map(|(style, name)| format!("{name}:fg:{}", style as u8).parse().ok())
        .collect();
    ColorSpecs::new(&specs)
}

/// The meaning of a position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The number of a line, from the start of the part.
    Line(u64),
    /// An offset, from the start of the part.
    Offset(u64),
    Column(u64),
    Begin(Style),
    End,
}

/// A printer's output for a part.
#[derive(Debug, Default, Clone)]
pub(crate) struct RecordedOutput {
    pub(crate) text: Vec<u8>,
    pub(crate) marks: Vec<(usize, Mark)>,
    /// True if the output was dropped because it took too much memory.
    pub(crate) is_full: bool,
}

/// A position up to which a [`RecordedOutput`] is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) text: usize,
    pub(crate) marks: usize,
}

impl RecordedOutput {
    pub(crate) fn position(&self) -> Position {
        Position { text: self.text.len(), marks: self.marks.len() }
    }

    pub(crate) fn truncate(&mut self, position: Position) {
        self.text.truncate(position.text);
        self.marks.truncate(position.marks);
    }

    pub(crate) fn weight(&self) -> usize {
        self.text.capacity() + self.marks.capacity() * size_of::<(usize, Mark)>()
    }

    /// Prints up to `end`; `lines` and `offset` count the lines and bytes of the file before the part.
    pub(crate) fn print(&self, end: Position, lines: u64, offset: u64, escapes: &Escapes, out: &mut Vec<u8>) {
        out.reserve(end.text + 8 * end.marks);
        let mut from = 0;
        for &(at, what) in &self.marks[..end.marks] {
            out.extend_from_slice(&self.text[from..at]);
            from = at;
            match what {
                // The part may have fewer lines before it than its context has, so the difference may wrap.
                Mark::Line(number) => escapes.number(Style::Line, number.wrapping_add(lines), out),
                Mark::Offset(number) => escapes.number(Style::Column, number + offset, out),
                Mark::Column(number) => escapes.number(Style::Column, number, out),
                Mark::Begin(style) => out.extend_from_slice(escapes.of(style)),
                Mark::End => out.extend_from_slice(&escapes.end),
            }
        }
        out.extend_from_slice(&self.text[from..end.text]);
    }
}

/// The escape sequences of colours; empty if colours are off.
#[derive(Debug, Clone)]
pub(crate) struct Escapes {
    begin: [Vec<u8>; 5],
    end: Vec<u8>,
}

impl Escapes {
    pub(crate) fn new(color: bool, colors: &ColorSpecs) -> Self {
        let written = |write: &dyn Fn(&mut Ansi<Vec<u8>>) -> io::Result<()>| {
            let mut ansi = Ansi::new(Vec::new());
            let written = if color { write(&mut ansi) } else { Ok(()) };
            written.map_or_else(|_| Vec::new(), |()| ansi.into_inner())
        };
        Self {
            begin: Style::ALL.map(|(style, _)| written(&|ansi| ansi.set_color(style.spec(colors)))),
            end: written(&|ansi| ansi.reset()),
        }
    }

    fn of(&self, style: Style) -> &[u8] {
        &self.begin[style as usize - 1]
    }

    pub(crate) fn print(&self, style: Style, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(self.of(style));
        out.extend_from_slice(text);
        out.extend_from_slice(&self.end);
    }

    fn number(&self, style: Style, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(self.of(style));
        decimal(number, out);
        out.extend_from_slice(&self.end);
    }
}

fn parsed(digits: &[u8]) -> u64 {
    let add = |number: u64, digit: &u8| number.wrapping_mul(10).wrapping_add(digit.wrapping_sub(b'0').into());
    digits.iter().fold(0, add)
}

pub(crate) fn decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The writer passed to a printer. Clones write to the same [`RecordedOutput`].
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    pub(crate) output: Rc<RefCell<RecordedOutput>>,
    /// Bytes that the output may take.
    room: usize,
    color: bool,
    numbers: Numbers,
    number: Option<Style>,
    /// The mark of the last number, if a column that an offset may follow, and the number of writes since.
    open: Option<(usize, usize)>,
}

/// The numbers in column colour: a printer has only one colour for columns and offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    Columns,
    Offsets,
    /// A column and an offset with this many writes between, or only an offset.
    Both(usize),
}

impl Recorder {
    pub(crate) fn new(color: bool, numbers: Numbers, room: usize) -> Self {
        Self { output: Rc::default(), room, color, numbers, number: None, open: None }
    }

    /// Fails if `more` bytes of text would take too much memory.
    fn check_room(&self, more: usize) -> io::Result<()> {
        let mut output = self.output.borrow_mut();
        let taken = output.text.len() + output.marks.len() * size_of::<(usize, Mark)>();
        if !output.is_full && more <= self.room.saturating_sub(taken) {
            return Ok(());
        }
        *output = RecordedOutput { is_full: true, ..RecordedOutput::default() };
        Err(io::ErrorKind::OutOfMemory.into())
    }

    fn mark(&mut self, what: Mark) {
        let mut output = self.output.borrow_mut();
        let at = output.text.len();
        output.marks.push((at, what));
    }

    fn write_number(&mut self, style: Style, digits: &[u8]) {
        let number = parsed(digits);
        match (style, self.numbers) {
            (Style::Line, _) => self.mark(Mark::Line(number)),
            (_, Numbers::Columns) => self.mark(Mark::Column(number)),
            (_, Numbers::Offsets) => self.mark(Mark::Offset(number)),
            (_, Numbers::Both(between)) => {
                let mut output = self.output.borrow_mut();
                match self.open.take() {
                    // An offset is followed by a line, which takes more writes than the separator after a column.
                    Some((mark, writes)) if writes <= between => {
                        if let Mark::Offset(column) = output.marks[mark].1 {
                            output.marks[mark].1 = Mark::Column(column);
                        }
                    }
                    _ => self.open = Some((output.marks.len(), 0)),
                }
                drop(output);
                self.mark(Mark::Offset(number));
            }
        }
    }
}

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check_room(bytes.len())?;
        if let Some(style) = self.number {
            self.write_number(style, bytes);
        } else {
            self.output.borrow_mut().text.extend_from_slice(bytes);
            if let Some((_, writes)) = &mut self.open {
                *writes += 1;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteColor for Recorder {
    fn supports_color(&self) -> bool {
        true
    }

    fn set_color(&mut self, spec: &ColorSpec) -> io::Result<()> {
        match Style::from_color(spec) {
            Some(style @ (Style::Line | Style::Column)) => self.number = Some(style),
            Some(style) if self.color => self.mark(Mark::Begin(style)),
            _ => {}
        }
        Ok(())
    }

    fn reset(&mut self) -> io::Result<()> {
        if self.number.take().is_none() && self.color {
            self.mark(Mark::End);
        }
        Ok(())
    }
}

/// Removes the message that begins a file from the start of the output.
pub(crate) fn take_begin(output: &mut RecordedOutput) -> Vec<u8> {
    let end = memchr::memchr(b'\n', &output.text).map_or(output.text.len(), |at| at + 1);
    output.text.drain(..end).collect()
}

/// Finds the numbers in the message printed from `start` on, which depend on the position of the part in the file.
pub(crate) fn find_numbers(output: &mut RecordedOutput, start: Position) {
    // Quotes inside JSON strings are escaped, so these texts occur nowhere else.
    let mut from = start.text;
    for (name, what) in [
        (&br#","line_number":"#[..], Mark::Line as fn(u64) -> Mark),
        (br#","absolute_offset":"#, Mark::Offset),
    ] {
        let Some(at) = memchr::memmem::find(&output.text[from..], name) else { continue };
        from += at + name.len();
        let digits = output.text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            let number = parsed(&output.text[from..from + digits]);
            output.text.drain(from..from + digits);
            output.marks.push((from, what(number)));
        }
    }
}

pub(crate) fn end_message(begin: &[u8], binary: Option<u64>, stats: &Stats) -> Vec<u8> {
    let path = begin
        .strip_prefix(br#"{"type":"begin","data":{"path":"#)
        .and_then(|rest| rest.strip_suffix(b"}}\n"))
        .unwrap_or(b"null");
    let mut text = br#"{"type":"end","data":{"path":"#.to_vec();
    text.extend_from_slice(path);
    text.extend_from_slice(br#","binary_offset":"#);
    text.extend_from_slice(binary.map_or("null".into(), |offset| offset.to_string()).as_bytes());
    text.extend_from_slice(br#","stats":"#);
    // Serialising numbers and strings never fails.
    text.extend_from_slice(serde_json::to_string(stats).unwrap_or_default().as_bytes());
    text.extend_from_slice(b"}}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message as it is printed after `lines` lines and `offset` bytes.
    fn printed(message: &str, lines: u64, offset: u64) -> String {
        let mut output = RecordedOutput { text: message.into(), ..RecordedOutput::default() };
        find_numbers(&mut output, Position { text: 0, marks: 0 });
        let mut out = Vec::new();
        output.print(output.position(), lines, offset, &Escapes::new(false, &Default::default()), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_found_even_if_the_text_looks_like_them() {
        let message = concat!(
            r#"{"type":"match","data":{"path":{"text":"a"},"lines":{"text":","#,
            r#"\"line_number\":7,\"absolute_offset\":8\n"},"line_number":2,"absolute_offset":10,"submatches":[]}}"#
        );
        let expected = message
            .replace(r#""line_number":2"#, r#""line_number":102"#)
            .replace(r#""absolute_offset":10"#, r#""absolute_offset":1010"#);
        assert_eq!(printed(message, 100, 1000), expected);
    }

    #[test]
    fn lines_without_numbers_stay_so() {
        let message = r#"{"lines":{"text":"x\n"},"line_number":null,"absolute_offset":0,"submatches":[]}}"#;
        assert_eq!(printed(message, 100, 1), message.replace(":0,", ":1,"));
    }
}
