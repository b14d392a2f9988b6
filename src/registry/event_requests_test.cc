// SPDX-License-Identifier: MIT
#include "registry/event_requests.h"

#include <cerrno>
#include <cstring>

#include "registry/registry_testing.h"

namespace patchbay {
namespace {

class EventRequestsTest : public test::OneSourceTest {
 protected:
  int set_event(TraceArray& array, std::string_view word) {
    Status status = registry_->requests().set(array, word);
    return status.ok() ? 0 : status.error().errno_value;
  }
};

TEST_F(EventRequestsTest, UnderstandsTheWordsOfSetEvent) {
  add("sched", "switch", &source_);
  add("sched", "wakeup", &source_);
  add("net", "rx", &source_);
  const std::string all = "sched:switch\nsched:wakeup\nnet:rx\n";
  const struct {
    const char* word;
    int error;
    const char* shown;
  } rows[] = {
      {"switch", 0, "sched:switch\n"},
      {"sched", 0, "sched:switch\nsched:wakeup\n"},
      {"sched:", 0, "sched:switch\nsched:wakeup\n"},
      {"sched:*", 0, "sched:switch\nsched:wakeup\n"},
      {"*:*", 0, all.c_str()},
      {"*:", 0, all.c_str()},
      {":", 0, all.c_str()},
      {":rx", 0, "net:rx\n"},
      {"*:rx", 0, "net:rx\n"},
      {"net:rx", 0, "net:rx\n"},
      {"*", EINVAL, ""},
      {"sw*", EINVAL, ""},
      {"sched:rx", EINVAL, ""},
      {"ftrace:print", EINVAL, ""},
      {"nosuch", EINVAL, ""},
      {"!nosuch", EINVAL, ""},
      {"!switch", 0, ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(set_event(top(), row.word), row.error) << row.word;
    EXPECT_EQ(registry_->requests().show(top()), row.shown) << row.word;
    ASSERT_TRUE(registry_->requests().clear(top()).ok());
  }
}

TEST_F(EventRequestsTest, RequestsWaitForTheirModule) {
  EXPECT_EQ(set_event(top(), "sys:*:mod:lib-x"), 0);
  EXPECT_EQ(set_event(top(), ":mod:lib-y"), 0);
  EXPECT_EQ(set_event(top(), "ev:mod:lib-x"), 0);
  EXPECT_EQ(registry_->requests().show(top()), "sys:*:mod:lib_x\n*:*:mod:lib_y\nev:mod:lib_x\n");
  EXPECT_EQ(set_event(top(), "!ev:mod:lib_x"), 0);
  EXPECT_EQ(set_event(top(), "!ev:mod:lib_x"), EINVAL);
  add("sys", "ev", &source_, "lib-x.so.2");
  add("other", "ev", &source_, "lib-x.so.2");
  registry_->requests().module_loaded("lib-x.so.2");
  EXPECT_EQ(registry_->requests().show(top()), "sys:ev\n*:*:mod:lib_y\n");
  EXPECT_EQ(set_event(top(), "nosuch:mod:lib-x"), EINVAL) << "it is loaded and has no such event";
  EXPECT_EQ(set_event(top(), "!:mod:lib-x.so.2"), 0);
  ASSERT_TRUE(registry_->requests().clear(top()).ok());
  EXPECT_EQ(registry_->requests().show(top()), "");
}

}  // namespace
}  // namespace patchbay
