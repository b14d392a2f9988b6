// SPDX-License-Identifier: MIT
//
// Writing a trace.dat that trace-cmd, KernelShark and libtraceevent read.
//
// In the file the pages of a CPU stand in one piece. They arrive mixed, as long as the recording
// lasts. So each CPU has an unlinked spool file beside the output. finish() writes the metadata,
// whose size is known then, and moves the pages behind it. It frees the spool's space on the way:
// the disk holds the recording once, not twice. On a full disk the file has fewer pages, and is
// valid.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "ring_buffer/buffer_file.h"

namespace patchbay {

struct TraceDatOptions {
  int version = 7;            // 6 or 7
  uint32_t page_size = 4096;  // BufferHeader.subbuf_size
  uint32_t nr_cpus = 1;       // rings; a last ring without pages is left out (it is not a CPU)
  // Buffers of instances, in the order of their numbers from 1 on (0 is the top one). Version 6 has
  // one page size for all.
  struct Instance {
    std::string name;
    uint32_t page_size = 4096;
  };
  std::vector<Instance> instances;
  // The pages are made from those of other files: durations in them are nanoseconds already, and
  // every ring is a CPU's.
  bool merged = false;
};

// What a reader needs besides the pages. collect_metadata() makes it from a buffer file.
struct TraceDatMetadata {
  struct Format {
    std::string system, name, text;
  };
  std::vector<Format> formats;
  std::string printk_formats;          // the text of that file
  std::string kallsyms;                // lines "%016llx t name\t[module]", ascending
  std::string cmdlines;                // lines "pid comm"
  std::string process_maps;            // modules_text(), or empty
  std::vector<std::string> cpu_stats;  // by CPU: "entries: N\noverrun: N\n…"
  bool tsc = false;                    // pages hold TSC ticks, clock_line converts them
  ClockLine clock_line;
  std::string uname;
  std::string matches;  // lines of abi/match_abi.h, or empty
  std::string images;   // ProcessImages::text(), or empty
  std::string boot;     // "BOOT-ID NS" (abi::kDatBoot), or empty
  uint64_t trace_id = 0;
};

struct TraceDatArea;  // trace_dat_layout.h

struct TraceDatResult {
  uint64_t bytes = 0;        // size of the file
  uint64_t pages = 0;        // that are in it
  uint64_t pages_lost = 0;   // that did not fit
  uint64_t events_lost = 0;  // in those
  int error = 0;             // errno that made pages_lost > 0
  // Somebody has removed it meanwhile, so that it was made anew; and of which other name, where
  // that could not be the same.
  bool was_removed = false;
  std::string moved_to;
};

class TraceDatWriter {
 public:
  // Makes (or empties) `path`. An unwritable place is an error here, before anything is recorded.
  static Result<std::unique_ptr<TraceDatWriter>> open(const std::string& path,
                                                      const TraceDatOptions& options);
  static Result<std::unique_ptr<TraceDatWriter>> open(OutputFile file,
                                                      const TraceDatOptions& options);
  ~TraceDatWriter();

  // Keeps one page. Pages are written many at a time. An error (ENOSPC, EIO) means that some of
  // those that were waiting are not in the file and were counted in TraceDatResult; pages written
  // before are safe, and a later call may succeed again.
  Status append_page(uint32_t cpu, const PageImage& page) { return append_page(0, cpu, page); }
  Status append_page(uint32_t buffer, uint32_t cpu, const PageImage& page);
  uint64_t pages() const { return pages_; }
  uint64_t bytes_spooled() const { return bytes_; }

  // Writes the file, anew where somebody has removed it. Fails only when not even the metadata can
  // be written; otherwise the file is readable, and the result says what is in it. To be called
  // once.
  Result<TraceDatResult> finish(const TraceDatMetadata& metadata);

 private:
  struct Spool {  // one ring of one buffer
    UniqueFd fd;
    uint32_t page_size = 4096;
    uint64_t pages = 0;            // with those that wait
    std::vector<uint32_t> events;  // by page, to count what could not be saved
    std::string waiting;           // the last pages, until they are worth a system call
  };
  TraceDatWriter() = default;
  Status make_spool(Spool* spool);
  Status flush(Spool* spool);
  bool drop_last_pages(TraceDatResult* result, int error);
  void convert_chunk(char* chunk, size_t size, uint32_t page_size) const;
  uint64_t copy_spool(Spool* spool, uint64_t offset, TraceDatResult* result);
  std::vector<TraceDatArea> areas() const;
  Status write_parts(const TraceDatMetadata& metadata, std::vector<TraceDatArea>* areas);

  TraceDatOptions options_;
  OutputFile file_;
  std::vector<std::vector<Spool>> spools_;  // by buffer and ring
  uint64_t pages_ = 0, bytes_ = 0;
  uint64_t refused_pages_ = 0, refused_events_ = 0;
  int refused_error_ = 0;
  bool tsc_ = false;  // durations are ticks of the line
  ClockLine clock_line_;
};

// Text of events/header_page and events/header_event for sub-buffers of this size.
std::string header_page_text(uint32_t page_size);
std::string header_event_text();

}  // namespace patchbay
