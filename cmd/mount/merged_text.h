// SPDX-License-Identifier: MIT
//
// The texts that a file has in several processes, as one: what a mount's directory `all` shows.
//
//   equal in all          shown once, as a process shows it
//   lists of lines        each line once, in the order in which they are met: set_event,
//                         kprobe_events
//   enable, tracing_on    X, as the kernel says it of a directory whose events differ
//   anything else         # 4711 nginx
//                         # 4712 nginx         one head line for each process that has this text
//                         … the text …
//                         # 4720 python3
//                         … another one …
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace patchbay::cmd {

struct ProcessText {
  int pid = 0;
  std::string name;
  std::string text;
};

// "# 4711 nginx\n".
std::string process_head(int pid, std::string_view name);
// `path`: the file's, which says what kind of text it is.
std::string merge_texts(std::string_view path, std::vector<ProcessText> texts);

}  // namespace patchbay::cmd
