// SPDX-License-Identifier: MIT
//
// What printk writes into an instance with: it follows the rings, the options, and the end of the
// instance; the texts that records name stay where they are when the file is replaced.
#include <cstdarg>
#include <cstring>

#include "probe/records/printk_hot.h"
#include "registry/printk.h"
#include "registry/registry_testing.h"
#include "registry/settings.h"

namespace patchbay {
namespace {

class RegistryPrintk : public test::RegistryTest {
 protected:
  void TearDown() override {
    pb_printk_table = nullptr;
    pb_printk_dest = nullptr;
    RegistryTest::TearDown();
  }
  static int print(const EventProgram* program, const char* format, ...) {
    const PrintkPlan* plan = printk_plan(format);
    if (!plan) plan = printk_learn(format);
    if (!plan) return -1;
    va_list list;
    va_start(list, format);
    const int written =
        printk_write({program, 0x1234, {}}, plan, reinterpret_cast<VariadicArguments*>(list));
    va_end(list);
    return written;
  }
  std::vector<std::string> texts() {
    auto file = BufferFile::open(directory_ + "/buffer", false);
    std::vector<std::string> found;
    if (!file.ok()) return found;
    for (const BufferFile::Text& text : (*file)->printk_texts()) found.push_back(text.text);
    return found;
  }
  TraceArray& make(const char* name) {
    auto made = registry_->create_array(name);
    EXPECT_TRUE(made.ok());
    return **made;
  }
};

TEST_F(RegistryPrintk, RecordsNameTextsOfTheFile) {
  TraceArray& array = make("a");
  const EventProgram* program = registry_->printk().program(array);
  EXPECT_EQ(print(program, "before it is started %d\n", 1), -1);
  ASSERT_TRUE(registry_->printk().start(array).ok());
  EXPECT_EQ(registry_->printk().program(array), program);
  EXPECT_GT(print(program, "x=%d\n", 5), 0);
  EXPECT_EQ(texts(), std::vector<std::string>{"x=%d\n"});
  auto all = records(array.buffer.get());
  ASSERT_EQ(all.size(), 1u);
  uint64_t words[3];
  ASSERT_EQ(all[0].size(), 28u);
  std::memcpy(words, all[0].data(), sizeof words);
  EXPECT_EQ(words[0] & 0xffff, abi::kBprintId);
  EXPECT_EQ(words[1], 0x1234u);
  EXPECT_STREQ(reinterpret_cast<const char*>(words[2]), "x=%d\n");
}

TEST_F(RegistryPrintk, AnotherSizeIsFollowedAndTextsStay) {
  TraceArray& array = make("a");
  ASSERT_TRUE(registry_->printk().start(array).ok());
  const EventProgram* program = registry_->printk().program(array);
  EXPECT_GT(print(program, "of the first size %d\n", 1), 0);
  const abi::PrintkTable* table = pb_printk_table;
  const char* const text = printk_plan("of the first size %d\n")
                               ? printk_plan("of the first size %d\n")->text
                               : table->text;
  ASSERT_TRUE(registry_->settings().resize(array, {}, 128).ok());
  ASSERT_TRUE(registry_->settings().resize(top(), {}, 256).ok());  // the file with the texts
  EXPECT_EQ(top().buffer->printk_table(), table);
  EXPECT_STREQ(text, "of the first size %d\n");
  EXPECT_GT(print(program, "of the second size %d\n", 2), 0);
  EXPECT_EQ(texts(),
            (std::vector<std::string>{"of the first size %d\n", "of the second size %d\n"}));
  EXPECT_EQ(records(array.buffer.get()).size(), 2u);
  EXPECT_EQ(pb_printk_closed, 0u);
}

TEST_F(RegistryPrintk, NothingGoesIntoAnInstanceThatIsGone) {
  TraceArray& array = make("a");
  ASSERT_TRUE(registry_->printk().start(array).ok());
  const EventProgram* program = registry_->printk().program(array);
  EXPECT_GT(print(program, "while it is there\n"), 0);
  ASSERT_TRUE(registry_->remove_array("a").ok());
  EXPECT_EQ(print(program, "while it is there\n"), 0);
  TraceArray& again = make("a");
  EXPECT_NE(registry_->printk().program(again), program);
  EXPECT_EQ(print(program, "while it is there\n"), 0);
}

TEST_F(RegistryPrintk, TheDestinationMoves) {
  TraceArray& array = make("a");
  EXPECT_FALSE(registry_->printk().started());
  ASSERT_TRUE(registry_->printk().start(top()).ok());
  EXPECT_TRUE(registry_->printk().started());
  EXPECT_EQ(pb_printk_dest, registry_->printk().program(top()));
  ASSERT_TRUE(registry_->settings().set_option(array, TraceOption::kTracePrintkDest, true).ok());
  EXPECT_EQ(pb_printk_dest, registry_->printk().program(array));
  EXPECT_GT(print(pb_printk_dest, "into the instance\n"), 0);
  EXPECT_EQ(records(array.buffer.get()).size(), 1u);
  ASSERT_TRUE(registry_->remove_array("a").ok());
  EXPECT_EQ(pb_printk_dest, registry_->printk().program(top()));
  EXPECT_GT(print(pb_printk_dest, "into the top one\n"), 0);
  EXPECT_EQ(records(top().buffer.get()).size(), 1u);
}

TEST_F(RegistryPrintk, OptionsOfTheInstance) {
  const EventProgram* program = registry_->printk().program(top());
  EXPECT_TRUE(printk_is_on(program));
  ASSERT_TRUE(registry_->settings().set_option(top(), TraceOption::kTracePrintk, false).ok());
  EXPECT_FALSE(printk_is_on(program));
  EXPECT_FALSE(printk_is_on(registry_->printk().program(make("made while it is off"))));
  ASSERT_TRUE(registry_->settings().set_option(top(), TraceOption::kTracePrintk, true).ok());
  EXPECT_TRUE(printk_is_on(program));
  EXPECT_EQ(program->stack, 0);
  ASSERT_TRUE(registry_->settings().set_option(top(), TraceOption::kStackTrace, true).ok());
  EXPECT_EQ(program->stack, kKernelStack);
  ASSERT_TRUE(registry_->settings().set_option(top(), TraceOption::kStackTrace, false).ok());
  EXPECT_EQ(program->stack, 0);
}

TEST_F(RegistryPrintk, RangesOfBuffersThatAreGoneAreTakenAgain) {
  const RingSet* first = make("a").buffer->rings();
  const abi::BufferHeader* header = first->header;
  ASSERT_TRUE(registry_->remove_array("a").ok());
  EXPECT_EQ(make("b").buffer->rings()->header, header);
  EXPECT_NE(make("c").buffer->rings()->header, header);
}

}  // namespace
}  // namespace patchbay
