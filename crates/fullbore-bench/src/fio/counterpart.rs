//! Which of fio's I/O engines does what one of our access methods does.

use super::Unsupported;

/// An access method and the I/O engine of fio that makes the same calls.
#[derive(Debug)]
pub(super) struct Counterpart {
    /// The access method.
    pub(super) method: &'static str,
    /// The I/O engine.
    pub(super) ioengine: &'static str,
    /// Whether it passes the page cache by: always, never, or as the strategy says.
    pub(super) direct: Option<bool>,
    /// Whether it keeps more than one request in flight.
    pub(super) deep: bool,
    /// What the I/O engine has to be told to do the same.
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// What it still does otherwise.
    pub(super) remark: Option<&'static str>,
}

const PLAIN: Counterpart =
    Counterpart { method: "", ioengine: "", direct: None, deep: false, settings: &[], remark: None };

/// The access methods that have one.
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
];

/// The access methods that have none, and why.
const NONE: &[(&str, &str)] = &[
    (
        "uncached",
        "fio has no RWF_DONTCACHE: its option `uncached` sets a flag that means something else today",
    ),
    ("stdio", "fio has no I/O engine on the C library's FILE*"),
    (
        "vectored",
        "fio's vsync seeks before each call and joins requests by its own rule, where fullbore calls preadv",
    ),
    ("splice", "fio's splice maps the pages out of a pipe, where fullbore moves them from file to file"),
    ("copy_file_range", "fio copies no file to another"),
];

/// The counterpart of an access method.
pub(super) fn of_method(name: &str) -> Result<&'static Counterpart, Unsupported> {
    COUNTERPARTS.iter().find(|one| one.method == name).ok_or_else(|| {
        let why = NONE.iter().find(|(method, _)| *method == name).map(|(_, why)| *why);
        Unsupported(why.map_or_else(|| format!("fio has no counterpart of the method {name}"), str::to_owned))
    })
}

/// The counterpart of an I/O engine of fio, past the page cache or through it; what is different is the second.
pub(super) fn of_ioengine(
    name: &str,
    direct: bool,
) -> Result<(&'static Counterpart, Option<&'static str>), String> {
    // Calls that do the same thing as `psync`.
    const ALIKE: &[(&str, &str)] = &[
        ("sync", "ioengine=sync seeks before each call; measured without, as psync"),
        ("pvsync", "ioengine=pvsync gives each call one buffer; measured as psync"),
        ("pvsync2", "ioengine=pvsync2 gives each call one buffer; measured as psync"),
    ];
    let alike = ALIKE.iter().find(|(other, _)| *other == name);
    let ioengine = alike.map_or(name, |_| "psync");
    let mut named = COUNTERPARTS.iter().filter(|one| one.ioengine == ioengine).peekable();
    if named.peek().is_none() {
        let mut known: Vec<&str> = COUNTERPARTS.iter().map(|one| one.ioengine).collect();
        known.dedup();
        known.extend(ALIKE.iter().map(|(other, _)| *other));
        return Err(format!("the meter has no counterpart of this I/O engine, only of {}", known.join(", ")));
    }
    match named.find(|one| one.direct.is_none_or(|always| always == direct)) {
        Some(found) => Ok((found, alike.map(|(_, remark)| *remark))),
        None if direct => Err("it cannot pass the page cache by: leave out direct=1".into()),
        None => Err(
            "through the page cache it is synchronous whatever its iodepth: say direct=1, or ioengine=psync \
                     for what it does"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use fullbore::engine::METHODS;

    use super::*;

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
            let direct = one.direct.unwrap_or(true);
            assert_eq!(of_ioengine(one.ioengine, direct).unwrap().0.method, one.method);
            assert_eq!(of_method(one.method).unwrap().ioengine, one.ioengine);
        }
        assert!(of_ioengine("libaio", false).unwrap_err().contains("synchronous"));
        assert!(of_ioengine("mmap", true).unwrap_err().contains("direct=1"));
        assert!(of_ioengine("rados", false).unwrap_err().contains("io_uring"));
    }
}
