// SPDX-License-Identifier: MIT
//
// What `merge` and `recover` share: the trace.dat that they make of others.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cmd/common/commands.h"
#include "trace_dat/trace_dat_write.h"

namespace patchbay::cmd {

struct FileOptions {
  std::string output;
  int version = 7;  // of trace.dat
};

constexpr Option kFormatOption = {
    .name = "format",
    .argument = "6|7",
    .help = "sets the version of the trace.dat; the default is 7",
    .id = kFirstOptionId,
};

// -o and --format. Null when the option is right, else the sentence about it.
inline const char* take_file_option(int id, std::string_view value, FileOptions* options) {
  if (id == 'o') {
    options->output = value;
    return value == "-" ? "A trace.dat cannot be written to standard output: -o FILE." : nullptr;
  }
  options->version = value == "6" ? 6 : 7;
  return value == "6" || value == "7" ? nullptr : "--format takes 6 or 7.";
}

// An error where the disk was too small for some events.
inline Status saved_whole(const TraceDatResult& file, const std::string& path) {
  if (!file.moved_to.empty())
    return user_error(ENOENT, path + " was removed or replaced meanwhile: the recording is in " +
                                  file.moved_to + ".");
  if (file.error == 0) return {};
  return user_error(file.error, path + ": " + std::to_string(file.events_lost) +
                                    " events could not be saved: " + std::strerror(file.error) +
                                    ". The file holds the others.");
}

}  // namespace patchbay::cmd
