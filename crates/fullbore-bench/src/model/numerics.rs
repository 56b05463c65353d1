//! Numerics of the fit: small symmetric linear systems, and the convex hull of measured points, inside which a prediction
//! interpolates and outside which it extrapolates.

/// Cholesky factor of a symmetric, positive definite matrix: lower triangle, row by row.
#[derive(Debug)]
pub(super) struct Cholesky(Vec<Vec<f64>>);

impl Cholesky {
    /// Factorises a matrix; `None` if it is not positive definite.
    pub(super) fn new(matrix: &[Vec<f64>]) -> Option<Self> {
        let mut factor: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
        for (i, row) in matrix.iter().enumerate() {
            let mut line = vec![0.0; i + 1];
            for j in 0..i {
                line[j] = (row[j] - dot(&line[..j], &factor[j][..j])) / factor[j][j];
            }
            let square = row[i] - dot(&line[..i], &line[..i]);
            if square.is_nan() || square <= 0.0 {
                return None;
            }
            line[i] = square.sqrt();
            factor.push(line);
        }
        Some(Self(factor))
    }

    /// Returns the solution `x` of `A · x = right`.
    pub(super) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let factor = &self.0;
        let mut x = right.to_vec();
        for i in 0..x.len() {
            x[i] = (x[i] - dot(&factor[i][..i], &x[..i])) / factor[i][i];
        }
        for i in (0..x.len()).rev() {
            let above: f64 = (i + 1..x.len()).map(|j| factor[j][i] * x[j]).sum();
            x[i] = (x[i] - above) / factor[i][i];
        }
        x
    }
}

pub(super) fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// A point: logarithms of request size and of requests in flight.
type Point = (f64, f64);

const ON_EDGE: f64 = 1e-9;

/// True if a point is inside the convex hull of others, or on its edge. Points on one line have the line between the
/// outermost as their hull.
pub(super) fn in_hull(points: &[Point], at: Point) -> bool {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.dedup();
    let half = |points: &mut dyn Iterator<Item = Point>| {
        let mut chain: Vec<Point> = Vec::new();
        for next in points {
            while let [.., before, last] = chain[..]
                && turn(before, last, next) <= 0.0
            {
                chain.pop();
            }
            chain.push(next);
        }
        chain
    };
    let mut hull = half(&mut points.iter().copied());
    hull.pop();
    hull.extend(half(&mut points.iter().rev().copied()));
    let within = |low: f64, value: f64, high: f64| low - ON_EDGE <= value && value <= high + ON_EDGE;
    let bounds = |of: fn(&Point) -> f64| {
        let values = points.iter().map(of);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let ((left, right), (bottom, top)) = (bounds(|p| p.0), bounds(|p| p.1));
    within(left, at.0, right)
        && within(bottom, at.1, top)
        && hull.windows(2).all(|edge| turn(edge[0], edge[1], at) >= -ON_EDGE)
}

/// Positive if the path from `a` through `b` to `c` turns left.
fn turn(a: Point, b: Point, c: Point) -> f64 {
    (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solution_satisfies_the_system() {
        let matrix = vec![vec![4.0, 2.0, 0.6], vec![2.0, 5.0, 1.0], vec![0.6, 1.0, 3.0]];
        let right = [1.0, -2.0, 0.5];
        let found = Cholesky::new(&matrix).unwrap().solve(&right);
        for (row, right) in matrix.iter().zip(right) {
            assert!((dot(row, &found) - right).abs() < 1e-12);
        }
    }

    #[test]
    fn indefinite_matrices_have_no_factor() {
        assert!(Cholesky::new(&[vec![1.0, 2.0], vec![2.0, 1.0]]).is_none());
        assert!(Cholesky::new(&[vec![f64::NAN]]).is_none());
    }

    #[test]
    fn a_triangle_contains_its_inside_and_its_edges() {
        let triangle = [(0.0, 0.0), (4.0, 0.0), (0.0, 4.0), (1.0, 1.0)];
        for inside in [(1.0, 1.0), (0.0, 0.0), (2.0, 2.0), (4.0, 0.0), (0.5, 3.0)] {
            assert!(in_hull(&triangle, inside), "{inside:?}");
        }
        for outside in [(2.1, 2.1), (-0.1, 0.0), (5.0, 0.0), (0.0, -1.0)] {
            assert!(!in_hull(&triangle, outside), "{outside:?}");
        }
    }

    #[test]
    fn a_line_and_a_point_are_their_own_hulls() {
        let line = [(0.0, 1.0), (2.0, 1.0), (5.0, 1.0)];
        assert!(in_hull(&line, (3.0, 1.0)) && !in_hull(&line, (3.0, 1.1)) && !in_hull(&line, (5.1, 1.0)));
        assert!(in_hull(&[(1.0, 1.0)], (1.0, 1.0)) && !in_hull(&[(1.0, 1.0)], (1.0, 1.5)));
        assert!(!in_hull(&[], (0.0, 0.0)));
    }
}
