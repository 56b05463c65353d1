//! Pure statistics of the meter: values in, values out; no clocks, no files, no hidden randomness.
//!
//! Everything random takes its seed from [`Bootstrap`], so a document's intervals can be computed again from its
//! raw samples and come out the same to the last bit. Values that are not finite are left out everywhere.

mod compare;
mod distribution;
mod drift;
mod fit;
mod half_power;
mod interval;
mod modes;
mod outliers;
mod quantile;
mod rng;
mod stopping;

pub use compare::{Comparison, DEFAULT_MARGIN, Verdict, compare_rates};
pub use distribution::{normal_cdf, student_t_cdf, student_t_quantile};
pub use drift::{Drift, mann_kendall};
pub use fit::{CostLine, fit_cost};
pub use half_power::{HalfPower, half_power};
pub use interval::{Bootstrap, Estimate};
pub use modes::{Level, MIN_SAMPLES_FOR_MODES, Modes, two_humps};
pub use outliers::{OUTLIER_SCORE, modified_z_scores, outliers};
pub use quantile::{mad, median, quantile};
pub use rng::Xoshiro256;
pub use stopping::StopRule;
