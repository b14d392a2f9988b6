// SPDX-License-Identifier: MIT
// Commands as texts: what the kernel's functions put together from the same
// words, and each of their answers.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "agent/last_error.h"
#include "api/commands.h"

namespace {
std::string g_ran;
int g_answer = 0;
}  // namespace

void patchbay_module_gone(void*) {}

namespace patchbay {

// What definitions.cc has in the agent.
int run_synthetic_command(dynevent_cmd* cmd) {
  g_ran = "synth:" + std::string(cmd->buffer);
  return g_answer;
}
int run_probe_command(dynevent_cmd* cmd) {
  g_ran = "probe:" + std::string(cmd->buffer);
  return g_answer;
}

namespace {

constexpr int kOwnType = DYNEVENT_TYPE_NONE + 1;

class Dynevent : public testing::Test {
 protected:
  void SetUp() override {
    g_ran.clear();
    g_answer = 0;
    patchbay_synth_event_cmd_init(&synth_, synth_text_, sizeof synth_text_);
    patchbay_kprobe_event_cmd_init(&probe_, probe_text_, sizeof probe_text_);
    patchbay_dynevent_cmd_init(&own_, own_text_, sizeof own_text_, kOwnType, run_own);
  }
  static int run_own(dynevent_cmd* cmd) {
    g_ran = "own:" + std::string(cmd->buffer);
    return g_answer;
  }
  int word(dynevent_cmd* cmd, const char* text, char separator = 0,
           dynevent_check_arg_fn_t check = nullptr) {
    dynevent_arg arg;
    patchbay_dynevent_arg_init(&arg, check, separator);
    arg.str = text;
    return patchbay_dynevent_arg_add(cmd, &arg);
  }
  int pair(dynevent_cmd* cmd, const char* lhs, char op, const char* rhs, char separator,
           dynevent_check_arg_fn_t check = nullptr) {
    dynevent_arg_pair both;
    patchbay_dynevent_arg_pair_init(&both, check, op, separator);
    both.lhs = lhs;
    both.rhs = rhs;
    return patchbay_dynevent_arg_pair_add(cmd, &both);
  }

