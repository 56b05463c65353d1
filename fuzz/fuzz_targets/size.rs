//! Text in the form that users type: sizes and strategies. Parsing never panics, and printed text parses back to the
//! same value.
#![no_main]
#![forbid(unsafe_code)]

use fullbore::size;
use fullbore::strategy::{Strategy, StrategySpec};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match size::parse(text) {
        Ok(bytes) => {
            assert_eq!(size::parse(&size::exact(bytes)), Ok(bytes), "{text:?}");
            // Three digits: at most half of the last digit off, which may exceed the range at its top.
            if bytes < u64::MAX / 100 * 99 {
                let read = size::parse(&size::human(bytes)).expect("the printed size");
                assert!(read.abs_diff(bytes) as f64 <= bytes as f64 * 0.00501, "{text:?}: {read}");
            }
        }
        Err(error) => assert!(error.to_string().contains(&format!("{text:?}"))),
    }
    match text.parse::<StrategySpec>() {
        Ok(spec) => {
            let strategy = spec.apply(Strategy::plain());
            let printed = strategy.to_string();
            let again = printed
                .parse::<StrategySpec>()
                .unwrap_or_else(|error| panic!("{text:?}: {printed:?}: {error}"));
            // Fields that are not printed have no effect: the stripe of one worker, the mapped part of other methods.
            let again = again.apply(Strategy::plain()).to_string();
            assert_eq!(again, printed, "{text:?}");
            let _ = strategy.memory();
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
