//! The values of the flags, and the type of a flag.

use std::ffi::OsStr;
use std::path::PathBuf;

use fullbore_grep::grep_printer::{HyperlinkFormat, UserColorSpec};
use fullbore_grep::{Nuls, Settings, Show};
use log::LevelFilter;

use crate::command::documents::Generated;

#[derive(Debug, Clone, Default)]
pub(super) struct GrepArgs {
    /// The options of the search, without those that other flags imply.
    pub(super) search: Settings,
    pub(super) patterns: Vec<Pattern>,
    pub(super) listing: Option<Listing>,
    pub(super) line_buffered: Option<bool>,
    /// `None`: on a terminal that shows colours.
    pub(super) color: Option<bool>,
    pub(super) colors: Vec<UserColorSpec>,
    pub(super) column: Option<bool>,
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
    pub(super) both: Option<usize>,
    pub(super) follow: bool,
    pub(super) globs: Vec<String>,
    pub(super) iglobs: Vec<String>,
    pub(super) glob_case_insensitive: bool,
    pub(super) heading: Option<bool>,
    pub(super) hidden: bool,
    pub(super) hostname_bin: Option<PathBuf>,
    pub(super) hyperlink_format: Option<HyperlinkFormat>,
    pub(super) ignore_files: Vec<PathBuf>,
    pub(super) ignore_file_case_insensitive: bool,
    pub(super) line_number: Option<bool>,
    pub(super) log: Option<LevelFilter>,
    pub(super) max_depth: Option<usize>,
    pub(super) max_filesize: Option<u64>,
    pub(super) mapped: Option<bool>,
    pub(super) no_config: bool,
    pub(super) no_ignore_dot: bool,
    pub(super) no_ignore_exclude: bool,
    pub(super) no_ignore_files: bool,
    pub(super) no_ignore_global: bool,
    pub(super) no_ignore_messages: bool,
    pub(super) no_ignore_parent: bool,
    pub(super) no_ignore_vcs: bool,
    pub(super) no_messages: bool,
    pub(super) no_require_git: bool,
    pub(super) one_file_system: bool,
    pub(super) pcre2_version: bool,
    pub(super) pre: Option<PathBuf>,
    pub(super) pre_globs: Vec<String>,
    pub(super) search_zip: bool,
    pub(super) sort: Option<Sort>,
    pub(super) threads: Option<u64>,
    pub(super) types: Vec<TypeChange>,
    pub(super) unrestricted: usize,
    pub(super) with_filename: Option<bool>,
    /// The error of the first invalid value.
    pub(super) wrong: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) enum Pattern {
    Given(String),
    File(PathBuf),
}

/// Output that replaces the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    Files,
    Types,
    Generated(Generated),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sort {
    pub(super) by: SortBy,
    pub(super) reverse: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SortBy {
    Path,
    Modified,
    Accessed,
    Created,
}

#[derive(Debug, Clone)]
pub(super) enum TypeChange {
    Clear(String),
    Add(String),
    Select(String),
    Negate(String),
}

impl GrepArgs {
    pub(super) fn no_ignore(&mut self, yes: bool) {
        self.no_ignore_dot = yes;
        self.no_ignore_exclude = yes;
        self.no_ignore_global = yes;
        self.no_ignore_parent = yes;
        self.no_ignore_vcs = yes;
    }

    /// Applies `-u`, which counts.
    pub(super) fn unrestrict(&mut self) {
        self.unrestricted += 1;
        match self.unrestricted {
            1 => self.no_ignore(true),
            2 => self.hidden = true,
            _ => self.search.nuls = Nuls::Suppress,
        }
    }

    /// A flag that selects the results of a search cancels a listing, since the last mode counts.
    pub(super) fn show(&mut self, show: Show) {
        (self.search.show, self.listing) = (show, None);
    }

    /// A flag that limits the context cancels `--passthru`.
    pub(super) fn limited(&mut self) -> &mut Self {
        if std::mem::take(&mut self.search.passthru) {
            (self.before, self.after, self.both) = (None, None, None);
        }
        self
    }
}

pub(super) struct Flag {
    pub(super) short: Option<char>,
    pub(super) long: &'static str,
    pub(super) alias: Option<&'static str>,
    /// The name of the flag that negates it.
    pub(super) negated: Option<&'static str>,
    pub(super) help: &'static str,
    pub(super) set: FlagEffect,
}

#[derive(Clone, Copy)]
pub(super) enum FlagEffect {
    /// A flag without a value: true if given, false if negated.
    Switch(fn(&mut GrepArgs, bool)),
    /// A flag with a value of that name; `None` if negated.
    Value(&'static str, Setter),
}

pub(super) type Setter = fn(&mut GrepArgs, Option<&OsStr>) -> Result<(), String>;
