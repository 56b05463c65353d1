//! The claims of Riedel, van Ingen and Gray's figure 6: one, three and eight requests in flight, one disk and four.
//!
//! A throttled disk is accounted in slices of a tenth of a second and may use the rest of a slice later, so a request has
//! a cost and no latency. The paper's disks took a hundredth of a second for a chunk of 64 KiB; these take half a second
//! for a chunk: every size is eight times the paper's, and names give the paper's sizes.
//!
//! The figure's writes depend on the latency of a request; they are made on simulated disks, at the paper's sizes.

use super::*;

use super::timing::{CACHE, NO_CACHE, RATE, TURN, WAY};

/// A chunk takes half a second, five slices.
const LIMITS: Limits = (1_000_000, 1000);

/// Factor of all sizes here to the paper's.
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
    // The largest requests on one disk take too long and add nothing.
    let one = if request == 256 { String::new() } else { grid(1, 1.5) };
    format!("[[experiment]]\nname = 'striped'\ntitle = 'Figure 6'\naxis = 'depth'\n{one}{}", grid(4, 3.5))
}

#[test]
fn striping_needs_large_and_deep_requests() {
    let test = "figure_6::striping_needs_large_and_deep_requests";
    prove(
        MeterOptions { test, seconds: 150, precision: 0.05 },
        &REQUESTS,
        |request| format!("{request} KiB"),
        |_| Lab::new(&[LIMITS; 4], Shared::Nothing, 20 << 20),
        |request| experiments(*request),
        judge_stripes,
    );
}

