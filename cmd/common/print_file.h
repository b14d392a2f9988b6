// SPDX-License-Identifier: MIT
// A tracefs file on standard output.
#pragma once

#include <string_view>

#include "serve/client.h"

namespace patchbay::cmd {

// Ctrl-C and SIGTERM end print_file() as the end of the file does.
void stop_on_interrupt();
// Also a reader of our output that goes away ends it.
void stop_on_closed_output();
bool interrupted();

// Prints a file. One that waits for events (trace_pipe) is followed until Ctrl-C or the end of the
// process. Each piece goes out at once, as somebody may look at it. To a terminal its control
// characters are escaped, as the program has chosen them; a pipe or file gets each byte.
Status print_file(serve::Client& client, std::string_view path);

}  // namespace patchbay::cmd
