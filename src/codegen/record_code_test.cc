// SPDX-License-Identifier: MIT
//
// Fetch programs as code against the interpreter of them (fetch_run), which is what the general way
// runs: over the same registers and the same memory both have to record the same bytes. Programs
// and memory are random, by a seed that each failure names; PB_FETCH_SEED begins with another one.
// Among the memory is a page that another thread takes away.
#include "codegen/record_code.h"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/fetch_testing.h"

namespace patchbay {
namespace {

class RecordCode : public FetchTest {
 protected:
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
};

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
