//! Disks with a credit: a process serves requests at a burst rate while there is credit and at a sustained rate after;
//! idle time refills the credit. All four parameters are known. A disk without a credit has none.

use super::*;

use super::timing::{BucketTiming, Timing};

const BYTES: Bucket = Bucket { requests: false, burst: 36e6, sustained: 12e6, credit: 36e6, refill: 8e6 };
const REQUESTS: Bucket =
    Bucket { requests: true, burst: 900.0, sustained: 240.0, credit: 900.0, refill: 180.0 };
/// The same speed at all times.
const NONE: Bucket = Bucket { requests: false, burst: 15e6, sustained: 15e6, credit: 0.0, refill: 0.0 };

/// Reads and writes of the kind that the disk limits.
fn experiment(bucket: &Bucket) -> String {
    let settings = match bucket.requests {
        true => {
            "order = 'random'\nstrategy = ['method=uring,cache=direct,request=4K,depth=32,workers=1,model=serial']"
        }
        false => "strategy = ['method=uring,cache=direct,request=128K,depth=32,workers=1,model=serial']",
    };
    format!(
        "[[experiment]]\nname = 'sustained'\ntitle = 'Sustained'\naxis = 'none'\nfigures = ['course']
        [[experiment.grid]]\naction = 'sustained'\ndirection = ['read', 'write']\n{settings}"
    )
}

#[test]
fn burst_credit_sustained_rate_and_refill_are_those_of_the_disk() {
    let test = "bucket::burst_credit_sustained_rate_and_refill_are_those_of_the_disk";
    prove(
        MeterOptions { test, seconds: 60, precision: 0.02 },
        &[BYTES, REQUESTS, NONE],
        |bucket| format!("{}, credit {}", if bucket.requests { "requests" } else { "bytes" }, bucket.credit),
        |bucket| Latent::new(test, 1, &bucket.text(), 64 << 20),
        experiment,
        judge,
    );
}

fn judge(bucket: &Bucket, document: &Document, judge: &mut Judge) {
    judge.tolerance = 0.05;
    let found = &document.findings.credit;
    judge.holds("both directions are fitted", found.len() == 2);
    for credit in found {
        let (fit, operation) = (&credit.fit, &credit.operation);
        println!("{operation}: {}", credit.text());
        judge.near(&format!("{operation}: sustained"), fit.sustained.value, bucket.sustained);
        judge.holds(&format!("{operation}: the end is steady"), fit.steady);
        let Some(burst) = &fit.burst else {
            judge.holds(&format!("{operation}: no burst"), bucket.credit == 0.0);
            continue;
        };
        judge.holds(&format!("{operation}: a burst"), bucket.credit > 0.0);
        judge.near(&format!("{operation}: burst"), burst.rate.value, bucket.burst);
        judge.near(&format!("{operation}: credit"), burst.credit.value, bucket.credit);
        let refill = burst.refill.as_ref().filter(|refill| !refill.at_least);
        let refill = refill.map_or(f64::NAN, |refill| refill.rate.value);
        judge.near(&format!("{operation}: refill"), refill, bucket.refill);
    }
}

#[test]
fn a_credit_is_spent_at_the_burst_rate_and_refilled_while_idle() {
    let start = Instant::now();
    let mut timing = BucketTiming::new(REQUESTS);
    let seconds = |instant: Instant| (instant - start).as_secs_f64();
    // 900 beyond the sustained 240 per second at 900 per second; then 240 per second.
    let spent = 900.0 / (900.0 - 240.0);
    let mut end = start;
    for _ in 0..1500 {
        end = timing.answers(start, true, 4096);
    }
    assert!((seconds(end) - (spent + (1500.0 - spent * 900.0) / 240.0)).abs() < 1e-6, "{}", seconds(end));
    // Two idle seconds regain 360.
    let again = end + Duration::from_secs(2);
    for _ in 0..800 {
        end = timing.answers(again, true, 4096);
    }
    let spent = 360.0 / (900.0 - 240.0);
    assert!(((end - again).as_secs_f64() - (spent + (800.0 - spent * 900.0) / 240.0)).abs() < 1e-6);
    // The reads have their own credit.
    assert!(((timing.answers(start, false, 4096) - start).as_secs_f64() - 1.0 / 900.0).abs() < 1e-8);
    assert_eq!(Bucket::parse(&BYTES.text()), Some(BYTES));
}
