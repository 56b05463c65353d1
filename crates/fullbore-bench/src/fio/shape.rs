//! Cells in terms of fio: the I/O engines equivalent to access methods, and the options that a cell determines independent
//! of the machine.

use fullbore::buf::{HUGE_PAGE, Pool};
use fullbore::strategy::{Completion, Model, Strategy, StrategySpec};

use crate::document::{FileState, Labels, Operation, Order};
use crate::grouping::distinct;

pub(super) type Setting = (&'static str, String);

/// The reason why fio cannot run a cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub(crate) String);

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
    pub(super) remark: Option<&'static str>,
}

const PLAIN: Counterpart =
    Counterpart { method: "", ioengine: "", direct: None, deep: false, settings: &[], remark: None };

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
    ("copyfile", "fio does not copy files"),
    #[cfg(windows)]
    ("event", "fio's windowsaio uses a completion port, not one event per request"),
    #[cfg(windows)]
    ("routine", "fio's windowsaio uses a completion port, not completion routines"),
    #[cfg(windows)]
    ("ioring", "fio has no I/O engine on the I/O ring of Windows"),
    #[cfg(windows)]
    ("scatter", "fio has no I/O engine on ReadFileScatter"),
];

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
        let known = COUNTERPARTS.iter().map(|one| one.ioengine).chain(ALIKE.iter().map(|(other, _)| *other));
        let known = distinct(known);
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

/// Makes the C library put a program's memory on huge pages.
pub(super) const HUGE_PAGES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

#[derive(Debug)]
pub(super) struct Shape {
    pub(super) settings: Vec<Setting>,
    /// Remaining differences, a sentence each.
    pub(super) remarks: Vec<String>,
    pub(super) writes: bool,
    pub(super) direct: bool,
    /// True if only the first half of the file is covered.
    pub(super) half: bool,
    /// Request size in bytes.
    pub(super) request: u64,
    pub(super) depth: u64,
    pub(super) workers: u64,
    /// True if fullbore's buffers are on huge pages: requests then reach the device in few pieces; fio needs a setting.
    pub(super) huge: bool,
    /// Size of the workers' stripes in bytes; `None`: there is one worker, or the order has none.
    pub(super) stripe: Option<u64>,
}

/// Remaining differences of a cell run by fio, a sentence each.
pub(crate) fn caveat(labels: &Labels) -> Option<String> {
    let shape = shape(&Labels { peer: None, ..labels.clone() }).ok()?;
    (!shape.remarks.is_empty()).then(|| shape.remarks.join("; "))
}

/// Percentiles of the time from the call to the return of its completion, as in fullbore.
pub(super) fn percentiles() -> [Setting; 3] {
    [("lat_percentiles", "1"), ("clat_percentiles", "0"), ("percentile_list", "50:90:99:99.9")]
        .map(|(name, value)| (name, value.into()))
}

pub(super) fn shape(labels: &Labels) -> Result<Shape, Unsupported> {
    let refuse = |why: String| Err(Unsupported(why));
    if let Some(peer) = &labels.peer {
        return refuse(format!("this cell was run by {peer}"));
    }
    let writes = match &labels.operation {
        Operation::Read => false,
        Operation::Write => true,
        other => return refuse(format!("fio only reads or writes files, it has no {:?}", other.as_str())),
    };
    let counterpart = of_method(&labels.method)?;
    refuse_unsupported_by_fio(labels, writes)?;
    let strategy = strategy(labels)?;
    if strategy.completion == Completion::Ordered {
        return refuse(
            "it waits for the oldest request (completion=ordered); fio takes completions in any order".into(),
        );
    }
    let direct = match labels.cache_policy.as_deref() {
        Some("drop") => return refuse("fio has no option to drop pages after use (cache=drop)".into()),
        policy => counterpart.direct.unwrap_or(policy == Some("direct")),
    };
    let (random, half) = match &labels.order {
        None | Some(Order::Sequential) => (false, false),
        Some(Order::Random) => (true, false),
        Some(Order::RandomOverHalf) => (true, true),
        Some(other) => return refuse(format!("fio has no request order {other}")),
    };
    let request = labels.request_bytes.unwrap_or(strategy.request as u64).max(1);
    let depth = if counterpart.deep { u64::from(labels.depth.unwrap_or(1).max(1)) } else { 1 };
    let workers = u64::from(labels.workers.unwrap_or(1).max(1));
    let mut remarks: Vec<String> = counterpart.remark.iter().map(|&remark| remark.to_owned()).collect();
    let stripe = (workers > 1 && !random).then_some(strategy.stripe / request * request);
    if stripe == Some(0) {
        return refuse("its stripes are smaller than a request; fio distributes whole requests".into());
    }
    if workers > 1 && random {
        remarks.push("fio's jobs choose blocks independently, so two may take the same one".into());
    } else if workers > 1 && strategy.model == Model::Pool {
        remarks.push("fio assigns stripes round-robin, fullbore's workers take them from a queue".into());
    }
    if labels.flush == Some(true) {
        remarks.push("fio ends with fsync, fullbore with fdatasync".into());
    }
    let way = match (random, writes) {
        (false, false) => "read",
        (false, true) => "write",
        (true, false) => "randread",
        (true, true) => "randwrite",
    };
    let mut settings: Vec<Setting> = vec![
        ("ioengine", counterpart.ioengine.into()),
        ("rw", way.into()),
        ("bs", request.to_string()),
        ("iodepth", depth.to_string()),
        ("direct", u8::from(direct).to_string()),
    ];
    settings.extend(counterpart.settings.iter().map(|&(name, value)| (name, value.into())));
    if workers > 1 {
        settings.push(("numjobs", workers.to_string()));
    }
    if let Some(stripe) = stripe {
        settings.push(("zonemode", "strided".into()));
        settings.extend(["zonesize", "zonerange"].map(|name| (name, stripe.to_string())));
        settings.push(("zoneskip", stripe.saturating_mul(workers - 1).to_string()));
        settings.push(("offset_increment", stripe.to_string()));
    }
    let huge = Pool::on_huge_pages(depth as usize, request as usize, direct);
    if huge {
        // fio then takes that much more memory before and behind the buffers. Without it, only five of eight buffers of
        // 1 MiB lay on whole huge pages, and the device was slower by a quarter.
        settings.push(("iomem_align", HUGE_PAGE.to_string()));
    }
    if labels.flush == Some(true) {
        settings.push(("end_fsync", "1".into()));
    }
    // Threads, as in fullbore: one address space, and an interruption ends all of it.
    settings.push(("thread", "1".into()));
    settings.push(("group_reporting", "1".into()));
    Ok(Shape { settings, remarks, writes, direct, half, request, depth, workers, huge, stripe })
}

