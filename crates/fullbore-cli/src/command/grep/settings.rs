//! Converts the flags to the settings of a search, with their implications as in `rg`.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use fullbore_grep::grep_printer::{ColorSpecs, HyperlinkConfig, HyperlinkEnvironment, default_color_specs};
use fullbore_grep::{Nuls, Settings, Show};

use super::args::GrepArgs;
use super::haystacks::SearchPaths;

/// Returns the settings of the search. `terminal` is true if standard output is a terminal.
pub(super) fn settings(
    args: &GrepArgs,
    patterns: Vec<String>,
    search_paths: &SearchPaths,
    terminal: bool,
) -> Settings {
    let search = args.search.clone();
    let both = args.both.unwrap_or(0);
    let column = args.column.unwrap_or(search.vimgrep);
    let mut colors = default_color_specs();
    colors.extend(args.colors.iter().cloned());
    let implied = match search.show {
        _ if search.quiet => false,
        Show::Json => true,
        Show::Lines => (terminal && !search_paths.only_standard_input()) || column || search.vimgrep,
        _ => false,
    };
    Settings {
        patterns,
        before_context: args.before.unwrap_or(both),
        after_context: args.after.unwrap_or(both),
        nuls: if search.null_data { Nuls::Text } else { search.nuls },
        line_number: args.line_number.unwrap_or(implied),
        column,
        heading: !search.vimgrep && args.heading.unwrap_or(terminal),
        with_filename: args.with_filename.unwrap_or(search.vimgrep || !search_paths.one_file),
        color: args.color.unwrap_or_else(|| terminal && color_is_welcome()),
        colors: ColorSpecs::new(&colors),
        hyperlinks: hyperlinks(args),
        ..search
    }
}

fn color_is_welcome() -> bool {
    env::var_os("TERM").is_some_and(|term| term != "dumb") && env::var_os("NO_COLOR").is_none()
}

/// Returns the link configuration if links are enabled.
fn hyperlinks(args: &GrepArgs) -> Option<HyperlinkConfig> {
    let format = args.hyperlink_format.clone().filter(|format| !format.is_empty())?;
    let mut environment = HyperlinkEnvironment::new();
    environment.host(host(args.hostname_bin.as_deref()));
    let wsl = env::var("WSL_DISTRO_NAME").ok();
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
