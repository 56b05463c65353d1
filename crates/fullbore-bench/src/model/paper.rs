//! The model checked against the paper of 1997: from the paper's disks, bus and processor it computes the
//! paper's figures 2, 3 and 6 and section 4.

use super::law::{Flights, Load, PathLaw};
use super::path::Requests;

const KB: u64 = 1 << 10;
const MB: f64 = 1e6;
/// One turn of a disk at 7200 a minute, in seconds.
const TURN: f64 = 60.0 / 7200.0;
/// Bytes per second of the media of the Fast-Wide and the Ultra-Wide disk (section 3).
const FAST: f64 = 6.5 * MB;
const ULTRA: f64 = 8.5 * MB;
/// Bytes per second of the Fast-Wide bus (section 4).
const BUS: f64 = 16.0 * MB;

fn law([request, bytes, disk_requests, disk_bytes, bus_bytes]: [f64; 5]) -> PathLaw {
    let parameters = [request, bytes, disk_requests, disk_bytes, bus_bytes, 0.0];
    PathLaw { overlap: f64::INFINITY, piece: 64.0 * 1024.0, processors: 1.0, parameters }
}

fn rate(law: &PathLaw, requests: Requests) -> f64 {
    let load = requests.load(None);
    load.rate(law.time(&load))
}

fn one_disk(bytes: u64, depth: u32) -> Requests {
    Requests { bytes, depth, workers: 1, disks: 1, chunk: None, flights: Flights::One }
}

fn stripe(bytes: u64, depth: u32, disks: u32) -> Requests {
    Requests { bytes, depth, workers: 1, disks, chunk: Some(64 * KB), flights: Flights::One }
}

/// Reads: the disk reads ahead, so a request and the media overlap; the request takes `request_s`.
fn reads(request_s: f64, media: f64, bus: Option<f64>) -> PathLaw {
    law([request_s, 0.0, 0.0, 1.0 / media, bus.map_or(0.0, |bus| 1.0 / bus)])
}

/// Writes without the disk's cache: each waits for a turn, then for its bytes.
fn writes(media: f64) -> PathLaw {
    law([TURN, 1.0 / media, 0.0, 1.0 / media, 0.0])
}

/// A Fast-Wide disk reaches its media rate with 8 KB, so a request takes no longer than those bytes.
const FAST_REQUEST: f64 = 8192.0 / FAST;

fn near(found: f64, paper: f64, tolerance: f64) {
    assert!((found / paper - 1.0).abs() <= tolerance, "{found} instead of {paper}");
}

#[test]
fn figure_2_is_that_of_the_processor() {
    // 120 µs, or 10,000 instructions, a request, and 2 instructions a byte (section 3).
    let buffered = law([120e-6, 2.0 * 120e-6 / 10_000.0, 0.0, 0.0, 0.0]);
    let whole = PathLaw { piece: f64::INFINITY, ..buffered };
    near(rate(&whole, one_disk(64 * KB, 1)), 50.0 * MB, 0.25);
    near(rate(&whole, one_disk(2 * KB, 1)), 16.0 * MB, 0.25);
    // Unbuffered transfers have almost no cost per byte.
    let unbuffered = law([120e-6, 0.0, 0.0, 0.0, 0.0]);
    near(rate(&unbuffered, one_disk(64 * KB, 1)), 480.0 * MB, 0.15);
}

#[test]
fn figure_3_is_that_of_one_request_at_a_time() {
    let (fast, ultra) = (reads(FAST_REQUEST, FAST, None), reads(4096.0 / ULTRA, ULTRA, None));
    for bytes in [8 * KB, 64 * KB, 1024 * KB] {
        near(rate(&fast, one_disk(bytes, 1)), FAST, 0.01);
        near(rate(&ultra, one_disk(bytes, 1)), ULTRA, 0.01);
    }
    near(rate(&fast, one_disk(4 * KB, 1)), FAST / 2.0, 0.01);
    // Writes grow gradually; half of the media rate needs 64 to 128 KB, and all of it more than 256 KB would.
    let slow = writes(ULTRA);
    assert!(rate(&slow, one_disk(32 * KB, 1)) < ULTRA / 2.0);
    assert!(rate(&slow, one_disk(128 * KB, 1)) >= ULTRA / 2.0);
}

#[test]
fn figure_6_is_that_of_the_depth() {
    let reads = reads(FAST_REQUEST, FAST, Some(BUS));
    for depth in [1, 3, 8] {
        near(rate(&reads, one_disk(8 * KB, depth)), FAST, 0.01);
    }
    let writes = writes(FAST);
    let of = |bytes, depth| rate(&writes, one_disk(bytes, depth));
    let half = FAST / 2.0;
    assert!(of(16 * KB, 3) >= half && of(8 * KB, 8) >= half, "3 deep 16 KB, 8 deep 8 KB");
    assert!(of(8 * KB, 3) < half && of(4 * KB, 3) < half);
    assert!(of(8 * KB, 8) >= 4.0 * of(8 * KB, 1), "4 times synchronous writes");
    // Four disks: eight requests of 8 KB nearly double one disk's, and large ones fill the bus.
    let four = |bytes, depth| rate(&reads, stripe(bytes, depth, 4));
    near(four(8 * KB, 8) / four(8 * KB, 1), 1.875, 0.01);
    for bytes in [64 * KB, 256 * KB] {
        near(four(bytes, 8), BUS, 0.01);
    }
}

#[test]
fn section_4_is_that_of_the_buses() {
    // Disks of 6 MB/s: two are below the bus, three fill it, and a fourth adds nothing.
    let law = reads(FAST_REQUEST, 6.0 * MB, Some(BUS));
    for (disks, expected) in [(1, 6.0), (2, 12.0), (3, 16.0), (4, 16.0)] {
        near(rate(&law, stripe(64 * KB, 8, disks)), expected * MB, 0.01);
    }
    // Ultra-Wide buses of 30 MB/s on a PCI bus of 72 MB/s: one, two, three, four.
    let pci = reads(0.0, 30.0 * MB, Some(72.0 * MB));
    for (buses, expected) in [(1.0, 30.0), (2.0, 60.0), (3.0, 72.0), (4.0, 72.0)] {
        let load = Load { bytes: 65_536.0, in_flight: 8.0, disks: buses };
        near(load.rate(pci.time(&load)), expected * MB, 0.01);
    }
}
