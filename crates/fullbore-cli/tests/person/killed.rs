//! SIGKILL at many moments of a copy: the destination is the complete old file or the complete new one, and files left
//! in its directory are hidden.

use crate::support::*;
/// Duration of the rounds.
const ROUNDS: Duration = Duration::from_secs(5);
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
