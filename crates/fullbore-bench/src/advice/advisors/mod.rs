//! The advisors: one question per file, in one list.

mod alignment;
mod allocation;
mod defaults;
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

use super::candidate::{Audience, Candidate};
use super::input::AdviceInput;

/// Derives advice from the cells.
pub(super) type Advisor = fn(&AdviceInput<'_>) -> Vec<Candidate>;

/// All advisors. A new one is a file and a line here.
pub(super) const ADVISORS: &[(Advisor, Audience)] = &[
    (defaults::advise, Audience::Defaults),
    (disks::advise, Audience::Conditions),
    (streams::advise, Audience::Conditions),
    (latency::advise, Audience::Conditions),
    (memory::advise, Audience::Conditions),
    (alignment::advise, Audience::Conditions),
    (interfaces::advise, Audience::Conditions),
    (stream_buffer::advise, Audience::Conditions),
    (peers::advise, Audience::Conditions),
    (profile::advise, Audience::Details),
    (request::advise, Audience::Details),
    (depth::advise, Audience::Details),
    (workers::advise, Audience::Details),
    (methods::advise, Audience::Details),
    (direct::advise, Audience::Details),
    (allocation::advise, Audience::Details),
    (random::advise, Audience::Details),
    (economy::advise, Audience::Details),
    (strategies::advise, Audience::Details),
    (variants::advise, Audience::Details),
    (settings::advise, Audience::Details),
];
