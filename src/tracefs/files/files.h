// SPDX-License-Identifier: MIT
//
// One maker per tracefs file, each in the source that is named after the file, and the two shapes
// that most of them have.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tracefs/root.h"
#include "tracefs/tree.h"

namespace patchbay::tracefs {

inline constexpr uint32_t kReadable = 0440;
inline constexpr uint32_t kWritable = 0640;

using FilePtr = std::unique_ptr<File>;

// A file that is only read.
FilePtr make_text_file(std::function<Result<std::string>()> text);
// A file that shows a text and takes a whole write.
FilePtr make_value_file(std::function<Result<std::string>()> text,
                        std::function<Status(std::string_view)> write);

// --- the root
FilePtr make_readme(const TreeContext& context);
FilePtr make_available_events(const TreeContext& context);
FilePtr make_available_filter_functions(const TreeContext& context);
FilePtr make_buffer_size_kb(const TreeContext& context);
FilePtr make_buffer_total_size_kb(const TreeContext& context);
FilePtr make_function_events(const TreeContext& context);
FilePtr make_saved_cmdlines(const TreeContext& context);
FilePtr make_set_event(const TreeContext& context);
FilePtr make_tracing_on(const TreeContext& context);
// --- per_cpu/cpuN; ring nr_cpus is the one for threads without rseq (debug/no_rseq_stats)
FilePtr make_stats(const TreeContext& context, uint32_t ring);
// --- events
FilePtr make_header_event(const TreeContext& context);
FilePtr make_header_page(const TreeContext& context);
FilePtr make_events_enable(const TreeContext& context);  // events/, events/functions/
FilePtr make_event_enable(const TreeContext& context, std::string event);
FilePtr make_event_format(const TreeContext& context, std::string event);
FilePtr make_event_id(const TreeContext& context, std::string event);
// --- debug
FilePtr make_call_sites(const TreeContext& context);
FilePtr make_refused_functions(const TreeContext& context);
FilePtr make_counters(const TreeContext& context);
FilePtr make_status(const TreeContext& context);

// An open file of an event that is gone answers this (ENODEV).
Error event_is_gone(std::string_view event);

}  // namespace patchbay::tracefs
