// SPDX-License-Identifier: MIT
#include "debug_info/debug_info.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/mapped_files.h"
#include "base/testing.h"
#include "debug_info/dwarf_testing.h"

namespace patchbay {
namespace {

std::string refusal(const std::string& path) {
  Result<std::unique_ptr<DebugInfo>> info = DebugInfo::open(path);
  return info.ok() ? "" : info.error().message();
}

TEST(DebugInfo, SaysWhatIsMissing) {
  const test::TemporaryFile text("no program"), empty, half("\177ELF");
  for (const test::TemporaryFile* file : {&text, &empty, &half})
    EXPECT_EQ(refusal(file->path()), file->path() + " is not a program or library for x86-64.");
  EXPECT_NE(refusal("/nowhere/at/all").find("No such file"), std::string::npos);
  const std::string none = test::object_path("values_none");
  const std::string said = refusal(none);
  EXPECT_TRUE(said.starts_with(none + " has no debug information. Its build-id is ")) << said;
  EXPECT_NE(said.find("Compile it with -g"), said.npos) << said;
}

TEST(DebugInfo, OfOtherMachinesIsRefused) {
  for (const auto& [at, byte] : std::vector<std::pair<size_t, char>>{{4, 1}, {18, 40}}) {
    std::string bytes = test::read_bytes(test::object_path("values_5"));
    bytes[at] = byte;  // the class; the machine
    const test::TemporaryFile file(bytes);
    EXPECT_EQ(refusal(file.path()), file.path() + " is not a program or library for x86-64.");
  }
}

class Opened : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Objects, Opened,
                         ::testing::Values("values_4", "values_5", "values_z", "values_split"));

TEST_P(Opened, SymbolsAndPlaces) {
  const auto info = test::open_info(test::object_path(GetParam()));
  ASSERT_TRUE(info);
  EXPECT_FALSE(info->is_program());
  EXPECT_EQ(info->name(), GetParam() + std::string(".so"));
  EXPECT_EQ(info->path(), info->debug_path());
  EXPECT_EQ(info->build_id().size(), 40u);
  EXPECT_EQ(info->build_id().find_first_not_of("0123456789abcdef"), std::string::npos);
  const Dwarf_Die reads = test::die_named(*info, "reads");
  const uint64_t entry = entry_of(reads).value_or(0);
  ASSERT_NE(entry, 0u);
  for (uint64_t offset : {0, 1, 5}) {
    const ObjectSymbol* symbol = info->symbol_at(entry + offset, true);
    ASSERT_TRUE(symbol);
    EXPECT_EQ(symbol->name, "reads");
    EXPECT_EQ(symbol->address, entry);
  }
  EXPECT_EQ(info->symbol_at(entry, false), nullptr);
  EXPECT_EQ(info->symbol_at(UINT64_MAX, true), nullptr);
  EXPECT_EQ(info->count_symbols("reads"), 1u);
  EXPECT_EQ(info->count_symbols("nowhere"), 0u);
  uint64_t offset = 0;
  EXPECT_TRUE(info->file_offset(entry, &offset));
  EXPECT_LT(offset, test::read_bytes(info->path()).size());
  EXPECT_FALSE(info->file_offset(0x100000000, &offset));
  EXPECT_FALSE(info->section(".debug_info").empty());
  EXPECT_TRUE(info->section(".nothing").empty());
  // At the first byte the frame is 8 bytes above rsp: behind the return address.
  auto [ops, count] = info->frame_address(entry);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(ops[0].atom, DW_OP_bregx);
  EXPECT_EQ(ops[0].number, 7u);
  EXPECT_EQ(ops[0].number2, 8u);
  EXPECT_EQ(info->frame_address(0x100000000).second, 0u);
}

// Wherever the file ends while it is read, the process goes on.
TEST(DebugInfo, AFileThatIsCutShortIsNoEnd) {
  const std::string whole = test::read_bytes(test::object_path("values_5"));
  for (size_t part = 0; part < 16; part++) {
    const test::TemporaryFile file;
    std::ofstream(file.path(), std::ios::binary) << whole;
    const int status = test::status_of_child([&] {
      const MappedFilesGuard guard;
      auto info = DebugInfo::open(file.path());
      if (!info.ok() || ::truncate(file.path().c_str(), off_t(whole.size() * part / 16)) != 0)
        return 1;
      Dwarf_CU* unit = nullptr;
      while (::dwarf_get_units((*info)->dwarf(), unit, &unit, nullptr, nullptr, nullptr, nullptr) ==
             0) {
      }
      (void)(*info)->section(".debug_str");
      (void)(*info)->frame_address((*info)->symbols()[0].address);
      return 0;
    });
    EXPECT_EQ(status, 0) << part;
  }
}

TEST(DebugInfo, OfADebugFileByItsLinkMustBeItsOwn) {
  const std::string object = test::object_path("values_none");
  const std::string other = test::read_bytes(test::object_path("values_5"));
  const std::string directory = object.substr(0, object.rfind('/'));
  // The link of values_none names a file beside it, which is that of another object.
  const test::TemporaryFile file;
  const std::string linked = file.path() + ".debug";
  std::ofstream(linked, std::ios::binary) << other;
  const std::string command =
      "objcopy --add-gnu-debuglink=" + linked + " " + object + " " + file.path() + " 2>/dev/null";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "objcopy is not installed";
  const std::string said = refusal(file.path());
  EXPECT_NE(said.find(linked + " does not belong to it: the build-id there is "), said.npos)
      << said;
  ::unlink(linked.c_str());
}

// Without build-ids the link's checksum says whether the file is the one that was linked.
TEST(DebugInfo, OfADebugFileWithoutABuildIdMustHaveTheChecksum) {
  const test::TemporaryFile whole, file;
  const std::string linked = file.path() + ".debug";
  const auto run = [](const std::string& command) {
    return std::system((command + " 2>/dev/null").c_str());
  };
  const std::string no_id = "objcopy --remove-section=.note.gnu.build-id ";
  if (run(no_id + test::object_path("values_5") + " " + whole.path()) != 0)
    GTEST_SKIP() << "objcopy is not installed";
  ASSERT_EQ(run("objcopy --only-keep-debug " + whole.path() + " " + linked), 0);
  ASSERT_EQ(run("objcopy -S --add-gnu-debuglink=" + linked + " " + whole.path() + " " +
                file.path()),
            0);
  EXPECT_EQ(test::open_info(file.path())->debug_path(), linked);
  ASSERT_EQ(run(no_id + "--only-keep-debug " + test::object_path("values_4") + " " + linked), 0);
  EXPECT_EQ(refusal(file.path()),
            file.path() + " has no debug information. " + linked +
                " does not belong to it: .gnu_debuglink has another checksum (CRC-32) than that "
                "file, which is of another build.");
  ::unlink(linked.c_str());
}

}  // namespace
}  // namespace patchbay
