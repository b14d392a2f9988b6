// SPDX-License-Identifier: MIT
//
// What a command that counts in its program says about those that this one has executed in its
// place (executed_programs.h).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/target/executed_programs.h"

namespace patchbay::cmd {

// Programs in a sentence: "sh", "sh and ls", "sh, ls, cat and 3 more".
std::string list_of_programs(const std::vector<std::string>& names);
// Adds the last part of a path, once.
void add_program(const std::string& exe, std::vector<std::string>* names);

class ExecutedNotes {
 public:
  // The command's words: the program is `done` ("counted"); one that cannot be is `lost` ("whose
  // calls are not counted"); one that lacks the functions has `nothing` ("nothing of it").
  ExecutedNotes(const char* done, const char* lost, const char* nothing)
      : done_(done), lost_(lost), nothing_(nothing) {}

  // `ready`: whether it is counted there. ENOENT: it has nothing of what is asked. Any other reason
  // is a sentence among the `losses`.
  void add(const std::string& exe, const Status& ready, std::vector<std::string>* losses);
  // The same of a program without a client.
  void add_unreached(const ExecutedProgram& program, std::vector<std::string>* losses);
  // Sentences, with those of the agents; `executed` may be null. Each is taken once.
  std::vector<std::string> take(ExecutedPrograms* executed);

 private:
  const char *const done_, *const lost_, *const nothing_;
  std::vector<std::string> also_, lacking_;  // names of programs
};

}  // namespace patchbay::cmd
