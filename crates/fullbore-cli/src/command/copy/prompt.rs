//! The prompt before a target is overwritten: on standard error, answered on standard input.

use std::io::{BufRead, Write};

use fullbore::pattern::Overwrite;
use fullbore_cli::exit::program;

use super::messages::quoted;

/// Prompts as GNU's `cp` does; an answer that begins with `y` is yes. `replaces`: a target that cannot be opened for
/// writing is replaced.
pub(super) fn confirm_overwrite(overwrite: &Overwrite<'_>, replaces: bool) -> bool {
    let mut text = format!("{}: ", program("copy")).into_bytes();
    let target = quoted(overwrite.path);
    let mode = overwrite.mode;
    if overwrite.writable {
        text.extend([b"overwrite ", &target[..], b"? "].concat());
    } else if replaces {
        text.extend([b"replace ", &target[..]].concat());
        text.extend(format!(", overriding mode {mode:04o} ({})? ", mode_string(mode)).into_bytes());
    } else {
        text.extend([b"unwritable ", &target[..]].concat());
        text.extend(format!(" (mode {mode:04o}, {}); try anyway? ", mode_string(mode)).into_bytes());
    }
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(&text).and_then(|()| stderr.flush());
    let mut answer = Vec::new();
    // A failed read means no.
    let read = std::io::stdin().lock().read_until(b'\n', &mut answer);
    read.is_ok() && matches!(answer.first(), Some(b'y' | b'Y'))
}

/// Formats the mode bits as `ls` does.
fn mode_string(mode: u32) -> String {
    let mut text = String::new();
    for (shift, special, letters) in
        [(6, 0o4000, ['s', 'S']), (3, 0o2000, ['s', 'S']), (0, 0o1000, ['t', 'T'])]
    {
        let bits = mode >> shift;
        text.push(if bits & 4 == 0 { '-' } else { 'r' });
        text.push(if bits & 2 == 0 { '-' } else { 'w' });
        text.push(match (mode & special != 0, bits & 1 != 0) {
            (true, true) => letters[0],
            (true, false) => letters[1],
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_shown_as_ls_shows_them() {
        for (mode, wanted) in [
            (0o644, "rw-r--r--"),
            (0o4755, "rwsr-xr-x"),
            (0o2745, "rwxr-Sr-x"),
            (0o1777, "rwxrwxrwt"),
            (0, "---------"),
        ] {
            assert_eq!(mode_string(mode), wanted);
        }
    }
}
