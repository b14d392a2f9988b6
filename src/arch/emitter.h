// SPDX-License-Identifier: MIT
//
// Writes machine code, an operation at a time. All that generates code says what it wants in these
// operations: the code of a place and of a return (codegen/probe_emitter.h), that of static events
// (codegen/static_event_code.h), the tests of filters (filter/filter_jit.h). What they come to is
// the architecture's: arch/x86_64/emitter.cc, which alone knows an assembler.
//
// A second architecture implements Emitter and GeneratedCode::place(), and has a registers.h of its
// own. It may spend registers of its own in an operation, but none of registers.h that the
// operation does not name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "arch/x86_64/registers.h"

namespace patchbay {

enum class Width : uint8_t { k1 = 1, k2 = 2, k4 = 4, k8 = 8 };

// The memory at base + index + offset. Base kThread: thread-local storage, without an index.
struct Mem {
  Reg base;
  int64_t offset = 0;
  Reg index = reg::kNone;
};
int64_t thread_local_offset(const void* word);  // of a word of this thread's
inline Mem thread_local_word(int64_t offset) { return {reg::kThread, offset}; }

// A number of up to 32 bits; where the width is 64 its sign is extended.
struct Number {
  uint32_t value;
};

using Destination = std::variant<Reg, Mem>;
using Operand = std::variant<Reg, Mem, Number>;

enum class Op : uint8_t {
  kAdd,
  kSub,  // a jump_if() behind it sees the borrow as kBelow
  kAnd,
  kOr,
  kXor,
  kCompare,  // the target stays
  kTest,     // and so does it here: kEqual when no bit is in both
};

// What the last kCompare or kTest gave. Below and above: without a sign; less and greater: with.
enum class JumpCondition : uint8_t {
  kEqual,
  kNotEqual,
  kBelow,
  kNotBelow,
  kNotAbove,
  kAbove,
  kLess,
  kNotLess,
  kNotGreater,
  kGreater,
};
JumpCondition opposite(JumpCondition condition);

// A place in the code; named before or behind where it is bound.
class Label {
 public:
  Label() = default;
  Label(const Label&) = delete;
  Label& operator=(const Label&) = delete;

 private:
  friend class LabelTable;
  mutable uint32_t number_ = 0;  // 0: the emitter has not met it
};

// A restartable sequence (hot/rseq.inc): what stands between its start and its commit.
struct Sequence {
  Label descriptor, start, committed, abort;
};

// A call of a function anywhere, or a jump there: its address is in a room beside the code.
class CallOut {
 public:
  CallOut() = default;
  CallOut(const CallOut&) = delete;
  CallOut& operator=(const CallOut&) = delete;

 private:
  friend class CallTable;
  mutable uint32_t number_ = 0;  // 0: the emitter has not met it
};

// What differs from one place that the code is put to to the next, as offsets in the code.
struct CodeFixups {
  struct Value {
    uint8_t tag;   // of set_later(), store_later()
    uint8_t size;  // 4 or 8
    size_t at;
  };
  struct Call {
    size_t displacement;  // where the instruction has the distance to the room
    size_t room;
    void* target;
  };
  struct Restartable {
    size_t descriptor, start, committed, abort;
  };
  std::vector<Value> values;
  std::vector<Call> calls;
  std::vector<Restartable> sequences;
};

struct GeneratedCode {
  std::vector<uint8_t> bytes;
  CodeFixups fixups;

  // Writes the code to `out` for execution at `address`. values[tag] is what set_later() has left
  // open. `out` has room for bytes.size().
  void place(uint8_t* out, uint64_t address, const uint64_t* values) const;
};

// From here on the program's stack pointer is `moved` bytes higher than the stack pointer.
// `is_saved`: reg::kSpent stand below it.
struct StackNote {
  size_t at;
  int moved;
  bool is_saved;
};

class Emitter {
 public:
  virtual ~Emitter() = default;

  virtual size_t size() const = 0;       // of the code so far
  virtual bool is_complete() const = 0;  // false: it did not fit, or an operand was impossible

