//! SIGKILL at many moments of a run: the output is the complete old file or the complete new one, and files left in its
//! directory are hidden.

use crate::support::*;

/// Duration of the rounds.
const ROUNDS: Duration = Duration::from_secs(5);
/// The length of a file whose transformation can be interrupted in the middle.
pub(crate) const SHIFTED: usize = 48 << 20;

/// Long enough to be interrupted in the middle, short enough for many rounds.
const LENGTH: usize = 12 << 20;

#[test]
fn killed_copy_leaves_the_old_file_or_the_new_one() {
    if !fullbore_testkit::runs_all("copies that are killed") {
        return;
    }
    let dir = TestDir::new();
    let inputs = [bytes(LENGTH, 11), bytes(LENGTH + 4567, 12)];
    dir.file("0", &inputs[0]);
    dir.file("1", &inputs[1]);
    dir.file("out", &inputs[1]);
    let strategies = ["auto", "cci", "cci-mt", "cci-mm"];
    let copy = |input: usize, way: usize| {
        let (sync, strategy) = (["none", "data", "full"][way / 4], strategies[way % 4]);
        dir.command(&format!("transform none {input} out --sync {sync} --strategy {strategy}"))
    };
    // Duration of each kind of run undisturbed, so that kills are spread over all of it.
    let longest = std::array::from_fn::<_, 12, _>(|way| {
        let begin = Instant::now();
        run(&mut copy(1, way)).succeeds();
        begin.elapsed()
    });
    let (mut there, mut rounds, mut killed) = (1, 0usize, 0);
    let mut outcomes = BTreeSet::new();
    let begin = Instant::now();
    while begin.elapsed() < ROUNDS || rounds < longest.len() {
        let (way, coming) = (rounds % longest.len(), 1 - there);
        let mut running = start(&mut copy(coming, way));
        // A sequence that is evenly distributed (multiples of the golden ratio).
        sleep(longest[way].mul_f64((rounds as f64 * 0.618_034).fract() * 1.1));
        running.kill();
        let ended = running.end();
        rounds += 1;
        killed += u32::from(ended.code() == KILLED);
        let found = dir.read("out");
        if found == inputs[coming] {
            there = coming;
        } else {
            assert!(found == inputs[there], "way {way}, round {rounds}: neither old nor new");
            assert_eq!(ended.code(), KILLED, "way {way}, round {rounds}: {ended}");
        }
        outcomes.insert((ended.code(), there == coming));
        for name in dir.names().iter().filter(|name| !["0", "1", "out"].contains(&name.as_str())) {
            assert!(name.starts_with(".out.fullbore-"), "way {way}: {name} was left behind");
            fs::remove_file(dir.at(name)).unwrap();
        }
    }
    println!("{killed} of {rounds} runs were killed before their end");
    assert!(outcomes.contains(&(KILLED, false)), "no run was killed in the middle");
    assert!(killed >= 10, "{killed} of {rounds}");
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

#[test]
fn killed_run_leaves_the_old_file() {
    let dir = TestDir::new();
    dir.file("in", bytes(SHIFTED, 2));
    let longest = undisturbed(&dir, "auto");
    let new = dir.read("scratch");
    let mut killed = 0;
    for delay in delays(8, longest) {
        let output = dir.file("out", "old");
        let mut running = start(&mut dir.command("transform shift:1 in out"));
        sleep(delay);
        running.kill();
        let ended = running.end();
        let found = fs::read(&output).unwrap();
        assert!(found == b"old" || found == new, "after {delay:?}: neither old nor new");
        killed += u32::from(ended.code() == KILLED && found == b"old");
    }
    assert!(killed > 0, "no run was killed in the middle");
}
