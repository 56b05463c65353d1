//! `fullbore probe`: any path, without blocking and without leaving files.

use crate::support::*;
#[cfg(unix)]
use std::os::unix::net::UnixListener;

/// Access methods that work for every regular file of the system.
const METHODS: &[&str] = match cfg!(windows) {
    true => &["buffered", "mmap", "stdio", "vectored", "port", "event", "routine"],
    false => &["buffered", "mmap", "stdio", "vectored", "splice"],
};

fn facts(path: &Path) -> Value {
    run(fullbore(["probe", "--json"]).arg(path)).succeeds().json()
}

fn works(facts: &Value) -> Vec<&str> {
    let engines = facts["engines"].as_array().unwrap();
    for engine in engines {
        assert!(!engine["summary"].as_str().unwrap().is_empty());
        assert!(engine["works"] == true || engine["reason"].is_string(), "{engine}");
    }
    assert_eq!(engines.len(), fullbore::engine::METHODS.len() - 1, "every method is listed");
    let working = engines.iter().filter(|engine| engine["works"] == true);
    working.map(|engine| engine["name"].as_str().unwrap()).collect()
}

#[test]
fn file_report_is_complete() {
    let dir = TestDir::new();
    let data = bytes(123_456, 1);
    let file = dir.file("file", &data);
    let found = facts(&file);
    assert_eq!((found["kind"].as_str(), found["file"]["size"].as_u64()), (Some("regular"), Some(123_456)));
    assert!(found["file_system"]["kind"].is_string());
    for method in METHODS {
        assert!(works(&found).contains(method), "{method}: {found}");
    }
    let text = dir.run("probe file").succeeds().text();
    assert_contains(
        &text,
        &["kind", "regular file", "file system", "direct I/O", "access methods", "buffered", "page cache"],
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(fs::read(&file).unwrap() == data);
    assert_eq!(dir.names(), ["file"]);
}

#[test]
fn directory_is_probed_with_a_temporary_file() {
    let dir = TestDir::new();
    let found = facts(dir.path());
    assert_eq!(found["kind"], "directory");
    assert!(METHODS.iter().all(|method| works(&found).contains(method)), "{found}");
    assert_eq!(dir.names(), [""; 0]);
    #[cfg(unix)]
    {
        let Some(person) = Unprivileged::new() else { return };
        let text = run(&mut person.command(["probe", "/usr"])).succeeds().text();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("not tried: cannot create a file in /usr: Permission denied"), "{text}");
    }
}

// Named pipes, sockets and devices of Unix, `/proc`.
#[cfg(unix)]
#[test]
fn pipes_do_not_block() {
    let dir = TestDir::new();
    dir.fifo("pipe");
    let _listener = UnixListener::bind(dir.at("socket")).unwrap();
    for (name, kind, methods) in [
        ("pipe", "fifo", &["buffered"][..]),
        ("socket", "socket", &[]),
        ("/dev/null", "character_device", &["buffered"]),
        ("/dev/zero", "character_device", &["buffered"]),
        ("/proc/self/status", "regular", &["buffered"]),
        ("/proc/kmsg", "regular", &["buffered"]),
        ("/proc", "directory", &[]),
    ] {
        if !dir.at(name).exists() {
            println!("skipped: {name}: does not exist");
            continue;
        }
        let found = facts(&dir.at(name));
        assert_eq!(found["kind"], kind, "{name}");
        assert_eq!(works(&found), methods, "{name}");
        dir.run(&format!("probe {name}")).succeeds();
    }
    for device in ["/dev/loop0", "/dev/vda", "/dev/sda", "/dev/nvme0n1"] {
        if Path::new(device).exists() {
            assert_eq!(facts(device.as_ref())["kind"], "block_device");
        } else {
            println!("skipped: {device}: does not exist");
        }
    }
}

#[test]
fn missing_path_is_reported() {
    let dir = TestDir::new();
    dir.run("probe missing").fails(2, &["missing", "no such file"]);
    dir.run("probe").fails(2, &["PATH"]);
    #[cfg(unix)]
    {
        symlink("nowhere", dir.at("dangling")).unwrap();
        dir.run("probe --json dangling").fails(2, &["dangling", "link", "nowhere"]);
        symlink("loop", dir.at("loop")).unwrap();
        dir.run("probe loop").fails(2, &["loop", &system_text(40)]);
        dir.file("file", "x");
        symlink("file", dir.at("link")).unwrap();
        assert_eq!(facts(&dir.at("link"))["link_target"], "file");
    }
}

// Permission bits.
#[cfg(unix)]
#[test]
fn unreadable_file_is_reported_in_part() {
    let dir = TestDir::open_to_all();
    let secret = dir.file("secret", "x");
    dir.set_mode("secret", 0o000);
    let Some(person) = Unprivileged::new() else { return };
    let text = run(person.command(["probe"]).arg(&secret)).succeeds().text();
    assert_contains(&text, &["regular file", "Permission denied", "no: not tried"]);
}
