// SPDX-License-Identifier: MIT
//
// One argument of a probe event, NAME=FETCH:TYPE (docs/files.md), from text to a chain of
// fetch instructions.
#pragma once

#include <string_view>

#include "event/probe_event.h"
#include "event/probe_event_words.h"

namespace patchbay {

// Which of the variables and registers the place has. `definition` has its kind, its place and its
// source event already.
struct ProbeArgumentContext {
  const ProbeDefinition& definition;
  ProbeWorld& world;
  ProbeFaults& faults;
  const EventCall* source = nullptr;  // e:, and t: when it is there

  bool is_uprobe() const { return definition.kind == ProbeKind::kUprobe; }
  bool is_eprobe() const { return definition.kind == ProbeKind::kEprobe; }
  // The kernel's rules: places given by address are neither, and uprobes have no $argN at all.
  bool is_function_entry() const;
  bool is_function_return() const;
};

// Appends to `done`, which holds the arguments before it. `size`: bytes of all fields so far.
// False: context.faults says why.
bool parse_probe_argument(std::string_view word, const ProbeArgumentContext& context,
                          std::vector<ProbeArgument>* done, uint64_t* size);

// All `$argN` and `$arg*` words are looked at before the first argument is parsed. `first`: the
// number of words before them.
bool check_meta_arguments(const std::vector<std::string_view>& words, size_t first,
                          const ProbeArgumentContext& context);

// Of `$retval:float80` alone.
const ProbeType* long_double_type();

// N of the type string/N: a text ends behind so many bytes if no NUL comes before, since an array
// of characters need not have one. `type` may also be a whole argument, which ends with its type.
std::optional<uint32_t> text_bound(std::string_view type);

// "+8" or "-8" behind the symbol of `@SYM`, cut off; the error of the number.
int split_symbol_offset(std::string_view* symbol, int64_t* offset);

std::vector<std::string> probe_type_names();

}  // namespace patchbay
