// SPDX-License-Identifier: MIT
// What outside readers make of whole files stands in tests/scripts/export_judges.sh; here are the
// bytes, the limits and what each encoding must give back.
#include "export/parquet/parquet_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cmath>

#include "base/text.h"
#include "base/unique_fd.h"
#include "export/parquet/parquet_encode.h"

namespace patchbay {
namespace {

std::string hex(std::string_view bytes) {
  return hex_bytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

// --- readers, by the words of the format's documents

struct Bytes {
  std::string_view bytes;
  size_t at = 0;
  uint8_t next() {
    EXPECT_LT(at, bytes.size());
    return at < bytes.size() ? uint8_t(bytes[at++]) : 0;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = next();
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80) || shift > 63) return value;
    }
  }
  int64_t zigzagged() {
    const uint64_t value = varint();
    return int64_t(value >> 1) ^ -int64_t(value & 1);
  }
  std::vector<uint64_t> packed(size_t count, int width) {
    std::vector<uint64_t> values(count, 0);
    for (size_t bit = 0; bit < count * size_t(width); bit++)
      if (uint8_t(bytes[at + bit / 8]) >> (bit % 8) & 1)
        values[bit / size_t(width)] |= uint64_t{1} << (bit % size_t(width));
    at += (count * size_t(width) + 7) / 8;
    return values;
  }
};

std::vector<uint32_t> read_rle(std::string_view bytes, size_t count, int width) {
  Bytes in{bytes};
  std::vector<uint32_t> values;
  while (values.size() < count && in.at < bytes.size()) {
    const uint64_t head = in.varint();
    if (head & 1) {
      for (const uint64_t value : in.packed((head >> 1) * 8, width))
        values.push_back(uint32_t(value));
    } else {
      uint32_t value = 0;
      for (int bits = 0; bits < width; bits += 8) value |= uint32_t(in.next()) << bits;
      values.insert(values.end(), head >> 1, value);
    }
  }
  EXPECT_EQ(in.at, bytes.size());
  EXPECT_LT(values.size() - count, 8u);  // the last group is filled
  values.resize(count);
  return values;
}

std::vector<int64_t> read_delta(std::string_view bytes) {
  Bytes in{bytes};
  const uint64_t block = in.varint(), miniblocks = in.varint(), count = in.varint();
  std::vector<int64_t> values;
  uint64_t value = uint64_t(in.zigzagged());
  if (count) values.push_back(int64_t(value));
  while (values.size() < count) {
    const auto least = uint64_t(in.zigzagged());
    std::vector<int> widths;
    for (uint64_t m = 0; m < miniblocks; m++) widths.push_back(in.next());
    for (const int width : widths) {
      if (values.size() >= count) break;
      for (const uint64_t delta : in.packed(block / miniblocks, width)) {
        value += least + delta;
        if (values.size() < count) values.push_back(int64_t(value));
      }
    }
  }
  EXPECT_EQ(in.at, bytes.size());
  return values;
}

uint64_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005 + 1442695040888963407;
  return *state >> 20;
}

// --- encodings

TEST(ParquetEncode, RleBytes) {
  const auto rle = [](std::vector<uint32_t> values, int width) {
    std::string out;
    put_rle(&out, values, width);
    return hex(out);
  };
  EXPECT_EQ(rle({}, 3), "");
  EXPECT_EQ(rle(std::vector<uint32_t>(100, 4), 3), "c8 01 04");  // a run: 100 << 1, the value
  // The document's own example: 0 … 7 in three bits each.
  EXPECT_EQ(rle({0, 1, 2, 3, 4, 5, 6, 7}, 3), "03 88 c6 fa");
  EXPECT_EQ(rle({1, 0}, 1), "03 01");  // the group is filled with zeros
  EXPECT_EQ(rle(std::vector<uint32_t>(8, 300), 9), "10 2c 01");
  EXPECT_EQ(rle(std::vector<uint32_t>(5, 0), 0), "03");
}

TEST(ParquetEncode, RleGivesTheValuesBack) {
  uint64_t seed = 1;
  for (int width = 1; width <= 17; width++) {
    for (const size_t count : {1, 7, 8, 9, 63, 64, 65, 1000}) {
      std::vector<uint32_t> values;
      while (values.size() < count) {
        const auto value = uint32_t(next_random(&seed) & ((1u << width) - 1));
        values.insert(values.end(), next_random(&seed) % 3 ? 1 : next_random(&seed) % 30, value);
      }
      values.resize(count);
      std::string out;
      put_rle(&out, values, width);
      EXPECT_EQ(read_rle(out, count, width), values) << width << " bits, " << count;
    }
  }
}

