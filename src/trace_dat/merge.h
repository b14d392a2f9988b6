// SPDX-License-Identifier: MIT
//
// Several trace.dat files of one machine as one: the events of all, by CPU in order of time, and in
// the option kDatImages who they came from (process_images.h).
//
//   part 0: CPU 0 page page   CPU 1 page ──┐ events by time     ids, texts      pages
//   part 1: CPU 0 page        CPU 1 page ──┼───────────────> of the merged ──> of CPU 0, 1 …
//   part 2: …                            ──┘ (one CPU at a time)  file
//
// Memory does not grow with the events: a stream has one chunk of its file, and has it from its
// first event to its last one. Beyond that there is what decodes the parts: formats, names,
// threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace_dat/process_images.h"
#include "trace_dat/trace_dat_write.h"

namespace patchbay {

// One file, and what its maker knows of it. What is missing is taken from the file itself. Of a
// file that was merged before the images are taken over, and the rest of this stays unused.
struct MergedPart {
  std::string path;                   // "": a program that has recorded nothing, which is listed
  int32_t pid = 0, parent = 0;        // 0: not known
  uint64_t begin_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC; 0: not known
  std::string exe;
  std::vector<std::string> words;  // the command line
  std::string note;                // a sentence for `report --processes`
  // Of a process in a pid namespace of its own: its number there, and which number here each of its
  // threads and children has, by that there. Records have the numbers there.
  int32_t inside = 0;
  std::map<int32_t, int32_t> outside;
};

struct MergeResult {
  TraceDatResult file;
  uint64_t events = 0;             // in the file
  std::vector<std::string> notes;  // sentences about what readers should know
};

// Where there can be only one name (kallsyms as trace-cmd reads it) the first part's is taken.
// `version`: 6 or 7. A full disk costs events, as it does with TraceDatWriter.
Result<MergeResult> merge_trace_dats(const std::vector<MergedPart>& parts,
                                     const std::vector<NotFollowed>& not_followed,
                                     const std::string& path, int version);
Result<MergeResult> merge_trace_dats(const std::vector<MergedPart>& parts,
                                     const std::vector<NotFollowed>& not_followed,
                                     OutputFile* output, int version);

}  // namespace patchbay
