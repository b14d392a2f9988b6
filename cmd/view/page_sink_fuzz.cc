// SPDX-License-Identifier: MIT
// Any bytes as a trace.dat, through the iterator into a page: no read beyond an end, no hang, and a
// payload whose header says nothing of what is not in the data.
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/common/losses.cc"   // the tool is no library
#include "cmd/view/page_pack.cc"  // NOLINT
#include "cmd/view/page_sink.cc"  // NOLINT
#include "trace_dat/trace_dat_read.h"

namespace patchbay::cmd {
std::string json_quote(std::string_view text) {
  std::string out = "\"";
  append_json_string(&out, text);
  return out + "\"";
}
}  // namespace patchbay::cmd

using namespace patchbay;
using namespace patchbay::cmd;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  UniqueFd fd(::memfd_create("page", MFD_CLOEXEC));
  if (::write(fd.get(), data, size) != ssize_t(size)) return 0;
  auto reader = TraceDatReader::from_fd(std::move(fd), "page");
  if (!reader.ok()) return 0;
  ExportInput input;
  input.path = "page";
  input.dat = reader->get();
  for (const auto& buffer : (*reader)->buffers()) {
    input.names.push_back(buffer.name);
    input.pages.push_back(std::make_unique<TraceDatPages>(reader->get(), &buffer));
  }
  std::vector<ExportInput> inputs;
  inputs.push_back(std::move(input));
  auto source = ExportSource::open(std::move(inputs));
  if (!source.ok()) return 0;
  PageOptions options;
  options.most_rows = size % 2 ? 50 : 5000;
  PageSink sink(options);
  if (!sink.begin((*source)->meta(), source->get()).ok()) return 0;
  ExportEvent event;
  for (int i = 0; i < 20000 && (*source)->next(&event); i++)
    (void)(event.kind == ExportEvent::Kind::kLoss ? sink.loss(event) : sink.event(event));
  (void)sink.end((*source)->stats());
  if (!page_payload(sink.header(), sink.data()).ok()) __builtin_trap();
  return 0;
}
