// SPDX-License-Identifier: MIT
// Text of values by type, and bytes that must not reach a terminal.
#include "output/trace_line.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "output/merge.h"

namespace patchbay {
namespace {

class TraceLine : public ::testing::Test {
 protected:
  // Shows one field of `type` whose bytes are `value`, as a function event does.
  template <typename T>
  std::string show(const std::string& type, const T& value, uint32_t array_len = 0,
                   bool is_signed = false, bool json = false) {
    EventCall call{"functions", "f", 9, common_fields(), {}, ""};
    call.fields = {{"unsigned long", "__parent_ip", 8, 8},
                   {"unsigned long", "__ip", 16, 8},
                   {type, "v", 24, uint32_t(sizeof value), is_signed, array_len}};
    std::vector<uint8_t> record(24 + sizeof value, 0);
    record[0] = 9;
    std::memcpy(record.data() + 24, &value, sizeof value);
    return line({call}, record, json);
  }
  std::string line(const std::vector<EventCall>& calls, std::span<const uint8_t> record,
                   bool json = false) {
    AddressNames names =
        AddressNames::from_kallsyms("1000 t main\n1100 t tty_read\t[m]\n1200 t 0x1200\n");
    TraceLineWriter writer(calls, &names);
    std::string out;
    if (json)
      writer.append_json(&out, 1, 1500, record);
    else
      writer.append_line(&out, 1, 1500, record);
    size_t start = out.find(json ? "\"fields\":" : "v=");
    return start == std::string::npos ? out
                                      : out.substr(start, out.rfind(json ? '}' : ')') - start);
  }
};

TEST_F(TraceLine, ShowsEachTypeAsTheKernelDoes) {
  EXPECT_EQ(show("int", int32_t{-100}, 0, true), "v=-100");
  EXPECT_EQ(show("s8", int8_t{-5}, 0, true), "v=-5");
  EXPECT_EQ(show("s16", int16_t{-300}, 0, true), "v=-300");
  EXPECT_EQ(show("long", int64_t{INT64_MIN}, 0, true), "v=-9223372036854775808");
  EXPECT_EQ(show("unsigned int", uint32_t{4294967295}), "v=4294967295");
  EXPECT_EQ(show("u64", ~uint64_t{0}), "v=18446744073709551615");
  EXPECT_EQ(show("x32", uint32_t{0x100}), "v=100");
  EXPECT_EQ(show("x64", uint64_t{0xffffffff81665db1}), "v=ffffffff81665db1");
  EXPECT_EQ(show("char", 'x', 0, true), "v=x");
  EXPECT_EQ(show("symbol", uint64_t{0x1100}), "v=tty_read+0x0/0x100");
  EXPECT_EQ(show("symbol", uint64_t{0x1105}), "v=tty_read+0x5/0x100");
  EXPECT_EQ(show("symbol", uint64_t{0}), "v=(null)");
  EXPECT_EQ(show("symbol", uint64_t{0x1234}), "v=0x1234");
  EXPECT_EQ(show("double", 1.5), "v=1.5");
  EXPECT_EQ(show("float", 0.1f), "v=0.1");
  const uint64_t three[3] = {0x11, 0, 0x22};
  EXPECT_EQ(show("x64", three, 3), "v=11,0,22");
  EXPECT_EQ(show("char", "abc\0hidden", 11, true), "v=abc");
  EXPECT_EQ(show("double", 1.0 / 0.0, 0, true, true), "\"fields\":{\"v\":null}");
  EXPECT_EQ(show("char", "a\"\n", 4, true, true), "\"fields\":{\"v\":\"a\\\"\\u000a\"}");
}

TEST_F(TraceLine, HasTheColumnsOfTheTraceFile) {
  EventCall call{"functions", "f", 9, common_fields(), {}, ""};
  call.fields = {{"unsigned long", "__parent_ip", 8, 8}, {"unsigned long", "__ip", 16, 8}};
  std::vector<uint8_t> record(24, 0);
  const uint64_t addresses[2] = {0x1010, 0x1100};
  const int32_t pid = 1343;
  record[0] = 9;
  record[2] = 0x01 | 0x04;
  record[3] = 0x12;
  std::memcpy(record.data() + 4, &pid, 4);
  std::memcpy(record.data() + 8, addresses, 16);
  AddressNames names = AddressNames::from_kallsyms("1000 t main\n1100 t tty_read\n");
  TraceLineWriter writer({call}, &names);
  std::string out;
  writer.append_line(&out, 5, 199734752499, record);
  writer.set_comms("1343 sshd\nnonsense\n-1 \n");
  writer.append_line(&out, 5, 199734752500, record);
  EXPECT_EQ(out,
            "           <...>-1343    [005] dn.21   199.734752: main->tty_read()\n"
            "            sshd-1343    [005] dn.21   199.734753: main->tty_read()\n");
}

// A field of size 0 runs to the end of the record; half an element is none.
TEST_F(TraceLine, TheRestOfARecord) {
  const auto rest = [&](const std::string& type, size_t bytes) {
    EventCall call{"ftrace", "funcgraph_entry", 9, common_fields(), {}, ""};
    call.fields = {{type, "v", 8, 0, false, 0, "[]"}};
    std::vector<uint8_t> record(8 + bytes, 0);
    record[0] = 9;
    for (size_t i = 0; i + 8 <= bytes; i += 8) record[8 + i] = uint8_t(i / 8 + 1);
    return line({call}, record, true);
  };
  EXPECT_EQ(rest("unsigned long", 24), "\"fields\":{\"v\":[1,2,3]}");
  EXPECT_EQ(rest("unsigned long", 20), "\"fields\":{\"v\":[1,2]}");
  EXPECT_EQ(rest("unsigned long", 0), "\"fields\":{\"v\":[]}");
  EXPECT_EQ(rest("u32", 16), "\"fields\":{\"v\":[1,0,2,0]}");
}

TEST_F(TraceLine, ACallersNameIsThatOfTheCallBeforeTheAddress) {
  EventCall call{"functions", "f", 9, common_fields(), {}, ""};
  call.fields = {{"unsigned long", "__parent_ip", 8, 8}, {"unsigned long", "__ip", 16, 8}};
  struct Row {
    uint64_t parent;
    const char *text, *json;
  };
  // main calls last, and what it calls does not return; behind tty_read is nothing.
  for (const Row& row : {Row{0x1100, "main->tty_read()", "main+0x100/0x100"},
                         Row{0x1101, "tty_read->tty_read()", "tty_read+0x1/0x100"},
                         Row{0x1200, "tty_read->tty_read()", "tty_read+0x100/0x100"},
                         Row{0x1201, "0x1201->tty_read()", "0x1201"}}) {
    std::vector<uint8_t> record(24, 0);
    const uint64_t addresses[2] = {row.parent, 0x1100};
    record[0] = 9;
    std::memcpy(record.data() + 8, addresses, 16);
    EXPECT_NE(line({call}, record).find(std::string(": ") + row.text), std::string::npos)
        << line({call}, record);
    AddressNames names =
        AddressNames::from_kallsyms("1000 t main\n1100 t tty_read\n1200 t 0x1200\n");
    TraceLineWriter writer({call}, &names);
    std::string json;
    writer.append_json(&json, 1, 1500, record);
    EXPECT_NE(json.find(std::string("\"caller\":\"") + row.json + '"'), std::string::npos) << json;
  }
}

TEST_F(TraceLine, OtherEventsShowTheirNameAndRawFields) {
  EventCall call{"sched", "wake", 9, common_fields(), {}, ""};
  call.fields = {
      {"char", "comm", 8, 16, true, 16}, {"pid_t", "pid", 24, 4, true}, {"void *", "p", 32, 8}};
  std::vector<uint8_t> record(40, 0);
  record[0] = 9;
  std::memcpy(record.data() + 8, "bash\x1b[31m", 9);
  record[24] = 7;
  record[33] = 1;
  std::string text = line({call}, record);
  EXPECT_NE(text.find(": wake: comm=bash\\x1b[31m pid=7 p=100\n"), std::string::npos) << text;
}

TEST_F(TraceLine, NeverReadsBehindTheRecord) {
  EventCall call{"functions", "f", 9, common_fields(), {}, ""};
  call.fields = {{"unsigned long", "__parent_ip", 8, 8},
                 {"unsigned long", "__ip", 16, 8},
                 {"__data_loc char[]", "s", 24, 4},
                 {"x64", "v", 28, 800, false, 100},
                 {"int", "far", 4000000000, 4, true}};
  for (size_t size = 0; size <= 40; size++) {
    std::vector<uint8_t> record(size, 0xff);
    if (size > 1) record[0] = 9, record[1] = 0;
    std::string text = line({call}, record), json = line({call}, record, true);
    EXPECT_FALSE(text.empty());
    EXPECT_FALSE(json.empty());
  }
}

TEST(Escape, LetsNoControlCharacterThrough) {
  auto escaped = [](std::string_view text) {
    std::string out;
    append_escaped(&out, text);
    return out;
  };
  EXPECT_EQ(escaped("plain \\ text"), "plain \\ text");
  EXPECT_EQ(escaped("a\nb\tc\rd\x1b[2J\x7f"), "a\\nb\\tc\\rd\\x1b[2J\\x7f");
  EXPECT_EQ(escaped("h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80"),
            "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(escaped("\xc2\x9b"
                    "31m"),
            "\\xc2\\x9b31m");  // CSI as one C1 character
  EXPECT_EQ(escaped("\xff\xc0\x80\xed\xa0\x80"), "\\xff\\xc0\\x80\\xed\\xa0\\x80");
  EXPECT_EQ(escaped(std::string_view("\0x", 2)), "\\x00x");
}

class TwoCpus : public PageSource {
 public:
  size_t nr_cpus() const override { return 2; }
  bool next_page(size_t cpu, PageImage* out) override {
    if (served_[cpu]) return false;
    served_[cpu] = true;
    out->bytes.assign(64, 0);
    // CPU 0: events at 10, 20, 30. CPU 1: at 10, 25; 4 lost before.
    const uint32_t deltas[2][3] = {{0, 10, 10}, {0, 15, 0}};
    const uint64_t time = 10;
    std::memcpy(out->bytes.data(), &time, 8);
    for (uint32_t i = 0; i < 3 - cpu; i++) {
      const uint32_t words[2] = {1 | deltas[cpu][i] << 5, uint32_t(cpu * 100 + i)};
      std::memcpy(out->bytes.data() + 16 + 8 * i, words, 8);
    }
    store_commit(out->bytes, 8 * (3 - uint32_t(cpu)), cpu ? 4 : 0);
    read_commit(out);
    return true;
  }
  uint64_t to_ns(uint64_t time) const override { return time; }

