// SPDX-License-Identifier: MIT
#include "cmd/target/memory_need.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "attach/process_maps.h"
#include "attach/tracing.h"
#include "base/memory_room.h"
#include "base/possible_cpus.h"
#include "serve/directory.h"
#include "symbol/function_count.h"
#include "tracer/function_table.h"

namespace patchbay::cmd {
namespace {

// What an agent takes that has come, has a buffer of the smallest size, and records an event.
constexpr uint64_t kAgentBytes = uint64_t{3} << 20;
// Of no function is less code.
constexpr uint64_t kLeastCode = 4;

uint64_t buffer_bytes(uint64_t kb) {
  // The ring that all threads share when they have none of their own has a quarter of another's.
  return (possible_cpus() * kb + kb / 4) * 1024;
}

// Of the program and its libraries.
uint64_t count_functions_of(int pid) {
  uint64_t count = 0;
  const std::vector<attach::MapLine> lines = attach::read_maps(pid);
  const auto read = [pid](uint64_t address, void* to, size_t size) {
    return attach::read_memory(pid, address, to, size).ok();
  };
  for (const attach::MapLine& first : lines) {
    if (first.offset != 0 || first.inode == 0) continue;
    uint64_t code = 0;
    for (const attach::MapLine& line : lines)
      if (line.is_code && line.inode == first.inode && line.device == first.device)
        code += line.range.end - line.range.start;
    if (code) count += count_functions_at(first.range.start, read, code / kLeastCode);
  }
  return count;
}

Status check_room(const std::optional<MemoryRoom>& room, int pid, uint64_t bytes,
                  const std::string& what) {
  return check_memory_room(room, kAgentBytes + bytes, what + " in process " + std::to_string(pid),
                           "Make the buffer smaller (-b), or name fewer functions (-l).");
}

Status check_buffer(uint64_t kb) {
  PB_ASSIGN(const std::string runtime, serve::runtime_directory(false));
  struct statvfs status;
  const uint64_t wanted = buffer_bytes(kb);
  if (::statvfs(runtime.c_str(), &status) != 0) return {};
  const uint64_t free = uint64_t{status.f_bavail} * status.f_frsize;
  if (wanted <= free) return {};
  return user_error(ENOSPC, "A buffer of " + std::to_string(wanted >> 10) + " KB does not fit in " +
                                runtime + ", where " + std::to_string(free >> 10) +
                                " KB are free: make it smaller (-b), or set PATCHBAY_DIR to a "
                                "directory with more room.");
}

}  // namespace

Status check_room_for_agent(int pid, uint64_t buffer_kb) {
  if (buffer_kb) PB_TRY(check_buffer(buffer_kb));
  return check_room(memory_room_of(pid), pid, buffer_bytes(buffer_kb), "The agent");
}

Status check_room_for_request(int pid, const TraceRequest& request) {
  constexpr uint64_t kUsualKb = 1408;
  const std::optional<MemoryRoom> room = memory_room_of(pid);
  uint64_t kb = 0, functions = 0, function_bytes = 0;
  std::string what = "Tracing";
  for (const InstanceRequest& one : request.instances()) {
    kb += one.buffer_kb ? one.buffer_kb : kUsualKb;
    if (!room || !one.traces() || !one.functions.empty()) continue;
    if (!functions) functions = count_functions_of(pid);
    what = one.tracer + " of about " + std::to_string(functions) + " functions";
    function_bytes = kPlannedBytes + (one.tracer == "function" ? kTracedBytes : kTracedReturnBytes);
  }
  PB_TRY(check_buffer(kb));
  return check_room(room, pid, buffer_bytes(kb) + functions * function_bytes, what);
}

}  // namespace patchbay::cmd