TEST(ParquetEncode, DeltaBytes) {
  std::string out;
  put_delta(&out, std::vector<int64_t>{1, 2, 3, 4, 5});  // the document's example
  EXPECT_EQ(hex(out), "80 01 04 05 02 02 00 00 00 00");
  out.clear();
  put_delta(&out, std::vector<int64_t>{7, 5, 3, 1, 2, 3, 4, 5});
  EXPECT_EQ(hex(out), "80 01 04 08 0e 03 02 00 00 00 c0 3f 00 00 00 00 00 00");
}

TEST(ParquetEncode, DeltaGivesTheValuesBack) {
  uint64_t seed = 2;
  for (const size_t count : {0, 1, 2, 32, 33, 128, 129, 130, 257, 5000}) {
    for (int shift = 0; shift < 64; shift += 9) {
      std::vector<int64_t> values;
      int64_t value = INT64_MAX - 5;  // it wraps
      for (size_t i = 0; i < count; i++) {
        values.push_back(value);
        value = int64_t(uint64_t(value) + (next_random(&seed) << 20 >> shift) - (i % 3));
      }
      std::string out;
      put_delta(&out, values);
      EXPECT_EQ(read_delta(out), values) << count << " values, shift " << shift;
    }
  }
}

TEST(ParquetEncode, ThriftCompactBytes) {
  std::string out;
  ThriftCompact thrift(&out);
  thrift.i32(1, -1);
  thrift.flag(2, true);
  thrift.i64(20, 300);  // a step of 18: the long form
  thrift.begin_list(21, ThriftCompact::kBinary, 1);
  thrift.element(std::string_view("ab"));
  thrift.begin_struct(22);
  thrift.i8(1, 7);
  thrift.end_struct();
  thrift.begin_list(23, ThriftCompact::kI32, 15);
  for (int i = 0; i < 15; i++) thrift.element(i);
  thrift.end_struct();
  EXPECT_EQ(hex(out),
            "15 01 11 06 28 d8 04 19 18 02 61 62 1c 13 07 00 19 f5 0f "
            "00 02 04 06 08 0a 0c 0e 10 12 14 16 18 1a 1c 00");
}

// --- files

class ParquetFileTest : public testing::Test {
 protected:
  ParquetFileTest() { path_ = testing::TempDir() + "parquet." + std::to_string(::getpid()); }
  ~ParquetFileTest() override { ::unlink(path_.c_str()); }
  std::unique_ptr<ParquetFile> create(std::vector<TypedColumn> columns,
                                      const ParquetLimits& limits = {}) {
    auto file = ParquetFile::create(path_, std::move(columns), {{"k", "v"}}, &compressor_, limits);
    EXPECT_TRUE(file.ok());
    return file.ok() ? std::move(*file) : nullptr;
  }
  std::string contents() const {
    std::string text(1 << 20, '\0');
    UniqueFd fd(::open(path_.c_str(), O_RDONLY));
    const ssize_t size = ::read(fd.get(), text.data(), text.size());
    text.resize(size > 0 ? size_t(size) : 0);
    return text;
  }
  // What stands behind the row groups.
  std::string footer() const {
    const std::string text = contents();
    uint32_t size = 0;
    if (text.size() < 12 || !text.ends_with("PAR1") || !text.starts_with("PAR1")) return "";
    std::memcpy(&size, text.data() + text.size() - 8, 4);
    return text.substr(text.size() - 8 - size, size);
  }
  ParquetCompressor compressor_;
  std::string path_;
};

TEST_F(ParquetFileTest, GoldenFooterWithoutRows) {
  auto file = create({{"a", ColumnType::kInt8, false, true}, {"t", ColumnType::kText}});
  ASSERT_TRUE(file->finish().ok());
  const std::string made = "patchbay version " PATCHBAY_VERSION;
  EXPECT_EQ(hex(footer()),
            "15 04"                              // 1: version 2
            " 19 3c"                             // 2: three elements of the schema
            " 48 06 73 63 68 65 6d 61 15 04 00"  // "schema", two children
            " 15 02 25 00 18 01 61 25 1e 4c ac 13 08 11 00 00 00"  // INT32, required, a, INT_8
            " 15 0c 25 02 18 01 74 25 00 4c 1c 00 00 00"           // BYTE_ARRAY, optional, t, UTF8
            " 16 00"                                               // 3: no rows
            " 19 0c"                                               // 4: no row groups
            " 19 1c 18 01 6b 18 01 76 00"                          // 5: k=v
            " 18 " +
                hex(std::string(1, char(made.size())) + made) +
                " 19 2c 1c 00 00 1c 00 00"  // 7: orders of the columns' types
                " 00");
}

