// SPDX-License-Identifier: MIT
// Lines of trace_pipe a second: 100,000 events of a static event with two integers and a text, from
// page images to text.
#include <benchmark/benchmark.h>

#include <cstring>

#include "output/page_feed.h"
#include "output/trace_text.h"

namespace {

using namespace patchbay;

std::string make_record(int i) {
  struct {
    uint16_t id = 900;
    uint8_t flags = 0, preempt = 0;
    int32_t pid = 4711;
    int32_t fd;
    uint32_t where = 20 | 12 << 16;
    uint32_t size;
    char text[12] = "hello world";
  } record;
  record.fd = i & 7;
  record.size = uint32_t(i);
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

void TracePipe(benchmark::State& state) {
  EventCall call{"app", "write_done", 900, common_fields(), {}, ""};
  call.fields = {{"int", "fd", 8, 4, true},
                 {"__data_loc char[]", "name", 12, 4},
                 {"unsigned int", "size", 16, 4}};
  call.print_fmt = "\"fd=%d name=%s size=%u\", REC->fd, __get_str(name), REC->size";
  TraceTextSources sources;
  sources.events = [&] { return std::vector<const EventCall*>{&call}; };
  sources.comms = [] { return std::vector<abi::CommEntry>{{4711, 4711, "worker"}}; };
  sources.clock = [](TraceClock) { return TraceClockConvert(); };
  TraceArray array;
  std::vector<PageImage> pages;
  for (int i = 0; i < 1000; i++) {
    std::vector<std::pair<uint64_t, std::string>> events;
    for (int j = 0; j < 100; j++)
      events.push_back({uint64_t(i * 100 + j) * 1000, make_record(i * 100 + j)});
    pages.push_back(test::make_page(events));
  }
  for (auto _ : state) {
    state.PauseTiming();
    auto feed = std::make_unique<test::PageFeed>(4);
    for (size_t i = 0; i < pages.size(); i++) feed->add(uint32_t(i % 4), pages[i]);
    TraceText pipe(sources, array, std::move(feed), TraceText::Mode::kPipe, {});
    state.ResumeTiming();
    while (!pipe.next(4096).empty()) {
    }
  }
  state.SetItemsProcessed(int64_t(state.iterations()) * 100000);
}
BENCHMARK(TracePipe)->Unit(benchmark::kMillisecond);

}  // namespace
