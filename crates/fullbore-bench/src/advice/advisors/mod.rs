//! The advisors: one question per file, in one list.

mod alignment;
mod allocation;
mod depth;
mod direct;
mod disks;
mod economy;
mod interfaces;
mod latency;
mod memory;
mod methods;
mod peers;
mod profile;
mod random;
mod request;
mod settings;
mod strategies;
mod stream_buffer;
mod streams;
mod variants;
mod workers;

pub(super) use alignment::{off as offset_words, pairs as alignment_pairs};
pub(super) use allocation::{groups as allocation_groups, with as allocation_with};
pub(super) use direct::pairs as direct_pairs;
pub(super) use disks::{describe_disks, disk_sweeps};

use super::candidate::Candidate;
use super::input::AdviceInput;

/// Derives advice from the cells.
pub(super) type Advisor = fn(&AdviceInput<'_>) -> Vec<Candidate>;

/// All advisors. A new one is a file and a line here.
pub(super) const ADVISORS: &[Advisor] = &[
    profile::advise,
    request::advise,
    depth::advise,
    workers::advise,
    methods::advise,
    direct::advise,
    allocation::advise,
    alignment::advise,
    random::advise,
    economy::advise,
    interfaces::advise,
    strategies::advise,
    variants::advise,
    settings::advise,
    stream_buffer::advise,
    disks::advise,
    streams::advise,
    latency::advise,
    memory::advise,
    peers::advise,
];
