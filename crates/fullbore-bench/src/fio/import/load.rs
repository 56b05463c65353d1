//! One job: the load that its options describe, and the equivalent grid.

use std::collections::BTreeMap;

use fullbore::strategy::{DEEPEST, LARGEST_REQUEST, WORKER_LIMIT};
use fullbore::{engine, size};

use super::ignored::{IGNORED, REFUSED, reason_for};
use super::syntax::{Entry, ImportError, Notes, Section, bytes, count, seconds, switch};
use crate::experiment::DAY;
use crate::fio::shape::{Counterpart, of_ioengine};

const MOST_WORKERS: u64 = WORKER_LIMIT as u64;

#[derive(Debug)]
pub(super) struct Load {
    pub(super) name: String,
    /// The length of its file in bytes, if given.
    pub(super) file: Option<u64>,
    strategy: String,
    settings: Vec<(&'static str, String)>,
    action: &'static str,
}

/// The options that define the load; the last of each.
struct JobOptions<'s> {
    section: &'s Section,
    options: BTreeMap<&'s str, &'s Entry>,
}

/// The supported options, separated by spaces.
const READ: &str = "rw bs ioengine sync iodepth numjobs direct size filesize offset end_fsync overwrite fallocate \
    create_on_open invalidate pre_read ramp_time zonemode zonesize zonerange zoneskip \
    offset_increment fixedbufs registerfiles nonvectored";

/// Options that zero does not switch off.
const NUMBERS: [&str; 6] =
    ["cpus_allowed", "cpumask", "numa_cpu_nodes", "prio", "verify_pattern", "iodepth_batch_complete_min"];

const ALIASES: &[(&str, &str)] = &[("readwrite", "rw"), ("blocksize", "bs")];

