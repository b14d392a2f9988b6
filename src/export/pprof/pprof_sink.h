// SPDX-License-Identifier: MIT
//
// A profile out of a recording: counts by stack.
//
//   calls, time   of function_graph. `time` is a call's own time, without that of the calls that it
//                 made; pprof adds it up along the stacks: flat is self time, cum is all of it.
//   events        of events that were recorded with a stack, each kind with the label `event`, and
//                 of the function tracer, whose stack is at least caller and function.
//
// Functions are named as in the recording, with what could harm a terminal escaped: pprof needs
// none of the program's files.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "export/export_sink.h"
#include "export/export_source.h"
#include "export/export_writer.h"
#include "export/pprof/pprof_profile.h"

namespace patchbay {

class PprofSink : public ExportSink {
 public:
  static Result<std::unique_ptr<PprofSink>> create(const std::string& path);

  Status begin(const ExportMeta& meta, ExportSource* source) override;
  Status schema(const ExportSchema&) override { return {}; }
  Status event(const ExportEvent& event) override;
  Status loss(const ExportEvent&) override { return {}; }
  Status end(const ExportStats& stats) override;

  std::vector<std::string> notes() const override;

 private:
  enum Value : size_t { kCalls, kEvents, kTime };
  struct OpenCall {
    uint32_t node = 0;
    uint64_t child_ns = 0;
  };
  PprofSink();
  uint32_t frame(const ExportEvent& event, uint64_t address);
  uint32_t stack_frame(const ExportEvent& event, size_t index);
  std::vector<OpenCall>& open_calls(const ExportEvent& event);
  void take_begin(const ExportEvent& event);
  void take_end(const ExportEvent& event);
  void take_event(const ExportEvent& event);

  std::unique_ptr<ExportWriter> writer_;
  PprofProfile profile_;
  ExportSource* source_ = nullptr;
  const ExportMeta* meta_ = nullptr;
  // Of a thread in a buffer of an input: its calls nest.
  std::map<std::pair<uint64_t, const ExportThread*>, std::vector<OpenCall>> threads_;
  std::pair<uint64_t, const ExportThread*> last_key_{~uint64_t{0}, nullptr};
  std::vector<OpenCall>* last_ = nullptr;
  std::vector<uint32_t> roots_;  // by the schema's index; 0: not made yet
};

}  // namespace patchbay
