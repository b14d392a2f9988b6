// SPDX-License-Identifier: MIT
#include "export/export_who.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

// sh (10) forks 11, which executes ls and later, as 11 still, cat; 12 is a fork of sh that executes
// nothing; sed (13) is a child of 11. Process 11 is given out again, to true, a child of nobody.
std::vector<ProcessImage> some_images() {
  const auto image = [](int32_t pid, int32_t parent, uint64_t begin, const char* exe) {
    ProcessImage made;
    made.pid = pid;
    made.parent = parent;
    made.begin_ns = begin;
    made.exe = exe;
    made.threads.push_back({pid, pid, begin, begin, 1, made.exe.substr(made.exe.rfind('/') + 1)});
    return made;
  };
  std::vector<ProcessImage> images{image(10, 1, 100, "/bin/sh"), image(11, 10, 200, "/bin/ls"),
                                   image(11, 10, 300, "/bin/cat"), image(13, 11, 350, "/bin/sed"),
                                   image(11, 1, 900, "/bin/true")};
  images[0].threads.push_back({12, 12, 150, 160, 1, "sh"});
  images[1].threads.push_back({21, 11, 210, 220, 1, "worker"});
  return images;
}

struct Seen {
  int32_t tid;
  uint64_t ns;
};
const std::vector<Seen> kSeen = {{10, 100}, {12, 155}, {11, 200}, {21, 215},
                                 {11, 310}, {13, 350}, {11, 901}};

// The places in kSeen of those who are wanted: "0 2 3".
std::string wanted(const WhoChoice& choice) {
  const std::vector<ProcessImage> images = some_images();
  ExportPeople people;
  WhoFinder finder(&people);
  finder.add(images);
  WhoSelection selection(choice, &finder);
  std::string text;
  for (size_t i = 0; i < kSeen.size(); i++)
    if (selection.wants(0, kSeen[i].tid, 0, kSeen[i].ns))
      text += (text.empty() ? "" : " ") + std::to_string(i);
  return text;
}

TEST(WhoSelection, IsAnAndOfWhatIsSaid) {
  struct Row {
    WhoChoice choice;
    const char* wanted;
  };
  const Row rows[] = {
      {{}, "0 1 2 3 4 5 6"},
      {{.tids = {21}}, "3"},
      {{.tids = {11}}, "2 4 6"},
      {{.pids = {11}}, "2 3 4 6"},
      {{.pids = {12}}, "1"},
      {{.exes = {"ls"}}, "2 3"},
      {{.exes = {"/bin/s*"}}, "0 1 5"},
      {{.exes = {"s*"}}, "0 1 5"},
      {{.exes = {"bin"}}, ""},
      {{.comms = {"work*"}}, "3"},
      {{.comms = {"sh", "cat"}}, "0 1 4"},
      {{.trees = {13}}, "5"},
      {{.trees = {12}}, "1"},
      {{.pids = {11}, .exes = {"cat"}}, "4"},
      {{.tids = {10}, .exes = {"cat"}}, ""},
      {{.trees = {11, 12}}, "1 2 3 4 5 6"},
  };
  for (const Row& row : rows) EXPECT_EQ(wanted(row.choice), row.wanted);
}

TEST(WhoSelection, ANumberThatIsGivenOutAgainIsInNoTreeOfItsFirstOwner) {
  EXPECT_EQ(wanted({.trees = {10}}), "0 1 2 3 4 5");
}

TEST(WhoFinder, TellsWhoItIsAtATime) {
  const std::vector<ProcessImage> images = some_images();
  ExportPeople people;
  WhoFinder finder(&people);
  finder.add(images);
  EXPECT_EQ(finder.find(0, 11, 0, 250).exe, "/bin/ls");
  EXPECT_EQ(finder.find(0, 11, 0, 320).exe, "/bin/cat");
  EXPECT_EQ(finder.find(0, 11, 0, 5000).exe, "/bin/true");
  EXPECT_EQ(finder.find(0, 21, 0, 215).pid, 11);
  EXPECT_EQ(finder.find(0, 12, 0, 155).pid, 12);
  const Who& first = finder.find(0, 10, 0, 100);
  EXPECT_EQ(&first, &finder.find(0, 10, 1, 100));
  EXPECT_NE(first.index, finder.find(0, 11, 0, 250).index);
}

}  // namespace
}  // namespace patchbay
