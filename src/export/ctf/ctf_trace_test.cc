// SPDX-License-Identifier: MIT
// babeltrace2 reads whole traces in tests/scripts/export_judges.sh.
#include "export/ctf/ctf_trace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "base/unique_fd.h"

namespace patchbay {
namespace {

class CtfTraceTest : public testing::Test {
 protected:
  CtfTraceTest() {
    std::string name = testing::TempDir() + "ctf.XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~CtfTraceTest() override {
    for (const char* file : {"/metadata", "/channel0_0", "/channel0_3", "/other"})
      ::unlink((directory_ + file).c_str());
    ::rmdir(directory_.c_str());
  }
  std::string contents(const std::string& name) const {
    std::string text(1 << 20, '\0');
    UniqueFd fd(::open((directory_ + "/" + name).c_str(), O_RDONLY));
    const ssize_t size = ::read(fd.get(), text.data(), text.size());
    text.resize(size > 0 ? size_t(size) : 0);
    return text;
  }
  bool exists(const std::string& name) const {
    return ::access((directory_ + "/" + name).c_str(), F_OK) == 0;
  }
  std::unique_ptr<CtfTrace> create() {
    auto trace = CtfTrace::create(directory_);
    EXPECT_TRUE(trace.ok());
    return trace.ok() ? std::move(*trace) : nullptr;
  }
  std::string directory_;
};

std::string hex(std::string_view bytes) {
  return hex_bytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

TEST_F(CtfTraceTest, GoldenPacket) {
  auto trace = create();
  const uint32_t event = trace->add_event("s:e", {{"n", ColumnType::kInt16},
                                                  {"t", ColumnType::kText},
                                                  {"l", ColumnType::kUint8, true},
                                                  {"u", ColumnType::kText}});
  ASSERT_TRUE(trace->begin_event(3, 0x1122, event, 5, 4, "co").ok());
  trace->put_number(uint64_t(-2));
  trace->put_text("hi");
  trace->begin_list();
  trace->put_number(7);
  trace->put_number(8);
  trace->end_list();
  trace->put_null();
  ASSERT_TRUE(trace->end_event().ok());
  ASSERT_TRUE(trace->finish({}).ok());
  const std::string packet = contents("channel0_3");
  ASSERT_EQ(packet.size(), 68u + 23 + 20);
  EXPECT_EQ(hex(packet.substr(0, 4)), "c1 1f fc c1");
  EXPECT_EQ(hex(packet.substr(20)),
            "00 00 00 00"                                       // stream 0
            " 22 11 00 00 00 00 00 00 22 11 00 00 00 00 00 00"  // begins and ends
            " 78 03 00 00 00 00 00 00 78 03 00 00 00 00 00 00"  // bits
            " 00 00 00 00 00 00 00 00 03 00 00 00"              // discarded, CPU
            " 00 00 00 00 22 11 00 00 00 00 00 00"              // event, time
            " 05 00 00 00 04 00 00 00 63 6f 00"                 // thread, process, comm
            " fe ff 68 69 00 02 00 00 00 07 08 00"
            " 08 00 00 00 00 00 00 00");  // field 3 could not be read
}

TEST_F(CtfTraceTest, MetadataNamesAreHarmless) {
  auto trace = create();
  trace->add_event("s:\"<script>\\\x01", {{"event", ColumnType::kText},
                                          {"a b", ColumnType::kUint32, false, false, true},
                                          {"unreadable", ColumnType::kFloat},
                                          {"l", ColumnType::kText, true}});
  ASSERT_TRUE(trace->finish({{"hostname", "a\"b\n"}}).ok());
  const std::string text = contents("metadata");
  for (const char* expected :
       {"/* CTF 1.8 */\n", "name = \"s:\\\"<script>\\\\?\";", "string { encoding = UTF8; } _event;",
        "size = 32; align = 8; signed = false; base = 16; } _a_b;", "} _field_unreadable;",
        "uint32_t _l_length;\n\t\tstring { encoding = UTF8; } _l[_l_length];",
        "hostname = \"a\\\"b?\";"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
}

uint64_t number_at(const std::string& text, size_t at) {
  uint64_t value = 0;
  std::memcpy(&value, text.data() + at, 8);
  return value;
}

TEST_F(CtfTraceTest, LossesEndPackets) {
  auto trace = create();
  const uint32_t event = trace->add_event("e", {});
  ASSERT_TRUE(trace->lost(0, 100, 5).ok());
  for (int i = 0; i < 3; i++) {
    ASSERT_TRUE(trace->begin_event(0, 100, event, 1, 1, "").ok());
    ASSERT_TRUE(trace->end_event().ok());
    if (i == 1) {
      ASSERT_TRUE(trace->lost(0, 200, 7).ok());
    }
  }
  ASSERT_TRUE(trace->finish({}).ok());
  const std::string file = contents("channel0_0");
  std::vector<std::pair<uint64_t, uint64_t>> packets;  // bytes, discarded so far
  for (size_t at = 0; at < file.size(); at += packets.back().first)
    packets.emplace_back(number_at(file, at + 48) / 8, number_at(file, at + 56));
  EXPECT_EQ(packets,
            (std::vector<std::pair<uint64_t, uint64_t>>{{68, 0}, {68 + 2 * 21, 5}, {68 + 21, 12}}));
}

TEST_F(CtfTraceTest, ADirectoryInUseIsRefused) {
  UniqueFd fd(::open((directory_ + "/other").c_str(), O_WRONLY | O_CREAT, 0600));
  auto trace = CtfTrace::create(directory_);
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().message().find("not empty"), std::string::npos);
  EXPECT_TRUE(exists("other"));
}

TEST_F(CtfTraceTest, WhatIsNotFinishedIsRemoved) {
  auto trace = create();
  const uint32_t event = trace->add_event("e", {});
  ASSERT_TRUE(trace->begin_event(0, 1, event, 1, 1, "").ok());
  ASSERT_TRUE(trace->end_event().ok());
  ASSERT_TRUE(trace->lost(0, 2, 1).ok());
  EXPECT_TRUE(exists("channel0_0"));
  trace.reset();
  EXPECT_FALSE(exists("channel0_0"));
}

}  // namespace
}  // namespace patchbay
