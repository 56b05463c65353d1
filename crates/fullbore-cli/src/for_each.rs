//! Runs a command over files: opens each, applies an operation, and reports results in the order of the arguments.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use fullbore::error::{Error, ErrorKind};
use fullbore::file::File;
use fullbore::operation::Fold;
use fullbore::pattern::{Executor, Worker};
use fullbore::sys::{self, FileKind};

use crate::common_args::{CliRun, CommonArgs};
use crate::exit::{Exit, message, program};

/// Opens the file of an argument: `-` is standard input.
///
/// # Errors
/// As [`File::open`].
pub fn open(path: &Path, worker: &mut Worker) -> fullbore::Result<File> {
    if path == Path::new("-") { File::stdin() } else { worker.open(path) }
}

/// True if `path` (`-` is standard input) is a pipe or terminal, whose writer may still be writing.
pub fn is_stream(path: &Path) -> bool {
    let stat = if path == Path::new("-") { sys::status(sys::stdin()) } else { sys::stat(path) };
    stat.is_ok_and(|stat| stat.kind() != FileKind::Regular)
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
        |file, executor, worker| Ok(executor.fold(operation, file, worker)?.1),
        |path, state| report(&run, path, state),
    )?;
    run.end(run.progress().bytes_done());
    Ok(())
}

/// Collects the outcome of reporting: continues until a report fails, and keeps the failure.
#[derive(Debug, Default)]
pub struct FirstFailure {
    failed: Option<Exit>,
}

impl FirstFailure {
    /// Returns whether to continue after `outcome`.
    pub fn check(&mut self, outcome: Result<(), Exit>) -> ControlFlow<()> {
        match outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(exit) => {
                self.failed = Some(exit);
                ControlFlow::Break(())
            }
        }
    }

    /// Returns the overall outcome.
    ///
    /// # Errors
    /// The failure that ended it.
    pub fn end(self) -> Result<(), Exit> {
        self.failed.map_or(Ok(()), Err)
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
    let (mut first_failure, mut worst) = (FirstFailure::default(), 0);
    let result = run.with_executor(what, None, |executor| {
        executor.map_ordered(
            files.iter(),
            |path, sender, worker, executor| {
                let result = open(path, worker).and_then(|file| work(&file, executor, worker));
                match result {
                    Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
                    result => sender.send((path, result), 0).map(drop),
                }
            },
            |(path, result)| {
                let outcome = match result {
                    Ok(result) => report(path, result),
                    Err(error) => {
                        run.eprint(&format!("{}: {}\n", program(""), message(&error)));
                        worst = worst.max(if error.kind() == ErrorKind::Changed { 3 } else { 2 });
                        Ok(())
                    }
                };
                Ok(first_failure.check(outcome))
            },
        )
    });
    // The lines printed for files before the failed one stay valid.
    let flushed = run.flush();
    result.map_err(|error: Error| Exit::from(error))?;
    flushed?;
    first_failure.end()?;
    if worst > 0 { Err(Exit::Reported(worst)) } else { Ok(()) }
}
