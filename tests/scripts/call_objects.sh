#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay calls: objects of the C++ library as a person writes them. The program prints each call
# as it should be shown; compiled by g++ and clang++, without and with optimisation, with libstdc++
# and libc++. And of Rust.
#   call_objects.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
cd "$work" || exit
need g++

cat >own.cc <<'EOC'
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>
// No copy of a function for one caller, and no argument that is not given.
#ifdef __clang__
#define CALL __attribute__((noinline, used)) void
#else
#define CALL __attribute__((noipa, used)) void
#endif
#if !defined(_LIBCPP_VERSION) && !_GLIBCXX_USE_CXX11_ABI
#define OLD_STRINGS 1
#endif
inline void used_at(const void* p) { asm volatile("" ::"r"(p) : "memory"); }
template <typename... T> void used(T&&... t) { (used_at(&t), ...); }
enum class Color { kRed, kGreen };
using std::string;
CALL o_ref(const string& s, int n) { used(s, n); }
CALL o_value(string s, long n) { used(s, n); }
CALL o_move(string&& s) { used(s); }
CALL o_view(int n, std::string_view s, unsigned char c) { used(n, s, c); }
CALL o_view_ref(const std::string_view& s) { used(s); }
using Wide16 = std::u16string;
CALL o_wide(const Wide16& s, const std::u32string& t, const std::wstring& w) { used(s, t, w); }
CALL o_wide_view(std::wstring_view s, std::u16string_view t) { used(s, t); }
CALL o_path(const std::filesystem::path& p) { used(p); }
CALL o_ints(const std::vector<int>& v) { used(v); }
CALL o_vector(std::vector<short> v, const char* behind) { used(v, behind); }
CALL o_doubles(std::vector<double>& v) { used(v); }
CALL o_chars(const std::vector<char>& v) { used(v); }
CALL o_bytes(const std::vector<uint8_t>& v) { used(v); }
CALL o_pointers(const std::vector<void*>& v) { used(v); }
CALL o_texts(const std::vector<string>& v, int n) { used(v, n); }
CALL o_views(std::vector<std::string_view> v) { used(v); }
CALL o_text_array(const std::array<string, 2>& v) { used(v); }
CALL o_colors(const std::vector<Color>& v) { used(v); }
CALL o_span(std::span<const int> v, int n) { used(v, n); }
CALL o_span_of(std::span<int, 3> v) { used(v); }
CALL o_array(const std::array<int, 3>& v) { used(v); }
CALL o_long_array(const std::array<float, 12>& v) { used(v); }
CALL o_optional(std::optional<int> v, int n) { used(v, n); }
CALL o_optional_ref(const std::optional<int>& v) { used(v); }
CALL o_optional_long(std::optional<long> v) { used(v); }
CALL o_optional_double(std::optional<double> v, double d) { used(v, d); }
CALL o_optional_string(const std::optional<string>& v) { used(v); }
CALL o_unique(std::unique_ptr<int> p) { used(p); }
CALL o_unique_ref(const std::unique_ptr<string>& p) { used(p); }
CALL o_unique_array(const std::unique_ptr<int[]>& p) { used(p); }
// Deleters: a function, a class with members, an empty class, one that is final, a reference.
void gone(int* p) { delete p; }
struct Counts { int* count; void operator()(int* p) { ++*count; delete p; } };
struct Plain { void operator()(int* p) { delete p; } };
struct Final final { void operator()(int* p) { delete p; } };
CALL o_deleter(std::unique_ptr<int, void (*)(int*)> p, int n) { used(p, n); }
CALL o_deleter_function(const std::unique_ptr<int, std::function<void(int*)>>& p) { used(p); }
CALL o_deleter_counts(const std::unique_ptr<int, Counts>& p) { used(p); }
CALL o_deleter_plain(const std::unique_ptr<int, Plain>& p) { used(p); }
CALL o_deleter_final(const std::unique_ptr<int, Final>& p) { used(p); }
CALL o_deleter_reference(const std::unique_ptr<int, Counts&>& p) { used(p); }
CALL o_deleter_array(const std::unique_ptr<int[], void (*)(int*)>& p) { used(p); }
CALL o_deleter_text(const std::unique_ptr<string, void (*)(string*)>& p) { used(p); }
struct Less { int order = 7; bool operator()(int a, int b) const { return a < b; } };
using Ordered = std::set<int, bool (*)(int, int)>;
CALL o_ordered(const std::map<int, int, Less>& m, const Ordered& s) { used(m, s); }
struct Item { int a; };
CALL o_shared(std::shared_ptr<Item> p, bool b) { used(p, b); }
CALL o_shared_ref(const std::shared_ptr<const double>& p) { used(p); }
CALL o_variant(const std::variant<int, string>& v) { used(v); }
CALL o_map(const std::map<string, int>& m, const std::set<int>& s) { used(m, s); }
CALL o_hash(std::unordered_map<int, int>& m) { used(m); }
CALL o_list(const std::list<int>& l) { used(l); }
CALL o_milliseconds(std::chrono::milliseconds d) { used(d); }
CALL o_durations(const std::chrono::nanoseconds& a, std::chrono::duration<double> b) { used(a, b); }
CALL o_same_names(const string& s, int s_len, int s_len_1) { used(s, s_len, s_len_1); }
struct Box {
  int v = 1;
  __attribute__((noinline)) int method(const string& name, std::vector<long> list) {
    used(name, list);
    return v;
  }
};
CALL o_wild_string(const string& s) { used(s); }
CALL o_wild_vector(const std::vector<int>& v) { used(v); }
CALL o_wild_texts(const std::vector<string>& v) { used(v); }
CALL o_wild_optional(const std::optional<int>& v) { used(v); }
CALL o_wild_unique(const std::unique_ptr<int>& v) { used(v); }
CALL o_wild_map(const std::map<int, int>& m) { used(m); }
CALL o_wild_view(std::string_view v) { used(v); }
CALL o_wild_span(std::span<int> v) { used(v); }
CALL o_wild_array(const std::array<int, 3>& v) { used(v); }

