//! Options of fio: those of the I/O engines that are the equivalents of fullbore's access methods.

use std::fmt;

pub(super) type Setting = (&'static str, String);

/// The reason why fio cannot run a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported(pub(crate) String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// An access method and the I/O engine of fio that makes the same calls.
#[derive(Debug)]
pub(super) struct Counterpart {
    pub(super) method: &'static str,
    pub(super) ioengine: &'static str,
    /// True for direct I/O, false for the page cache, `None` if the strategy decides.
    pub(super) direct: Option<bool>,
    /// True if it keeps more than one request in flight.
    pub(super) deep: bool,
    /// Options with which the I/O engine does the same.
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// Remaining difference.
    pub(super) remark: Option<&'static str>,
}

const PLAIN: Counterpart =
    Counterpart { method: "", ioengine: "", direct: None, deep: false, settings: &[], remark: None };

/// The access methods with a counterpart.
pub(super) const COUNTERPARTS: &[Counterpart] = &[
    Counterpart { method: "buffered", ioengine: "psync", direct: Some(false), ..PLAIN },
    Counterpart { method: "direct", ioengine: "psync", direct: Some(true), ..PLAIN },
    Counterpart {
        method: "uring",
        ioengine: "io_uring",
        deep: true,
        settings: &[("fixedbufs", "1"), ("registerfiles", "1"), ("nonvectored", "1")],
        ..PLAIN
    },
    Counterpart { method: "aio", ioengine: "libaio", direct: Some(true), deep: true, ..PLAIN },
    Counterpart { method: "posixaio", ioengine: "posixaio", deep: true, ..PLAIN },
    Counterpart {
        method: "mmap",
        ioengine: "mmap",
        direct: Some(false),
        remark: Some(
            "fio copies every byte between the mapping and a buffer; fullbore touches every cache line in place",
        ),
        ..PLAIN
    },
    Counterpart { method: "null", ioengine: "null", direct: Some(false), ..PLAIN },
    Counterpart { method: "through", ioengine: "psync", settings: &[DURABLE], ..PLAIN },
    #[cfg(windows)]
    Counterpart { method: "port", ioengine: "windowsaio", deep: true, ..PLAIN },
];

/// The option with which a write returns when it is durable.
const DURABLE: (&str, &str) = ("sync", "dsync");

/// The access methods without a counterpart, with the reason.
const NONE: &[(&str, &str)] = &[
    ("uncached", "fio has no RWF_DONTCACHE: its option uncached sets a flag that has another meaning today"),
    ("stdio", "fio has no I/O engine on the C library's FILE*"),
    (
        "vectored",
        "fio's vsync seeks before each call and merges requests by its own rule; fullbore calls preadv",
    ),
    ("splice", "fio's splice maps pages out of a pipe; fullbore moves them from file to file"),
    ("copy_file_range", "fio does not copy files"),
    #[cfg(windows)]
    ("event", "fio's windowsaio uses a completion port, not one event per request"),
    #[cfg(windows)]
    ("routine", "fio's windowsaio uses a completion port, not completion routines"),
    #[cfg(windows)]
    ("ioring", "fio has no I/O engine on the I/O ring of Windows"),
    #[cfg(windows)]
    ("scatter", "fio has no I/O engine on ReadFileScatter"),
];

/// The counterpart of an access method.
pub(super) fn of_method(name: &str) -> Result<&'static Counterpart, Unsupported> {
    COUNTERPARTS.iter().find(|one| one.method == name).ok_or_else(|| {
        let why = NONE.iter().find(|(method, _)| *method == name).map(|(_, why)| *why);
        Unsupported(why.map_or_else(|| format!("fio has no counterpart of method {name}"), str::to_owned))
    })
}

/// The counterpart of an I/O engine of fio whose writes may be direct or durable, and any remaining difference.
pub(super) fn of_ioengine(
    name: &str,
    direct: bool,
    durable: bool,
) -> Result<(&'static Counterpart, Option<&'static str>), String> {
    // Engines whose calls are equivalent to those of `psync`.
    const ALIKE: &[(&str, &str)] = &[
        ("sync", "ioengine=sync seeks before each call; measured without seeks, as psync"),
        ("pvsync", "ioengine=pvsync passes one buffer per call; measured as psync"),
        ("pvsync2", "ioengine=pvsync2 passes one buffer per call; measured as psync"),
    ];
    let alike = ALIKE.iter().find(|(other, _)| *other == name);
    let ioengine = alike.map_or(name, |_| "psync");
    let mut named = COUNTERPARTS.iter().filter(|one| one.ioengine == ioengine).peekable();
    if named.peek().is_none() {
        let mut known: Vec<&str> = COUNTERPARTS.iter().map(|one| one.ioengine).collect();
        known.dedup();
        known.extend(ALIKE.iter().map(|(other, _)| *other));
        return Err(format!("this I/O engine has no counterpart here; those with one: {}", known.join(", ")));
    }
    let alike_in = |one: &&Counterpart| {
        one.direct.is_none_or(|always| always == direct) && one.settings.contains(&DURABLE) == durable
    };
    match named.find(alike_in) {
        _ if durable && ioengine != "psync" => {
            Err("writes that return when they are durable (sync=dsync) are measured with ioengine=psync"
                .into())
        }
        Some(found) => Ok((found, alike.map(|(_, remark)| *remark))),
        None if direct => Err("it cannot bypass the page cache: leave out direct=1".into()),
        None => {
            Err("through the page cache it is synchronous at any iodepth: use direct=1, or ioengine=psync"
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbore::engine::METHODS;

    #[test]
    fn every_method_has_a_counterpart_or_a_reason() {
        for method in METHODS {
            let has = COUNTERPARTS.iter().any(|one| one.method == method.name);
            let reason = NONE.iter().any(|(name, _)| *name == method.name);
            assert!(has != reason, "{}", method.name);
        }
        for name in COUNTERPARTS.iter().map(|one| one.method).chain(NONE.iter().map(|(name, _)| *name)) {
            assert!(fullbore::engine::method(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_counterpart_is_found_both_ways() {
        for one in COUNTERPARTS {
            let (direct, durable) = (one.direct.unwrap_or(true), one.settings.contains(&DURABLE));
            assert_eq!(of_ioengine(one.ioengine, direct, durable).unwrap().0.method, one.method);
            assert_eq!(of_method(one.method).unwrap().ioengine, one.ioengine);
        }
        assert!(of_ioengine("libaio", false, false).unwrap_err().contains("synchronous"));
        assert!(of_ioengine("mmap", true, false).unwrap_err().contains("direct=1"));
        assert!(of_ioengine("libaio", true, true).unwrap_err().contains("psync"));
        assert!(of_ioengine("rados", false, false).unwrap_err().contains("io_uring"));
    }
}