TEST_F(ParquetFileTest, AFileThatIsNotFinishedIsRemoved) {
  auto file = create({{"a", ColumnType::kInt64}});
  file->column(0).put_number(1);
  ASSERT_TRUE(file->end_row().ok());
  ASSERT_TRUE(file->end_row_group().ok());
  EXPECT_EQ(::access(path_.c_str(), F_OK), 0);
  file.reset();
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
}

TEST_F(ParquetFileTest, AFullDiskIsAnError) {
  ParquetFile::Metadata none;
  auto file = ParquetFile::create("/dev/full", {{"a"}}, none, &compressor_);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().errno_value, ENOSPC);
  EXPECT_NE(file.error().message().find("/dev/full"), std::string::npos);
  EXPECT_EQ(::access("/dev/full", F_OK), 0);  // a device is not removed
}

TEST_F(ParquetFileTest, BoundsAndNulls) {
  auto file = create({{"i", ColumnType::kInt32},
                      {"u", ColumnType::kUint8},
                      {"d", ColumnType::kDouble},
                      {"t", ColumnType::kText}});
  const auto row = [&](int i, int u, double d, const char* t) {
    file->column(0).put_number(uint64_t(int64_t(i)));
    file->column(1).put_number(uint64_t(u));
    file->column(2).put_number(std::bit_cast<uint64_t>(d));
    t ? file->column(3).put_text(t) : file->column(3).put_null();
    ASSERT_TRUE(file->end_row().ok());
  };
  row(-5, 200, NAN, "b");
  row(3, 100, -0.0, nullptr);
  row(2, 255, 0.0, "\xc3\xa4");
  ASSERT_TRUE(file->finish().ok());
  const std::string bounds = hex(footer());
  const auto has = [&](const char* text) { return bounds.find(text) != std::string::npos; };
  EXPECT_TRUE(has("36 00 28 04 03 00 00 00 18 04 fb ff ff ff")) << bounds;
  EXPECT_TRUE(has("36 00 28 04 ff 00 00 00 18 04 64 00 00 00"));  // unsigned
  EXPECT_TRUE(has("36 00 28 08 00 00 00 00 00 00 00 00 18 08 00 00 00 00 00 00 00 80"));
  EXPECT_TRUE(has("36 02 28 02 c3 a4 18 01 62 00"));  // one null; by unsigned bytes
}

TEST_F(ParquetFileTest, LongTextsHaveNoBounds) {
  auto file = create({{"t", ColumnType::kText}});
  file->column(0).put_text(std::string(65536, 'x'));
  ASSERT_TRUE(file->end_row().ok());
  ASSERT_TRUE(file->finish().ok());
  EXPECT_LT(footer().size(), 200u);
}

// A column's chunk as its pages: kind (0 data, 2 dictionary), values, encoding, unpacked bytes.
struct Page {
  int kind = 0, values = 0, encoding = 0;
  std::string bytes;
};
std::vector<Page> pages_of(std::string_view chunk) {
  std::vector<Page> pages;
  Bytes in{chunk};
  while (in.at < chunk.size()) {
    Page page;
    in.at++, page.kind = int(in.zigzagged());
    in.at++;
    page.bytes.resize(size_t(in.zigzagged()));
    in.at++;
    const auto packed = size_t(in.zigzagged());
    in.at += 2, page.values = int(in.zigzagged());
    in.at++, page.encoding = int(in.zigzagged());
    in.at += page.kind == 0 ? 6 : 2;
    EXPECT_EQ(ZSTD_decompress(page.bytes.data(), page.bytes.size(), chunk.data() + in.at, packed),
              page.bytes.size());
    in.at += packed;
    pages.push_back(std::move(page));
  }
  return pages;
}

std::vector<Page> end_chunk(ParquetColumnWriter* column) {
  std::string chunk, metadata;
  ThriftCompact thrift(&metadata);
  uint64_t unpacked = 0;
  column->end_chunk(&chunk, 4, &thrift, &unpacked);
  return pages_of(chunk);
}

