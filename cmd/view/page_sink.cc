// SPDX-License-Identifier: MIT
#include "cmd/view/page_sink.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cmd/common/commands.h"
#include "output/trace_line.h"

namespace patchbay::cmd {

using Kind = ExportEvent::Kind;
using Role = ExportSchema::Role;

namespace {

constexpr size_t kMostText = 1 << 16;  // bytes of one text
constexpr size_t kMostFrames = 512;    // of one stack
constexpr size_t kMostElements = 64;   // of one array, in its text
constexpr size_t kMostArguments = 64;
constexpr size_t kMostInstances = 65536;

// Where a probe stands, and who called it: numbers by their formats, places for a reader.
bool is_place(const ExportField& field) {
  return field.name == "__ip" || field.name == "__parent_ip" || field.name == "__probe_ip" ||
         field.name == "__probe_func" || field.name == "__probe_ret_ip";
}

bool is_caller(const ExportField& field) {
  return field.is_caller || field.name == "__parent_ip" || field.name == "__probe_ret_ip";
}

std::string name_of(const ExportField& field) {
  if (field.name == "__parent_ip") return "caller";
  return field.name == "__ip" ? "function" : field.key;
}

char type_of(const ExportField& field) {
  if (field.is_array) return 's';
  if (is_place(field)) return 'a';
  switch (field.type) {
    case ExportField::Type::kSigned:
      return 'i';
    case ExportField::Type::kUnsigned:
      return 'u';
    case ExportField::Type::kHex:
      return 'x';
    case ExportField::Type::kSymbol:
      return 'a';
    case ExportField::Type::kReal:
      return 'f';
    default:
      return 's';
  }
}

uint64_t word_at(std::span<const uint8_t> words, size_t index) {
  uint64_t word = 0;
  if (index < words.size() / 8) std::memcpy(&word, words.data() + index * 8, 8);
  return word;
}

// The value in a register whose type has `size` bytes.
uint64_t narrowed(uint64_t word, size_t size, bool is_signed) {
  if (size >= 8 || size == 0) return word;
  const unsigned shift = 64 - 8 * unsigned(size);
  return is_signed ? uint64_t(int64_t(word << shift) >> shift) : word << shift >> shift;
}

std::string hexadecimal(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string seconds(uint64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%llu.%09llu", static_cast<unsigned long long>(ns / 1000000000),
                static_cast<unsigned long long>(ns % 1000000000));
  return text;
}

char type_of(const CallArgument& argument) {
  switch (argument.show) {
    case CallArgument::Show::kSigned:
      return 'i';
    case CallArgument::Show::kUnsigned:
    case CallArgument::Show::kBool:
      return 'u';
    case CallArgument::Show::kAggregate:
      return 's';
    default:
      return 'x';
  }
}

}  // namespace

// --- what rows are made of

std::string PageSink::safe(std::string_view untrusted_text) const {
  std::string text;
  append_escaped(&text, untrusted_text.substr(0, kMostText));
  return text;
}

Status PageSink::begin(const ExportMeta& meta, ExportSource* source) {
  meta_ = &meta;
  source_ = source;
  strings_.of("");
  return {};
}

Status PageSink::schema(const ExportSchema&) { return {}; }

uint32_t PageSink::thread_of(const ExportEvent& event) {
  const auto [found, is_new] = thread_numbers_.try_emplace(event.thread, uint32_t(threads_.size()));
  if (is_new) threads_.push_back(event.thread);
  return found->second;
}

uint32_t PageSink::cpu_of(uint32_t number) {
  const auto [found, is_new] = cpu_numbers_.try_emplace(number, uint32_t(cpu_records_.size()));
  if (is_new) cpu_records_.push_back(0);
  return found->second;
}

uint32_t PageSink::stack_of(const ExportEvent& event) {
  uint32_t node = 0;
  const size_t frames = std::min(event.stack.size(), kMostFrames);
  for (size_t i = frames; i > 0; i--)
    node = stacks_.child(node, text(source_->frame_name(event, i - 1)));
  return node;
}

// Instances of one name are one, of whatever process. Behind the most that a row can name there is
// one for all others.
uint16_t PageSink::instance_of(const ExportEvent& event) {
  const std::vector<std::string>& names = meta_->inputs[event.input].buffers;
  std::string name = event.buffer < names.size() ? names[event.buffer] : "";
  if (name.empty()) name = "top";
  const auto found = instance_numbers_.find(name);
  if (found != instance_numbers_.end()) return found->second;
  const size_t number = instance_numbers_.size();
  if (number + 1 >= kMostInstances) name = "others";
  return instance_numbers_.try_emplace(name, uint16_t(number)).first->second;
}

// False once the page is full. What is open then is cut at this moment.
bool PageSink::has_room(const ExportEvent& event) {
  if (cut_ns_ != 0) return false;
  if (rows_.size() < options_.most_rows) return true;
  cut_ns_ = event.ns + (event.ns == 0);
  return false;
}

PageRow PageSink::row_of(const ExportEvent& event) {
  PageRow row;
  row.time = event.ns;
  row.thread = thread_of(event);
  row.cpu = cpu_of(event.cpu);
  row.stack = event.stack.empty() ? 0 : stack_of(event);
  row.instance = instance_of(event);
  return row;
}

void PageSink::count(const ExportEvent& event) {
  if (event.record.empty()) return;  // the end of a call that has none
  const bool kernel = event.kernel_frames > 0, user = event.stack.size() > event.kernel_frames;
  const uint64_t records = 1 + kernel + user;
  records_ += records;
  cpu_records_[cpu_of(event.cpu)] += records;
  kernel_stacks_ += kernel;
  user_stacks_ += user;
  if (event.schema) {
    by_schema_[event.schema]++;
  } else {
    unknown_++;
  }
  last_ns_ = std::max(last_ns_, event.ns);
  if (cut_ns_ == 0) shown_records_ += records;
}

// --- events

PageSink::EventKind& PageSink::event_kind(const ExportEvent& event) {
  const auto [found, is_new] = event_kinds_.try_emplace(event.schema);
  EventKind& kind = found->second;
  if (!is_new) return kind;
  if (!event.schema) {
    kind.kind = rows_.add_kind(text("unknown event"), text("not described in the file"), false,
                               {{"id", 'u'}});
    return kind;
  }
  std::vector<PageField> fields;
  kind.is_text = event.schema->role == Role::kPrint;
  if (kind.is_text) fields.push_back({"text", 's'});
  for (const ExportField& field : event.schema->fields) {
    if (kind.is_text || fields.size() >= kMostArguments) break;
    kind.fields.push_back(&field);
    fields.push_back({safe(name_of(field)), type_of(field)});
  }
  kind.kind = rows_.add_kind(text(event.schema->name), text(event.schema->system), false, fields);
  return kind;
}

std::string PageSink::value_text(const ExportField& field, const ExportValue& value) const {
  switch (value.kind) {
    case ExportValue::Kind::kSigned:
      return std::to_string(value.as_signed());
    case ExportValue::Kind::kUnsigned:
      return field.type == ExportField::Type::kHex || field.type == ExportField::Type::kSymbol
                 ? hexadecimal(value.bits)
                 : std::to_string(value.bits);
    case ExportValue::Kind::kReal:
      return std::to_string(value.real);
    case ExportValue::Kind::kText:
      return safe(value.text);
    case ExportValue::Kind::kFault:
      return "(fault)";
    default:
      return "";
  }
}

std::string PageSink::array_text(const ExportField& field, const ExportValue& value,
                                 std::span<const uint8_t> record) const {
  std::string text = "[";
  for (uint32_t i = 0; i < value.count && i < kMostElements; i++)
    text += (i ? ", " : "") + value_text(field, field.element(record, value, i));
  return text + (value.count > kMostElements ? ", …]" : "]");
}

void PageSink::set_field(uint32_t row, size_t index, const ExportField& field,
                         std::span<const uint8_t> record, const ExportEvent& event) {
  const ExportValue value = field.value(record);
  if (value.kind == ExportValue::Kind::kCut) return;
  switch (type_of(field)) {
    case 's':
      rows_.set(
          row, index,
          strings_.of(value.kind == ExportValue::Kind::kArray ? array_text(field, value, record)
                                                              : value_text(field, value)));
      return;
    case 'a': {
      AddressText& addresses = source_->addresses(event);
      const std::string& name =
          is_caller(field) ? addresses.caller(value.bits).offset : addresses.of(value.bits).offset;
      rows_.set(row, index, text(name));
      return;
    }
    case 'f': {
      uint64_t bits = 0;
      std::memcpy(&bits, &value.real, sizeof bits);
      rows_.set(row, index, bits);
      return;
    }
    default:
      rows_.set(row, index, value.bits);
  }
}

void PageSink::add_event(const ExportEvent& event) {
  if (event.schema && event.schema->role == Role::kFunction) return add_function(event);
  const EventKind& kind = event_kind(event);
  PageRow row = row_of(event);
  row.kind = kind.kind;
  const uint32_t number = rows_.add(row);
  if (!event.schema) return rows_.set(number, 0, event.id());
  if (kind.is_text) {
    std::string line;
    source_->append_text(&line, event);
    return rows_.set(number, 0, text(line));
  }
  for (size_t i = 0; i < kind.fields.size(); i++)
    set_field(number, i, *kind.fields[i], event.record, event);
  if (event.pair) add_pair(event);
  if (event.off_cpu) add_off_cpu(event);
}

// A record of the tracer `function` has the name of what was called, its arguments, and its caller.
void PageSink::add_function(const ExportEvent& event) {
  const ExportField* ip = event.schema->find("ip");
  const ExportField* parent = event.schema->find("parent_ip");
  const ExportField* args = event.schema->find("args");
  const std::span<const uint8_t> words =
      args ? args->value(event.record).bytes : std::span<const uint8_t>();
  const CallKind& kind =
      call_kind(event, ip ? ip->value(event.record).bits : 0, words.size() / 8, false);
  PageRow row = row_of(event);
  row.kind = kind.kind;
  const uint32_t number = rows_.add(row);
  set_arguments(number, kind, words);
  if (!parent) return;
  AddressText& addresses = source_->addresses(event);
  rows_.set(number, rows_.fields_of(row.kind) - 1,
            text(addresses.caller(parent->value(event.record).bits).offset));
}

// An entry and its return that are events: a call between them, with the return's values.
void PageSink::add_pair(const ExportEvent& event) {
  const uint32_t name = text(source_->addresses(event).of(event.pair->function).plain);
  const auto [kind, is_new] = pair_kinds_.try_emplace({name, event.pair->schema});
  const auto& fields = event.pair->schema->fields;
  const EventKind& returned = event_kind(event);
  const size_t own = std::min(fields.size(), kMostArguments);
  if (is_new) {
    std::vector<PageField> all;
    for (size_t i = 0; i < own; i++) all.push_back({safe(name_of(fields[i])), type_of(fields[i])});
    for (const ExportField* field : returned.fields)
      all.push_back({"return " + safe(name_of(*field)), type_of(*field)});
    kind->second = rows_.add_kind(name, text("entry and return"), true, all);
  }
  PageRow row = row_of(event);
  row.time = std::min(event.pair->begin_ns, event.ns);
  row.duration = event.ns - row.time;
  row.depth = PageRows::kNoDepth;
  row.kind = kind->second;
  const uint32_t number = rows_.add(row);
  const size_t room = rows_.fields_of(row.kind);
  for (size_t i = 0; i < own && i < room; i++)
    set_field(number, i, fields[i], event.pair->record, event);
  for (size_t i = 0; i < returned.fields.size() && own + i < room; i++)
    set_field(number, own + i, *returned.fields[i], event.record, event);
}

// The thread that comes back was off the CPU: as a call within its calls.
void PageSink::add_off_cpu(const ExportEvent& event) {
  if (!off_cpu_kind_)
    off_cpu_kind_ = rows_.add_kind(text("off the CPU"), text("sched"), true, {{"state", 's'}});
  ExportEvent back = event;
  back.thread = event.off_cpu->thread;
  back.stack = {};  // that is of the thread that went
  PageRow row = row_of(back);
  row.time = event.off_cpu->begin_ns;
  row.duration = event.ns - row.time;
  row.depth = PageRows::kNoDepth;
  row.kind = *off_cpu_kind_;
  rows_.set(rows_.add(row), 0, text(event.off_cpu->state));
}

// --- calls

// Functions of one name with the same arguments are one kind: calls of function_graph, or events of
// the tracer function.
PageSink::CallKind& PageSink::call_kind(const ExportEvent& event, uint64_t function, size_t words,
                                        bool is_call) {
  // Addresses of user space have 47 bits: the input stands above. A recording of several programs
  // may have several functions at one.
  const uint64_t table = source_->addresses(event).table();
  const uint64_t place = function ^ uint64_t { event.input } << 48 ^ table * 0x9e3779b97f4a7c15u;
  const auto [found, is_new] = call_kinds_.try_emplace({place, 2 * words + is_call});
  CallKind& kind = found->second;
  if (!is_new) return kind;
  std::vector<PageField> fields;
  kind.words = words;
  const CallArguments* const arguments = source_->arguments_of(event, function);
  kind.arguments = words ? arguments : nullptr;
  kind.has_result = is_call && (!arguments || arguments->result != ResultWord::kNone);
  if (kind.arguments) {
    for (size_t i = 0; i < kind.arguments->size() && i < kMostArguments; i++) {
      const CallArgument& argument = (*kind.arguments)[i];
      if (argument.show == CallArgument::Show::kElsewhere ||
          argument.show == CallArgument::Show::kMore || argument.word[0] < 0)
        continue;
      kind.shown.push_back(int(i));
      fields.push_back({argument.name.empty() ? "arg" + std::to_string(i + 1) : safe(argument.name),
                        type_of(argument)});
    }
  } else {
    for (size_t i = 0; i < words && i < kMostArguments; i++)
      fields.push_back({"arg" + std::to_string(i + 1), 'x'});
  }
  if (!is_call) fields.push_back({"caller", 'a'});
  if (kind.has_result) fields.push_back({"return value", 'x'});
  const uint32_t name = text(source_->addresses(event).of(function).plain);
  std::string signature = std::to_string(name);
  for (const PageField& field : fields) signature += '\n' + field.name + '\t' + field.type;
  const auto [known, is_first] = kinds_by_signature_.try_emplace(signature);
  if (is_first)
    known->second = rows_.add_kind(name, text(is_call ? "" : "function"), is_call, fields);
  kind.kind = known->second;
  return kind;
}

void PageSink::set_arguments(uint32_t row, const CallKind& kind, std::span<const uint8_t> words) {
  if (!kind.arguments) {
    for (size_t i = 0; i < kind.words && i < kMostArguments; i++)
      rows_.set(row, i, word_at(words, i));
    return;
  }
  for (size_t i = 0; i < kind.shown.size(); i++) {
    const CallArgument& argument = (*kind.arguments)[size_t(kind.shown[i])];
    const uint64_t word = word_at(words, size_t(argument.word[0]));
    if (argument.show == CallArgument::Show::kAggregate) {
      std::string text = "[" + hexadecimal(word);
      if (argument.word[1] >= 0)
        text += ":" + hexadecimal(word_at(words, size_t(argument.word[1])));
      rows_.set(row, i, strings_.of(text + "]"));
    } else {
      rows_.set(row, i,
                narrowed(word, argument.size, argument.show == CallArgument::Show::kSigned));
    }
  }
}

void PageSink::begin_call(const ExportEvent& event) {
  const CallKind& kind = call_kind(event, event.call.function, event.call.args.size() / 8, true);
  PageRow row = row_of(event);
  row.kind = kind.kind;
  row.depth = uint16_t(std::min<uint32_t>(event.call.depth, PageRows::kNoDepth - 1));
  row.how = uint8_t(ExportCallEnd::kOpenAtEnd);
  const uint32_t number = rows_.add(row);
  set_arguments(number, kind, event.call.args);
  open_[{event.thread, event.input << 16 | event.buffer}].push_back(
      {number, event.call.depth, event.call.function, kind.has_result});
}

void PageSink::end_call(const ExportEvent& event) {
  auto& open = open_[{event.thread, event.input << 16 | event.buffer}];
  uint32_t number = 0;
  bool has_result = false;
  if (event.call.how == ExportCallEnd::kNoEntry) {
    if (!has_room(event)) return;
    const CallKind& kind = call_kind(event, event.call.function, 0, true);
    PageRow row = row_of(event);
    row.time = event.call.begin_ns;
    row.kind = kind.kind;
    row.depth = uint16_t(std::min<uint32_t>(event.call.depth, PageRows::kNoDepth - 1));
    number = rows_.add(row);
    has_result = kind.has_result;
  } else {
    // The entry is not here when it came behind the cut.
    if (open.empty() || open.back().depth != event.call.depth ||
        open.back().function != event.call.function)
      return;
    number = open.back().row;
    has_result = open.back().has_result;
    open.pop_back();
  }
  PageRow& row = rows_.row(number);
  row.duration = event.call.end_ns > row.time ? event.call.end_ns - row.time : 0;
  row.how = uint8_t(event.call.how);
  if (has_result && event.call.has_retval)
    rows_.set(number, rows_.fields_of(row.kind) - 1, event.call.retval);
}

Status PageSink::event(const ExportEvent& event) {
  if (event.kind == Kind::kCallEnd) {
    count(event);
    end_call(event);
    return {};
  }
  const bool room = has_room(event);
  count(event);
  if (!room) return {};
  if (event.kind == Kind::kCallBegin) {
    begin_call(event);
  } else {
    add_event(event);
  }
  return {};
}

Status PageSink::loss(const ExportEvent& event) {
  MergedEvent merged;
  merged.cpu = event.cpu;
  merged.lost_before = event.lost;
  loss_counter_.take(merged);
  const uint32_t cpu = cpu_of(event.cpu);
  if (cut_ns_ == 0 && losses_.size() < 100000)
    losses_.push_back({event.ns, event.lost == kLostUnknown ? 0 : event.lost, cpu});
  return {};
}

// --- the header

// Calls end with the part that the page has.
void PageSink::cut_calls() {
  for (uint32_t i = 0; i < rows_.size(); i++) {
    PageRow& row = rows_.row(i);
    if (row.time + row.duration <= cut_ns_) continue;
    row.duration = cut_ns_ > row.time ? cut_ns_ - row.time : 0;
    row.how = kCutEnd;
  }
}

std::string PageSink::threads_json() {
  std::string json = "[";
  for (const ExportThread* thread : threads_) {
    const ExportProcess* process = thread ? thread->process : nullptr;
    json += json.size() > 1 ? ",\n" : "";
    json += "{\"tid\":" + std::to_string(thread ? thread->tid : 0) +
            ",\"pid\":" + std::to_string(process ? process->pid : 0) +
            ",\"name\":" + std::to_string(text(thread ? thread->comm : "<...>")) +
            ",\"process\":" + std::to_string(text(process ? process->name : "")) + "}";
  }
  return json + "]";
}

std::string PageSink::instances_json() {
  std::vector<uint32_t> names(instance_numbers_.size());
  for (const auto& [name, number] : instance_numbers_) names[number] = text(name);
  std::string json = "[";
  for (const uint32_t name : names) json += (json.size() > 1 ? "," : "") + std::to_string(name);
  return json + "]";
}

std::string PageSink::cpus_json(const Losses& losses, const std::vector<uint32_t>& order) {
  std::vector<std::string> cpus(order.size());
  for (const auto& [number, index] : cpu_numbers_) {
    const auto lost = losses.by_cpu.find(number);
    const uint64_t count = lost == losses.by_cpu.end() ? 0 : lost->second;
    cpus[order[index]] = "{\"cpu\":" + std::to_string(number) +
                         ",\"records\":" + std::to_string(cpu_records_[index]) +
                         ",\"lost\":" + std::to_string(count) +
                         ",\"atLeast\":" + (losses.at_least && count ? "true" : "false") + "}";
  }
  std::string json = "[";
  for (const std::string& cpu : cpus) json += (json.size() > 1 ? "," : "") + cpu;
  return json + "]";
}

std::string PageSink::cut_sentence(const ExportStats& stats) const {
  const uint64_t until = cut_ns_ - meta_->first_ns;
  return "The page has " + std::to_string(shown_records_) + " of " + std::to_string(stats.events) +
         " records: the time up to " + seconds(until) + " s of " +
         seconds(last_ns_ - std::min(last_ns_, meta_->first_ns)) +
         " s. The rest: patchbay view --from " + seconds(until) + ", or a larger --rows.";
}

std::string PageSink::notices_json(const ExportStats& stats, const Losses& losses) const {
  std::string json = "[";
  const auto say = [&](const char* kind, const std::string& sentence) {
    json += (json.size() > 1 ? ",\n[\"" : "[\"") + std::string(kind) + "\"," +
            json_quote(safe(sentence)) + "]";
  };
  const auto say_count = [&](const char* kind, uint64_t count, const char* one, const char* many) {
    if (count) say(kind, std::to_string(count) + (count == 1 ? one : many));
  };
  if (losses.lost())
    say("bad", std::string("Lost ") + (losses.at_least ? "at least " : "") +
                   std::to_string(losses.lost()) +
                   " records. Red marks in the lines of the CPUs say where.");
  if (is_cut()) say("warn", cut_sentence(stats));
  if (options_.is_part)
    say("warn", "The page has a part of the recording, as --from, --until, -e or -f chose it.");
  for (const std::string& sentence : options_.damages) say("bad", sentence);
  say_count("bad", stats.damaged_pages, " page of the recording is damaged, and read up to there.",
            " pages of the recording are damaged, and read up to there.");
  say_count("bad", options_.malformed_formats, " format of an event could not be understood.",
            " formats of events could not be understood.");
  say_count("bad", stats.short_records, " record is shorter than its format says.",
            " records are shorter than their formats say.");
  say_count("bad", unknown_, " record is of a kind that the file does not describe.",
            " records are of kinds that the file does not describe.");
  say_count("warn", stats.without_exit,
            " call ended without a return (an exception, longjmp, or lost records).",
            " calls ended without a return (exceptions, longjmp, or lost records).");
  say_count("warn", stats.open_at_end, " call was open when the recording ended.",
            " calls were open when the recording ended.");
  say_count("warn", stats.without_entry, " call has no entry in the recording.",
            " calls have no entry in the recording.");
  return json + "]";
}

std::string PageSink::facts_json(const ExportStats& stats) {
  std::string json = "[";
  const auto fact = [&](std::string_view name, std::string_view value) {
    json +=
        (json.size() > 1 ? ",\n[" : "[") + json_quote(name) + "," + json_quote(safe(value)) + "]";
  };
  for (const auto& [name, value] : options_.facts) fact(name, value);
  for (const ExportProcess* process : meta_->processes) {
    if (process->exe.empty() && process->command_line.empty()) continue;
    std::string line = process->exe;
    for (size_t i = 0; i < process->command_line.size(); i++)
      line = (i == 0 ? "" : line + " ") + process->command_line[i];
    fact("Process " + std::to_string(process->pid), line);
  }
  if (!meta_->inputs.empty()) fact("Clock", meta_->inputs[0].clock);
  fact("From", seconds(first_ns_));
  fact("Until", seconds(last_ns_));
  fact("Records", std::to_string(stats.events));
  fact("Calls", std::to_string(stats.calls));
  return json + "]";
}

// Times count from the first row's. Returns the end of the last.
uint64_t PageSink::start_at_zero() {
  first_ns_ = meta_->first_ns;
  for (const PageRow& row : rows_.rows()) first_ns_ = std::min(first_ns_, row.time);
  if (options_.is_part && rows_.size() > 0) {
    first_ns_ = ~uint64_t{0};
    for (const PageRow& row : rows_.rows()) first_ns_ = std::min(first_ns_, row.time);
  }
  uint64_t end_ns = is_cut() ? cut_ns_ : std::max(last_ns_, first_ns_);
  for (uint32_t i = 0; i < rows_.size(); i++) {
    PageRow& row = rows_.row(i);
    end_ns = std::max(end_ns, row.time + row.duration);
    row.time -= first_ns_;
  }
  return end_ns;
}

// The number of each CPU among all that have records or have lost some.
std::vector<uint32_t> PageSink::order_cpus(const Losses& losses) {
  for (const auto& [cpu, count] : losses.by_cpu) cpu_of(cpu);
  std::vector<uint32_t> order(cpu_numbers_.size());
  uint32_t next = 0;
  for (const auto& [number, index] : cpu_numbers_) order[index] = next++;
  return order;
}

// How many records of each event there are, as report --stat says them.
std::string PageSink::records_json() {
  std::map<std::string, uint64_t> by_name;
  for (const auto& [schema, count] : by_schema_) by_name[schema->label] += count;
  if (kernel_stacks_) by_name["ftrace:kernel_stack"] += kernel_stacks_;
  if (user_stacks_) by_name["ftrace:user_stack"] += user_stacks_;
  if (unknown_) by_name["(not described in the file)"] += unknown_;
  std::string json = "[";
  for (const auto& [name, count] : by_name)
    json += (json.size() > 1 ? ",[" : "[") + std::to_string(text(name)) + "," +
            std::to_string(count) + "]";
  return json + "]";
}

std::string PageSink::losses_json(const std::vector<uint32_t>& cpu_order) {
  std::vector<uint64_t> times, counts, cpus;
  for (const Loss& loss : losses_) {
    times.push_back(loss.time - std::min(loss.time, first_ns_));
    counts.push_back(loss.count);
    cpus.push_back(cpu_order[loss.cpu]);
  }
  std::string json = "{\"time\":" + data_.varints(times, true);
  json += ",\"cpu\":" + data_.fixed(cpus);
  return json + ",\"count\":" + data_.fixed(counts) + "}";
}

Status PageSink::end(const ExportStats& stats) {
  if (is_cut()) cut_calls();
  const uint64_t end_ns = start_at_zero();
  const Losses losses = options_.losses_of ? options_.losses_of(loss_counter_) : Losses{};
  const std::vector<uint32_t> cpu_order = order_cpus(losses);
  const size_t nr_rows = rows_.size();
  std::string json = "{\"title\":" + json_quote(safe(options_.title));
  json += ",\"start\":\"" + std::to_string(first_ns_) +
          "\",\"duration\":" + std::to_string(end_ns - first_ns_) +
          ",\"rows\":" + std::to_string(nr_rows) + ",\"total\":" + std::to_string(stats.events) +
          ",\"cut\":" + (is_cut() || options_.is_part ? "true" : "false");
  json += ",\"clock\":" + json_quote(safe(meta_->inputs.empty() ? "" : meta_->inputs[0].clock));
  json += ",\n\"notices\":" + notices_json(stats, losses) + ",\n\"meta\":" + facts_json(stats);
  json += ",\n\"threads\":" + threads_json() + ",\n\"cpus\":" + cpus_json(losses, cpu_order);
  json += ",\n\"instances\":" + instances_json();
  json += ",\n\"records\":" + records_json();
  const PageRows::Packed packed =
      rows_.pack(&data_, &strings_, cpu_order, {!stacks_.empty(), instance_numbers_.size() > 1});
  json += ",\n\"kinds\":" + packed.kinds + ",\n\"columns\":" + packed.columns;
  json += ",\n\"losses\":" + losses_json(cpu_order);
  if (!stacks_.empty()) json += ",\n\"stacks\":" + stacks_.pack(&data_);
  header_ = json + ",\n\"strings\":" + strings_.pack(&data_) + "}";
  return {};
}

}  // namespace patchbay::cmd
