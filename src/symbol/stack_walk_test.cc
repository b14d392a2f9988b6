// SPDX-License-Identifier: MIT
#include "symbol/stack_walk.h"

#include <gtest/gtest.h>

#include <random>

namespace patchbay {
namespace {

constexpr uint64_t kText = 0x400000, kStack = 0x7fff0000;

// One module, whose code looks the same for 256 bytes each.
class FakeModule final : public Module {
 public:
  explicit FakeModule(std::vector<UnwindRule> rules) : rules_(std::move(rules)) {}
  const std::string& path() const override { return name_; }
  const std::string& name() const override { return name_; }
  const std::string& build_id() const override { return name_; }
  uint64_t start() const override { return kText; }
  uint64_t end() const override { return kText + rules_.size() * kUnwindBlock; }
  uint64_t bias() const override { return kText; }
  const std::vector<FunctionSymbol>& functions() override { return none_; }
  std::string_view original_code(uint64_t, size_t) override { return {}; }
  const std::vector<std::pair<uint64_t, uint64_t>>& text_ranges() const override { return text_; }
  UnwindTable unwind_table() override {
    UnwindTable table;
    table.last = rules_.size() * kUnwindBlock;
    for (size_t i = 0; i < rules_.size(); i++) {
      table.rows.push_back({uint32_t(i * kUnwindBlock), pack_rule(rules_[i])});
      table.blocks.push_back(uint32_t(i));
    }
    table.blocks.push_back(uint32_t(rules_.size()));
    return table;
  }

 private:
  std::string name_ = "fake";
  std::vector<UnwindRule> rules_;
  std::vector<FunctionSymbol> none_;
  std::vector<std::pair<uint64_t, uint64_t>> text_;
};

class FakeTable final : public SymbolTable {
 public:
  explicit FakeTable(std::vector<UnwindRule> rules) : module_(std::move(rules)) {}
  bool refresh() override { return false; }
  std::vector<Module*> modules() override { return {&module_}; }
  Result<std::vector<ResolvedFunction>> resolve(std::string_view) override {
    return user_error(EINVAL, "none");
  }
  bool symbolize(uint64_t, SymbolizedAddress*) override { return false; }
  uint64_t address_of(std::string_view) override { return 0; }
  void drop_caches() override {}

 private:
  FakeModule module_;
};

uint64_t at(size_t function) { return kText + function * kUnwindBlock + 16; }

StackCopy copy_of(const std::vector<uint64_t>& words) {
  return {kStack, {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 8}};
}

std::vector<uint64_t> pcs(const std::vector<StackFrame>& frames) {
  std::vector<uint64_t> found;
  for (const StackFrame& frame : frames) found.push_back(frame.pc);
  return found;
}

const std::vector<UnwindRule> kRules = {{UnwindKind::kRsp, 0, 16},
                                        {UnwindKind::kRbp, 2, 16},
                                        {UnwindKind::kSignal, 0, 0},
                                        {UnwindKind::kOutermost, 0, 0},
                                        {}};

TEST(StackWalk, GoesByTheRules) {
  FakeTable table(kRules);
  StackWalk walk(table);
  // 0: one word and the return address; 1: by rbp, which it has saved.
  const std::vector<uint64_t> words = {0, at(1), 0, kStack + 64, at(3), 0, 0};
  std::vector<StackFrame> frames;
  EXPECT_EQ(walk.walk({at(0), kStack, kStack + 24}, copy_of(words), 100, &frames),
            StackWalk::End::kOutermost);
  EXPECT_EQ(pcs(frames), (std::vector<uint64_t>{at(0), at(1), at(3)}));
  EXPECT_TRUE(frames[0].is_interrupted);
  EXPECT_FALSE(frames[1].is_interrupted);
}

TEST(StackWalk, GoesThroughASignalsFrame) {
  FakeTable table(kRules);
  StackWalk walk(table);
  std::vector<uint64_t> words(40);
  words[0] = 0, words[1] = at(2);  // the handler's own; then the context begins
  words[2 + 168 / 8] = at(0), words[2 + 160 / 8] = kStack + 30 * 8;
  words[31] = at(3);
  std::vector<StackFrame> frames;
  EXPECT_EQ(walk.walk({at(0), kStack, 0}, copy_of(words), 100, &frames),
            StackWalk::End::kOutermost);
  EXPECT_EQ(pcs(frames), (std::vector<uint64_t>{at(0), at(2), at(0), at(3)}));
  EXPECT_TRUE(frames[2].is_interrupted);
}

TEST(StackWalk, MarksWhatItGuesses) {
  FakeTable table(kRules);
  StackWalk walk(table);
  const std::vector<uint64_t> words = {0, kStack + 32, at(3), 0, 0, 0};
  std::vector<StackFrame> frames;
  EXPECT_EQ(walk.walk({0x1000, kStack, kStack + 8}, copy_of(words), 100, &frames),
            StackWalk::End::kOutermost);
  EXPECT_EQ(pcs(frames), (std::vector<uint64_t>{0x1000, at(3)}));
  EXPECT_TRUE(frames[1].is_guessed);
}

TEST(StackWalk, EndsOnAnyStack) {
  FakeTable table(kRules);
  StackWalk walk(table);
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; round++) {
    std::vector<uint64_t> words(64);
    for (uint64_t& word : words)
      word = random() % 2 ? at(random() % 5) : kStack + random() % 80 * 8;
    std::vector<StackFrame> frames;
    (void)walk.walk({at(random() % 5), kStack + random() % 64 * 8, kStack + random() % 64 * 8},
                    copy_of(words), 100, &frames);
    EXPECT_LE(frames.size(), 100u);
  }
}

}  // namespace
}  // namespace patchbay
