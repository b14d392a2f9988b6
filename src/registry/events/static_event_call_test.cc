// SPDX-License-Identifier: MIT
//
// What <patchbay/trace_event.h> makes of definitions, in C and in C++: format texts, and the bytes
// of records.
#include "registry/events/static_event_call.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/events/static_event_test_events.h"

extern "C" {
patchbay_event* c_event(int index);
void c_emit_arrays(const char* comm, const int* four, const uint8_t* mac, const char* name,
                   const int* values, size_t nr_values, const uint64_t* words, size_t nr_words,
                   const char* last);
void c_emit_scalars();
int c_use_disabled();
}

namespace patchbay {
namespace {

patchbay_event* cxx_event(int index) {
  patchbay_event* all[] = {&cxx_side::pb_i_event_scalars, &cxx_side::pb_i_event_arrays,
                           &cxx_side::pb_i_event_empty, &cxx_side::pb_i_event_printed};
  return all[index];
}

// The text of both languages' definitions of the event, which must be the same.
std::string format_of(int index) {
  auto from_c = static_event_call(*c_event(index));
  auto from_cxx = static_event_call(*cxx_event(index));
  EXPECT_TRUE(from_c.ok() && from_cxx.ok());
  EXPECT_EQ(from_c->format_text(), from_cxx->format_text());
  const std::string text = from_c->format_text();
  return text.substr(text.find("\n\n") + 1);
}

TEST(StaticEventCall, ScalarFields) {
  EXPECT_EQ(format_of(0),
            "\n"
            "\tfield:bool b;\toffset:8;\tsize:1;\tsigned:0;\n"
            "\tfield:char c;\toffset:9;\tsize:1;\tsigned:1;\n"
            "\tfield:unsigned char uc;\toffset:10;\tsize:1;\tsigned:0;\n"
            "\tfield:short s;\toffset:12;\tsize:2;\tsigned:1;\n"
            "\tfield:unsigned short us;\toffset:14;\tsize:2;\tsigned:0;\n"
            "\tfield:int i;\toffset:16;\tsize:4;\tsigned:1;\n"
            "\tfield:unsigned int ui;\toffset:20;\tsize:4;\tsigned:0;\n"
            "\tfield:long l;\toffset:24;\tsize:8;\tsigned:1;\n"
            "\tfield:unsigned long ul;\toffset:32;\tsize:8;\tsigned:0;\n"
            "\tfield:uint8_t u8;\toffset:40;\tsize:1;\tsigned:0;\n"
            "\tfield:int64_t s64;\toffset:48;\tsize:8;\tsigned:1;\n"
            "\tfield:pid_t pid;\toffset:56;\tsize:4;\tsigned:1;\n"
            "\tfield:float f;\toffset:60;\tsize:4;\tsigned:1;\n"
            "\tfield:double d;\toffset:64;\tsize:8;\tsigned:1;\n"
            "\tfield:const char * p;\toffset:72;\tsize:8;\tsigned:0;\n"
            "\tfield:enum test_color color;\toffset:80;\tsize:4;\tsigned:0;\n"
            "\tfield:enum test_shift shift;\toffset:84;\tsize:4;\tsigned:1;\n"
            "\tfield:struct timespec when;\toffset:88;\tsize:16;\tsigned:0;\n"
            "\nprint fmt: \"b=%u c=%d uc=%u s=%d us=%u i=%d ui=%u l=%ld ul=%lu u8=%u s64=%ld "
            "pid=%d f=%x d=%lx p=0x%lx color=%u shift=%d when=%s\", REC->b, REC->c, REC->uc, "
            "REC->s, REC->us, REC->i, REC->ui, REC->l, REC->ul, REC->u8, REC->s64, REC->pid, "
            "REC->f, REC->d, REC->p, REC->color, REC->shift, __print_hex_str(REC->when, 16)\n");
}

TEST(StaticEventCall, ArraysAndTexts) {
  EXPECT_EQ(
      format_of(1),
      "\n"
      "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
      "\tfield:int four[4];\toffset:24;\tsize:16;\tsigned:1;\n"
      "\tfield:uint8_t mac[6];\toffset:40;\tsize:6;\tsigned:0;\n"
      "\tfield:__data_loc char[] name;\toffset:48;\tsize:4;\tsigned:0;\n"
      "\tfield:__data_loc int[] values;\toffset:52;\tsize:4;\tsigned:1;\n"
      "\tfield:__data_loc uint64_t[] words;\toffset:56;\tsize:4;\tsigned:0;\n"
      "\tfield:__data_loc char[] last;\toffset:60;\tsize:4;\tsigned:0;\n"
      "\nprint fmt: \"comm=%s four=%s mac=%s name=%s values=%s words=%s last=%s\", REC->comm, "
      "__print_array(REC->four, 4, 4), __print_array(REC->mac, 6, 1), __get_str(name), "
      "__print_array(__get_dynamic_array(values), __get_dynamic_array_len(values) / 4, 4), "
      "__print_array(__get_dynamic_array(words), __get_dynamic_array_len(words) / 8, 8), "
      "__get_str(last)\n");
  EXPECT_EQ(c_event(1)->fixed_size, 64u);
  EXPECT_EQ(c_event(1)->max_size, unsigned{PATCHBAY_MAX_RECORD});
}

TEST(StaticEventCall, AnEventWithoutFields) {
  EXPECT_EQ(format_of(2), "\n\nprint fmt: \"\"\n");
  EXPECT_EQ(c_event(2)->max_size, 8u);
}

TEST(StaticEventCall, APrintFormatIsTakenAsWritten) {
  const std::string text = format_of(3);
  EXPECT_EQ(text.substr(text.find("print fmt")),
            "print fmt: \"n=%lu \\\"%s\\\"\\n flags=%s\", REC->n, __print_symbolic(REC->color, {1, "
            "\"TEST_RED\"}, {1048576, \"blue\"}), __print_flags(REC->flags, \"|\", {0x10, "
            "\"GIFT\"})\n");
}

TEST(StaticEventCall, WrongDescriptionsAreRefused) {
  patchbay_field field = {"int", "a", 8, 4, 1, 0, 0};
  const patchbay_event good = {PATCHBAY_EVENT_ABI,
                               1,
                               "s",
                               "e",
                               &field,
                               "",
                               nullptr,
                               0,
                               12,
                               12,
                               nullptr,
                               nullptr,
                               nullptr,
                               {0, 0}};
  EXPECT_TRUE(static_event_call(good).ok());
  const auto refused = [&good](auto change) {
    patchbay_event event = good;
    change(&event);
    return !static_event_call(event).ok();
  };
  EXPECT_TRUE(refused([](patchbay_event* event) { event->abi++; }));
  EXPECT_TRUE(refused([](patchbay_event* event) { event->name = ""; }));
  EXPECT_TRUE(refused([](patchbay_event* event) { event->system = "a b"; }));
  EXPECT_TRUE(refused([](patchbay_event* event) { event->system = nullptr; }));
  EXPECT_TRUE(refused([](patchbay_event* event) { event->max_size = 11; }));
  EXPECT_TRUE(refused([](patchbay_event* event) { event->max_size = 4096; }));
  field.offset = 4;
  EXPECT_FALSE(static_event_call(good).ok());
  field.offset = 12;
  EXPECT_FALSE(static_event_call(good).ok());
}

// --- records

std::vector<uint8_t> g_record;
void capture(patchbay_event*, void* record, uint32_t size) {
  const auto* bytes = static_cast<uint8_t*>(record);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 8, 0u);
  EXPECT_EQ(size % 4, 0u);
  g_record.assign(bytes, bytes + size);
}

template <typename T>
T at(uint32_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof value, g_record.size());
  if (offset + sizeof value <= g_record.size())
    std::memcpy(&value, &g_record[offset], sizeof value);
  return value;
}

