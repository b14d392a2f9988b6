// SPDX-License-Identifier: MIT
#include "export/export_formats.h"

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

}  // namespace patchbay
