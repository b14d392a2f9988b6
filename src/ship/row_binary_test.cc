// SPDX-License-Identifier: MIT
#include "ship/row_binary.h"

#include <gtest/gtest.h>

#include <bit>

#include "export/export_testing.h"
#include "ship/ship_convert.h"

namespace patchbay {
namespace {

std::string row_of(const ShipColumn& column, const std::function<void(RowBinaryRow&)>& put) {
  RowBinary out;
  std::string list;
  const std::vector<ShipColumn> columns{column};
  RowBinaryRow row(&out, &columns, &list);
  put(row);
  return std::string(out.bytes());
}

using namespace std::string_literals;

// The bytes are those that ClickHouse's documentation of RowBinary gives.
TEST(RowBinary, HasTheBytesOfEachType) {
  const auto number = [](uint64_t bits) { return [bits](RowBinaryRow& row) { row.number(bits); }; };
  const auto text = [](std::string_view given) {
    return [given](RowBinaryRow& row) { row.text(given); };
  };
  const auto null = [](RowBinaryRow& row) { row.null(); };
  EXPECT_EQ("\xfe"s, row_of({"c", ColumnType::kInt8}, number(uint64_t(-2))));
  EXPECT_EQ("\xfe\xff"s, row_of({"c", ColumnType::kInt16}, number(uint64_t(-2))));
  EXPECT_EQ("\x04\x03\x02\x01"s, row_of({"c", ColumnType::kUint32}, number(0x01020304)));
  EXPECT_EQ("\x08\x07\x06\x05\x04\x03\x02\x01"s,
            row_of({"c", ColumnType::kUint64}, number(0x0102030405060708)));
  EXPECT_EQ("\x00\x00\xc0\x3f"s,
            row_of({"c", ColumnType::kFloat}, number(std::bit_cast<uint32_t>(1.5f))));
  EXPECT_EQ("\x00\x00\x00\x00\x00\x00\xf8\x3f"s,
            row_of({"c", ColumnType::kDouble}, number(std::bit_cast<uint64_t>(1.5))));
  EXPECT_EQ("\x02hi"s, row_of({"c", ColumnType::kText}, text("hi")));
  EXPECT_EQ("\x00\x02hi"s, row_of({"c", ColumnType::kText, ShipKind::kNullable}, text("hi")));
  EXPECT_EQ("\x01"s, row_of({"c", ColumnType::kText, ShipKind::kNullable}, null));
  EXPECT_EQ("\x00"s, row_of({"c", ColumnType::kText}, null));
  EXPECT_EQ("\x00\x00"s, row_of({"c", ColumnType::kInt16}, null));
  EXPECT_EQ("\x00"s, row_of({"c", ColumnType::kInt16, ShipKind::kArray}, null));
  EXPECT_EQ("\x80\x01"s + std::string(128, 'x'),
            row_of({"c", ColumnType::kText}, text(std::string(128, 'x'))));
  EXPECT_EQ("\x02\x01\x00\x02\x00"s,
            row_of({"c", ColumnType::kInt16, ShipKind::kArray}, [](RowBinaryRow& row) {
              row.begin_list();
              row.number(1);
              row.number(2);
              row.end_list();
            }));
  EXPECT_EQ("\x02\x01\x61\x00"s,
            row_of({"c", ColumnType::kText, ShipKind::kArray}, [](RowBinaryRow& row) {
              row.begin_list();
              row.text("a");
              row.null();
              row.end_list();
            }));
}

// Keeps the blocks.
struct KeptBlocks : ShipSink {
  struct Block {
    std::string table, bytes;
    uint32_t number, rows;
    std::vector<uint32_t> ends;
    bool operator==(const Block&) const = default;
  };
  Status prepare(const ShipTable& table, const ShipOrigin&) override {
    return table.name == refused ? Status(user_error(EEXIST, "not this one")) : Status();
  }
  Status deliver(const ShipBlock& block) override {
    blocks.push_back(
        {block.table->name, std::string(block.bytes), block.number, block.rows, *block.ends});
    return {};
  }
  std::vector<Block> blocks;
  std::string refused;
};

Status convert(const std::string& file, KeptBlocks* into, ShipCounts* counts, uint32_t rows) {
  ExportInput input;
  if (!test::export_input_of(file, &input)) return user_error(EINVAL, "no recording");
  std::vector<ExportInput> inputs;
  inputs.push_back(std::move(input));
  PB_ASSIGN(auto source, ExportSource::open(std::move(inputs)));
  ShipConverter converter({.host = "h", .source = 7}, into, {.rows = rows});
  PB_TRY(export_all(source.get(), &converter));
  *counts = converter.counts();
  return {};
}

TEST(ShipConverter, MakesTheSameBlocksEachTime) {
  test::Events events;
  for (int i = 0; i < 25; i++) {
    events.push_back({1000 + uint64_t(i),
                      test::Record(test::kPlain, 7).put(i).put(2).put(1.5).put(0x20001).put(3)});
    events.push_back(
        {1000 + uint64_t(i), test::Record(test::kProbe, 9).put(uint64_t{0x2000}).put(i)});
  }
  const std::string file = test::make_trace_dat(7, {events}, 3);
  KeptBlocks first, second;
  ShipCounts counts;
  ASSERT_TRUE(convert(file, &first, &counts, 10).ok());
  EXPECT_EQ(51u, counts.rows);
  EXPECT_EQ(3u, counts.lost);
  ASSERT_TRUE(convert(file, &second, &counts, 10).ok());
  EXPECT_EQ(first.blocks, second.blocks);
  std::map<std::string, std::vector<uint32_t>> rows, numbers;
  for (const auto& block : first.blocks) {
    rows[block.table].push_back(block.rows);
    numbers[block.table].push_back(block.number);
    EXPECT_EQ(block.bytes.size(), block.ends.back());
    EXPECT_EQ(block.rows, block.ends.size());
  }
  EXPECT_EQ((std::vector<uint32_t>{10, 10, 5}), rows["shop__sold"]);
  EXPECT_EQ((std::vector<uint32_t>{0, 1, 2}), numbers["shop__sold"]);
  EXPECT_EQ((std::vector<uint32_t>{10, 10, 5}), rows["kp__in"]);
  EXPECT_EQ((std::vector<uint32_t>{1}), rows["patchbay_losses"]);
}

// What a plan copies is what each field for itself would be: whole records, and cut ones.
TEST(ShipConverter, PutsTheValues) {
  KeptBlocks kept;
  ShipCounts counts;
  const std::string file = test::make_trace_dat(
      7, {{{1000, test::Record(test::kPlain, 7).put(-3).put(2).put(1.5).put(0x20001).put(3)},
           {1001, test::Record(test::kPlain, 7).put(-4)}}});
  ASSERT_TRUE(convert(file, &kept, &counts, 10).ok());
  ASSERT_EQ(1u, kept.blocks.size());
  const auto& block = kept.blocks[0];
  const std::string head = "\x01h"s + std::string(16, 0) +
                           "\x07\0\0\0\x07\0\0\0\x04shop\x09/bin/shop\0"s + "\x01\0\0\0"s;
  const std::string who = head.substr(0, head.size() - 4);
  ASSERT_EQ(who, block.bytes.substr(0, who.size()));
  const std::string fields = "\xfd\xff\xff\xff\x02\0\0\0\0\0\0\xf8\x3f\x03\x01\0\x02\0\x03\0\0"s;
  EXPECT_EQ(fields, block.bytes.substr(block.ends[0] - fields.size(), fields.size()));
  const std::string cut = "\xfc\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0"s;
  EXPECT_EQ(cut, block.bytes.substr(block.ends[1] - cut.size(), cut.size()));
}

TEST(ShipConverter, CountsWhatATableRefuses) {
  KeptBlocks kept;
  kept.refused = "shop__sold";
  ShipCounts counts;
  ASSERT_TRUE(convert(test::make_trace_dat(7, {test::some_of_each()}), &kept, &counts, 1).ok());
  EXPECT_EQ(2u, counts.refused);
  EXPECT_EQ(2u, counts.lost);
  size_t losses = 0;
  for (const auto& block : kept.blocks) {
    EXPECT_NE("shop__sold", block.table);
    losses += block.table == "patchbay_losses";
  }
  EXPECT_EQ(1u, losses);
}

TEST(ShipOrigin, ReadsBootIds) {
  std::array<uint8_t, 16> id{};
  EXPECT_TRUE(parse_boot_id("01234567-89ab-cdef-0123-456789abcdef", &id));
  EXPECT_EQ("01234567-89ab-cdef-0123-456789abcdef", boot_id_text(id));
  for (const char* wrong : {"", "0123", "01234567-89ab-cdef-0123-456789abcdefa",
                            "x1234567-89ab-cdef-0123-456789abcdef"})
    EXPECT_FALSE(parse_boot_id(wrong, &id)) << wrong;
}

}  // namespace
}  // namespace patchbay
