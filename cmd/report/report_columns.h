// SPDX-License-Identifier: MIT
//
// Chosen columns of `patchbay report --fields comm,time,n`, with a tab between them. The names are
// those of perf script --fields; any other one is a field of the recorded events.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/report/report_color.h"
#include "event/event_call.h"
#include "export/export_schema.h"
#include "output/trace_line.h"

namespace patchbay::cmd {

class ReportColumns {
 public:
  // `list`: names with commas between them. A name that is neither a column nor a field of any of
  // the events is an error, which names near ones.
  static Result<std::unique_ptr<ReportColumns>> parse(std::string_view list,
                                                      const std::vector<EventCall>& events);
  // "# comm\ttime\tn\n"
  std::string head() const;
  // A line. Where the event has no such field, "-". Bytes that could command a terminal are
  // escaped. `colors`: null for none.
  void append_line(std::string* out, uint32_t cpu, uint64_t ns, std::span<const uint8_t> record,
                   TraceLineWriter* lines, const ReportColors* colors) const;

 private:
  enum class Kind : uint8_t { kComm, kTid, kCpu, kFlags, kTime, kEvent, kTrace, kField };
  struct Column {
    Kind kind = Kind::kField;
    std::string name;
  };
  // One event, with the field of each column; null: it has none.
  struct Known {
    std::unique_ptr<ExportSchema> schema;
    std::string name;  // escaped
    std::vector<const ExportField*> fields;
  };
  void append_column(std::string* out, size_t index, uint32_t cpu, uint64_t ns,
                     std::span<const uint8_t> record, TraceLineWriter* lines) const;
  void color_column(std::string* out, size_t index, std::string_view text,
                    std::span<const uint8_t> record, const ReportColors& colors) const;
  const Known* known_of(std::span<const uint8_t> record) const;

  std::vector<Column> columns_;
  std::vector<Known> known_;
  std::vector<uint32_t> by_id_ = std::vector<uint32_t>(65536, 0);  // index + 1
};

}  // namespace patchbay::cmd
