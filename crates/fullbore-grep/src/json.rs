//! The messages of `--json`: positions of their numbers, and the last message.

use grep_printer::Stats;

use crate::recorded_output::{Mark, Position, RecordedOutput};

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
            let number = output.text[from..from + digits]
                .iter()
                .fold(0, |number: u64, digit| number * 10 + u64::from(digit - b'0'));
            output.text.drain(from..from + digits);
            output.marks.push((from, what(number)));
        }
    }
}

pub(crate) fn end(begin: &[u8], binary: Option<u64>, stats: &Stats) -> Vec<u8> {
    let path = begin
        .strip_prefix(br#"{"type":"begin","data":{"path":"#)
        .and_then(|rest| rest.strip_suffix(b"}}\n"))
        .unwrap_or(b"null");
    let mut text = br#"{"type":"end","data":{"path":"#.to_vec();
    text.extend_from_slice(path);
    text.extend_from_slice(br#","binary_offset":"#);
    text.extend_from_slice(binary.map_or("null".into(), |offset| offset.to_string()).as_bytes());
    text.extend_from_slice(br#","stats":"#);
    // Serializing numbers and strings never fails.
    text.extend_from_slice(serde_json::to_string(stats).unwrap_or_default().as_bytes());
    text.extend_from_slice(b"}}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded_output::Escapes;

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
