// SPDX-License-Identifier: MIT
#include "tracer/stack_tracer.h"

#include <cerrno>
#include <cstdio>

#include "abi/buffer_abi.h"
#include "probe/records/stack_hot.h"

namespace patchbay {

namespace {

constexpr std::string_view kDisabled =
    "#\n"
    "#  Stack tracer disabled\n"
    "#\n"
    "# To enable the stack tracer, either add 'stacktrace' to the\n"
    "# kernel command line\n"
    "# or 'echo 1 > /proc/sys/kernel/stack_tracer_enabled'\n"
    "#\n";
constexpr std::string_view kLocation = "stack_trace_filter";

struct Seen {
  std::vector<uint64_t> ip, depth;
};

// The outermost function's frame begins where its caller's would end: it is not counted.
Seen read_seen() {
  Seen seen;
  while (!lock_stack_depth()) continue;  // a traced thread holds it for one walk
  for (uint32_t i = 0; i < pb_stack_depth.count && pb_stack_depth.depth[i] > 0; i++) {
    seen.ip.push_back(pb_stack_depth.ip[i]);
    seen.depth.push_back(pb_stack_depth.depth[i]);
  }
  unlock_stack_depth();
  return seen;
}

// The kernel's %pS; of an address that a call returns to, its %pB: the call may be the last
// instruction of its function.
std::string place_text(SymbolTable& symbols, uint64_t ip, bool is_caller) {
  char text[64];
  SymbolizedAddress found;
  if (is_caller && symbols.symbolize(ip - 1, &found)) {
    found.offset++;
  } else if (!symbols.symbolize(ip, &found)) {
    std::snprintf(text, sizeof text, "0x%lx", static_cast<unsigned long>(ip));
    return text;
  }
  std::snprintf(text, sizeof text, "+0x%lx/0x%x", static_cast<unsigned long>(found.offset),
                found.size);
  return found.name + text;
}

}  // namespace

struct StackTracer::Impl {
  Impl(Registry& r, FtraceOpsTable& o) : registry(r), table(o) {}
  Registry& registry;
  FtraceOpsTable& table;
  FtraceOps ops;
  bool enabled = false;
};

StackTracer::StackTracer(Registry& registry, FtraceOpsTable& ops) : impl_(new Impl(registry, ops)) {
  FtraceOps& own = impl_->ops;
  own.name = "trace_stack";
  own.own_filter = true;
  own.array = &registry.top();
  own.live.call.system = "ftrace";
  own.live.call.name = "stack";
  own.live.kind = ConsumerKind::kStackDepth;
  own.live.max_size = sizeof(abi::RecordHeader);
  ops.follow(&own);
}

StackTracer::~StackTracer() { impl_->table.unfollow(&impl_->ops); }

bool StackTracer::enabled() const { return impl_->enabled; }

Status StackTracer::set_enabled(bool on) {
  if (on == impl_->enabled) return {};
  if (on)
    PB_TRY(impl_->table.add(&impl_->ops));
  else
    impl_->table.remove(&impl_->ops);
  impl_->enabled = on;
  return {};
}

uint64_t StackTracer::max_size() const {
  return __atomic_load_n(&pb_stack_depth.size, __ATOMIC_RELAXED);
}

void StackTracer::set_max_size(uint64_t bytes) {
  while (!lock_stack_depth()) continue;
  __atomic_store_n(&pb_stack_depth.size, bytes, __ATOMIC_RELAXED);
  unlock_stack_depth();
}

std::string StackTracer::show() const {
  const Seen seen = read_seen();
  std::string text = "        Depth    Size   Location    (" + std::to_string(seen.ip.size()) +
                     " entries)\n        -----    ----   --------\n";
  if (!impl_->enabled && max_size() == 0) return text + std::string(kDisabled);
  for (size_t i = 0; i < seen.ip.size(); i++) {
    const uint64_t next = i + 1 < seen.ip.size() ? seen.depth[i + 1] : 0;
    char line[64];
    std::snprintf(line, sizeof line, "%3zu) %8lu   %5lu   ", i,
                  static_cast<unsigned long>(seen.depth[i]),
                  static_cast<unsigned long>(seen.depth[i] - next));
    text += line + place_text(impl_->registry.symbols(), seen.ip[i], i > 0) + "\n";
  }
  return text;
}

// --- stack_trace_filter

FtraceHash StackTracer::open_filter(bool truncate) {
  impl_->table.refresh();
  return truncate ? FtraceHash{} : impl_->ops.filter;
}

Status StackTracer::write_filter_line(std::string_view text, FtraceHash* written) {
  Result<FilterLine> line = parse_filter_line(text);
  Status status = line.ok() ? Status() : Status(line.error());
  if (status.ok() && !line->command.empty())
    status = user_error(EINVAL, "Commands stand in set_ftrace_filter, not here.");
  if (status.ok()) status = apply_filter_line(impl_->table.table(), *line, written);
  if (!status.ok())
    impl_->registry.top().errors.add(kLocation, status.error().message(), text,
                                     text.starts_with('!') ? 1 : 0);
  return status;
}

Status StackTracer::close_filter(FtraceHash written) {
  std::erase_if(written.functions, [](const DynFtrace* function) { return function->gone; });
  return impl_->table.set_hashes(&impl_->ops, std::move(written), impl_->ops.notrace);
}

std::string StackTracer::show_filter() const {
  const FtraceHash& hash = impl_->ops.filter;
  if (hash.empty()) return "#### all functions enabled ####\n";
  return list_functions(impl_->table.table(), hash);
}

}  // namespace patchbay
