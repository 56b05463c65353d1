//! The flags of `cp`, and additional ones.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use fullbore::file::Durability;
use fullbore::pattern::{BackupControl, Existing, Reflink, Sparse};
use fullbore_cli::common_args::CommonArgs;
use fullbore_cli::values::{NamedValue, choices, durability, names_or_empty, path, words};

/// Copy files and directories
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 everything is copied, 1 something is not, or usage error, 3 an \
                  input changed while it was read.")]
pub(super) struct Flags {
    /// Sources, then the target: a directory if there are several sources
    #[arg(value_name = "PATH", num_args = 0.., value_parser = path(), value_hint = ValueHint::AnyPath)]
    pub(super) paths: Vec<PathBuf>,

    /// Copy directories recursively
    #[arg(short = 'r', long, short_alias = 'R')]
    pub(super) recursive: bool,

    /// Same as -dR --preserve=all
    #[arg(short = 'a', long)]
    pub(super) archive: bool,

    /// Keep symbolic links and hard links: -P --preserve=links
    #[arg(short = 'd')]
    pub(super) as_links: bool,

    /// Follow all symbolic links
    #[arg(short = 'L', long)]
    pub(super) dereference: bool,

    /// Follow no symbolic links
    #[arg(short = 'P', long)]
    pub(super) no_dereference: bool,

    /// Follow symbolic links named as sources
    #[arg(short = 'H')]
    pub(super) command_line: bool,

    /// Preserve mode, ownership and timestamps
    #[arg(short = 'p')]
    pub(super) keep: bool,

