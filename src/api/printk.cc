// SPDX-License-Identifier: MIT
//
// printk (patchbay/trace.h): the variadic functions, and what is written out at once because it
// cannot be recorded as a format and arguments. Nothing here takes the lock but what prepares.
//
//   constant format   ── printk_write       bprint: ip, format, packed arguments   (printk_hot.cc)
//     without % and escapes, no arguments   bputs:  ip, text
//   any other         ── write_out          print:  ip, the whole text
#include <cstdarg>
#include <cstring>
#include <new>

#include "api/api_scope.h"
#include "api/trace_array_handle.h"
#include "base/error_pointer.h"
#include "base/program_stderr.h"
#include "output/printk_text.h"
#include "patchbay/trace.h"
#include "probe/open_signals.h"
#include "probe/records/printk_hot.h"
#include "probe/records/stack_hot.h"
#include "registry/object_log.h"
#include "registry/printk.h"

namespace patchbay {
namespace {

// Where the function of ours that the program has called was called from.
#define PB_CALLER_START                                                  \
  StackStart {                                                           \
    reinterpret_cast<uint64_t>(__builtin_return_address(0)),             \
        reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + 16,     \
        *static_cast<const uint64_t*>(__builtin_frame_address(0)), false \
  }

// A va_list is this, on x86-64.
VariadicArguments* arguments_of(va_list list) { return reinterpret_cast<VariadicArguments*>(list); }

// bputs: other programs take its text as it stands in printk_formats, quoted or not.
bool is_plain_text(const PrintkPlan& plan) {
  for (uint32_t i = 0; i < plan.length; i++) {
    const char c = plan.text[i];
    if (c == '%' || c == '"' || c == '\\' || c == '\t' || c == '\r') return false;
    if (c == '\n' && i + 1 < plan.length) return false;
  }
  return true;
}

// The text of a format that may change under our hands, or has no place in the table.
int write_out(const PrintkCall& call, const char* format, VariadicArguments* arguments) {
  char kept[kPrintkMaxFormat + 1], text[kPrintkArgumentBytes];
  const int32_t length = printk_text_length(format, kPrintkMaxFormat);
  if (length < 0) return 0;
  std::memcpy(kept, format, size_t(length));
  kept[length] = '\0';
  PrintkOut out = {text, text + sizeof text};
  alignas(8) uint8_t packed[kPrintkArgumentBytes];
  PrintkPiece piece;
  for (uint32_t at = 0; next_printk_piece(kept, at, &piece); at = piece.end) {
    if (piece.pack == PrintkPack::kText) {
      out.text(kept + piece.begin, piece.end - piece.begin);
    } else if (piece.pack == PrintkPack::kPercent) {
      out.put('%');
    } else {
      const uint32_t bytes = printk_pack(&piece, 1, arguments, packed);
      PrintkArguments one = {{packed, bytes}};
      put_printk_argument(&out, piece, &one);
    }
  }
  return printk_write_print(call, text, uint32_t(out.at - text));
}

int write_format(const PrintkCall& call, const char* format, VariadicArguments* arguments) {
  const OpenSignals open;
  const PrintkPlan* plan = printk_plan(format);
  if (__builtin_expect(!plan, 0)) plan = printk_learn(format);
  if (__builtin_expect(!plan, 0)) return write_out(call, format, arguments);
  if (__builtin_expect(!plan->nr_steps, 0) && is_plain_text(*plan))
    return printk_write_bputs(call, plan);
  return printk_write(call, plan, arguments);
}

// Where trace_printk() goes, if it is prepared and on; else null.
const EventProgram* destination() {
  const EventProgram* dest = __atomic_load_n(&pb_printk_dest, __ATOMIC_ACQUIRE);
  return dest && printk_is_on(dest) ? dest : nullptr;
}

bool is_prepared() { return __atomic_load_n(&pb_printk_dest, __ATOMIC_RELAXED) != nullptr; }

// Of the instance (null: only of where trace_printk() goes), and of all that the program holds.
Status start_printk(Agent* agent, TraceArray* array) {
  Registry& registry = *agent->registry;
  PB_TRY(registry.printk().start(array ? *array : registry.printk().dest()));
  for (TraceArray* other : registry.arrays())
    if (has_handle(*other)) PB_TRY(registry.printk().start(*other));
  return {};
}

constexpr char kNotice[] =
    "patchbay: trace_printk() is in use: lines of this program's own, meant for finding faults, "
    "are\n"
    "patchbay: written into its trace. A program that is shipped should not contain them.\n";

}  // namespace
}  // namespace patchbay

