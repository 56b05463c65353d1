//! Differences between the environments of two runs that could alone explain a difference in speed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::difference::{Aspect, Differences, plain};
use crate::document::{Document, Environment, word};
use crate::units;

/// Memory that differs by less counts as equal: kernels reserve slightly different amounts.
const MEMORY_TOLERANCE: f64 = 0.02;

/// Mount options that name something and do not affect speed.
const NAMING_OPTIONS: [&str; 5] = ["subvol=", "subvolid=", "lowerdir=", "upperdir=", "workdir="];

/// Finds the differences. Times, names of directories and mount points, free space and the seed are harmless.
pub fn differences(baseline: &Document, this: &Document) -> Differences {
    let mut differences = Differences::default();
    let (a, b) = (&baseline.environment, &this.environment);
    machine(&mut differences, a, b);
    limits(&mut differences, a, b);
    differences.text(Aspect::Kernel, "kernel", &a.kernel, &b.kernel);
    let same = same_file_system(a, b);
    file_system(&mut differences, a, b, same);
    devices(&mut differences, a, b, same);
    let versions = [baseline, this].map(|document| &document.run.fullbore_version);
    differences.text(Aspect::Version, "version of fullbore", versions[0], versions[1]);
    let size = |document: &Document| match document.run.file_bytes {
        0 => String::new(),
        bytes => units::size(bytes),
    };
    differences.text(Aspect::FileSize, "test file size", &size(baseline), &size(this));
    if baseline.run.file_bytes != this.run.file_bytes && size(baseline) == size(this) {
        let bytes = |document: &Document| format!("{} bytes", document.run.file_bytes);
        differences.differs(Aspect::FileSize, "test file size", bytes(baseline), bytes(this));
    }
    let disks = |document: &Document| document.run.directories.len().max(1).to_string();
    differences.text(Aspect::Device, "directories measured together", &disks(baseline), &disks(this));
    engines(&mut differences, a, b);
    if baseline.run.regime != this.run.regime {
        let [before, now] = [baseline, this].map(|document| word(document.run.regime));
        differences.notes.push(format!("the baseline has {before} figures, this document {now} ones"));
    }
    for (document, which) in [(baseline, "the baseline"), (this, "this document")] {
        if document.run.interrupted || !document.run.complete {
            differences.notes.push(format!("the run of {which} is incomplete"));
        }
    }
    differences
}

/// A fact as text; empty if not recorded.
fn fact(environment: &Environment, pointer: &str) -> String {
    plain(environment.facts.pointer(pointer).unwrap_or(&Value::Null))
}

fn machine(differences: &mut Differences, a: &Environment, b: &Environment) {
    differences.text(Aspect::Machine, "processor", &a.cpu_model, &b.cpu_model);
    let number = |count: u32| if count == 0 { String::new() } else { count.to_string() };
    differences.text(Aspect::Machine, "processors", &number(a.logical_cpus), &number(b.logical_cpus));
    for (what, name) in [
        ("instruction set", "architecture"),
        ("clock governor", "governor"),
        ("page size", "page_size"),
        ("virtualisation", "virtualisation"),
    ] {
        let pointer = format!("/machine/{name}");
        differences.text(Aspect::Machine, what, &fact(a, &pointer), &fact(b, &pointer));
    }
    let memory = |environment: &Environment| {
        let total = environment.facts.pointer("/machine/memory_total").and_then(Value::as_u64);
        total.or(environment.memory_bytes)
    };
    if let (Some(one), Some(other)) = (memory(a), memory(b)) {
        let apart = one.abs_diff(other) as f64 / one.max(other).max(1) as f64;
        if apart > MEMORY_TOLERANCE {
            differences.differs(Aspect::Machine, "memory", units::size(one), units::size(other));
        }
    }
}

fn limits(differences: &mut Differences, a: &Environment, b: &Environment) {
    let quota =
        |e: &Environment| e.cpu_quota.map(|quota| format!("{} processors", units::significant(quota)));
    differences.limit("CPU quota", quota(a), quota(b));
    let recorded = |e: &Environment| e.facts.get("machine").is_some();
    if !recorded(a) || !recorded(b) {
        return;
    }
    let number =
        |e: &Environment, name: &str| e.facts.pointer(&format!("/machine/{name}")).and_then(Value::as_u64);
    for (what, name) in [("memory limit", "memory_limit"), ("lockable memory", "lockable")] {
        differences.limit(what, number(a, name).map(units::size), number(b, name).map(units::size));
    }
    let allowed = |e: &Environment| number(e, "allowed_processors").map(|n| n.to_string());
    // Other machines have other processors; affinity matters only if their number is equal.
    if a.logical_cpus == b.logical_cpus {
        differences.limit("processors the process may run on", allowed(a), allowed(b));
    }
}

fn same_file_system(a: &Environment, b: &Environment) -> bool {
    let id = |environment: &Environment| fact(environment, "/path/file_system/id");
    !id(a).is_empty() && id(a) == id(b) && a.file_system.kind == b.file_system.kind
}

