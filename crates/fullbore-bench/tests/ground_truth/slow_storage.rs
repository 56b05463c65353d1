//! Quick runs on storage as slow as hard disks: fewer cells of the device are measured, and their figures are definite.

use super::*;

use fullbore_bench::document::{CacheState, Operation, Order};
use fullbore_bench::experiment::QUICK;

/// Bytes and requests per second.
const LIMITS: [Limits; 2] = [(100_000_000, 120), (60_000_000, 80)];

/// Greatest relative error of a figure of the device, and greatest relative half-width of its interval.
const TOLERANCE: f64 = 0.05;

#[test]
fn quick_runs_measure_fewer_cells_definitely() {
    let test = "slow_storage::quick_runs_measure_fewer_cells_definitely";
    prove(
        MeterOptions { test, seconds: 84, precision: 0.025 },
        &LIMITS,
        |(bps, iops)| format!("{bps} B/s, {iops}/s"),
        |limits| Lab::new(&[*limits], Shared::Nothing, 2 << 30).map(|lab| lab.with_files_of(128 << 20)),
        |_| QUICK.into(),
        judge,
    );
}

fn judge(&(bps, iops): &Limits, document: &Document, judge: &mut Judge) {
    judge.tolerance = TOLERANCE;
    let measured: Vec<&Cell> = document.cells.iter().filter(|cell| cell.summary.is_some()).collect();
    let of_device =
        |cell: &&Cell| cell.labels.bypasses_cache() || cell.labels.cache == Some(CacheState::Cold);
    let cells = document.cells.iter().filter(of_device).count();
    let kept = measured.iter().copied().filter(of_device).count();
    println!("{} of {} cells, of the device {kept} of {cells}", measured.len(), document.cells.len());
    judge.holds("cells of the device are left out", kept < cells);
    // The slower disk has time for fewer.
    let sized = if bps < LIMITS[0].0 { &[][..] } else { &[Operation::Read, Operation::Write] };
    for operation in sized {
        let path = |cell: &&&Cell| {
            cell.experiment == operation.as_str()
                && cell.labels.operation == *operation
                && cell.labels.bypasses_cache()
        };
        let sizes = measured.iter().filter(path).count();
        judge.holds(&format!("request sizes of {operation}s: {sizes}"), sizes > 1);
    }
    let is_told = |cell: &Cell| cell.summary.is_some() || cell.skipped.is_some();
    judge.holds("cells left out have a reason", document.cells.iter().all(is_told));
    let mut kinds = [0; 3];
    for cell in measured {
        let name = cell.labels.describe();
        let (Some(request), Some(summary)) = (cell.labels.request_bytes, &cell.summary) else { continue };
        let truth = (iops * request).min(bps) as f64;
        let (reads, random) =
            (cell.labels.operation == Operation::Read, cell.labels.order == Some(Order::Random));
        // Runs over whole files are shorter than the limiter's periods allow.
        let in_parts = [Operation::Read, Operation::Write].contains(&cell.labels.operation);
        if cell.labels.bypasses_cache() && in_parts {
            judge.near(&name, rate(cell), truth);
            let half_width = summary.rate.relative_half_width();
            judge.holds(&format!("{name}: half-width of {half_width:.3}"), half_width <= TOLERANCE);
            kinds[if random { 0 } else { 1 + usize::from(!reads) }] += 1;
        } else if reads && cell.labels.cache == Some(CacheState::Cold) {
            // The system chooses the requests of the device. The throttle lets some more through for up to half a second.
            judge.between(&name, summary.rate.low, 0.0, 1.05 * bps as f64);
        }
    }
    judge.holds(&format!("random reads, reads, writes: {kinds:?}"), kinds.iter().all(|&cells| cells > 0));
    let limit = document.findings.limits.iter().find(|limit| limit.operation == "read");
    judge.near("limit of requests", limit.and_then(|limit| limit.requests_per_s).unwrap_or(0.0), iops as f64);
}
