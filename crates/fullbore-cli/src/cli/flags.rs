//! GNU flag rules: a flag may be repeated, and long flags may be abbreviated.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};

use crate::exit::called;

/// Flags that the replaced GNU tool does not have. Flags with a help heading are such flags too.
const OURS: &[&str] = &["json", "verify", "resume", "sync", "base64", "derive_key"];

/// The GNU tools that commands replace. Abbreviations are resolved among the flags of these tools.
const GNU: &[&str] = &["wc", "cmp", "copy", "sum"];

/// Applies the settings of the command line of one tool, `name`, parsed alone.
pub(super) fn of_a_tool(command: Command, name: &OsStr) -> Command {
    settings(command, name.to_str().unwrap_or_default())
}

/// Applies the settings of the whole command line.
pub(super) fn of_all(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let command = settings(command, &name).mut_subcommands(of_all);
    if GNU.contains(&name.as_str()) { with_abbreviations(command) } else { command }
}

fn settings(command: Command, name: &str) -> Command {
    let command = if flags_come_first(name) {
        command.mut_args(|arg| if arg.is_positional() { arg.trailing_var_arg(true) } else { arg })
    } else {
        command
    };
    // For `getopt`, the word after a flag with a required value is that value.
    let takes_any =
        |arg: &Arg| arg.get_action().takes_values() && !arg.is_positional() && !arg.is_require_equals_set();
    let command = if is_gnu(name) {
        command.mut_args(|arg| if takes_any(&arg) { arg.allow_hyphen_values(true) } else { arg })
    } else {
        command
    };
    command
        .version(env!("CARGO_PKG_VERSION"))
        .args_override_self(true)
        // ripgrep takes no abbreviations; a setting of the top-level command would apply to it too.
        .infer_long_args(!["grep", "fullbore"].contains(&name))
}

/// Returns the index from which all words are operands. None of them begins with a dash or is empty. After the last such word,
/// one word may be its value; the next one is left to clap, since some flags conflict with operands.
pub(super) fn operands_from(words: &[OsString]) -> usize {
    let is_special = |word: &OsString| word.is_empty() || word.as_encoded_bytes().starts_with(b"-");
    let last = words.iter().rposition(is_special).unwrap_or(0);
    words.len().min(last + 3)
}

fn is_gnu(name: &str) -> bool {
    GNU.contains(&if name == "cp" { "copy" } else { name })
}

/// True if the first operand ends the flags, as for `getopt` if `POSIXLY_CORRECT` is set. `rg` and `b3sum` do not use it.
fn flags_come_first(name: &str) -> bool {
    is_gnu(name) && called() != Some("b3sum") && std::env::var_os("POSIXLY_CORRECT").is_some()
}

fn is_ours(arg: &Arg) -> bool {
    arg.get_help_heading().is_some_and(|heading| heading != "With --check")
        || OURS.contains(&arg.get_id().as_str())
}

fn names(arg: &Arg) -> Vec<String> {
    let aliases = arg.get_all_aliases().unwrap_or_default();
    arg.get_long().into_iter().chain(aliases).map(str::to_owned).collect()
}

/// Returns the long flags of the arguments, without abbreviations, that begin with a text.
pub(super) fn completions<'a>(args: impl Iterator<Item = &'a Arg>, beginning: &str) -> Vec<String> {
    let whole = |arg: &Arg| {
        let names = names(arg);
        let is_beginning = |name: &String| names.iter().any(|other| other != name && other.starts_with(name));
        names.iter().filter(|name| !is_beginning(name)).map(|name| format!("--{name}")).collect::<Vec<_>>()
    };
    args.flat_map(whole).filter(|name| name.starts_with(beginning)).collect()
}

/// Returns the long flags of the GNU tool that begin with a text, in alphabetical order, from a command that has parsed
/// a command line: only then does it have the flags for help and version.
pub(super) fn possibilities(command: &Command, beginning: &str) -> Vec<String> {
    let mut found = completions(command.get_arguments().filter(|arg| !is_ours(arg)), beginning);
    found.sort();
    found
}

