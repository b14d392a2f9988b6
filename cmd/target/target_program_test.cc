// SPDX-License-Identifier: MIT
#include "cmd/target/target_program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace patchbay::cmd {
namespace {

namespace fs = std::filesystem;

class AgentBesideTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/patchbay-beside.XXXXXX";
    prefix_ = ::mkdtemp(name);
    fs::create_directories(prefix_ + "/bin");
  }
  void TearDown() override { fs::remove_all(prefix_); }
  void put(const std::string& file) {
    fs::create_directories(fs::path(prefix_ + file).parent_path());
    std::ofstream(prefix_ + file) << "agent";
  }
  std::string prefix_;
};

// Distributions have three folders for libraries of 64 bits. Only what links has libpatchbay.so.
TEST_F(AgentBesideTest, EachLibraryFolderIsLookedInto) {
  for (const std::string folder : {"/lib", "/lib64", "/lib/x86_64-linux-gnu"}) {
    put(folder + "/libpatchbay.so.0");
    Result<std::string> found = agent_beside(prefix_ + "/bin");
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_EQ(*found, prefix_ + folder + "/libpatchbay.so.0");
    fs::remove_all(prefix_ + "/lib");
    fs::remove_all(prefix_ + "/lib64");
  }
}

TEST_F(AgentBesideTest, TheErrorNamesAllPlaces) {
  put("/lib/libpatchbay.so");
  Result<std::string> found = agent_beside(prefix_ + "/bin");
  if (found.ok()) GTEST_SKIP() << "an agent is installed on this machine: " << *found;
  const std::string message = found.error().message();
  const std::string named = prefix_ + "/lib, " + prefix_ + "/lib64, " + prefix_ +
                            "/lib/x86_64-linux-gnu, /";
  EXPECT_TRUE(message.starts_with("The agent libpatchbay.so.0 is in none of " + named)) << message;
}

}  // namespace
}  // namespace patchbay::cmd
