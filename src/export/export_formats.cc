// SPDX-License-Identifier: MIT
#include "export/export_formats.h"

#include <cerrno>

namespace patchbay {

std::span<const ExportFormatRow> export_formats() {
  static const ExportFormatRow kRows[] = {
      {"perfetto", "pftrace", "ui.perfetto.dev and trace_processor", true, make_perfetto_sink},
      {"chrome", "json", "chrome://tracing, Perfetto, speedscope, Tracy's importer", true,
       make_chrome_sink},
      {"speedscope", "speedscope.json", "speedscope.app", false, make_speedscope_sink},
      {"folded", "folded", "flamegraph.pl and what takes collapsed stacks", false,
       make_folded_sink},
      {"csv", "csv", "spreadsheets and scripts", true, make_csv_sink},
      {"jsonl", "jsonl", "jq, DuckDB, pandas: one object a line", true, make_jsonl_sink},
      {"parquet", "parquet", "DuckDB, ClickHouse, pandas: a directory, a file a kind of event",
       false, make_parquet_sink},
      {"sqlite", "sqlite", "sqlite3: a table a kind of event", false, make_sqlite_sink},
      {"perf", "perf.data", "perf script, perf report, hotspot", false, make_perf_sink},
      {"pprof", "pb.gz", "go tool pprof, Pyroscope, speedscope", false, make_pprof_sink},
      {"ctf", "ctf", "babeltrace2, Trace Compass: a directory", false, make_ctf_sink},
  };
  return kRows;
}

const ExportFormatRow* find_export_format(std::string_view name) {
  for (const ExportFormatRow& row : export_formats())
    if (name == row.name) return &row;
  return nullptr;
}

std::string export_format_names() {
  std::string names;
  for (const ExportFormatRow& row : export_formats())
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

Error has_no_stacks(const char* format) {
  return user_error(ENODATA, std::string("There are no calls and no stacks, of which ") + format +
                                 " is made: record with -t function_graph, or with -O stacktrace.");
}

Status needs_a_place(const ExportSettings& settings, const char* format) {
  if (settings.path != "-") return {};
  return user_error(EINVAL, std::string("The format ") + format +
                                " is not written from its beginning to its end, so that standard "
                                "output cannot take it: -o names a place.");
}

}  // namespace patchbay
