// SPDX-License-Identifier: MIT
#include "cmd/common/export_input.h"

#include <sys/stat.h>

#include <utility>

namespace patchbay::cmd {
namespace {

Result<ExportInput> open_one(const std::string& path) {
  PB_ASSIGN(auto opened, open_trace_input(path));
  auto trace = std::make_shared<TraceInput>(std::move(opened));
  ExportInput input;
  input.path = path;
  input.dat = trace->dat.get();
  input.buffer = trace->buffer.get();
  for (size_t i = 0; i < trace->nr_buffers(); i++) {
    PB_ASSIGN(auto pages, trace->pages(i));
    input.names.push_back(trace->buffer_name(i));
    input.pages.push_back(std::move(pages));
  }
  input.owner = std::move(trace);
  return input;
}

// A directory of several processes is all of them.
Result<std::vector<std::string>> recordings_in(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return std::vector<std::string>{path};
  PB_ASSIGN(auto sources, find_buffer_sources(path));
  std::vector<std::string> found;
  if (sources.size() <= 1) return std::vector<std::string>{path};
  for (const BufferSource& source : sources) found.push_back(path + "/" + source.process());
  return found;
}

}  // namespace

Result<std::vector<ExportInput>> open_export_inputs(const std::vector<std::string>& paths) {
  std::vector<ExportInput> inputs;
  for (const std::string& path : paths) {
    PB_ASSIGN(auto recordings, recordings_in(path));
    for (const std::string& recording : recordings) {
      PB_ASSIGN(auto input, open_one(recording));
      inputs.push_back(std::move(input));
    }
  }
  return inputs;
}

const TraceInput& trace_input_of(const ExportInput& input) {
  return *static_cast<const TraceInput*>(input.owner.get());
}

}  // namespace patchbay::cmd
