// SPDX-License-Identifier: MIT
#include "cmd/measure/call_session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/ftrace_records.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/measure/caught_exceptions.h"
#include "cmd/target/follow_request.h"
#include "cmd/target/named_function.h"
#include "cmd/target/nothing_recorded.h"
#include "cmd/target/target_program.h"
#include "event/function_event.h"
#include "serve/directory.h"
#include "symbol/demangled_name.h"
#include "symbol/held_files.h"
#include "trace_dat/metadata.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kTopBufferKb = 64;  // the events are in our instance
constexpr uint64_t kBufferKbOfAllCpus = 256 * 1024, kMostBufferKb = 8 * 1024, kLeastBufferKb = 1408;

// Of one CPU.
uint64_t buffer_kb() {
  const long cpus = std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L);
  return std::clamp(kBufferKbOfAllCpus / uint64_t(cpus), kLeastBufferKb, kMostBufferKb);
}

// "libfoo:ns::f[abi:cxx11](int, char)" as a line shows it: "ns::f".
std::string shown_name(const std::string& function) {
  std::string name = split_library(without_abi_tags(function)).second;
  for (const char* mark : {".constprop.", ".isra.", ".part.", ".llvm.", ".lto_priv."})
    name.resize(std::min(name.find(mark), name.size()));
  // Link time optimization counts local functions of one name: helper.3.
  const size_t digits = name.find_last_not_of("0123456789");
  if (digits != name.npos && digits > 0 && digits + 1 < name.size() && name[digits] == '.')
    name.resize(digits);
  if (name.starts_with("_Z")) name = demangle(name, false);
  // One of several functions, helper@a.c: a line of a call has what it is called.
  name.resize(std::min(find_file_mark(name), name.size()));
  if (!name.ends_with(')') || name.ends_with("operator()")) return name;
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
    if (depth == 0) return name.substr(0, i);
  }
  return name;
}

// What a return's probe fetches of the result; "" when nothing can be shown.
std::string value_fetch(const std::string& result) {
  if (result.empty() || result == "void") return "";
  if (result == "string") return " ret=$retval:x64 text=+0($retval):string";
  if (result == "float" || result == "double") return " ret=%xmm0:" + result;
  std::string type = result;
  if (type == "int") type = "s32";
  if (type == "short") type = "s16";
  if (type == "long") type = "s64";
  if (type == "size_t") type = "u64";
  if (type == "char") type = "s8";
  if (type == "symbol") type = "x64";
  return " ret=$retval:" + type;
}

std::string result_fetch(const DefinedFunction& function) {
  const std::string value = value_fetch(function.result);
  const bool has_errno = function.failure == FailureSign::kErrno && !value.empty();
  return value + (has_errno ? " errno=$errno" : "");
}

const EventCall* find_event(const std::vector<EventCall>& events, const std::string& name) {
  // Of several the newest: an event of that name may have been removed before.
  for (size_t i = events.size(); i-- > 0;)
    if (events[i].system + ":" + events[i].name == name) return &events[i];
  return nullptr;
}

}  // namespace

Status CallSession::connect() {
  if (!target_.words.empty()) {
    std::vector<EventRequest> events;
    for (const std::string& text : target_.functions) events.push_back({text, ""});
    PB_TRY(program_.start(target_.words, kTopBufferKb, false, wishes_of(events)));
    stop_on_closed_output();
    return {};
  }
  PB_TRY(program_.attach(target_.pid));
  stop_on_interrupt();  // from here on there is something to take back
  stop_on_closed_output();
  program_.attachment.deliver_signals();
  PB_ASSIGN(std::unique_ptr<ToolUses> uses, ToolUses::begin(*program_.client, program_.directory));
  uses_ = std::move(uses);
  applied_.uses = uses_.get();
  return {};
}

Status CallSession::make_instance() {
  serve::Client& client = *program_.client;
  std::string name = "patchbay-calls";
  if (uses_) {
    PB_ASSIGN(name, uses_->make_instance());
  } else {
    PB_TRY(client.make_directory("instances/" + name));
  }
  instance_ = "instances/" + name + "/";
  PB_TRY(client.write_all(instance_ + "buffer_size_kb", std::to_string(buffer_kb()) + "\n", false));
  if (!target_.stacks) return {};
  return client.write_all(instance_ + "options/stacktrace", "1\n", false);
}

std::string CallSession::free_name(const std::string& stem) {
  std::string name = stem;
  const auto is_taken = [&] {
    return std::find(available_.begin(), available_.end(), "calls:" + name) != available_.end();
  };
  for (int i = 2; is_taken(); i++) name = stem + "_" + std::to_string(i);
  return name;
}

