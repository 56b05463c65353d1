//! `fullbore cmp`: compares two files, with the output of GNU `cmp`.

mod number;
mod print;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;

use clap::{ArgAction, Args};
use fullbore::PlannedPair;
use fullbore::error::{Error, ErrorKind};
use fullbore::file::{File, FileKind};
use fullbore::operation::hash::hex;
use fullbore::pattern::{CompareOptions, Comparison, Difference, End};
use fullbore::quote::printable_bytes;
use fullbore::sys::{self, Code, OpenFlags, OsStrExt};
use fullbore_cli::common_args::{CliRun, CommonArgs};
use fullbore_cli::progress::before_standard_input;
use print::{List, Words};
use serde_json::json;

use crate::exit::{Exit, StandardOutput, reason};

/// Compare two files byte by byte
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    override_usage = "fullbore cmp [OPTIONS] FILE1 [FILE2 [SKIP1 [SKIP2]]]",
    after_help = "A missing FILE2 or - is standard input. Numbers may be decimal, 0x... or 0..., and may be followed by \
                  kB (1000), K (1024), MB, M, GB, G and so on for T, P, E.\n\n\
                  Exit status: 0 the same, 1 different, 2 error, 3 an input changed while it was read."
)]
pub(crate) struct Cmp {
    /// Two files, and the number of bytes to skip at the start of each
    #[arg(value_name = "FILE", hide_short_help = false)]
    operands: Vec<OsString>,

    /// Print the differing bytes
    #[arg(short = 'b', long, visible_short_alias = 'c', alias = "print-chars")]
    print_bytes: bool,

    /// Skip the first SKIP bytes of both files, or SKIP bytes of the first and SKIP2 of the second
    #[arg(short, long, value_name = "SKIP[:SKIP2]", allow_hyphen_values = true)]
    ignore_initial: Vec<OsString>,

    /// Print the position and both values of every differing byte
    #[arg(short = 'l', long)]
    verbose: bool,

    /// Compare at most LIMIT bytes
    #[arg(short = 'n', long = "bytes", value_name = "LIMIT", allow_hyphen_values = true)]
    limit: Vec<OsString>,

    /// Print nothing; only set the exit status
    #[arg(short = 's', long, visible_alias = "silent")]
    quiet: bool,

    /// Print the result and a summary of the run as JSON instead of text
    #[arg(long, conflicts_with = "verbose")]
    json: bool,

    /// Print the version
    #[arg(short = 'v', short_alias = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,

    #[command(flatten)]
    common: CommonArgs,
}

struct CmpRequest<'a> {
    names: [&'a OsStr; 2],
    skip: [u64; 2],
    limit: Option<u64>,
}

/// The extent of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CmpMode {
    /// Every difference.
    Every,
    /// The first difference.
    First,
    /// Equality only: standard output is discarded.
    Discarded,
    /// Equality only, with no output at all.
    Silent,
}