impl Load {
    /// Reads a job up to the first option that cannot be measured here, which is the error.
    pub(super) fn read(section: &Section, notes: &mut Notes) -> Result<Self, ImportError> {
        let options = JobOptions::sort(section, notes)?;
        let (writes, random) = options.way()?;
        let request = options.parsed("bs", |text| size_of_direction(text, writes))?.unwrap_or(REQUEST);
        if !(1..=LARGEST_REQUEST).contains(&request) {
            return Err(options.wrong("bs", "a request has 1 byte to 32 MiB"));
        }
        let (counterpart, direct) = options.engine(notes)?;
        let depth = options.parsed("iodepth", count)?.unwrap_or(1);
        let workers = options.parsed("numjobs", count)?.unwrap_or(1);
        for (option, found, most) in [("iodepth", depth, DEEPEST), ("numjobs", workers, MOST_WORKERS)] {
            if found == 0 {
                return Err(options.wrong(option, "at least 1"));
            }
            if found > most {
                return Err(options.wrong(option, format!("at most {most}")));
            }
        }
        let depth = if counterpart.deep { depth } else { 1 };
        if !counterpart.deep && options.parsed("iodepth", count)?.is_some_and(|depth| depth > 1) {
            notes.add("iodepth", "a synchronous I/O engine has one request in flight at any iodepth");
        }
        let (half, file) = options.lengths(random, notes)?;
        let named = section.entries.iter().any(|entry| entry.name == "filename");
        if workers > 1 && random && !named {
            notes.add(
                "numjobs",
                "fio gives each job a file of its own unless filename names one: measured on one file",
            );
        }
        let stripe = if workers > 1 && !random { options.stripe(workers, request)? } else { None };
        if stripe.is_none() {
            options.refuse_zones()?;
        }
        let mut settings: Vec<(&'static str, String)> = Vec::new();
        if random {
            settings.push(("order", if half { "random-half" } else { "random" }.into()));
        }
        let state = if writes { options.file_state(random, notes)? } else { None };
        settings.extend(state.map(|state| ("file", state.to_owned())));
        // A growing file is in no cache before.
        if state.is_none()
            && engine::method(counterpart.method).is_none_or(|method| method.capabilities.storage)
        {
            settings.extend(options.cache(writes, direct, notes)?.map(|state| ("cache", state.to_owned())));
        }
        if writes && options.on("end_fsync")? == Some(true) {
            settings.push(("flush", "true".into()));
            notes.add("end_fsync", "the sync at the end is fdatasync");
        }
        if let Some(misaligned) = options.parsed("offset", bytes)? {
            match misaligned % request {
                0 if misaligned > 0 => notes.add("offset", "each sample uses another part of the file"),
                0 => {}
                _ if random => {
                    let why =
                        "random requests are at multiples of their size: give a multiple, or leave it out";
                    return Err(options.wrong("offset", why));
                }
                apart => settings.push(("offset", format!("+{apart}"))),
            }
        }
        if let Some(ramp) = options.parsed("ramp_time", seconds)?.filter(|ramp| *ramp > 0.0) {
            if ramp > DAY {
                return Err(options.wrong("ramp_time", "at most a day"));
            }
            settings.push(("ramp_seconds", format!("{ramp:?}")));
        }
        let strategy = strategy(counterpart, direct, request, depth, workers, stripe);
        let action = if writes { "write" } else { "read" };
        Ok(Self { name: section.name.clone(), file, strategy, settings, action })
    }

    pub(super) fn grid(&self) -> String {
        let mut text =
            format!("[[experiment.grid]]\naction = \"{}\"\nstrategy = \"{}\"\n", self.action, self.strategy);
        for (name, value) in &self.settings {
            let bare = matches!(*name, "flush" | "ramp_seconds");
            let value = if bare { value.clone() } else { format!("\"{value}\"") };
            text += &format!("{name} = {value}\n");
        }
        text
    }
}

fn strategy(
    counterpart: &Counterpart,
    direct: bool,
    request: u64,
    depth: u64,
    workers: u64,
    stripe: Option<u64>,
) -> String {
    let mut text = format!("method={}", counterpart.method);
    if counterpart.direct.is_none() {
        text += if direct { ",cache=direct" } else { ",cache=keep" };
    }
    if counterpart.method == "mmap" {
        text += ",window=whole";
    }
    text += &format!(",request={},depth={depth},workers={workers}", size::exact(request));
    text += match (workers, stripe) {
        (1, _) => ",model=serial",
        (_, Some(_)) => ",model=striped",
        (_, None) => ",model=pool",
    };
    if let Some(stripe) = stripe {
        text += &format!(",stripe={}", size::exact(stripe));
    }
    text
}

/// I/O engine of a job that names none: fio's default on this system.
const ENGINE: &str = if cfg!(windows) { "windowsaio" } else { "psync" };

/// Request size of a job that gives none.
const REQUEST: u64 = 4096;

/// Parses `4k`, or a size for reads and one for writes: `4k,8k`. One that is empty is the usual.
fn size_of_direction(text: &str, writes: bool) -> Result<u64, String> {
    let mut parts = text.split(',').map(str::trim);
    let (reads, of_writes) = (parts.next().unwrap_or_default(), parts.next());
    match of_writes.filter(|_| writes).unwrap_or(reads) {
        "" => Ok(REQUEST),
        size => bytes(size),
    }
}

impl<'s> JobOptions<'s> {
    /// Collects the options that matter; notes those that do not.
    fn sort(section: &'s Section, notes: &mut Notes) -> Result<Self, ImportError> {
        let mut options = BTreeMap::new();
        for entry in &section.entries {
            let alias = ALIASES.iter().find(|(other, _)| *other == entry.name);
            let name = alias.map_or(entry.name.as_str(), |(_, name)| *name);
            let off = || matches!(entry.value.as_deref(), Some("0" | "none" | "false"));
            match name {
                "filename" | "directory" => {
                    let path = entry.value.as_deref().unwrap_or_default();
                    if name == "filename" && path.replace("\\:", "").contains(':') {
                        return Err(entry.wrong("several files, but a job uses one: make a job for each"));
                    }
                    let why = "not used: the meter reads and writes its own test files, below --dir";
                    notes.add(&format!("{name}={path}"), why);
                }
                "name" | "stonewall" | "wait_for_previous" => {}
                "buffered" => {
                    // `buffered` is the inverse of `direct`.
                    let on = switch(entry.value.as_deref()).map_err(|why| entry.wrong(why))?;
                    options.insert(if on { "buffered" } else { "unbuffered" }, entry);
                    options.remove(if on { "unbuffered" } else { "buffered" });
                    options.remove("direct");
                }
                "direct" => {
                    options.retain(|known, _| !known.ends_with("buffered"));
                    options.insert("direct", entry);
                }
                "nrfiles" if entry.value.as_deref() == Some("1") => {}
                _ if READ.split(' ').any(|one| one == name) => {
                    options.insert(name, entry);
                }
                _ => match (reason_for(IGNORED, &entry.name), reason_for(REFUSED, &entry.name)) {
                    (Some(why), _) => notes.add(&entry.name, why),
                    // Options that are switched off have no effect.
                    (None, Some(_)) if off() && !NUMBERS.contains(&name) => {}
                    (None, Some(why)) => return Err(entry.wrong(why)),
                    (None, None) => {
                        return Err(entry.wrong("unknown option: leave it out"));
                    }
                },
            }
        }
        Ok(Self { section, options })
    }

