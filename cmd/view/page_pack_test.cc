// SPDX-License-Identifier: MIT
#include "cmd/view/page_pack.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <optional>

#include "cmd/view/page_text.h"

namespace patchbay::cmd {
namespace {

// Reads a payload as the page does, by the drawing in page_pack.h and no code of the writer.
class Reader {
 public:
  explicit Reader(const std::string& payload) {
    std::string bytes;
    uint32_t word = 0, bits = 0;
    for (char c : payload) {
      if (c == '=') break;
      const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                        : c >= 'a' && c <= 'z' ? c - 'a' + 26
                        : c >= '0' && c <= '9' ? c - '0' + 52
                        : c == '+'             ? 62
                                               : 63;
      word = word << 6 | uint32_t(value);
      if ((bits += 6) >= 8) bytes += char(word >> (bits -= 8));
    }
    std::string out(10 << 20, '\0');
    uLongf size = out.size();
    EXPECT_EQ(Z_OK, ::uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                                 reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    out.resize(size);
    EXPECT_EQ("PBPAGE1\n", out.substr(0, 8));
    uint32_t length = 0;
    std::memcpy(&length, out.data() + 8, 4);
    header = out.substr(12, length);
    data = out.substr((12 + length + 7) / 8 * 8);
  }
  // The column that stands behind `key` in the header.
  std::string spec(const std::string& key, size_t from = 0) const {
    const size_t at = header.find("\"" + key + "\":{", from);
    EXPECT_NE(header.npos, at) << key;
    return header.substr(at, header.find('}', at) - at);
  }
  static uint64_t number(const std::string& spec, const std::string& name) {
    size_t at = spec.find("\"" + name + "\":");
    if (at == spec.npos) return 0;
    at += name.size() + 3;
    if (spec[at] == '"') at++;
    return spec[at] == '-' ? uint64_t(std::strtoll(&spec[at], nullptr, 10))
                           : std::strtoull(&spec[at], nullptr, 10);
  }
  std::vector<uint64_t> fixed(const std::string& spec) const {
    const uint64_t offset = number(spec, "o"), width = number(spec, "e");
    EXPECT_EQ(0u, offset % 8);
    std::vector<uint64_t> values;
    for (uint64_t i = 0; i < number(spec, "n"); i++) {
      uint64_t value = 0;
      EXPECT_LE(offset + (i + 1) * width, data.size());
      std::memcpy(&value, data.data() + offset + i * width, width);
      values.push_back(value + number(spec, "b"));
    }
    return values;
  }
  std::vector<uint64_t> varints(const std::string& spec, bool sum) const {
    size_t at = number(spec, "o");
    const size_t end = at + number(spec, "s");
    std::vector<uint64_t> values;
    for (uint64_t total = 0; at < end;) {
      uint64_t value = 0;
      for (unsigned shift = 0;; shift += 7) {
        const uint8_t byte = uint8_t(data[at++]);
        value |= uint64_t(byte & 127) << shift;
        if (byte < 128) break;
      }
      values.push_back(sum ? total += value : value);
    }
    EXPECT_EQ(number(spec, "n"), values.size());
    return values;
  }
  std::string header, data;
};

std::vector<uint64_t> there_and_back(const std::vector<uint64_t>& values, bool is_signed) {
  PageData data;
  data.bytes("x");  // so that alignment has something to do
  const std::string spec = data.fixed(values, is_signed);
  auto payload = page_payload("{\"c\":" + spec + "}", data);
  Reader reader(*payload);
  return reader.fixed(reader.spec("c"));
}

TEST(PagePack, NumbersOfAllWidthsAndSigns) {
  const std::vector<std::vector<uint64_t>> cases = {
      {},
      {7},
      {0, 255},
      {1000, 1256},
      {0, 65535, 65536},
      {0, ~uint32_t{0}},
      {0, uint64_t{1} << 32},
      {0, ~uint64_t{0}},
      {uint64_t{0x7fffffffffffff01}, uint64_t{0x7fffffffffffff05}},
  };
  for (const auto& values : cases) EXPECT_EQ(values, there_and_back(values, false));
  const std::vector<uint64_t> negative = {uint64_t(-3), 2, uint64_t(-3), 100};
  EXPECT_EQ(negative, there_and_back(negative, true));
  const std::vector<uint64_t> extremes = {uint64_t(INT64_MIN), uint64_t(INT64_MAX), 0};
  EXPECT_EQ(extremes, there_and_back(extremes, true));
}

TEST(PagePack, NarrowRangesTakeLittle) {
  PageData data;
  data.fixed(std::vector<uint64_t>(1000, 0x7f0000000000));
  EXPECT_EQ(1000u, data.data().size());
}

TEST(PagePack, TimesAndDurations) {
  PageData data;
  const std::vector<uint64_t> times = {0, 0, 127, 128, 1 << 20, uint64_t{1} << 52};
  const std::string sums = data.varints(times, true), plain = data.varints(times, false);
  auto payload = page_payload("{\"t\":" + sums + ",\"d\":" + plain + "}", data);
  Reader reader(*payload);
  EXPECT_EQ(times, reader.varints(reader.spec("t"), true));
  EXPECT_EQ(times, reader.varints(reader.spec("d"), false));
}

TEST(PagePack, StringsAreKeptOnce) {
  PageStrings strings;
  EXPECT_EQ(0u, strings.of(""));
  EXPECT_EQ(1u, strings.of("a"));
  EXPECT_EQ(2u, strings.of("bc"));
  EXPECT_EQ(1u, strings.of("a"));
  PageData data;
  auto payload = page_payload(strings.pack(&data), data);
  Reader reader(*payload);
  EXPECT_EQ((std::vector<uint64_t>{0, 1, 3}), reader.fixed(reader.spec("ends")));
  EXPECT_EQ("abc", reader.data.substr(Reader::number(reader.spec("bytes"), "o"), 3));
}

TEST(PagePack, CommonCallersOfStacksAreKeptOnce) {
  PageStacks stacks;
  EXPECT_TRUE(stacks.empty());
  const uint32_t main = stacks.child(0, 10), a = stacks.child(main, 11);
  EXPECT_EQ(a, stacks.child(stacks.child(0, 10), 11));
  EXPECT_NE(a, stacks.child(main, 12));
  PageData data;
  auto payload = page_payload(stacks.pack(&data), data);
  Reader reader(*payload);
  EXPECT_EQ((std::vector<uint64_t>{0, 10, 11, 12}), reader.fixed(reader.spec("frame")));
  EXPECT_EQ((std::vector<uint64_t>{0, 0, 1, 1}), reader.fixed(reader.spec("parent")));
}

// Rows come out in order of time, each with its own fields, whichever came first.
TEST(PagePack, RowsAndTheirFields) {
  PageStrings strings;
  PageRows rows;
  const uint32_t call =
      rows.add_kind(strings.of("f"), strings.of(""), true, {{"n", 'i'}, {"return value", 'x'}});
  const uint32_t event = rows.add_kind(strings.of("e"), strings.of("s"), false, {});
  const auto row = [](uint64_t time, uint32_t kind, uint64_t duration, uint16_t instance) {
    PageRow made;
    made.time = time;
    made.kind = kind;
    made.duration = duration;
    made.instance = instance;
    return made;
  };
  const uint32_t late = rows.add(row(500, call, 9, 1)), early = rows.add(row(100, call, 4, 2));
  rows.add(row(300, event, 0, 0));
  rows.set(late, 0, uint64_t(-5));
  rows.set(early, 0, 70000);
  rows.set(late, 1, 0xabc);
  PageData data;
  const auto packed = rows.pack(&data, &strings, {0}, {.instances = true});
  auto payload = page_payload(packed.columns + packed.kinds, data);
  Reader reader(*payload);
  EXPECT_EQ((std::vector<uint64_t>{100, 300, 500}), reader.varints(reader.spec("time"), true));
  EXPECT_EQ((std::vector<uint64_t>{0, 1, 0}), reader.fixed(reader.spec("kind")));
  EXPECT_EQ((std::vector<uint64_t>{2, 0, 1}), reader.fixed(reader.spec("instance")));
  EXPECT_EQ(reader.header.npos, reader.header.find("\"stack\""));
  EXPECT_EQ((std::vector<uint64_t>{4, 9}), reader.varints(reader.spec("duration"), false));
  EXPECT_EQ((std::vector<uint64_t>{70000, uint64_t(-5)}), reader.fixed(reader.spec("column")));
  const size_t second = reader.header.find("\"column\"") + 1;
  EXPECT_EQ(0xabcu, reader.fixed(reader.spec("column", second))[1]);
  EXPECT_EQ((std::vector<uint64_t>{1, 0}), reader.fixed(reader.spec("absent")));
}

TEST(PageText, HasAllOfItsPartsAndStaysSmall) {
  std::string page;
  ASSERT_TRUE(write_page("PAYLOAD", [&](std::string_view text) {
    page += text;
    return true;
  }));
  EXPECT_NE(page.npos, page.find("id=\"recording\">PAYLOAD</script>"));
  EXPECT_NE(page.npos, page.find("class Timeline"));
  EXPECT_NE(page.npos, page.find("class Model"));
  EXPECT_NE(page.npos, page.find(":root.dark"));
  EXPECT_NE(page.npos, page.find("default-src 'none'"));
  for (const char* word : {"@style@", "@worker@", "@script@", "@policy@", "@recording@"})
    EXPECT_EQ(page.npos, page.find(word)) << word;
  EXPECT_LT(page.size(), 300u * 1024);
  // What would put a text into the page as markup.
  for (const char* word :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("})
    EXPECT_EQ(page.npos, page.find(word)) << word;
}

TEST(PageText, EndsWithTheWriter) {
  int pieces = 0;
  EXPECT_FALSE(write_page("x", [&](std::string_view) { return ++pieces < 3; }));
  EXPECT_EQ(3, pieces);
}

}  // namespace
}  // namespace patchbay::cmd