impl Cmp {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let request = self.request()?;
        let mode = self.mode();
        let Some([left, right]) = request.open(mode)? else {
            return self.equal(&request, "the names are the same");
        };
        // A directory has no stamp.
        let [left, right] = [left, right].map(|file| file.stamped().unwrap_or(file));
        if is_same_inode(&request, [&left, &right]) {
            return self.equal(&request, "both are the same file from the same offset");
        }
        for (file, name) in [&left, &right].into_iter().zip(request.names) {
            if file.kind() == FileKind::Directory {
                return Err(system_failure(name, Code::IS_DIRECTORY.into()));
            }
        }
        let run = self.common.begin()?;
        if mode == CmpMode::Silent && !self.json && sizes_differ(&request, [&left, &right]) {
            run.remark("nothing is read: the sizes differ");
            run.end(0);
            return Err(Exit::Reported(1));
        }
        let pair = run.job.pair(&left, &right).map_err(|error| report_error(&error))?.skip(request.skip);
        run.follow("cmp", pair.common_len().into_iter().chain(request.limit).min());
        let words = Words { names: request.names, bytes: self.print_bytes, posix: in_posix_locale() };
        let result = match mode {
            CmpMode::Every => {
                let most = [&left, &right].into_iter().zip(request.skip);
                let most = most.filter_map(|(file, skip)| remaining(file, skip)).chain(request.limit).min();
                let list = List::new(most.unwrap_or(i64::MAX as u64), self.print_bytes);
                every(&request, &pair, &run, &words, &list)
            }
            _ => self.first(&request, &pair, &run, &words, mode),
        };
        match result {
            Ok(true) => Ok(()),
            Ok(false) => Err(Exit::Reported(1)),
            Err(error) => {
                run.clear_progress();
                Err(report_error(&error))
            }
        }
    }

    fn request(&self) -> Result<CmpRequest<'_>, Exit> {
        if self.verbose && self.quiet {
            return Err(usage(b"options -l and -s are incompatible"));
        }
        let mut request = CmpRequest { names: [OsStr::new("-"); 2], skip: [0; 2], limit: None };
        for text in &self.ignore_initial {
            let text = text.as_bytes();
            let (first, rest) = number::leading(text).ok_or_else(|| invalid("--ignore-initial", text))?;
            request.skip[0] = request.skip[0].max(first);
            let second = match rest {
                // At least as many as of the first file, which another `-i` may have set.
                [] => request.skip[0],
                [b':', second @ ..] => {
                    number::whole(second).ok_or_else(|| invalid("--ignore-initial", second))?
                }
                _ => return Err(invalid("--ignore-initial", text)),
            };
            request.skip[1] = request.skip[1].max(second);
        }
        for text in &self.limit {
            let limit = number::whole(text.as_bytes()).ok_or_else(|| invalid("--bytes", text.as_bytes()))?;
            request.limit = Some(request.limit.map_or(limit, |known| known.min(limit)));
        }
        let (files, skips) = self.operands.split_at(self.operands.len().min(2));
        if files.is_empty() {
            let last = std::env::args_os().last().unwrap_or_default();
            return Err(usage(&[b"missing operand after '", last.as_bytes(), b"'"].concat()));
        }
        for (name, file) in request.names.iter_mut().zip(files) {
            *name = file;
        }
        for (skip, text) in request.skip.iter_mut().zip(skips) {
            let text = text.as_bytes();
            *skip = (*skip).max(number::whole(text).ok_or_else(|| invalid("--ignore-initial", text))?);
        }
        if let Some(extra) = skips.get(2) {
            return Err(usage(&[b"extra operand '", extra.as_bytes(), b"'"].concat()));
        }
        Ok(request)
    }

    fn mode(&self) -> CmpMode {
        match () {
            () if self.quiet => CmpMode::Silent,
            () if self.json => CmpMode::First,
            () if output_is_discarded() => CmpMode::Discarded,
            () if self.verbose => CmpMode::Every,
            () => CmpMode::First,
        }
    }

    /// Reports equality without reading.
    fn equal(&self, request: &CmpRequest<'_>, reason: &str) -> Result<(), Exit> {
        let run = self.common.begin()?;
        run.remark(&format!("nothing is read: {reason}"));
        let summary = run.end(0);
        if self.json && !self.quiet {
            let statistics = summary.json();
            return Exit::print(&format!("{}\n", json_result(request, &Comparison::Equal, statistics)));
        }
        Ok(())
    }

    /// Reports the first difference; true if there is none.
    fn first(
        &self,
        request: &CmpRequest<'_>,
        pair: &PlannedPair<'_>,
        run: &CliRun<'_>,
        words: &Words<'_>,
        mode: CmpMode,
    ) -> fullbore::Result<bool> {
        let options = CompareOptions { limit: request.limit, lines: mode == CmpMode::First };
        let (found, stats) = pair.compare(&options)?;
        run.clear_progress();
        let summary = run.end(stats.bytes);
        if self.json && mode == CmpMode::First {
            let statistics = summary.json();
            write(format!("{}\n", json_result(request, &found, statistics)).as_bytes())?;
            return Ok(found == Comparison::Equal);
        }
        match (&found, mode) {
            (Comparison::Differ { at, lines }, CmpMode::First) => write(&words.differ(at, *lines))?,
            (Comparison::End(end), CmpMode::First | CmpMode::Discarded) => {
                Exit::eprint(&words.end(end, options.lines))
            }
            _ => {}
        }
        Ok(found == Comparison::Equal)
    }
}

