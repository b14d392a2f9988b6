// SPDX-License-Identifier: MIT
// For derive_test: what C++ calls the values of its enumerations.
enum Plain { kRed, kGreen = 0x80, kBlue = 0xffff };
enum class Scoped : signed char { kLow = -128, kNone = 0, kHigh = 127 };
enum Access { kRead = 1, kWrite = 2, kRun = 4, kAll = 7 };
typedef enum { kFirst, kSecond } Untagged;
volatile int sink;

namespace shop {
enum class Wide : unsigned long long { kTop = 1ull << 63, kOne = 1 };
enum Size { kSmall, kLarge };
struct Box {
  enum State { kOpen, kShut };
  enum class Lock { kOn, kOff };
  __attribute__((noinline)) Lock turn(State state, Lock lock, Size size);
};
Box::Lock Box::turn(State state, Lock lock, Size size) {
  sink = int(state) + int(size);
  return lock;
}
namespace {
enum class Hidden { kHere = 1 };
__attribute__((noinline, used)) void hide(const Hidden hidden, Scoped scoped, Wide wide) {
  sink = int(hidden) + int(scoped) + int(wide);
}
}  // namespace
}  // namespace shop

__attribute__((noinline)) Plain paint(Plain plain, const Access& reference, Access access,
                                      Untagged untagged, shop::Size size, shop::Box::State state) {
  sink = int(reference) + int(access) + int(untagged) + int(size) + int(state);
  return plain;
}

int uses() {
  const Access access = kRead;
  shop::hide(shop::Hidden::kHere, Scoped::kLow, shop::Wide::kTop);
  return int(paint(kRed, access, kRun, kFirst, shop::kSmall, shop::Box::kOpen));
}