fn judge_stripes(&request: &u64, document: &Document, judge: &mut Judge) {
    let disk = LIMITS.0 as f64;
    let of = |targets: u32, depth: u32| {
        let is = |cell: &&Cell| (cell.labels.targets, cell.labels.depth) == (Some(targets), Some(depth));
        let disks = rate(document.cells.iter().find(is).unwrap()) / disk;
        println!("{request} KiB, {depth} deep, {targets} disks: {disks:.2} disks' worth");
        disks
    };
    let [four_1, four_3, four_8] = DEPTHS.map(|depth| of(4, depth));
    if request < 256 {
        for one in DEPTHS.map(|depth| of(1, depth)) {
            judge.holds("depth has no effect on reads of one disk", (one - 1.0).abs() < 0.1);
        }
    }
    judge.holds("four disks are never slower than one", four_1 > 0.9 && four_3 > 0.9 && four_8 > 0.9);
    match request {
        8 => {
            judge.holds("one small request at a time uses one disk", four_1 < 1.5);
            judge.holds("depth speeds up small requests", four_1 < four_3 && four_3 < four_8);
            judge.holds("depth 8 about doubles small requests", (1.3..2.7).contains(&(four_8 / four_1)));
            judge.holds("eight small requests do not saturate four disks", four_8 < 3.0);
        }
        64 => {
            judge.holds("one request of a chunk at a time uses one disk", four_1 < 1.5);
            judge.holds("three requests of a chunk use about three disks", (2.2..3.6).contains(&four_3));
            judge.holds("half of the sum needs more than one at a time", four_1 < 2.0 && four_3 > 2.0);
            judge.holds("eight requests of a chunk use all four", four_8 > 3.5);
        }
        _ => {
            judge.holds("one request of four chunks uses four disks", four_1 > 3.3);
            judge.holds("large and deep requests reach the sum", four_8 > 3.7);
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct SimulatedDisks {
    disks: usize,
    write_cache: bool,
}

const PLAYED: [SimulatedDisks; 3] = [
    SimulatedDisks { disks: 1, write_cache: false },
    SimulatedDisks { disks: 1, write_cache: true },
    SimulatedDisks { disks: 4, write_cache: false },
];

/// Requests in KiB, the paper's.
const WRITES: [u64; 3] = [8, 16, 64];

fn played(played: SimulatedDisks) -> String {
    let grid = |settings: &str, requests: &[u64], depths: &[u32]| {
        let requests: Vec<String> = requests.iter().map(|request| format!("'{request}K'")).collect();
        format!(
            "
            [[experiment.grid]]
            {settings}
            request = [{}]
            depth = {depths:?}
            ramp_seconds = 0.2
            sample_seconds = 2.5
            ",
            requests.join(", ")
        )
    };
    let one = |action: &str| {
        format!("action = '{action}'\nstrategy = ['method=uring,cache=direct,workers=1,model=serial']")
    };
    let striped = |direction: &str| {
        format!(
            "action = 'devices'\nmode = 'striped'\ntargets = [4]\ndirection = '{direction}'
            strategy = ['method=uring,cache=direct,workers=1']"
        )
    };
    let grids = match played {
        SimulatedDisks { disks: 4, .. } => {
            grid(&striped("read"), &[8], &DEPTHS) + &grid(&striped("write"), &[8], &DEPTHS)
        }
        SimulatedDisks { write_cache: true, .. } => grid(&one("write"), &WRITES, &[1]),
        SimulatedDisks { .. } => grid(&one("write"), &WRITES, &DEPTHS) + &grid(&one("read"), &[8], &[1, 8]),
    };
    format!("[[experiment]]\nname = 'played'\ntitle = 'Figure 6'\naxis = 'depth'\n{grids}")
}

#[test]
fn deep_writes_make_up_for_a_write_cache() {
    let test = "figure_6::deep_writes_make_up_for_a_write_cache";
    prove(
        MeterOptions { test, seconds: 100, precision: 0.02 },
        &PLAYED,
        |played| format!("{played:?}"),
        |played| {
            let timing = if played.write_cache { CACHE } else { NO_CACHE };
            Latent::new(test, played.disks, timing, 24 << 20)
        },
        |disks| played(*disks),
        |played, document, judge| match played.disks {
            1 => judge_one(*played, document, judge),
            _ => judge_four(document, judge),
        },
    );
}

/// The rate of the cell with this action, request in KiB and depth.
fn found(document: &Document, action: &str, request: u64, depth: u32) -> f64 {
    let is = |cell: &Cell| {
        let labels = &cell.labels;
        (labels.operation.as_str(), labels.request_bytes, labels.depth)
            == (action, Some(request << 10), Some(depth))
    };
    rate(cell(document, is))
}

/// Least and greatest rate of writes of `request` KiB, one at a time: each loses a rotation and the time on its path.
fn lone_write(request: u64) -> [f64; 2] {
    let bytes = (request << 10) as f64;
    [TURN + WAY, TURN].map(|wait| bytes / (wait + bytes / RATE))
}

fn judge_one(played: SimulatedDisks, document: &Document, judge: &mut Judge) {
    let writes = |request: u64, depth: u32| found(document, "write", request, depth);
    let half = RATE / 2.0;
    if played.write_cache {
        for request in WRITES {
            judge.near(&format!("writes of {request} KiB"), writes(request, 1), RATE);
        }
        return;
    }
    for (request, depth) in WRITES.into_iter().flat_map(|request| DEPTHS.map(|depth| (request, depth))) {
        let [least, most] = lone_write(request).map(|lone| (f64::from(depth) * lone).min(RATE));
        judge.between(&format!("writes of {request} KiB, {depth} deep"), writes(request, depth), least, most);
    }
    for depth in [1, 8] {
        judge.near(&format!("reads of 8 KiB, {depth} deep"), found(document, "read", 8, depth), RATE);
    }
    judge.holds("writes reach half power with three of 16 KiB", writes(16, 3) > half && writes(8, 3) < half);
    judge.holds("writes reach half power with eight of 8 KiB", writes(8, 8) > half);
    judge
        .holds("eight writes of 8 KiB are over four times as fast as one", writes(8, 8) > 4.0 * writes(8, 1));
    judge.holds("three writes from 16 KiB up come close to a write cache", writes(16, 3) > 0.75 * RATE);
    judge.holds("three large writes equal a write cache", writes(64, 3) > 0.95 * RATE);
    judge.holds("one large write at a time does not", writes(64, 1) < 0.75 * RATE);
}

fn judge_four(document: &Document, judge: &mut Judge) {
    let of = |direction: &str| {
        DEPTHS.map(|depth| {
            let is = |cell: &Cell| cell.labels.operation == direction && cell.labels.depth == Some(depth);
            let disks = rate(cell(document, is)) / RATE;
            println!("{direction}s of 8 KiB, {depth} deep: {disks:.2} disks' worth");
            disks
        })
    };
    // Each disk reads ahead while another works, and the disks share no bus: the reads are those of the test above.
    let (reads, writes) = (of("read"), of("write"));
    let [least, most] = lone_write(8).map(|lone| lone / RATE);
    judge.between("writes at depth 1", writes[0], least, most);
    judge.holds("depth speeds up writes", writes[0] < writes[1] && writes[1] < writes[2]);
    judge.holds("eight small writes do not saturate four disks", writes[2] < 2.0);
    for (depth, (read, write)) in DEPTHS.into_iter().zip(reads.into_iter().zip(writes)) {
        judge.holds(&format!("at depth {depth}, writes are slower than reads"), write < 0.8 * read);
    }
}
