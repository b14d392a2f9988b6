// SPDX-License-Identifier: MIT
#include "cmd/target/inside_ids.h"

#include <string>

#include "attach/proc_text.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace patchbay::cmd {
namespace {

constexpr int kMostDepth = 64;  // of children of children

std::vector<int> numbers_of(const std::string& directory) {
  auto status = read_file(directory + "/status");
  return status.ok() ? numbers_in(*status) : std::vector<int>();
}

}  // namespace

std::vector<int> numbers_in(std::string_view status) {
  std::vector<int> numbers;
  while (!status.empty()) {
    std::string_view line = cut_at(&status, '\n');
    if (!line.starts_with("NSpid:")) continue;
    line.remove_prefix(6);
    for (const std::string_view word : split_words(line))
      if (int number = 0; to_number(word, &number)) numbers.push_back(number);
    return numbers;
  }
  return numbers;
}

int number_inside(int pid) {
  const std::vector<int> numbers = numbers_of("/proc/" + std::to_string(pid));
  return numbers.size() > 1 ? numbers.back() : 0;
}

void InsideIds::look_at(int pid, int depth) {
  const std::string directory = "/proc/" + std::to_string(pid) + "/task/";
  for (const int tid : attach::tasks_of(pid)) {
    const std::string task = directory + std::to_string(tid);
    if (!known_.contains(tid)) {
      const std::vector<int> numbers = numbers_of(task);
      if (numbers.size() < 2) continue;  // gone, or in our own namespace
      known_[tid] = numbers.back();
      outside_[numbers.back()] = tid;  // one that was given out again: the latest
    }
    if (depth == kMostDepth) continue;
    for (const int child : attach::children_of(pid, tid)) look_at(child, depth + 1);
  }
}

void InsideIds::look() {
  if (is_inside()) look_at(pid_, 0);
}

}  // namespace patchbay::cmd
