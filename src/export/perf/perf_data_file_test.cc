// SPDX-License-Identifier: MIT
// perf reads whole files in tests/scripts/export_judges.sh.
#include "export/perf/perf_data_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"

namespace patchbay {
namespace {

class PerfDataFileTest : public testing::Test {
 protected:
  PerfDataFileTest() { path_ = testing::TempDir() + "perf." + std::to_string(::getpid()); }
  ~PerfDataFileTest() override { ::unlink(path_.c_str()); }
  std::unique_ptr<PerfDataFile> create() {
    auto file = PerfDataFile::create(path_);
    EXPECT_TRUE(file.ok());
    return file.ok() ? std::move(*file) : nullptr;
  }
  std::string contents() const {
    std::string text(4 << 20, '\0');
    UniqueFd fd(::open(path_.c_str(), O_RDONLY));
    const ssize_t size = ::read(fd.get(), text.data(), text.size());
    text.resize(size > 0 ? size_t(size) : 0);
    return text;
  }
  std::string path_;
};

template <typename T>
T number_at(const std::string& text, size_t at) {
  T value{};
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

// The records of the data section: type and bytes.
std::vector<std::pair<uint32_t, std::string>> records_of(const std::string& file) {
  std::vector<std::pair<uint32_t, std::string>> records;
  const size_t end = number_at<uint64_t>(file, 40) + number_at<uint64_t>(file, 48);
  for (size_t at = number_at<uint64_t>(file, 40); at < end;) {
    const auto size = number_at<uint16_t>(file, at + 6);
    if (size < 8) break;
    records.emplace_back(number_at<uint32_t>(file, at), file.substr(at, size));
    at += size;
  }
  return records;
}

std::string hex(std::string_view bytes) {
  return hex_bytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

const PerfDataFile::Format kFormat{"s", "e", "name: e\n", 600};

TEST_F(PerfDataFileTest, GoldenSample) {
  auto file = create();
  const uint64_t stack[] = {0x11, 0x22};
  const uint8_t record[] = {0x58, 2, 0, 0, 9};
  ASSERT_TRUE(file->sample({0x1234, 1, 7, 8, 600, 0x11, stack, record}).ok());
  ASSERT_TRUE(file->finish({kFormat}, {}).ok());
  const auto records = records_of(contents());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(hex(records[0].second),
            "09 00 00 00 02 00 68 00"                           // SAMPLE, of user space
            " 59 02 00 00 00 00 00 00 11 00 00 00 00 00 00 00"  // id, ip
            " 07 00 00 00 08 00 00 00 34 12 00 00 00 00 00 00"  // pid, tid, time
            " 01 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00"  // CPU, period
            " 03 00 00 00 00 00 00 00 00 fe ff ff ff ff ff ff"  // user's part of the chain
            " 11 00 00 00 00 00 00 00 22 00 00 00 00 00 00 00"
            " 0c 00 00 00 58 02 00 00 09 00 00 00 00 00 00 00");  // filled to eight bytes
}

TEST_F(PerfDataFileTest, ARecordOf64KIsCutAndCounted) {
  auto file = create();
  const std::vector<uint8_t> record(65536, 1);
  for (const size_t size : {65447u, 65448u, 65536u}) {
    ASSERT_TRUE(file->sample({1, 0, 1, 1, 600, 0, {}, std::span(record).first(size)}).ok());
  }
  ASSERT_TRUE(file->finish({kFormat}, {}).ok());
  const auto records = records_of(contents());
  ASSERT_EQ(records.size(), 3u);
  for (const auto& [type, bytes] : records) EXPECT_EQ(bytes.size() % 8, 0u);
  EXPECT_EQ(file->cut_records(), 1u);
}

TEST_F(PerfDataFileTest, FeaturesAndAttributes) {
  auto file = create();
  ASSERT_TRUE(file->mapping({7, 0x1000, 0x2000, 0, "/bin/x", "0a0b"}).ok());
  ASSERT_TRUE(file->comm(7, 8, "name", 5).ok());
  ASSERT_TRUE(file->lost(5, 1, 77).ok());
  ASSERT_TRUE(file->finish({kFormat, {"ftrace", "print", "name: print\n", 5}}, {}).ok());
  const std::string text = contents();
  EXPECT_EQ(text.substr(0, 8), "PERFILE2");
  EXPECT_EQ(number_at<uint64_t>(text, 72), 0x8feu);  // the features, build-ids among them
  const auto attrs = number_at<uint64_t>(text, 24);
  ASSERT_EQ(number_at<uint64_t>(text, 32), 2 * 128u);
  EXPECT_EQ(number_at<uint64_t>(text, attrs + 8), 600u);
  EXPECT_EQ(number_at<uint64_t>(text, number_at<uint64_t>(text, attrs + 112)), 601u);
  EXPECT_EQ(number_at<uint64_t>(text, number_at<uint64_t>(text, attrs + 128 + 112)), 6u);
  const auto tracing = number_at<uint64_t>(text, 104 + number_at<uint64_t>(text, 48));
  EXPECT_EQ(text.substr(tracing, 10), "\x17\x08\x44tracing");
  const auto records = records_of(text);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].first, 10u);
  EXPECT_EQ(hex(records[0].second.substr(40, 8)), "02 00 00 00 0a 0b 00 00");
  EXPECT_EQ(records[1].first, 3u);
  EXPECT_EQ(number_at<uint64_t>(records[2].second, 16), 77u);
}

TEST_F(PerfDataFileTest, WhatIsNotFinishedIsRemoved) {
  create().reset();
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
}

TEST_F(PerfDataFileTest, ADeviceIsRefusedAndStays) {
  auto file = PerfDataFile::create("/dev/null");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message().find("regular file"), std::string::npos);
  EXPECT_EQ(::access("/dev/null", F_OK), 0);
}

}  // namespace
}  // namespace patchbay
