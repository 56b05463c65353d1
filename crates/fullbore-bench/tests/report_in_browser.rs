//! The report in a real browser: no errors, no network requests, legible at every width, usable by keyboard.
// Chromium is started by a shell, with two files for its pipe.
#![cfg(unix)]

mod browser;
mod synthetic;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use browser::Browser;
use fullbore_bench::document::{Document, Proof, SteadyPart};
use fullbore_bench::report;
use serde_json::{Value, json};
use synthetic::whole;

/// A browser for a test that takes long; one at a time: each needs the resources of a small machine.
fn browser(test: &str) -> Option<(Browser, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    if !fullbore_testkit::runs_all(test) {
        return None;
    }
    let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    Some((Browser::start()?, alone))
}

/// Directory for pages and screenshots, below the build directory, for inspection.
fn directory() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn page(name: &str, document: &Document) -> PathBuf {
    let path = directory().join(format!("browser-{name}.html"));
    std::fs::write(&path, report::html(document)).unwrap();
    path
}

/// Texts of charts that overlap, or extend beyond their chart.
const CROWDED: &str = "(function () {
  var found = [];
  document.querySelectorAll('svg.chart').forEach(function (chart) {
    var whole = chart.getBoundingClientRect();
    var texts = Array.prototype.map.call(chart.querySelectorAll('text'), function (text) {
      return { text: text.textContent, box: text.getBoundingClientRect() };
    });
    texts.forEach(function (a, i) {
      if (a.box.left < whole.left - 2 || a.box.right > whole.right + 2 || a.box.bottom > whole.bottom + 2) {
        found.push('stands out: ' + a.text);
      }
      texts.slice(0, i).forEach(function (b) {
        var across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        var down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        if (across > 1 && down > 4) { found.push(a.text + ' over ' + b.text); }
      });
    });
  });
  return found;
})()";

#[test]
fn page_opens_without_errors_or_requests_at_every_width() {
    let Some((mut browser, _alone)) = browser("the report in a browser, at every width") else { return };
    // A page that requests something and fails is detected.
    let other = directory().join("browser-faulty.html");
    std::fs::write(&other, "<img src='http://elsewhere.invalid/a.png'><script>throw new Error('x')</script>")
        .unwrap();
    browser.open(&other, 400, false);
    let caught = browser.complaints().join("\n");
    assert!(
        caught.contains("requests http://elsewhere.invalid/a.png") && caught.contains("exceptionThrown"),
        "{caught}"
    );
    for (name, document) in [("full", whole()), ("quick", &synthetic::document())] {
        let path = page(name, document);
        for (width, dark) in [(1400, false), (1400, true), (400, false), (400, true)] {
            browser.open(&path, width, dark);
            let scheme = if dark { "dark" } else { "light" };
            let place = format!("{name}, {width} wide, {scheme}");
            assert_eq!(browser.complaints(), Vec::<String>::new(), "{place}");
            let needed = browser.run("document.documentElement.scrollWidth").as_u64().unwrap();
            assert!(needed <= u64::from(width), "{place}: needs {needed}");
            let paper = browser.run("getComputedStyle(document.body).backgroundColor");
            let expected = if dark { "rgb(20, 23, 27)" } else { "rgb(251, 250, 247)" };
            assert_eq!(paper, expected, "{place}");
            assert_eq!(browser.run(CROWDED), json!([]), "{place}");
            // The check finds an overlap that was put in.
            let twice = "(function () { var text = document.querySelector('svg.chart .frame text'); \
                         text.after(text.cloneNode(true)); })()";
            browser.run(twice);
            assert_eq!(browser.run(CROWDED).as_array().unwrap().len(), 1, "{place}");
            // With every table open: they scroll within themselves.
            browser.run("document.querySelectorAll('main details').forEach(function (d) { d.open = true; })");
            let needed = browser.run("document.documentElement.scrollWidth").as_u64().unwrap();
            assert!(needed <= u64::from(width), "{place}, tables open: needs {needed}");
            browser.picture(&directory().join(format!("{name}-{width}-{scheme}.png")), width, 6000.0);
        }
    }
}

