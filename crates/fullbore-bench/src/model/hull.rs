//! Convex hull of measured points: inside it a prediction interpolates, outside it extrapolates.

/// A point: logarithms of request size and of requests in flight.
type Point = (f64, f64);

const ON_EDGE: f64 = 1e-9;

/// True if a point is inside the convex hull of others, or on its edge. Points on one line have the line between the
/// outermost as their hull.
pub(super) fn contains(points: &[Point], at: Point) -> bool {
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

/// Positive if the way from `a` over `b` to `c` turns left.
fn turn(a: Point, b: Point, c: Point) -> f64 {
    (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_contains_its_inside_and_its_edges() {
        let triangle = [(0.0, 0.0), (4.0, 0.0), (0.0, 4.0), (1.0, 1.0)];
        for inside in [(1.0, 1.0), (0.0, 0.0), (2.0, 2.0), (4.0, 0.0), (0.5, 3.0)] {
            assert!(contains(&triangle, inside), "{inside:?}");
        }
        for outside in [(2.1, 2.1), (-0.1, 0.0), (5.0, 0.0), (0.0, -1.0)] {
            assert!(!contains(&triangle, outside), "{outside:?}");
        }
    }

    #[test]
    fn a_line_and_a_point_are_their_own_hulls() {
        let line = [(0.0, 1.0), (2.0, 1.0), (5.0, 1.0)];
        assert!(contains(&line, (3.0, 1.0)) && !contains(&line, (3.0, 1.1)) && !contains(&line, (5.1, 1.0)));
        assert!(contains(&[(1.0, 1.0)], (1.0, 1.0)) && !contains(&[(1.0, 1.0)], (1.0, 1.5)));
        assert!(!contains(&[], (0.0, 0.0)));
    }
}
