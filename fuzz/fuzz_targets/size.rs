//! Text as users type it: sizes and strategies. Reading never panics, and what is printed reads back as the same.
#![no_main]
#![forbid(unsafe_code)]

use fullbore::size;
use fullbore::strategy::{Strategy, StrategySpec};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match size::parse(text) {
        Ok(bytes) => {
            assert_eq!(size::parse(&size::exact(bytes)), Ok(bytes), "{text:?}");
            // Three digits: half of the last one off at the most, which the top of the range may not hold.
            if bytes < u64::MAX / 100 * 99 {
                let read = size::parse(&size::human(bytes)).expect("what was printed");
                assert!(read.abs_diff(bytes) as f64 <= bytes as f64 * 0.00501, "{text:?}: {read}");
            }
        }
        Err(error) => assert!(error.to_string().contains(&format!("{text:?}"))),
    }
    match text.parse::<StrategySpec>() {
        Ok(spec) => {
            let strategy = spec.apply(Strategy::plain());
            let printed = strategy.to_string();
            let again =
                printed.parse::<StrategySpec>().unwrap_or_else(|error| panic!("{text:?}: {printed:?}: {error}"));
            // What is not printed has no say in what happens: the stripes of one worker, the windows of no map.
            let again = again.apply(Strategy::plain()).to_string();
            assert_eq!(again, printed, "{text:?}");
            let _ = strategy.memory();
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
