// SPDX-License-Identifier: MIT
#include "hot/thread_block.h"

namespace patchbay {
extern "C" {
__thread ThreadBlock* pb_thread_block
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = nullptr;
}
}  // namespace patchbay
