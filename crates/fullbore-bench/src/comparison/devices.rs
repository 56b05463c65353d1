//! Differences between the device settings of two runs.

use std::collections::BTreeMap;

use serde_json::Value;

use super::difference::{Aspect, Differences};
use super::text::plain;
use crate::document::Environment;

/// Fields of a device that identify it and do not affect speed.
const NAMES: [&str; 5] = ["number", "serial", "backing_file", "partition", "stands_on_unknown"];

/// A device: its name, and its settings by name.
struct DeviceSettings {
    name: String,
    settings: BTreeMap<String, String>,
}

/// Compares the devices in the order in which they are recorded. If both runs used `same_file_system`, a device with
/// another name is still the same one.
pub(super) fn compare(
    differences: &mut Differences,
    a: &Environment,
    b: &Environment,
    same_file_system: bool,
) {
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
    let probed = environment.facts.pointer("/path/devices").and_then(Value::as_array);
    for value in probed.into_iter().flatten() {
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
            ("stands_on", Value::Array(below)) => {
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

/// A field's name in words.
fn worded(field: &str) -> String {
    field.replace('_', " ")
}
