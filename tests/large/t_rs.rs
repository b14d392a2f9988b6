// SPDX-License-Identifier: MIT
use std::thread;
fn f(n: u64) -> u64 { if n < 2 { 1 } else { f(n - 1) + f(n - 2) } }
fn main() {
    let hs: Vec<_> = (0..4).map(|i| thread::spawn(move || {
        let r = std::panic::catch_unwind(|| if i % 2 == 0 { panic!("p") } else { f(15) });
        r.unwrap_or(7)
    })).collect();
    let s: u64 = hs.into_iter().map(|h| h.join().unwrap()).sum();
    println!("{}", s);
}
