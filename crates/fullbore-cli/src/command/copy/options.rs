//! Converts flags to copy options; of flags that exclude each other, the last one counts.

use std::env;
use std::ffi::OsString;

use clap::ArgMatches;
use clap::parser::ValueSource;
use fullbore::pattern::{
    Backup, Confirm, CopyKind, CopyOptions, Existing, Follow, Preserve, Reflink, Sparse,
};
use fullbore::sys::is_separator;
use fullbore_cli::exit::Exit;

use super::flags::{Attribute, CONTROLS, Flags};
use super::messages;
use fullbore_cli::values::lookup;

/// The positions of flags whose order matters.
#[derive(Debug, Default)]
pub(super) struct FlagOrder {
    follow: Vec<(usize, Follow)>,
    /// `true`: preserve; `false`: do not preserve.
    keep: Vec<(usize, Attribute, bool)>,
    /// True if `-i` follows `-n`.
    asks: bool,
    /// True if `--update=WHICH` follows `-u`.
    update_named: bool,
    /// True if `--update=WHICH` follows `-i`.
    update_after_asking: bool,
}

const PLAIN: &[Attribute] = &[Attribute::Mode, Attribute::Ownership, Attribute::Timestamps];

impl FlagOrder {
    pub(super) fn of(matches: &ArgMatches) -> Self {
        let last = |id: &str| match matches.value_source(id) {
            Some(ValueSource::CommandLine) => matches.indices_of(id).and_then(Iterator::last),
            _ => None,
        };
        let mut order = Self {
            asks: last("interactive") > last("no_clobber"),
            update_named: last("update") > last("update_older"),
            update_after_asking: last("update") > last("interactive"),
            ..Self::default()
        };
        for (id, follow) in [
            ("archive", Follow::None),
            ("as_links", Follow::None),
            ("no_dereference", Follow::None),
            ("dereference", Follow::All),
            ("command_line", Follow::Sources),
        ] {
            order.follow.extend(last(id).map(|at| (at, follow)));
        }
        order.follow.sort_by_key(|(at, _)| *at);
        for (id, kept) in
            [("archive", &[Attribute::All][..]), ("as_links", &[Attribute::Links]), ("keep", PLAIN)]
        {
            let at = last(id).into_iter();
            order.keep.extend(at.flat_map(|at| kept.iter().map(move |kept| (at, *kept, true))));
        }
        for (id, value) in [("preserve", true), ("no_preserve", false)] {
            let places = matches.indices_of(id).into_iter().flatten();
            let words = matches.get_many::<Attribute>(id).into_iter().flatten();
            order.keep.extend(places.zip(words).map(|(at, kept)| (at, *kept, value)));
        }
        order.keep.sort_by_key(|(at, ..)| *at);
        order
    }
}

impl Flags {
    pub(super) fn options(&self, order: &FlagOrder) -> Result<CopyOptions, Exit> {
        self.check_conflicts(order)?;
        let recursive = self.recursive || self.archive;
        let follow = match order.follow.last() {
            Some((_, follow)) => *follow,
            None if recursive && !self.link => Follow::None,
            None => Follow::All,
        };
        let existing = self.existing(order);
        let replaces_all = order.update_after_asking && self.update == Some(Existing::Replace);
        let asks = order.asks && !replaces_all;
        let confirm = asks && !matches!(existing, Existing::Skip | Existing::Refuse);
        Ok(CopyOptions {
            recursive,
            follow,
            preserve: self.preserve(order),
            existing,
            confirm: confirm.then(|| {
                let replaces = self.force || self.remove_destination;
                Confirm::new(move |overwrite| messages::confirm_overwrite(overwrite, replaces))
            }),
            force: self.force,
            remove_destination: self.remove_destination,
            follow_dangling_links: env::var_os("POSIXLY_CORRECT").is_some(),
            backup: self.backup()?,
            kind: match () {
                () if self.link => CopyKind::HardLink,
                () if self.symbolic_link => CopyKind::SymbolicLink,
                () if self.attributes_only => CopyKind::Attributes,
                () => CopyKind::Data,
            },
            special_contents: self.copy_contents,
            one_file_system: self.one_file_system,
            parents: self.parents,
            follow_directory_links: self.keep_directory_symlink,
            reflink: self.reflink,
            sparse: self.sparse,
            verify: self.verify,
            resume: self.resume,
            report_names: (self.verbose || self.debug) && !self.json,
            ..CopyOptions::default()
        })
    }

    fn check_conflicts(&self, order: &FlagOrder) -> Result<(), Exit> {
        let keeps = self.no_clobber && !order.asks;
        let wrong = match () {
            () if self.link && self.symbolic_link => "cannot make both hard and symbolic links",
            () if keeps && (self.back_up || !self.backup.is_empty() || self.suffix.is_some()) => {
                "options --backup and --no-clobber are mutually exclusive"
            }
            () if self.reflink == Reflink::Always && self.sparse != Sparse::Auto => {
                "--reflink can be used only with --sparse=auto"
            }
            () if self.sparse == Sparse::Always && (self.verify || self.resume) => {
                "--sparse=always cannot be combined with --verify or --resume"
            }
            () if self.sparse == Sparse::Always && self.common.sets_method() => {
                "--sparse=always cannot be combined with --strategy or --cache"
            }
            () if self.target_directory.is_some() && self.no_target_directory => {
                return Err(messages::fatal(
                    "cannot combine --target-directory (-t) and --no-target-directory (-T)",
                ));
            }
            () => return Ok(()),
        };
        Err(messages::usage(wrong))
    }

    /// Decides as GNU does: `-n` before everything, unless `-i` follows it; then the last of `-u` and `--update`.
    fn existing(&self, order: &FlagOrder) -> Existing {
        if self.no_clobber && !order.asks {
            return Existing::Skip;
        }
        let usual = if self.update_older { Existing::Update } else { Existing::Replace };
        self.update.filter(|_| order.update_named).unwrap_or(usual)
    }

