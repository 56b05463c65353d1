//! A slow file among quick ones: the results before it are printed immediately, even while workers wait for it.

use crate::support::*;
use std::io::{BufRead, BufReader};

// A named pipe.
#[cfg(unix)]
#[test]
fn results_before_a_slow_file_are_printed() {
    let dir = TestDir::new();
    let names: Vec<String> = (0..60).map(|number| format!("{number:02}")).collect();
    names.iter().for_each(|name| drop(dir.file(name, format!("content of {name}\n"))));
    fs::remove_file(dir.at("37")).unwrap();
    dir.fifo("37");
    for tool in ["wc -c", "sum", "sum -a crc32c", "grep content"] {
        for workers in ["1", "2", "3", "8"] {
            let mut command = dir.command(&format!("{tool} --workers {workers}"));
            let mut running = start_unread(command.args(&names));
            let mut lines = BufReader::new(running.child.stdout.take().unwrap()).lines();
            // The pipe has no writer yet. Reading the first lines is the test: otherwise it hangs.
            for (number, name) in names.iter().enumerate() {
                if number == 37 {
                    fs::write(dir.at("37"), "content at last\n").unwrap();
                }
                let line = lines.next().unwrap().unwrap();
                assert!(line.contains(name.as_str()), "{tool} {workers}: {line}");
            }
            drop(lines);
            running.end().succeeds();
        }
    }
}

#[test]
fn name_is_processed_when_it_arrives() {
    let dir = TestDir::new();
    let names = ["one", "two", "three"];
    let sums = run(fullbore(["sum"]).args(names.map(|name| dir.file(name, name)))).succeeds().text();
    let list: Vec<String> = names.iter().map(|name| format!("{}\0", dir.at(name).display())).collect();
    let claims: Vec<String> = sums.lines().map(|line| format!("{line}\n")).collect();
    for (words, said) in [(&["wc", "-c", "--files0-from=-"][..], list), (&["sum", "-c"], claims)] {
        for workers in ["1", "4"] {
            let mut command = fullbore(words);
            command.args(["--workers", workers]).stdin(Stdio::piped());
            let mut running = start_unread(&mut command);
            let mut lines = BufReader::new(running.child.stdout.take().unwrap()).lines();
            let mut input = running.child.stdin.take().unwrap();
            for (name, said) in names.iter().zip(&said) {
                input.write_all(said.as_bytes()).unwrap();
                let line = lines.next().unwrap().unwrap();
                assert!(line.contains(name), "{words:?} {workers}: {line}");
            }
            drop(input);
            lines.for_each(|line| drop(line.unwrap()));
            running.end().succeeds();
        }
    }
}