    /// Attributes to preserve: mode, ownership, timestamps, links, xattr, all [default: mode,ownership,timestamps]
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = "mode,ownership,timestamps", value_parser = words(&ATTRIBUTES))]
    pub(super) preserve: Vec<Attribute>,

    /// Attributes not to preserve
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = words(&ATTRIBUTES))]
    pub(super) no_preserve: Vec<Attribute>,

    /// Existing targets to replace: all, none, none-fail (none; an existing target is an error), older (those older
    /// than their source) [default without a value: older]
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "older",
          value_parser = choices(&UPDATES))]
    pub(super) update: Option<Existing>,

    /// Same as --update=older
    #[arg(short = 'u')]
    pub(super) update_older: bool,

    /// Do not replace existing targets
    #[arg(short = 'n', long)]
    pub(super) no_clobber: bool,

    /// Prompt before overwriting a target
    #[arg(short = 'i', long)]
    pub(super) interactive: bool,

    /// Replace targets that cannot be opened for writing
    #[arg(short = 'f', long)]
    pub(super) force: bool,

    /// Replace every existing target with a new file
    #[arg(long)]
    pub(super) remove_destination: bool,

    /// Back up existing targets: none, simple (name~), numbered (name.~1~), existing (numbered if such a backup exists)
    /// [default: $VERSION_CONTROL, existing]
    #[arg(long, value_name = "CONTROL", num_args = 0..=1, require_equals = true, default_missing_value = "",
          value_parser = names_or_empty(&CONTROLS), action = clap::ArgAction::Append)]
    pub(super) backup: Vec<String>,

    /// Same as --backup without a value
    #[arg(short = 'b')]
    pub(super) back_up: bool,

    /// Suffix of simple backups [default: $SIMPLE_BACKUP_SUFFIX, ~]
    #[arg(short = 'S', long, value_name = "SUFFIX", allow_hyphen_values = true)]
    pub(super) suffix: Option<OsString>,

    /// Create hard links instead of copies
    #[arg(short = 'l', long)]
    pub(super) link: bool,

    /// Create symbolic links instead of copies
    #[arg(short = 's', long)]
    pub(super) symbolic_link: bool,

    /// Copy attributes only, not the content
    #[arg(long)]
    pub(super) attributes_only: bool,

    /// Copy the content of pipes and devices in directories
    #[arg(long)]
    pub(super) copy_contents: bool,

    /// Stay on the file system of each source
    #[arg(short = 'x', long)]
    pub(super) one_file_system: bool,

    /// Recreate the source's directories in the target directory
    #[arg(long, alias = "path")]
    pub(super) parents: bool,

    /// Follow existing symbolic links to directories in the target
    #[arg(long)]
    pub(super) keep_directory_symlink: bool,

    /// Remove trailing slashes from sources
    #[arg(long)]
    pub(super) strip_trailing_slashes: bool,

    /// Directory to copy into
    #[arg(short = 't', long, value_name = "DIR", allow_hyphen_values = true, value_parser = path(), value_hint = ValueHint::DirPath)]
    pub(super) target_directory: Option<PathBuf>,

    /// Treat the target as a file name, even if it is a directory
    #[arg(short = 'T', long)]
    pub(super) no_target_directory: bool,

    /// Print each source and target
    #[arg(short = 'v', long)]
    pub(super) verbose: bool,

    /// Same as --verbose, with the copy method of each file
    #[arg(long)]
    pub(super) debug: bool,

    /// Share blocks (reflink) instead of copying them
    #[arg(long, value_parser = choices(&REFLINKS), value_name = "WHEN", num_args = 0..=1, require_equals = true,
          default_value = "auto", default_missing_value = "always")]
    pub(super) reflink: Reflink,

    /// Create holes in the copies. With always, one worker copies each file with plain calls; always cannot be combined
    /// with --strategy, --cache, --verify or --resume
    #[arg(long, value_parser = choices(&HOLES), value_name = "WHEN", require_equals = false, default_value = "auto")]
    pub(super) sparse: Sparse,

    /// Read the copies back from the device and compare
    #[arg(long)]
    pub(super) verify: bool,

    /// Resume an interrupted run that had this flag. Preserves timestamps to recognise complete files
    #[arg(long)]
    pub(super) resume: bool,

    /// Durability of the copies when the command ends: none (the system writes them back later), data, full (their
    /// names too)
    #[arg(long, value_name = "LEVEL", default_value = "none", value_parser = durability())]
    pub(super) sync: Durability,

    /// Print a summary of the run as JSON
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// An attribute that a copy can preserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attribute {
    Mode,
    Ownership,
    Timestamps,
    Links,
    Attributes,
    All,
}

const ATTRIBUTES: [(&str, Attribute); 6] = [
    ("mode", Attribute::Mode),
    ("ownership", Attribute::Ownership),
    ("timestamps", Attribute::Timestamps),
    ("links", Attribute::Links),
    ("xattr", Attribute::Attributes),
    ("all", Attribute::All),
];

/// GNU's backup controls.
pub(super) const CONTROLS: [NamedValue<Option<BackupControl>>; 4] = [
    (&["none", "off"], None),
    (&["simple", "never"], Some(BackupControl::Simple)),
    (&["existing", "nil"], Some(BackupControl::Existing)),
    (&["numbered", "t"], Some(BackupControl::Numbered)),
];

const UPDATES: [(&str, &str, Existing); 4] = [
    ("all", "All", Existing::Replace),
    ("none", "None", Existing::Skip),
    ("none-fail", "None; an existing target is an error", Existing::Refuse),
    ("older", "Those older than their source", Existing::Update),
];

const REFLINKS: [(&str, &str, Reflink); 3] = [
    ("auto", "Share blocks if the file system can, otherwise copy", Reflink::Auto),
    ("always", "Share blocks or fail", Reflink::Always),
    ("never", "Never share blocks", Reflink::Never),
];

const HOLES: [(&str, &str, Sparse); 3] = [
    ("auto", "Copy the holes of sparse sources", Sparse::Auto),
    ("always", "Turn all blocks of zeros into holes", Sparse::Always),
    ("never", "Create no holes", Sparse::Never),
];
