//! SIGKILL at many moments of a run: the output is the complete old file or the complete new one, and files left in its
//! directory are hidden.

use crate::support::*;

/// Duration of all rounds.
const ROUNDS: Duration = Duration::from_secs(5);
/// The length of a file whose transformation can be interrupted in the middle.
pub(crate) const SHIFTED: usize = 48 << 20;

/// Long enough to be interrupted in the middle, short enough for many rounds.
const LENGTH: usize = 12 << 20;

#[test]
fn killed_run_leaves_the_old_file_or_the_new_one() {
    let all = fullbore_testkit::runs_all("more than one killed run of each kind");
    let dir = TestDir::new();
    let inputs = [bytes(LENGTH, 11), bytes(LENGTH + 4567, 12)];
    dir.file("0", &inputs[0]);
    dir.file("1", &inputs[1]);
    let outputs = inputs.map(|data| data.iter().map(|byte| byte.wrapping_add(1)).collect::<Vec<_>>());
    dir.file("out", &outputs[1]);
    let strategies = ["auto", "cci", "cci-mt", "cci-mm"];
    let shift = |input: usize, way: usize| {
        let (sync, strategy) = (["none", "data", "full"][way / 4], strategies[way % 4]);
        dir.command(&format!("transform shift:1 {input} out --sync {sync} --strategy {strategy}"))
    };
    // Duration of each kind of run undisturbed, so that kills are spread over all of it.
    let longest = std::array::from_fn::<_, 12, _>(|way| {
        let begin = Instant::now();
        run(&mut shift(way % 2, way)).succeeds();
        let elapsed = begin.elapsed();
        assert!(dir.read("out") == outputs[way % 2], "way {way}");
        elapsed
    });
    let (mut there, mut rounds, mut killed) = (1, 0usize, 0);
    let begin = Instant::now();
    // Further rounds if the machine was busy while the runs were timed.
    while rounds < longest.len() || killed < 3 && rounds < 60 || all && begin.elapsed() < ROUNDS {
        let (way, coming) = (rounds % longest.len(), 1 - there);
        let mut running = start(&mut shift(coming, way));
        // A sequence that is evenly distributed (multiples of the golden ratio).
        sleep(longest[way].mul_f64((rounds as f64 * 0.618_034).fract() * 1.1));
        running.kill();
        let ended = running.end();
        rounds += 1;
        let found = dir.read("out");
        if found == outputs[coming] {
            there = coming;
        } else {
            assert!(found == outputs[there], "way {way}, round {rounds}: neither old nor new");
            assert_eq!(ended.code(), KILLED, "way {way}, round {rounds}: {ended}");
            killed += 1;
        }
        for name in dir.names().iter().filter(|name| !["0", "1", "out"].contains(&name.as_str())) {
            assert!(name.starts_with(".out.fullbore-"), "way {way}: {name} was left behind");
            fs::remove_file(dir.at(name)).unwrap();
        }
    }
    println!("{killed} of {rounds} runs were killed in the middle");
    assert!(killed >= 3, "{killed} of {rounds}");
}

/// Delays spread over a run, more of them early, from a fixed seed.
pub(crate) fn delays(count: u32, longest: Duration) -> impl Iterator<Item = Duration> {
    bytes(count as usize, 99).into_iter().map(move |byte| longest.mul_f64((f64::from(byte) / 255.0).powi(2)))
}

/// Returns the duration of an undisturbed run.
pub(crate) fn undisturbed(dir: &TestDir, strategy: &str) -> Duration {
    let start = Instant::now();
    dir.run(&format!("transform shift:1 in scratch --strategy {strategy}")).succeeds();
    start.elapsed()
}
