// SPDX-License-Identifier: MIT
//
// Names and types for the words that the options func-args and funcgraph-args record of a call
// (abi::kRecordedArgs of them: the integer registers). The agent has them of functions that have a
// function event, the tool from debug information.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "event/function_event.h"

namespace patchbay {

struct CallArgument {
  enum class Show : uint8_t {
    kSigned,     // n=-3
    kUnsigned,   // n=3
    kHex,        // p=0x7ffe1000: pointers, and what nothing is known of
    kBool,       // b=true
    kAggregate,  // s=[0x1:0x2]: a structure in one register or two
    kElsewhere,  // d=?: in a vector register, or nowhere
    kMore,       // ...: this one and all behind it are on the stack
  };
  std::string name;
  Show show = Show::kHex;
  uint8_t size = 8;                    // bytes of the value in its register
  std::array<int8_t, 2> word{-1, -1};  // which of the recorded ones; -1: none of them
};

// What a call leaves in the register of return values. kNone: no result. The function returns
// nothing, a floating-point number, or a structure.
enum class ResultWord : uint8_t { kUnknown, kNone, kResult };

// All of a function's, in their order.
struct CallArguments : std::vector<CallArgument> {
  using vector::vector;
  ResultWord result = ResultWord::kUnknown;
};

// By the address of a function's first byte. Null: nothing is known of it.
using ArgumentsOf = std::function<const CallArguments*(uint64_t function)>;

// What a recorded return value is.
inline ResultWord result_word(const ArgumentsOf* arguments_of, uint64_t function) {
  const CallArguments* known = arguments_of && *arguments_of ? (*arguments_of)(function) : nullptr;
  return known ? known->result : ResultWord::kUnknown;
}

// The prototype that a function event has written: what it follows pointers for is only a pointer.
CallArguments call_arguments(const FunctionEventDef& def);

}  // namespace patchbay
