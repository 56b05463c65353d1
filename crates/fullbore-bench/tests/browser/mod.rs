//! A headless Chromium, controlled over its debugging pipe: JSON messages, each terminated by a zero byte.
#![allow(dead_code, unreachable_pub)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    number: u64,
    session: String,
    /// Events reported by the page since it was opened, in order.
    pub events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// Names of the program in Debian and elsewhere.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Time limit for an answer; generous because other tests may load the machine.
const PATIENCE: Duration = Duration::from_secs(120);

impl Browser {
    /// Starts a browser; `None`, with the reason printed, if none is installed.
    pub fn start() -> Option<Self> {
        let runs = |name: &&&str| {
            let mut version = Command::new(name);
            let version = version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            matches!(version.status(), Ok(status) if status.success())
        };
        let Some(name) = NAMES.iter().find(runs) else {
            println!("skipped: none of {} is installed", NAMES.join(", "));
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // The pipe is file 3 (to the browser) and 4 (from it).
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null", name])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--host-resolver-rules=MAP * ~NOTFOUND",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let mut pipe = BufReader::new(child.stdout.take().unwrap());
        let (send, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while pipe.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                if let Ok(value) = serde_json::from_slice(&message)
                    && send.send(value).is_err()
                {
                    return;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            to,
            from,
            number: 0,
            session: String::new(),
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.ask("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": params });
        if !self.session.is_empty() && !method.starts_with("Target.") && !method.starts_with("Browser.") {
            message["sessionId"] = json!(self.session);
        }
        let mut text = message.to_string().into_bytes();
        text.push(0);
        self.to.write_all(&text).unwrap();
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let mut answer = self.from.recv_timeout(left).unwrap_or_else(|error| panic!("{method}: {error}"));
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// Opens a page in a window of this width, and waits until it has loaded.
    pub fn open(&mut self, path: &std::path::Path, width: u32, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let window = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.ask("Emulation.setDeviceMetricsOverride", window);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", json!({ "features": features }));
        self.events.clear();
        self.ask("Page.navigate", json!({ "url": format!("file://{}", path.display()) }));
        let end = Instant::now() + PATIENCE;
        while self.run("document.readyState") != "complete" || self.run("location.protocol") != "file:" {
            assert!(Instant::now() < end, "{} does not load", path.display());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The value of an expression, or of the promise that it returns.
    pub fn run(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    pub fn press(&mut self, key: &str, code: u32, text: &str) {
        let event = |kind: &str| {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            event
        };
        self.ask("Input.dispatchKeyEvent", event("keyDown"));
        self.ask("Input.dispatchKeyEvent", event("keyUp"));
    }

    pub fn picture(&mut self, path: &std::path::Path, width: u32, height: f64) {
        let whole = self.run("document.documentElement.scrollHeight").as_f64().unwrap();
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": whole.min(height), "scale": 1 });
        let shot = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let answer = self.ask("Page.captureScreenshot", shot);
        std::fs::write(path, decoded(answer["data"].as_str().unwrap())).unwrap();
    }

    /// Errors, warnings and console messages since the page was opened, and requests to foreign addresses.
    pub fn complaints(&mut self) -> Vec<String> {
        let about = [
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
            "Network.loadingFailed",
        ];
        let complaint = |event: &Value| {
            let method = event["method"].as_str()?;
            if method == "Network.requestWillBeSent" {
                let address = event["params"]["request"]["url"].as_str()?;
                let own = ["file:", "data:", "blob:"].iter().any(|kind| address.starts_with(kind));
                return (!own).then(|| format!("requests {address}"));
            }
            about.contains(&method).then(|| event.to_string())
        };
        self.events.iter().filter_map(complaint).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn decoded(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap()
}
