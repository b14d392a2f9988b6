// SPDX-License-Identifier: MIT
#include "tracefs/tree.h"

#include <gtest/gtest.h>

#include <cerrno>

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

TEST(File, ATextIsReadOnceAndServedInPieces) {
  NamedFile file("abcdefg");
  EXPECT_EQ(*file.read_next(3, ReadMode::kAny), "abc");
  EXPECT_EQ(*file.read_next(0, ReadMode::kAny), "");
  EXPECT_EQ(*file.read_next(100, ReadMode::kWholePage), "defg");
  EXPECT_EQ(*file.read_next(100, ReadMode::kAny), "");
  EXPECT_EQ(file.write("x").error().errno_value, EINVAL);
  EXPECT_EQ(file.ioctl(0).error().errno_value, ENOTTY);
}

TEST(Directory, RefusesToBeChanged) {
  DeepDirectory root("");
  EXPECT_EQ(root.make_directory("x").error().errno_value, EPERM);
  EXPECT_EQ(root.remove_directory("d").error().errno_value, EPERM);
}

}  // namespace
}  // namespace patchbay::tracefs
