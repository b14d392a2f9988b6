// SPDX-License-Identifier: MIT
// What a process and its forked children agree on.
#include "base/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "base/agreed.h"
#include "base/testing.h"

namespace patchbay {
namespace {

// The exit status of a forked child that runs `body`.
template <typename Body>
int in_child(Body body) {
  const int status = test::status_of_child([&] {
    set_forked_child();
    return int(body());
  });
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SharedMemory, AChildFindsWhatItsParentMadeAfterTheFork) {
  shared_forever(8);  // the reserve is there before the fork
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    set_forked_child();
    Note note;
    if (::read(pipe_ends[0], &note, sizeof note) != sizeof note) ::_exit(1);
    begin_repeating({note});
    bool fresh = true;
    auto* word = agreed_shared<uint64_t>("word", "a", &fresh);
    if (!end_repeating() || fresh || *word != 17) ::_exit(2);
    __atomic_store_n(word, 18, __ATOMIC_RELEASE);
    ::_exit(0);
  }
  begin_notes();
  bool fresh = false;
  auto* word = agreed_shared<uint64_t>("word", "a", &fresh);
  const std::vector<Note> notes = end_notes();
  EXPECT_TRUE(fresh);
  *word = 17;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(::write(pipe_ends[1], &notes[0], sizeof(Note)), ssize_t{sizeof(Note)});
  int status = -1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*word, 18u);
}

TEST(SharedMemory, WhatIsNotNotedIsTheChildsOwnAndRemembered) {
  EXPECT_EQ(in_child([] {
              begin_repeating({});
              bool fresh = false;
              auto* word = agreed_shared<uint64_t>("word", "b", &fresh);
              const bool all_found = end_repeating();
              return fresh && *word == 0 && !all_found && !is_shared_with_running(word) ? 0 : 1;
            }),
            0);
}

TEST(SharedMemory, NotesOfOneKeyAreTakenInTheirOrder) {
  begin_repeating({{1, 10}, {2, 20}, {1, 11}});
  EXPECT_EQ(noted(1), 10u);
  EXPECT_EQ(noted(1), 11u);
  EXPECT_TRUE(has_note(2));
  EXPECT_EQ(noted(2), 20u);
  EXPECT_TRUE(end_repeating());
  EXPECT_EQ(noted(2), std::nullopt);
  EXPECT_FALSE(end_repeating());
}

TEST(SharedMemory, PagesAndWordsDoNotMeet) {
  auto* pages = static_cast<uint8_t*>(shared_pages(10000));
  auto* more = static_cast<uint8_t*>(shared_pages(10000));
  auto* word = static_cast<uint8_t*>(shared_forever(8));
  ASSERT_NE(pages, nullptr);
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(reinterpret_cast<uint64_t>(pages) % 4096, 0u);
  EXPECT_LE(more + 12288, pages);
  EXPECT_LT(word, more);
  EXPECT_EQ(pages[9999], 0);
}

TEST(SharedMemory, AChildThatGoesItsOwnWayKeepsAllAndSharesNothing) {
  auto* word = make_shared_forever<uint64_t>();
  auto* page = static_cast<uint64_t*>(shared_pages(4096));
  *word = 5;
  *page = 6;
  EXPECT_EQ(in_child([&] {
              if (!leave_shared_memory().ok() || *word != 5 || *page != 6) return 1;
              leave_family();
              *word = 7;
              *page = 8;
              auto* more = make_shared_forever<uint64_t>();
              if (is_forked_child() || !is_shared_with_running(more) || more == word) return 2;
              // Its own child shares all of that.
              const int status = test::status_of_child([&] { return int(++*more + ++*word); });
              return WEXITSTATUS(status) == 9 && *more == 1 && *word == 8 ? 0 : 3;
            }),
            0);
  EXPECT_EQ(*word, 5u);
  EXPECT_EQ(*page, 6u);
}

TEST(SharedMemory, AChildThatGoesItsOwnWayTakesNothingThatItsParentHasTakenSince) {
  auto* const first = make_shared_forever<uint64_t>();
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    uint64_t* later = nullptr;
    if (::read(told[0], &later, sizeof later) != sizeof later) ::_exit(1);
    set_forked_child();
    if (!leave_shared_memory().ok() || *later != 17) ::_exit(2);
    leave_family();
    ::_exit(make_shared_forever<uint64_t>() == later ? 3 : 0);
  }
  auto* const later = make_shared_forever<uint64_t>();
  *later = 17;
  EXPECT_NE(later, first);
  EXPECT_EQ(::write(told[1], &later, sizeof later), ssize_t{sizeof later});
  int status = -1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace patchbay