fn file_system(differences: &mut Differences, a: &Environment, b: &Environment, same: bool) {
    let aspect = Aspect::FileSystem;
    differences.text(aspect, "file system", &a.file_system.kind, &b.file_system.kind);
    if !same {
        // Device names change from boot to boot; the file system's own number does not.
        differences.text(aspect, "mounted source", &a.file_system.source, &b.file_system.source);
    }
    let (one, other) = (options(&a.file_system.options), options(&b.file_system.options));
    let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| {
        these.difference(those).cloned().collect::<Vec<_>>().join(",")
    };
    let (in_a, in_b) = (only(&one, &other), only(&other, &one));
    if !(in_a.is_empty() && in_b.is_empty()) {
        let text = |options: String| if options.is_empty() { "none".into() } else { options };
        differences.differs(aspect, "mount options", text(in_a), text(in_b));
    }
    for (what, pointer) in [
        ("file system block size", "/path/file_system/block_size"),
        ("network file system", "/path/file_system/network"),
        ("direct I/O works", "/path/direct/works"),
        ("direct I/O alignment", "/path/direct/alignment/offset"),
    ] {
        differences.text(aspect, what, &fact(a, pointer), &fact(b, pointer));
    }
    let id = |environment: &Environment| fact(environment, "/path/file_system/id");
    if !same && !id(a).is_empty() && !id(b).is_empty() && a.file_system.source == b.file_system.source {
        differences.notes.push("the file system was recreated, or is another one of the same kind".into());
    }
}

fn options(text: &str) -> BTreeSet<String> {
    let naming = |option: &&str| !NAMING_OPTIONS.iter().any(|name| option.starts_with(name));
    text.split(',').map(str::trim).filter(|o| !o.is_empty()).filter(naming).map(str::to_owned).collect()
}

/// Notes engines available in one run only; they leave cells out but do not slow others down.
fn engines(differences: &mut Differences, a: &Environment, b: &Environment) {
    let known = |environment: &Environment| -> BTreeMap<String, bool> {
        environment.engines.iter().map(|engine| (engine.name.clone(), engine.available)).collect()
    };
    let (one, other) = (known(a), known(b));
    for (name, available) in &one {
        if other.get(name).is_some_and(|there| there != available) {
            let which = if *available { "the baseline" } else { "this document" };
            differences.notes.push(format!("engine {name} is available in {which} only"));
        }
    }
}

/// Fields of a device that identify it and do not affect speed.
const NAMES: [&str; 5] = ["number", "serial", "backing_file", "partition", "backed_by_unknown"];

struct DeviceSettings {
    name: String,
    settings: BTreeMap<String, String>,
}

/// Compares the devices in recorded order; on the `same_file_system` one with another name is still the same.
fn devices(differences: &mut Differences, a: &Environment, b: &Environment, same_file_system: bool) {
    let (one, other) = (known(a), known(b));
    if one.len() != other.len() {
        let names = |devices: &[DeviceSettings]| {
            let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
            names.join(", ")
        };
        return differences.text(Aspect::Device, "devices", &names(&one), &names(&other));
    }
    for (before, now) in one.iter().zip(&other) {
        if !same_file_system {
            differences.text(Aspect::Device, "device", &before.name, &now.name);
        }
        let none = String::new();
        let mut called: Vec<&String> = before.settings.keys().chain(now.settings.keys()).collect();
        called.sort();
        called.dedup();
        for what in called {
            let of = |device: &DeviceSettings| device.settings.get(what).unwrap_or(&none).clone();
            differences.text(Aspect::Device, &format!("{}: {what}", now.name), &of(before), &of(now));
        }
    }
}

/// The devices of an environment, with the probe's facts, underlying devices included.
fn known(environment: &Environment) -> Vec<DeviceSettings> {
    let mut devices: Vec<DeviceSettings> = environment
        .devices
        .iter()
        .map(|device| {
            let mut settings: BTreeMap<String, String> =
                device.queue.iter().map(|(name, value)| (worded(name), value.clone())).collect();
            settings.insert("model".into(), device.model.clone().unwrap_or_default());
            if let Some(rotational) = device.rotational {
                settings.insert("rotational".into(), rotational.to_string());
            }
            DeviceSettings { name: device.name.clone(), settings }
        })
        .collect();
    let others = environment.facts.get("other_paths").and_then(Value::as_array);
    let paths = environment.facts.get("path").into_iter().chain(others.into_iter().flatten());
    let probed = paths.filter_map(|path| path.get("devices").and_then(Value::as_array));
    for value in probed.flatten() {
        let name = value.get("name").map(plain).unwrap_or_default();
        if let Some(device) = devices.iter_mut().find(|device| device.name == name) {
            add(&mut device.settings, "", value);
        }
    }
    devices
}

/// Adds the fields of a device as the probe found it, and of its underlying devices.
fn add(settings: &mut BTreeMap<String, String>, prefix: &str, device: &Value) {
    for (field, value) in device.as_object().into_iter().flatten() {
        match (field.as_str(), value) {
            ("name", value) if !prefix.is_empty() => {
                settings.insert(format!("{prefix}name"), plain(value));
            }
            ("name", _) => {}
            (field, _) if NAMES.contains(&field) => {}
            ("queue", Value::Object(queue)) => {
                settings
                    .extend(queue.iter().map(|(name, v)| (format!("{prefix}{}", worded(name)), plain(v))));
            }
            ("backed_by", Value::Array(below)) => {
                for (place, device) in below.iter().enumerate() {
                    add(settings, &format!("{prefix}underlying device {}: ", place + 1), device);
                }
            }
            (field, value) => {
                settings.insert(format!("{prefix}{}", worded(field)), plain(value));
            }
        }
    }
    settings.retain(|_, value| !value.is_empty());
}

fn worded(field: &str) -> String {
    field.replace('_', " ")
}
