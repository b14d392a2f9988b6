// SPDX-License-Identifier: MIT
// tracing_on: whether the rings take events. Any number but 0 means 1.
#include "tracefs/files/files.h"
#include "tracefs/write_style.h"

namespace patchbay::tracefs {
namespace {

Status set_tracing_on(const TreeContext& context, bool on) {
  if (context.set_tracing_on) return context.set_tracing_on(on);
  if (on) return context.buffer.enable();
  context.buffer.disable();
  return {};
}

}  // namespace

FilePtr make_tracing_on(const TreeContext& context) {
  auto read = [&context]() -> Result<std::string> {
    bool on = context.tracing_on ? context.tracing_on() : context.buffer.enabled();
    return std::string(on ? "1\n" : "0\n");
  };
  auto write = [&context](std::string_view bytes) -> Status {
    Result<uint64_t> number = parse_number(bytes);
    if (!number.ok()) return number.error();
    return set_tracing_on(context, *number != 0);
  };
  return make_value_file(read, write);
}

}  // namespace patchbay::tracefs
