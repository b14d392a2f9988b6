// SPDX-License-Identifier: MIT
// The formats by name, and what was asked of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "export/export_sink.h"
#include "export/export_writer.h"

namespace patchbay {

struct ExportSettings {
  std::string path;  // "-": standard output
  ExportCompression compression = ExportCompression::kNone;
  bool instants = false;              // --instants
  bool quote_formulas = false;        // --formulas quote
  std::vector<std::string> counters;  // --counter: "EVENT.FIELD", "SYSTEM:EVENT.FIELD"
};

struct ExportFormatRow {
  const char* name;
  const char* suffix;   // of the file that is written when none is named
  const char* summary;  // who reads it
  bool compresses;      // --compress is of use
  Result<std::unique_ptr<ExportSink>> (*make)(const ExportSettings& settings);
};

std::span<const ExportFormatRow> export_formats();
const ExportFormatRow* find_export_format(std::string_view name);
std::string export_format_names();  // "perfetto, chrome, …"

Result<std::unique_ptr<ExportSink>> make_perfetto_sink(const ExportSettings& settings);
Result<std::unique_ptr<ExportSink>> make_chrome_sink(const ExportSettings& settings);
Result<std::unique_ptr<ExportSink>> make_jsonl_sink(const ExportSettings& settings);
Result<std::unique_ptr<ExportSink>> make_csv_sink(const ExportSettings& settings);
Result<std::unique_ptr<ExportSink>> make_folded_sink(const ExportSettings& settings);
Result<std::unique_ptr<ExportSink>> make_speedscope_sink(const ExportSettings& settings);
Result<std::unique_ptr<ExportSink>> make_parquet_sink(const ExportSettings& settings);
Result<std::unique_ptr<ExportSink>> make_sqlite_sink(const ExportSettings& settings);
Result<std::unique_ptr<ExportSink>> make_perf_sink(const ExportSettings& settings);
Result<std::unique_ptr<ExportSink>> make_pprof_sink(const ExportSettings& settings);
Result<std::unique_ptr<ExportSink>> make_ctf_sink(const ExportSettings& settings);

// Of formats that are no stream: "-" is refused with this sentence.
Status needs_a_place(const ExportSettings& settings, const char* format);
// Of formats that show calls and stacks alone: what was exported has none.
Error has_no_stacks(const char* format);
// A sink that was made, as what the table of formats gives.
template <typename Sink>
Result<std::unique_ptr<ExportSink>> as_export_sink(Result<std::unique_ptr<Sink>> made) {
  if (!made.ok()) return made.error();
  return std::unique_ptr<ExportSink>(std::move(*made));
}

}  // namespace patchbay
