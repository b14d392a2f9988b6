// SPDX-License-Identifier: MIT
//
// A module's text as the planner looks at it: which bytes behind function entries some branch may
// land on. One pass over the raw bytes marks candidates; the few that matter are confirmed by
// decoding when a function there is planned. An indirect branch lands where an address says: those
// that the module's data holds, and those that its instructions name, are candidates as well
// (docs/text_poke.md, "Indirect branches").
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "symbol/symbol.h"

namespace patchbay {

class ModuleCode {
 public:
  explicit ModuleCode(Module& module);

  // The module has been loaded again since (other symbols): this object is stale.
  bool describes(Module& module) const;

  // Bytes as in the file from `address` to the end of its text range; empty outside of text.
  std::string_view code_at(uint64_t address) const;
  // Index in functions() of the last function at or before `address`; -1: none.
  long function_before(uint64_t address) const;
  // Entry of the next function behind `address`, or the end of the text range.
  uint64_t next_entry(uint64_t address) const;
  // The last function that begins before `address`; 0: none.
  uint64_t previous_entry(uint64_t address) const;
  // A direct branch or call somewhere in the module lands in [first, last).
  bool branch_into(uint64_t first, uint64_t last) const;
  // Data of the module holds an address in [first, last), or an instruction names one: an indirect
  // branch may land there. Also what a cold part's own jump tables lead to.
  bool address_into(uint64_t first, uint64_t last) const;
  // Data of the module has a table of labels of the function at `entry`, one of which is its entry.
  bool label_at_entry(uint64_t entry) const;
  // The same for any place in the function [start, end), its own branches left out: some byte of
  // the module that could be a branch from outside of it leads to [first, last), or an address
  // does. The first call looks through the whole text.
  bool outside_branch_into(uint64_t start, uint64_t end, uint64_t first, uint64_t last);
  // The function that holds the address, with all functions that overlap it there: what is decoded
  // together. False: none does.
  bool function_around(uint64_t address, uint64_t* start, uint64_t* end) const;
  bool is_cold_part(uint64_t start) const;
  // For a cold part: the function that it is a part of, 0 when that is not known. Else `start`.
  uint64_t whole_of_part(uint64_t start) const;
  // A jump (not a call) within [start, end) of the function goes to `target`.
  bool loops_to(uint64_t start, uint64_t end, uint64_t target) const;
  // Bytes of the file at any address of the module, code or data.
  std::string_view file_bytes(uint64_t address) const { return module_.file_bytes(address); }
  // Its addresses are numbers: it is never moved.
  bool has_fixed_addresses() const { return module_.bias() == 0; }
  // Some bytes of [start, end) may be an indirect jump. False is certain.
  bool may_jump_indirectly(uint64_t start, uint64_t end) const;
  // Where indirect jumps are known to lead, found by decoding: address_into() has them, too.
  void add_addresses(const std::vector<uint64_t>& targets);
  // Restartable sequences of the program: no byte in [first, second) may be another. Sorted.
  const std::vector<std::pair<uint64_t, uint64_t>>& sequences() const { return sequences_; }
  // Where the last instruction before `limit`, decoded from `start`, ends, padding left out; 0 when
  // execution may run on behind it.
  uint64_t end_of_code(uint64_t start, uint64_t limit) const;

 private:
  struct Range {
    uint64_t first, last;
    std::string_view code;
    std::vector<char> copy;             // what `code` is where there is no file
    std::vector<uint64_t> entries;      // bit per byte: an entry
    std::vector<uint64_t> entry_bytes;  // bit per byte: 1..8 bytes behind an entry
    std::vector<uint64_t> hit;          // bit per byte: a rel8 or rel32 candidate lands here
    std::vector<uint64_t> far_hit;      // bit per byte, anywhere: a rel32 candidate from elsewhere,
                                        // or an address
  };
  struct FarBranch {
    uint64_t target, source;
  };

  const Range* range_of(uint64_t address) const;
  void mark_entries();
  void mark(uint64_t address);
  void scan(Range* range);
  template <typename Visit>  // (target, source)
  void for_each_named(const Range& range, Visit&& visit) const;
  void read_stored();
  void note_labels(uint64_t one, uint64_t next);
  void read_sequences(const std::vector<uint64_t>& abort_places);
  void scan_far(const Range& range);
  void note_far(uint64_t source, uint64_t target);
  void note(Range* range, uint64_t target, uint64_t source, bool far);
  bool confirm(uint64_t source, uint64_t first, uint64_t last) const;
  bool confirm_named(uint64_t source, uint64_t target) const;
  bool short_branch_into(const Range& range, uint64_t first, uint64_t last) const;

  Module& module_;
  const FunctionSymbol* symbols_ = nullptr;
  size_t symbol_count_ = 0;
  const std::vector<FunctionSymbol>& functions_;
  std::vector<Range> ranges_;
  std::vector<FarBranch> far_;    // sorted by target
  std::vector<FarBranch> named_;  // of instructions; sorted by target
  std::vector<uint64_t> stored_;  // sorted, as far as they are behind entries
  std::vector<uint64_t> labelled_;  // entries that are in a table of labels; sorted
  std::vector<uint64_t> aborts_;  // behind the signature of restartable sequences; sorted
  std::vector<std::pair<uint64_t, uint64_t>> sequences_;
  bool far_scanned_ = false;
  mutable long last_index_ = 0;
};

}  // namespace patchbay