#[test]
fn lines_are_toggled_and_values_read_by_keyboard() {
    let Some((mut browser, _alone)) = browser("the report in a browser, by keyboard") else { return };
    browser.open(&page("keyboard", &synthetic::document()), 1400, false);
    let on = |browser: &mut Browser, selector: &str| {
        browser.run(&format!("document.activeElement.matches('{selector}')")) == true
    };
    let reach = |browser: &mut Browser, selector: &str| {
        for _ in 0..200 {
            browser.press("Tab", 9, "");
            if on(browser, selector) {
                return;
            }
        }
        panic!("{selector} is not reached by Tab");
    };
    reach(&mut browser, "svg.chart");
    let tip = "document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent";
    assert_eq!(browser.run(tip), "");
    browser.press("ArrowRight", 39, "");
    let first = browser.run(tip);
    browser.press("ArrowRight", 39, "");
    let second = browser.run(tip);
    browser.press("ArrowDown", 40, "");
    let third = browser.run(tip);
    assert!(first.as_str().unwrap().contains("samples"), "{first}");
    assert!(first != second && second != third && first != third, "{first} {second} {third}");
    browser.press("Escape", 27, "");
    assert_eq!(browser.run(tip), "");

    reach(&mut browser, ".legend button");
    let pressed = "document.activeElement.getAttribute('aria-pressed')";
    let hidden = "document.activeElement.closest('figure').querySelectorAll('svg.chart .series.off').length";
    assert_eq!((browser.run(pressed), browser.run(hidden)), (json!("true"), json!(0)));
    browser.press(" ", 32, " ");
    assert_eq!((browser.run(pressed), browser.run(hidden)), (json!("false"), json!(1)));
    browser.press("Enter", 13, "\r");
    assert_eq!((browser.run(pressed), browser.run(hidden)), (json!("true"), json!(0)));

    // The pointer selects the nearest value.
    let at = "(function () { var chart = document.querySelector('svg.chart'); chart.scrollIntoView({ block: 'center', \
              behavior: 'instant' }); var box = chart.querySelector('.m').getBoundingClientRect(); \
              return [box.left + 12, box.top + 3]; })()";
    let at = browser.run(at);
    browser.ask("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": at[0], "y": at[1] }));
    assert!(browser.run(tip).as_str().unwrap().contains("samples"));

    let theme = "getComputedStyle(document.body).backgroundColor";
    let before = browser.run(theme);
    browser.run("document.getElementById('theme').click()");
    assert_ne!(browser.run(theme), before);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn saved_data_equal_the_document() {
    let Some((mut browser, _alone)) = browser("the data that a browser saves") else { return };
    // One sample with a steady part, and one that no summary counts.
    let mut document = whole().clone();
    let cell = document.cells.iter_mut().find(|cell| cell.samples.len() > 2).unwrap();
    let rate = cell.samples[0].rate();
    cell.samples[0].steady = Some(SteadyPart { bytes: rate / 8.0, seconds: 0.125 });
    cell.samples[1].proof = Proof::Contradicted { reason: "not cached".to_owned() };
    browser.open(&page("data", &document), 1400, false);
    let (mut json, mut csv) = (Vec::new(), Vec::new());
    document.write(&mut json).unwrap();
    fullbore_bench::csv::write(&document, &mut csv).unwrap();
    let [json, csv] = [json, csv].map(|text| String::from_utf8(text).unwrap());
    assert!(csv.lines().any(|row| row.ends_with(",false,false,false")), "a sample is not counted");
    assert!(browser.run("window.fullbore.text('json')") == json);

    let folder = tempfile::tempdir().unwrap();
    let allow = json!({ "behavior": "allow", "downloadPath": folder.path(), "eventsEnabled": true });
    browser.ask("Browser.setDownloadBehavior", allow);
    browser.run("document.querySelector('[data-save=csv]').click()");
    let file = folder.path().join("results.csv");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while std::fs::read_to_string(&file).map_or(true, |text| text != csv) {
        assert!(std::time::Instant::now() < end, "results.csv is not saved");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn print_unfolds_important_sections() {
    let Some((mut browser, _alone)) = browser("the report in print") else { return };
    browser.open(&page("print", &synthetic::document()), 1400, true);
    let open = "document.querySelectorAll('details.matters[open]').length";
    assert_eq!(browser.run(open), 0);
    let seen = "(function () { window.seen = -1; window.addEventListener('beforeprint', function () { \
                window.seen = document.querySelectorAll('details.matters:not([open])').length; }); })()";
    browser.run(seen);
    let print = json!({ "printBackground": true, "paperWidth": 8.27, "paperHeight": 11.69 });
    let printed = browser.ask("Page.printToPDF", print);
    let pdf = browser::decoded(printed["data"].as_str().unwrap());
    assert!(pdf.starts_with(b"%PDF"));
    std::fs::write(directory().join("quick.pdf"), pdf).unwrap();
    assert_eq!((browser.run("window.seen"), browser.run(open)), (json!(0), json!(0)), "open in print only");
    browser.ask("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    let display = |selector: &str| format!("getComputedStyle(document.querySelector('{selector}')).display");
    assert_eq!(browser.run(&display("nav")), "none");
    assert_eq!(browser.run(&display(".tools")), "none");
    assert_eq!(browser.run("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    assert_eq!(browser.run("Boolean(document.querySelector('details.matters'))"), Value::Bool(true));
}
