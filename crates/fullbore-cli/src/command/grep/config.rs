//! The configuration file: flags that precede those of the command line, one per line.

use std::ffi::{OsStr, OsString};
use std::{env, fs};

use crate::exit::{Exit, program};
use fullbore::sys::OsStrExt;

/// The variable that names the file. When called as `rg`, the program also obeys ripgrep's variable.
const VARIABLE: &str = "FULLBORE_GREP_CONFIG_PATH";
const VARIABLE_OF_RG: &str = "RIPGREP_CONFIG_PATH";

/// Inserts the words of the configuration file after the command, the first word of the command line.
pub(crate) fn with_config(words: Vec<OsString>) -> Vec<OsString> {
    let mut flags = words.iter().skip(1).take_while(|word| *word != "--");
    if flags.any(|word| word == "--no-config") {
        return words;
    }
    let as_rg = program("") == "rg";
    let variable = if as_rg && env::var_os(VARIABLE).is_none() { VARIABLE_OF_RG } else { VARIABLE };
    let Some(path) = env::var_os(variable).filter(|path| !path.is_empty()) else { return words };
    match fs::read(&path) {
        Ok(text) => {
            let mut words = words.into_iter();
            let first = words.next();
            first.into_iter().chain(lines(&text)).chain(words).collect()
        }
        Err(error) => {
            let path = path.to_string_lossy();
            let text = format!("failed to read the file specified in {variable}: {path}: {error}");
            Exit::eprint(&format!("{}: {text}\n", program("")));
            words
        }
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = OsString> {
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .map(|line| OsStr::from_bytes(line).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_word() {
        let text = b"# colours\n--colors=match:fg:red\n\n  -g\r\n!*.min js\n  # not this\n--\xff";
        let words: Vec<OsString> = lines(text).collect();
        let expected: [&[u8]; 4] = [b"--colors=match:fg:red", b"-g", b"!*.min js", b"--\xff"];
        assert_eq!(words, expected.map(|word| OsStr::from_bytes(word).to_owned()));
    }
}
