//! The environment: its character encoding, the result of `setlocale(3)` without calling C, and the vector instructions.

use std::env;
use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;

use fullbore::operation::Encoding;
use fullbore::sys;

use crate::exit::{Exit, program};

/// The directory of glibc's locales.
const HOME: &str = "/usr/lib/locale";

/// The categories of `setlocale(LC_ALL, "")`: if one of them is unavailable, all stay in "C".
const CATEGORIES: &str = "LC_CTYPE LC_NUMERIC LC_TIME LC_COLLATE LC_MONETARY LC_MESSAGES LC_PAPER LC_NAME LC_ADDRESS \
                          LC_TELEPHONE LC_MEASUREMENT LC_IDENTIFICATION";

/// Returns the encoding of this process's environment: bytes, unless the locale's name ends in a form of "UTF-8".
pub(crate) fn encoding() -> Encoding {
    static ENCODING: OnceLock<Encoding> = OnceLock::new();
    *ENCODING.get_or_init(encoding_of_environment)
}

fn encoding_of_environment() -> Encoding {
    // Without glibc, or with locales in another directory, the names are trusted.
    let believed = cfg!(windows)
        || !Path::new(HOME).is_dir()
        || ["LOCPATH", "LOCALE_ARCHIVE"].iter().any(|name| get(name).is_some());
    // Windows sets none of the variables, and its names are Unicode.
    let usual = |name: &str| (cfg!(windows) && name == "LANG").then(|| "C.UTF-8".to_owned());
    encoding_of(&|name| get(name).or_else(|| usual(name)), &|name| {
        believed || installed(name, Path::new(HOME))
    })
}

