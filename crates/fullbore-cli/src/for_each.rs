//! Runs a command over files: opens each, applies an operation, and reports results in the order of the arguments.

#[cfg(windows)]
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::{fs, io};

use fullbore::error::ErrorKind;
use fullbore::file::File;
use fullbore::lock::Mutex;
use fullbore::operation::Fold;
use fullbore::pattern::{Executor, OrderedSender, Worker};
use fullbore::sys::{self, AsHandle, FileKind, SeekFrom, Status};

use crate::common_args::{CliRun, CommonArgs};
use crate::exit::{Exit, message, program};
use crate::progress::before_standard_input;
use crate::values::is_stdio;

/// Opens the file of an argument: `-` is standard input.
///
/// # Errors
/// As [`File::open`].
pub fn open(path: &Path, worker: &mut Worker) -> fullbore::Result<File> {
    if is_stdio(path) { standard_input() } else { worker.open(path) }
}

/// True for a pattern of names; the `?` of the prefix of a verbatim path is no wildcard.
#[cfg(any(windows, test))]
fn has_wildcards(path: &str) -> bool {
    path.strip_prefix(r"\\?\").unwrap_or(path).contains(['*', '?'])
}

/// Expands operands that contain `*` or `?` to the matching names, in alphabetical order: the shells of Windows leave that to
/// programs. An operand without a match stays as it is. Brackets are ordinary characters, which names there often have.
#[cfg(windows)]
pub fn expanded<T: AsRef<OsStr> + From<PathBuf>>(operands: Vec<T>) -> Vec<T> {
    let options = glob::MatchOptions { case_sensitive: false, ..glob::MatchOptions::new() };
    let names = |operand: &T| {
        let pattern = operand.as_ref().to_str().filter(|text| has_wildcards(text))?;
        // Several stars are one, as for the system; to the crate two are any directories.
        let mut stars = pattern.to_owned();
        while stars.contains("**") {
            stars = stars.replace("**", "*");
        }
        let literal = |text: &str| text.replace('[', "[[]");
        let mut names: Vec<PathBuf> = glob::glob_with(&literal(&stars), options).ok()?.flatten().collect();
        // The crate skips names that are not Unicode.
        if let (Some(directory), Some(last)) = (Path::new(&stars).parent(), Path::new(&stars).file_name())
            && !has_wildcards(&directory.to_string_lossy())
            && let Some(last) = last.to_str()
            && let Ok(last) = glob::Pattern::new(&literal(last))
            && let Ok(entries) = fs::read_dir(Path::new(".").join(directory))
        {
            let others = entries.flatten().map(|entry| entry.file_name());
            let others = others.filter(|name| {
                name.to_str().is_none() && last.matches_with(&name.to_string_lossy(), options)
            });
            names.extend(others.map(|name| directory.join(name)));
            names.sort();
        }
        Some(names.into_iter().map(T::from).collect::<Vec<_>>()).filter(|names| !names.is_empty())
    };
    operands.into_iter().flat_map(|operand| names(&operand).unwrap_or_else(|| vec![operand])).collect()
}

/// Returns the operands unchanged: the shell has already expanded patterns.
#[cfg(unix)]
pub fn expanded<T>(operands: Vec<T>) -> Vec<T> {
    operands
}

/// Held while a command reads standard input, which several operands may name: the second finds its end.
pub static STANDARD_INPUT: Mutex<()> = Mutex::new(());

/// Opens standard input, to read it.
///
/// # Errors
/// As [`File::stdin`].
pub fn standard_input() -> fullbore::Result<File> {
    before_standard_input();
    File::stdin()
}

/// Opens standard input, to read it in order. Reading a closed one fails; the stream of std is empty then.
///
/// # Errors
/// If the system call fails.
pub fn standard_stream() -> io::Result<fs::File> {
    before_standard_input();
    io::stdin().as_handle().try_clone_to_owned().map(fs::File::from)
}

/// Sets the offset of standard input as reading would.
pub fn seek_standard_input(offset: u64) {
    // A stream that cannot seek was read in order.
    let _ = sys::seek(sys::stdin(), SeekFrom::Start(offset));
}

/// Returns the status of the file of an argument: `-` is standard input.
///
/// # Errors
/// If the system call fails.
pub fn stat(path: &Path) -> sys::Result<Status> {
    if is_stdio(path) { sys::status(sys::stdin()) } else { sys::stat(path) }
}

/// True if `path` (`-` is standard input) exists and is not a regular file: the writer of a pipe or terminal may still write.
pub fn is_stream(path: &Path) -> bool {
    stat(path).is_ok_and(|stat| stat.kind() != FileKind::Regular)
}

/// Folds `operation` over each file of an argument list (standard input if it is empty) and passes the results to
/// `report`: a whole command, from its flags to its summary.
///
/// # Errors
/// As [`for_each_file`], and if the flags contradict each other.
pub fn fold_files<F: Fold>(
    common: &CommonArgs,
    what: &str,
    operation: &F,
    files: &[PathBuf],
    mut report: impl FnMut(&CliRun<'_>, &Path, F::State) -> Result<(), Exit> + Send,
) -> Result<(), Exit> {
    let run = common.begin()?;
    for_each_file(
        &run,
        what,
        files,
        |file, executor, worker| Ok(executor.fold(operation, file, worker)?.0),
        |path, state| report(&run, path, state),
    )?;
    run.end(run.progress.bytes_done());
    Ok(())
}

/// Applies `work` to each of `items`, several at once, and passes the results to `report` in their order; `work` returns
/// each with the number of bytes that it occupies while it waits. `arriving`: the items come from a pipe, and each is
/// processed on arrival.
///
/// # Errors
/// If `report` or `work` fails; then no more items are processed.
pub fn in_order<T: Send, R: Send>(
    run: &CliRun<'_>,
    what: &str,
    items: impl Iterator<Item = T> + Send,
    arriving: bool,
    work: impl Fn(T, &mut Worker, &Executor<'_>) -> fullbore::Result<(R, usize)> + Sync,
    mut report: impl FnMut(R) -> Result<(), Exit> + Send,
) -> Result<(), Exit> {
    let mut failed = None;
    let work = |item, sender: &mut OrderedSender<'_, '_, R>, worker: &mut Worker, executor: &Executor<'_>| {
        let (result, weight) = work(item, worker, executor)?;
        sender.send(result, weight).map(drop)
    };
    let emit = |result| {
        failed = report(result).err();
        Ok(if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    let ended = run.with_executor(what, None, |executor| match arriving {
        true => executor.map_ordered_arriving(items, work, emit),
        false => executor.map_ordered(items, work, emit),
    });
    match failed {
        Some(exit) => Err(exit),
        None => ended.map_err(Exit::from),
    }
}

/// Returns the result of one item, unless the run was cancelled.
///
/// # Errors
/// If the run was cancelled.
pub fn propagate_cancelled<T>(result: fullbore::Result<T>) -> fullbore::Result<fullbore::Result<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
        result => Ok(result),
    }
}

/// Applies `work` to each of `files` (standard input if there are none), several at once, and passes the results to
/// `report` in the order of the files. An error of one file is printed; the other files are still processed.
///
/// # Errors
/// At the end, if a file had an error; immediately, if `report` fails.
pub fn for_each_file<R: Send>(
    run: &CliRun<'_>,
    what: &str,
    files: &[PathBuf],
    work: impl Fn(&File, &Executor<'_>, &mut Worker) -> fullbore::Result<R> + Sync,
    mut report: impl FnMut(&Path, R) -> Result<(), Exit> + Send,
) -> Result<(), Exit> {
    let standard_input = [PathBuf::from("-")];
    let files = if files.is_empty() { &standard_input[..] } else { files };
    let mut worst = 0;
    let ended = in_order(
        run,
        what,
        files.iter(),
        false,
        |path, worker, executor| {
            let result = open(path, worker).and_then(|file| work(&file, executor, worker));
            Ok(((path, propagate_cancelled(result)?), 0))
        },
        |(path, result)| match result {
            Ok(result) => report(path, result),
            Err(error) => {
                run.output.eprint(&format!("{}: {}\n", program(""), message(&error)));
                worst = worst.max(if error.kind() == ErrorKind::Changed { 3 } else { 2 });
                Ok(())
            }
        },
    );
    // The lines printed for files before the failed one stay valid.
    let flushed = run.output.flush();
    ended.and(flushed)?;
    if worst > 0 { Err(Exit::Reported(worst)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::has_wildcards;

    #[test]
    fn the_prefix_of_a_verbatim_path_has_no_wildcard() {
        for path in [r"\\?\C:\a b\file", r"\\?\UNC\server\share\file", r"\\.\PhysicalDrive0", "file"] {
            assert!(!has_wildcards(path), "{path}");
        }
        for pattern in ["*.log", "fil?", r"\\?\C:\logs\*.log", r"\\?\C:\fil?", r"\\?\?"] {
            assert!(has_wildcards(pattern), "{pattern}");
        }
    }
}
