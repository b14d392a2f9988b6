// SPDX-License-Identifier: MIT
// Result<T>: a value, or the system's refusal with errno, verb and object. It has the form of
// std::expected, which g++ 12 and clang 14 lack.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace patchbay {

struct Error {
  int errno_value = 0;  // EINVAL, ENOENT …; never 0
  std::string what;     // "open /run/patchbay/7/buffer", or a whole sentence for a user's mistake

  // "open /run/x: Permission denied"; for a user's mistake (see user_error) just the sentence.
  std::string message() const {
    if (sentence) return what;
    return what + ": " + std::strerror(errno_value);
  }
  bool sentence = false;
};

// The system refused: errno at the time of the call, and what was tried.
inline Error sys_error(std::string what, int errno_value) {
  return Error{errno_value, std::move(what), false};
}
// The user (or a foreign file) was wrong: `sentence` says what, where and what to do.
inline Error user_error(int errno_value, std::string sentence) {
  return Error{errno_value, std::move(sentence), true};
}

template <typename T = std::monostate>
class [[nodiscard]] Result {
 public:
  Result() requires std::is_same_v<T, std::monostate> : state_(T{}) {}
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  T* operator->() { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<std::monostate>;

// PB_TRY(expr): returns the error of a failed Status/Result from the enclosing function.
#define PB_TRY(expr)                                                                    \
  do {                                                                                  \
    if (auto pb_try_result = (expr); !pb_try_result.ok()) return pb_try_result.error(); \
  } while (0)

// PB_ASSIGN(std::string text, read_all(path)): declares `text` with the value of a Result. A failed
// Result returns its error from the enclosing function. The left side is a declaration or a
// variable.
#define PB_ASSIGN(left, ...) PB_ASSIGN_TO(left, PB_JOINED(pb_result_, __LINE__), __VA_ARGS__)
#define PB_ASSIGN_TO(left, result, ...)    \
  auto result = (__VA_ARGS__);             \
  if (!result.ok()) return result.error(); \
  left = std::move(*result)
#define PB_JOINED(a, b) PB_JOINED_WORDS(a, b)
#define PB_JOINED_WORDS(a, b) a##b

}  // namespace patchbay
