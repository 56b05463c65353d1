//! Converts the probe's facts to the document's environment of machine and storage.

use std::collections::BTreeMap;

use fullbore::engine::{self, Availability, CachePolicy};
use fullbore::file::File;
use fullbore::probe::{self, DeviceNumber, Facts, Machine};
use fullbore::sys;

use crate::document::{Device, EngineFact, Environment, FileSystem};
use crate::grouping;
use crate::test_files::TestFiles;

pub(crate) fn room(facts: &Facts) -> (u64, u64) {
    match &facts.file_system {
        Some(system) => (system.total, system.available),
        // No mount table names it.
        None => sys::space_of(facts.path.as_str())
            .map_or((u64::MAX, u64::MAX), |space| (space.total, space.available)),
    }
}

pub(crate) fn in_memory(facts: &Facts) -> bool {
    facts.file_system.as_ref().is_some_and(|system| system.in_memory)
}

/// Returns the devices whose counters show the file system's I/O.
pub(crate) fn devices(facts: &Facts) -> Vec<DeviceNumber> {
    facts
        .devices
        .iter()
        .map(|device| device.partition.as_ref().map_or(device.number, |part| part.number))
        .collect()
}

/// Returns the largest read-ahead set for the devices, in bytes; where none is known, the usual one of Linux.
pub(crate) fn read_ahead(facts: &[Facts]) -> u64 {
    const USUAL: u64 = 128 << 10;
    let devices = facts.iter().flat_map(|facts| &facts.devices);
    devices.filter_map(|device| device.queue.read_ahead).max().unwrap_or(USUAL)
}

/// Returns a note for each directory that is on a disk of an earlier one.
pub(crate) fn shared_devices(facts: &[Facts]) -> Vec<String> {
    let shared = |(at, this): (usize, &Facts)| {
        let own = probe::disks(&this.devices);
        let (earlier, disk) = facts[..at].iter().find_map(|other| {
            let theirs = probe::disks(&other.devices);
            let common = |disk: &&&probe::Device| theirs.iter().any(|other| other.number == disk.number);
            Some((other, &own.iter().find(common)?.name))
        })?;
        let [here, there] = [this, earlier].map(|facts| &facts.path);
        Some(format!("{here} and {there} are on the same disk ({disk}), which limits their sum."))
    };
    facts.iter().enumerate().filter_map(shared).collect()
}

pub(crate) fn missing_without_root() -> Option<String> {
    (sys::effective_user() != 0).then(|| {
        "Not run as root: registering large io_uring buffers may be limited (RLIMIT_MEMLOCK), and some device \
         settings and serial numbers cannot be read. The experiments phases (block traces) and file-size (memory \
         limits) also need root for some figures."
            .to_owned()
    })
}

pub(crate) fn returned_memory(machine: &Machine) -> Option<String> {
    machine.returns_free_memory.then(|| {
        "The host of this virtual machine takes back free memory, and provides it again when it is next used. Samples of \
         whole files (scans from the device, copies, transforms) use memory that was just in use: with memory that was free \
         for some seconds, the same work takes longer. Other reads from the device through the page cache vary with it."
            .to_owned()
    })
}

/// Returns the environment: the file system of the first directory, and the devices of all.
pub(crate) fn environment(facts: &[Facts], machine: &Machine, test_files: &TestFiles) -> Environment {
    let mut facts = facts.to_vec();
    // A serial number identifies one machine in the world, and the document does not need it.
    facts.iter_mut().flat_map(|facts| &mut facts.devices).for_each(forget_serial);
    let (first, others) = (&facts[0], &facts[1..]);
    let file_system = first.file_system.as_ref().map_or_else(FileSystem::default, |system| FileSystem {
        kind: system.kind.clone(),
        mount_point: system.mount_point.clone(),
        options: [system.mount_options.join(","), system.super_options.join(",")].join(","),
        source: system.source.clone(),
    });
    let devices = grouping::distinct(facts.iter().flat_map(|facts| &facts.devices).map(described));
    Environment {
        kernel: format!("{} {}", system(), machine.kernel.as_deref().unwrap_or("of an unknown release")),
        cpu_model: machine.processor.clone().unwrap_or_else(|| machine.architecture.clone()),
        logical_cpus: machine.logical_processors.unwrap_or(0) as u32,
        cpu_quota: machine.quota,
        memory_bytes: machine.memory(),
        file_system,
        devices,
        engines: engines(&test_files.written),
        facts: serde_json::json!({ "path": first, "other_paths": others, "machine": machine }),
    }
}

fn system() -> &'static str {
    match std::env::consts::OS {
        "linux" => "Linux",
        "windows" => "Windows",
        "macos" => "Darwin",
        "freebsd" => "FreeBSD",
        other => other,
    }
}

fn forget_serial(device: &mut probe::Device) {
    device.serial = None;
    device.backed_by.iter_mut().for_each(forget_serial);
}

fn described(device: &probe::Device) -> Device {
    let queue = serde_json::to_value(&device.queue).unwrap_or_default();
    let settings = queue.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Device {
        name: device.name.clone(),
        model: device.model.clone(),
        rotational: device.queue.rotational,
        queue: settings.map(|(name, value)| (name.clone(), text(value))).collect::<BTreeMap<_, _>>(),
    }
}

/// Returns the engines that work on `file`, each by a trial call.
pub(crate) fn engines(file: &File) -> Vec<EngineFact> {
    engine::methods()
        .filter(|method| method.capabilities.transfers && method.capabilities.storage)
        .map(|method| {
            let cache = match (method.capabilities.direct, method.capabilities.drops) {
                (Availability::Always, _) => CachePolicy::Direct,
                (_, Availability::Always) => CachePolicy::DontCache,
                _ => CachePolicy::Keep,
            };
            let reason = engine::probe(method, file, None, true, cache).err();
            EngineFact { name: method.name.into(), available: reason.is_none(), reason }
        })
        .collect()
}
