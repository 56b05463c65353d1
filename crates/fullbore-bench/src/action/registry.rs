//! The registry of actions. A new action is a file in this folder and a line here.

use super::workload::{ParsedWorkload, Settings};
use super::{access, append, command, devices, interface, latency, memory};
use super::{phases, reread, streams, sustained, transform, whole_file};

/// An action that experiments may name.
#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) name: &'static str,
    /// Creates the work of one trial, or returns the error in its settings.
    pub(crate) parse: fn(Settings) -> ParsedWorkload,
}

pub(crate) const ACTIONS: &[Action] = &[
    Action { name: "read", parse: access::read },
    Action { name: "write", parse: access::write },
    Action { name: "append", parse: append::parse },
    Action { name: "transform", parse: transform::parse },
    Action { name: "scan", parse: whole_file::scan },
    Action { name: "search", parse: whole_file::search },
    Action { name: "hash", parse: whole_file::hash },
    Action { name: "compare", parse: whole_file::compare },
    Action { name: "copy", parse: whole_file::copy },
    Action { name: "small-files", parse: whole_file::small_files },
    Action { name: "memory", parse: memory::parse },
    Action { name: "interface", parse: interface::parse },
    Action { name: "latency", parse: latency::parse },
    Action { name: "phases", parse: phases::parse },
    Action { name: "reread", parse: reread::parse },
    Action { name: "command", parse: command::parse },
    Action { name: "devices", parse: devices::parse },
    Action { name: "streams", parse: streams::parse },
    Action { name: "sustained", parse: sustained::parse },
];
