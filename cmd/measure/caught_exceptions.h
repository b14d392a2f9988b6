// SPDX-License-Identifier: MIT
//
// Calls that are left by an exception have no return; but the exception is caught before their
// thread goes on:
//
//   stack     open calls
//   0x…f80    outer            catches, below it the stack pointer is 0x…f40 then
//   0x…f30    middle   .
//   0x…e90    inner    .       throws: both are left, for their return addresses stand below that
//
// Where it is thrown, __cxa_throw() has the stack pointer: what stands below has nothing to do with
// it (open_calls.cc). __cxa_begin_catch() has the stack pointer, and what the C++ runtime keeps in
// front of a thrown object (__cxa_exception, the same in libstdc++ and libc++): its std::type_info.
// What a std::runtime_error or std::logic_error was made with is its first member; whether a type
// is derived from them is in its type_info.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "event/event_call.h"

namespace patchbay::cmd {

class CaughtExceptions {
 public:
  // What a probe at the entry of __cxa_begin_catch(), in `dynamic_events`, fetches.
  static const char* fetches();

  // The same of one at the entry of __cxa_throw().
  static const char* fetches_of_throw();

  // The event of that probe; null: there is none, and nothing is known.
  void use(const EventCall* event) { event_ = event ? std::optional(*event) : std::nullopt; }

  // The stack pointer of the function that catches; 0: it is not known.
  uint64_t stack_of(std::span<const uint8_t> record) const;
  // The thrown object's address; 0: it is not known.
  uint64_t object_of(std::span<const uint8_t> record) const;
  // "std::runtime_error: no room", with bytes that command no terminal. "": it is of a type that
  // cannot be read, or another language's.
  std::string text_of(std::span<const uint8_t> record) const;

 private:
  std::optional<EventCall> event_;
};

}  // namespace patchbay::cmd
