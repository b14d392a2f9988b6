// SPDX-License-Identifier: MIT
// For docs/manual/cookbook.md: a program in Rust whose functions take texts and lists.
#[inline(never)]
fn order(item: &str, counts: &Vec<i32>, note: String) -> i32 {
    println!("{} {:?} {}", item, counts, note);
    counts.iter().sum()
}

fn main() {
    let mut left = 100;
    for (item, counts) in [("pears", vec![2, 3]), ("apples", vec![1])] {
        left -= order(item, &counts, format!("order of {}", item));
    }
    println!("{} left", left);
}