fn refuse_unsupported_by_fio(labels: &Labels, writes: bool) -> Result<(), Unsupported> {
    let several = |count: Option<u32>| count.is_some_and(|count| count > 1);
    let wrong = [
        (
            writes && labels.file_state == Some(FileState::Truncated),
            "fio does not truncate a file when it opens it",
        ),
        (
            labels.load_per_s.is_some(),
            "fio's rate_iops times a request from its submission, not from its due time, and so omits the wait",
        ),
        (several(labels.streams), "concurrent streams are not one job of fio"),
        (
            several(labels.targets) || labels.chunk_bytes.is_some(),
            "fio cannot stripe a file over several directories",
        ),
        (labels.memory_limit_bytes.is_some(), "fio has no option for a memory limit"),
    ];
    if let Some((_, what)) = wrong.into_iter().find(|(wrong, _)| *wrong) {
        return Err(Unsupported(what.into()));
    }
    match &labels.variant {
        Some(variant) => Err(Unsupported(format!("fio has no counterpart of {variant:?}"))),
        None => Ok(()),
    }
}

/// The strategy of the cell; only it has the stripe.
fn strategy(labels: &Labels) -> Result<Strategy, Unsupported> {
    let Some(text) = &labels.strategy else { return Ok(Strategy::plain()) };
    let spec: StrategySpec =
        text.parse().map_err(|error| Unsupported(format!("strategy {text}: {error}")))?;
    let mut strategy = spec.apply(Strategy::plain());
    if let Some(Ok(model)) = labels.model.as_deref().map(str::parse) {
        strategy.model = model;
    }
    Ok(strategy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbore::engine::{Availability, METHODS, method};

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

    #[test]
    fn counterparts_bypass_the_cache_as_the_methods_do() {
        for one in COUNTERPARTS {
            let ours = match one.direct {
                None => Availability::ByPolicy,
                Some(true) => Availability::Always,
                Some(false) => Availability::Never,
            };
            let method = method(one.method).unwrap();
            assert_eq!(method.capabilities.direct, ours, "{}", one.method);
        }
    }

    fn labels() -> Labels {
        Labels {
            request_bytes: Some(4096),
            depth: Some(32),
            workers: Some(1),
            cache_policy: Some("direct".into()),
            order: Some("random".into()),
            ..Labels::of("read", "uring")
        }
    }

    fn value<'s>(shape: &'s Shape, name: &str) -> Option<&'s str> {
        shape.settings.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn cell_becomes_options() {
        let shape = shape(&labels()).unwrap();
        for (name, expected) in
            [("ioengine", "io_uring"), ("rw", "randread"), ("bs", "4096"), ("iodepth", "32"), ("direct", "1")]
        {
            assert_eq!(value(&shape, name), Some(expected), "{name}");
        }
        assert!(shape.remarks.is_empty());
        assert_eq!(value(&shape, "numjobs"), None);
    }

    #[test]
    fn stripes_become_zones() {
        let strategy = "method=buffered,request=256K,workers=4,model=pool,stripe=1M".to_owned();
        let labels = Labels {
            method: "buffered".into(),
            request_bytes: Some(256 << 10),
            depth: Some(1),
            workers: Some(4),
            model: Some("pool".into()),
            cache_policy: Some("keep".into()),
            order: Some("sequential".into()),
            strategy: Some(strategy),
            ..labels()
        };
        let shape = shape(&labels).unwrap();
        assert_eq!(value(&shape, "numjobs"), Some("4"));
        assert_eq!(value(&shape, "zonesize"), Some("1048576"));
        assert_eq!(value(&shape, "zoneskip"), Some("3145728"));
        assert_eq!(value(&shape, "offset_increment"), Some("1048576"));
        assert!(caveat(&labels).unwrap().contains("queue"));
    }

    #[test]
    fn cells_fio_cannot_run_are_rejected_with_a_reason() {
        let refused = |labels: Labels| shape(&labels).unwrap_err().0;
        assert!(refused(Labels { operation: "shift:10".into(), ..labels() }).contains("shift:10"));
        assert!(refused(Labels { method: "stdio".into(), ..labels() }).contains("FILE*"));
        assert!(refused(Labels { load_per_s: Some(100), ..labels() }).contains("due"));
        assert!(refused(Labels { cache_policy: Some("drop".into()), ..labels() }).contains("cache=drop"));
        assert!(refused(Labels { streams: Some(3), ..labels() }).contains("streams"));
        assert!(refused(Labels { strategy: Some("cci-ov".into()), ..labels() }).contains("ordered"));
        let truncated =
            Labels { operation: "write".into(), file_state: Some("truncated".into()), ..labels() };
        assert!(refused(truncated).contains("truncate"));
    }
}
