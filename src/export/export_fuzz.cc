// SPDX-License-Identifier: MIT
// Any bytes as a trace.dat, through the iterator and every format: no crash, no hang, no read
// beyond an end. The input is laid as patches (place, value) over a good file of version 6 or 7, or
// taken as the whole file.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "export/export_formats.h"
#include "export/export_testing.h"

using namespace patchbay;

namespace {

void export_to(const ExportFormatRow& format, const std::string& bytes, uint8_t choice) {
  std::vector<ExportInput> inputs(1);
  if (!test::export_input_of(bytes, &inputs[0])) return;
  ExportChoice chosen;
  if (choice & 1) chosen.filter = "price > -100 || s ~ \"*a*\"";
  if (choice & 2) chosen.from_ns = 1035;
  auto source = ExportSource::open(std::move(inputs), chosen);
  if (!source.ok()) return;
  ExportSettings settings;
  // Some formats are directories, some want a regular file.
  static const std::string path = "/dev/shm/export_fuzz." + std::to_string(::getpid());
  settings.path = path;
  settings.instants = choice & 4;
  auto sink = format.make(settings);
  if (!sink.ok()) std::abort();
  // A page has at most a thousand events, and calls that are open end once.
  uint64_t events = 0;
  const Status status = export_all(source->get(), sink->get(), [&events](const ExportEvent&) {
    if (++events > 100'000) std::abort();
  });
  if (!status.ok()) std::abort();
  sink->reset();
  std::filesystem::remove_all(path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string good[2] = {
      test::make_trace_dat(6, {test::some_of_each(), test::some_of_each()}, 5),
      test::make_trace_dat(7, {test::some_of_each(), test::some_of_each()}, 5)};
  if (size < 2) return 0;
  std::string bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  if (data[0] < 240) {
    bytes = good[data[0] & 1];
    for (size_t i = 2; i + 7 <= size; i += 7) {
      uint16_t place;
      std::memcpy(&place, data + i, 2);
      std::memcpy(&bytes[place % (bytes.size() - 4)], data + i + 2, 1 + data[i + 6] % 4);
    }
    if (data[0] & 2) bytes.resize(bytes.size() - data[0] * 13 % 4000);
  }
  const std::span<const ExportFormatRow> formats = export_formats();
  export_to(formats[(data[1] >> 3) % formats.size()], bytes, data[1]);
  return 0;
}