std::string_view dynamic(uint32_t offset) {
  const uint32_t where = at<uint32_t>(offset);
  EXPECT_LE((where & 0xffff) + (where >> 16), g_record.size());
  return {reinterpret_cast<char*>(g_record.data()) + (where & 0xffff), where >> 16};
}

class StaticEventRecord : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    for (int i = 0; i < 4; i++) c_event(i)->hit = cxx_event(i)->hit = capture;
    g_record.clear();
  }
  void TearDown() override {
    for (int i = 0; i < 4; i++) c_event(i)->hit = cxx_event(i)->hit = nullptr;
  }
  void emit(const char* comm, const int* four, const uint8_t* mac, const char* name,
            std::vector<int> values, std::vector<uint64_t> words, const char* last) {
    auto* emit_arrays = GetParam() ? cxx_emit_arrays : c_emit_arrays;
    emit_arrays(comm, four, mac, name, values.data(), values.size(), words.data(), words.size(),
                last);
  }
  static void cxx_emit_arrays(const char* comm, const int* four, const uint8_t* mac,
                              const char* name, const int* values, size_t nr_values,
                              const uint64_t* words, size_t nr_words, const char* last) {
    cxx_side::pb_i_emit_arrays(comm, four, mac, name, values, nr_values, words, nr_words, last);
  }
};
INSTANTIATE_TEST_SUITE_P(Languages, StaticEventRecord, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Cxx" : "C"; });

TEST_P(StaticEventRecord, Scalars) {
  const timespec when = {11, 22};
  if (GetParam()) {
    cxx_side::pb_i_emit_scalars(true, 'c', 200, -3, 4, -5, 6, -7, 8, 9, -10, 11, 1.5f, 2.5, "p",
                                TEST_BLUE, TEST_DOWN, when);
  } else {
    c_emit_scalars();
  }
  ASSERT_EQ(g_record.size(), 104u);
  EXPECT_EQ(at<uint8_t>(8), 1);
  EXPECT_EQ(at<char>(9), 'c');
  EXPECT_EQ(at<uint8_t>(10), 200);
  EXPECT_EQ(at<int16_t>(12), -3);
  EXPECT_EQ(at<int64_t>(24), -7);
  EXPECT_EQ(at<int64_t>(48), -10);
  EXPECT_EQ(at<float>(60), 1.5f);
  EXPECT_EQ(at<double>(64), 2.5);
  EXPECT_EQ(at<uint32_t>(80), 1u << 20);
  EXPECT_EQ(at<int32_t>(84), -1);
  EXPECT_EQ(at<int64_t>(96), 22);
}

TEST_P(StaticEventRecord, ArraysAndTexts) {
  const int four[4] = {1, -2, 3, -4};
  const uint8_t mac[6] = {1, 2, 3, 4, 5, 6};
  emit("bash", four, mac, "a name", {7, 8, 9}, {1ull << 40}, "end");
  EXPECT_EQ(std::string_view(reinterpret_cast<char*>(&g_record[8]), 16),
            std::string_view("bash\0\0\0\0\0\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(at<int>(36), -4);
  EXPECT_EQ(at<uint8_t>(45), 6);
  EXPECT_EQ(dynamic(48), std::string_view("a name\0", 7));
  EXPECT_EQ(dynamic(52), std::string_view("\7\0\0\0\10\0\0\0\11\0\0\0", 12));
  EXPECT_EQ(dynamic(56), std::string_view("\0\0\0\0\0\1\0\0", 8));
  EXPECT_EQ(at<uint32_t>(56) % 8, 0u);
  EXPECT_EQ(dynamic(60), std::string_view("end\0", 4));
}

TEST_P(StaticEventRecord, NothingIsGivenAndAllIsCut) {
  emit(nullptr, nullptr, nullptr, nullptr, {}, {}, "");
  EXPECT_STREQ(reinterpret_cast<char*>(&g_record[8]), "(null)");
  EXPECT_EQ(at<int>(36), 0);
  EXPECT_EQ(dynamic(48), std::string_view("(null)\0", 7));
  EXPECT_EQ(dynamic(52), "");
  EXPECT_EQ(dynamic(60), std::string_view("\0", 1));
  emit("a name that is longer than this", nullptr, nullptr, "", {}, {}, "");
  EXPECT_STREQ(reinterpret_cast<char*>(&g_record[8]), "a name that is ");
}

TEST_P(StaticEventRecord, ARecordHasALargestSize) {
  const std::string page(5000, 'x');
  emit("", nullptr, nullptr, page.c_str(), {1, 2, 3}, {4, 5}, page.c_str());
  EXPECT_LE(g_record.size(), size_t{PATCHBAY_MAX_RECORD});
  EXPECT_GT(g_record.size(), size_t{PATCHBAY_MAX_RECORD} - 32);
  EXPECT_EQ(dynamic(48).back(), '\0');
  EXPECT_GT(dynamic(48).size(), 1900u);
  EXPECT_EQ(dynamic(52).size(), 0u);
  EXPECT_EQ(dynamic(60), std::string_view("\0", 1));
  emit("", nullptr, nullptr, "short", std::vector<int>(3000, 5), std::vector<uint64_t>(7, 1),
       page.c_str());
  EXPECT_LE(g_record.size(), size_t{PATCHBAY_MAX_RECORD});
  EXPECT_EQ(dynamic(48), std::string_view("short\0", 6));
  EXPECT_GT(dynamic(52).size(), 1900u);
  EXPECT_EQ(dynamic(52).size() % 4, 0u);
  EXPECT_EQ(dynamic(60).back(), '\0');
}

// C++ strings that end without a NUL.
TEST(StaticEventRecordCxx, StringViews) {
  cxx_side::pb_i_event_arrays.hit = capture;
  const std::string whole = "whole";
  cxx_side::pb_i_emit_arrays("", nullptr, nullptr, std::string_view(whole).substr(0, 3), nullptr, 0,
                             nullptr, 0, whole);
  EXPECT_EQ(dynamic(48), std::string_view("who\0", 4));
  EXPECT_EQ(dynamic(60), std::string_view("whole\0", 6));
  cxx_side::pb_i_emit_arrays("", nullptr, nullptr, std::string_view(), nullptr, 0, nullptr, 0, "");
  EXPECT_EQ(dynamic(48), std::string_view("\0", 1));
  cxx_side::pb_i_event_arrays.hit = nullptr;
}

}  // namespace
}  // namespace patchbay

namespace cxx_side {
namespace inner {
struct Counted {
  int& count;
  explicit Counted(int& c) : count(c) { PB_TRACE(empty); }
  ~Counted() { PB_TRACE(printed, uint64_t(++count), 2, 3); }
};
template <typename T>
int use(T value) {
  int evaluated = 0;
  {
    Counted counted(evaluated);
    auto lambda = [&] { PB_TRACE(printed, uint64_t(++evaluated), value > T(0) ? 1 : 0, 4); };
    lambda();
  }
  if (PB_TRACE_ENABLED(printed)) evaluated++;
  return evaluated;
}
}  // namespace inner
}  // namespace cxx_side

TEST(StaticEventUse, ADisabledEventEvaluatesNothing) {
  EXPECT_EQ(c_use_disabled(), 0);
  EXPECT_EQ(cxx_side::inner::use(1) + cxx_side::inner::use(2.5), 0);
}

TEST(StaticEventUse, EverySiteIsANopOfAnEventOfThisProgram) {
  const auto events = std::span(__start_patchbay_events, __stop_patchbay_events);
  const auto sites = std::span(__start_patchbay_sites, __stop_patchbay_sites);
  EXPECT_GE(sites.size(), 8u);
  for (const patchbay_site& site : sites) {
    EXPECT_EQ(std::memcmp(site.address, "\x0f\x1f\x44\0\0", 5), 0);
    EXPECT_GE(site.event, events.data());
    EXPECT_LT(site.event, events.data() + events.size());
  }
  for (const patchbay_event& event : events) EXPECT_EQ(event.abi, unsigned{PATCHBAY_EVENT_ABI});
}