  char synth_text_[MAX_DYNEVENT_CMD_LEN], probe_text_[MAX_DYNEVENT_CMD_LEN], own_text_[32];
  dynevent_cmd synth_, probe_, own_;
};

TEST_F(Dynevent, WordsAndPairs) {
  EXPECT_EQ(word(&own_, "name"), 0);
  EXPECT_EQ(word(&own_, "a", ';'), 0);
  EXPECT_EQ(pair(&own_, "f", '=', "%cx", 0), 0);
  EXPECT_EQ(pair(&own_, "u8", 0, "x", ';'), 0);
  EXPECT_EQ(patchbay_dynevent_str_add(&own_, "=-"), 0);
  EXPECT_EQ(patchbay_dynevent_create(&own_), 0);
  EXPECT_EQ(g_ran, "own: name  a; f=%cx  u8 x;=-");
  g_answer = -EEXIST;
  EXPECT_EQ(patchbay_dynevent_create(&own_), -EEXIST);
}

TEST_F(Dynevent, ChecksDecide) {
  EXPECT_EQ(word(&own_, "a", 0, [](void*) { return -EPERM; }), -EPERM);
  EXPECT_EQ(pair(&own_, "a", 0, "b", 0, [](void*) { return -ENOENT; }), -ENOENT);
  EXPECT_STREQ(own_.buffer, "");
  EXPECT_EQ(word(&own_, "seen", 0,
                 [](void* arg) {
                   return static_cast<dynevent_arg*>(arg)->str == std::string("seen") ? 0 : -EPERM;
                 }),
            0);
  EXPECT_STREQ(own_.buffer, " seen ");
}

TEST_F(Dynevent, TooLong) {
  // 31 characters and the NUL fit.
  EXPECT_EQ(patchbay_dynevent_str_add(&own_, "0123456789012345678901234567890"), 0);
  EXPECT_EQ(patchbay_dynevent_str_add(&own_, ""), 0);
  EXPECT_EQ(patchbay_dynevent_str_add(&own_, "x"), -E2BIG);
  EXPECT_STREQ(own_.buffer, "0123456789012345678901234567890");
  EXPECT_EQ(patchbay_dynevent_str_add(&own_, ""), -E2BIG) << "it stays so";
  EXPECT_EQ(word(&own_, ""), -E2BIG);
  EXPECT_EQ(patchbay_dynevent_create(&own_), -E2BIG);
  EXPECT_EQ(g_ran, "");

  dynevent_cmd cmd;
  char text[8] = "before";
  for (int length : {0, -1}) {
    patchbay_dynevent_cmd_init(&cmd, text, length, kOwnType, run_own);
    EXPECT_EQ(patchbay_dynevent_str_add(&cmd, ""), -E2BIG) << length;
    EXPECT_STREQ(text, "before");
  }
  patchbay_dynevent_cmd_init(&cmd, text, 1, kOwnType, run_own);
  EXPECT_STREQ(text, "");
  EXPECT_EQ(patchbay_dynevent_str_add(&cmd, "x"), -E2BIG);
  patchbay_dynevent_cmd_init(&cmd, nullptr, 100, kOwnType, run_own);
  EXPECT_EQ(patchbay_dynevent_str_add(&cmd, "x"), -E2BIG);
  EXPECT_EQ(patchbay_dynevent_create(&cmd), -E2BIG);
}

TEST_F(Dynevent, Nulls) {
  dynevent_arg arg;
  dynevent_arg_pair both;
  patchbay_dynevent_cmd_init(nullptr, own_text_, 10, kOwnType, run_own);
  patchbay_dynevent_arg_init(nullptr, nullptr, 0);
  patchbay_dynevent_arg_pair_init(nullptr, nullptr, 0, 0);
  patchbay_dynevent_arg_init(&arg, nullptr, 0);
  patchbay_dynevent_arg_pair_init(&both, nullptr, 0, 0);
  EXPECT_EQ(patchbay_dynevent_arg_add(nullptr, &arg), -EINVAL);
  EXPECT_EQ(patchbay_dynevent_arg_add(&own_, nullptr), -EINVAL);
  EXPECT_EQ(patchbay_dynevent_arg_add(&own_, &arg), -EINVAL);
  EXPECT_EQ(patchbay_dynevent_arg_pair_add(&own_, nullptr), -EINVAL);
  EXPECT_EQ(patchbay_dynevent_arg_pair_add(&own_, &both), -EINVAL);
  both.lhs = "a";
  EXPECT_EQ(patchbay_dynevent_arg_pair_add(&own_, &both), -EINVAL);
  EXPECT_EQ(patchbay_dynevent_str_add(&own_, nullptr), -EINVAL);
  EXPECT_EQ(patchbay_dynevent_create(nullptr), -EINVAL);
  patchbay_dynevent_cmd_init(&own_, own_text_, 10, kOwnType, nullptr);
  EXPECT_EQ(patchbay_dynevent_create(&own_), -EINVAL);

  EXPECT_EQ(patchbay_synth_event_add_field(&synth_, nullptr, "a"), -EINVAL);
  EXPECT_EQ(patchbay_synth_event_add_field(&synth_, "int", nullptr), -EINVAL);
  EXPECT_EQ(patchbay_synth_event_add_field_str(&synth_, nullptr), -EINVAL);
  EXPECT_EQ(patchbay_synth_event_add_fields(&synth_, nullptr, 1), -EINVAL);
  EXPECT_EQ(patchbay_synth_event_gen_cmd_start(&synth_, (const char*)nullptr, nullptr), -EINVAL);
  EXPECT_EQ(patchbay_kprobe_event_gen_cmd_start(&probe_, "a", (const char*)nullptr), -EINVAL);
  EXPECT_EQ(patchbay_kprobe_event_gen_cmd_start(&probe_, (const char*)nullptr, "a"), -EINVAL);
}

TEST_F(Dynevent, OfTheOtherKind) {
  synth_field_desc field = {"int", "a"};
  for (dynevent_cmd* cmd : {&probe_, &own_, (dynevent_cmd*)nullptr}) {
    EXPECT_EQ(patchbay_synth_event_gen_cmd_start(cmd, "e", nullptr, "int", "a"), -EINVAL);
    EXPECT_EQ(patchbay_synth_event_gen_cmd_array_start(cmd, "e", nullptr, &field, 1), -EINVAL);
    EXPECT_EQ(patchbay_synth_event_add_field(cmd, "int", "a"), -EINVAL);
    EXPECT_EQ(patchbay_synth_event_add_field_str(cmd, "int a"), -EINVAL);
    EXPECT_EQ(patchbay_synth_event_add_fields(cmd, &field, 1), -EINVAL);
  }
  for (dynevent_cmd* cmd : {&synth_, &own_, (dynevent_cmd*)nullptr}) {
    EXPECT_EQ(patchbay_kprobe_event_gen_cmd_start(cmd, "e", "f"), -EINVAL);
    EXPECT_EQ(patchbay_kprobe_event_add_fields(cmd, "a=%di"), -EINVAL);
  }
}

TEST_F(Dynevent, SyntheticCommands) {
  EXPECT_EQ(patchbay_synth_event_gen_cmd_start(&synth_, "schedtest", nullptr, "pid_t", "next_pid",
                                               "u64", "ts_ns"),
            0);
  EXPECT_EQ(patchbay_synth_event_add_field(&synth_, "int", "intfield"), 0);
  EXPECT_EQ(patchbay_synth_event_add_field_str(&synth_, "char comm[16]"), 0);
  synth_field_desc fields[] = {{"char[64]", "text"}, {"char[]", "any"}, {"nonsense", "x"}};
  EXPECT_EQ(patchbay_synth_event_add_fields(&synth_, fields, 3), -EINVAL);
  EXPECT_EQ(patchbay_synth_event_gen_cmd_end(&synth_), 0);
  EXPECT_EQ(g_ran,
            "synth: schedtest  pid_t next_pid; u64 ts_ns; int intfield; char comm[16]; char[64] "
            "text; char[] any;");
  EXPECT_EQ(synth_.n_fields, 6u);
}

TEST_F(Dynevent, TypesAreChecked) {
  for (const char* type :
       {"s8",   "u8",    "s16",           "u16",      "s32",          "u32",   "s64",
        "u64",  "char",  "unsigned char", "int",      "unsigned int", "long",  "unsigned long",
        "bool", "pid_t", "gfp_t",         "char[16]", "char[]",       "long[]"})
    EXPECT_EQ(patchbay_synth_event_add_field(&synth_, type, "a"), 0) << type;
  for (const char* type : {"", "short", "size_t", "unsigned", "struct x", "int "})
    EXPECT_EQ(patchbay_synth_event_add_field(&synth_, type, "a"), -EINVAL) << type;
}

TEST_F(Dynevent, SixtyFourFields) {
  std::vector<synth_field_desc> fields(65, synth_field_desc{"int", "a"});
  EXPECT_EQ(patchbay_synth_event_gen_cmd_array_start(&synth_, "e", nullptr, fields.data(), 65),
            -EINVAL);
  EXPECT_STREQ(synth_.buffer, "");
  EXPECT_EQ(patchbay_synth_event_gen_cmd_array_start(&synth_, "e", nullptr, fields.data(), 64), 0);
  EXPECT_EQ(patchbay_synth_event_add_field(&synth_, "int", "b"), -EINVAL);
  EXPECT_EQ(patchbay_synth_event_add_field_str(&synth_, "int b"), -EINVAL);
  const std::string long_name(MAX_DYNEVENT_CMD_LEN, 'n');
  EXPECT_EQ(patchbay_synth_event_create(long_name.c_str(), fields.data(), 1, nullptr), -E2BIG);
  EXPECT_EQ(patchbay_synth_event_create("e", fields.data(), 2, nullptr), 0);
  EXPECT_EQ(g_ran, "synth: e  int a; int a;");
  fields[1].name = nullptr;
  EXPECT_EQ(patchbay_synth_event_create("e", fields.data(), 2, nullptr), -EINVAL);
}

TEST_F(Dynevent, ProbeCommands) {
  EXPECT_EQ(patchbay_kprobe_event_gen_cmd_start(&probe_, "gen_kprobe_test", "do_sys_open",
                                                "dfd=%ax", "filename=%dx"),
            0);
  EXPECT_EQ(probe_.private_data, PATCHBAY_THIS_MODULE);
  EXPECT_EQ(patchbay_kprobe_event_add_fields(&probe_, "flags=%cx", "mode=+4($stack)"), 0);
  EXPECT_EQ(patchbay_kprobe_event_add_field(&probe_, "x=%si"), 0);
  EXPECT_EQ(patchbay_kprobe_event_gen_cmd_end(&probe_), 0);
  EXPECT_EQ(g_ran,
            "probe:p:kprobes/gen_kprobe_test do_sys_open  dfd=%ax  filename=%dx  flags=%cx  "
            "mode=+4($stack)  x=%si ");
  patchbay_kprobe_event_cmd_init(&probe_, probe_text_, sizeof probe_text_);
  EXPECT_EQ(patchbay_kretprobe_event_gen_cmd_start(&probe_, "ret", "do_sys_open", "$retval"), 0);
  EXPECT_EQ(patchbay_kretprobe_event_gen_cmd_end(&probe_), 0);
  EXPECT_EQ(g_ran, "probe:r:kprobes/ret do_sys_open  $retval ");
  for (int i = 1; i < PATCHBAY_PROBE_FIELDS_MAX; i++)
    EXPECT_EQ(patchbay_kprobe_event_add_field(&probe_, "a"), 0) << i;
  EXPECT_EQ(patchbay_kprobe_event_add_field(&probe_, "a"), -EINVAL);
}

// A program that was compiled before there was room for later versions has a shorter structure.
TEST_F(Dynevent, WhatIsReservedIsLeftAlone) {
  own_.reserved[0] = own_.reserved[3] = 17;
  patchbay_dynevent_cmd_init(&own_, own_text_, sizeof own_text_, kOwnType, run_own);
  EXPECT_EQ(own_.reserved[0] + own_.reserved[3], 34u);
}

std::string last_error() {
  char text[200];
  copy_error(text, sizeof text);
  return text;
}

TEST_F(Dynevent, AnUnknownTypeIsNamed) {
  EXPECT_EQ(patchbay_synth_event_add_field(&synth_, "quaternion", "q"), -EINVAL);
  EXPECT_NE(last_error().find("quaternion"), std::string::npos) << last_error();
  EXPECT_EQ(patchbay_synth_event_add_field(&synth_, "double", "d"), 0);
}

TEST(LastError, IsThatOfTheThread) {
  keep_error("of the first");
  std::string of_other;
  std::thread([&] {
    of_other = last_error();
    keep_error("of the other");
    of_other += last_error();
  }).join();
  EXPECT_EQ(of_other, "of the other");
  EXPECT_EQ(last_error(), "of the first");
  char cut[7];
  EXPECT_EQ(copy_error(cut, sizeof cut), 12u);
  EXPECT_STREQ(cut, "of the");
  forget_error();
  EXPECT_EQ(last_error(), "");
}

// More threads than there is room for: each has its own sentence, or none.
TEST(LastError, IsNeverThatOfAnotherThread) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; i++)
    threads.emplace_back([i] {
      const std::string own = "sentence " + std::to_string(i);
      for (int k = 0; k < 200; k++) {
        keep_error(own);
        const std::string found = last_error();
        EXPECT_TRUE(found.empty() || found == own) << found;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace patchbay
