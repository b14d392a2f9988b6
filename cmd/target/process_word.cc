// SPDX-License-Identifier: MIT
#include "cmd/target/process_word.h"

#include <algorithm>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/target/running_process.h"
#include "cmd/target/target_program.h"

namespace patchbay::cmd {
namespace {

// The sentence of an option stays until it was said.
const char* kept(std::string sentence) {
  static std::string g_sentence;
  g_sentence = std::move(sentence);
  return g_sentence.c_str();
}

// Of one word. Empty: *wrong says why.
std::vector<int> pids_of(std::string_view word, const char** wrong) {
  int pid = 0;
  if (parse_pid(word, &pid)) return {pid};
  std::vector<int> pids;
  const bool is_number = word.find_first_not_of("0123456789") == word.npos;
  if (!is_number) pids = processes_called(word);
  if (is_number)
    *wrong = "-p takes a process id, or the name of running processes.";
  else if (pids.empty())
    *wrong = kept("-p " + std::string(word) +
                  ": no process that you may look into has this name; ids and names are in "
                  "`ps -e`.");
  return pids;
}

}  // namespace

std::vector<int> processes_called(std::string_view name) {
  std::vector<int> pids;
  for (const int pid : running_pids()) {
    const std::string exe = exe_of(pid);
    if (!exe.empty() && (base_name(exe) == name || comm_of(pid) == name))
      pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

const char* take_pid(const char* value, int* pid) {
  const char* wrong = nullptr;
  const std::vector<int> pids = pids_of(value, &wrong);
  if (pids.size() > 1) {
    std::vector<std::string> texts;
    for (const int one : pids) texts.push_back(std::to_string(one));
    wrong = kept("-p " + std::string(value) + " is " + std::to_string(pids.size()) +
                 " processes: " + join(texts, ", ") + "; here it takes one of them.");
  }
  if (!wrong) *pid = pids[0];
  return wrong;
}

const char* take_pids(std::string_view value, std::vector<int>* pids) {
  do {
    const char* wrong = nullptr;
    for (const int pid : pids_of(cut_at(&value, ','), &wrong))
      if (std::find(pids->begin(), pids->end(), pid) == pids->end()) pids->push_back(pid);
    if (wrong) return wrong;
  } while (!value.empty());
  return nullptr;
}

}  // namespace patchbay::cmd