using namespace patchbay;

extern "C" {

int patchbay_trace_array_printk(trace_array* tr, unsigned long ip, const char* fmt, ...) {
  if (!is_pointer(tr)) return -ENOENT;
  if (tr->is_top || !fmt || !is_prepared() || !printk_is_on(tr->program)) return 0;
  va_list list;
  va_start(list, fmt);
  const int written = write_format({tr->program, ip, PB_CALLER_START}, fmt, arguments_of(list));
  va_end(list);
  return written;
}

int patchbay_trace_array_vprintk(trace_array* tr, unsigned long ip, const char* fmt, va_list args) {
  if (!is_pointer(tr)) return -ENOENT;
  if (!fmt || !is_prepared() || !printk_is_on(tr->program)) return 0;
  return write_format({tr->program, ip, PB_CALLER_START}, fmt, arguments_of(args));
}

int patchbay_trace_array_init_printk(trace_array* tr) try {
  if (!tr) return refuse_plain(-ENOENT);
  ApiScope scope;
  if (!scope) return scope.refusal();
  TraceArray* array = array_of(scope.agent(), tr);
  if (!array) return -ENODEV;
  return array->is_top() ? -EINVAL : answer_of(start_printk(scope.agent(), array));
} catch (const std::bad_alloc&) {
  return no_memory(-ENOMEM);
}

void patchbay_trace_printk_init_buffers(void) try {
  static std::atomic<bool> said{false};
  ApiScope scope;
  if (!scope || said.exchange(true)) return;
  if (Status status = start_printk(scope.agent(), nullptr); !status.ok())
    return say(status.error().message());
  write_to_program_stderr(kNotice);
} catch (const std::bad_alloc&) {
  say_no_memory();
}

void patchbay_printk_used(void) try {
  ApiScope scope;
  if (!scope || scope.registry().printk().started()) return;
  if (Status status = start_printk(scope.agent(), nullptr); !status.ok())
    say(status.error().message());
} catch (const std::bad_alloc&) {
  say_no_memory();
}

void patchbay_dump_stack_used(void) try {
  patchbay_printk_used();
  ApiScope scope;
  if (scope) scope.registry().objects().want_stacks();
} catch (const std::bad_alloc&) {
  say_no_memory();
}

int patchbay___trace_printk(unsigned long ip, const char* fmt, ...) {
  const EventProgram* dest = destination();
  if (!dest || !fmt) return 0;
  va_list list;
  va_start(list, fmt);
  const int written = write_format({dest, ip, PB_CALLER_START}, fmt, arguments_of(list));
  va_end(list);
  return written;
}

int patchbay___ftrace_vprintk(unsigned long ip, const char* fmt, va_list args) {
  const EventProgram* dest = destination();
  if (!dest || !fmt) return 0;
  return write_format({dest, ip, PB_CALLER_START}, fmt, arguments_of(args));
}

int patchbay___trace_bputs(unsigned long ip, const char* str) {
  const EventProgram* dest = destination();
  if (!dest || !str) return 0;
  const PrintkCall call = {dest, ip, PB_CALLER_START};
  const OpenSignals open;
  const PrintkPlan* plan = printk_plan(str);
  if (!plan) plan = printk_learn(str);
  if (plan && is_plain_text(*plan)) return printk_write_bputs(call, plan);
  return printk_write_print(call, str, kPrintkArgumentBytes);
}

int patchbay___trace_puts(unsigned long ip, const char* str, int size) {
  const EventProgram* dest = destination();
  if (!dest || !str || size <= 0) return 0;
  const OpenSignals open;
  return printk_write_print({dest, ip, PB_CALLER_START}, str, uint32_t(size));
}

void patchbay___trace_dump_stack(int skip) {
  const EventProgram* dest = __atomic_load_n(&pb_printk_dest, __ATOMIC_ACQUIRE);
  if (!dest) return;
  const OpenSignals open;
  printk_write_stack({dest, 0, PB_CALLER_START}, skip > 0 ? uint32_t(skip) : 0);
}

}  // extern "C"
