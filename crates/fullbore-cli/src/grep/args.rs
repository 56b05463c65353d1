//! The values of the flags, applied in command-line order: of flags that exclude each other the last counts, as with
//! `rg`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, builder};
use fullbore_grep::grep_printer::{HyperlinkFormat, UserColorSpec};
use fullbore_grep::{Boundary, Case, Coding, Engine, Nuls, Show};
use log::LevelFilter;

use super::flag::{Flag, FlagEffect};
use super::flags::FLAGS;
use super::generate::Generated;

/// The values of the flags.
#[derive(Debug, Clone, Default)]
pub(crate) struct GrepArgs {
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) show: Show,
    pub(crate) listing: Option<Listing>,
    pub(crate) nuls: Nuls,
    pub(crate) boundary: Option<Boundary>,
    pub(crate) line_buffered: Option<bool>,
    pub(crate) byte_offset: bool,
    pub(crate) case: Case,
    pub(crate) color: ColorChoice,
    pub(crate) colors: Vec<UserColorSpec>,
    pub(crate) column: Option<bool>,
    pub(crate) passthru: bool,
    pub(crate) before: Option<usize>,
    pub(crate) after: Option<usize>,
    pub(crate) both: Option<usize>,
    pub(crate) context_separator: Option<Option<Vec<u8>>>,
    pub(crate) field_match_separator: Option<Vec<u8>>,
    pub(crate) field_context_separator: Option<Vec<u8>>,
    pub(crate) crlf: bool,
    pub(crate) null_data: bool,
    pub(crate) dfa_size_limit: Option<usize>,
    pub(crate) regex_size_limit: Option<usize>,
    pub(crate) coding: Coding,
    pub(crate) engine: Engine,
    pub(crate) fixed_strings: bool,
    pub(crate) follow: bool,
    pub(crate) globs: Vec<String>,
    pub(crate) iglobs: Vec<String>,
    pub(crate) glob_case_insensitive: bool,
    pub(crate) heading: Option<bool>,
    pub(crate) hidden: bool,
    pub(crate) hostname_bin: Option<PathBuf>,
    pub(crate) hyperlink_format: Option<HyperlinkFormat>,
    pub(crate) ignore_files: Vec<PathBuf>,
    pub(crate) ignore_file_case_insensitive: bool,
    pub(crate) include_zero: bool,
    pub(crate) invert_match: bool,
    pub(crate) line_number: Option<bool>,
    pub(crate) log: Option<LevelFilter>,
    pub(crate) max_columns: Option<u64>,
    pub(crate) max_columns_preview: bool,
    pub(crate) max_count: Option<u64>,
    pub(crate) max_depth: Option<usize>,
    pub(crate) max_filesize: Option<u64>,
    pub(crate) mapped: Option<bool>,
    pub(crate) multiline: bool,
    pub(crate) multiline_dotall: bool,
    pub(crate) no_ignore_dot: bool,
    pub(crate) no_ignore_exclude: bool,
    pub(crate) no_ignore_files: bool,
    pub(crate) no_ignore_global: bool,
    pub(crate) no_ignore_messages: bool,
    pub(crate) no_ignore_parent: bool,
    pub(crate) no_ignore_vcs: bool,
    pub(crate) no_messages: bool,
    pub(crate) no_require_git: bool,
    pub(crate) no_unicode: bool,
    pub(crate) null: bool,
    pub(crate) one_file_system: bool,
    pub(crate) only_matching: bool,
    pub(crate) path_separator: Option<u8>,
    pub(crate) pcre2_version: bool,
    pub(crate) pre: Option<PathBuf>,
    pub(crate) pre_globs: Vec<String>,
    pub(crate) quiet: bool,
    pub(crate) replace: Option<Vec<u8>>,
    pub(crate) search_zip: bool,
    pub(crate) sort: Option<Sort>,
    pub(crate) stats: bool,
    pub(crate) stop_on_nonmatch: bool,
    pub(crate) threads: Option<u64>,
    pub(crate) trim: bool,
    pub(crate) types: Vec<TypeChange>,
    pub(crate) unrestricted: usize,
    pub(crate) vimgrep: bool,
    pub(crate) with_filename: Option<bool>,
    /// The error of the first invalid value.
    pub(crate) wrong: Option<String>,
}

