/* SPDX-License-Identifier: MIT
 *
 * The answers of the calls of patchbay.hpp: a value, or the reason why there is none. C++20 has no
 * std::expected<T, failure>; with C++23 a result converts to it.
 */
#ifndef PATCHBAY_CPP_RESULT_HPP
#define PATCHBAY_CPP_RESULT_HPP

#include <patchbay/patchbay.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <version>
#ifdef __cpp_lib_expected
#include <expected>
#endif

namespace patchbay {

/* The reason of a refusal: a positive errno and a sentence.
 * Threads: an object belongs to one at a time. Signal handlers: code() only. */
class failure {
 public:
  explicit failure(int errno_value, std::string sentence = {})
      : errno_(errno_value < 0 ? -errno_value : errno_value), sentence_(std::move(sentence)) {}

  int code() const { return errno_; }
  /* Says what was wrong, where, and what to do; without a sentence it is the name of the errno. The
   * text lives as long as this object. */
  const char* message() const {
    return sentence_.empty() ? std::strerror(errno_) : sentence_.c_str();
  }
  /* Compares the errno alone. */
  friend bool operator==(const failure& a, const failure& b) { return a.errno_ == b.errno_; }

 private:
  int errno_;
  std::string sentence_;
};
using error_number = failure; /* its name in earlier versions */

template <class T>
class result;

namespace detail {

/* Makes the failure of the last call of this thread, which has answered a negative errno. */
inline failure failed(int answer) {
  char sentence[1024];
  const size_t length = patchbay_error_text(sentence, sizeof sentence);
  return failure(answer, std::string(sentence, length < sizeof sentence ? length : 1023));
}

/* Prints one line on stderr, and ends the program. */
[[noreturn, gnu::cold, gnu::noinline]] inline void end_program(const char* what, const char* why) {
  const std::string line = std::string("patchbay: ") + what + why + "\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
  std::abort();
}

/* The common part of result<T> and result<void>. The destructor overwrites `lives_`, so that a
 * thread that still uses a static result after exit() gets a message. */
class result_state {
 public:
  const failure& error() const& { return why_; }
  failure&& error() && { return std::move(why_); }

 protected:
  result_state() : why_(0) {}
  explicit result_state(failure why) : why_(std::move(why)) {}
  result_state(const result_state& other) : why_(other.why_) {}
  result_state(result_state&& other) noexcept : why_(std::move(other.why_)) {}
  result_state& operator=(const result_state&) = default;
  result_state& operator=(result_state&&) noexcept = default;
  ~result_state() {
    lives_ = 0;
    __asm__ volatile("" : : "r"(this) : "memory"); /* the compiler must keep the store */
  }
  [[noreturn, gnu::cold, gnu::noinline]] void end_without_value() const {
    if (lives_ != alive)
      end_program(
          "a result is used after its end: static objects go when the program exits, and "
          "this thread still runs",
          "");
    end_program("the value of a result is used that has none: ", why_.message());
  }
  bool lives() const { return lives_ == alive; }

  static constexpr unsigned int alive = 0x70617463;
  unsigned int lives_ = alive;
  failure why_;
};

template <class R>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;

}  // namespace detail

/* A value, or the reason why there is none. When there is a value, error() has the code 0. The
 * members are those of std::expected<T, failure>, with two differences. Every way to ask for a
 * value that is not there prints a line on stderr and ends the program. The value of a temporary is
 * moved out, so that for (auto& table : *array.hists(event)) is right. Threads and signal handlers:
 * as T. */
template <class T>
class [[nodiscard]] result : public detail::result_state {
 public:
  using value_type = T;
  using error_type = failure;
  result(T value) : value_(std::move(value)) {}
  result(failure why) : result_state(std::move(why)) {}

  bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return has_value(); }
  T& value() & { return checked(); }
  const T& value() const& { return const_cast<result*>(this)->checked(); }
  T value() && { return std::move(checked()); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &value(); }

  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? *value_ : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::move(*value_) : static_cast<T>(std::forward<U>(other));
  }
  /* Calls then(value), which returns a result. */
  template <class Then>
  auto and_then(Then&& then) & {
    return chain(*this, std::forward<Then>(then));
  }
  template <class Then>
  auto and_then(Then&& then) const& {
    return chain(*this, std::forward<Then>(then));
  }
  template <class Then>
  auto and_then(Then&& then) && {
    return chain(std::move(*this), std::forward<Then>(then));
  }
  /* Calls change(value), which returns a value, or nothing. */
  template <class Change>
  auto transform(Change&& change) const& {
    return changed(*this, std::forward<Change>(change));
  }
  template <class Change>
  auto transform(Change&& change) && {
    return changed(std::move(*this), std::forward<Change>(change));
  }
  /* Calls otherwise(failure), which returns a result<T>. */
  template <class Otherwise>
  result or_else(Otherwise&& otherwise) && {
    if (has_value()) return std::move(*this);
    return std::invoke(std::forward<Otherwise>(otherwise), std::move(why_));
  }
  /* Calls change(failure), which returns a failure. */
  template <class Change>
  result transform_error(Change&& change) && {
    if (has_value()) return std::move(*this);
    return std::invoke(std::forward<Change>(change), std::move(why_));
  }
#ifdef __cpp_lib_expected
  operator std::expected<T, failure>() && {
    if (has_value()) return std::move(*value_);
    return std::unexpected(std::move(why_));
  }
#endif

 private:
  T& checked() {
    if (!lives() || !value_) [[unlikely]]
      end_without_value();
    return *value_;
  }
  template <class Self, class Then>
  static auto chain(Self&& self, Then&& then) {
    using Answer = std::invoke_result_t<Then, decltype(*std::forward<Self>(self))>;
    static_assert(detail::is_result<std::remove_cvref_t<Answer>>,
                  "the function that and_then() is given answers a patchbay::result");
    if (!self.has_value()) return Answer(std::forward<Self>(self).error());
    return std::invoke(std::forward<Then>(then), *std::forward<Self>(self));
  }
  template <class Self, class Change>
  static auto changed(Self&& self, Change&& change) {
    using Answer =
        std::remove_cv_t<std::invoke_result_t<Change, decltype(*std::forward<Self>(self))>>;
    if (!self.has_value()) return result<Answer>(std::forward<Self>(self).error());
    if constexpr (std::is_void_v<Answer>) {
      std::invoke(std::forward<Change>(change), *std::forward<Self>(self));
      return result<Answer>();
    } else {
      return result<Answer>(std::invoke(std::forward<Change>(change), *std::forward<Self>(self)));
    }
  }

  std::optional<T> value_;
};

/* The result of a call that has no value. A program may ignore it. */
template <>
class result<void> : public detail::result_state {
 public:
  using value_type = void;
  using error_type = failure;
  result() = default;
  result(failure why) : result_state(std::move(why)) {}
  /* Makes the result of a function for C, which has just answered 0 or a negative errno. */
  static result of(int answer) { return answer < 0 ? result(detail::failed(answer)) : result(); }

  bool has_value() const { return why_.code() == 0; }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (!has_value()) end_without_value();
  }
  void operator*() const { value(); }
  /* Calls then(), which returns a result. */
  template <class Then>
  auto and_then(Then&& then) const -> std::invoke_result_t<Then> {
    if (!has_value()) return why_;
    return std::invoke(std::forward<Then>(then));
  }
  /* Calls otherwise(failure), which returns a result<void>. */
  template <class Otherwise>
  result or_else(Otherwise&& otherwise) const {
    return has_value() ? result() : result(std::invoke(std::forward<Otherwise>(otherwise), why_));
  }
#ifdef __cpp_lib_expected
  operator std::expected<void, failure>() const {
    if (has_value()) return {};
    return std::unexpected(why_);
  }
#endif
};

}  // namespace patchbay

#endif
