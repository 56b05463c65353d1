//! Finds the program under test: builds the release binary, or takes the given one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Attempt;

/// The program to test: `named`, or the release binary.
pub(crate) fn find(named: Option<&Path>) -> Attempt<PathBuf> {
    if let Some(path) = named {
        return std::path::absolute(path)
            .ok()
            .filter(|path| path.is_file())
            .ok_or_else(|| format!("--binary: no file {}", path.display()).into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    eprintln!("building the release binary (cargo build --release -p fullbore-cli)");
    let output = Command::new(&cargo)
        .args(["build", "--release", "-p", "fullbore-cli", "--message-format=json-render-diagnostics"])
        .arg("--manifest-path")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../fullbore-cli/Cargo.toml"))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run {}: {error}; name a binary with --binary", cargo.display()))?;
    if !output.status.success() {
        return Err("the release binary does not build".into());
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "fullbore")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| "cargo did not report the path of the release binary; name it with --binary".into())
}
