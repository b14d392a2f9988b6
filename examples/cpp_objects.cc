// SPDX-License-Identifier: MIT
//
// Functions that take objects of the C++ library. With debug information their calls are shown as
// they are written:
//
//   g++ -std=c++20 -g -o cpp_objects cpp_objects.cc && patchbay calls -e greet -- ./cpp_objects
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#define TRACED [[gnu::noinline, gnu::used]]

TRACED size_t greet(const std::string& name, std::string_view title, std::vector<int> years,
                    std::optional<double> size, std::chrono::milliseconds wait) {
  asm volatile("" ::: "memory");
  return name.size() + title.size() + years.size() + size_t(size.value_or(0)) +
         size_t(wait.count());
}

TRACED size_t visit(const std::vector<std::string>& places, const std::map<std::string, int>& stays,
                    std::unique_ptr<std::string> note) {
  asm volatile("" ::: "memory");
  return places.size() + stays.size() + (note ? note->size() : 0);
}

int main() {
  using namespace std::chrono_literals;
  size_t sum = greet("Ada", "Countess of Lovelace", {1815, 1843, 1852}, 1.75, 250ms);
  sum += greet("Linus", "", std::vector<int>(20, 6), std::nullopt, 2s);
  sum += visit({"Turin", "London"}, {{"Turin", 1}, {"London", 36}},
               std::make_unique<std::string>("by train"));
  sum += visit({}, {}, nullptr);
  std::printf("cpp_objects: %zu\n", sum);
}