template <typename T, typename... Words>
T& made_of(Words... words) {
  alignas(16) static unsigned long place[16];
  const unsigned long all[] = {(unsigned long)words...};
  memset(place, 0, sizeof place);
  memcpy(place, all, sizeof all);
  return *(T*)place;
}
int main() {
  const string empty, text = "hello", quote = "a\"b\n", nul("a\0b", 3), large(300, 'x');
  o_ref(text, 3); puts(R"(o_ref("hello", 3))");
  o_ref(empty, -3); puts(R"(o_ref("", -3))");
  o_ref(quote, 0); puts(R"(o_ref("a\"b\n", 0))");
  o_ref(nul, 0); puts(R"(o_ref("a\x00b", 0))");
  o_ref(large, 1); printf("o_ref(\"%s\"..., 1)\n", large.substr(0, 255).c_str());
  o_value(text, 5); puts(R"(o_value("hello", 5))");
  o_value(large.substr(0, 40), 6); printf("o_value(\"%s\", 6)\n", large.substr(0, 40).c_str());
  o_move(string("moved")); puts(R"(o_move("moved"))");
  o_view(1, std::string_view(text).substr(1, 3), 7); puts(R"(o_view(1, "ell", 7))");
  o_view(1, {}, 7); puts(R"(o_view(1, "", 7))");
  std::string_view view = "abc";
  o_view_ref(view); puts(R"(o_view_ref("abc"))");
  o_wide_view(std::wstring_view(L"wide").substr(1), {}); puts("o_wide_view(\"ide\", \"\")");
#ifndef _LIBCPP_VERSION  // short ones are in the object
  o_wide(u"a\u20ac\U0001f600", U"\U0001f600", L"long enough for all of them");
  puts("o_wide(\"a\u20ac\U0001f600\", \"\U0001f600\", \"long enough for all of them\")");
  o_wide(std::u16string(70, 'x'), {}, L"");
  printf("o_wide(\"%s\"..., \"\", \"\")\n", string(64, 'x').c_str());
