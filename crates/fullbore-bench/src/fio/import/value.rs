//! The values of fio's options.

/// Parses a size in bytes as fio does: `4k` and `4kb` are 4096.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let power = match unit {
        "" | "b" => 0,
        "k" | "kb" => 1,
        "m" | "mb" => 2,
        "g" | "gb" => 3,
        "t" | "tb" => 4,
        "p" | "pb" => 5,
        _ if unit.ends_with("ib") || unit.ends_with('i') => {
            return Err("fio's kb_base decides between powers of 1000 and 1024: write 4k for 4096".into());
        }
        _ => return Err("not a size: digits, then k, m, g, t or p".into()),
    };
    let number: u64 = number.parse().map_err(|_| "not a size: digits, then k, m, g, t or p".to_owned())?;
    number.checked_mul(1 << (10 * power)).ok_or_else(|| "too large".into())
}

/// Parses a time in seconds; the default unit is the second.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let wrong = || "not a time: digits, then d, h, m, s, ms or us".to_owned();
    let factor = match unit {
        "" | "s" => 1.0,
        "d" => 86_400.0,
        "h" => 3600.0,
        "m" => 60.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        _ => return Err(wrong()),
    };
    number.parse::<u32>().map(|number| f64::from(number) * factor).map_err(|_| wrong())
}

/// Parses a switch; an option without a value is on.
pub(super) fn switch(value: Option<&str>) -> Result<bool, String> {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(_) => Err("not a switch: 0 or 1".into()),
    }
}

/// Parses a number.
pub(super) fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "not a number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_as_in_fio() {
        for (text, expected) in
            [("4k", 4096), ("4K", 4096), ("4kb", 4096), ("1m", 1 << 20), ("512", 512), ("2g", 2 << 30)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["4kib", "4ki", "1.5k", "4 k", "", "k", "4x", "99999999999p"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_and_switches() {
        assert_eq!(seconds("30"), Ok(30.0));
        assert_eq!(seconds("2m"), Ok(120.0));
        assert_eq!(seconds("500ms"), Ok(0.5));
        assert!(seconds("soon").is_err());
        assert_eq!((switch(None), switch(Some("1")), switch(Some("0"))), (Ok(true), Ok(true), Ok(false)));
        assert!(switch(Some("maybe")).is_err());
        assert_eq!(count("7"), Ok(7));
        assert!(count("-1").is_err());
    }
}
