//! Messages in GNU's wording, because scripts match it; and the prompt before a target is overwritten: on standard error, answered
//! on standard input.

use std::error::Error as _;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::sync::LazyLock;

use fullbore::sys::{Code, OsStrExt};

use fullbore::error::{Error, ErrorKind};
use fullbore::operation::Encoding;
use fullbore::pattern::{CopyError, CopyOptions, CopyStats, Overwrite, Reflink, Sparse};
use fullbore_cli::exit::{Exit, program, reason};

use crate::environment;

static ENCODING: LazyLock<Encoding> = LazyLock::new(environment::encoding);

/// Quotes a path so that a shell can read it back.
pub(super) fn quoted(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'\'') {
        return [b"'", bytes, b"'"].concat();
    }
    ENCODING.quoted(path, true).into_bytes()
}

/// A text, or a path to be quoted.
enum MessagePart<'a> {
    Text(&'a str),
    Path(&'a Path),
}

use MessagePart::{Path as P, Text as T};

fn join(parts: &[MessagePart<'_>]) -> Vec<u8> {
    let mut text = Vec::new();
    for piece in parts {
        match piece {
            T(piece) => text.extend(piece.as_bytes()),
            P(path) => text.extend(quoted(path)),
        }
    }
    text
}

pub(super) fn eprint(text: impl AsRef<[u8]>) {
    Exit::eprint(&[format!("{}: ", program("copy")).as_bytes(), text.as_ref(), b"\n"].concat());
}

/// Prints an error, and ends the command.
pub(super) fn fatal(text: impl AsRef<[u8]>) -> Exit {
    eprint(text);
    Exit::Reported(1)
}

/// As [`fatal`], for a usage error, with a hint at `--help`.
pub(super) fn usage(text: impl AsRef<[u8]>) -> Exit {
    let exit = fatal(text);
    Exit::eprint(&format!("Try '{} --help' for more information.\n", program("copy")));
    exit
}

/// Returns a text around a quoted path.
pub(super) fn about(before: &str, path: &Path, after: &str) -> Vec<u8> {
    join(&[T(before), P(path), T(after)])
}

/// Returns the warning for a source named more than once.
pub(super) fn repeated(source: &Path, directory: bool) -> Vec<u8> {
    let before = if directory { "warning: source directory " } else { "warning: source file " };
    about(before, source, " specified more than once")
}

pub(super) fn copied(source: &Path, target: &Path, backup: Option<&Path>) -> Vec<u8> {
    match backup {
        Some(backup) => join(&[P(source), T(" -> "), P(target), T(" (backup: "), P(backup), T(")\n")]),
        None => join(&[P(source), T(" -> "), P(target), T("\n")]),
    }
}

/// Returns the line of a directory created for `--parents`: GNU prints it without quotes.
pub(super) fn parent(source: &Path, target: &Path) -> Vec<u8> {
    let [source, target] = [source, target].map(|path| ENCODING.quoted(path, false));
    format!("{source} -> {target}\n").into_bytes()
}

/// Returns the line of `--debug` for a file with content.
pub(super) fn details(stats: &CopyStats, options: &CopyOptions) -> String {
    let cloned = stats.cloned > 0;
    let auto = options.reflink != Reflink::Never && options.sparse == Sparse::Auto;
    // Copy offload is used between files of one server only.
    let offload = if cloned || stats.bytes() == 0 && auto { "unknown" } else { "avoided" };
    let reflink = match () {
        () if cloned => "yes",
        () if auto => "unsupported",
        () => "no",
    };
    let holes = match options.sparse {
        _ if cloned => "unknown",
        Sparse::Always => "zeros",
        _ if stats.holes > 0 => "SEEK_HOLE",
        _ => "no",
    };
    format!("copy offload: {offload}, reflink: {reflink}, sparse detection: {holes}\n")
}

/// Returns the message for a file that was not copied.
pub(super) fn failed(error: &CopyError) -> Vec<u8> {
    match error {
        CopyError::Failed(error) => of_the_system(error),
        CopyError::SameFile { source, target } => {
            join(&[P(source), T(" and "), P(target), T(" are the same file")])
        }
        CopyError::DirectoryOmitted { source } => about("-r not specified; omitting directory ", source, ""),
        CopyError::DirectoryOverFile { source, target } => {
            join(&[T("cannot overwrite non-directory "), P(target), T(" with directory "), P(source)])
        }
        CopyError::FileOverDirectory { target } => {
            about("cannot overwrite directory ", target, " with non-directory")
        }
        CopyError::DanglingLink { target } => about("not writing through dangling symlink ", target, ""),
        CopyError::JustCreated { source, target } => {
            join(&[T("will not overwrite just-created "), P(target), T(" with "), P(source)])
        }
        CopyError::ThroughCreatedLink { source, target } => {
            join(&[T("will not copy "), P(source), T(" through just-created symlink "), P(target)])
        }
        CopyError::IntoItself { source, target } => {
            join(&[T("cannot copy a directory, "), P(source), T(", into itself, "), P(target)])
        }
        CopyError::Cycle { source } => about("cannot copy cyclic symbolic link ", source, ""),
        CopyError::BackupOverSource { source, target } => {
            join(&[T("backing up "), P(target), T(" might destroy source;  "), P(source), T(" not copied")])
        }
        CopyError::RelativeLink { target } => {
            let name = ENCODING.quoted(target, false);
            [name.as_bytes(), b": can make relative symbolic links only in current directory"].concat()
        }
        CopyError::Link { source, target, symbolic, error } => {
            let kind = if *symbolic { "cannot create symbolic link " } else { "cannot create hard link " };
            join(&[T(kind), P(target), T(" to "), P(source), T(": "), T(&reason(error))])
        }
        CopyError::NotReplaced { target } => about("not replacing ", target, ""),
        CopyError::NotADirectory { path } => about("", path, " exists but is not a directory"),
        other => other.to_string().into_bytes(),
    }
}

fn of_the_system(error: &Error) -> Vec<u8> {
    let path = error.path();
    let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>()).map(reason);
    if let ("preserve the extended attributes of", Some(name), Some(cause)) =
        (error.operation(), error.what(), &cause)
    {
        return join(&[T("setting attribute "), P(Path::new(name)), T(" for "), P(path), T(": "), T(cause)]);
    }
    let what = error.what().map(str::to_owned).into_iter().chain(cause).collect::<Vec<_>>().join(": ");
    let after = format!(": {what}");
    if error.kind() == ErrorKind::Changed {
        return about("", path, &after);
    }
    // Permission errors result from the check of an existing target; nothing was written then.
    let refused = matches!(
        error.code(),
        Some(Code::NOT_PERMITTED | Code::ACCESS_DENIED | Code::MAPPED | Code::READ_ONLY)
    );
    let before = match error.operation() {
        "stat" | "inspect" => "cannot stat ",
        "open" => return join(&[T("cannot open "), P(path), T(" for reading"), T(&after)]),
        "read" => "error reading ",
        "create" | "replace" => "cannot create regular file ",
        "write" if refused => "cannot create regular file ",
        "write" | "allocate" | "set its length" | "reserve space" | "punch a hole" => "error writing ",
        "back up" => "cannot backup ",
        "make directory" => "cannot make directory ",
        "get attributes of" => "failed to get attributes of ",
        "preserve the owner of" | "inherit its owner" => "failed to preserve ownership for ",
        "preserve the mode of" | "inherit its access rights" => "preserving permissions for ",
        "set its mode" => "setting permissions for ",
        "preserve the times of" => "preserving times for ",
        "preserve the extended attributes of" => "setting attributes for ",
        other @ ("queue a request" | "wait for requests" | "submit requests" | "buffer a write") => {
            return join(&[T("cannot "), T(other), T(" for "), P(path), T(&after)]);
        }
        other => return join(&[T("cannot "), T(other), T(" "), P(path), T(&after)]),
    };
    about(before, path, &after)
}

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
    let mut stdin = std::io::stdin().lock();
    let first = stdin.by_ref().bytes().next();
    let rest = match first {
        // A line can be longer than the memory.
        Some(Ok(byte)) if byte != b'\n' => stdin.skip_until(b'\n'),
        _ => Ok(0),
    };
    // A failed read means no.
    rest.is_ok() && matches!(first, Some(Ok(b'y' | b'Y')))
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
    fn errors_have_gnus_wording() {
        for (operation, code, message, words) in [
            ("stat", Code::NOT_FOUND, "cannot stat 'a b': ", "No such file or directory"),
            ("open", Code::ACCESS_DENIED, "cannot open 'a b' for reading: ", "Permission denied"),
            ("write", Code::NO_SPACE, "error writing 'a b': ", "No space left on device"),
            ("allocate", Code::NO_SPACE, "error writing 'a b': ", "No space left on device"),
            (
                "inherit its owner",
                Code::NOT_PERMITTED,
                "failed to preserve ownership for 'a b': ",
                "Operation not permitted",
            ),
            ("write", Code::ACCESS_DENIED, "cannot create regular file 'a b': ", "Permission denied"),
            ("create directory", Code::ACCESS_DENIED, "cannot create directory 'a b': ", "Permission denied"),
            (
                "submit requests",
                Code::ACCESS_DENIED,
                "cannot submit requests for 'a b': ",
                "Permission denied",
            ),
        ] {
            let error = io::Error::from(code);
            // Windows has words of its own.
            let words = if cfg!(windows) { reason(&error) } else { words.to_owned() };
            let said = of_the_system(&Error::io(operation, "a b", error));
            assert_eq!(String::from_utf8(said).unwrap(), format!("{message}{words}"));
        }
        let copied = copied("a'".as_ref(), "b\n".as_ref(), Some("b~".as_ref()));
        assert_eq!(copied, b"\"a'\" -> 'b'$'\\n' (backup: 'b~')\n");
    }

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
