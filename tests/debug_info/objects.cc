// SPDX-License-Identifier: MIT
// Functions that take objects of the C++ library, and classes that only are called so.
#include <array>
#include <chrono>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#define TAKES [[gnu::noinline, gnu::used]] void
// A class is complete where its size is asked for.
#define COMPLETE(x) asm volatile("" ::"r"(sizeof(x)))

enum class Color : unsigned char { kRed };
struct Item {
  int a;
};
struct Deleter {
  void operator()(int* p) const { delete p; }
};
namespace mine {
template <typename T>
struct vector {
  T* first;
  ~vector();
};
struct path {
  long length;
  ~path();
};
}  // namespace mine

TAKES string_reference(const std::string& s) { COMPLETE(s); }
TAKES string_value(int n, std::string s) {
  COMPLETE(n);
  COMPLETE(s);
}
TAKES view(std::string_view s, int n) {
  COMPLETE(s);
  COMPLETE(n);
}
TAKES view_reference(const std::string_view& s) { COMPLETE(s); }
TAKES path(const std::filesystem::path& p) { COMPLETE(p); }
TAKES wide(const std::wstring& s) { COMPLETE(s); }
TAKES ints(const std::vector<int>& v) { COMPLETE(v); }
TAKES bits(const std::vector<bool>& v) { COMPLETE(v); }
TAKES items(const std::vector<Item>& v) { COMPLETE(v); }
TAKES texts(const std::vector<std::string>& v) { COMPLETE(v); }
TAKES text_array(const std::array<std::string_view, 2>& v) { COMPLETE(v); }
TAKES colors(std::vector<Color> v) { COMPLETE(v); }
TAKES chars(const std::vector<char>& v) { COMPLETE(v); }
TAKES array(const std::array<long, 9>& v) { COMPLETE(v); }
TAKES span(std::span<const short> v) { COMPLETE(v); }
TAKES span_of(std::span<float, 2> v) { COMPLETE(v); }
TAKES span_reference(const std::span<int>& v) { COMPLETE(v); }
TAKES optional_in_one(std::optional<int> v) { COMPLETE(v); }
TAKES optional_in_two(std::optional<double> v, int n) {
  COMPLETE(v);
  COMPLETE(n);
}
TAKES optional_reference(const std::optional<std::string>& v) { COMPLETE(v); }
TAKES unique(std::unique_ptr<int> p) { COMPLETE(p); }
// The deleter stands in front of the pointer, and is none.
TAKES unique_deleter(const std::unique_ptr<int, void (*)(int*)>& p) { COMPLETE(p); }
TAKES unique_reference(const std::unique_ptr<int, Deleter&>& p) { COMPLETE(p); }
TAKES shared(const std::shared_ptr<Item>& p) { COMPLETE(p); }
TAKES sizes(const std::map<int, int>& m, const std::unordered_set<int>& s,
            const std::list<int>& l) {
  COMPLETE(m);
  COMPLETE(s);
  COMPLETE(l);
}
TAKES duration(std::chrono::microseconds d, const std::chrono::hours& h) {
  COMPLETE(d);
  COMPLETE(h);
}
TAKES taken(const std::string& s, int s_len, int s_len_1) {
  COMPLETE(s);
  COMPLETE(s_len);
  COMPLETE(s_len_1);
}
TAKES not_ours(mine::vector<int> v, const mine::path& p) {
  COMPLETE(v);
  COMPLETE(p);
}
TAKES fills(Item& out, std::array<int, 2>& numbers, std::chrono::seconds& d) {
  COMPLETE(out);
  COMPLETE(numbers);
  COMPLETE(d);
}
TAKES changes(std::vector<int>& v, Item&& moved) {
  COMPLETE(v);
  COMPLETE(moved);
}

// More parts than a line of function_events has room for.
struct Six {
  int a1, a2, a3, a4, a5, a6;
};
struct SixTimesSix {
  Six first, second, third, fourth, fifth, sixth;
};
struct ListsOfTexts {
  std::vector<std::string> first, second, third, fourth, fifth, sixth;
};
TAKES large(const SixTimesSix& a, const SixTimesSix& b, const SixTimesSix& c) {
  COMPLETE(a);
  COMPLETE(b);
  COMPLETE(c);
}
TAKES large_lists(const ListsOfTexts& first, const ListsOfTexts& second) {
  COMPLETE(first);
  COMPLETE(second);
}
TAKES many_large(const SixTimesSix& first, const SixTimesSix& second, const SixTimesSix& third,
                 const SixTimesSix& fourth, const SixTimesSix& fifth, const SixTimesSix& sixth) {
  COMPLETE(first);
  COMPLETE(second);
  COMPLETE(third);
  COMPLETE(fourth);
  COMPLETE(fifth);
  COMPLETE(sixth);
}
