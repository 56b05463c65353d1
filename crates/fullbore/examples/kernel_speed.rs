//! Prints the throughput of each operation and generator on one core with its data in the nearest caches, in GB/s.

use fullbore::operation::generate::{Random, Text, Zeros};
use fullbore::operation::{Generate, Kernel, parse, registry};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The default request size; two requests fit the second-level cache of today's processors.
const BYTES: usize = 256 << 10;
const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_millis(40);

/// Returns the median throughput of `work` over several rounds, in GB/s, at [`BYTES`] per call.
fn gigabytes_a_second(mut work: impl FnMut()) -> f64 {
    work();
    let mut rates: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            let mut calls = 0;
            while begin.elapsed() < ROUND {
                work();
                calls += 1;
            }
            (calls * BYTES) as f64 / begin.elapsed().as_secs_f64() / 1e9
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[ROUNDS / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut source = vec![0; BYTES];
    Text::new(1, 80)?.fill(0, &mut source);
    let mut target = vec![0; BYTES];

    println!("{:<24}{:>12}{:>12}{:>12}{:>12}", "GB/s", "simd", "scalar", "simd", "scalar");
    println!("{:<24}{:>12}{:>12}{:>12}{:>12}", "", "in place", "in place", "across", "across");
    for operation in registry() {
        let key = "00112233445566778899aabbccddeeff0123456789";
        let spec = operation.usage.replace("HEX", key).replace('N', "10");
        let mut rates = Vec::new();
        for in_place in [true, false] {
            for kernel in [Kernel::Simd, Kernel::Scalar] {
                let operation = parse(&spec, kernel)?;
                rates.push(gigabytes_a_second(|| {
                    if in_place {
                        operation.apply_in_place(0, black_box(&mut target));
                    } else {
                        operation.apply(0, black_box(&source), black_box(&mut target));
                    }
                }));
            }
        }
        print!("{:<24}", spec.chars().take(22).collect::<String>());
        for rate in rates {
            // `none` in place does no work, so its rate is meaningless.
            if rate > 1000.0 { print!("{:>12}", "-") } else { print!("{rate:>12.1}") }
        }
        println!();
    }

    let generators: [Box<dyn Generate>; 6] = [
        Box::new(Random::new(1)),
        Box::new(Text::new(1, 16)?),
        Box::new(Text::new(1, 80)?),
        Box::new(Text::new(1, 200)?),
        Box::new(Text::new(1, 4096)?),
        Box::new(Zeros),
    ];
    println!();
    for generator in generators {
        let mut offset = 0;
        let rate = gigabytes_a_second(|| {
            generator.fill(offset, black_box(&mut target));
            offset += BYTES as u64;
        });
        println!("{:<36}{rate:>12.1}", generator.to_string());
    }
    Ok(())
}