// A probe at the first of the places that there is. "calls:NAME"; "" when it cannot be had.
std::string CallSession::define_probe(const std::string& stem,
                                      const std::vector<std::string>& places,
                                      const std::string& fetches) {
  const std::string name = free_name(stem);
  for (const std::string& place : places) {
    const std::string line = "p:calls/" + name + " " + place + " " + fetches + "\n";
    if (!program_.client->write_all("dynamic_events", line, false).ok()) continue;
    if (uses_) uses_->add(ToolUse::Kind::kEvent, "calls/" + name);
    available_.push_back("calls:" + name);
    return "calls:" + name;
  }
  return "";
}

bool CallSession::may_have(const std::string& function) const {
  return std::any_of(modules_.begin(), modules_.end(), [&](const RecordedModule& one) {
    return !is_agent_file(one.path) && may_define(place_of_file(one.path, one.build_id), function);
  });
}

// A program may load its C++ runtime later. One that has none is not asked for it: to say that
// there is no such function, it looks through all that there are.
void CallSession::define_catch() {
  const auto places_of = [this](const std::string& name) {
    const std::string later = "libstdc++.so.6:" + name;
    return may_have(name) ? std::vector{name, later} : std::vector{later};
  };
  caught_event_ =
      define_probe("caught", places_of("__cxa_begin_catch"), CaughtExceptions::fetches());
  thrown_event_ =
      define_probe("thrown", places_of("__cxa_throw"), CaughtExceptions::fetches_of_throw());
}

// "calls:NAME"; "" when the function cannot be hooked at its return.
std::string CallSession::define_return(const DefinedFunction& function, std::string* why) {
  if (function.failure == FailureSign::kNever) return "";
  const std::string name = free_name(function.event.substr(function.event.find(':') + 1));
  const auto define_at = [&](const std::string& place) {
    Status defined = program_.client->write_all(
        "dynamic_events", "r:calls/" + name + " " + place + result_fetch(function) + "\n", false);
    if (!defined.ok()) *why = defined.error().message();
    return defined.ok();
  };
  bool has_any = function.function.find(' ') == std::string::npos && define_at(function.function);
  for (const bool by_offset : {false, true}) {
    if (has_any) break;
    for (const std::string& place : places_of(function.function, by_offset))
      has_any |= define_at(place);
  }
  if (!has_any) return "";
  if (uses_) uses_->add(ToolUse::Kind::kEvent, "calls/" + name);
  return "calls:" + name;
}

// What a place in an object is called, "prog@0x1234".
std::string CallSession::found_name(const std::string& function) {
  if (function.find("@0x") == function.npos) return function;
  Result<std::vector<ResolvedFunction>> found = symbols().resolve(function);
  return found.ok() && found->size() == 1 ? found->front().display_name : function;
}

// A place of a probe has no blanks and means one function. Overloads are told apart by their
// mangled names: "libfoo.so.1:_ZN2ns1fEi". Where the process does not know the name, the offset
// says it: "libfoo.so.1@0x1234".
std::vector<std::string> CallSession::places_of(const std::string& function, bool by_offset) {
  Result<std::vector<ResolvedFunction>> found = symbols().resolve(function);
  std::vector<std::string> places;
  if (!found.ok()) return places;
  for (const ResolvedFunction& one : *found)
    if (one.module && !one.symbol.name.empty())
      places.push_back(std::string(base_name(one.module->path())) +
                       (by_offset ? "@" + hex_number(one.symbol.address - one.module->bias())
                                  : ":" + std::string(one.symbol.name)));
  return places;
}

SymbolTable& CallSession::symbols() {
  if (!symbols_) {
    // The agent has a C++ runtime of its own, which nobody means by `operator new`.
    std::vector<RecordedModule> modules = modules_;
    std::erase_if(modules, [](const RecordedModule& one) { return is_agent_file(one.path); });
    symbols_ = make_recorded_symbol_table(std::move(modules));
  }
  return *symbols_;
}

Status CallSession::read_modules() {
  PB_ASSIGN(UniqueFd fd, program_.client->open_buffer());
  PB_ASSIGN(std::unique_ptr<BufferFile> top, BufferFile::from_fd(std::move(fd), false));
  PB_ASSIGN(RecordedMeta meta, read_recorded_meta(*top));
  modules_ = std::move(meta.modules);
  return {};
}

bool CallSession::is_in_module(uint64_t address) const {
  return std::any_of(modules_.begin(), modules_.end(), [&](const RecordedModule& one) {
    return one.start <= address && address < one.end;
  });
}

