// SPDX-License-Identifier: MIT
//
// `serve` among agents that lie, or say nothing: the others are shown, and these are named.
#include "cmd/serve/collector.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "../../tests/hostile/hostile_agent.h"

namespace patchbay::cmd {
namespace {

using hostile::Process;

class CollectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime_ = ::testing::TempDir() + "collector.XXXXXX";
    ASSERT_NE(::mkdtemp(runtime_.data()), nullptr);
  }
  void TearDown() override {
    agents_.clear();
    std::error_code none;
    std::filesystem::remove_all(runtime_, none);
  }
  const Process& add(const char* manner, uint64_t seed = 1) {
    agents_.push_back(std::make_unique<Process>(runtime_, seed, manner));
    return *agents_.back();
  }
  // The line of patchbay_agent_up of a process: "1", "0", or "" when there is none.
  static std::string up(const std::string& text, const Process& process) {
    const size_t at = text.find("patchbay_agent_up{pid=\"" + std::to_string(process.pid()) + "\"");
    return at == text.npos ? "" : text.substr(text.find("} ", at) + 2, 1);
  }
  std::string runtime_;
  std::vector<std::unique_ptr<Process>> agents_;
};

TEST_F(CollectorTest, WhoLiesOrIsSilentIsNamedAndTheOthersAreShown) {
  const Process& right = add("right");
  std::vector<const Process*> wrong;
  for (const char* manner : {"mute", "deaf", "flood", "lines", "dribble"})
    wrong.push_back(&add(manner));
  Collector collector(runtime_, {});
  // One that shows life is given more time than one scrape has; its look is then taken later.
  std::string text;
  for (int scrapes = 0; scrapes < 20; scrapes++) {
    text = *collector.scrape("test", Format::kText);
    EXPECT_EQ(up(text, right), "1");
    size_t nr_down = 0;
    for (const Process* one : wrong) nr_down += up(text, *one) == "0";
    if (nr_down == wrong.size()) break;
    ::usleep(600'000);  // as scrapers do, which do not share the last look
  }
  const std::string state = collector.state_json();
  for (const Process* one : wrong) {
    EXPECT_EQ(up(text, *one), "0") << one->pid();
    EXPECT_NE(state.find(std::to_string(one->pid())), std::string::npos) << state;
  }
}

TEST_F(CollectorTest, ManyLies) {
  const Process& right = add("right");
  for (uint64_t seed = 0; seed < 12; seed++) add("mixed", seed);
  Collector collector(runtime_, {});
  for (int scrapes = 0; scrapes < 3; scrapes++) {
    EXPECT_EQ(up(*collector.scrape("test", Format::kOpenMetrics), right), "1");
    ::usleep(600'000);
  }
}

}  // namespace
}  // namespace patchbay::cmd