/// Reports every difference; true if there is none.
fn every(
    request: &CmpRequest<'_>,
    pair: &PlannedPair<'_>,
    run: &CliRun<'_>,
    words: &Words<'_>,
    list: &List,
) -> fullbore::Result<bool> {
    let (seen, stats) = pair.differences(
        request.limit,
        |offset, left, right| list.lines(offset, left, right),
        |lines: Vec<u8>| run.output.without_progress_line(|| write(&lines)).map(ControlFlow::Continue),
    )?;
    run.clear_progress();
    run.end(stats.bytes);
    if let Some(end) = &seen.end {
        Exit::eprint(&words.end(end, false));
    }
    Ok(!seen.differ && seen.end.is_none())
}

impl CmpRequest<'_> {
    /// Opens both files as the peer does: standard input first, even as the second operand; a file named twice only once.
    /// `None`: both are the same file.
    fn open(&self, mode: CmpMode) -> Result<Option<[File; 2]>, Exit> {
        let first = usize::from(self.names[1] == "-");
        let open = |place: usize| {
            open(self.names[place]).map_err(|error| match mode {
                CmpMode::Silent => Exit::Reported(2),
                _ => system_failure(self.names[place], error),
            })
        };
        let one = open(first)?;
        if self.names[0] == self.names[1] && self.skip[0] == self.skip[1] {
            return Ok(None);
        }
        let other = open(1 - first)?;
        Ok(Some(if first == 0 { [one, other] } else { [other, one] }))
    }
}

/// Opens an operand; errors use its name.
fn open(name: &OsStr) -> io::Result<File> {
    let opened = if name == "-" {
        before_standard_input();
        let standard = sys::try_clone(sys::stdin())?;
        File::from_fd(standard, "-")
    } else {
        File::open(name)
    };
    opened.map_err(|error| match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        // A socket, or a device that does not exist.
        None => Code::NO_SUCH_ADDRESS.into(),
    })
}

/// Returns the offset of the first compared byte, if the file has offsets.
fn position(file: &File, skip: u64) -> Option<u64> {
    sys::position(file).ok().map(|position| position.saturating_add(skip))
}

/// True if both are the same inode from the same offset on. On Windows equal numbers are no proof: a shadow copy has those of its
/// volume, and some servers repeat them.
fn is_same_inode(request: &CmpRequest<'_>, [left, right]: [&File; 2]) -> bool {
    if cfg!(windows) {
        return false;
    }
    let identity = |file: &File| match file.starting_stamp() {
        Ok(stamp) => Some(stamp.identity),
        Err(_) => sys::status(file).ok().map(|stat| stat.identity()),
    };
    identity(left).is_some_and(|one| Some(one) == identity(right))
        && position(left, request.skip[0]) == position(right, request.skip[1])
}

/// Returns the number of bytes of a regular file to compare, by its reported size.
fn remaining(file: &File, skip: u64) -> Option<u64> {
    Some(regular_len(file)?.saturating_sub(position(file, skip).unwrap_or(0)))
}

fn regular_len(file: &File) -> Option<u64> {
    let stamp = (file.kind() == FileKind::Regular).then(|| file.starting_stamp().ok())?;
    stamp.map(|stamp| stamp.len)
}

