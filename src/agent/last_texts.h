// SPDX-License-Identifier: MIT
//
// What a program leaves beside its buffer when it ends by exit() or returns from main(): texts of
// its files that nobody can ask it for any more (last_hists.cc, last_profile.cc).
#pragma once

#include <mutex>
#include <string>

namespace patchbay {

// The lock's holder may be at work, or may never run again: it is waited for 1 s. False: it has not
// let go.
bool take_lock_at_end(std::unique_lock<std::recursive_mutex>* guard);
// False: the file does not have all of the text.
bool keep_text(const std::string& path, const std::string& text);

}  // namespace patchbay
