//! The advisors: one question a file, all in one list.

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

/// Looks at the cells and says what follows, if anything does.
pub(super) type Advisor = fn(&AdviceInput<'_>) -> Vec<Candidate>;

/// All of them. A new one is a file and a line here.
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

/// A way counts as at the peak from this share of it on: within the 3 % that the paper of 1997 calls repeatable.
const AT_PEAK: f64 = 0.97;
/// A saving of processor time is worth telling from this factor on.
const CHEAPER: f64 = 0.9;
