// SPDX-License-Identifier: MIT
// What forked children repeat: operations as bytes, and which files take part.
#include "serve/journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace patchbay::serve {
namespace {

Operation some_operation() {
  Operation one;
  one.kind = OperationKind::kWriteFile;
  one.flags = O_WRONLY | O_TRUNC;
  one.caller = 7;
  one.error = EBUSY;
  one.file = 3;
  one.value = 9;
  one.path = "events/functions/work/filter";
  one.data = std::string("n > 1\n\0x", 8);
  one.notes = {{1, 2}, {3, 4}};
  return one;
}

TEST(Journal, AnOperationComesBackFromItsBytes) {
  const Operation one = some_operation();
  auto back = decode_operation(encode_operation(one));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->kind, one.kind);
  EXPECT_EQ(back->flags, one.flags);
  EXPECT_EQ(back->caller, one.caller);
  EXPECT_EQ(back->error, one.error);
  EXPECT_EQ(back->file, one.file);
  EXPECT_EQ(back->value, one.value);
  EXPECT_EQ(back->path, one.path);
  EXPECT_EQ(back->data, one.data);
  ASSERT_EQ(back->notes.size(), 2u);
  EXPECT_EQ(back->notes[1].key, 3u);
  EXPECT_EQ(back->notes[1].value, 4u);
}

TEST(Journal, BytesOfAnotherLengthAreNone) {
  const std::string bytes = encode_operation(some_operation());
  for (size_t size = 0; size < bytes.size(); size++)
    EXPECT_FALSE(decode_operation(bytes.substr(0, size)).ok()) << size;
  EXPECT_FALSE(decode_operation(bytes + "x").ok());
}

TEST(Journal, WhatAllProcessesShareIsNotRepeated) {
  EXPECT_TRUE(is_repeated("events/functions/tracing_on/enable", O_WRONLY));
  EXPECT_TRUE(is_repeated("set_event", O_RDWR));
  EXPECT_TRUE(is_repeated("instances/a/buffer_size_kb", O_WRONLY));
  EXPECT_FALSE(is_repeated("set_event", O_RDONLY));
  EXPECT_FALSE(is_repeated("tracing_on", O_WRONLY));
  EXPECT_FALSE(is_repeated("instances/a/trace", O_WRONLY | O_TRUNC));
  EXPECT_FALSE(is_repeated("per_cpu/cpu0/trace", O_WRONLY | O_TRUNC));
}

// A file of one word, and a directory that takes any name.
struct Word : tracefs::File {
  explicit Word(std::string* kept) : kept(kept) {}
  ~Word() override { *kept += "."; }
  uint32_t mode() const override { return 0640; }
  Result<size_t> write(std::string_view bytes) override {
    *kept += bytes;
    return bytes.size();
  }
  std::string* kept;
};
struct Root : tracefs::Directory {
  std::vector<std::string> list() override { return {}; }
  std::unique_ptr<tracefs::File> file(std::string_view name) override {
    return name == "word" ? std::make_unique<Word>(&kept) : nullptr;
  }
  std::unique_ptr<tracefs::Directory> directory(std::string_view) override { return nullptr; }
  Status make_directory(std::string_view name) override {
    kept += "+" + std::string(name);
    return {};
  }
  std::string kept;
};

Operation on_file(OperationKind kind, uint64_t file, std::string data = {}) {
  Operation one;
  one.kind = kind;
  one.file = file;
  one.flags = O_WRONLY;
  one.path = "word";
  one.data = std::move(data);
  return one;
}

TEST(Journal, RepeatsOpensWritesAndCloses) {
  Root root;
  Repeater repeater(root);
  EXPECT_TRUE(repeater.repeat(on_file(OperationKind::kOpen, 100)).ok());
  EXPECT_TRUE(repeater.repeat(on_file(OperationKind::kWrite, 100, "a")).ok());
  EXPECT_TRUE(repeater.repeat(on_file(OperationKind::kWrite, 100, "b")).ok());
  EXPECT_TRUE(repeater.repeat(on_file(OperationKind::kClose, 100)).ok());
  EXPECT_EQ(root.kept, "ab.");
  EXPECT_TRUE(repeater.repeat(on_file(OperationKind::kWrite, 100, "c")).ok());
  EXPECT_TRUE(repeater.repeat(on_file(OperationKind::kWriteFile, 0, "d")).ok());
  EXPECT_EQ(root.kept, "ab.d.");
  EXPECT_TRUE(repeater.repeat(on_file(OperationKind::kMkdir, 0)).ok());
  EXPECT_EQ(root.kept, "ab.d.+word");
}

TEST(Journal, AFileThatWasOpenAtTheForkGoesOn) {
  Root root;
  const uint64_t number = OpenFiles::enter(new Word(&root.kept));
  Repeater repeater(root);
  EXPECT_TRUE(repeater.repeat(on_file(OperationKind::kWrite, number, "x")).ok());
  EXPECT_TRUE(repeater.repeat(on_file(OperationKind::kClose, number)).ok());
  EXPECT_EQ(root.kept, "x.");
  EXPECT_EQ(OpenFiles::find(number), nullptr);
}

}  // namespace
}  // namespace patchbay::serve