WantedCalls CallSession::wanted_calls() const {
  if (!target_.failures_alone) return WantedCalls::kAll;
  return may_have("__cxa_throw") ? WantedCalls::kFailuresOfC : WantedCalls::kFailures;
}

// What the program lacks may be in one that it executes, or was in one before it. Where it has some
// of several, it does without the others.
Status CallSession::define_entries(bool may_miss) {
  const size_t nr_missing = missing_.size();
  for (const std::string& text : target_.functions) {
    const EventRequest request{.text = text, .is_own_code = target_.is_own_code};
    Result<std::vector<DefinedFunction>> found =
        define_functions(*program_.client, request, &applied_, wanted_calls());
    if (!found.ok() && !may_miss && found.error().errno_value != ENOENT) return found.error();
    if (!found.ok()) {
      missing_.emplace_back(text, found.error());
      continue;
    }
    for (DefinedFunction& one : *found) {
      const bool is_there =
          std::any_of(functions_.begin(), functions_.end(),
                      [&](const Function& other) { return other.defined.event == one.event; });
      if (!is_there) functions_.push_back({std::move(one), "", text});
    }
  }
  if (may_miss || missing_.size() == nr_missing) return {};
  if (functions_.empty()) return missing_.back().second;
  for (size_t i = nr_missing; i < missing_.size(); i++) remark(missing_[i].second.message());
  return {};
}

Status CallSession::define(bool may_miss) {
  PB_TRY(define_entries(may_miss));
  if (functions_.empty()) return {};
  PB_ASSIGN(std::string listed, program_.client->read_all("available_events"));
  available_ = split_lines(listed);
  std::string why, first;
  size_t without = 0;
  for (Function& function : functions_) {
    if (function.defined.is_whole && target_.needs_begin)
      remark(function.defined.function +
             "() is written as a whole call, which is known when it returns: -k shows no stack of "
             "it, and -t no calls inside");
    if (function.defined.is_whole) continue;
    function.returned = function.defined.returned;
    if (function.returned.empty()) function.returned = define_return(function.defined, &why);
    if (!function.returned.empty() || function.defined.failure == FailureSign::kNever) continue;
    if (without++ == 0) first = function.defined.function;
  }
  if (without > 0)
    remark(
        (without == 1 ? first + "()" : std::to_string(without) + " functions (" + first + "() …)") +
        " cannot be hooked at the return: no result and no time is shown: " + why);
  define_catch();
  return {};
}

Status CallSession::filter() {
  for (const Function& function : functions_) {
    std::string text = function.defined.failure_filter;
    if (text.empty()) continue;
    if (target_.longer_ns != 0)
      text = "(" + text + ") && " + std::string(kDurationField) +
             " >= " + std::to_string(target_.longer_ns);
    PB_TRY(program_.client->write_all(
        instance_ + "events/" + with_slash(function.defined.event) + "/filter", text + "\n",
        false));
    is_filtered_ = true;
  }
  return {};
}

// Returns first: an entry whose return is not hooked yet would stay open.
Status CallSession::enable() {
  std::string words;
  if (!caught_event_.empty()) words += caught_event_ + "\n";
  if (!thrown_event_.empty()) words += thrown_event_ + "\n";
  for (const Function& function : functions_)
    if (!function.returned.empty()) words += function.returned + "\n";
  for (const Function& function : functions_) words += function.defined.event + "\n";
  return program_.client->write_all(instance_ + "set_event", words, false);
}