/// Sizes up to this many bytes are unreliable: files of `/proc` report 0, those of `/sys` a page.
const PAGE: u64 = 4096;

/// True if the sizes alone show that the compared parts differ.
fn sizes_differ(request: &CmpRequest<'_>, files: [&File; 2]) -> bool {
    let size = |place: usize| {
        let len = regular_len(files[place])?;
        let counts = len.saturating_sub(position(files[place], request.skip[place])?);
        (len > PAGE).then_some(counts)
    };
    let (Some(left), Some(right)) = (size(0), size(1)) else { return false };
    left != right && request.limit.is_none_or(|limit| left.min(right) < limit)
}

/// True if POSIX prescribes the wording: in the POSIX locale, and if no locale is set.
fn in_posix_locale() -> bool {
    let named = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(std::env::var_os);
    named.into_iter().find(|name| !name.is_empty()).is_none_or(|name| name == "C" || name == "POSIX")
}

/// True if standard output is `/dev/null`.
fn output_is_discarded() -> bool {
    let (Ok(out), Ok(null)) = (sys::status(sys::stdout()), sys::stat("/dev/null")) else {
        return false;
    };
    // A read-only descriptor replaces a closed standard output.
    let writes =
        sys::status_flags(sys::stdout()).is_ok_and(|flags| flags & OpenFlags::ACCESS != OpenFlags::READ);
    out.identity() == null.identity() && writes
}

fn json_result(
    request: &CmpRequest<'_>,
    found: &Comparison,
    mut statistics: serde_json::Value,
) -> serde_json::Value {
    let name = |place: usize| request.names[place].to_string_lossy();
    statistics["files"] = json!([name(0), name(1)]);
    if request.names.iter().any(|name| name.to_str().is_none()) {
        statistics["files_bytes"] = json!(request.names.map(|name| hex(name.as_bytes())));
    }
    statistics["equal"] = (*found == Comparison::Equal).into();
    match found {
        Comparison::Equal => {}
        Comparison::Differ { at: Difference { offset, left, right, .. }, lines } => {
            statistics["differ"] = json!({ "byte": offset + 1, "line": lines + 1, "values": [left, right] });
        }
        Comparison::End(End { side, offset, lines, .. }) => {
            statistics["end"] = json!({ "file": name(*side as usize), "bytes": offset, "newlines": lines });
        }
    }
    statistics
}

fn write(text: &[u8]) -> fullbore::Result<()> {
    let safe = printable_bytes(text);
    let text = if matches!(safe, Cow::Borrowed(_)) || !io::stdout().is_terminal() { text } else { &safe };
    StandardOutput.write_all(text).map_err(|error| Error::io("write", "standard output", error))
}

fn system_failure(name: &OsStr, error: io::Error) -> Exit {
    Exit::eprint(&[b"cmp: ", name.as_bytes(), b": ", reason(&error).as_bytes(), b"\n"].concat());
    Exit::Reported(2)
}

/// Returns the message of an error: in the peer's wording if the system reported it.
fn report_error(error: &Error) -> Exit {
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::BrokenPipe, _) => Exit::BrokenPipe,
        (kind, Some(number)) if kind != ErrorKind::Changed => {
            system_failure(error.path().as_os_str(), io::Error::from_raw_os_error(number))
        }
        (kind, _) => {
            Exit::eprint(&format!("cmp: {error}\n"));
            Exit::Reported(if kind == ErrorKind::Changed { 3 } else { 2 })
        }
    }
}

fn usage(text: &[u8]) -> Exit {
    let hint = b"\ncmp: Try 'cmp --help' for more information.\n";
    Exit::eprint(&[b"cmp: ", text, hint].concat());
    Exit::Reported(2)
}

fn invalid(option: &str, value: &[u8]) -> Exit {
    usage(&[b"invalid ", option.as_bytes(), b" value '", value, b"'"].concat())
}