/// Makes abbreviations that are unambiguous among the GNU tool's flags exact names, so that additional flags do not
/// make them ambiguous.
fn with_abbreviations(command: Command) -> Command {
    let (ours, theirs): (Vec<&Arg>, Vec<&Arg>) = command.get_arguments().partition(|arg| is_ours(arg));
    let ours: Vec<String> = ours.into_iter().flat_map(names).collect();
    let mut theirs: Vec<Vec<String>> =
        theirs.into_iter().map(names).filter(|names| !names.is_empty()).collect();
    theirs.extend(["help", "version"].map(|name| vec![name.to_owned()]));
    let mut short: Vec<(String, &'static str)> = Vec::new();
    for (place, own) in theirs.iter().enumerate() {
        let others = theirs.iter().enumerate().filter(|(other, _)| *other != place);
        for (name, end) in own.iter().flat_map(|name| (1..name.len()).map(move |end| (name, end))) {
            let begins = |names: &[String]| names.iter().any(|other| other.starts_with(&name[..end]));
            if begins(&ours) && !others.clone().any(|(_, names)| begins(names)) {
                // clap stores static names; there are few of them, built at most once.
                short.push((own[0].clone(), name[..end].to_owned().leak()));
            }
        }
    }
    short.into_iter().fold(command, |command, (name, short)| {
        command.mut_args(|arg| match arg.get_long() {
            Some(long) if long == name => arg.alias(short),
            _ => arg,
        })
    })
}

#[cfg(test)]
mod tests {
    use clap::ArgAction;
    use clap::error::ErrorKind;

    use super::super::Cli;
    use super::*;

    /// Sample values; every flag accepts at least one.
    const VALUES: &str = "1 iops=1 1M 2% 64 slower:5% buffered md5 fio machine 1:1 path auto a";

    fn parse(words: &[String]) -> Result<clap::ArgMatches, ErrorKind> {
        Cli::flags().try_get_matches_from(words).map_err(|error| error.kind())
    }

    /// Collects every command with the words that call it.
    fn commands(command: &Command, words: &[String], found: &mut Vec<(Command, Vec<String>)>) {
        let words = [words, &[command.get_name().to_owned()]].concat();
        found.push((command.clone(), words.clone()));
        for inner in command.get_subcommands() {
            commands(inner, &words, found);
        }
    }

    fn all() -> Vec<(Command, Vec<String>)> {
        let mut found = Vec::new();
        commands(&Cli::flags(), &[], &mut found);
        found
    }

    /// Returns a flag with a value that it accepts, if it takes one.
    fn spelt(flag: &str, arg: &Arg, words: &[String]) -> String {
        if !arg.get_action().takes_values() || arg.get_num_args().is_some_and(|range| !range.takes_values()) {
            return flag.to_owned();
        }
        let named = arg.get_possible_values().into_iter().map(|value| value.get_name().to_owned());
        let values = named.chain(VALUES.split(' ').map(str::to_owned));
        let join = if flag.starts_with("--") { "=" } else { "" };
        let mut candidates = values.map(|value| format!("{flag}{join}{value}"));
        let taken = candidates.find(|word| {
            let parsed = parse(&[words, std::slice::from_ref(word)].concat());
            !matches!(parsed, Err(ErrorKind::InvalidValue | ErrorKind::ValueValidation))
        });
        taken.unwrap_or_else(|| panic!("{words:?} {flag}: no sample value fits"))
    }

    #[test]
    fn every_flag_of_every_command_may_be_given_twice() {
        let mut tried = 0;
        for (command, words) in all() {
            for arg in command.get_arguments().filter(|arg| !arg.is_positional()) {
                let action = arg.get_action();
                if matches!(
                    action,
                    ArgAction::Help | ArgAction::HelpLong | ArgAction::HelpShort | ArgAction::Version
                ) {
                    continue;
                }
                let long = arg.get_long_and_visible_aliases().into_iter().flatten();
                let short = arg.get_short_and_visible_aliases().into_iter().flatten();
                let long = long.map(|name| format!("--{name}"));
                for flag in long.chain(short.map(|name| format!("-{name}"))) {
                    let word = spelt(&flag, arg, &words);
                    let once = [&words[..], std::slice::from_ref(&word)].concat();
                    let twice = [&once[..], std::slice::from_ref(&word)].concat();
                    let [once, twice] = [once, twice].map(|words| parse(&words).map(drop));
                    assert_eq!(twice, once, "{words:?} {word} {word}");
                    assert_ne!(twice, Err(ErrorKind::UnknownArgument), "{words:?} {word}");
                    tried += 1;
                }
            }
        }
        assert!(tried > 300, "{tried}");
    }

    #[test]
    fn every_value_with_a_name_may_be_abbreviated() {
        let mut tried = 0;
        for (command, words) in all() {
            // ripgrep's values have no abbreviations; clap does not parse them.
            for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values()) {
                let values = arg.get_possible_values();
                let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
                for name in &names {
                    for end in 1..name.len() {
                        let short = &name[..end];
                        let flag = arg.get_long().map_or_else(String::new, |long| format!("--{long}="));
                        let parsed = parse(&[&words[..], &[format!("{flag}{short}")]].concat()).map(drop);
                        let fits = names.iter().filter(|name| name.starts_with(short)).count();
                        let invalid = fits > 1 && !names.contains(&short);
                        let is_invalid = parsed == Err(ErrorKind::InvalidValue);
                        assert_eq!(is_invalid, invalid, "{words:?} {flag}{short}");
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 60, "{tried}");
    }

    #[test]
    fn abbreviations_are_those_of_the_peers() {
        let id = |tool: &str, flag: &str| {
            let words = ["fullbore", tool, flag].map(str::to_owned);
            let matches = parse(&words)?;
            let (_, matches) = matches.subcommand().unwrap();
            let given = matches.ids().filter(|id| {
                matches.value_source(id.as_str()) == Some(clap::parser::ValueSource::CommandLine)
            });
            Ok(given.map(|id| id.as_str().to_owned()).next().unwrap_or_default())
        };
        for (tool, flag, wanted) in [
            ("wc", "--m", "max_line_length"),
            ("wc", "--c", "chars"),
            ("wc", "--w", "words"),
            ("wc", "--li", "lines"),
            ("wc", "--t=al", "total"),
            ("cmp", "--by=3", "limit"),
            ("cmp", "--s", "quiet"),
            ("cmp", "--verb", "verbose"),
            ("copy", "--rec", "recursive"),
            ("copy", "--refl", "reflink"),
            ("copy", "--verb", "verbose"),
            ("sum", "--c", "check"),
            ("sum", "--tex", "text"),
        ] {
            assert_eq!(id(tool, flag).as_deref(), Ok(wanted), "{tool} {flag}");
        }
        for (tool, flag) in [("copy", "--no"), ("copy", "--ver"), ("sum", "--t"), ("grep", "--ignore-c")] {
            assert_eq!(id(tool, flag), Err(ErrorKind::UnknownArgument), "{tool} {flag}");
        }
    }

    #[test]
    fn every_command_has_help_and_a_version() {
        for (_, words) in all() {
            for (flag, wanted) in [
                ("--help", ErrorKind::DisplayHelp),
                ("-h", ErrorKind::DisplayHelp),
                ("--version", ErrorKind::DisplayVersion),
                ("-V", ErrorKind::DisplayVersion),
            ] {
                let parsed = parse(&[&words[..], &[flag.to_owned()]].concat()).map(drop);
                assert_eq!(parsed, Err(wanted), "{words:?} {flag}");
            }
        }
        Cli::flags().debug_assert();
    }
}
