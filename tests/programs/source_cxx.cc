// SPDX-License-Identifier: MIT
// For tests/scripts/probe_source.sh, the C++ half: methods, overloads, references, templates,
// std::string and std::string_view.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#define KEEP __attribute__((noinline))

volatile long sink;

namespace shop {

enum class Kind : unsigned char { kSmall, kBig = 200 };

struct Base {
  virtual ~Base() = default;
  int base_number = 11;
};

class Order : public Base {
 public:
  Order(std::string name, int count) : name_(std::move(name)), count_(count) {}
  KEEP long add(int more);
  KEEP long add(const std::string& text, std::string_view view);
  KEEP void rename(std::string name);

 private:
  std::string name_;
  int count_ = 0;
  Kind kind_ = Kind::kBig;
  Order* next_ = nullptr;
};

long Order::add(int more) {
  count_ += more;
  sink = count_;  // line: add_int
  return count_;
}

long Order::add(const std::string& text, std::string_view view) {
  long length = long(text.size() + view.size());
  sink = length;  // line: add_text
  return length + count_;
}

void Order::rename(std::string name) {
  sink = long(name.size());  // line: rename
  name_ = std::move(name);
}

template <typename T>
KEEP T largest(const T& a, const T& b) {
  T result = a < b ? b : a;
  sink = long(result);  // line: largest
  return result;
}

}  // namespace shop

namespace {
KEEP int hidden(int& reference, const int (&table)[4]) {
  reference++;
  sink = table[2];  // line: hidden
  return reference;
}
}  // namespace

int main() {
  shop::Order order("a name that is too long for the object itself", 3);
  for (int round = 0; round < 3; round++) {
    std::printf("add_int more=%d count=%d base=11 kind=200\n", round,
                3 + (round * (round - 1)) / 2);
    order.add(round);
    std::string text = "text" + std::to_string(round);
    std::printf("add_text text=%s length=%d\n", text.c_str(), 5 + round + 1);
    order.add(text, std::string_view("view-of-it").substr(0, size_t(round + 1)));
    int number = 41 + round, table[4] = {1, 2, 30 + round, 4};
    std::printf("hidden reference=%d third=%d\n", number + 1, table[2]);
    hidden(number, table);
    shop::largest(round, 1);
    shop::largest(long(round), 2L);
  }
  std::printf("rename name=short\n");
  order.rename("short");
  return 0;
}
