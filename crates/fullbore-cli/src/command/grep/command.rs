//! Reads the output of a command: a decompressor, or the user's own (`--pre`).

use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use fullbore::sys;
use grep_cli::DecompressionMatcher;
use ignore::overrides::Override;

/// Files that are searched through the output of a command.
#[derive(Debug)]
pub(crate) enum Filter {
    /// Compressed files, recognised by name.
    Decompress(DecompressionMatcher),
    /// All files, or those that match the globs.
    Preprocess(PathBuf, Override),
}

impl Filter {
    /// Starts the command for `path`; `None`: there is none, and the file itself is searched.
    pub(crate) fn start(&self, path: &Path) -> io::Result<Option<CommandOutput>> {
        match self {
            Self::Decompress(matcher) => {
                let Some(mut command) = matcher.command(path) else { return Ok(None) };
                command.arg(path);
                Ok(CommandOutput::start(command, "decompression")
                    .inspect_err(|error| log::debug!("{}: {error}", path.display()))
                    .ok())
            }
            Self::Preprocess(program, globs) => {
                if !globs.is_empty() && globs.matched(path, false).is_ignore() {
                    return Ok(None);
                }
                let mut command = Command::new(program);
                command.arg(path).stdin(fs::File::open(path)?);
                let output = CommandOutput::start(command, "preprocessor");
                output.map(Some).map_err(|error| {
                    let text =
                        format!("preprocessor command could not start: '{program:?} {path:?}': {error}");
                    io::Error::new(error.kind(), text)
                })
            }
        }
    }
}

/// Standard output of a command. Its error messages go to a file in memory, so that no thread is needed to read them.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    command: Command,
    child: Child,
    output: Option<ChildStdout>,
    messages: fs::File,
    name: &'static str,
    ended: bool,
}

/// Maximum number of bytes of a command's messages that are repeated.
const MESSAGES: u64 = 64 << 10;

impl CommandOutput {
    fn start(mut command: Command, name: &'static str) -> io::Result<Self> {
        let messages = fs::File::from(sys::memory_file("messages")?);
        let mut child = command.stdout(Stdio::piped()).stderr(messages.try_clone()?).spawn()?;
        let output = child.stdout.take();
        Ok(Self { command, child, output, messages, name, ended: false })
    }

    /// Ends the command, which may still be writing output.
    ///
    /// # Errors
    /// With its messages, if it failed. A failure because its output pipe was closed is ignored.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        if self.output.take().is_none() || self.child.wait()?.success() {
            return Ok(());
        }
        let mut text = Vec::new();
        self.messages.rewind()?;
        (&self.messages).take(MESSAGES).read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let text = match text.trim() {
            "" if !self.ended => return Ok(()),
            "" => "<stderr is empty>".to_owned(),
            text => {
                let line = "-".repeat(79);
                format!("\n{line}\n{text}\n{line}")
            }
        };
        Err(io::Error::other(format!("{} command failed: '{:?}': {text}", self.name, self.command)))
    }
}

impl Read for CommandOutput {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let Some(output) = &mut self.output else { return Ok(0) };
        let count = output.read(bytes)?;
        if count == 0 && !bytes.is_empty() {
            self.ended = true;
            self.close()?;
        }
        Ok(count)
    }
}

impl Drop for CommandOutput {
    fn drop(&mut self) {
        // Callers that need the outcome have already called `close`.
        let _ = self.close();
    }
}
