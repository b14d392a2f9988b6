// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>

#include "registry/event_filters.h"
#include "registry/inject.h"
#include "registry/markers.h"
#include "registry/registry_testing.h"
#include "registry/settings.h"

namespace patchbay {
namespace {

using test::FakeSource;

class MarkersTest : public test::RegistryTest {
 protected:
  const Markers::Writer writer_{77, 70, "writer"};
  // Bytes taken, or a negative errno.
  long mark(TraceArray& array, std::string_view text) {
    auto taken = registry_->markers().write(array, text, writer_);
    return taken.ok() ? long(*taken) : -taken.error().errno_value;
  }
  long mark_raw(TraceArray& array, std::string_view bytes) {
    auto taken = registry_->markers().write_raw(array, bytes, writer_);
    return taken.ok() ? long(*taken) : -taken.error().errno_value;
  }
  std::string last(TraceArray& array) {
    auto all = records(array.buffer.get());
    return all.empty() ? "" : all.back();
  }
};

TEST_F(MarkersTest, AreRecordsOfPrint) {
  EXPECT_EQ(mark(top(), "hello"), 5);
  const std::string record = last(top());
  ASSERT_EQ(record.size(), 24u);
  abi::RecordHeader header;
  std::memcpy(&header, record.data(), sizeof header);
  EXPECT_EQ(header.common_type, 5);
  EXPECT_EQ(header.common_pid, 77);
  EXPECT_EQ(record.substr(8), std::string("\x34\x12\0\0\0\0\0\0hello\n\0\0", 16));
  EXPECT_EQ(mark(top(), "a\n"), 2);
  EXPECT_EQ(last(top()).substr(16), std::string("a\n\0\0", 4));
  EXPECT_EQ(mark(top(), ""), 0);
  EXPECT_EQ(last(top()).substr(16), std::string("\n\0\0\0", 4));
}

TEST_F(MarkersTest, AreCutAtWhatFits) {
  EXPECT_EQ(mark(top(), std::string(4054, 'x')), 4054);
  EXPECT_EQ(mark(top(), std::string(4055, 'x')), 4054);
  EXPECT_EQ(mark(top(), std::string(100000, 'x')), 4054);
  ASSERT_TRUE(registry_->settings().set_subbuf_size(top(), 64).ok());
  EXPECT_EQ(mark(top(), std::string(100000, 'x')), 4054);  // so does the kernel
}

TEST_F(MarkersTest, RawOnesAreNeverCut) {
  EXPECT_EQ(mark_raw(top(), "\1\0\0"), -EINVAL);
  EXPECT_EQ(mark_raw(top(), std::string(4060, 'x')), 4060);
  EXPECT_EQ(mark_raw(top(), std::string(4061, 'x')), -EINVAL);
  EXPECT_EQ(mark_raw(top(), std::string("\1\0\0\0abcd", 8)), 8);
  EXPECT_EQ(last(top()).substr(8), std::string("\1\0\0\0abcd", 8));
}

TEST_F(MarkersTest, RulesOfRefusal) {
  TraceArray* one = *registry_->create_array("one");
  ASSERT_TRUE(registry_->settings().set_tracing_on(*one, false).ok());
  EXPECT_EQ(mark(*one, "x"), -EBADF);
  EXPECT_EQ(mark_raw(*one, "abcd"), -EBADF);
  ASSERT_TRUE(registry_->settings().set_tracing_on(*one, true).ok());
  EXPECT_EQ(mark(*one, "x"), 1);
  ASSERT_TRUE(registry_->settings().set_option(*one, TraceOption::kMarkers, false).ok());
  EXPECT_EQ(mark(*one, "x"), -EINVAL);
  EXPECT_EQ(mark_raw(*one, "abcd"), -EINVAL);
  ASSERT_TRUE(registry_->settings().set_option(*one, TraceOption::kMarkers, true).ok());
  ASSERT_TRUE(registry_->settings().set_cpumask(*one, {}).ok());
  EXPECT_EQ(mark(*one, "x"), -EBADF);
}

TEST_F(MarkersTest, FindNoRoomInDropMode) {
  ASSERT_TRUE(registry_->settings().set_option(top(), TraceOption::kOverwrite, false).ok());
  long result = 0;
  for (int i = 0; i < 10000 && result >= 0; i++) result = mark(top(), std::string(1000, 'x'));
  EXPECT_EQ(result, -EBADF);
}

TEST_F(MarkersTest, CopiesGoWhereTheyAreWanted) {
  TraceArray* one = *registry_->create_array("one");
  EXPECT_EQ(mark(top(), "a"), 1);
  EXPECT_TRUE(records(one->buffer.get()).empty());
  ASSERT_TRUE(registry_->settings().set_option(*one, TraceOption::kCopyTraceMarker, true).ok());
  EXPECT_EQ(mark(top(), "b"), 1);
  EXPECT_EQ(records(one->buffer.get()).size(), 1u);
  EXPECT_EQ(records(top().buffer.get()).size(), 2u);
  ASSERT_TRUE(registry_->settings().set_option(top(), TraceOption::kCopyTraceMarker, false).ok());
  EXPECT_EQ(mark(top(), "c"), 1);
  EXPECT_EQ(records(top().buffer.get()).size(), 2u);
  ASSERT_TRUE(registry_->settings().set_option(*one, TraceOption::kCopyTraceMarker, false).ok());
  EXPECT_EQ(mark(top(), "d"), -ENODEV);
  EXPECT_EQ(mark_raw(top(), "dddd"), -ENODEV);
  EXPECT_EQ(mark(*one, "e"), 1);
}

// --- inject

TEST_F(MarkersTest, InjectMakesARecord) {
  FakeSource source;
  LiveEvent* a = add("sys", "a", &source);
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_TRUE(registry_->markers()
                  .inject(top(), a, " a=-2 text='it is' name = \"long name\"\n", writer_)
                  .ok());
  const std::string record = last(top());
  ASSERT_EQ(record.size(), 44u);
  EXPECT_EQ(record.substr(8, 4), "\xfe\xff\xff\xff");
  EXPECT_EQ(record.substr(12, 16), std::string("it is\0\0\0\0\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(record.substr(28, 4), std::string("\x20\0\x0a\0", 4));
  EXPECT_EQ(record.substr(32, 10), std::string("long name\0", 10));
  ASSERT_TRUE(registry_->filters().set(top(), a, "a == 1").ok());
  ASSERT_TRUE(registry_->markers().inject(top(), a, "a=2", writer_).ok());
  EXPECT_EQ(records(top().buffer.get()).size(), 1u);
  ASSERT_TRUE(registry_->markers().inject(top(), a, "a=0x1", writer_).ok());
  EXPECT_EQ(records(top().buffer.get()).size(), 2u);
}

TEST_F(MarkersTest, InjectRefusesWhatItDoesNotUnderstand) {
  FakeSource source;
  LiveEvent* a = add("sys", "a", &source);
  const struct {
    const char* text;
    int error;
  } rows[] = {
      {"nosuch=1", ENOENT}, {"a", EINVAL},          {"a=", EINVAL},      {"a='x'", EINVAL},
      {"text=5", EINVAL},   {"name=5", EINVAL},     {"a=1x", EINVAL},    {"text='x", EINVAL},
      {"=1", EINVAL},       {"a=1 nosuch", EINVAL}, {"a=1 b=2", ENOENT}, {"a==1", EINVAL},
  };
  for (const auto& row : rows) {
    Status status = registry_->markers().inject(top(), a, row.text, writer_);
    ASSERT_FALSE(status.ok()) << row.text;
    EXPECT_EQ(status.error().errno_value, row.error) << row.text;
  }
  const std::string huge = "name='" + std::string(5000, 'x') + "'";
  EXPECT_EQ(registry_->markers().inject(top(), a, huge, writer_).error().errno_value, E2BIG);
}

}  // namespace
}  // namespace patchbay
