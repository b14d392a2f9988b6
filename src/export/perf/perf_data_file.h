// SPDX-License-Identifier: MIT
//
// Writing a perf.data file, as `perf record -e SYSTEM:EVENT -g` does (the kernel's
// tools/perf/Documentation/perf.data-file-format.txt).
//
//   header | records: COMM, MMAP2, SAMPLE, LOST … | features | attributes | ids
//
// Each kind of event is an attribute of type tracepoint. Its number is that of its format, which
// stands in the feature TRACING_DATA, and each sample carries the record as it was written. perf
// finds the attributes by the header, so that they stand behind the records, when it is known which
// events there are. A record's size has 16 bits: what does not fit is cut, and counted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/output_file.h"
#include "base/result.h"

namespace patchbay {

struct PerfMapping {
  int32_t pid = 0;
  uint64_t start = 0, size = 0, file_offset = 0;
  std::string path, build_id;  // hex; empty: none
};

struct PerfSample {
  uint64_t ns = 0;
  uint32_t cpu = 0;
  int32_t pid = 0, tid = 0;
  uint16_t event_id = 0;            // as in its format
  uint64_t ip = 0;                  // 0: of no place
  std::span<const uint64_t> stack;  // the innermost frame first
  std::span<const uint8_t> record;
};

class PerfDataFile {
 public:
  struct Format {
    std::string system, name, text;  // the text of a format file
    uint16_t id = 0;
  };
  struct About {
    std::string hostname, release, command_line;
    uint32_t cpus = 1;
  };
  // `path` must be a file that can be written anywhere: the header is known at the end.
  static Result<std::unique_ptr<PerfDataFile>> create(const std::string& path);
  ~PerfDataFile();

  Status comm(int32_t pid, int32_t tid, std::string_view name, uint64_t ns);
  Status mapping(const PerfMapping& mapping);
  Status sample(const PerfSample& sample);
  Status lost(uint64_t ns, uint32_t cpu, uint64_t events);
  // `formats` has every event that was sampled.
  Status finish(const std::vector<Format>& formats, const About& about);

  uint64_t cut_records() const { return cut_records_; }

 private:
  PerfDataFile() = default;
  void begin_record(uint32_t type, uint16_t misc);
  Status end_record();
  void put_sample_id(uint64_t ns, uint32_t cpu, int32_t pid, int32_t tid);
  Status write_out();
  std::string build_ids() const;

  std::string path_;
  OutputFile file_;
  bool finished_ = false;
  std::string out_;
  size_t record_ = 0;     // where it begins in out_
  uint64_t written_ = 0;  // bytes of the file
  uint64_t records_ = 0, cut_records_ = 0;
  std::map<std::string, PerfMapping> builds_;  // by path and build-id
};

}  // namespace patchbay
