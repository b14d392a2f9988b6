// SPDX-License-Identifier: MIT
// Calls of Rust, and below each the line that `patchbay calls` has to show for it (call_table.sh).
// std::hint has one from Rust 1.66 on.
fn black_box<T>(x: T) { unsafe { std::arch::asm!("/* {0} */", in(reg) &x as *const T) } }

#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Color { Red, Green = 7 }
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Point { pub x: i32, pub y: f64 }

macro_rules! call {
    ($name:ident($($arg:ident: $kind:ty),*) $(-> $result:ty = $value:expr)?) => {
        #[inline(never)]
        #[no_mangle]
        pub fn $name($($arg: $kind),*) $(-> $result)? { black_box((stringify!($name), $(&$arg),*)); $($value)? }
    };
}
call!(r_bool(b: bool) -> bool = !b);
call!(r_char(c: char) -> u32 = c as u32);
call!(r_numbers(a: i8, b: u16, c: i32, d: u64) -> i64 = -1);
call!(r_floats(a: f32, b: f64) -> f64 = b);
call!(r_enum(c: Color, n: i32));
call!(r_reference(n: &i32, m: &mut i32));
call!(r_str(n: i32, s: &str));
call!(r_string(s: &String, n: u8));
call!(r_owned(s: String, n: u8));
call!(r_slice(v: &[i32], n: u64));
call!(r_vec(v: &Vec<f64>));
call!(r_vec_owned(v: Vec<u16>));
call!(r_texts(v: &Vec<String>));
call!(r_option(v: Option<i32>, n: i32));
call!(r_option_str(s: Option<&str>));
call!(r_option_numbers(a: Option<f64>, b: Option<u8>, c: Option<i64>, d: Option<f32>, n: i32));
call!(r_option_slice(v: Option<&[i32]>, n: Option<&i32>));
call!(r_option_string(s: &Option<String>));
call!(r_option_vec(v: &Option<Vec<i32>>));
call!(r_point(p: Point));
call!(r_boxed(b: Box<i32>));

fn main() {
    let mut m = 5;
    let n = 6;
    r_bool(true); println!("r_bool(true) = false");
    r_char('A'); println!("r_char(65) = 65");
    r_numbers(-1, 65535, -3, 4); println!("r_numbers(-1, 65535, -3, 4) = -1");
    r_floats(1.5, -2.5); println!("r_floats(1.5, -2.5) = -2.5");
    r_enum(Color::Green, 1); println!("r_enum(Color::Green, 1)");
    r_enum(Color::Red, 1); println!("r_enum(Color::Red, 1)");
    r_reference(&n, &mut m); println!("r_reference(6, {:p})", &m);
    r_str(-3, "hello"); println!("r_str(-3, \"hello\")");
    r_str(0, &"x\0y\u{e9}".to_string()[..]); println!("r_str(0, \"x\\x00y\u{e9}\")");
    r_string(&String::new(), 1); println!("r_string(\"\", 1)");
    r_string(&"abc".to_string(), 2); println!("r_string(\"abc\", 2)");
    r_owned("owned".to_string(), 9); println!("r_owned(\"owned\", 9)");
    r_slice(&[1, -2, 3], 4); println!("r_slice([1, -2, 3], 4)");
    r_slice(&[], 5); println!("r_slice([], 5)");
    r_vec(&vec![0.5; 2]); println!("r_vec([0.5, 0.5])");
    r_vec_owned(vec![6, 7]); println!("r_vec_owned([6, 7])");
    r_texts(&vec!["a".to_string(), "bc".to_string()]); println!("r_texts([\"a\", \"bc\"])");
    r_option(Some(4), 1); println!("r_option(Some(4), 1)");
    r_option(None, 1); println!("r_option(None, 1)");
    r_option_str(Some("text")); println!("r_option_str(Some(\"text\"))");
    r_option_str(None); println!("r_option_str(None)");
    r_option_str(Some("")); println!("r_option_str(Some(\"\"))");
    r_option_numbers(Some(0.5), Some(200), Some(-7), None, 3);
    println!("r_option_numbers(Some(0.5), Some(200), Some(-7), None, 3)");
    r_option_numbers(None, None, None, Some(-1.5), -4);
    println!("r_option_numbers(None, None, None, Some(-1.5), -4)");
    r_option_slice(Some(&[4, 5]), None); println!("r_option_slice(Some([4, 5]), None)");
    r_option_string(&Some("own".to_string())); println!("r_option_string(Some(\"own\"))");
    r_option_string(&None); println!("r_option_string(None)");
    r_option_vec(&Some(vec![1, 2])); println!("r_option_vec(Some([1, 2]))");
    r_option_vec(&None); println!("r_option_vec(None)");
    r_point(Point { x: 3, y: 0.5 }); println!("r_point({{x=3, y=0.5}})");
    r_boxed(Box::new(8)); println!("r_boxed(&8)");
}
