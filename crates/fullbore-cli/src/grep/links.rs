//! Paths as terminal hyperlinks.

use std::path::Path;
use std::process::{Command, Stdio};

use fullbore_grep::grep_printer::{HyperlinkConfig, HyperlinkEnvironment};

use super::args::GrepArgs;

/// Returns the link configuration if links are enabled.
pub(crate) fn hyperlinks(args: &GrepArgs) -> Option<HyperlinkConfig> {
    let format = args.hyperlink_format.clone().filter(|format| !format.is_empty())?;
    let mut environment = HyperlinkEnvironment::new();
    environment.host(host(args.hostname_bin.as_deref()));
    let wsl = std::env::var("WSL_DISTRO_NAME").ok();
    environment.wsl_prefix(wsl.map(|name| format!("wsl$/{name}")));
    Some(HyperlinkConfig::new(environment, format))
}

/// Returns the host name, as printed by `--hostname-bin` or else as known to the system.
fn host(program: Option<&Path>) -> Option<String> {
    let printed = program.and_then(|program| {
        let output = Command::new(program).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let output = output.inspect_err(|error| log::debug!("{}: {error}", program.display())).ok()?;
        let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !name.is_empty()).then_some(name)
    });
    printed.or_else(|| grep_cli::hostname().ok()?.into_string().ok())
}