#endif
  o_path("/etc/passwd"); puts(R"(o_path("/etc/passwd"))");
  o_ints({}); puts("o_ints([])");
  o_ints({1, -2, 3}); puts("o_ints([1, -2, 3])");
  o_ints({1, 2, 3, 4, 5, 6, 7, 8}); puts("o_ints([1, 2, 3, 4, 5, 6, 7, 8])");
  o_ints(std::vector<int>(20, 9)); puts("o_ints([9, 9, 9, 9, 9, 9, 9, 9, … 12 more])");
  o_vector({-1, 2}, "x"); puts("o_vector([-1, 2], \"x\")");
  std::vector<double> doubles{1.5, -0.25};
  o_doubles(doubles); puts("o_doubles([1.5, -0.25])");
  o_chars({'a', 'b'}); puts("o_chars(\"ab\")");
  o_bytes({1, 255}); puts("o_bytes([1, 255])");
  o_pointers({nullptr, (void*)0x1234}); puts("o_pointers([nullptr, 0x1234])");
#ifndef OLD_STRINGS  // of which a vector is an address
  o_texts({}, 1); puts("o_texts([], 1)");
  o_texts({"a"}, 1); puts("o_texts([\"a\"], 1)");
  o_texts({"a", "", "longer than sixteen bytes"}, 1);
  puts("o_texts([\"a\", \"\", \"longer than sixteen bytes\"], 1)");
  o_texts(std::vector<string>(17, "b"), 1);
  puts("o_texts([\"b\", \"b\", \"b\", … 14 more], 1)");
  o_texts({string(63, 'x'), string(64, 'x')}, 1);
  printf("o_texts([\"%s\", \"%s\"...], 1)\n", string(63, 'x').c_str(), string(63, 'x').c_str());
#endif
  o_views({"a", text}); puts("o_views([\"a\", \"hello\"])");
  o_text_array({"x", "y"}); puts("o_text_array([\"x\", \"y\"])");
  o_colors({Color::kGreen, Color::kRed}); puts("o_colors([Color::kGreen, Color::kRed])");
  int numbers[] = {4, 5, 6};
  o_span(numbers, 2); puts("o_span([4, 5, 6], 2)");
  o_span({}, 2); puts("o_span([], 2)");
  o_span_of(numbers); puts("o_span_of([4, 5, 6])");
  o_array({7, 8, -9}); puts("o_array([7, 8, -9])");
  o_long_array({0.5f}); puts("o_long_array([0.5, 0, 0, 0, 0, 0, 0, 0, … 4 more])");
  o_optional(5, 1); puts("o_optional(5, 1)");
  o_optional(std::nullopt, 1); puts("o_optional(nullopt, 1)");
  o_optional_ref(-6); puts("o_optional_ref(-6)");
  o_optional_ref(std::nullopt); puts("o_optional_ref(nullopt)");
  o_optional_ref(0); puts("o_optional_ref(0)");
  o_optional_long(1l << 40); puts("o_optional_long(1099511627776)");
  o_optional_long({}); puts("o_optional_long(nullopt)");
#ifdef _LIBCPP_VERSION  // in a union, which goes into an integer register: a mark
  o_optional_double(2.5, 1); puts("o_optional_double({…}, 1)");
  o_optional_double({}, 1); puts("o_optional_double({…}, 1)");
#else
  o_optional_double(2.5, 1); puts("o_optional_double(2.5, 1)");
  o_optional_double({}, 1); puts("o_optional_double(nullopt, 1)");
