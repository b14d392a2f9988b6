// SPDX-License-Identifier: MIT
#include "event/ftrace_events.h"

#include "abi/ftrace_records.h"

namespace patchbay {

namespace {

EventField number(std::string type, std::string name, uint32_t offset, uint32_t size,
                  bool is_signed = false) {
  return {std::move(type), std::move(name), offset, size, is_signed, 0, {}};
}
EventField word(std::string name, uint32_t offset) {
  return number("unsigned long", std::move(name), offset, 8);
}
// Runs to the end of the record.
EventField rest(std::string type, std::string name, uint32_t offset) {
  return {std::move(type), std::move(name), offset, 0, false, 0, "[]"};
}

EventCall event(uint16_t id, std::string name, std::vector<EventField> fields,
                std::string print_fmt) {
  EventCall call;
  call.system = "ftrace";
  call.name = std::move(name);
  call.id = id;
  call.common = common_fields();
  call.fields = std::move(fields);
  call.print_fmt = std::move(print_fmt);
  return call;
}

EventField stack_words() { return {"unsigned long", "caller", 16, 64, false, 8, {}}; }

constexpr char kStackFormat[] =
    R"("\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n", )"
    "(void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], "
    "(void *)REC->caller[3], (void *)REC->caller[4], (void *)REC->caller[5], "
    "(void *)REC->caller[6], (void *)REC->caller[7]";
// The last number is the depth, in the kernel too.
constexpr char kExitFormat[] =
    R"f("<-- %ps (%u) (start: %llx  end: %llx) over: %u retval: %lx", (void *)REC->func, )f"
    "REC->depth, REC->calltime, REC->rettime, REC->depth, REC->retval";
constexpr char kRepeatsFormat[] =
    R"f(" %ps <-%ps\t(repeats:%u  delta: -%llu)", (void *)REC->ip, (void *)REC->parent_ip, )f"
    "REC->count, (((u64)(REC)->top_delta_ts << 32) | (REC)->bottom_delta_ts)";

}  // namespace

[[gnu::cold]] std::vector<EventCall> ftrace_events() {
  return {
      event(abi::kFunctionId, "function",
            {word("ip", 8), word("parent_ip", 16), rest("unsigned long", "args", 24)},
            R"(" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip)"),
      event(abi::kGraphEntryId, "funcgraph_entry",
            {word("func", 8), number("unsigned int", "depth", 16, 4),
             rest("unsigned long", "args", 24)},
            R"f("--> %ps (%u)", (void *)REC->func, REC->depth)f"),
      event(abi::kGraphRetaddrEntryId, "funcgraph_retaddr_entry",
            {word("func", 8), number("unsigned int", "depth", 16, 4), word("retaddr", 24),
             rest("unsigned long", "args", 32)},
            R"f("--> %ps (%u) <- %ps", (void *)REC->func, REC->depth, (void *)REC->retaddr)f"),
      event(abi::kGraphExitId, "funcgraph_exit",
            {word("func", 8), word("retval", 16), number("unsigned int", "depth", 24, 4),
             number("unsigned int", "overrun", 28, 4),
             number("unsigned long long", "calltime", 32, 8),
             number("unsigned long long", "rettime", 40, 8)},
            kExitFormat),
      event(abi::kKernelStackId, "kernel_stack", {number("int", "size", 8, 4, true), stack_words()},
            kStackFormat),
      event(abi::kUserStackId, "user_stack", {number("unsigned int", "tgid", 8, 4), stack_words()},
            kStackFormat),
      event(abi::kFuncRepeatsId, "func_repeats",
            {word("ip", 8), word("parent_ip", 16), number("u16", "count", 24, 2),
             number("u16", "top_delta_ts", 26, 2), number("u32", "bottom_delta_ts", 28, 4)},
            kRepeatsFormat),
      event(abi::kPrintId, "print", {word("ip", 8), rest("char", "buf", 16)},
            R"("%ps: %s", (void *)REC->ip, REC->buf)"),
      event(abi::kBprintId, "bprint",
            {word("ip", 8), number("const char *", "fmt", 16, 8), rest("u32", "buf", 24)},
            R"("%ps: %s", (void *)REC->ip, REC->fmt)"),
      event(abi::kBputsId, "bputs", {word("ip", 8), number("const char *", "str", 16, 8)},
            R"("%ps: %s", (void *)REC->ip, REC->str)"),
      event(abi::kRawDataId, "raw_data",
            {number("unsigned int", "id", 8, 4), rest("char", "buf", 12)},
            R"("id:%04x %08x", REC->id, (int)REC->buf[0])"),
  };
}

}  // namespace patchbay
