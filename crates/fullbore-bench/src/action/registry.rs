//! The registry of actions. A new action is a file in this folder and a line here.

use super::one_way::Direction;
use super::settings::Settings;
use super::whole_file::Operation;
use super::workload::ParsedWorkload;
use super::{access, append, command, devices, interface, latency, memory};
use super::{phases, reread, streams, sustained, transform, whole_file};

#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) name: &'static str,
    pub(crate) parse: fn(Settings) -> ParsedWorkload,
}

pub(crate) const ACTIONS: &[Action] = &[
    Action { name: "read", parse: |given| access::parse(Direction::Read, given) },
    Action { name: "write", parse: |given| access::parse(Direction::Write, given) },
    Action { name: "append", parse: append::parse },
    Action { name: "transform", parse: transform::parse },
    Action { name: "scan", parse: |given| whole_file::parse(Operation::Scan, given) },
    Action { name: "search", parse: |given| whole_file::parse(Operation::Search, given) },
    Action { name: "hash", parse: |given| whole_file::parse(Operation::Hash, given) },
    Action { name: "compare", parse: |given| whole_file::parse(Operation::Compare, given) },
    Action { name: "copy", parse: |given| whole_file::parse(Operation::Copy, given) },
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
