//! A command over files: each is opened, given to an operation, and told of in the order of the arguments.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use fullbore::error::{Error, Kind};
use fullbore::file::File;
use fullbore::pattern::{Crew, Scratch};

use crate::exit::Exit;
use crate::ways::Running;

/// Opens what an argument names: `-` is standard input.
///
/// # Errors
/// As [`File::open`].
pub fn open(path: &Path) -> fullbore::Result<File> {
    if path == Path::new("-") { File::stdin() } else { File::open(path) }
}

/// Gives each of `files` (standard input, if there are none) to `work`, several at once, and what comes of it to `tell`, in the
/// order of the files, with its length in bytes added to what is returned. What goes wrong with one file is said, and the
/// others are gone on with.
///
/// # Errors
/// At the end, if something went wrong with a file; at once, if `tell` fails.
pub fn each_file<R: Send>(
    running: &Running<'_>,
    what: &str,
    files: &[PathBuf],
    work: impl Fn(&File, &Crew<'_>, &mut Scratch) -> fullbore::Result<R> + Sync,
    mut tell: impl FnMut(&Path, R) -> Result<(), Exit> + Send,
) -> Result<(), Exit> {
    let standard_input = [PathBuf::from("-")];
    let files = if files.is_empty() { &standard_input[..] } else { files };
    let (mut failed, mut worst) = (None, 0);
    let result = running.with_crew(what, None, |crew| {
        crew.many(
            files.iter(),
            |path, turn, scratch, crew| {
                let result = open(path).and_then(|file| work(&file, crew, scratch));
                match result {
                    Err(error) if error.kind() == Kind::Interrupted => Err(error),
                    result => turn.give((path, result), 0).map(drop),
                }
            },
            |(path, result)| {
                let told = match result {
                    Ok(result) => tell(path, result),
                    Err(error) => {
                        running.aside(|| Exit::say(&format!("fullbore: {error}\n")));
                        worst = worst.max(if error.kind() == Kind::Changed { 3 } else { 2 });
                        Ok(())
                    }
                };
                Ok(match told {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(exit) => {
                        failed = Some(exit);
                        ControlFlow::Break(())
                    }
                })
            },
        )
    });
    // What was printed for files before the one that failed counts.
    let flushed = running.flush();
    result.map_err(|error: Error| Exit::from(error))?;
    flushed?;
    match (failed, worst) {
        (Some(exit), _) => Err(exit),
        (None, 0) => Ok(()),
        (None, code) => Err(Exit::Told(code)),
    }
}
