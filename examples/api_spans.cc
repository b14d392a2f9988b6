// SPDX-License-Identifier: MIT
//
// Durations as events: a span is recorded at the end of its scope, with its beginning, its duration
// and fields that the program sets. Then the program asks itself for a histogram.
//
//   ./api_spans
//     request: begin_ns=… duration_ns=… path=/index status=200 …
//     { path: /index … } hitcount: 2
#include <cstdio>
#include <patchbay/patchbay.hpp>
#include <string>

namespace {

using patchbay::field;
using RequestSpans = patchbay::span_event<field<char[32], "path">, field<int, "status">>;

int answer(const RequestSpans& spans, const char* path) {
  auto span = spans.begin(path, 0);
  const int status = path[1] == 'x' ? 404 : 200;
  span.value<"status">() = status;
  return status;
}

}  // namespace

int main() {
  auto spans = RequestSpans::create("request");
  if (!spans) return std::fprintf(stderr, "no event: %s\n", spans.error().message()), 1;
  answer(*spans, "/before");  // not recorded: the event is off, and no clock was read
  patchbay::instance top = patchbay::instance::top();
  top.add_trigger("synthetic:request", "hist:keys=path");
  if (!spans->enable()) return 1;
  for (const char* path : {"/index", "/x", "/index"}) answer(*spans, path);
  spans->disable();
  for (const char* file : {"trace", "events/synthetic/request/hist"}) {
    auto text = top.read(file);
    if (!text) return 1;
    std::fputs(text->c_str(), stdout);
  }
  return 0;
}