TEST(ParquetColumn, NullsAreLevels) {
  ParquetCompressor compressor;
  ParquetColumnWriter column({"t", ColumnType::kText}, &compressor);
  for (const char* text : {"a", "b", "a"}) column.put_text(text), column.end_row();
  column.put_null(), column.end_row();
  const auto pages = end_chunk(&column);
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages[0].kind, 2);
  EXPECT_EQ(hex(pages[0].bytes), "01 00 00 00 61 01 00 00 00 62");
  EXPECT_EQ(pages[1].values, 4);
  EXPECT_EQ(pages[1].encoding, 8);
  // The size of the levels, 1 1 1 0; one bit an index, 0 1 0.
  EXPECT_EQ(hex(pages[1].bytes), "02 00 00 00 03 07 01 03 02");
}

TEST(ParquetColumn, ListsHaveTwoKindsOfLevels) {
  ParquetCompressor compressor;
  ParquetColumnWriter column({"l", ColumnType::kInt32, true}, &compressor);
  column.begin_list(), column.put_number(5), column.put_null(), column.end_list();
  column.end_row();
  column.begin_list(), column.end_list(), column.end_row();
  column.put_null(), column.end_row();
  column.begin_list(), column.put_number(5), column.end_list(), column.end_row();
  const auto pages = end_chunk(&column);
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages[1].values, 5);
  const std::string& bytes = pages[1].bytes;
  EXPECT_EQ(read_rle(bytes.substr(4, 2), 5, 1), (std::vector<uint32_t>{0, 1, 0, 0, 0}));
  EXPECT_EQ(read_rle(bytes.substr(10, 3), 5, 2), (std::vector<uint32_t>{3, 2, 1, 0, 3}));
  EXPECT_EQ(hex(bytes.substr(13)), "01 03 00");
}

TEST(ParquetColumn, ADictionaryThatGrowsIsLeft) {
  ParquetCompressor compressor;
  ParquetColumnWriter column({"n", ColumnType::kInt64, false, true}, &compressor);
  // The first page repeats; then every value is new until the dictionary is full.
  constexpr uint64_t kPage = 32768;
  for (uint64_t i = 0; i < kPage; i++) column.put_number(i % 10), column.end_row();
  for (uint64_t i = 0; i < 3 * kPage; i++) column.put_number(i), column.end_row();
  const auto pages = end_chunk(&column);
  ASSERT_EQ(pages.size(), 5u);
  EXPECT_EQ(pages[0].bytes.size(), 65536u * 8);
  EXPECT_EQ(pages[1].encoding, 8);
  EXPECT_EQ(pages[2].encoding, 8);
  EXPECT_EQ(pages[4].encoding, 0);
  uint64_t last = 0;
  std::memcpy(&last, pages[4].bytes.data() + pages[4].bytes.size() - 8, 8);
  EXPECT_EQ(last, 3 * kPage - 1);
  // The next row group tries again.
  column.put_number(1), column.end_row();
  EXPECT_EQ(end_chunk(&column)[0].kind, 2);
}

TEST(ParquetColumn, APageThatHardlyRepeatsIsTheLastOfItsDictionary) {
  ParquetCompressor compressor;
  ParquetColumnWriter column({"t", ColumnType::kText}, &compressor);
  for (int i = 0; i < 40000; i++) column.put_text(std::to_string(i)), column.end_row();
  const auto pages = end_chunk(&column);
  ASSERT_EQ(pages.size(), 3u);
  EXPECT_EQ(pages[1].encoding, 8);
  EXPECT_EQ(pages[2].encoding, 0);
  EXPECT_EQ(pages[2].values, 40000 - 32768);
  // The levels of a page without nulls are one run.
  EXPECT_EQ(hex(pages[2].bytes.substr(0, 16)), "03 00 00 00 80 71 01 05 00 00 00 33 32 37 36 38");
}

TEST(ParquetColumn, MemoryIsGivenBack) {
  ParquetCompressor compressor;
  ParquetColumnWriter column({"t", ColumnType::kText}, &compressor);
  for (int i = 0; i < 1000; i++) column.put_text(std::string(60000, char(i))), column.end_row();
  EXPECT_GT(column.memory(), 256u << 10);
  EXPECT_LT(column.memory(), 16u << 20);  // pages are compressed as they are full
  end_chunk(&column);
  EXPECT_LT(column.memory(), 1u << 20);
}

}  // namespace
}  // namespace patchbay
