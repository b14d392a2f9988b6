// SPDX-License-Identifier: MIT
// Why the last call of the in-process API by this thread was refused (patchbay_error_text() of
// patchbay/patchbay.h). A call that succeeds leaves no sentence.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace patchbay {

// At the beginning of a call: what an earlier one has left says nothing about this one.
void forget_error();
// `sentence` is what the call that runs is refused with.
void keep_error(std::string_view sentence);
// As the text of a C string of at most `size` bytes; its whole length, 0: nothing is known.
size_t copy_error(char* buffer, size_t size);

// 0, or -errno, with the sentence kept.
int answer_of(const Status& status);
int refuse(const Error& error);
// A negative errno that says enough: nothing that an earlier call has left stands beside it.
int refuse_plain(int answer);

}  // namespace patchbay
