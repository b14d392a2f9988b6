// SPDX-License-Identifier: MIT
#include "output/tracer_text.h"

#include <algorithm>

#include "event/stack_how_text.h"
#include "output/event_text.h"
#include "output/line_columns.h"
#include "output/text_put.h"

namespace patchbay {

namespace {

constexpr size_t kMaxShownFrames = 1024;
constexpr uint64_t kTrampolineMarker = 0x7fffffff;  // "[FTRACE TRAMPOLINE]" of a kernel's stacks

TracerText::Kind kind_of(const EventCall& call) {
  using Kind = TracerText::Kind;
  if (call.system != "ftrace") return Kind::kNone;
  if (call.name == "function") return Kind::kFunction;
  if (call.name == "func_repeats") return Kind::kRepeats;
  if (call.name == "funcgraph_entry" || call.name == "funcgraph_retaddr_entry" ||
      call.name == "fgraph_retaddr_entry")
    return Kind::kGraphEntry;
  if (call.name == "funcgraph_exit") return Kind::kGraphExit;
  if (call.name == "kernel_stack") return Kind::kStack;
  return call.name == "user_stack" ? Kind::kUserStack : Kind::kNone;
}

}  // namespace

TracerText::TracerText(const EventCall& call) : kind_(kind_of(call)) {
  struct Row {
    std::string_view name;
    Field* field;
  };
  const Row rows[] = {{"ip", &ip_},
                      {"func", &ip_},
                      {"parent_ip", &parent_},
                      {"args", &args_},
                      {"depth", &depth_},
                      {"retaddr", &retaddr_},
                      {"retval", &retval_},
                      {"overrun", &overrun_},
                      {"calltime", &calltime_},
                      {"rettime", &rettime_},
                      {"count", &count_},
                      {"top_delta_ts", &top_},
                      {"bottom_delta_ts", &bottom_},
                      {"caller", &frames_},
                      {"size", &size_}};
  for (const EventField& field : call.fields)
    for (const Row& row : rows)
      if (kind_ != Kind::kNone && row.name == field.name)
        *row.field = {field.offset, field.size, true};
  const bool complete =
      kind_ == Kind::kStack || kind_ == Kind::kUserStack ? frames_.is_there : ip_.is_there;
  if (!complete) kind_ = Kind::kNone;
}

// 0 where the record ends before the field, or the format has no such field.
uint64_t TracerText::value(const Field& field, std::span<const uint8_t> record) const {
  if (!field.is_there || field.offset > record.size() || field.size > record.size() - field.offset)
    return 0;
  const uint8_t* at = record.data() + field.offset;
  if (field.size == 8) return load<uint64_t>(at);
  if (field.size == 4) return load<uint32_t>(at);
  uint64_t value = 0;
  if (field.size < 8) std::memcpy(&value, at, field.size);
  return value;
}

// The words from the field to the end of the record.
std::span<const uint8_t> TracerText::words(const Field& field,
                                           std::span<const uint8_t> record) const {
  if (!field.is_there || field.offset >= record.size()) return {};
  const size_t bytes = (record.size() - field.offset) / 8 * 8;
  return record.subspan(field.offset, bytes);
}

namespace {

void append_numbered(std::string* out, std::span<const uint8_t> words) {
  for (size_t i = 0; i < words.size() / 8; i++) {
    *out += i ? ", arg" : "arg";
    put_number(out, i + 1);
    *out += "=0x";
    put_hex(out, load<uint64_t>(words.data() + 8 * i));
  }
}

// The recorded word, cut to the value's width; false: it was not recorded.
bool take_word(std::span<const uint8_t> words, int8_t index, uint32_t size, bool is_signed,
               uint64_t* value) {
  if (index < 0 || size_t(index) >= words.size() / 8) return false;
  const uint32_t unused = size < 8 ? 64 - 8 * size : 0;
  *value = load<uint64_t>(words.data() + 8 * size_t(index)) << unused;
  *value = is_signed ? uint64_t(int64_t(*value) >> unused) : *value >> unused;
  return true;
}

void append_aggregate(std::string* out, std::span<const uint8_t> words,
                      const CallArgument& argument) {
  for (int i = 0; i < (argument.size > 8 ? 2 : 1); i++) {
    uint64_t value = 0;
    const uint32_t rest = argument.size - 8u * uint32_t(i);
    *out += i ? ':' : '[';
    if (take_word(words, argument.word[size_t(i)], std::min(rest, 8u), false, &value)) {
      *out += "0x";
      put_hex(out, value);
    } else {
      *out += '?';
    }
  }
  *out += ']';
}

void append_argument(std::string* out, std::span<const uint8_t> words,
                     const CallArgument& argument) {
  using Show = CallArgument::Show;
  uint64_t value = 0;
  if (argument.show == Show::kMore) {
    *out += "...";
    return;
  }
  *out += argument.name;
  *out += '=';
  const bool is_signed = argument.show == Show::kSigned;
  if (argument.show == Show::kAggregate) {
    append_aggregate(out, words, argument);
  } else if (!take_word(words, argument.word[0], argument.size, is_signed, &value)) {
    *out += '?';
  } else if (is_signed) {
    put_number(out, int64_t(value));
  } else if (argument.show == Show::kUnsigned) {
    put_number(out, value);
  } else if (argument.show == Show::kBool) {
    *out += value ? "true" : "false";
  } else {
    *out += "0x";
    put_hex(out, value);
  }
}

}  // namespace

void append_arguments(std::string* out, std::span<const uint8_t> words, uint64_t function,
                      const TextContext* context) {
  const ArgumentsOf* known = words.empty() ? nullptr : context->arguments_of;
  const CallArguments* arguments = known && *known ? (*known)(function) : nullptr;
  *out += '(';
  if (!arguments) append_numbered(out, words);
  for (size_t i = 0; arguments && i < arguments->size(); i++) {
    if (i) *out += ", ";
    append_argument(out, words, (*arguments)[i]);
  }
  *out += ')';
}

// print_fn_trace()
void TracerText::append_function(std::string* out, std::span<const uint8_t> record,
                                 TextContext* context) const {
  append_symbol(out, value(ip_, record), context);
  if (auto args = words(args_, record); !args.empty())
    append_arguments(out, args, value(ip_, record), context);
  const uint64_t parent = value(parent_, record);
  if (!context->print_parent || parent == 0) return;
  *out += " <-";
  append_caller(out, parent, context);
}

namespace {

void append_repeats_text(std::string* out, uint64_t count, uint64_t last_ns) {
  *out += " (repeats: ";
  put_number(out, count);
  *out += ", last_ts: ";
  put_seconds(out, last_ns);
  *out += ')';
}

}  // namespace

void TracerText::append_repeats(std::string* out, std::span<const uint8_t> record, uint64_t count,
                                uint64_t ns, TextContext* context) const {
  append_function(out, record, context);
  append_repeats_text(out, count, ns);
}

// seq_print_user_ip()
void TracerText::append_user_frame(std::string* out, uint64_t address, TextContext* context) const {
  std::string where = context->sym_userobj ? context->addresses->object_of(address) : "";
  *out += where;
  if (!where.empty() && !context->sym_addr) return;
  *out += " <";
  put_padded(out, address, 16, '0', 16);
  *out += '>';
}

void TracerText::append_stack(std::string* out, std::span<const uint8_t> record,
                              TextContext* context) const {
  const bool is_user = kind_ == Kind::kUserStack;
  *out += is_user ? "<user stack trace>" : "<stack trace>";
  std::span<const uint8_t> frames = words(frames_, record);
  size_t count = std::min(frames.size() / 8, kMaxShownFrames);
  if (!is_user && size_.is_there) count = std::min<size_t>(count, value(size_, record));
  for (size_t i = 0; i < count; i++) {
    const uint64_t address = load<uint64_t>(frames.data() + 8 * i);
    if (address == ~uint64_t{0} || (is_user && address == 0)) break;
    *out += "\n => ";
    if (is_user)
      append_user_frame(out, address, context);
    else if (address == kTrampolineMarker)
      *out += "[FTRACE TRAMPOLINE]";
    else if (i == 0)  // the place itself; the others are callers
      append_symbol(out, address, context);
    else
      append_caller(out, address, context);
  }
  if (record.size() < kStackFramesOffset || frames_.offset != kStackFramesOffset) return;
  const std::string how = stack_how_text(load<StackHow>(record.data() + kStackHowOffset));
  if (!how.empty()) *out += "\n" + how;
}

void TracerText::append(std::string* out, std::span<const uint8_t> record,
                        TextContext* context) const {
  if (kind_ == Kind::kStack || kind_ == Kind::kUserStack) return append_stack(out, record, context);
  append_function(out, record, context);
  if (kind_ != Kind::kRepeats) return;
  const uint64_t delta = value(top_, record) << 32 | value(bottom_, record);
  append_repeats_text(out, value(count_, record), context->time - std::min(delta, context->time));
}

bool TracerText::append_raw(std::string* out, std::span<const uint8_t> record) const {
  if (kind_ != Kind::kFunction && kind_ != Kind::kRepeats) return false;
  put_hex(out, value(ip_, record));
  *out += ' ';
  put_hex(out, value(parent_, record));
  if (kind_ == Kind::kFunction) return true;
  *out += ' ';
  put_number(out, value(count_, record));
  *out += ' ';
  put_number(out, value(top_, record) << 32 | value(bottom_, record));
  return true;
}

bool TracerText::append_hex(std::string* out, std::span<const uint8_t> record) const {
  if (kind_ != Kind::kFunction) return false;
  for (const Field* field : {&ip_, &parent_}) {
    put_padded(out, value(*field, record), 16, '0', 16);
    *out += ' ';
  }
  return true;
}

bool TracerText::append_binary(std::string* out, std::span<const uint8_t> record) const {
  if (kind_ != Kind::kFunction) return false;
  for (const Field* field : {&ip_, &parent_}) {
    const uint64_t word = value(*field, record);
    out->append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return true;
}

GraphCallKey TracerText::graph_call(std::span<const uint8_t> record) const {
  GraphCallKey call;
  if (record.size() >= 8) call.pid = load<int32_t>(record.data() + 4);
  call.func = value(ip_, record);
  call.depth = int32_t(value(depth_, record));
  return call;
}

uint64_t TracerText::graph_ns(std::span<const uint8_t> exit) const {
  const uint64_t end = value(rettime_, exit);
  return end - std::min(value(calltime_, exit), end);
}

GraphEvent TracerText::graph_event(std::span<const uint8_t> record) const {
  GraphEvent event;
  static_cast<GraphCallKey&>(event) = graph_call(record);
  event.retaddr = value(retaddr_, record);
  event.args = words(args_, record);
  event.retval = value(retval_, record);
  event.has_retval = retval_.is_there;
  event.overrun = uint32_t(value(overrun_, record));
  event.calltime = value(calltime_, record);
  event.rettime = value(rettime_, record);
  return event;
}

bool TracerText::same_call(std::span<const uint8_t> a, std::span<const uint8_t> b) const {
  return kind_ == Kind::kFunction && a.size() >= 8 && b.size() >= 8 &&
         std::memcmp(a.data(), b.data(), 2) == 0 &&
         std::memcmp(a.data() + 4, b.data() + 4, 4) == 0 && value(ip_, a) == value(ip_, b) &&
         value(parent_, a) == value(parent_, b);
}

}  // namespace patchbay
