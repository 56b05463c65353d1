//! Checks that markup is well formed.
#![allow(dead_code, unreachable_pub)]

/// Elements that have no end tag.
const VOID: [&str; 5] = ["meta", "link", "br", "wbr", "hr"];

/// Checks the tags of a page: every element is closed in order, every attribute is quoted, no id is used twice.
pub fn check_structure(html: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    let mut ids = std::collections::BTreeSet::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("document type");
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "stray > before {}", &rest[start..rest.len().min(start + 60)]);
        rest = &rest[start + 1..];
        let end = tag_end(rest);
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "at </{name}>");
            continue;
        }
        let closed = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let name = tag.split_whitespace().next().unwrap().to_owned();
        if let Some(id) = tag.split(" id=\"").nth(1) {
            let id = id.split('"').next().unwrap();
            assert!(ids.insert(id.to_owned()), "id {id} twice");
        }
        let quotes = tag.matches('"').count();
        assert!(
            quotes.is_multiple_of(2) && quotes / 2 >= tag.matches("=\"").count(),
            "attributes of <{tag}>"
        );
        seen.push(tag.to_owned());
        if closed || VOID.contains(&name.as_str()) {
            continue;
        }
        if name == "script" || name == "style" {
            let end = format!("</{name}>");
            let at = rest.find(&end).expect("script and style end");
            rest = &rest[at + end.len()..];
            continue;
        }
        open.push(name);
    }
    assert!(open.is_empty(), "left open: {open:?}");
    seen
}

fn tag_end(text: &str) -> usize {
    let mut quoted = false;
    for (at, character) in text.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '>' if !quoted => return at,
            _ => {}
        }
    }
    panic!("tag without end: {}", &text[..text.len().min(80)]);
}
