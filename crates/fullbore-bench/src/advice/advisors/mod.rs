//! The advisors, in one table: the cells that each compares, and its advice on them.

mod axes;
mod files;
mod methods;

pub(super) use axes::{describe_disks, disk_sweeps};
pub(crate) use files::is_common_default;
pub(super) use files::{alignment_pairs, allocation_groups, offset_words, with_growth};
pub(super) use methods::direct_pairs;

use self::Advisor::{Any, Axis, Grouped, Sweeps};
use super::candidate::{Audience, Candidate};
use super::input::{AdviceInput, EligibleCell, by_task};
use super::sweep::{DEPTH, LOAD, STREAMS, Sweep, SweepAxis, WORKERS, sweeps};

type Cells = for<'a> fn(&AdviceInput<'a>) -> Vec<EligibleCell<'a>>;
type Groups = for<'a> fn(&AdviceInput<'a>) -> Vec<Vec<EligibleCell<'a>>>;
type OfGroup = fn(&[EligibleCell<'_>]) -> Option<Candidate>;
type OfSweep = fn(&Sweep<'_>) -> Option<Candidate>;

/// The advice on cells that differ along an axis or within a group, or on any others.
enum Advisor {
    Axis(Cells, &'static SweepAxis, OfSweep),
    Sweeps(for<'a> fn(&AdviceInput<'a>) -> Vec<Sweep<'a>>, OfSweep),
    Grouped(Groups, OfGroup),
    Any(fn(&AdviceInput<'_>) -> Vec<Candidate>),
}

/// All advisors. A new one is a function and a line here.
const ADVISORS: &[(Advisor, Audience)] = &[
    (Any(files::defaults), Audience::Defaults),
    (Sweeps(disk_sweeps, axes::disks), Audience::Conditions),
    (Axis(|input| input.ours(), &STREAMS, axes::streams), Audience::Conditions),
    (Axis(|input| input.ours(), &LOAD, axes::latency), Audience::Conditions),
    (Any(axes::memory), Audience::Conditions),
    (Any(files::alignment), Audience::Conditions),
    (Grouped(methods::interfaces, methods::interface), Audience::Conditions),
    (Grouped(methods::stream_buffers, methods::stream_buffer), Audience::Conditions),
    (Any(files::peers), Audience::Conditions),
    (Any(files::profile), Audience::Details),
    (Sweeps(axes::request_sweeps, axes::request), Audience::Details),
    (Axis(axes::sequential, &DEPTH, axes::depth), Audience::Details),
    (Axis(|input| input.own(), &WORKERS, axes::workers), Audience::Details),
    (Grouped(methods::free, methods::fastest_method), Audience::Details),
    (Any(methods::direct), Audience::Details),
    (Grouped(allocation_groups, files::preallocating), Audience::Details),
    (Grouped(allocation_groups, files::overwriting), Audience::Details),
    (Grouped(methods::small_random, methods::random), Audience::Details),
    (Grouped(|input| by_task(&input.own()), methods::economy), Audience::Details),
    (Any(files::auto), Audience::Details),
    (Grouped(files::whole_files, files::family), Audience::Details),
    (Grouped(methods::variants, methods::variant), Audience::Details),
    (Any(methods::settings), Audience::Details),
];

pub(super) fn candidates(input: &AdviceInput<'_>) -> Vec<(Audience, Candidate)> {
    let of = |(advisor, audience): &(Advisor, Audience)| {
        let found: Vec<Candidate> = match advisor {
            Axis(cells, axis, of) => sweeps(&cells(input), axis).iter().filter_map(of).collect(),
            Sweeps(all, of) => all(input).iter().filter_map(of).collect(),
            Grouped(groups, of) => groups(input).iter().filter_map(|group| of(group)).collect(),
            Any(of) => of(input),
        };
        found.into_iter().map(|candidate| (*audience, candidate)).collect::<Vec<_>>()
    };
    ADVISORS.iter().flat_map(of).collect()
}