#endif
  o_optional_string("x"); puts("o_optional_string(\"x\")");
  o_optional_string({}); puts("o_optional_string(nullopt)");
  o_unique(std::make_unique<int>(5)); puts("o_unique(&5)");
  o_unique(nullptr); puts("o_unique(nullptr)");
  o_unique_ref(std::make_unique<string>("in")); puts("o_unique_ref(&\"in\")");
  auto ints = std::make_unique<int[]>(4);
  o_unique_array(ints); printf("o_unique_array(%p)\n", (void*)ints.get());
  o_deleter({new int(43), gone}, 2); puts("o_deleter(&43, 2)");
  o_deleter({nullptr, gone}, 3); puts("o_deleter(nullptr, 3)");
  o_deleter_function({new int(44), gone}); puts("o_deleter_function(&44)");
  int count = 99;
  Counts counts{&count};
  o_deleter_counts({new int(45), counts}); puts("o_deleter_counts(&45)");
  o_deleter_plain(std::unique_ptr<int, Plain>(new int(46))); puts("o_deleter_plain(&46)");
  o_deleter_final(std::unique_ptr<int, Final>(new int(47))); puts("o_deleter_final(&47)");
  o_deleter_reference({new int(48), counts}); puts("o_deleter_reference(&48)");
  std::unique_ptr<int[], void (*)(int*)> owned(new int[2], gone);
  o_deleter_array(owned); printf("o_deleter_array(%p)\n", (void*)owned.get());
  string kept = "kept";
  o_deleter_text({&kept, [](string*) {}}); puts("o_deleter_text(&\"kept\")");
  o_ordered({{1, 2}}, Ordered({3, 4}, [](int a, int b) { return a < b; }));
  puts("o_ordered({1 entry}, {2 entries})");
  auto item = std::make_shared<Item>();
  o_shared(item, true); printf("o_shared(&{a=0}, true)\n");
  o_shared(nullptr, false); puts("o_shared(nullptr, false)");
  o_shared_ref(std::make_shared<double>(1.25)); puts("o_shared_ref(&1.25)");
  o_variant("text"); puts("o_variant(\"text\")");
  o_variant(nul); puts("o_variant(\"a\\x00b\")");
  o_map({{"a", 1}, {"b", 2}}, {7}); puts("o_map({2 entries}, {1 entry})");
  o_map({}, {}); puts("o_map({}, {})");
  std::unordered_map<int, int> hash{{1, 2}, {3, 4}, {5, 6}};
  o_hash(hash); puts("o_hash({3 entries})");
#ifndef OLD_STRINGS  // whose lists do not count
  o_list({1, 2}); puts("o_list({2 entries})");
#endif
  o_milliseconds(std::chrono::milliseconds(250)); puts("o_milliseconds(250ms)");
  o_durations(std::chrono::seconds(1), std::chrono::duration<double>(1.5));
  puts("o_durations(1000000000ns, 1.5s)");
  o_same_names(text, 1, 2); puts("o_same_names(\"hello\", 1, 2)");
  Box box;
  box.method("n", {1, 2}); printf("Box::method(%p, \"n\", [1, 2])\n", (void*)&box);

  // --- what is no object
#ifdef _LIBCPP_VERSION  // whose objects are laid out otherwise
  o_wild_string(*(string*)8); puts("o_wild_string((unreadable))");
  o_wild_string(made_of<string>(33, 5, 8)); puts("o_wild_string((unreadable))");
  o_wild_string(made_of<string>(33, -1ul, &text[0]));
  puts("o_wild_string((corrupt: 18446744073709551615 bytes))");
  o_wild_string(made_of<string>(200)); puts("o_wild_string((corrupt: 100 bytes))");
  o_wild_vector(made_of<std::vector<int>>(64, 16));
  puts("o_wild_vector((corrupt: from 0x40 to 0x10))");
  o_wild_texts(made_of<std::vector<string>>(64, 32));
  puts("o_wild_texts((corrupt: from 0x40 to 0x20))");
#elif defined(OLD_STRINGS)
  o_wild_string(*(string*)8); puts("o_wild_string((unreadable))");
  o_wild_string(made_of<string>(8)); puts("o_wild_string((unreadable))");
  const unsigned long huge[] = {-1ul, 0, 0, 0x61};
  o_wild_string(made_of<string>(huge + 3));
  puts("o_wild_string((corrupt: 18446744073709551615 bytes))");
