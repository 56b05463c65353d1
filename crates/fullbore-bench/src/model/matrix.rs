//! Solution of small symmetric linear systems.

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
}
