// SPDX-License-Identifier: MIT
//
// Whether there is room for what a command will take on a process's behalf, before anything of it
// is touched: its control group, which pays for the agent, the buffer and what tracing needs, and
// the file system of the buffer. The agent asks the same of what comes by other ways (an instance's
// buffer, `current_tracer` of a mount): RingBuffer::reserve(), FunctionTable::check_room().
#pragma once

#include <cstdint>

#include "base/result.h"
#include "cmd/target/trace_request.h"

namespace patchbay::cmd {

// ENOMEM, ENOSPC: it does not fit, and what to do. `buffer_kb`: of one CPU; 0: as large as an agent
// makes it without being told.
Status check_room_for_agent(int pid, uint64_t buffer_kb);
// The same with what the request asks for.
Status check_room_for_request(int pid, const TraceRequest& request);

}  // namespace patchbay::cmd
