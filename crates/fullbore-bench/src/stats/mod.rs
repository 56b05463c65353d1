//! Pure statistics of the meter: functions of values, without clocks, files or hidden randomness.
//!
//! All randomness is seeded by [`Bootstrap`], so a document's intervals can be recomputed bit for bit from its raw
//! samples. Values that are not finite are skipped everywhere.

mod autocorrelation;
mod change;
mod compare;
mod credit;
mod distribution;
mod drift;
mod fit;
mod half_power;
mod interval;
mod levels;
mod quantile;
mod repeatability;
mod request_time;
mod rng;
mod stopping;
mod throttle;
mod variation;
mod warm_up;

pub use autocorrelation::{correlation_time, effective_samples, lag_one};
pub use change::{ChangePoint, Changes, MIN_SAMPLES_FOR_CHANGES, Segment, change_points};
pub use compare::{DEFAULT_MARGIN, RatioComparison, Verdict, compare_paired, compare_rates};
pub(crate) use compare::{FEWEST_PAIRS, FEWEST_SAMPLES};
pub(crate) use credit::Slicer;
pub use credit::{Burst, Course, CreditFit, Refill, Step, Stretch, fit_credit, steady_state};
pub use distribution::{jain, normal_cdf, student_t_cdf, student_t_quantile};
pub use drift::{Drift, mann_kendall};
pub use fit::{CostLine, fit_cost, fit_cost_samples};
pub use half_power::{HalfPower, half_power};
pub use interval::{Bootstrap, Estimate};
pub use levels::{Level, MIN_SAMPLES_FOR_MODES, Modes, find_modes, levels};
pub use quantile::{OUTLIER_SCORE, median, median_absolute_deviation, modified_z_scores, outliers, quantile};
pub(crate) use quantile::{mean, squares};
pub use repeatability::{REPEATABLE_WITHIN, Repeatability, repeatability};
pub use request_time::{Law, RequestTime, fit_request_time};
pub use rng::Xoshiro256;
pub use stopping::{StopRule, contenders};
pub use throttle::{Fall, Pace, Reading, accounting_period, fall, up_to_the_last_transfer, whole_periods};
pub use variation::{Variation, variation};
pub use warm_up::{WarmUp, warm_up};