#else
  o_wild_string(*(string*)8); puts("o_wild_string((unreadable))");
  o_wild_string(made_of<string>(8, 5)); puts("o_wild_string((unreadable))");
  o_wild_string(made_of<string>(&text[0], -1ul));
  puts("o_wild_string((corrupt: 18446744073709551615 bytes))");
  o_wild_vector(*(std::vector<int>*)16); puts("o_wild_vector((unreadable))");
  o_wild_vector(made_of<std::vector<int>>(16, 64)); puts("o_wild_vector((unreadable))");
  o_wild_vector(made_of<std::vector<int>>(64, 16));
  puts("o_wild_vector((corrupt: from 0x40 to 0x10))");
  o_wild_vector(made_of<std::vector<int>>(64, 67));
  puts("o_wild_vector((corrupt: from 0x40 to 0x43))");
  o_wild_texts(*(std::vector<string>*)16); puts("o_wild_texts((unreadable))");
  o_wild_texts(made_of<std::vector<string>>(32, 64)); puts("o_wild_texts([(unreadable)])");
  o_wild_texts(made_of<std::vector<string>>(64, 32));
  puts("o_wild_texts((corrupt: from 0x40 to 0x20))");
  o_wild_optional(*(std::optional<int>*)8); puts("o_wild_optional((unreadable))");
  o_wild_optional(made_of<std::optional<int>>(0x7700000001)); puts("o_wild_optional((corrupt))");
  o_wild_unique(*(std::unique_ptr<int>*)8); puts("o_wild_unique((unreadable))");
  o_wild_unique(made_of<std::unique_ptr<int>>(0x10)); puts("o_wild_unique(0x10 (unreadable))");
  o_wild_map(*(std::map<int, int>*)8); puts("o_wild_map((unreadable))");
  o_wild_map(made_of<std::map<int, int>>(0, 0, 0, 0, 0, -1ul));
  puts("o_wild_map((corrupt: 18446744073709551615 entries))");
  o_wild_view({(const char*)8, 3}); puts("o_wild_view((unreadable))");
  o_wild_view({(const char*)8, 0}); puts("o_wild_view(\"\")");
  o_wild_view({text.data(), 1ul << 62});
  puts("o_wild_view((corrupt: 4611686018427387904 bytes))");
  o_wild_span({(int*)8, 3}); puts("o_wild_span((unreadable))");
  o_wild_array(*(std::array<int, 3>*)8); puts("o_wild_array((unreadable))");
#endif
}
EOC

# checked COMPILER FLAGS… : each call as the program says it
checked() {
  "$@" -std=c++20 -g -w -o own own.cc || { fail "$* does not compile"; return; }
  "$patchbay" calls -o lines -e 'o_*' -e Box::method -- ./own >printed 2>err
  same "$*: its status" 0 $?
  same "$*: as many lines" "$(wc -l <printed)" "$(wc -l <lines)"
  same "$*: each call as the program says it" "" \
    "$(diff printed <(sed -E 's/ = [^=]*$//; s/ <[0-9]+\.[0-9]+ ms>$//' lines))"
}
if command -v clang++ >/dev/null; then
  checked clang++ -O2 -fstandalone-debug
  if clang++ -stdlib=libc++ -x c++ -fsyntax-only - 2>/dev/null <<<'#include <string>'; then
    checked clang++ -O2 -stdlib=libc++ -fstandalone-debug
    checked clang++ -O0 -stdlib=libc++ -fstandalone-debug
  else
    echo "SKIPPED: libc++ is not installed"
  fi
fi
checked g++ -O2
checked g++ -O0
checked g++ -O1 -D_GLIBCXX_USE_CXX11_ABI=0  # a string is a pointer