 private:
  bool served_[2] = {};
};

TEST(Merge, OrdersByTimeThenByCpu) {
  TwoCpus source;
  EventMerger merger(&source);
  MergedEvent event;
  std::string order;
  while (merger.next(&event))
    order += std::to_string(event.cpu) + "@" + std::to_string(event.ns) +
             (event.lost_before ? "!" + std::to_string(event.lost_before) : "") + " ";
  EXPECT_EQ(order, "0@10 1@10!4 0@20 1@25 0@30 ");
}

// Two buffers with events of one CPU.
class OneCpuTwice : public TwoCpus {
 public:
  uint32_t cpu_number(size_t) const override { return 0; }
};

// The times of events that have one behind them.
std::string followed(PageSource* source) {
  EventMerger merger(source);
  MergedEvent event, behind;
  std::string times;
  while (merger.next(&event)) {
    if (merger.peek_behind(&behind))
      times += std::to_string(event.ns) + "-" + std::to_string(behind.ns) + " ";
  }
  return times;
}

TEST(Merge, NoEventIsBehindWhereAnotherOfTheCpuComesBetween) {
  TwoCpus apart;
  EXPECT_EQ(followed(&apart), "10-20 10-25 20-30 ");
  OneCpuTwice together;  // 10 20 30 and 10 25
  EXPECT_EQ(followed(&together), "");
}

// A look at the event behind changes nothing; one that is taken does not come again.
TEST(Merge, TheEventBehindComesOnceHoweverOftenItIsLookedAt) {
  for (unsigned taken = 0; taken < 32; taken++) {
    TwoCpus source;
    EventMerger merger(&source);
    MergedEvent event, behind;
    std::multiset<std::string> seen;
    for (unsigned at = 0; merger.next(&event); at++) {
      seen.insert(std::to_string(event.cpu) + "@" + std::to_string(event.ns));
      const bool is_followed = merger.peek_behind(&behind);
      EXPECT_EQ(merger.peek_behind(&behind), is_followed);
      if (!is_followed || !(taken >> at & 1)) continue;
      merger.take_behind();
      seen.insert(std::to_string(behind.cpu) + "@" + std::to_string(behind.ns));
    }
    EXPECT_EQ(seen, (std::multiset<std::string>{"0@10", "0@20", "0@30", "1@10", "1@25"})) << taken;
    EXPECT_EQ(merger.malformed_pages(), 0u);
  }
}

}  // namespace
}  // namespace patchbay
