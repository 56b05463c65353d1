//! Formats numbers for readers: three significant digits, the field's units.

/// Formats `value` with about three significant digits, without exponent between 0.001 and 10^7.
pub(crate) fn significant(value: f64) -> String {
    if value < 0.0 {
        return format!("−{}", significant(-value));
    }
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return "unknown".into();
    }
    // Thresholds are at the values where rounding adds a digit: 9.995 becomes 10.0, not 10.00.
    match value {
        m if !(0.001..1e7).contains(&m) => format!("{value:.2e}"),
        m if m >= 99.95 => format!("{value:.0}"),
        m if m >= 9.995 => format!("{value:.1}"),
        m if m >= 0.9995 => format!("{value:.2}"),
        m if m >= 0.0995 => format!("{value:.3}"),
        _ => {
            let text = format!("{value:.4}");
            text.trim_end_matches('0').to_string()
        }
    }
}

fn prefixed(value: f64, prefixes: &[(f64, &str)]) -> String {
    let fits = |(scale, _): &&(f64, &str)| value.abs() >= scale * 0.9995;
    let last = &prefixes[prefixes.len() - 1];
    let (scale, unit) = prefixes.iter().find(fits).unwrap_or(last);
    format!("{} {unit}", significant(value / scale))
}

/// Formats bytes per second in decimal units: `3.12 GB/s`.
pub(crate) fn rate(bytes_per_second: f64) -> String {
    prefixed(bytes_per_second, &[(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")])
}

pub(crate) use fullbore::size::binary as size;

/// Formats requests per second: `20.9 k/s`.
pub(crate) fn requests_rate(per_second: f64) -> String {
    prefixed(per_second, &[(1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")])
}

/// Formats a duration: `24.0 µs`, `1.20 s`.
pub(crate) fn seconds(seconds: f64) -> String {
    prefixed(seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
}

/// Formats a size interpolated between measured ones, in binary units: `11.3 KiB`.
pub(crate) fn about_size(bytes: f64) -> String {
    let scales = [(2f64.powi(30), "GiB"), (2f64.powi(20), "MiB"), (1024.0, "KiB"), (1.0, "B")];
    prefixed(bytes, &scales)
}

/// Returns a name of at most `width` characters, with an ellipsis in place of its middle: names differ at their ends.
pub(crate) fn shortened(name: &str, width: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= width {
        return name.to_owned();
    }
    let end = width.saturating_sub(1) / 2;
    let (first, last) = (&letters[..width.saturating_sub(1) - end], &letters[letters.len() - end..]);
    first.iter().chain(['…'].iter()).chain(last).collect()
}

/// Formats a share: `43%`, `0.4%`.
pub(crate) fn percent(share: f64) -> String {
    if share < 0.0 {
        let text = percent(-share);
        // A share that rounds to zero has no sign.
        return if text == "0.0%" { text } else { format!("−{text}") };
    }
    let percent = share * 100.0 + 0.0;
    if percent < 0.995 && percent != 0.0 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

/// Formats seconds per megabyte as milliseconds per megabyte (10^6 bytes), the unit of Riedel's figure 4.
pub(crate) fn ms_per_mb(seconds_per_mb: f64) -> String {
    significant(seconds_per_mb * 1e3)
}

/// Formats a number with `word` or its plural: `1 sample`, `3 samples`.
pub(crate) fn count(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_at_every_magnitude() {
        for (value, text) in [
            (0.0, "0"),
            (0.012_34, "0.0123"),
            (0.5, "0.500"),
            (9.996, "10.0"),
            (1.0, "1.00"),
            (123.4, "123"),
            (99_999.0, "99999"),
            (-2.5, "−2.50"),
            (f64::NAN, "unknown"),
        ] {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn units() {
        assert_eq!(rate(3.12e9), "3.12 GB/s");
        assert_eq!(rate(999.9e6), "1.00 GB/s");
        assert_eq!(rate(0.0), "0 B/s");
        assert_eq!(requests_rate(20_900.0), "20.9 k/s");
        assert_eq!(seconds(24e-6), "24.0 µs");
        assert_eq!(size(65536), "64 KiB");
        assert_eq!(size(640_000_000), "640 MB");
        assert_eq!(size(1 << 30), "1 GiB");
        assert_eq!(size(512), "512 B");
        assert_eq!(about_size(11_600.0), "11.3 KiB");
        assert_eq!(shortened("abcdefgh", 8), "abcdefgh");
        assert_eq!(shortened("abcdefgh", 6), "abc…gh");
        assert_eq!(percent(0.434), "43%");
        assert_eq!(percent(0.004), "0.4%");
        assert_eq!(percent(-0.0), "0%");
        assert_eq!(percent(-0.0003), "0.0%");
        assert_eq!(percent(-0.0006), "−0.1%");
        assert_eq!(count(1, "sample") + " " + &count(2, "cell"), "1 sample 2 cells");
    }
}
