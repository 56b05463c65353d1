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
    let paths = [dir.file("a", &inputs[0]), dir.file("b", &inputs[1])];
    let output = dir.file("out", &inputs[1]);
    let ways: Vec<Vec<&str>> = ["none", "data", "full"]
        .into_iter()
        .flat_map(|sync| {
            ["auto", "cci", "cci-mt", "cci-mm"].map(|strategy| vec!["--sync", sync, "--strategy", strategy])
        })
        .collect();
    // Duration of each kind of run undisturbed, so that kills are spread over all of it.
    let longest: Vec<Duration> = ways
        .iter()
        .map(|way| {
            let begin = Instant::now();
            run(&mut transform("none", &paths[1], &output, way)).succeeds();
            begin.elapsed()
        })
        .collect();
    let (mut there, mut rounds, mut killed) = (1, 0usize, 0);
    let mut outcomes = BTreeSet::new();
    let begin = Instant::now();
    while begin.elapsed() < ROUNDS || rounds < ways.len() {
        let way = rounds % ways.len();
        let coming = 1 - there;
        let mut running = start(&mut transform("none", &paths[coming], &output, &ways[way]));
        // A sequence that is evenly distributed (multiples of the golden ratio).
        sleep(longest[way].mul_f64((rounds as f64 * 0.618_034).fract() * 1.1));
        running.kill();
        let ended = running.end();
        rounds += 1;
        killed += u32::from(ended.code() == KILLED);
        let found = fs::read(&output).unwrap();
        if found == inputs[coming] {
            there = coming;
        } else {
            assert!(found == inputs[there], "{:?}, round {rounds}: neither old nor new", ways[way]);
            assert_eq!(ended.code(), KILLED, "{:?}, round {rounds}: {ended}", ways[way]);
        }
        outcomes.insert((ended.code(), there == coming));
        for name in dir.names() {
            if !["a", "b", "out"].contains(&name.as_str()) {
                assert!(name.starts_with(".out.fullbore-"), "{:?}: {name} was left behind", ways[way]);
                fs::remove_file(dir.at(&name)).unwrap();
            }
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
