// SPDX-License-Identifier: MIT
#include "cmd/measure/executed_notes.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"

namespace patchbay::cmd {

std::string list_of_programs(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  const size_t shown = names.size() > kMost ? kMost - 1 : names.size();
  std::string text;
  for (size_t i = 0; i < shown; i++)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text +
         (shown < names.size() ? " and " + std::to_string(names.size() - shown) + " more" : "");
}

void add_program(const std::string& exe, std::vector<std::string>* names) {
  std::string name(base_name(exe));
  if (std::find(names->begin(), names->end(), name) == names->end())
    names->push_back(std::move(name));
}

void ExecutedNotes::add(const std::string& exe, const Status& ready,
                        std::vector<std::string>* losses) {
  if (ready.ok()) return add_program(exe, &also_);
  if (ready.error().errno_value == ENOENT) return add_program(exe, &lacking_);
  losses->push_back("the program has executed another one (" + exe + "), " + lost_ + ": " +
                    ready.error().message());
}

void ExecutedNotes::add_unreached(const ExecutedProgram& program,
                                  std::vector<std::string>* losses) {
  add(program.exe, user_error(program.reason.empty() ? ENOENT : ENOTSUP, program.reason), losses);
}

std::vector<std::string> ExecutedNotes::take(ExecutedPrograms* executed) {
  std::vector<std::string> sentences;
  const auto also = std::exchange(also_, {}), lacking = std::exchange(lacking_, {});
  if (!also.empty())
    sentences.push_back("the program has executed " + list_of_programs(also) + ", which " +
                        (also.size() == 1 ? "is" : "are") + " " + done_ + ", too");
  if (!lacking.empty())
    sentences.push_back(list_of_programs(lacking) + (lacking.size() == 1 ? " has " : " have ") +
                        nothing_);
  if (executed)
    for (std::string& one : executed->take_sentences()) sentences.push_back(std::move(one));
  return sentences;
}

}  // namespace patchbay::cmd
