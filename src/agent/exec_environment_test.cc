// SPDX-License-Identifier: MIT
//
// What an exec adds to an environment, and the way back: the agent of the new program is compiled
// into this test and takes it out again.
#include "agent/exec_environment.h"

#include "agent/environment.cc"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <random>

namespace patchbay {
namespace {

using Entries = std::vector<std::string>;

std::vector<char*> pointers_to(const Entries& entries) {
  std::vector<char*> pointers;
  for (const std::string& entry : entries) pointers.push_back(const_cast<char*>(entry.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Entries texts_of(char* const* envp) {
  Entries entries;
  while (*envp) entries.emplace_back(*envp++);
  return entries;
}

// Null where the room that it asked for was not enough.
struct Made {
  std::vector<char*> slots;
  std::vector<char> text;
  bool fits;
};

Made make(char* const* envp, const ExecAdditions& add) {
  const ExecRoom room = exec_environment_room(envp, add);
  Made made{std::vector<char*>(room.slots), std::vector<char>(room.text), false};
  made.fits =
      make_exec_environment(envp, add, made.slots.data(), room.slots, made.text.data(), room.text);
  return made;
}

constexpr ExecAdditions kAdd = {"/lib/libpatchbay.so", "", "7:x"};
constexpr ExecAdditions kWithRuntime = {"/lib/libpatchbay.so", "libasan.so.8", "7:x"};

// What the program there sees in the end. `in_place`: the vector is the kernel's.
Entries seen_in_program(char** vector, bool in_place) {
  char** const before = environ;
  environ = vector;
  hide_from_environment(in_place ? vector : nullptr);
  const Entries seen = texts_of(environ);
  static auto* const live =
      new std::vector<char*>;  // for the leak checker: entries are never freed
  live->insert(live->end(), environ, environ + seen.size());
  environ = before;
  return seen;
}

void expect_way_back(const Entries& given, const ExecAdditions& add) {
  const std::vector<char*> envp = pointers_to(given);
  for (const bool in_place : {false, true}) {
    Made made = make(envp.data(), add);
    ASSERT_TRUE(made.fits);
    EXPECT_EQ(seen_in_program(made.slots.data(), in_place), given);
  }
  EXPECT_EQ(texts_of(envp.data()), given);  // the caller's own is as it was
}

TEST(ExecEnvironment, WhatIsAdded) {
  const struct {
    const char* what;
    Entries given;
    ExecAdditions add;
    Entries expected;
  } rows[] = {
      {"nothing was there", {}, kAdd, {"LD_PRELOAD=/lib/libpatchbay.so", "PATCHBAY_FOLLOW=7:x"}},
      {"behind the others",
       {"A=1", "B=2"},
       kAdd,
       {"A=1", "B=2", "LD_PRELOAD=/lib/libpatchbay.so", "PATCHBAY_FOLLOW=7:x"}},
      {"in the place of the old one",
       {"A=1", "LD_PRELOAD=x.so y.so", "B=2"},
       kAdd,
       {"A=1", "LD_PRELOAD=/lib/libpatchbay.so:x.so y.so", "B=2", "PATCHBAY_FOLLOW=7:x"}},
      {"an empty one",
       {"LD_PRELOAD=", "B=2"},
       kAdd,
       {"LD_PRELOAD=/lib/libpatchbay.so:", "B=2", "PATCHBAY_FOLLOW=7:x"}},
      {"the last of two counts",
       {"LD_PRELOAD=a.so", "LD_PRELOAD=b.so"},
       kAdd,
       {"LD_PRELOAD=a.so", "LD_PRELOAD=/lib/libpatchbay.so:b.so", "PATCHBAY_FOLLOW=7:x"}},
      {"another file of the agent",
       {"LD_PRELOAD=a.so:/old/libpatchbay.so.0:: b.so"},
       kAdd,
       {"LD_PRELOAD=/lib/libpatchbay.so:a.so:b.so", "PATCHBAY_FOLLOW=7:x"}},
      {"the agent alone",
       {"LD_PRELOAD=/old/libpatchbay.so"},
       kAdd,
       {"LD_PRELOAD=/lib/libpatchbay.so", "PATCHBAY_FOLLOW=7:x"}},
      {"names like the agent's",
       {"LD_PRELOAD=/libpatchbay.so/x.so:mylibpatchbay.so"},
       kAdd,
       {"LD_PRELOAD=/lib/libpatchbay.so:/libpatchbay.so/x.so:mylibpatchbay.so",
        "PATCHBAY_FOLLOW=7:x"}},
      {"a runtime before it",
       {"A=1"},
       kWithRuntime,
       {"A=1", "LD_PRELOAD=libasan.so.8:/lib/libpatchbay.so", "PATCHBAY_FOLLOW=7:x",
        "PATCHBAY_PRELOADED=libasan.so.8"}},
      {"a runtime that is preloaded",
       {"LD_PRELOAD=x.so /a/libasan.so.8:y.so"},
       kAdd,
       {"LD_PRELOAD=/a/libasan.so.8:/lib/libpatchbay.so:x.so /a/libasan.so.8:y.so",
        "PATCHBAY_FOLLOW=7:x", "PATCHBAY_PRELOADED=/a/libasan.so.8"}},
      {"ours were there",
       {"PATCHBAY_PRELOADED=y", "PATCHBAY_FOLLOW=1", "A=1", "PATCHBAY_FOLLOW=2"},
       kWithRuntime,
       {"PATCHBAY_PRELOADED=libasan.so.8", "PATCHBAY_FOLLOW=7:x", "A=1", "PATCHBAY_FOLLOW=7:x",
        "LD_PRELOAD=libasan.so.8:/lib/libpatchbay.so"}},
      {"what is no variable stays",
       {"no equals", "", "=", "A=1", "A=1", "LD_PRELOAD", "LD_PRELOADED=1", "PATCHBAY_FOLLOWS=1"},
       kAdd,
       {"no equals", "", "=", "A=1", "A=1", "LD_PRELOAD", "LD_PRELOADED=1", "PATCHBAY_FOLLOWS=1",
        "LD_PRELOAD=/lib/libpatchbay.so", "PATCHBAY_FOLLOW=7:x"}},
  };
  for (const auto& row : rows) {
    const std::vector<char*> envp = pointers_to(row.given);
    const Made made = make(envp.data(), row.add);
    ASSERT_TRUE(made.fits) << row.what;
    EXPECT_EQ(texts_of(made.slots.data()), row.expected) << row.what;
  }
}

TEST(ExecEnvironment, ANullIsAnEmptyOne) {
  EXPECT_EQ(exec_environment_count(nullptr), 0u);
  EXPECT_FALSE(exec_only_lists(nullptr));
  const Made made = make(nullptr, kAdd);
  ASSERT_TRUE(made.fits);
  EXPECT_EQ(texts_of(made.slots.data()),
            (Entries{"LD_PRELOAD=/lib/libpatchbay.so", "PATCHBAY_FOLLOW=7:x"}));
}

// With each byte and each slot less it says so, and writes nothing behind what it has.
TEST(ExecEnvironment, TooLittleRoom) {
  const Entries given = {"A=1", "LD_PRELOAD=x.so"};
  const std::vector<char*> envp = pointers_to(given);
  const ExecRoom room = exec_environment_room(envp.data(), kWithRuntime);
  size_t least = room.text;
  for (size_t size = 0; size <= room.text; size++) {
    std::vector<char*> slots(room.slots);
    const std::unique_ptr<char[]> text(new char[size]);  // a sanitizer sees its end
    if (make_exec_environment(envp.data(), kWithRuntime, slots.data(), room.slots, text.get(),
                              size))
      least = std::min(least, size);
    else
      EXPECT_EQ(least, room.text) << size;
  }
  EXPECT_GE(least + 4, room.text);
  for (size_t count = 0; count < room.slots; count++) {
    const std::unique_ptr<char*[]> slots(new char*[count]);
    std::vector<char> text(room.text);
    EXPECT_FALSE(make_exec_environment(envp.data(), kWithRuntime, slots.get(), count, text.data(),
                                       room.text));
  }
}

TEST(ExecEnvironment, TheWayBack) {
  const Entries rows[] = {
      {},
      {"A=1"},
      {"LD_PRELOAD="},
      {"LD_PRELOAD=", "LD_PRELOAD=x.so"},
      {"B=2", "LD_PRELOAD=x.so  y.so::z.so ", "A=1", "A=2", "no equals", ""},
      {"LD_PRELOAD=libasan.so.8:x.so"},
      {"LD_PRELOAD=:"},
      {"PATCHBAY_DIR=/tmp/of the program", "PATCHBAY_BUFFER_SIZE_KB=64", "A=1"},
  };
  for (const Entries& given : rows)
    for (const ExecAdditions& add : {kAdd, kWithRuntime}) expect_way_back(given, add);
}

TEST(ExecEnvironment, TheWayBackOfAnything) {
  const char* const words[] = {"A=1",
                               "LD_PRELOAD=",
                               "LD_PRELOAD=x.so",
                               "LD_PRELOAD=:",
                               "LD_PRELOAD= a",
                               "B=",
                               "=",
                               "PATCHBAY_DIR=/x",
                               "LD_PRELOA",
                               "",
                               "PATCHBAY_WAI=1"};
  std::mt19937 random(1);
  for (int run = 0; run < 2000; run++) {
    Entries given(random() % 8);
    for (std::string& entry : given) entry = words[random() % std::size(words)];
    expect_way_back(given, run % 2 ? kAdd : kWithRuntime);
  }
}

// Of what the tool has started, as it has been.
TEST(ExecEnvironment, WhatTheToolHasPutThere) {
  const struct {
    Entries given, expected;
  } rows[] = {
      {{"A=1", "PATCHBAY_WAIT=1", "PATCHBAY_DIR=/d", "PATCHBAY_OVERWRITE=1",
        "PATCHBAY_BUFFER_SIZE_KB=8", "LD_PRELOAD=/lib/libpatchbay.so"},
       {"A=1"}},
      {{"PATCHBAY_WAIT=1", "LD_PRELOAD=/lib/libpatchbay.so:x.so y.so"}, {"LD_PRELOAD=x.so y.so"}},
      {{"PATCHBAY_WAIT=1", "LD_PRELOAD=/lib/libpatchbay.so:"}, {"LD_PRELOAD="}},
      {{"PATCHBAY_WAIT=1", "PATCHBAY_PRELOADED=libasan.so.8",
        "LD_PRELOAD=libasan.so.8:/lib/libpatchbay.so:libasan.so.8"},
       {"LD_PRELOAD=libasan.so.8"}},
      {{"LD_PRELOAD=x.so /lib/libpatchbay.so.0 y.so"}, {"LD_PRELOAD=x.so:y.so"}},
      {{"PATCHBAY_WAIT=1", "PATCHBAY_FOLLOW=1", "PATCHBAY_DIR=/d"}, {}},
  };
  for (const auto& row : rows) {
    for (const bool in_place : {false, true}) {
      std::vector<char*> vector = pointers_to(row.given);
      EXPECT_EQ(seen_in_program(vector.data(), in_place), row.expected);
    }
  }
}

// Two pages that can be read, and behind them one that cannot.
TEST(ExecEnvironment, WhatCannotBeRead) {
  constexpr size_t kPage = 4096;
  void* const mapped =
      ::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  char* const pages = static_cast<char*>(mapped);
  char* const end = pages + 2 * kPage;
  ASSERT_EQ(::mprotect(end, kPage, PROT_NONE), 0);
  std::memset(pages, 'x', 2 * kPage);
  char* good[] = {pages, nullptr};
  const auto is_readable = [&](char* entry) {
    char* list[] = {good[0], entry, nullptr};
    return exec_list_is_readable(list);
  };
  errno = 77;
  EXPECT_FALSE(exec_list_is_readable(good));  // no end before the page that cannot be read
  end[-1] = '\0';
  EXPECT_TRUE(exec_list_is_readable(good));
  EXPECT_TRUE(is_readable(end - 1));
  EXPECT_FALSE(is_readable(end));
  EXPECT_FALSE(is_readable(reinterpret_cast<char*>(16)));
  EXPECT_FALSE(is_readable(reinterpret_cast<char*>(uintptr_t(1) << 63)));
  EXPECT_TRUE(exec_list_is_readable(nullptr));
  EXPECT_FALSE(exec_list_is_readable(reinterpret_cast<char* const*>(16)));
  auto** vector = reinterpret_cast<char**>(end) - 2;
  vector[0] = vector[1] = good[0];
  end[-1] = '\0';  // the vector's last byte, and the text's
  vector[1] = nullptr;
  EXPECT_TRUE(exec_list_is_readable(vector));
  vector[1] = pages;
  pages[1] = '\0';
  EXPECT_FALSE(exec_list_is_readable(vector));  // goes on in the next page
  EXPECT_FALSE(exec_list_is_readable(reinterpret_cast<char* const*>(end - 4)));
  EXPECT_EQ(errno, 77);
  ::munmap(mapped, 3 * kPage);
}

TEST(ExecEnvironment, ListsOfLibraries) {
  const Entries lists = {"A=1", "LD_TRACE_LOADED_OBJECTS=1"}, other = {"LD_TRACE_LOADED_OBJECT=1"};
  EXPECT_TRUE(exec_only_lists(pointers_to(lists).data()));
  EXPECT_FALSE(exec_only_lists(pointers_to(other).data()));
}

}  // namespace
}  // namespace patchbay
