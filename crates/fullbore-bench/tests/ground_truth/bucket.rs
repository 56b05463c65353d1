//! Disks with a credit: a process serves requests at a burst rate while there is credit and at a sustained rate after;
//! idle time refills the credit. All four parameters are known. A disk without a credit has none.

use std::time::{Duration, Instant};

use fullbore_bench::document::Document;

use super::judging::Judge;
use super::lab::{MeterOptions, measures_here, prove};
use super::latent::{Latent, Timing, served_here};

/// A disk with a credit, in bytes or in requests. The rates are so low that a busy machine hardly delays the path to the
/// disk beyond the requests in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bucket {
    /// True if requests are limited, not bytes.
    requests: bool,
    /// Units per second while there is credit.
    burst: f64,
    /// Units per second after.
    sustained: f64,
    /// Units beyond the sustained rate.
    credit: f64,
    /// Credit regained per idle second.
    refill: f64,
}

const BYTES: Bucket = Bucket { requests: false, burst: 36e6, sustained: 12e6, credit: 36e6, refill: 8e6 };
const REQUESTS: Bucket =
    Bucket { requests: true, burst: 900.0, sustained: 240.0, credit: 900.0, refill: 180.0 };
/// The same speed at all times.
const NONE: Bucket = Bucket { requests: false, burst: 15e6, sustained: 15e6, credit: 0.0, refill: 0.0 };

impl Bucket {
    pub(crate) fn text(self) -> String {
        let Self { requests, burst, sustained, credit, refill } = self;
        format!("bucket {requests} {burst} {sustained} {credit} {refill}")
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.strip_prefix("bucket ")?.split(' ').collect();
        let number = |index: usize| words[index].parse().unwrap();
        let requests = words[0] == "true";
        Some(Self { requests, burst: number(1), sustained: number(2), credit: number(3), refill: number(4) })
    }
}

/// The credit of reads or that of writes.
#[derive(Debug, Clone, Copy)]
struct Account {
    level: f64,
    /// Time at which all requests are complete.
    free: Option<Instant>,
}

/// The timing of such a disk's requests; reads and writes have a credit each.
#[derive(Debug)]
pub(crate) struct BucketTiming {
    bucket: Bucket,
    accounts: [Account; 2],
}

impl BucketTiming {
    pub(crate) fn new(bucket: Bucket) -> Self {
        Self { bucket, accounts: [Account { level: bucket.credit, free: None }; 2] }
    }
}

impl Timing for BucketTiming {
    fn answers(&mut self, now: Instant, writes: bool, len: usize) -> Instant {
        let Bucket { requests, burst, sustained, credit, refill } = self.bucket;
        let account = &mut self.accounts[usize::from(writes)];
        let amount = if requests { 1.0 } else { len as f64 };
        let idle = account.free.map_or(Duration::ZERO, |free| now.saturating_duration_since(free));
        account.level = (account.level + refill * idle.as_secs_f64()).min(credit);
        // Each unit at the burst rate spends the part that the sustained rate does not cover.
        let price = 1.0 - sustained / burst;
        let fast = if price > 0.0 { amount.min(account.level / price) } else { amount };
        account.level -= fast * price;
        let seconds = fast / burst + (amount - fast) / sustained;
        let start = account.free.map_or(now, |free| free.max(now));
        let end = start + Duration::from_secs_f64(seconds);
        account.free = Some(end);
        end
    }
}

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
    const NAME: &str = "bucket::burst_credit_sustained_rate_and_refill_are_those_of_the_disk";
    if served_here() || measures_here() {
        return;
    }
    prove(
        &[BYTES, REQUESTS, NONE],
        |bucket| Latent::new(NAME, 1, &bucket.text(), 64 << 20),
        |bucket| MeterOptions { test: NAME, experiments: experiment(bucket), seconds: 60, precision: 0.02 },
        wrong_of,
    );
}

fn wrong_of(bucket: &Bucket, document: &Document) -> Vec<String> {
    let kind = if bucket.requests { "requests" } else { "bytes" };
    let mut judge = Judge::within(format!("{kind}, credit {}", bucket.credit), 0.05);
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
    judge.wrong
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
