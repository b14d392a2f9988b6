// SPDX-License-Identifier: MIT
//
// One function, decoded from its start to its end: where its instructions begin, and where its own
// branches land. What a probe on any of its instructions has to know; decoded once for all probes.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "arch/x86_64/decoder.h"
#include "patch/module_code.h"

namespace patchbay {

class FunctionBody {
 public:
  // [start, end) lies in one text range. Decoding begins anew at every symbol inside.
  FunctionBody(const ModuleCode& code, uint64_t start, uint64_t end);

  uint64_t start() const { return start_; }
  uint64_t end() const { return end_; }
  size_t size() const { return end_ - start_; }

  bool is_boundary(uint64_t address) const { return test(boundary_, address); }
  // The instruction that the address lies in; 0: bytes before it are no instructions.
  uint64_t instruction_around(uint64_t address) const;
  // A direct branch or call of this function lands in [first, last).
  bool branch_into(uint64_t first, uint64_t last) const;
  // It has an indirect jump, or bytes that cannot be decoded: it may be entered anywhere.
  bool has_indirect_jump() const { return indirect_; }
  // An indirect jump goes to a sum that was computed before it, as by a table of distances.
  bool jumps_to_sum() const { return jumps_to_sum_; }
  // Addresses that its instructions name, but for branches: by lea, and in an object that is never
  // moved as a constant or as the place of a table. Sorted.
  const std::vector<uint64_t>& named() const { return named_; }
  // Where its jumps (not calls) leave it.
  const std::vector<uint64_t>& jumps_out() const { return jumps_out_; }

 private:
  bool test(const std::vector<uint64_t>& bits, uint64_t address) const;
  void set(std::vector<uint64_t>* bits, uint64_t address);
  void decode(const ModuleCode& code, uint64_t first, uint64_t last);
  void follow_registers(const uint8_t* code, const Insn& insn);
  void note_constants(const uint8_t* code, const Insn& insn);

  uint64_t start_, end_;
  bool indirect_ = false;
  bool jumps_to_sum_ = false;
  bool is_fixed_;
  uint32_t sums_ = 0;  // while decoding: a bit for each register that has been added to
  std::vector<uint64_t> named_;
  std::vector<uint64_t> boundary_, target_, undecoded_;  // bit per byte
  std::vector<uint64_t> jumps_out_;
};

// The functions of a module that were asked for, until they get too many.
class FunctionBodies {
 public:
  explicit FunctionBodies(const ModuleCode& code) : code_(code) {}
  // The function that holds the address; null: none does. Valid until the next call.
  const FunctionBody* around(uint64_t address);
  // Code of the function may be entered at places that no direct branch names: it, or one that it
  // jumps to (its cold part, or the function it is a cold part of), has an indirect jump.
  bool has_hidden_entries(uint64_t address);
  // Places in the function that its own jump tables lead to; those of 8 bytes are ModuleCode's.
  // False: it jumps to a sum, and no table explains that, so it may be entered anywhere. `certain`:
  // of these by a distance of 4 bytes that is not 0, in front of the next table.
  bool table_targets(const FunctionBody& body, std::vector<uint64_t>* targets,
                     std::vector<uint64_t>* certain = nullptr) const;

 private:
  struct Entry {
    std::unique_ptr<FunctionBody> body;
    int8_t hidden = -1;  // not known yet
  };
  Entry* entry_around(uint64_t address);
  bool find_hidden(const FunctionBody& body);

  const ModuleCode& code_;
  std::unordered_map<uint64_t, Entry> entries_;  // by start
  size_t bytes_ = 0;
};

}  // namespace patchbay
