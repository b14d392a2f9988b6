// SPDX-License-Identifier: MIT
//
// What the events of a recording are printed with: their formats, the names of addresses, threads
// and arguments.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "cmd/common/trace_input.h"
#include "cmd/record/recorded_arguments.h"
#include "event/event_call.h"
#include "output/address_names.h"
#include "output/printk_text.h"
#include "output/trace_line.h"

namespace patchbay::cmd {

// One thread's.
struct ReportDecoder {
  // Threads ask one after the other.
  struct Arguments {
    explicit Arguments(const TraceInput& input) : recorded(input) {}
    std::mutex mutex;
    RecordedArguments recorded;
  };
  std::vector<EventCall> events;
  AddressNames names;
  PrintkTexts printk;
  std::shared_ptr<Arguments> arguments;
  std::unique_ptr<TraceLineWriter> lines;
};

// `input` outlives it. It fails when a buffer file has gone or was damaged since.
Result<std::unique_ptr<ReportDecoder>> make_report_decoder(const TraceInput& input);
// One more of the same trace.dat for another thread, which may call this itself: `first` is not
// changed. What does not change they share.
std::unique_ptr<ReportDecoder> make_report_decoder_like(const TraceInput& input,
                                                        const ReportDecoder& first);

}  // namespace patchbay::cmd