Status CallSession::read_formats(const BufferFile& top) {
  PB_ASSIGN(RecordedMeta meta, read_recorded_meta(top));
  const auto set_kind = [this](uint16_t id, EventKind kind) {
    if (kinds_.size() <= id) kinds_.resize(size_t(id) + 1);
    kinds_[id] = kind;
  };
  for (const Function& function : functions_) {
    const EventCall* const entry = find_event(meta.events, function.defined.event);
    const EventCall* const returned = find_event(meta.events, function.returned);
    if (!entry)
      return user_error(ENOENT, "The event " + function.defined.event + " has no format.");
    const auto index = uint32_t(texts_.size());
    if (function.defined.is_whole) {
      const auto [arguments, result] = split_whole_call(*entry);
      set_kind(entry->id, {EventKind::What::kWhole, index});
      texts_.emplace_back(shown_name(found_name(function.defined.function)), arguments, &result,
                          function.defined.result, function.defined.has_types,
                          function.defined.names,
                          result.find(kErrnoField) ? FailureSign::kErrno : function.defined.failure,
                          function.defined.objects);
      continue;
    }
    set_kind(entry->id, {EventKind::What::kEntry, index});
    if (returned) set_kind(returned->id, {EventKind::What::kReturn, index});
    const bool is_whole_return = returned && !function.defined.returned.empty();
    const EventCall as_return = is_whole_return ? return_of_whole_call(*returned) : EventCall();
    texts_.emplace_back(shown_name(found_name(function.defined.function)), *entry,
                        is_whole_return ? &as_return : returned, function.defined.result,
                        function.defined.has_types, function.defined.names,
                        function.defined.failure, function.defined.objects);
  }
  size_t index = 0;
  for (const Function& function : functions_) {
    const std::string name = split_library(function.defined.function).second;
    if (find_file_mark(name) != name.npos) texts_[index].set_listed_name(name);
    index++;
  }
  if (const EventCall* const caught = find_event(meta.events, caught_event_)) {
    set_kind(caught->id, {EventKind::What::kCaught, 0});
    caught_ = *caught;
  }
  const EventCall* const thrown = find_event(meta.events, thrown_event_);
  const EventField* const stack = thrown ? thrown->find("sp") : nullptr;
  const EventField* const object = thrown ? thrown->find("object") : nullptr;
  if (stack && object) {
    set_kind(thrown->id, {EventKind::What::kThrown, 0});
    thrown_stack_ = stack->offset;
    thrown_object_ = object->offset;
  }
  set_kind(abi::kKernelStackId, {EventKind::What::kStack, 0});
  modules_ = std::move(meta.modules);
  return {};
}

Status CallSession::set_up(std::unique_ptr<CallRings>* rings, bool may_miss) {
  PB_TRY(make_instance());
  PB_TRY(read_modules());
  PB_TRY(define(may_miss));
  if (functions_.empty()) return {};
  PB_TRY(filter());
  PB_TRY(enable());
  if (uses_) uses_->ready();
  PB_ASSIGN(*rings, CallRings::open(*program_.client,
                                    program_.directory + "/" + instance_ + serve::kBufferName));
  return read_formats((*rings)->top());
}

Status CallSession::prepare(std::unique_ptr<CallRings>* rings) {
  PB_TRY(connect());
  return set_up(rings, target_.waits_for_functions);
}

Status CallSession::prepare_executed(std::unique_ptr<CallRings>* rings) {
  const RemarksOff quiet;
  return set_up(rings, true);
}

std::pair<uint64_t, uint64_t> CallSession::thrown(std::span<const uint8_t> record) const {
  uint64_t stack = 0, object = 0;
  if (record.size() < sizeof stack + std::max(thrown_stack_, thrown_object_)) return {};
  std::memcpy(&stack, record.data() + thrown_stack_, sizeof stack);
  std::memcpy(&object, record.data() + thrown_object_, sizeof object);
  return {stack, object};
}

AddressNames CallSession::names() const {
  return AddressNames::from_symbols(make_recorded_symbol_table(modules_));
}

void CallSession::stop() {
  if (!program_.ended()) (void)program_.client->write_all(instance_ + "tracing_on", "0\n", false);
}

std::vector<std::string> CallSession::never_came(const BufferFile& top) {
  std::vector<std::string> sentences;
  if (Result<RecordedMeta> meta = read_recorded_meta(top); meta.ok()) modules_ = meta->modules;
  for (const Function& function : functions_)
    if (std::string one = why_not_loaded(function.defined.function, modules_); !one.empty())
      sentences.push_back(std::move(one));
  return sentences;
}

// Has functions, and none of their calls was met. Where a filter leaves calls out, nobody knows.
bool CallSession::is_silent(const std::string& text, const CallTotals& totals) const {
  size_t nr_functions = 0;
  for (size_t i = 0; i < std::min(functions_.size(), texts_.size()); i++) {
    if (functions_[i].text != text) continue;
    nr_functions++;
    if (is_filtered_ || totals.has_entered(texts_[i].listed_name())) return false;
  }
  return nr_functions > 0;
}

std::vector<std::string> CallSession::why_nothing(const CallTotals& totals) {
  std::vector<EventRequest> events;
  for (const std::string& text : target_.functions)
    if (totals.entered == 0 || is_silent(text, totals)) events.push_back({text, ""});
  return cmd::why_nothing(events, modules_, program_.client->exe());
}

// Of a process that goes on nothing is left behind.
void CallSession::undo() {
  if (!uses_) return;
  uses_->release();
  say_what_stays(*program_.client);
  uses_.reset();
}

}  // namespace patchbay::cmd
