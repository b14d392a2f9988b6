// SPDX-License-Identifier: MIT
//
// Random fetch programs, registers and memory, by a seed, for tests that compare generated code
// with the interpreter (fetch_run), which is what the general way runs. Among the memory are pages
// that are not there or cannot be read.
//
// Which way a record has come shows in it: the general way is given another program meanwhile.
#pragma once

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/probe_compile_testing.h"
#include "codegen/record_code.h"

namespace patchbay {

inline constexpr size_t kPage = 4096;
// Around the memory: so that no pointer leads to the code.
inline constexpr size_t kAround = 64 << 20;
inline constexpr uint64_t kMarker = 0x77617279;  // what the general way records in its place
inline constexpr uint64_t kNonCanonical = 0x8000000000000000;

inline uint32_t field_bytes(const FetchInsn& end) {
  if (end.op == FetchOp::kString) return 4;
  return end.op == FetchOp::kArray ? uint32_t(end.imm) * end.size : end.size;
}

class FetchTest : public ProbeCompileTest {
 protected:
  void SetUp() override {
    ProbeCompileTest::SetUp();
    if (IsSkipped()) return;
    faults_.emplace(code_, kMax);
    around_ = static_cast<uint8_t*>(
        ::mmap(nullptr, kAround, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    ASSERT_NE(around_, MAP_FAILED);
    memory_ = around_ + kAround / 2;  // readable, readable, PROT_NONE, not mapped
    ASSERT_EQ(::mprotect(memory_, 2 * kPage, PROT_READ | PROT_WRITE), 0);
    ASSERT_EQ(::munmap(memory_ + 3 * kPage, kPage), 0);
    define("f()");
    marker_ = make({{FetchOp::kImm, 0, 8, 0, 0, kMarker}, {FetchOp::kStore, 0, 8, 0, 24, 0}}, 32,
                   RecordHead::kFunction);
    // The thread is known from here on.
    Registers in{}, out;
    call(probe_code(&site_, program_, nullptr, false, false), in, &out);
  }
  void TearDown() override {
    faults_.reset();
    if (around_) {
      ::munmap(around_, kAround / 2 + 3 * kPage);  // and not what may stand in the hole by now
      ::munmap(memory_ + 4 * kPage, kAround / 2 - 4 * kPage);
    }
    ProbeCompileTest::TearDown();
  }

  static FetchProgramPtr make(const std::vector<FetchInsn>& insns, uint32_t fixed,
                              RecordHead head) {
    auto* program = static_cast<FetchProgram*>(
        std::calloc(1, sizeof(FetchProgram) + insns.size() * sizeof(FetchInsn)));
    uint32_t max = fixed, filled = record_head_size(head);
    for (size_t i = 0; i < insns.size(); i++) {
      const FetchInsn& insn = program->insn[i] = insns[i];
      program->uses_reg |= insn.op == FetchOp::kReg || insn.op == FetchOp::kAddReg;
      if (insn.op == FetchOp::kString) max += uint32_t(insn.imm);
      if (!ends_chain(insn.op)) continue;
      program->has_gaps |= insn.offset != filled;
      filled = insn.offset + field_bytes(insn);
    }
    program->has_gaps |= filled != fixed;
    program->fixed_size = fixed;
    program->max_size = (max + 3) & ~3u;
    program->nr_insns = uint16_t(insns.size());
    program->head = head;
    return FetchProgramPtr(program);
  }
  void use(FetchProgramPtr program) {
    fetch_ = std::move(program);
    event_.fetch = fetch_.get();
    event_.max_size = std::max(fetch_->max_size, marker_->max_size);
    program_->max_record = event_.max_size;
    set_place(fetch_.get(), nullptr);
  }

  struct Answer {
    std::vector<uint8_t> record;
    uint64_t faults = 0;  // of loads, and of generated code
    bool operator==(const Answer&) const = default;
  };
  // One hit. `marked`: the general way records the marker in its place.
  Answer hit_once(const ProbeCode& code, const Registers& in, bool marked) {
    const uint64_t before = code.fast ? FaultHandlers::code_left : FaultHandlers::loads_faulted;
    Registers out;
    general_fetch_ = marked ? marker_.get() : nullptr;
    const auto records = records_of(code, in, &out);
    general_fetch_ = nullptr;
    EXPECT_EQ(std::memcmp(&in, &out, sizeof in), 0) << "registers";
    EXPECT_EQ(records.size(), 1u);
    if (records.size() != 1) return {};
    return {records[0],
            (code.fast ? FaultHandlers::code_left : FaultHandlers::loads_faulted) - before};
  }
  bool is_marker(const std::vector<uint8_t>& record) const {
    uint64_t word = 0;
    if (record.size() == 32) std::memcpy(&word, &record[24], 8);
    return word == kMarker;
  }
  // True when a text is as long as its field allows: it may have been cut.
  bool may_be_cut(const std::vector<uint8_t>& record) const {
    for (int i = 0; i < fetch_->nr_insns; i++) {
      if (fetch_->insn[i].op != FetchOp::kString) continue;
      uint32_t where;
      std::memcpy(&where, &record[fetch_->insn[i].offset], 4);
      if (where >> 16 >= fetch_->insn[i].imm) return true;
    }
    return false;
  }

  // What a hit gives to whoever is to have it.
  virtual std::vector<std::vector<uint8_t>> records_of(const ProbeCode& code, const Registers& in,
                                                       Registers* out) {
    return call(code, in, out);
  }
  // The same place, with code that leaves everything to the general way.
  static ProbeCode general_code(ProbeCode code) {
    if (code.calls) code.soft = code.gated = false;
    code.fast = code.calls = false;
    return code;
  }

  // Both ways, with the program in use.
  void compare(const Registers& in, bool live, bool inside) {
    ProbeCode code = probe_code(&site_, program_, nullptr, live, inside);
    if (!code.fast) {  // there is no room for so many texts
      int texts = 0;
      for (int i = 0; i < fetch_->nr_insns; i++) texts += fetch_->insn[i].op == FetchOp::kString;
      EXPECT_GE(texts, 3);
      return;
    }
    const Answer general = hit_once(general_code(code), in, false);
    const Answer whole = hit_once(code, in, false);
    EXPECT_EQ(whole.record, general.record);
    const bool must_be_fast = !general.faults && general.record.size() <= abi::kMaxSmallData &&
                              !may_be_cut(general.record);
    Answer marked;
    // Preemption and the ends of sub-buffers take the general way, too.
    for (int tries = 0; tries < 1000; tries++) {
      marked = hit_once(code, in, true);
      if (!must_be_fast || !is_marker(marked.record)) break;
    }
    if (must_be_fast) {
      EXPECT_FALSE(is_marker(marked.record)) << "it never came by the code";
      EXPECT_EQ(marked.faults, 0u);
    }
    if (general.faults) {
      EXPECT_TRUE(is_marker(marked.record)) << "the code has met no fault";
    }
    if (!is_marker(marked.record)) {
      EXPECT_EQ(marked.record, general.record);
    }
    seen_fast_ += !is_marker(marked.record);
    seen_faults_ += general.faults != 0;
  }

  uint8_t *around_ = nullptr, *memory_ = nullptr;
  FetchProgramPtr marker_;
  int seen_fast_ = 0, seen_faults_ = 0;
  std::optional<FaultHandlers> faults_;
};

inline thread_local uint64_t t_words[16];

// Programs and memory that lead somewhere more often than not.
class Maker {
 public:
  Maker(uint64_t seed, uint8_t* memory) : random_(seed), memory_(memory) {}

  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool once_in(uint64_t times) { return below(times) == 0; }

  // An address that can be read, mostly; near the end of a page, often.
  uint64_t pointer() {
    const auto base = reinterpret_cast<uint64_t>(memory_);
    if (once_in(40)) return below(2) ? 0 : kNonCanonical | random_();
    if (once_in(40)) return base + 2 * kPage + below(2 * kPage);
    const uint64_t end = base + (1 + below(2)) * kPage;
    return once_in(3) ? end - below(24) : end - 8 * below(kPage / 8) - (once_in(3) ? below(8) : 0);
  }

  // A page of pointers, then one that is mostly texts, up to the page that cannot be read.
  void fill() {
    for (size_t i = 0; i < kPage / 8; i++) {
      const uint64_t word = once_in(8) ? random_() >> below(64) : pointer();
      std::memcpy(memory_ + 8 * i, &word, 8);
    }
    for (size_t i = kPage - 64; i < 2 * kPage;) {
      const uint64_t length = once_in(30) ? below(700) : below(40);
      for (uint64_t j = 0; j < length && i < 2 * kPage; j++) memory_[i++] = uint8_t(1 + below(255));
      if (i < 2 * kPage) memory_[i++] = 0;
    }
    if (!once_in(3)) memory_[2 * kPage - 1] = 0;
  }
  void fill(Registers* registers) {
    for (uint64_t& value : registers->r) value = once_in(20) ? random_() : pointer();
  }

  void start(std::vector<FetchInsn>* to, bool uses_registers) {
    constexpr uint8_t kRegisters[] = {0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint64_t which = below(10);
    if (which == 0) return to->push_back({FetchOp::kImm, 0, 8, 0, 0, pointer()});
    if (which == 1) {
      const auto thread = reinterpret_cast<uint64_t>(__builtin_thread_pointer());
      const auto words = reinterpret_cast<uint64_t>(&t_words[below(8)]);
      return to->push_back({FetchOp::kThread, 0, 8, 0, 0, words - thread});
    }
    if (!uses_registers) return to->push_back({FetchOp::kArg, uint8_t(below(6)), 0, 0, 0, 0});
    to->push_back({FetchOp::kReg, kRegisters[below(std::size(kRegisters))], 0, 0, 0, 0});
  }
  void step(std::vector<FetchInsn>* to, bool uses_registers) {
    const uint64_t which = below(uses_registers ? 26 : 25);
    switch (which) {
      case 0:
        return to->push_back({FetchOp::kPeek, 0, width(), 0, 0, 0});
      case 1:
        return to->push_back({FetchOp::kExtend, uint8_t(below(2)), width(), 0, 0, 0});
      case 2: {
        const auto first = uint8_t(below(60));
        const auto bits = uint8_t(1 + below(64 - first));
        return to->push_back({FetchOp::kBits, first, bits, 0, 0, below(2)});
      }
      case 3:
        return to->push_back({FetchOp::kAdd, 0, 8, 0, 0, random_() >> below(64)});
      case 25:
        return to->push_back({FetchOp::kAddReg, uint8_t(below(16)), width(), 0, 0, 0});
      default:
        if (which > 12) return to->push_back({FetchOp::kDeref, 0, 8, 0, 0, 0});
        to->push_back({FetchOp::kAdd, 0, 8, 0, 0, 8 * below(5) - 8 * below(5)});
    }
  }
  FetchInsn end(uint32_t offset) {
    switch (below(6)) {
      case 0:
        return {FetchOp::kStore, 0, width(), 0, offset, 0};
      case 1:
      case 2:
        return {FetchOp::kLoad, 0, width(), 0, offset, 0};
      case 3: {
        const uint8_t size = width();
        return {FetchOp::kArray, 0, size, 0, offset, 1 + below(once_in(2) ? 24 / size : 3)};
      }
      default: {
        const uint64_t limit = once_in(3) ? 1 + below(30) : 512;
        return {FetchOp::kString, uint8_t(below(2)), 4, 0, offset, limit};
      }
    }
  }
  uint8_t width() { return uint8_t(1 << below(4)); }

  // Fields as far as they fit into a small record.
  std::vector<FetchInsn> program(RecordHead head, bool uses_registers, uint32_t* fixed) {
    std::vector<FetchInsn> made;
    uint32_t at = record_head_size(head);
    *fixed = at;
    for (uint64_t fields = 1 + below(once_in(3) ? 5 : 2); fields; fields--) {
      const uint32_t offset = at + (once_in(4) ? uint32_t(below(4)) : 0);
      const FetchInsn last = end(offset);
      at = offset + field_bytes(last);
      if (at > abi::kMaxSmallData) break;
      start(&made, uses_registers);
      for (uint64_t steps = below(once_in(2) ? 4 : 2); steps; steps--) step(&made, uses_registers);
      made.push_back(last);
      *fixed = at;
    }
    if (once_in(6) && *fixed + 3 <= abi::kMaxSmallData) *fixed += uint32_t(below(4));
    return made;
  }

 private:
  std::mt19937_64 random_;
  uint8_t* const memory_;
};

inline std::string describe(const FetchProgram& program) {
  std::string text = "fixed " + std::to_string(program.fixed_size) + ":";
  for (int i = 0; i < program.nr_insns; i++) {
    const FetchInsn& insn = program.insn[i];
    char line[96];
    std::snprintf(line, sizeof line, "\n  op %d index %d size %d offset %u imm %#lx", int(insn.op),
                  insn.index, insn.size, insn.offset, static_cast<unsigned long>(insn.imm));
    text += line;
  }
  return text;
}

}  // namespace patchbay
