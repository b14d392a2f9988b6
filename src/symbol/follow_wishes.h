// SPDX-License-Identifier: MIT
//
// What a recording wants of the programs that its program executes (abi/follow_abi.h), as the tool
// writes it and the agent of such a program reads it. That agent looks quickly at the names in its
// program's objects, before it makes anything else: most programs have nothing that is wanted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "symbol/elf_image.h"

namespace patchbay {

// The lines of abi/follow_abi.h; what is no such line is passed over.
struct FollowWishes {
  uint64_t buffer_size_kb = 0;  // 0: nothing is said
  bool overwrite = true;
  uint64_t pid_namespace = 0;  // the tool's, as the inode of /proc/self/ns/pid
  bool all = false;
  std::vector<std::string> only, functions, events, libraries;
};
FollowWishes parse_follow_wishes(std::string_view text);
std::string text_of(const FollowWishes& wishes);

// Whether the program at `exe` is among those that are wanted.
bool is_wanted_program(const FollowWishes& wishes, const std::string& exe);
// Whether a function of this name in a symbol table may be meant by `pattern`. A mangled name is
// not demangled for it: then a part of the pattern has to be in it.
bool may_mean(std::string_view pattern, std::string_view symbol);
// Whether an object may have anything that is wanted: a function, a static event, a USDT probe.
bool may_have_wanted(const FollowWishes& wishes, const ElfImage& image);
// Whether this process may have: its objects are looked at, with their debug files.
bool may_have_wanted(const FollowWishes& wishes);

}  // namespace patchbay
