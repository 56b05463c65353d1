//! The flags of `cp`, and those that it does not have.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use fullbore_cli::common_args::CommonArgs;
use fullbore_cli::values::{names, words};

/// Copy files and trees
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 all is copied, 1 something is not, or wrong usage, 3 an input changed while it was read."
)]
pub(super) struct Flags {
    /// The sources, then the target: a directory if there are several
    #[arg(value_name = "PATH", num_args = 0.., value_parser = path(), value_hint = ValueHint::AnyPath)]
    pub(super) paths: Vec<PathBuf>,

    /// Copy directories with what is in them
    #[arg(short = 'r', long, short_alias = 'R')]
    pub(super) recursive: bool,

    /// As -dR --preserve=all
    #[arg(short = 'a', long)]
    pub(super) archive: bool,

    /// Keep links as links, and files with several names as one: -P --preserve=links
    #[arg(short = 'd')]
    pub(super) as_links: bool,

    /// Follow all symbolic links
    #[arg(short = 'L', long)]
    pub(super) dereference: bool,

    /// Follow no symbolic link
    #[arg(short = 'P', long)]
    pub(super) no_dereference: bool,

    /// Follow the symbolic links that are sources themselves
    #[arg(short = 'H')]
    pub(super) command_line: bool,

    /// Keep mode, ownership and timestamps
    #[arg(short = 'p')]
    pub(super) keep: bool,

    /// Attributes to keep: mode, ownership, timestamps, links, xattr, all [default: mode,ownership,timestamps]
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = "mode,ownership,timestamps", value_parser = kept())]
    pub(super) preserve: Vec<Attribute>,

    /// Attributes not to keep
    #[arg(long, value_name = "LIST", require_equals = true, value_delimiter = ',', value_parser = kept())]
    pub(super) no_preserve: Vec<Attribute>,

    /// Replace existing targets: all, none, none-fail (and fail), older (than the source) [default without a value: older]
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "older",
          value_parser = names::<Update>())]
    pub(super) update: Option<Update>,

    /// As --update=older
    #[arg(short = 'u')]
    pub(super) update_older: bool,

    /// Leave existing targets as they are
    #[arg(short = 'n', long)]
    pub(super) no_clobber: bool,

    /// Ask before a target is overwritten
    #[arg(short = 'i', long)]
    pub(super) interactive: bool,

    /// Replace targets that may not be written too
    #[arg(short = 'f', long)]
    pub(super) force: bool,

    /// Replace existing targets by new files, whatever they are
    #[arg(long)]
    pub(super) remove_destination: bool,

    /// Keep existing targets under another name: none, simple (name~), numbered (name.~1~), existing (numbered if such a
    /// backup exists) [default: $VERSION_CONTROL, existing]
    #[arg(long, value_name = "CONTROL", num_args = 0..=1, require_equals = true, default_missing_value = "",
          value_parser = backups())]
    pub(super) backup: Option<String>,

    /// As --backup without a value
    #[arg(short = 'b')]
    pub(super) back_up: bool,

    /// The suffix of simple backups [default: $SIMPLE_BACKUP_SUFFIX, ~]
    #[arg(short = 'S', long, value_name = "SUFFIX", allow_hyphen_values = true)]
    pub(super) suffix: Option<OsString>,

    /// Make hard links instead of copies
    #[arg(short = 'l', long)]
    pub(super) link: bool,

    /// Make symbolic links instead of copies
    #[arg(short = 's', long)]
    pub(super) symbolic_link: bool,

    /// Copy attributes, not bytes
    #[arg(long)]
    pub(super) attributes_only: bool,

    /// In trees, copy the bytes of pipes and devices
    #[arg(long)]
    pub(super) copy_contents: bool,

    /// Do not copy what is in directories on other file systems
    #[arg(short = 'x', long)]
    pub(super) one_file_system: bool,

    /// Make the directories of the source's path in the target directory
    #[arg(long)]
    pub(super) parents: bool,

    /// Follow symbolic links to directories where directories are copied to
    #[arg(long)]
    pub(super) keep_directory_symlink: bool,

    /// Remove slashes at the end of sources
    #[arg(long)]
    pub(super) strip_trailing_slashes: bool,

    /// The directory to copy into
    #[arg(short = 't', long, value_name = "DIR", allow_hyphen_values = true, value_parser = path(), value_hint = ValueHint::DirPath)]
    pub(super) target_directory: Option<PathBuf>,

    /// Take the target as a name, also if it is a directory
    #[arg(short = 'T', long)]
    pub(super) no_target_directory: bool,

    /// Print each source and target
    #[arg(short = 'v', long)]
    pub(super) verbose: bool,

    /// As --verbose, with how each file was copied
    #[arg(long)]
    pub(super) debug: bool,

    /// Share blocks instead of copying them
    #[arg(long, value_parser = names::<Sharing>(), value_name = "WHEN", num_args = 0..=1, require_equals = true,
          default_value = "auto", default_missing_value = "always")]
    pub(super) reflink: Sharing,

    /// Make holes
    #[arg(long, value_parser = names::<Holes>(), value_name = "WHEN", require_equals = false, default_value = "auto")]
    pub(super) sparse: Holes,

    /// Read what was written back from the device and compare
    #[arg(long)]
    pub(super) verify: bool,

    /// Go on where a run with this flag was stopped. Keeps timestamps, to know what is whole
    #[arg(long)]
    pub(super) resume: bool,

    /// How durable the copies are when the command ends: none (the system writes them back in its time), data, full (their
    /// names too)
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = words(&["none", "data", "full"]))]
    pub(super) sync: String,

    /// Print an account of the run as JSON
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// A path, which may be empty: that it names nothing is found out where the others are looked at.
fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// What can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attribute {
    Mode,
    Ownership,
    Timestamps,
    Links,
    Attributes,
    All,
}

fn kept() -> impl TypedValueParser<Value = Attribute> {
    words(&["mode", "ownership", "timestamps", "links", "xattr", "all"]).map(|word| match word.as_str() {
        "mode" => Attribute::Mode,
        "ownership" => Attribute::Ownership,
        "timestamps" => Attribute::Timestamps,
        "links" => Attribute::Links,
        "xattr" => Attribute::Attributes,
        _ => Attribute::All,
    })
}

/// The names of GNU's backup controls.
pub(super) const CONTROLS: [&str; 8] = ["none", "off", "simple", "never", "existing", "nil", "numbered", "t"];

fn backups() -> impl TypedValueParser<Value = String> {
    words(&["", "none", "off", "simple", "never", "existing", "nil", "numbered", "t"])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Update {
    /// Every target
    All,
    /// None
    None,
    /// None, and fail
    NoneFail,
    /// Targets older than their source
    Older,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Sharing {
    /// Where the file system can
    Auto,
    /// Or fail
    Always,
    /// Not at all
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Holes {
    /// Where the source has them
    Auto,
    /// Where the source has blocks of zeros
    Always,
    /// Nowhere
    Never,
}
