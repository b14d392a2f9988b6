// SPDX-License-Identifier: MIT
//
// The environment of an exec, with what brings the agent into the new program:
//
//   the program's      A=1  LD_PRELOAD=x.so                B
//   the new program's  A=1  LD_PRELOAD=[RUNTIME:]AGENT:x.so  B  PATCHBAY_FOLLOW=...
//                                                           [PATCHBAY_PRELOADED=RUNTIME]
//
// The agent there takes it out again before the program runs (hide_from_environment() of
// environment.h), so that the program has what it was given, in the same order. Where LD_PRELOAD
// was there, and be it empty, a colon stands behind AGENT.
//
// As in exec_target.h there is no libc here: the caller brings the memory.
#pragma once

#include <cstddef>

namespace patchbay {

struct ExecAdditions {
  const char* agent;          // the path of libpatchbay.so
  const char* runtime_first;  // ExecDecision::runtime_first; null or "": none
  const char* follow;         // the value of PATCHBAY_FOLLOW
};

// Whether all of an environment, or of the words of an exec, can be read. Where it cannot, the
// system call says EFAULT, and whoever read it would fault in its place. Null: an empty list.
bool exec_list_is_readable(char* const* list) noexcept;

// From here on an `envp` is readable.
//
// Its entries, without the NULL at the end. For the kernel a null `envp` is an empty environment.
size_t exec_environment_count(char* const* envp) noexcept;

// The most that make_exec_environment() needs: pointers, and bytes of text.
struct ExecRoom {
  size_t slots, text;
};
ExecRoom exec_environment_room(char* const* envp, const ExecAdditions& add) noexcept;

// Into `out_vector`: the entries of `envp`, as pointers, ours among them, and a NULL; the texts of
// ours are in `text`. Of several LD_PRELOADs the last is changed: the dynamic linker obeys that
// one. An entry with the name of one of our variables becomes ours. False: there is no room.
bool make_exec_environment(char* const* envp, const ExecAdditions& add, char** out_vector,
                           size_t slots, char* text, size_t text_size) noexcept;

// The dynamic linker is asked for a list of the libraries only, as ldd does: the agent would be in
// it, and nothing of the program runs.
bool exec_only_lists(char* const* envp) noexcept;

}  // namespace patchbay