  // --- data
  virtual void set(Reg to, uint64_t value) = 0;
  virtual void set_later(Reg to, uint8_t tag) = 0;    // 64 bits
  virtual void store_later(Mem to, uint8_t tag) = 0;  // 32 bits
  virtual void move(Reg to, Reg from, Width width = Width::k8) = 0;
  virtual void load(Reg to, Mem from, Width width = Width::k8) = 0;  // the rest becomes 0
  virtual void load_signed(Reg to, Mem from, Width width) = 0;       // k1 or k2, to 32 bits
  virtual void store(Mem to, Reg from, Width width = Width::k8) = 0;
  virtual void store_number(Mem to, uint32_t value, Width width) = 0;
  virtual void address_of(Reg to, const Label& label) = 0;
  // The program's stack pointer and, at a function's entry, the word that it points to.
  virtual void load_stack_pointer(Reg to) = 0;
  virtual void load_return_address(Reg to) = 0;
  virtual void load_thread_pointer(Reg to) = 0;
  virtual void load_vector(Reg to, int number) = 0;  // the low 64 bits of a vector register

  // --- arithmetic. At most one of `to` and `from` is memory; k4 makes the rest of a register 0.
  virtual void apply(Op op, Destination to, Operand from, Width width = Width::k8) = 0;
  virtual void multiply(Reg to, std::variant<Reg, Number> by) = 0;  // the low 64 bits
  virtual void increment(Reg reg) = 0;
  virtual void shift_left(Reg reg, int bits, Width width = Width::k8) = 0;
  virtual void shift_right(Reg reg, int bits) = 0;
  virtual void shift_right_signed(Reg reg, int bits) = 0;
  virtual void shift_right_by_count(Reg reg) = 0;  // by reg::kCount, whose low 6 bits count
  virtual void complement(Reg reg) = 0;
  virtual void negate(Reg reg) = 0;
  virtual void lowest_bit(Reg reg) = 0;  // its number; one is set
  virtual void flip_bit(Reg reg, int bit) = 0;
  virtual void read_clock() = 0;  // to reg::kTime; spends reg::kSlot

  // --- control
  virtual void bind(const Label& label) = 0;
  virtual void jump(const Label& to) = 0;
  virtual void jump_if(JumpCondition condition, const Label& to) = 0;
  virtual void jump_to(Reg address) = 0;
  virtual void jump_through(const Label& word) = 0;
  virtual void call(Reg address) = 0;
  virtual void call_out(const CallOut& call) = 0;
  virtual void jump_out(const CallOut& call) = 0;
  virtual void return_to_caller() = 0;

  // --- the stack and the flags. move_stack(), push() and pop() do their stack_is() themselves.
  virtual void move_stack(int by) = 0;  // keeps the flags
  virtual void push(Reg reg) = 0;
  virtual void pop(Reg reg) = 0;
  virtual void save_flags(Mem to) = 0;
  virtual void restore_flags(Mem from) = 0;  // spends reg::kWork
  virtual void jump_if_unaligned_faults(Mem flags, const Label& to) = 0;
  void stack_is(int moved, bool is_saved = false) { notes_.push_back({size(), moved, is_saved}); }
  const std::vector<StackNote>& stack_notes() const { return notes_; }

  // --- restartable sequences, and the counting that one of them commits
  virtual void begin_sequence(const Sequence& sequence) = 0;  // spends reg::kWork
  virtual void load_cpu(Reg to) = 0;                          // 32 bits
  virtual void load_cpu(Reg to, const Label& unregistered) = 0;
  virtual void add_one(Mem word) = 0;  // one instruction: it may be the last of a sequence
  virtual void add_locked(Mem word, std::variant<Reg, Number> what, Width width) = 0;
  virtual void commit_sequence(const Sequence& sequence) = 0;
  // Behind a jump: here an abort goes on. `may_fault`: the sequence loads through pointers of the
  // program's. The signal of a fault aborts it, and its handler goes on here (is_load_abort()).
  virtual void abort_sequence(const Sequence& sequence, bool may_fault = false) = 0;

  // --- data beside the code
  virtual void align(size_t to) = 0;
  virtual void word(const Label& label, uint64_t value) = 0;
  virtual void room(const CallOut& call, void* target) = 0;
  virtual void describe(const Sequence& sequence) = 0;

  // The code as it is now, when all of it has been emitted.
  virtual GeneratedCode take() const = 0;

 protected:
  int moved() const { return notes_.empty() ? 0 : notes_.back().moved; }

 private:
  std::vector<StackNote> notes_;
};

// For at most `capacity` bytes.
std::unique_ptr<Emitter> make_emitter(size_t capacity);

}  // namespace patchbay
