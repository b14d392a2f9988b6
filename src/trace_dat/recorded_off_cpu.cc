// SPDX-License-Identifier: MIT
#include "trace_dat/recorded_off_cpu.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "abi/trace_dat_abi.h"

namespace patchbay {

void take_switches(PageSource* pages, const SchedSwitchReader& reader, OffCpuTimes* times) {
  EventMerger merger(pages);
  MergedEvent event;
  SchedSwitch one;
  std::vector<uint64_t> last(pages->nr_cpus(), 0);
  uint64_t end = ~uint64_t{0};
  while (merger.next(&event)) {
    if (event.lost_before) times->lose(last[event.index], event.ns);
    last[event.index] = event.ns;
    if (reader.read(event.record, &one)) times->take(event.ns, one);
  }
  if (merger.malformed_pages() && !last.empty()) end = *std::min_element(last.begin(), last.end());
  times->finish(end);
}

// The kernel's buffer is the last one, if the file says that it has one.
std::unique_ptr<RecordedOffCpu> recorded_off_cpu(const TraceDatReader& file) {
  const std::optional<SchedSwitchReader> reader = SchedSwitchReader::among(file.events());
  if (!reader || file.buffers().empty()) return nullptr;
  const bool has_kernel =
      std::any_of(file.events().begin(), file.events().end(), [](const EventCall& event) {
        return event.id == abi::kDatKernelPrintId && event.system == "ftrace";
      });
  auto made = std::make_unique<RecordedOffCpu>(RecordedOffCpu{{}, *reader});
  TraceDatPages pages(&file, has_kernel ? &file.buffers().back() : &file.buffers().front());
  take_switches(&pages, *reader, &made->times);
  if (made->times.empty()) return nullptr;
  return made;
}

}  // namespace patchbay
