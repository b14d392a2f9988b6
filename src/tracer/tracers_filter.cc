// SPDX-License-Identifier: MIT
//
// set_ftrace_filter and set_ftrace_notrace (docs/files.md, "Function filters", "function_tracers").
//
//   open: a copy of the hash, or with O_TRUNC an empty one
//     write: `func`, `!glob`, `glob:mod:lib` -> the copy        `func:traceoff` -> at once
//   close: the copy becomes the hash of the tracer it was opened for; one transaction
//
// Until close nothing of it has an effect, so replacing a filter never traces all functions for a
// moment. Of several writers the one that closes last wins.
#include <algorithm>
#include <cerrno>

#include "tracer/tracers_impl.h"

namespace patchbay {

namespace {

constexpr std::string_view kLocation = "ftrace_filter";
constexpr std::string_view kAllEnabled = "#### all functions enabled ####";
constexpr std::string_view kNoneDisabled = "#### no functions disabled ####";
constexpr std::string_view kCommands[] = {"traceon", "traceoff", "snapshot",     "stacktrace",
                                          "dump",    "cpudump",  "enable_event", "disable_event"};

FtraceHash& hash_of(FtraceOps* ops, Tracers::Filter which) {
  return which == Tracers::Filter::kFilter ? ops->filter : ops->notrace;
}

// `prefix` before each line. The kernel says that nothing is disabled also where there are lines of
// modules that are not loaded.
std::string hash_text(const FunctionTable& table, const FtraceHash& hash, Tracers::Filter which,
                      const std::string& prefix) {
  const bool is_filter = which == Tracers::Filter::kFilter;
  std::string text;
  if (is_filter ? hash.empty() : hash.functions.empty()) {
    text += prefix + std::string(is_filter ? kAllEnabled : kNoneDisabled) + "\n";
  }
  text += list_functions(table, hash, prefix);
  for (const std::string& line : hash.modules) text += prefix + line + "\n";
  return text;
}

// "[         trace] ", as wide as the longest name.
std::string section_prefix(const FtraceOps& ops, size_t width) {
  return "[ " + std::string(width - ops.name.size(), ' ') + ops.name + "] ";
}

Error log_error(TraceArray& array, std::string_view line, size_t position, const Error& error) {
  array.errors.add(kLocation, error.message(), line, position);
  return error;
}

// LIBRARY:NAME, as definitions of function events have it, reads as a command here.
Error unknown_command(const FilterLine& line) {
  return user_error(EINVAL, "There is no command '" + line.command +
                                "'. A function of one library is written as '" + line.command +
                                ":mod:" + line.pattern + "'.");
}

Status write_command(FunctionCommands& commands, const Tracers::FilterSession& session,
                     const FilterLine& line) {
  if (session.which == Tracers::Filter::kNotrace) {
    return user_error(EINVAL, "Commands are written to set_ftrace_filter.");
  }
  const bool is_known =
      std::find(std::begin(kCommands), std::end(kCommands), line.command) != std::end(kCommands);
  if (!is_known) return unknown_command(line);
  return commands.write(*session.array, line);
}

}  // namespace

Result<Tracers::FilterSession> Tracers::open_filter(TraceArray& array, Filter which,
                                                    bool truncate) {
  impl_->ops.refresh();
  FilterSession session;
  session.array = &array;
  session.which = which;
  session.ops = impl_->ops.default_of(array);
  if (!session.ops) session.ops = &impl_->of(array).ops;
  if (!truncate) session.hash = hash_of(session.ops, which);
  session.changed = truncate;
  return session;
}

Status Tracers::write_filter_line(FilterSession* session, std::string_view text) {
  TraceArray& array = *session->array;
  const size_t begin = text.starts_with('!') ? 1 : 0;
  Result<FilterLine> line = parse_filter_line(text);
  if (!line.ok()) return log_error(array, text, text.size() - 1, line.error());
  if (line->command.empty()) {
    Status status = apply_filter_line(impl_->table, *line, &session->hash);
    if (!status.ok()) return log_error(array, text, begin, status.error());
    session->changed = true;
    return {};
  }
  Status status = write_command(commands(), *session, *line);
  if (status.ok()) return {};
  const size_t command = begin + line->pattern.size() + 1;
  const bool has_functions = !matching_functions(impl_->table, *line).empty();
  return log_error(array, text, has_functions ? command : begin, status.error());
}

// The tracer may have gone meanwhile, and with it its filter.
Status Tracers::close_filter(FilterSession* session) {
  if (!session->changed) return {};
  session->changed = false;
  FtraceOps* ops = session->ops;
  const std::vector<FtraceOps*> there = impl_->ops.listed(*session->array);
  const bool is_there = ops == &impl_->of(*session->array).ops ||
                        std::find(there.begin(), there.end(), ops) != there.end();
  if (!is_there) return {};
  FtraceHash filter = ops->filter, notrace = ops->notrace;
  (session->which == Filter::kFilter ? filter : notrace) = session->hash;
  Status status = impl_->ops.set_hashes(ops, std::move(filter), std::move(notrace));
  impl_->table.drop_caches();
  return status.ok() ? status : log_error(*session->array, "", 0, status.error());
}

[[gnu::cold]] Status Tracers::set_profiling(bool on) {
  Profiler& profiler = this->profiler();
  if (on == profiler.enabled()) return {};
  TraceArray& top = impl_->registry.top();
  FtraceOps* ops = &impl_->of(top).ops;
  if (on) {
    const bool is_alone = impl_->ops.of(top).empty();
    impl_->profiler_took_filter = is_alone;
    if (!is_alone) return profiler.set_enabled(true);
    return profiler.set_enabled(true, Profiler::Functions{ops->filter, ops->notrace});
  }
  PB_TRY(profiler.set_enabled(false));
  const bool leaves = impl_->profiler_took_filter && impl_->ops.of(top).empty();
  impl_->profiler_took_filter = false;
  if (!leaves || impl_->ops.shares_filters(top)) return {};
  Profiler::Functions functions = profiler.functions();
  return impl_->ops.set_hashes(ops, std::move(functions.filter), std::move(functions.notrace));
}

std::string Tracers::show_filter(TraceArray& array, Filter which) {
  std::string text;
  std::vector<FtraceOps*> all = impl_->ops.of(array);
  FtraceOps* chosen = impl_->ops.default_of(array);
  if (chosen && chosen->of_program) all.push_back(chosen);
  if (all.size() > 1 && !impl_->ops.shares_filters(array)) {
    size_t width = 0;
    for (const FtraceOps* ops : all) width = std::max(width, ops->name.size());
    for (FtraceOps* ops : all) {
      text += hash_text(impl_->table, hash_of(ops, which), which, section_prefix(*ops, width));
    }
  } else {
    const bool is_own = all.empty() || impl_->ops.shares_filters(array);
    FtraceOps* ops = is_own ? &impl_->of(array).ops : all.front();
    text = hash_text(impl_->table, hash_of(ops, which), which, "");
  }
  if (which == Filter::kFilter) text += commands().show(array);
  return text;
}

}  // namespace patchbay