fn get(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

fn encoding_of(get: &dyn Fn(&str) -> Option<String>, installed: &dyn Fn(&str) -> bool) -> Encoding {
    let locale = |category: &str| {
        get("LC_ALL").or_else(|| get(category)).or_else(|| get("LANG")).unwrap_or_else(|| "C".into())
    };
    let characters = locale("LC_CTYPE");
    if !is_utf8(&characters) {
        return Encoding::Bytes;
    }
    let mut locales: Vec<_> = CATEGORIES.split(' ').map(locale).collect();
    locales.dedup();
    match locales.iter().all(|name| ["C", "POSIX"].contains(&name.as_str()) || installed(name)) {
        true => Encoding::Utf8,
        false => Encoding::Bytes,
    }
}

/// Returns the codeset in a locale's name in glibc's comparison form: `language[_territory][.codeset][@modifier]`.
fn codeset(name: &str) -> Option<String> {
    let (_, codeset) = name.split('@').next()?.split_once('.')?;
    Some(codeset.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect())
}

fn is_utf8(name: &str) -> bool {
    codeset(name).is_some_and(|codeset| codeset == "utf8")
}

/// True if glibc finds a locale: in a directory of its own, or in the archive of all locales.
fn installed(name: &str, home: &Path) -> bool {
    if name.contains('/') {
        return false;
    }
    let modifier = name.find('@').map_or("", |at| &name[at..]);
    let normal = match (name.split_once('.'), codeset(name)) {
        (Some((language, _)), Some(codeset)) => format!("{language}.{codeset}{modifier}"),
        _ => name.to_owned(),
    };
    let archive = home.join("locale-archive");
    [name, &normal].iter().any(|name| home.join(name).join("LC_CTYPE").is_file())
        || in_archive(&archive, &normal).unwrap_or(false)
}

/// True if an archive of glibc contains a locale: its header of 32-bit numbers has the offset of the names, which end
/// with NUL.
fn in_archive(archive: &Path, name: &str) -> std::io::Result<bool> {
    let archive = File::open(archive)?;
    let mut head = [0; 32];
    sys::read_exact_at(&archive, &mut head, 0)?;
    let number =
        |place: usize| u32::from_ne_bytes([head[place], head[place + 1], head[place + 2], head[place + 3]]);
    let (offset, len) = (number(20), number(24).min(1 << 20));
    let mut names = vec![0; len as usize];
    sys::read_exact_at(&archive, &mut names, offset.into())?;
    Ok(names.split(|&byte| byte == 0).any(|other| other == name.as_bytes()))
}

/// Reports the supported vector instructions on standard error, in a form similar to coreutils' (`--debug` of `wc` and `sum`).
pub(crate) fn report_vectors(sets: &[&str]) {
    for set in sets {
        let what = if detected(set) { "support detected" } else { "support not detected" };
        Exit::eprint(&format!("{}: {set} {what}\n", program("")));
    }
}

#[cfg(target_arch = "x86_64")]
fn detected(set: &str) -> bool {
    match set {
        "avx512" => is_x86_feature_detected!("avx512bw"),
        "avx2" => is_x86_feature_detected!("avx2"),
        _ => is_x86_feature_detected!("pclmulqdq"),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detected(_set: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(environment: &[(&str, &str)], installed: &[&str]) -> Encoding {
        let get = |name: &str| {
            environment.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        encoding_of(&get, &|name| installed.contains(&name))
    }

    #[test]
    fn the_environment_is_read_as_setlocale_reads_it() {
        let all = ["C.UTF-8", "C.utf8", "de_DE.UTF-8@euro", "en_US.ISO-8859-1", "en_US"];
        assert_eq!(of(&[], &all), Encoding::Bytes);
        for (environment, encoding) in [
            (&[("LANG", "C.UTF-8")][..], Encoding::Utf8),
            (&[("LANG", "C.UTF-8"), ("LC_CTYPE", "C")], Encoding::Bytes),
            (&[("LANG", "C"), ("LC_CTYPE", "C.utf8")], Encoding::Utf8),
            (&[("LANG", "C"), ("LC_CTYPE", "C"), ("LC_ALL", "de_DE.UTF-8@euro")], Encoding::Utf8),
            (&[("LC_ALL", "POSIX"), ("LANG", "C.UTF-8")], Encoding::Bytes),
            (&[("LC_ALL", "en_US.ISO-8859-1")], Encoding::Bytes),
            (&[("LC_ALL", "en_US")], Encoding::Bytes),
            (&[("LC_ALL", "xx_YY.UTF-8")], Encoding::Bytes),
            // If one category is unavailable, none is set.
            (&[("LANG", "C.UTF-8"), ("LC_TIME", "xx_YY.UTF-8")], Encoding::Bytes),
        ] {
            assert_eq!(of(environment, &all), encoding, "{environment:?}");
        }
    }

    #[test]
    fn locales_are_found_in_directories_and_in_the_archive() {
        let home = tempfile::tempdir().unwrap();
        assert!(!installed("C.UTF-8", home.path()));
        std::fs::create_dir(home.path().join("C.utf8")).unwrap();
        std::fs::write(home.path().join("C.utf8/LC_CTYPE"), "").unwrap();
        assert!(installed("C.UTF-8", home.path()) && installed("C.utf8", home.path()));
        assert!(!installed("en_US.UTF-8", home.path()) && !installed("../C.utf8", home.path()));
        // The name says nothing of the codeset of these.
        std::fs::create_dir(home.path().join("en_IN")).unwrap();
        std::fs::write(home.path().join("en_IN/LC_CTYPE"), "").unwrap();
        assert!(installed("en_IN", home.path()) && !installed("en_XX", home.path()));
        let names = b"de_DE.utf8\0en_US.utf8\0de_DE@euro\0";
        let mut archive: Vec<u8> = [0xde02_0109_u32, 1, 56, 2, 2, 40, names.len() as u32, 99, 0, 0]
            .iter()
            .flat_map(|number| number.to_ne_bytes())
            .collect();
        archive.extend(names);
        std::fs::write(home.path().join("locale-archive"), archive).unwrap();
        assert!(installed("en_US.UTF-8", home.path()) && installed("de_DE.utf-8", home.path()));
        assert!(installed("de_DE@euro", home.path()));
        assert!(!installed("fr_FR.UTF-8", home.path()) && !installed("US.UTF-8", home.path()));
    }
}
