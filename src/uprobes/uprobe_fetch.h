// SPDX-License-Identifier: MIT
//
// A fetch program, split between the kernel and us. What has to be read in the traced thread, when
// it hits the breakpoint, becomes arguments of a line of the kernel's `uprobe_events`. What follows
// from these values is done by us, when the record is read:
//
//     ARG 0, ADD 8, DEREF, STRING 512     name=+0(+8(%di)):u64[64]   a __data_loc, up to the NUL
//     ARG 1, ADD 4, STORE 4               n=%si:u64                  + 4, its low 4 bytes
//
// A text is read as so many words: the kernel's own `:string` warns in its log, and ends a machine
// that is set up to panic then, when a program has a text of 4 KiB.
//
// So fields, limits and texts are those of the agent's records. What the kernel cannot read (vector
// registers, pointers of 32 bits) is refused with a sentence.
//
// The kernel leaves what it likes in an argument whose chain of pointers breaks before the last
// one. So each pointer in between is an argument of its own, a guard: 0 means that it could not be
// read, and that the field's value is what the agent gives for a fault.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "fetch/fetch_abi.h"

namespace patchbay {

// How a function gets its arguments.
enum class UprobeAbi : uint8_t {
  kSysV,       // rdi rsi rdx rcx r8 r9
  kI386,       // 4 bytes each on the stack
  kGo,         // rax rbx rcx rdi rsi r8 r9 r10 r11 (ABIInternal); a text is pointer and length
  kGoOnStack,  // Go's assembly functions (ABI0): on the stack, packed by their sizes
};

// Where the breakpoint is.
struct UprobeSite {
  UprobeAbi abi = UprobeAbi::kSysV;
  bool on_return = false;
  uint64_t address = 0;      // as the symbols have it
  uint64_t file_offset = 0;  // of the same place
  uint64_t module_start = 0, module_end = 0;
  // Of Go: the register of each integer position of a function event, whose texts take two.
  // Empty: position n is in register n.
  std::vector<uint8_t> go_registers;
};

// An argument of the kernel's event.
struct KernelArgument {
  std::string name;
  std::string fetch;   // "+0(%di):string"
  uint8_t size = 8;    // of an element: 1 2 4 8; of a text 4, the __data_loc word
  uint32_t count = 0;  // > 0: that many elements
  bool is_text = false;
  uint32_t offset = 0;  // in the kernel's record; bind() finds it
};

// How a field of ours is made of them.
struct FieldRecipe {
  enum class Kind : uint8_t { kNumber, kArray, kText, kComm };
  static constexpr size_t kNone = SIZE_MAX;

  Kind kind = Kind::kNumber;
  std::vector<size_t> guards;  // a 0 in one of these is a fault
  size_t value = kNone;        // first argument; kNone: `constant`
  size_t nr_values = 1;        // of an array that needs several
  size_t length = kNone;       // of a text of Go, which has no NUL
  uint64_t constant = 0;
  std::vector<FetchInsn> steps;   // kAdd, kExtend, kBits
  uint8_t sign_from = 0;          // > 0: so many bytes have a sign
  uint32_t offset = 0;            // in our record
  uint8_t size = 8;               // of an element in our record
  uint32_t count = 0;             // elements of an array, words of a text
  uint32_t limit = 0;             // of a text, with its NUL
  bool fault_is_no_text = false;  // length 0; else an empty text
};

struct UprobeFetch {
  std::vector<KernelArgument> arguments;
  std::vector<FieldRecipe> fields;
  uint32_t fixed_size = 0, head_size = 0;
  size_t caller = FieldRecipe::kNone;  // of function events: the word at the top of the stack

  // The record behind its head, as fetch_run() makes it; `record` has its head already. False: the
  // kernel's record is shorter than its format says.
  bool append_fields(std::span<const uint8_t> kernel_record, std::vector<uint8_t>* record) const;
  // The number in an argument; 0 when it lies outside of the record.
  uint64_t number(std::span<const uint8_t> kernel_record, size_t argument) const;
};

struct NoUprobeForm {
  size_t field = 0;  // which one, in the order of the record
  std::string why;
};

// `names` are those of the fields: an argument that is a field's alone is called after it.
std::variant<UprobeFetch, NoUprobeForm> split_fetch(const FetchProgram& program,
                                                    const UprobeSite& site,
                                                    const std::vector<std::string>& names);

}  // namespace patchbay
