// SPDX-License-Identifier: MIT
// Collapsed stacks: "main;parse;next 1234", sorted; nanoseconds of calls, or numbers of stacks.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "export/call_sums.h"
#include "export/export_formats.h"
#include "output/trace_line.h"

namespace patchbay {
namespace {

class FoldedSink : public ExportSink {
 public:
  explicit FoldedSink(std::unique_ptr<ExportWriter> writer) : writer_(std::move(writer)) {}
  Status begin(const ExportMeta& meta, ExportSource* source) override {
    builder_.begin(&meta, source);
    return {};
  }
  Status schema(const ExportSchema&) override { return {}; }
  Status event(const ExportEvent& event) override {
    builder_.take(event);
    return {};
  }
  Status loss(const ExportEvent&) override { return {}; }
  Status end(const ExportStats& stats) override {
    if (builder_.is_empty() && stats.events > 0) return has_no_stacks("folded");
    const CallSums& sums = *builder_.chosen();
    std::vector<std::string> lines;
    for (uint32_t node = 1; node < sums.nodes().size(); node++)
      if (sums.nodes()[node].self) lines.push_back(line_of(sums, node));
    std::sort(lines.begin(), lines.end());
    for (const std::string& line : lines) PB_TRY(writer_->put(line));
    return writer_->finish();
  }

 private:
  static std::string line_of(const CallSums& sums, uint32_t node) {
    std::vector<uint32_t> path;
    for (uint32_t at = node; at; at = sums.nodes()[at].parent) path.push_back(at);
    std::string line;
    for (size_t i = path.size(); i-- > 0;) {
      std::string name;
      append_escaped(&name, sums.name(path[i]));
      std::replace(name.begin(), name.end(), ';', ':');
      line += name + (i ? ";" : "");
    }
    return line + " " + std::to_string(sums.nodes()[node].self) + "\n";
  }
  std::unique_ptr<ExportWriter> writer_;
  CallSumsBuilder builder_;
};

}  // namespace

Result<std::unique_ptr<ExportSink>> make_folded_sink(const ExportSettings& settings) {
  PB_ASSIGN(auto writer, ExportWriter::open(settings.path, settings.compression));
  return std::unique_ptr<ExportSink>(new FoldedSink(std::move(writer)));
}

}  // namespace patchbay
