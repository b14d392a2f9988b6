// SPDX-License-Identifier: MIT
// Calls of C++, and below each the line that `patchbay calls` has to show for it (call_table.sh):
// of the language, then of its library, libstdc++ or libc++.
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
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
#ifdef __clang__
#define CALL __attribute__((noinline, used))
#else
#define CALL __attribute__((noipa, used))
#endif
inline void used_at(const void* p) { asm volatile("" ::"r"(p) : "memory"); }
template <typename... T>
inline void used(T&&... t) {
  (used_at(&t), ...);
}
using std::string;

namespace shop {
enum Size { kSmall, kLarge };
enum class State : unsigned char { kOpen, kShut = 9 };
struct Point {
  int x;
  double y;
};
struct Base {
  int id;
};
struct Derived : Base {
  float weight;
  State state;
};
struct Owned {
  Owned(const char* n, int k) : name(n), count(k) {}
  string name;
  int count;
};
class Counter {
 public:
  CALL int add(int n) { return used(n), total_ += n; }
  CALL bool is(State s) const { return used(s), total_ > 0; }
  CALL static long twice(long n) { return used(n), 2 * n; }
  CALL Counter& operator+=(short n) { return used(n), total_ += n, *this; }
  int total_ = 0;
};
CALL State t_scoped(State s, Size z) { return used(s, z), State::kShut; }
CALL void t_point(Point p, bool b) { used(p, b); }
CALL void t_derived(Derived d) { used(d); }
CALL int t_overloaded(int n) { return used(n), n; }
CALL double t_overloaded(double x) { return used(x), x; }
}  // namespace shop

CALL void t_references(int& a, const double& b, shop::Point& p) { used(a, b, p); }
CALL void t_const_reference(const shop::Point& p, const int& n) { used(p, n); }
CALL void t_moved(shop::Counter&& c) { used(c); }
CALL void t_null(std::nullptr_t n, const char* s) { used(n, s); }
CALL void t_data_member(int shop::Point::*m) { used(m); }
CALL void t_member_function(int (shop::Counter::*m)(int)) { used(m); }
CALL void t_callback(int (*f)(int)) { used(f); }
template <typename T>
CALL T t_template(T a, T b) {
  return used(a, b), a;
}
CALL void t_owned(const shop::Owned& o) { used(o); }

CALL void t_string(const string& s, int n) { used(s, n); }
CALL void t_string_value(string s) { used(s); }
CALL void t_view(std::string_view s, int n) { used(s, n); }
CALL void t_ints(const std::vector<int>& v) { used(v); }
CALL void t_texts(const std::vector<string>& v) { used(v); }
CALL void t_span(std::span<const short> v, int n) { used(v, n); }
CALL void t_array(const std::array<int, 3>& v) { used(v); }
CALL void t_array_value(std::array<int, 3> v) { used(v); }
CALL void t_optional(std::optional<int> v) { used(v); }
CALL void t_optional_text(const std::optional<string>& v) { used(v); }
CALL void t_variant(const std::variant<int, double, string>& v) { used(v); }
CALL void t_unique(std::unique_ptr<int> p) { used(p); }
CALL void t_shared(const std::shared_ptr<double>& p) { used(p); }
CALL void t_maps(const std::map<string, int>& m, const std::set<int>& s,
                 const std::unordered_map<int, int>& h) {
  used(m, s, h);
}
CALL void t_function(const std::function<int(int)>& f) { used(f); }
CALL void t_durations(std::chrono::milliseconds d, const std::chrono::seconds& s) { used(d, s); }
CALL void t_path(const std::filesystem::path& p) { used(p); }
CALL string t_returns_text(int n) { used(n); return string(size_t(n), 'x'); }
CALL std::vector<int> t_returns_list(int n) { used(n); return std::vector<int>(size_t(n), 6); }
CALL shop::Point t_returns_point(int n) { used(n); return {n, n / 2.0}; }
CALL std::optional<int> t_returns_optional(int n) {
  used(n);
  if (n > 0) return n;
  return std::nullopt;
}
CALL std::unique_ptr<int> t_returns_unique(int n) { used(n); return std::make_unique<int>(n); }

int twice(int n) { return 2 * n; }