    fn preserve(&self, order: &FlagOrder) -> Preserve {
        let mut preserve = Preserve::default();
        for &(_, kept, value) in &order.keep {
            for (one, field) in [
                (Attribute::Mode, &mut preserve.mode),
                (Attribute::Ownership, &mut preserve.owner),
                (Attribute::Timestamps, &mut preserve.times),
                (Attribute::Links, &mut preserve.links),
                (Attribute::Attributes, &mut preserve.attributes),
            ] {
                if [one, Attribute::All].contains(&kept) {
                    *field = value;
                }
            }
            if kept == Attribute::Attributes {
                preserve.attributes_required = value;
            }
            preserve.default_mode |= matches!(kept, Attribute::Mode | Attribute::All) && !value;
        }
        preserve.default_mode &= !preserve.mode;
        preserve.times |= self.resume;
        preserve
    }

    fn backup(&self) -> Result<Option<Backup>, Exit> {
        if !self.back_up && self.backup.is_empty() && self.suffix.is_none() {
            return Ok(None);
        }
        let set = |name: &String| !name.is_empty();
        // The flag without a control leaves an earlier one as it is.
        let named = self.backup.iter().rfind(|name| set(name)).cloned();
        let name = named.or_else(|| env::var("VERSION_CONTROL").ok().filter(set));
        let control = lookup(name.as_deref().unwrap_or("existing"), &CONTROLS).map_err(|wrong| {
            let mut said = format!(
                "{wrong} argument '{}' for '$VERSION_CONTROL'\nValid arguments are:",
                name.unwrap_or_default()
            );
            for (names, _) in CONTROLS {
                said += &format!("\n  - '{}'", names.join("', '"));
            }
            messages::usage(&said)
        })?;
        let Some(control) = control else { return Ok(None) };
        let given = self.suffix.clone().or_else(|| env::var_os("SIMPLE_BACKUP_SUFFIX"));
        // A suffix must not name another directory.
        let usable = |suffix: &OsString| {
            !suffix.is_empty() && !suffix.as_encoded_bytes().iter().any(|&byte| is_separator(byte))
        };
        let suffix = given.filter(usable).unwrap_or_else(|| "~".into());
        Ok(Some(Backup { control, suffix }))
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    fn options(words: &str) -> CopyOptions {
        let command = Flags::augment_args(clap::Command::new("cp")).args_override_self(true);
        let words = std::iter::once("cp").chain(words.split_whitespace());
        let matches = command.try_get_matches_from(words).unwrap();
        let flags = Flags::from_arg_matches(&matches).unwrap();
        flags.options(&FlagOrder::of(&matches)).unwrap_or_else(|exit| panic!("{exit:?}"))
    }

    #[test]
    fn of_flags_that_exclude_each_other_the_last_one_counts() {
        for (words, existing, asks) in [
            ("-n", Existing::Skip, false),
            ("-n -f", Existing::Skip, false),
            ("-f -n", Existing::Skip, false),
            ("-rnf", Existing::Skip, false),
            ("-n -u", Existing::Skip, false),
            ("-u -n", Existing::Skip, false),
            ("-i -n", Existing::Skip, false),
            ("-n -i", Existing::Replace, true),
            ("-f -i", Existing::Replace, true),
            ("-i -f", Existing::Replace, true),
            ("-i -u", Existing::Update, true),
            ("-u -n -i", Existing::Update, true),
            ("-f", Existing::Replace, false),
            ("--update", Existing::Update, false),
            ("--update=none", Existing::Skip, false),
            ("--update=none-fail", Existing::Refuse, false),
            ("--update=all", Existing::Replace, false),
        ] {
            let options = options(words);
            assert_eq!((options.existing, options.confirm.is_some()), (existing, asks), "{words}");
        }
    }

    #[test]
    fn attributes_are_required_until_they_are_left_out() {
        for (words, required) in [
            ("-a", false),
            ("--preserve=xattr", true),
            ("--preserve=xattr --no-preserve=all", true),
            ("--preserve=xattr --no-preserve=xattr -a", false),
            ("--no-preserve=xattr --preserve=xattr", true),
        ] {
            assert_eq!(options(words).preserve.attributes_required, required, "{words}");
        }
    }

    #[test]
    fn the_last_flag_about_links_counts() {
        for (words, follow) in [
            ("", Follow::All),
            ("-r", Follow::None),
            ("-rl", Follow::All),
            ("-a", Follow::None),
            ("-aL", Follow::All),
            ("-La", Follow::None),
            ("-dH", Follow::Sources),
            ("-Hd", Follow::None),
            ("-L -P -H -L", Follow::All),
            ("-L -P -L -P", Follow::None),
        ] {
            assert_eq!(options(words).follow, follow, "{words}");
        }
    }

    #[test]
    fn later_preserve_flags_override() {
        let kept = |words| {
            let preserve = options(words).preserve;
            (preserve.mode, preserve.owner, preserve.links, preserve.default_mode)
        };
        assert_eq!(kept("-a --no-preserve=mode"), (false, true, true, true));
        assert_eq!(kept("--no-preserve=mode -a"), (true, true, true, false));
        assert_eq!(kept("-p --no-preserve=ownership,mode"), (false, false, false, true));
        assert_eq!(kept("--preserve --no-preserve=all"), (false, false, false, true));
        assert_eq!(kept("--preserve=mode,links"), (true, false, true, false));
        assert_eq!(kept("-d --no-preserve=links"), (false, false, false, false));
        assert_eq!(kept("--preserve=mode --preserve=links"), (true, false, true, false));
    }
}