    fn wrong(&self, option: &str, why: impl Into<String>) -> ImportError {
        match self.options.get(option) {
            Some(entry) => entry.wrong(why),
            None => ImportError {
                line: self.section.line,
                option: format!("[{}]", self.section.name),
                why: why.into(),
            },
        }
    }

    fn text(&self, option: &str) -> Result<Option<&'s str>, ImportError> {
        match self.options.get(option) {
            None => Ok(None),
            Some(entry) => match entry.value.as_deref() {
                Some(value) if !value.is_empty() => Ok(Some(value)),
                _ => Err(entry.wrong("no value")),
            },
        }
    }

    fn parsed<T>(
        &self,
        option: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ImportError> {
        let Some(text) = self.text(option)? else { return Ok(None) };
        parse(text).map(Some).map_err(|why| self.wrong(option, why))
    }

    fn on(&self, option: &str) -> Result<Option<bool>, ImportError> {
        let Some(entry) = self.options.get(option) else { return Ok(None) };
        switch(entry.value.as_deref()).map(Some).map_err(|why| entry.wrong(why))
    }

    /// Direction and order: true for writes, true for random requests.
    fn way(&self) -> Result<(bool, bool), ImportError> {
        match self.text("rw")?.unwrap_or("read") {
            "read" => Ok((false, false)),
            "write" => Ok((true, false)),
            "randread" => Ok((false, true)),
            "randwrite" => Ok((true, true)),
            "rw" | "readwrite" | "randrw" => {
                Err(self.wrong("rw", "mixed reads and writes are not measured: make a job for each"))
            }
            way if way.contains("trim") => Err(self.wrong("rw", "trims are not measured")),
            way if way.contains(':') => {
                Err(self.wrong("rw", "only plain sequential and plain random requests are measured"))
            }
            _ => Err(self.wrong("rw", "use read, write, randread or randwrite")),
        }
    }

    fn engine(&self, notes: &mut Notes) -> Result<(&'static Counterpart, bool), ImportError> {
        let direct = match self.on("direct")? {
            Some(direct) => direct,
            None => self.options.contains_key("unbuffered"),
        };
        let name = self.text("ioengine")?.unwrap_or(ENGINE);
        let durable = match self.text("sync")? {
            None | Some("none" | "0") => false,
            Some("dsync") => true,
            Some(_) => return Err(self.wrong("sync", "only dsync (O_DSYNC) and none are measured")),
        };
        let (counterpart, remark) =
            of_ioengine(name, direct, durable).map_err(|why| self.wrong("ioengine", why))?;
        remark.into_iter().chain(counterpart.remark).for_each(|remark| notes.add("", remark));
        for (option, value) in counterpart.settings {
            let given = self.options.get(option).and_then(|entry| entry.value.as_deref());
            if given != Some(value) && self.on(option)? != Some(true) {
                notes.add(
                    "",
                    "the ring always has registered buffers and a registered file, and one buffer per request",
                );
            }
        }
        Ok((counterpart, direct && counterpart.direct != Some(false)))
    }

    /// True if requests cover only half of the file, and the length of the file.
    fn lengths(&self, random: bool, notes: &mut Notes) -> Result<(bool, Option<u64>), ImportError> {
        let whole = self.parsed("filesize", bytes)?;
        match self.text("size")? {
            Some("50%") if random => Ok((true, whole)),
            Some("100%") => Ok((false, whole)),
            Some(share) if share.ends_with('%') => {
                Err(self.wrong("size", "only 100% is supported, or 50% for random requests"))
            }
            Some(_) => {
                let size = self.parsed("size", bytes)?;
                if whole.is_some() && whole != size {
                    notes.add("size", "requests cover the whole file of filesize");
                }
                Ok((false, whole.or(size)))
            }
            None => Ok((false, whole)),
        }
    }

    /// Refuses zones and offsets of jobs that do not share the file in stripes.
    fn refuse_zones(&self) -> Result<(), ImportError> {
        let on = |entry: &&Entry| !matches!(entry.value.as_deref(), Some("0" | "none"));
        let zones = ["zonemode", "zonesize", "zonerange", "zoneskip", "offset_increment"];
        let mut given = zones.iter().filter_map(|option| self.options.get(option).copied());
        let why =
            "zones and offsets of jobs are measured only as several sequential jobs that share the file";
        given.find(on).map_or(Ok(()), |entry| Err(entry.wrong(why)))
    }

    /// Stripe size of several workers.
    fn stripe(&self, workers: u64, request: u64) -> Result<Option<u64>, ImportError> {
        let zone = self.parsed("zonesize", bytes)?;
        let range = self.parsed("zonerange", bytes)?;
        let skip = self.parsed("zoneskip", bytes)?;
        let step = self.parsed("offset_increment", bytes)?;
        match (self.text("zonemode")?, zone) {
            (Some("strided"), Some(zone))
                if zone >= request
                    && range.unwrap_or(zone) == zone
                    && skip.is_some_and(|skip| zone.checked_mul(workers - 1) == Some(skip))
                    && step == Some(zone) =>
            {
                Ok(Some(zone))
            }
            _ => Err(self.wrong(
                "numjobs",
                "each sequential job of fio reads the whole file, but the meter's workers share it in stripes: \
                 use the form of fullbore bench export --fio (zonemode=strided), or the experiment streams",
            )),
        }
    }

    fn cache(
        &self,
        writes: bool,
        direct: bool,
        notes: &mut Notes,
    ) -> Result<Option<&'static str>, ImportError> {
        let warm = self.on("pre_read")? == Some(true);
        let invalidate = self.on("invalidate")?;
        if direct {
            return Ok(None);
        }
        Ok(match (warm, invalidate, writes) {
            (true, ..) => Some("warm"),
            (false, Some(false), false) => {
                notes.add("invalidate=0", "measured with all of the file in the page cache");
                Some("warm")
            }
            (false, Some(false), true) => None,
            (false, None, _) => {
                notes.add("", "fio drops the file from the page cache first (invalidate=1): measured cold");
                Some("cold")
            }
            (false, Some(true), _) => Some("cold"),
        })
    }

    fn file_state(&self, random: bool, notes: &mut Notes) -> Result<Option<&'static str>, ImportError> {
        let fallocate = self.text("fallocate")?;
        let allocated = match fallocate {
            None | Some("none" | "0") => false,
            Some("native" | "posix" | "keep" | "1") => true,
            Some("truncate") => {
                return Err(self.wrong("fallocate", "a sparse file is not measured: use none or native"));
            }
            Some(_) => return Err(self.wrong("fallocate", "use none, native, posix or keep")),
        };
        let state = match (self.on("overwrite")?, self.on("create_on_open")?) {
            (Some(true), _) => None,
            (_, Some(true)) => Some("extended"),
            _ if allocated => {
                if fallocate == Some("keep") {
                    notes.add("fallocate=keep", "measured with the length set too");
                }
                Some("preallocated")
            }
            _ => {
                notes.add("", "writes overwrite existing blocks, as with overwrite=1");
                None
            }
        };
        if random && state.is_some() {
            notes.add("", "random writes overwrite existing blocks, as with overwrite=1");
            return Ok(None);
        }
        Ok(state)
    }
}
