// SPDX-License-Identifier: MIT
//
// Fetch programs as code against the interpreter of them (fetch_run), which is what the general way
// runs: over the same registers and the same memory both have to record the same bytes. Programs
// and memory are random, by a seed that each failure names; PB_FETCH_SEED begins with another one.
// Among the memory are pages that are not there or cannot be read, and one that another thread
// takes away.
//
// Which way a record has come shows in it: the general way is given another program meanwhile.
#include "codegen/record_code.h"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/probe_compile_testing.h"
#include "hot/fault.h"

namespace patchbay {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPages = 4;              // readable, readable, PROT_NONE, not mapped
constexpr uint64_t kMarker = 0x77617279;  // what the general way records in its place
constexpr uint64_t kNonCanonical = 0x8000000000000000;

uint32_t field_bytes(const FetchInsn& end) {
  if (end.op == FetchOp::kString) return 4;
  return end.op == FetchOp::kArray ? uint32_t(end.imm) * end.size : end.size;
}

class RecordCode : public ProbeCompileTest {
 protected:
  void SetUp() override {
    ProbeCompileTest::SetUp();
    if (IsSkipped()) return;
    faults_.emplace(code_, kMax);
    memory_ = static_cast<uint8_t*>(::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory_, MAP_FAILED);
    ASSERT_EQ(::mprotect(memory_ + 2 * kPage, kPage, PROT_NONE), 0);
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
    if (memory_) ::munmap(memory_, (kPages - 1) * kPage);
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
    const auto records = call(code, in, &out);
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

  // Both ways, with the program in use.
  void compare(const Registers& in, bool live, bool inside) {
    ProbeCode code = probe_code(&site_, program_, nullptr, live, inside);
    if (!code.fast) {  // there is no room for so many texts
      int texts = 0;
      for (int i = 0; i < fetch_->nr_insns; i++) texts += fetch_->insn[i].op == FetchOp::kString;
      EXPECT_GE(texts, 3);
      return;
    }
    code.fast = false;
    const Answer general = hit_once(code, in, false);
    code.fast = true;
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

  // Addresses of texts, of some without an end, and of none.
  std::vector<uint64_t> make_texts() {
    uint8_t* const end = memory_ + 2 * kPage;
    std::memset(memory_, 0, 2 * kPage);
    std::vector<uint64_t> texts = {0, 8, kNonCanonical, reinterpret_cast<uint64_t>(end)};
    uint8_t* at = memory_ + 64;
    for (const char* text : {"", "s", "sel", "select", "selected", "x", "selec\xff"}) {
      std::strcpy(reinterpret_cast<char*>(at), text);
      texts.push_back(reinterpret_cast<uint64_t>(at));
      at += 16;
    }
    std::memcpy(end - 3, "sel", 3);  // without an end
    std::memcpy(end - 16, "select", 6);
    texts.push_back(reinterpret_cast<uint64_t>(end - 3));
    texts.push_back(reinterpret_cast<uint64_t>(end - 16));
    return texts;
  }

  uint8_t* memory_ = nullptr;
  FetchProgramPtr marker_;
  int seen_fast_ = 0, seen_faults_ = 0;
  std::optional<FaultHandlers> faults_;
};

thread_local uint64_t t_words[16];

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

std::string describe(const FetchProgram& program) {
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

TEST_F(RecordCode, RandomProgramsRecordWhatTheInterpreterDoes) {
  const char* given = std::getenv("PB_FETCH_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 0) : 1;
  const uint64_t behind = first + 600;
  for (uint64_t seed = first; seed < behind && !HasFailure(); seed++) {
    Maker maker(seed, memory_);
    maker.fill();
    for (uint64_t& word : t_words) word = maker.pointer();
    const bool uses_registers = maker.once_in(2);
    const RecordHead head = uses_registers ? RecordHead::kProbe : RecordHead::kFunction;
    uint32_t fixed;
    const auto insns = maker.program(head, uses_registers, &fixed);
    use(make(insns, fixed, head));
    ASSERT_TRUE(can_be_compiled(*fetch_));
    for (int i = 0; i < 4; i++) {
      SCOPED_TRACE("PB_FETCH_SEED=" + std::to_string(seed) + ", registers " + std::to_string(i) +
                   "\n" + describe(*fetch_));
      Registers in;
      maker.fill(&in);
      compare(in, maker.once_in(3), uses_registers);
    }
  }
  EXPECT_GT(seen_fast_, 600) << "or the code was hardly run";
  EXPECT_GT(seen_faults_, 100);
}

// Each length at each distance from a page that cannot be read, whole and without its NUL.
TEST_F(RecordCode, TextsUpToTheEndOfAPage) {
  use(make({{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kString, 0, 4, 0, 24, 512}}, 28,
           RecordHead::kFunction));
  uint8_t* const end = memory_ + 2 * kPage;
  std::memset(memory_, 'x', 2 * kPage);
  for (size_t length = 0; length < 96 && !HasFailure(); length++) {
    for (size_t behind = 0; behind < 10; behind++) {
      SCOPED_TRACE(std::to_string(length) + " characters, " + std::to_string(behind) + " behind");
      Registers in{};
      in.r[0] = reinterpret_cast<uint64_t>(end) - length - behind;
      if (behind) end[-ptrdiff_t(behind)] = 0;
      compare(in, false, false);
      if (behind) end[-ptrdiff_t(behind)] = 'x';
    }
  }
  EXPECT_GT(seen_fast_, 80 * 9);
  EXPECT_EQ(seen_faults_, 96);
}

// Texts are compared where they are. What the general way rejects is rejected, whether it is
// readable or not, and each hit is counted.
TEST_F(RecordCode, FiltersOnTextsAnswerAsThoseOnRecords) {
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  define("f(string s, int n)");
  const std::vector<uint64_t> texts = make_texts();
  uint64_t pointer = 0, hits = 0;
  int matches = 0, in_place = 0;
  const auto block = reinterpret_cast<uint64_t>(&pointer) - 8;
  for (const bool follows : {false, true}) {
    std::vector<FetchInsn> insns = {{FetchOp::kArg, 0, 0, 0, 0, 0}};
    if (follows) {
      insns.push_back({FetchOp::kAdd, 0, 8, 0, 0, 8});
      insns.push_back({FetchOp::kDeref, 0, 8, 0, 0, 0});
    }
    insns.push_back({FetchOp::kString, 0, 4, 0, 24, 512});
    insns.push_back({FetchOp::kArg, 1, 0, 0, 0, 0});
    insns.push_back({FetchOp::kStore, 0, 4, 0, 28, 0});
    use(make(insns, 32, RecordHead::kFunction));
    set_place(fetch_.get(), &counts);
    for (const char* filter :
         {"s == \"select\"", "s != \"select\"", "s ~ \"sel*\"", "!(s ~ \"sel*\")", "s == \"\"",
          "s != \"\"", "n == 3 && s == \"x\"", "s == \"x\" || n == 5", "s != \"x\" && n == 3",
          "s ~ \"sel*\" && n == 3", "!(s ~ \"sel*\") || n == 5", "s ~ \"*ect\"", "s ~ \"s?l*\""}) {
      set_filter(filter);
      for (int kind = 0; kind < 8; kind++) {
        ProbeCode code = probe_code(&site_, program_, nullptr, kind & 1, kind & 2);
        const std::string_view text_of(filter);
        const bool is_general = text_of.find("\"*") != text_of.npos ||
                                text_of.find('?') != text_of.npos ||
                                text_of.find("\"\"") != text_of.npos;
        ASSERT_EQ(code.filtered, !is_general) << filter;
        if (kind & 4) code.fast = false;
        in_place += code.filtered;
        for (const uint64_t text : texts) {
          for (const uint64_t n : {3, 5}) {
            SCOPED_TRACE(std::string(filter) + ", text " + std::to_string(text) + ", kind " +
                         std::to_string(kind));
            Registers in{}, out;
            in.r[0] = follows ? block : text;
            in.r[1] = n;
            in.r[6] = 0x1111;
            in.r[8] = 0x2222;
            pointer = text;
            ProbeCode general = code;
            general.fast = general.filtered = false;
            const auto expected = call(general, in, &out);
            const auto records = call(code, in, &out);
            EXPECT_EQ(std::memcmp(&in, &out, sizeof in), 0);
            EXPECT_EQ(records, expected);
            hits += 2;
            EXPECT_EQ(read_hit_counter(counts.hits), hits);
            matches += int(records.size());
          }
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(matches, 300);
  EXPECT_GT(in_place, 100);
}

// A page that comes and goes meanwhile: a field is what memory held, or what a fault gives.
TEST_F(RecordCode, APageThatAnotherThreadTakesAway) {
  std::memset(memory_, 'x', 2 * kPage);
  uint8_t* const page = memory_ + kPage;
  // Nothing else can come there meanwhile: the page is exchanged, at once.
  const auto map = [page](int protection) {
    constexpr int kThere = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (::mmap(page, kPage, protection, kThere, -1, 0) != page) std::abort();
  };
  use(make({{FetchOp::kArg, 0, 0, 0, 0, 0},
            {FetchOp::kDeref, 0, 8, 0, 0, 0},
            {FetchOp::kStore, 0, 8, 0, 24, 0},
            {FetchOp::kArg, 1, 0, 0, 0, 0},
            {FetchOp::kString, 1, 4, 0, 32, 512}},
           36, RecordHead::kFunction));
  map(PROT_READ);  // full of zeros: the pointer leads to 0, the text ends there
  Registers in{};
  in.r[0] = reinterpret_cast<uint64_t>(page + 64);
  in.r[1] = reinterpret_cast<uint64_t>(page - 13);
  const ProbeCode code = probe_code(&site_, program_, nullptr, false, false);
  ASSERT_TRUE(code.fast);
  const std::vector<uint8_t> there = hit_once(code, in, false).record;
  map(PROT_NONE);
  const std::vector<uint8_t> gone = hit_once(code, in, false).record;
  ASSERT_EQ(there.size(), 36u + 16);
  ASSERT_EQ(gone.size(), 36u);
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  set_place(fetch_.get(), &counts);
  const ProbeCode counted = probe_code(&site_, program_, nullptr, false, false);
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      map(PROT_READ);
      map(PROT_NONE);
    }
    map(PROT_READ);
  });
  uint64_t hits = 0, seen[2] = {};
  const uint64_t faults_before = FaultHandlers::code_left;
  // Until both have been seen often; the scheduler decides how soon.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (; hits < 2000 || seen[0] < 20 || seen[1] < 20; hits++) {
    if (std::chrono::steady_clock::now() > deadline) break;
    const Answer answer = hit_once(counted, in, false);
    const bool has_text = answer.record.size() == there.size();
    EXPECT_EQ(answer.record, has_text ? there : gone);
    seen[has_text]++;
    if (HasFailure()) break;
  }
  done = true;
  other.join();
  EXPECT_EQ(read_hit_counter(counts.hits), hits);
  EXPECT_GT(seen[0], 0u);
  EXPECT_GT(seen[1], 0u);
  EXPECT_GT(FaultHandlers::code_left, faults_before);
}

// More threads than CPUs, texts of all lengths, and pointers that lead nowhere: each hit is counted
// once and published once.
TEST_F(RecordCode, EightThreadsCountExactly) {
  constexpr int kThreads = 8, kHits = 20000;
  use(make({{FetchOp::kArg, 0, 0, 0, 0, 0},
            {FetchOp::kString, 0, 4, 0, 24, 64},
            {FetchOp::kArg, 1, 0, 0, 0, 0},
            {FetchOp::kDeref, 0, 8, 0, 0, 0},
            {FetchOp::kLoad, 0, 4, 0, 28, 0}},
           32, RecordHead::kFunction));
  std::memset(memory_, 'x', 2 * kPage);
  memory_[2 * kPage - 1] = 0;
  const uint64_t word = reinterpret_cast<uint64_t>(memory_);
  std::memcpy(memory_, &word, sizeof word);
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  set_place(fetch_.get(), &counts);
  const ProbeCode code = probe_code(&site_, program_, nullptr, false, false);
  ASSERT_TRUE(code.fast);
  const size_t size = emit_probe(code, code_, kMax, reinterpret_cast<uint64_t>(code_));
  ASSERT_GT(size, 0u);
  code_[size] = 0xc3;
  const auto published = [this] {
    uint64_t sum = 0;
    for (uint32_t ring = 0; ring < file_->nr_rings(); ring++)
      sum += file_->stats(ring).entries + file_->stats(ring).dropped;
    return sum;
  };
  const uint64_t before = published();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([this, t] {
      const auto end = reinterpret_cast<uint64_t>(memory_ + 2 * kPage);
      for (int i = 0; i < kHits; i++) {
        Registers in{}, out;
        in.r[0] = i % 256 == t ? end : end - 1 - uint64_t(i % 90);
        in.r[1] = i % 512 == t ? 8 : reinterpret_cast<uint64_t>(memory_);
        call_with_registers(&in, &out, code_);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read_hit_counter(counts.hits), uint64_t{kThreads} * kHits);
  EXPECT_EQ(published() - before, uint64_t{kThreads} * kHits);
  // No code must come where another thread's rseq_cs points to; this one's is elsewhere then.
  count_hit(new_hit_counter());
}

}  // namespace
}  // namespace patchbay
