//! `fullbore profile`: shown, used and removed.

use crate::support::*;
use fullbore::file::File;
use fullbore::strategy::key;

/// Saves entries as from measurements of the directory's own file system and of another.
fn save(dir: &TestDir) {
    let here = key(&File::open(dir.file("here", "x")).unwrap()).unwrap();
    let measured = |strategy: &str, rate: f64| json!({ "strategy": strategy, "rate": rate, "low": rate * 0.9, "high": rate * 1.1 });
    let system = |directory: &Path, job: &str| {
        json!({
            "directory": directory,
            "entries": [{
                "job": job,
                "measured": "2026-01-02",
                "ranked": [measured("method=buffered,request=128K", 3.2e9), measured("cci-mm", 1.1e9)],
            }],
        })
    };
    let text = json!({
        "version": 1,
        "file_systems": {
            here: system(dir.path(), "transform to a new file, warm"),
            "another": system("/elsewhere".as_ref(), "read, cold"),
        },
    });
    dir.directories(["config/fullbore"]);
    dir.file("config/fullbore/profile.json", text.to_string());
}

#[test]
fn missing_profile_gives_advice() {
    let dir = TestDir::new();
    let text = dir.run("profile show").succeeds().text();
    assert!(text.contains("nothing is saved") && text.contains("fullbore bench"), "{text}");
    let found = dir.run("profile show --json").succeeds().json();
    assert_eq!((&found["version"], &found["file_systems"]), (&json!(1), &json!({})));
    dir.run("profile forget").fails(1, &["nothing to forget"]);
    dir.run("profile forget .").fails(1, &["nothing to forget"]);
    let mut homeless = fullbore(["profile", "show"]);
    run(homeless.env_remove("XDG_CONFIG_HOME").env_remove("HOME").env_remove("APPDATA")).fails(2, &["HOME"]);
}

#[test]
fn saved_entries_are_shown_by_file_system_and_job() {
    let dir = TestDir::new();
    save(&dir);
    let text = dir.run("profile show").succeeds().text();
    let job = "transform to a new file, warm";
    let parts = ["/elsewhere", "read, cold", job, "2026-01-02", "1. ", "3.20 GB/s", "cci-mm"];
    assert_contains(&text, &parts);
    // The interval of one sample.
    let saved = fs::read_to_string(dir.at("config/fullbore/profile.json")).unwrap();
    let mut single: Value = serde_json::from_str(&saved).unwrap();
    single["file_systems"]["another"]["entries"][0]["ranked"] =
        json!([{ "strategy": "cci", "rate": 2e9, "low": 2e9, "high": 2e9 }]);
    dir.file("config/fullbore/profile.json", single.to_string());
    let text = dir.run("profile show").succeeds().text();
    assert!(text.contains("2.00 GB/s (no interval)  cci"), "{text}");
    for path in [".", "here"] {
        let text = dir.run(&format!("profile show {path}")).succeeds().text();
        assert!(text.contains(dir.path().to_str().unwrap()) && !text.contains("/elsewhere"), "{text}");
    }
    if cfg!(unix) {
        let text = dir.run("profile show /proc").succeeds().text();
        assert!(text.contains("nothing is saved for the file system of /proc"), "{text}");
    }
    dir.run("profile show missing").fails(2, &["missing", &not_found()]);
    let found = dir.run("profile show --json").succeeds().json();
    assert_eq!(found["file_systems"]["another"]["directory"], "/elsewhere");
}

#[test]
fn one_file_system_is_forgotten_and_then_the_rest() {
    let dir = TestDir::new();
    save(&dir);
    dir.run("profile forget .").succeeds();
    let text = dir.run("profile show").succeeds().text();
    assert!(text.contains("/elsewhere") && !text.contains("transform to"), "{text}");
    dir.run("profile forget .").fails(1, &["nothing to forget"]);
    dir.run("profile forget").succeeds();
    assert!(!dir.at("config/fullbore/profile.json").exists());
}

#[test]
fn broken_profile_is_reported_and_can_be_forgotten() {
    let dir = TestDir::new();
    save(&dir);
    dir.file("in", bytes(3_000_000, 1));
    for broken in ["not json", "{}", r#"{"version":99,"file_systems":{}}"#, "\u{0}"] {
        dir.file("config/fullbore/profile.json", broken);
        dir.run("profile show").fails(2, &["profile.json"]);
        let ended = dir.run("transform none in out").succeeds();
        assert!(ended.stderr.contains("continuing without it"), "{ended}");
        dir.run("profile forget .").fails(2, &["profile.json"]);
        dir.run("profile forget").succeeds();
        dir.run("profile forget").fails(1, &["nothing to forget"]);
    }
}

#[test]
fn auto_uses_the_profile() {
    let dir = TestDir::new();
    save(&dir);
    dir.file("in", bytes(3_000_000, 2));
    let ended = dir.run("transform none in out --explain").succeeds();
    assert!(ended.stderr.contains("fastest measured here on 2026-01-02"), "{ended}");
    assert!(ended.stderr.contains("strategy: method=buffered,request=128"), "{ended}");
    assert!(ended.stderr.contains("not cci-mm: measured"), "{ended}");
}

#[test]
fn lines_fit_into_80_columns() {
    let dir = TestDir::new();
    save(&dir);
    let strategy = "method=mmap,request=1M,depth=1,workers=8,model=striped,stripe=4M,window=16M,cache=keep";
    let place = "config/fullbore/profile.json";
    let saved = fs::read_to_string(dir.at(place)).unwrap();
    dir.file(place, saved.replace("cci-mm", strategy));
    let text = dir.run("profile show").succeeds().text();
    let mut widths = text.lines().filter(|line| line.starts_with(' ')).map(|line| line.chars().count());
    assert!(widths.clone().count() > 8 && widths.all(|width| width <= 80), "{text}");
    let joined: String = text.split_whitespace().collect();
    assert!(joined.contains(strategy), "{text}");
}
