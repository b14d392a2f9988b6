// SPDX-License-Identifier: MIT
#include "cmd/command_table.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "cmd/completions.h"
#include "cmd/target/trace_request.h"

namespace patchbay::cmd {
namespace {

std::vector<Option> listed(const CommandLine& line) {
  std::vector<Option> options = options_of(line);
  std::erase_if(options, [](const Option& one) { return one.kind != Option::Kind::kListed; });
  return options;
}

std::vector<std::string> texts(const std::vector<std::string>& words) {
  std::vector<std::string> found;
  for (const Completion& one : complete(words).found) found.push_back(one.text);
  return found;
}

TEST(CommandTable, ALetterHasOneMeaning) {
  std::map<char, std::string> meanings;
  for (const Command& command : all_commands()) {
    for (const Option& option : listed(*command.line)) {
      if (!option.letter) continue;
      const auto [meaning, is_new] = meanings.emplace(option.letter, option.name);
      EXPECT_EQ(meaning->second, option.name) << command.line->name << " -" << option.letter;
    }
  }
  EXPECT_EQ(meanings['p'], "pid");
  EXPECT_EQ(meanings['t'], "tracer");
}

TEST(CommandTable, EachSpellingStandsOnceInACommand) {
  for (const Command& command : all_commands()) {
    std::set<std::string> spellings;
    for (const Option& option : options_of(*command.line)) {
      const std::string where = std::string(command.line->name) + " " + option.name;
      const bool is_letter_new = !option.letter || spellings.insert({'-', option.letter}).second;
      const bool is_name_new = !*option.name || spellings.insert(option.name).second;
      EXPECT_TRUE(is_letter_new && is_name_new) << where << option.letter;
      EXPECT_NE(id_of(option), 0);
    }
  }
}

TEST(CommandTable, AnOldSpellingMeansAListedOption) {
  for (const Command& command : all_commands()) {
    const std::vector<Option> shown = listed(*command.line);
    for (const Option& option : options_of(*command.line)) {
      if (option.kind != Option::Kind::kOldSpelling) continue;
      EXPECT_TRUE(std::any_of(shown.begin(), shown.end(),
                              [&](const Option& one) {
                                return id_of(one) == id_of(option) &&
                                       (one.argument == nullptr) == (option.argument == nullptr);
                              }))
          << command.line->name << " -" << option.letter << option.name;
    }
  }
}

TEST(CommandTable, HelpFitsATerminal) {
  for (const Command& command : all_commands()) {
    const std::string text = help_text(*command.line);
    EXPECT_TRUE(text.starts_with("Usage: patchbay " + std::string(command.line->name)));
    for (const Option& option : listed(*command.line)) {
      EXPECT_NE(option.help, nullptr);
      EXPECT_NE(text.find("--" + std::string(option.name)), text.npos);
    }
    for (const std::string& line : split_lines(text)) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST(Completions, Commands) {
  EXPECT_EQ(texts({"patchbay", "rep"}), (std::vector<std::string>{"report", "replay"}));
  EXPECT_EQ(texts({"patchbay", "help", "lat"}), (std::vector<std::string>{"latency"}));
  EXPECT_TRUE(texts({"patchbay", "nothing", ""}).empty());
}

TEST(Completions, Options) {
  EXPECT_EQ(texts({"patchbay", "clean", "-"}),
            (std::vector<std::string>{"--all", "--dry-run", "--color", "--help"}));
  EXPECT_EQ(texts({"patchbay", "record", "-t", "function", "--funcgraph-retval-"}),
            (std::vector<std::string>{"--funcgraph-retval-hex"}));
}

TEST(Completions, Values) {
  EXPECT_EQ(texts({"patchbay", "record", "-t", "function_"}),
            (std::vector<std::string>{"function_graph"}));
  EXPECT_EQ(texts({"patchbay", "graph", "--sort", ""}),
            (std::vector<std::string>{"total", "self", "calls"}));
  EXPECT_EQ(texts({"patchbay", "record", "-C", "mono_"}), (std::vector<std::string>{"mono_raw"}));
  EXPECT_EQ(texts({"patchbay", "list", "ev"}), (std::vector<std::string>{"events"}));
  EXPECT_EQ(complete({"patchbay", "report", "-i", ""}).or_else, Completions::Else::kFiles);
  EXPECT_EQ(complete({"patchbay", "mount", ""}).or_else, Completions::Else::kDirectories);
}

TEST(Completions, ProcessesToAttachTo) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  const std::string pid = std::to_string(child);
  const std::vector<std::string> one = texts({"patchbay", "attach", pid});
  const std::vector<std::string> second = texts({"patchbay", "attach", "1", pid});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_NE(std::find(one.begin(), one.end(), pid), one.end());
  EXPECT_NE(std::find(second.begin(), second.end(), pid), second.end());
}

TEST(Completions, TheProgramIsTheShells) {
  const Completions first = complete({"patchbay", "record", "-e", "x", "l"});
  EXPECT_EQ(first.or_else, Completions::Else::kProgram);
  EXPECT_EQ(first.program, 4u);
  EXPECT_EQ(complete({"patchbay", "record", "-e", "x", "ls", "-"}).program, 4u);
  EXPECT_EQ(complete({"patchbay", "hist", "x", "keys=n", "--", "ls", "-"}).program, 5u);
  EXPECT_EQ(complete({"patchbay", "with-tracefs", "7", "trace-cmd", ""}).program, 3u);
}

}  // namespace
}  // namespace patchbay::cmd
