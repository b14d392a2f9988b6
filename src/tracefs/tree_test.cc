// SPDX-License-Identifier: MIT
#include "tracefs/tree.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tracefs/write_style.h"

namespace patchbay::tracefs {
namespace {

class NamedFile : public File {
 public:
  explicit NamedFile(std::string text) : text_(std::move(text)) {}
  uint32_t mode() const override { return 0440; }
  Result<std::string> read() override { return text_; }

 private:
  std::string text_;
};

// Every directory holds a file `f`, which says where it is, and a directory `d`, four levels deep.
class DeepDirectory : public Directory {
 public:
  explicit DeepDirectory(std::string path) : path_(std::move(path)) {}
  std::vector<std::string> list() override { return {"d/", "f"}; }
  std::unique_ptr<File> file(std::string_view name) override {
    return name == "f" ? std::make_unique<NamedFile>(path_ + "f") : nullptr;
  }
  std::unique_ptr<Directory> directory(std::string_view name) override {
    if (name != "d" || path_.size() >= 8) return nullptr;
    return std::make_unique<DeepDirectory>(path_ + "d/");
  }

 private:
  std::string path_;
};

// What a path leads to: the file's text, "dir:" and the number of entries, or "-errno".
std::string walk(std::string_view path) {
  DeepDirectory root("");
  Result<Node> node = lookup(root, path);
  if (!node.ok()) return std::to_string(-node.error().errno_value);
  if (node->file) return *node->file->read();
  return "dir:" + std::to_string(node->directory->list().size());
}

TEST(Lookup, PathsLeadWhereTheySay) {
  const struct {
    const char* path;
    const char* expected;
  } table[] = {
      {"", "dir:2"},     {"/", "dir:2"},      {".", "dir:2"},
      {"f", "f"},        {"/f", "f"},         {"d/f", "d/f"},
      {"d//f", "d/f"},   {"./d/./f", "d/f"},  {"d/d/d/f", "d/d/d/f"},
      {"d/", "dir:2"},   {"f/", "-20"},       {"f/f", "-20"},
      {"x", "-2"},       {"d/x", "-2"},       {"..", "-22"},
      {"d/../f", "-22"}, {"d/d/d/d/d", "-2"},
  };
  for (const auto& row : table) EXPECT_EQ(walk(row.path), row.expected) << row.path;
}

std::string number(std::string_view bytes) {
  Result<uint64_t> result = parse_number(bytes);
  return result.ok() ? std::to_string(*result) : std::to_string(-result.error().errno_value);
}

TEST(Number, AsTheKernelTakesThem) {
  const struct {
    std::string_view bytes;
    const char* expected;
  } table[] = {
      {"0", "0"},
      {"1\n", "1"},
      {"01", "1"},
      {"+1", "1"},
      {"+01\n", "1"},
      {"", "-22"},
      {"\n", "-22"},
      {" 1", "-22"},
      {"1 ", "-22"},
      {" 1 ", "-22"},
      {"-1", "-22"},
      {"1\n\n", "-22"},
      {"+", "-22"},
      {"++1", "-22"},
      {"0x1", "-22"},
      {"1a", "-22"},
      {"18446744073709551615", "18446744073709551615"},
      {"18446744073709551616", "-34"},
      {"99999999999999999999x", "-22"},
  };
  for (const auto& row : table) EXPECT_EQ(number(row.bytes), row.expected) << row.bytes;
}

TEST(Number, SwitchTakesOnlyTwo) {
  EXPECT_TRUE(*parse_switch("1\n"));
  EXPECT_FALSE(*parse_switch("0"));
  EXPECT_EQ(parse_switch("2").error().errno_value, EINVAL);
  EXPECT_EQ(parse_switch("on").error().errno_value, EINVAL);
}

// The lines that were executed, joined by '|', then the result. A line `bad` fails with ENOENT.
std::string run_lines(std::string_view bytes) {
  std::string done;
  Result<size_t> result = for_each_line(bytes, [&done](std::string_view line) -> Status {
    if (line == "bad") return sys_error("x", ENOENT);
    done += std::string(line) + "|";
    return {};
  });
  return done +
         (result.ok() ? std::to_string(*result) : std::to_string(-result.error().errno_value));
}

TEST(Lines, OneAtATime) {
  const struct {
    const char* bytes;
    const char* expected;
  } table[] = {
      {"", "0"},
      {"a", "a|1"},
      {"a\nb\n", "a|b|4"},
      {"\n \n\t\na\n", "a|7"},
      {"# only a comment\n  a b # and one\n#", "a b |34"},
      {"a\nbad\nb\n", "a|-2"},
  };
  for (const auto& row : table) EXPECT_EQ(run_lines(row.bytes), row.expected) << row.bytes;
}

TEST(Lines, AtMost4095BytesWithTheNewline) {
  std::string longest(4094, 'a'), longer(4095, 'a');
  EXPECT_EQ(run_lines(longest + "\n"), longest + "|4095");
  EXPECT_EQ(run_lines(longer + "\n"), "-22");
  EXPECT_EQ(run_lines("b\n" + longer + "\n"), "b|-22");
}

TEST(Tokens, OneAWriteWithAShortCount) {
  Result<Token> first = take_token("sched_wakeup sched_waking\n");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->word, "sched_wakeup");
  EXPECT_EQ(first->consumed, 13u);
  EXPECT_EQ(take_token("  a")->consumed, 3u);
  EXPECT_EQ(take_token(" \n\t")->word, "");
  EXPECT_EQ(take_token(" \n\t")->consumed, 3u);
  EXPECT_TRUE(take_token(std::string(127, 'x')).ok());
  EXPECT_EQ(take_token(std::string(128, 'x')).error().errno_value, EINVAL);
}

}  // namespace
}  // namespace patchbay::tracefs