void language() {
  using namespace shop;
  t_scoped(State::kOpen, kLarge);
  puts("shop::t_scoped(State::kOpen, kLarge) = State::kShut");
  t_scoped(State(5), Size(1)); puts("shop::t_scoped(5, kLarge) = State::kShut");
  t_point({7, -0.5}, true); puts("shop::t_point({x=7, y=-0.5}, true)");
  t_derived({{5}, 1.5f, State::kShut});
  puts("shop::t_derived({id=5, weight=1.5, state=State::kShut})");
  t_overloaded(3); puts("shop::t_overloaded(3) = 3");
  t_overloaded(2.5); puts("shop::t_overloaded(2.5) = 2.5");
  Counter counter;
  counter.add(4); printf("shop::Counter::add(%p, 4) = 4\n", (void*)&counter);
  counter.is(State::kShut);
  printf("shop::Counter::is(%p, State::kShut) = true\n", (void*)&counter);
  Counter::twice(21); puts("shop::Counter::twice(21) = 42");
  counter += 2;
  printf("shop::Counter::operator+=(%p, 2) = %p\n", (void*)&counter, (void*)&counter);
  int n = 3;
  double half = 0.5;
  Point point{1, 2.5};
  t_references(n, half, point);
  printf("t_references(%p, 0.5, %p)\n", (void*)&n, (void*)&point);
  t_const_reference(point, n); puts("t_const_reference({x=1, y=2.5}, 3)");
  t_moved(std::move(counter)); printf("t_moved(%p)\n", (void*)&counter);
  t_null(nullptr, "s"); puts("t_null(NULL, \"s\")");
  t_data_member(&Point::x); puts("t_data_member(&shop::Point::x)");
  t_data_member(nullptr); puts("t_data_member(nullptr)");
  t_member_function(&Counter::add); puts("t_member_function(shop::Counter::add)");
  t_member_function(nullptr); puts("t_member_function(nullptr)");
  t_callback(twice); puts("t_callback(twice)");
  t_callback([](int a) { return a; });
#ifdef __clang__
  puts("t_callback(language()::$_0::__invoke)");
#else
  puts("t_callback(language()::{lambda(int)#1}::_FUN)");
#endif
  t_template<long>(5, 6); puts("t_template<long>(5, 6) = 5");
  t_template('a', 'b'); puts("t_template<char>('a', 'b') = 'a'");
  t_owned(Owned("box", 2)); puts("t_owned({name=\"box\", count=2})");
}

void library() {
  const string text = "hello", large(60, 'x'), nul("a\0b", 3);
  t_string(text, 3); puts("t_string(\"hello\", 3)");
  t_string("", 4); puts("t_string(\"\", 4)");
  t_string(nul, 5); puts("t_string(\"a\\x00b\", 5)");
  t_string(large, 6); printf("t_string(\"%s\", 6)\n", large.c_str());
  t_string_value("22 characters in place"); puts("t_string_value(\"22 characters in place\")");
  t_view(std::string_view(text).substr(1, 3), 1); puts("t_view(\"ell\", 1)");
  t_ints({1, -2, 3}); puts("t_ints([1, -2, 3])");
  t_ints({}); puts("t_ints([])");
  t_texts({"a", large}); printf("t_texts([\"a\", \"%s\"])\n", large.c_str());
  const short numbers[] = {4, 5};
  t_span(numbers, 2); puts("t_span([4, 5], 2)");
  t_array({7, 8, -9}); puts("t_array([7, 8, -9])");
  t_array_value({7, 8, -9}); puts("t_array_value([7, 8, -9])");
  t_optional(5); puts("t_optional(5)");
  t_optional({}); puts("t_optional(nullopt)");
  t_optional_text("x"); puts("t_optional_text(\"x\")");
  t_variant(5); puts("t_variant(5)");
  t_variant(0.25); puts("t_variant(0.25)");
  t_variant("text"); puts("t_variant(\"text\")");
  t_unique(std::make_unique<int>(5)); puts("t_unique(&5)");
  t_unique(nullptr); puts("t_unique(nullptr)");
  t_shared(std::make_shared<double>(1.25)); puts("t_shared(&1.25)");
  t_maps({{"a", 1}, {"b", 2}}, {7}, {{1, 2}}); puts("t_maps({2 entries}, {1 entry}, {1 entry})");
  t_function(twice); puts("t_function(twice)");
  t_function(nullptr); puts("t_function(nullptr)");
  t_function([](int a) { return a; });
#ifdef __clang__
  puts("t_function(library()::$_0)");
#else
  puts("t_function(library()::{lambda(int)#1})");
#endif
  t_durations(std::chrono::milliseconds(250), std::chrono::seconds(2));
  puts("t_durations(250ms, 2s)");
  t_path("/etc/passwd"); puts("t_path(\"/etc/passwd\")");
}

void results() {
  t_returns_text(3); puts("t_returns_text(3) = \"xxx\"");
  t_returns_text(40); printf("t_returns_text(40) = \"%s\"\n", string(40, 'x').c_str());
  t_returns_list(2); puts("t_returns_list(2) = [6, 6]");
  t_returns_point(3); puts("t_returns_point(3) = {x=3, y=1.5}");
  t_returns_optional(4); puts("t_returns_optional(4) = 4");
  t_returns_optional(0); puts("t_returns_optional(0) = nullopt");
  t_returns_unique(4); puts("t_returns_unique(4) = &4");
}

int main() {
  language();
  library();
  results();
}
