// SPDX-License-Identifier: MIT
#include "cmd/measure/open_calls.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace patchbay::cmd {
namespace {

// Writes what it is told: "1 f returned 3" for thread 1, function f, 3 ns.
class Log : public OpenCallSink {
 public:
  void enter(CallThread* thread) override {
    deepest = std::max(deepest, thread->depth);
    entered++;
  }
  void leave(CallThread* thread, LiveCallEnd how, uint64_t end_ns,
             std::span<const uint8_t> returned) override {
    const LiveCall& call = thread->calls[thread->depth - 1];
    static constexpr const char* kHow[] = {"returned", "no-return", "unfinished", "not-hooked",
                                           "left"};
    if (!text.empty()) text += ", ";
    text += std::to_string(thread->tid) + " " + call.record + " " + kHow[size_t(how)] + " " +
            std::to_string(end_ns - call.start_ns);
    if (how == LiveCallEnd::kReturned) text += " " + std::string(returned.begin(), returned.end());
  }
  std::string text;
  size_t deepest = 0, entered = 0;
};

std::span<const uint8_t> bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Words "THREAD+FUNCTION@CALLER" and "THREAD-FUNCTION@CALLER", one a nanosecond, each letter a
// digit or letter. Records are the function's letter, of returns the caller's. With a letter behind
// it, of an entry, its return address stands there on the stack; "THREAD*c@LETTER" catches there
// the exception c, which "THREAD!c@LETTER" throws.
std::string paired(std::string_view words, uint64_t lost_ns = 0) {
  Log log;
  OpenCalls calls(&log);
  uint64_t ns = 0;
  for (const std::string_view word : split_words(words)) {
    ns++;
    if (word == "!") {  // what came before is lost
      calls.lose(ns);
      continue;
    }
    const int32_t tid = word[0] - '0';
    const uint32_t function = uint32_t(word[2]), caller = uint32_t(word[4]);
    if (word[1] == '+')
      calls.enter(tid, ns, function, caller, word.size() > 5 ? uint64_t(word[5]) : 0,
                  bytes(word.substr(2, 1)));
    else if (word[1] == '=')
      calls.whole(tid, ns, uint64_t(word[4] - '0'), function, bytes(word.substr(2, 1)));
    else if (word[1] == '*')
      calls.catch_at(tid, ns, uint64_t(word[4]), uint64_t(word[2]), bytes(word.substr(2, 1)));
    else if (word[1] == '!')
      calls.throw_at(tid, ns, uint64_t(word[4]), uint64_t(word[2]));
    else
      (void)calls.leave(tid, ns, function, caller, bytes(word.substr(4, 1)));
  }
  calls.lose(lost_ns);
  calls.finish(ns + 1);
  return log.text;
}

struct Case {
  const char* name;
  const char* words;
  const char* lines;
  uint64_t lost_ns = 0;
};

TEST(OpenCalls, Pairs) {
  const Case cases[] = {
      {"nothing", "", ""},
      {"one call", "1+f@a 1-f@a", "1 f returned 1 a"},
      {"a call in another", "1+f@a 1+g@b 1-g@b 1-f@a", "1 g returned 1 b, 1 f returned 3 a"},
      {"recursion from one place", "1+f@a 1+f@b 1+f@b 1-f@b 1-f@b 1-f@a",
       "1 f returned 1 b, 1 f returned 3 b, 1 f returned 5 a"},
      {"the return of the inner one is lost", "1+f@a 1+f@b 1-f@a",
       "1 f no-return 1, 1 f returned 2 a"},
      {"an exception through two", "1+c@a 1+p@b 1+t@d 1-c@a",
       "1 t no-return 1, 1 p no-return 2, 1 c returned 3 a"},
      {"whole calls in another", "1+f@a 1=g@1 1=h@9 1-f@a",
       "1 g returned 1 g, 1 h returned 3 h, 1 f returned 3 a"},
      {"an exception that is caught", "1+o@az 1+m@by 1+i@cx 1*c@y 1-o@a",
       "1 i left 1, 1 m left 2, 1 o returned 4 a"},
      {"and nobody is outside of it", "1+f@ay 1*c@z 1+f@ay 1*c@z", "1 f left 1, 1 f left 1"},
      {"caught inside of a call", "1+f@ay 1+g@bw 1*c@x 1-f@a", "1 g left 1, 1 f returned 3 a"},
      {"caught by another thread", "1+f@ay 2*c@z 1-f@a", "1 f returned 2 a"},
      {"thrown by what is on top", "1+o@az 1+m@by 1+i@cx 1!c@w 1*c@y 1-o@a",
       "1 i left 2, 1 m left 3, 1 o returned 5 a"},
      {"a fiber waits on a lower stack", "1+o@az 1+f@bb 1!c@w 1*c@y 1-f@b 1-o@a",
       "1 f returned 3 b, 1 o returned 5 a"},
      {"longjmp() had ended what is below", "1+o@ax 1+j@bb 1!c@w 1*c@y",
       "1 j no-return 2, 1 o left 3"},
      {"longjmp() had ended what stands above", "1+j@bv 1+t@cw 1!c@u 1*c@y",
       "1 t left 2, 1 j no-return 3"},
      {"and at the same place", "1+j@bw 1+t@cw 1!c@u 1*c@y", "1 t left 2, 1 j no-return 3"},
      {"a tail call stands there, too", "1+j@cw 1+t@cw 1!c@u 1*c@y", "1 t left 2, 1 j left 3"},
      {"a destructor throws and catches",
       "1+m@ay 1+i@bw 1!c@t 1+d@cw 1+g@du 1!b@s 1*b@v 1-d@c "
       "1*c@z",
       "1 g left 2, 1 d returned 4 c, 1 i left 7, 1 m left 8"},
      {"without seeing where", "1+m@ay 1+i@bw 1!c@t 1!b@s 1*b@x 1*c@z", "1 i left 4, 1 m left 5"},
      {"it is thrown again", "1+m@ay 1+i@bw 1!c@t 1*c@x 1*c@z", "1 i left 2, 1 m left 4"},
      {"where the stack is not known", "1+f@a 1*c@z 1-f@a", "1 f returned 2 a"},
      {"caught behind a loss", "1+f@ay ! 1*c@z", "1 f no-return 2"},
      {"longjmp, and a further call", "1+s@a 1+j@b 1+g@d 1-g@d 1-s@a",
       "1 g returned 1 d, 1 j no-return 3, 1 s returned 4 a"},
      {"a return without its entry", "1-f@a 1+g@b 1-g@b", "1 g returned 1 b"},
      {"a lost entry of a recursion does not take the outer one's place", "1+f@a 1-f@b 1-f@a",
       "1 f returned 2 a"},
      {"another function that returns to the same place", "1+f@a 1-g@a 1-f@a", "1 f returned 2 a"},
      {"threads do not mix", "1+f@a 2+f@a 1-f@a 2-f@a", "1 f returned 2 a, 2 f returned 2 a"},
      {"a return behind a loss may be a later call's", "1+f@a 1+g@b ! 1-g@b 1+h@b 1-h@b",
       "1 g no-return 2, 1 h returned 1 b, 1 f no-return 6"},
      {"open at the end, the innermost first", "2+f@a 1+g@a 1+h@b",
       "1 h unfinished 1, 1 g unfinished 2, 2 f unfinished 3"},
      {"what began before a loss may have returned", "1+f@a 1+g@b",
       "1 g unfinished 1, 1 f no-return 2", 2},
  };
  for (const Case& one : cases) EXPECT_EQ(paired(one.words, one.lost_ns), one.lines) << one.name;
}

TEST(OpenCalls, ACallThatIsNotHookedEndsAtOnce) {
  Log log;
  OpenCalls calls(&log);
  calls.enter(1, 5, 'f', 'a', 0, bytes("f"));
  calls.end_not_hooked(1, 5);
  calls.end_not_hooked(1, 6);  // there is none
  calls.finish(9);
  EXPECT_EQ(log.text, "1 f not-hooked 0");
}

TEST(OpenCalls, CallsWithoutReturnsDoNotPileUp) {
  Log log;
  OpenCalls calls(&log);
  constexpr size_t kCalls = OpenCalls::kMostOpen + 100;
  for (size_t i = 0; i < kCalls; i++) calls.enter(1, i, 'f', 'a', 0, bytes("f"));
  EXPECT_EQ(log.deepest, OpenCalls::kMostOpen);
  EXPECT_EQ(calls.without_return(), OpenCalls::kMostOpen / 2);
  // The outer half went, its innermost first.
  EXPECT_EQ(log.text.substr(0, log.text.find(',')),
            "1 f no-return " + std::to_string(OpenCalls::kMostOpen / 2 + 1));
  ASSERT_NE(calls.innermost(1), nullptr);
  EXPECT_EQ(calls.innermost(1)->start_ns, kCalls - 1);
  EXPECT_EQ(calls.innermost(2), nullptr);
  calls.finish(kCalls);
  EXPECT_EQ(calls.innermost(1), nullptr);
  EXPECT_EQ(log.entered, kCalls);
}

}  // namespace
}  // namespace patchbay::cmd
