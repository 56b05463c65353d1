//! The fio program on this machine: path, version, and runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fullbore::error::{Error, ErrorKind, Result};

use super::setting::Setting;
use super::shape::HUGE_PAGES;
use crate::child;

/// The installed fio.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    path: PathBuf,
    /// The version as printed: `fio-3.33`.
    pub(crate) version: String,
}

impl Program {
    /// Finds fio along `PATH`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if it is not installed, or older than version 3.
    pub(crate) fn find() -> Result<Self> {
        let refuse = |what: String| {
            Error::new(ErrorKind::Unsupported, "run", "fio", what)
                .advise("install it (Debian: apt install fio)")
        };
        let path = child::find("fio").ok_or_else(|| refuse("not installed".into()))?;
        let said = child::start(Command::new(&path).arg("--version").stdout(Stdio::piped()))
            .and_then(child::ChildProcess::output)
            .map_err(|error| Error::io("run", &path, error))?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        let major = version.strip_prefix("fio-").and_then(|rest| rest.split('.').next());
        match major.and_then(|major| major.parse::<u32>().ok()) {
            Some(3..) => Ok(Self { path, version }),
            _ => Err(refuse(format!("{version:?} is not version 3 or later"))),
        }
    }

    /// Runs one job in `directory`, with its buffers on huge pages if `huge`, and returns what it printed.
    ///
    /// # Errors
    /// The error that fio reports.
    pub(super) fn run(&self, settings: &[Setting], directory: &Path, huge: bool) -> Result<String> {
        let mut command = Command::new(&self.path);
        command.args(["--output-format=json", "--name=peer"]);
        command.args(settings.iter().map(|(name, value)| format!("--{name}={value}")));
        if huge {
            command.env(HUGE_PAGES.0, HUGE_PAGES.1);
        }
        command.current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = child::start(&mut command)
            .and_then(child::ChildProcess::output)
            .map_err(|error| Error::io("run", &self.path, error))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(text);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = complaint(&stderr).or_else(|| complaint(&text)).unwrap_or("no reason given");
        Err(Error::new(
            ErrorKind::Unsupported,
            "run",
            &self.path,
            format!("fio failed: {}: {said}", output.status),
        ))
    }
}

/// The first line in which fio reports an error.
fn complaint(said: &str) -> Option<&str> {
    let lines =
        || said.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "{" && *line != "}");
    lines().find(|line| line.contains("error") || line.contains("fail")).or_else(|| lines().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_the_line_with_the_error() {
        let said = "fio: pid=1\n\nfio: io_u error on file x: No space left\n";
        assert_eq!(complaint(said), Some("fio: io_u error on file x: No space left"));
        assert_eq!(complaint("fio: engine nope not loadable\n"), Some("fio: engine nope not loadable"));
        assert_eq!(complaint("\n"), None);
    }
}