/// A source of patterns.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Given(String),
    File(PathBuf),
}

/// Output that replaces the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    Files,
    Types,
    Generated(Generated),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ColorChoice {
    Never,
    #[default]
    Auto,
    Always,
}

/// The order of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sort {
    pub(crate) by: SortBy,
    pub(crate) reverse: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SortBy {
    Path,
    Modified,
    Accessed,
    Created,
}

/// A change of the file types.
#[derive(Debug, Clone)]
pub(crate) enum TypeChange {
    Clear(String),
    Add(String),
    Select(String),
    Negate(String),
}

impl GrepArgs {
    /// Sets the output mode, unless files or types are listed.
    pub(crate) fn show(&mut self, show: Show) {
        self.show = show;
    }

    pub(crate) fn no_ignore(&mut self, yes: bool) {
        self.no_ignore_dot = yes;
        self.no_ignore_exclude = yes;
        self.no_ignore_global = yes;
        self.no_ignore_parent = yes;
        self.no_ignore_vcs = yes;
    }

    /// Returns the lines of context before and after a match.
    pub(crate) fn context(&self) -> (usize, usize) {
        let both = self.both.unwrap_or(0);
        (self.before.unwrap_or(both), self.after.unwrap_or(both))
    }

    /// A flag that limits the context cancels `--passthru`.
    pub(crate) fn limited(&mut self) -> &mut Self {
        if std::mem::take(&mut self.passthru) {
            (self.before, self.after, self.both) = (None, None, None);
        }
        self
    }
}

fn argument(flag: &Flag) -> Arg {
    let mut argument = Arg::new(flag.long).long(flag.long).help(flag.help).action(ArgAction::Append);
    if let Some(short) = flag.short {
        argument = argument.short(short);
    }
    if let Some(alias) = flag.alias {
        argument = argument.alias(alias);
    }
    match flag.set {
        FlagEffect::Switch(_) => argument.num_args(0).default_missing_value(""),
        FlagEffect::Value(name, _) => argument
            .num_args(1)
            .value_name(name)
            .allow_hyphen_values(true)
            .value_parser(builder::OsStringValueParser::new()),
    }
}

impl Args for GrepArgs {
    fn augment_args(command: Command) -> Command {
        FLAGS.iter().fold(command, |command, flag| {
            let command = command.arg(argument(flag));
            match flag.negated {
                Some(negated) => command.arg(
                    Arg::new(negated)
                        .long(negated)
                        .help(format!("Negate --{}", flag.long))
                        .action(ArgAction::Append)
                        .num_args(0)
                        .default_missing_value("")
                        .hide(true),
                ),
                None => command,
            }
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for GrepArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given: Vec<(usize, &Flag, Option<bool>, OsString)> = Vec::new();
        for flag in FLAGS {
            for negated in [false, true] {
                let name = if negated { flag.negated } else { Some(flag.long) };
                let Some(name) =
                    name.filter(|name| matches.value_source(name) == Some(ValueSource::CommandLine))
                else {
                    continue;
                };
                let indices = matches.indices_of(name).into_iter().flatten();
                match flag.set {
                    FlagEffect::Value(..) if !negated => {
                        let values = matches.get_many::<OsString>(name).into_iter().flatten();
                        given.extend(indices.zip(values).map(|(at, value)| (at, flag, None, value.clone())));
                    }
                    _ => given.extend(indices.map(|at| (at, flag, Some(!negated), OsString::new()))),
                }
            }
        }
        given.sort_by_key(|(at, ..)| *at);
        let mut args = Self::default();
        for (_, flag, yes, value) in given {
            let result = match (flag.set, yes) {
                (FlagEffect::Switch(set), yes) => {
                    set(&mut args, yes.unwrap_or(true));
                    Ok(())
                }
                (FlagEffect::Value(_, set), None) => set(&mut args, Some(&value)),
                (FlagEffect::Value(_, set), Some(_)) => set(&mut args, None),
            };
            if let Err(error) = result {
                args.wrong = Some(format!("error parsing flag --{}: {error}", flag.long));
                break;
            }
        }
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// True if a path means standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}
