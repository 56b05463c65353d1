//! The claims of Riedel, van Ingen and Gray's figure 6: one, three and eight requests in flight, one disk and four.
//!
//! A throttled disk deals in slices of a tenth of a second: what it did not use of one it may catch up on, so a request
//! has a cost and no latency. What the paper's disks did with chunks of 64 KiB, a hundredth of a second each, these do
//! with chunks that take half a second: every size is eight times the paper's, and sizes are told as the paper's.

use fullbore_bench::document::Document;

use super::judging::{Judge, rate};
use super::lab::{Lab, Limits, Shared, Task, measures_here, prove};

/// A chunk takes half a second, five slices.
const LIMITS: Limits = (1_000_000, 1000);

/// A chunk of 64 KiB, as large as all sizes here.
const SCALE: u64 = 8;

const DEPTHS: [u32; 3] = [1, 3, 8];

/// Requests in KiB of the paper.
const REQUESTS: [u64; 3] = [8, 64, 256];

fn experiments(request: u64) -> String {
    let grid = |targets: u32, seconds: f64| {
        format!(
            "
            [[experiment.grid]]
            action = 'devices'
            mode = 'striped'
            chunk = '{}K'
            strategy = ['method=uring,cache=direct,workers=1']
            request = ['{}K']
            depth = {DEPTHS:?}
            targets = [{targets}]
            sample_seconds = {seconds}
            ",
            64 * SCALE,
            request * SCALE,
        )
    };
    // What the largest do on one disk takes too long to see, and is nothing new.
    let one = if request == 256 { String::new() } else { grid(1, 1.5) };
    format!("[[experiment]]\nname = 'striped'\ntitle = 'Figure 6'\naxis = 'depth'\n{one}{}", grid(4, 3.5))
}

#[test]
fn striping_wants_large_and_deep_requests() {
    const NAME: &str = "figure_6::striping_wants_large_and_deep_requests";
    if measures_here() {
        return;
    }
    prove(
        &REQUESTS,
        |_| Lab::new(&[LIMITS; 4], Shared::Nothing, 20 << 20),
        |request| Task { test: NAME, experiments: experiments(*request), seconds: 100, precision: 0.05 },
        |request, document| wrong_of(*request, document),
    );
}

fn wrong_of(request: u64, document: &Document) -> Vec<String> {
    let disk = LIMITS.0 as f64;
    let of = |targets: u32, depth: u32| {
        let is = |cell: &&fullbore_bench::document::Cell| {
            (cell.labels.targets, cell.labels.depth) == (Some(targets), Some(depth))
        };
        let disks = rate(document.cells.iter().find(is).unwrap()) / disk;
        println!("{request} KiB, {depth} deep, {targets} disks: {disks:.2} disks' worth");
        disks
    };
    let mut judge = Judge::of(format!("{request} KiB"));
    let [four_1, four_3, four_8] = DEPTHS.map(|depth| of(4, depth));
    if request < 256 {
        for one in DEPTHS.map(|depth| of(1, depth)) {
            judge.holds("depth does nothing for the reads of one disk", (one - 1.0).abs() < 0.1);
        }
    }
    judge.holds("four disks are never slower than one", four_1 > 0.9 && four_3 > 0.9 && four_8 > 0.9);
    match request {
        8 => {
            judge.holds("one small request at a time uses one disk", four_1 < 1.5);
            judge.holds("small requests are faster the deeper", four_1 < four_3 && four_3 < four_8);
            judge.holds("eight deep about doubles small requests", (1.3..2.7).contains(&(four_8 / four_1)));
            judge.holds("eight small requests do not use four disks", four_8 < 3.0);
        }
        64 => {
            judge.holds("one request of a chunk at a time uses one disk", four_1 < 1.5);
            judge.holds("three requests of a chunk use about three", (2.2..3.6).contains(&four_3));
            judge.holds("half of the sum takes more than one at a time", four_1 < 2.0 && four_3 > 2.0);
            judge.holds("eight requests of a chunk use all four", four_8 > 3.5);
        }
        _ => {
            judge.holds("one request of four chunks uses four disks", four_1 > 3.3);
            judge.holds("large and deep requests reach the sum", four_8 > 3.7);
        }
    }
    judge.wrong
}
