// SPDX-License-Identifier: MIT
//
// Events into a perf.data file (perf_data_file.h). Each record is there as it was written, with the
// format that describes it, so that `perf script` prints what `report` prints, but for names of
// addresses, which perf looks up in the program's files. Where formats of several inputs have one
// number, the later get another. A name that libtraceevent could not read gets underscores.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "export/export_sink.h"
#include "export/export_source.h"
#include "export/perf/perf_data_file.h"

namespace patchbay {

class PerfSink : public ExportSink {
 public:
  static Result<std::unique_ptr<PerfSink>> create(const std::string& path);

  Status begin(const ExportMeta& meta, ExportSource* source) override;
  Status schema(const ExportSchema& schema) override;
  Status event(const ExportEvent& event) override;
  Status loss(const ExportEvent& event) override;  // an unknown number counts 1
  Status end(const ExportStats& stats) override;

  std::vector<std::string> notes() const override;

 private:
  struct Kind {
    bool is_known = false;
    uint16_t id = 0;
    const ExportField* place = nullptr;  // the address of the function that it is about
  };
  PerfSink() = default;
  uint16_t free_id(uint16_t wanted);
  Status add_kind(const ExportSchema* schema);
  Status write_mappings(const ExportProcess& process);
  Status say_thread(const ExportThread& thread, uint64_t ns);
  const Kind& kind_of(const ExportEvent& event) const;

  std::unique_ptr<PerfDataFile> file_;
  const ExportMeta* meta_ = nullptr;
  std::vector<PerfDataFile::Format> formats_;
  std::vector<Kind> kinds_;  // by the schema's index + 1; the first: of no schema
  std::vector<bool> taken_ids_ = std::vector<bool>(65536, false);
  std::vector<bool> said_threads_, said_processes_;
  std::vector<uint8_t> record_;
};

}  // namespace patchbay