# --- the records: fields for other programs, filters and histograms
"$patchbay" record -q -o objects.dat -e 'o_ref(*)' -e o_ints -- ./own >/dev/null 2>err
same "record" 0 $?
report=$("$patchbay" report -i objects.dat)
has "a text and its length" "$report" 'o_ref\(s=hello, s_len=5, n=3\)'
has "numbers" "$report" 'o_ints\(v=1,-2,3, v_end=[0-9a-f]+, v_begin=[0-9a-f]+\)'
if command -v trace-cmd >/dev/null; then
  report=$(trace-cmd report -i objects.dat 2>/dev/null)
  has "a text of trace-cmd" "$report" 'o_ref.*\(s=hello, s_len=5, n=3\)'
  has "numbers of trace-cmd" "$report" 'o_ints.*\(v=1 2 3 4 5 6 7 8, v_end='
fi
"$patchbay" record -q -o objects.dat -e 'o_ref(*)' -f 's == "hello"' -- ./own >/dev/null 2>err
same "a filter on a text" 1 "$("$patchbay" report -i objects.dat | grep -c 'o_ref(')"
"$patchbay" record -q -o objects.dat -e 'o_ints' -f 'v_len == 3' -- ./own >/dev/null 2>err
check "a field that is not there" test $? -ne 0
"$patchbay" record -q -o objects.dat -e 'o_ints' -f 'v == 3' -- ./own >/dev/null 2>err
check "an array is no number for a filter" test $? -ne 0
"$patchbay" hist 'o_ints(*)' keys=v -- ./own >out 2>err
check "an array is no key" test $? -ne 0
"$patchbay" hist 'o_ref(*)' keys=s -- ./own >out 2>err
has "a text is one" "$(cat out)" '^\{ s: hello +\} hitcount: +1$'

# --- lengths by hand: what a program writes, with its NULs
"$patchbay" calls -o lines -e 'write(int fd, string/count buf, size_t count)' -- \
  printf 'a\0b\n' >out 2>err
has "bytes, as many as a field says" "$(cat lines)" '^write\(1, "a\\x00b\\n", 4\) = 4 <'

# --- Rust, whatever version there is
if command -v rustc >/dev/null; then
  cat >rust.rs <<'EOC'
// std::hint has one from Rust 1.66 on.
fn black_box<T>(x: T) { unsafe { std::arch::asm!("/* {0} */", in(reg) &x as *const T) } }
#[inline(never)] #[no_mangle] pub fn r_str(n: i32, s: &str) { black_box((n, s)); }
#[inline(never)] #[no_mangle] pub fn r_string(s: &String, n: u8) { black_box((s, n)); }
#[inline(never)] #[no_mangle] pub fn r_owned(s: String, n: u8) { black_box((&s, n)); }
#[inline(never)] #[no_mangle] pub fn r_slice(v: &[i32], n: u64) { black_box((v, n)); }
#[inline(never)] #[no_mangle] pub fn r_vec(v: &Vec<f64>) { black_box(v); }
#[inline(never)] #[no_mangle] pub fn r_vec_owned(v: Vec<u16>) { black_box(&v); }
fn main() {
    r_str(-3, "hello");
    r_str(0, &"x\0y\u{e9}".to_string()[..]);
    r_string(&String::new(), 1);
    r_string(&"abc".to_string(), 2);
    r_owned("owned".to_string(), 9);
    r_slice(&[1, -2, 3], 4);
    r_slice(&[], 5);
    r_vec(&vec![0.5; 10]);
    r_vec_owned(vec![6, 7]);
}
EOC
  for flags in "-C opt-level=0" "-O"; do
    # shellcheck disable=SC2086
    if rustc -g $flags -o rust rust.rs 2>err; then
      "$patchbay" calls -o lines -e 'r_*' -- ./rust >out 2>err
      same "rustc $flags" 'r_str(-3, "hello")
r_str(0, "x\x00yé")
r_string("", 1)
r_string("abc", 2)
r_owned("owned", 9)
r_slice([1, -2, 3], 4)
r_slice([], 5)
r_vec([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, … 2 more])
r_vec_owned([6, 7])' "$(sed -E 's/ <[0-9]+\.[0-9]+ ms>$//' lines)"
    else
      fail "rustc $flags: $(head -n 3 err)"
    fi
  done
else
  echo "SKIPPED: Rust: rustc is not installed"
fi

finish
