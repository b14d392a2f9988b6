// SPDX-License-Identifier: MIT
#include "cmd/report/replay_lines.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/report/graph_source.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMostLines = 1 << 17;  // that wait
constexpr uint32_t kMostIndent = 500;   // levels

// OpenCall::tag: what a call has changed in its thread, and the number of its line.
constexpr uint64_t kOnly = 1, kWithout = 2, kLevel = 4, kLine = 8;
constexpr int kLineShift = 4;

const std::string kNoTime(10, ' ');

}  // namespace

bool ReplayLines::is_meant(std::unordered_map<uint64_t, bool>* known,
                           const std::function<bool(uint64_t)>& ask, uint64_t func) {
  if (!ask) return false;
  auto [found, is_new] = known->try_emplace(func, false);
  if (is_new) found->second = ask(func);
  return found->second;
}

std::string ReplayLines::text_of(const Shown& shown) const {
  if (shown.kind == Kind::kRemark)
    return kNoTime + on_cpu_column(shown) + "          | /* " + shown.text + " */\n";
  char thread[32];
  std::snprintf(thread, sizeof thread, " [%6d] | ", shown.tid);
  std::string line = shown.has_time ? time_text(shown.duration_ns) : kNoTime;
  line += on_cpu_column(shown) + thread + std::string(2 * std::min(shown.level, kMostIndent), ' ');
  std::string remark = remark_of(shown.how, shown.exit);
  switch (shown.kind) {
    case Kind::kBegin:
      return line + shown.text + " {\n";
    case Kind::kEnd:
      return line + "} /* " + options_.name_of(shown.func) + remark + " */\n";
    case Kind::kCall:
      if (remark.starts_with(", ")) remark.erase(0, 1);
      return line + shown.text + (remark.empty() ? ";\n" : "; /*" + remark + " */\n");
    case Kind::kOffCpu:
      return line + "/* off the CPU for " + std::string(trim(time_text(shown.off.off_ns))) +
             (shown.off.is_sure ? ": " : "?: ") + shown.text + " */\n";
    default:
      return line + "/* " + shown.text + " */\n";
  }
}

std::string ReplayLines::on_cpu_column(const Shown& shown) const {
  if (!options_.off_cpu) return "";
  if (!shown.has_time) return "  " + kNoTime + "  ";
  const uint64_t ns = shown.duration_ns - std::min(shown.duration_ns, shown.off.off_ns);
  return "  " + time_text(ns) + (shown.off.is_sure ? "  " : "? ");
}

bool ReplayLines::has_retval(const GraphRecord* exit) const {
  return exit && exit->has_retval &&
         result_word(&options_.arguments_of, exit->func) != ResultWord::kNone;
}

// What is known at the end of a call.
std::string ReplayLines::end_members(const Shown& shown) const {
  std::string json;
  if (shown.has_time) json += ", \"duration_ns\": " + std::to_string(shown.duration_ns);
  if (shown.has_time && options_.off_cpu) {
    const uint64_t off_ns = std::min(shown.duration_ns, shown.off.off_ns);
    json += ", \"on_cpu_ns\": " + std::to_string(shown.duration_ns - off_ns) +
            ", \"off_cpu_ns\": " + std::to_string(off_ns);
    if (!shown.off.is_sure) json += ", \"off_cpu_unsure\": true";
  }
  if (has_retval(shown.exit)) json += ", \"retval\": " + std::to_string(shown.exit->retval);
  return json;
}

std::string ReplayLines::json_of(const Shown& shown) const {
  constexpr const char* kKinds[] = {"begin", "end", "call", "event", "remark", "off_cpu"};
  std::string json = std::string("{\"kind\": \"") + kKinds[size_t(shown.kind)] + "\"";
  json += ", \"instance\": " + json_quote(options_.instance);
  if (shown.kind == Kind::kRemark) return json + ", \"text\": " + json_quote(shown.text) + "}\n";
  char place[96];
  std::snprintf(place, sizeof place, ", \"ts\": %llu.%09llu, \"tid\": %d, \"depth\": %u",
                static_cast<unsigned long long>(shown.ns / 1000000000),
                static_cast<unsigned long long>(shown.ns % 1000000000), shown.tid, shown.level);
  json += place;
  if (shown.kind == Kind::kEvent) return json + ", \"text\": " + json_quote(shown.text) + "}\n";
  if (shown.kind == Kind::kOffCpu)
    return json + ", \"duration_ns\": " + std::to_string(shown.off.off_ns) +
           ", \"state\": " + json_quote(shown.text) +
           (shown.off.is_sure ? "}\n" : ", \"off_cpu_unsure\": true}\n");
  json += ", \"function\": " + json_quote(options_.name_of(shown.func));
  if (shown.kind != Kind::kEnd) json += ", \"call\": " + json_quote(shown.text);
  json += end_members(shown);
  if (shown.how == CallEnd::kNoReturn) json += ", \"remark\": \"no return\"";
  if (shown.how == CallEnd::kOpenAtEnd) json += ", \"remark\": \"open at the end\"";
  if (shown.how == CallEnd::kNoEntry) json += ", \"remark\": \"entry lost\"";
  return json + "}\n";
}

std::string ReplayLines::render(const Shown& shown) const {
  return options_.json ? json_of(shown) : text_of(shown);
}

std::string ReplayLines::remark_of(CallEnd how, const GraphRecord* exit) const {
  if (how == CallEnd::kNoReturn) return ", no return";
  if (how == CallEnd::kOpenAtEnd) return ", open at the end";
  char value[32] = "";
  if (options_.retval && has_retval(exit)) {
    const bool is_sure = result_word(&options_.arguments_of, exit->func) == ResultWord::kResult;
    std::snprintf(value, sizeof value, " = 0x%llx%s", static_cast<unsigned long long>(exit->retval),
                  is_sure ? "" : "?");
  }
  return std::string(value) + (how == CallEnd::kNoEntry ? ", entry lost" : "");
}

ReplayLines::Line* ReplayLines::find(uint64_t number) {
  return number < first_ ? nullptr : &lines_[size_t(number - first_)];
}

uint64_t ReplayLines::push(std::string text, bool waits) {
  lines_.push_back({waits, std::move(text), ""});
  return first_ + lines_.size() - 1;
}

void ReplayLines::flush(size_t most) {
  while (!lines_.empty() && (!lines_.front().waits || lines_.size() > most)) {
    if (!lines_.front().text.empty()) out_(lines_.front().text);
    lines_.pop_front();
    first_++;
  }
}

// The lines of the thread that wait belong to calls with something inside.
void ReplayLines::settle(Thread* thread) {
  for (uint64_t number : thread->waiting)
    if (Line* line = find(number)) line->waits = false;
  thread->waiting.clear();
}

void ReplayLines::enter(const ThreadCalls& calls, OpenCall* call) {
  Thread& thread = threads_[calls.tid];
  if (is_meant(&only_known_, options_.only, call->func)) call->tag |= kOnly;
  if (is_meant(&without_known_, options_.without, call->func)) call->tag |= kWithout;
  thread.only += (call->tag & kOnly) != 0;
  thread.without += (call->tag & kWithout) != 0;
  if ((options_.only && thread.only == 0) || thread.without != 0) return;
  call->tag |= kLevel;
  uint32_t level = thread.level++;
  if (level >= options_.depth) return;
  if (options_.least_ns == 0) settle(&thread);
  std::string text = options_.call_of ? options_.call_of(call->func, call->args)
                                      : options_.name_of(call->func) + "()";
  Shown shown;
  shown.tid = calls.tid;
  shown.level = level;
  shown.ns = call->start_ns;
  shown.func = call->func;
  shown.text = text;
  uint64_t number = push(render(shown), true);
  lines_.back().call = std::move(text);
  call->tag |= kLine | number << kLineShift;
  thread.waiting.push_back(number);
  flush(kMostLines);
}

void ReplayLines::leave(const ThreadCalls& calls, const OpenCall& call, CallEnd how,
                        uint64_t duration_ns, const GraphRecord* exit) {
  Thread& thread = threads_[calls.tid];
  thread.only -= (call.tag & kOnly) != 0;
  thread.without -= (call.tag & kWithout) != 0;
  thread.level -= (call.tag & kLevel) != 0;
  if ((call.tag & kLine) == 0) return;
  uint64_t number = call.tag >> kLineShift;
  bool is_leaf = !thread.waiting.empty() && thread.waiting.back() == number;
  if (is_leaf) thread.waiting.pop_back();
  Line* line = find(number);
  is_leaf = is_leaf && line && how != CallEnd::kNoEntry;
  bool is_short = duration_ns < options_.least_ns && is_leaf;
  if (is_short || how == CallEnd::kNoEntry) {
    if (line) *line = {false, "", ""};
  }
  if (!is_short && options_.least_ns != 0) settle(&thread);
  Shown shown;
  shown.kind = is_leaf ? Kind::kCall : Kind::kEnd;
  shown.tid = calls.tid;
  shown.level = thread.level;
  shown.ns = call.start_ns + (is_leaf ? 0 : duration_ns);
  shown.func = call.func;
  shown.has_time = how == CallEnd::kReturned || exit;
  shown.duration_ns = duration_ns;
  shown.off = call.off;
  shown.how = how;
  shown.exit = exit;
  if (is_leaf && !is_short) {
    shown.text = line->call;
    *line = {false, render(shown), ""};
  } else if (!is_short) {
    push(render(shown), false);
  }
  flush(kMostLines);
}

// A line among the calls of a thread.
void ReplayLines::aside(Shown shown) {
  Thread& thread = threads_[shown.tid];
  if ((options_.only && thread.only == 0) || thread.without != 0) return;
  settle(&thread);
  shown.level = thread.level;
  push(render(shown), false);
  flush(kMostLines);
}

void ReplayLines::event(int32_t tid, uint64_t ns, const std::string& text) {
  Shown shown;
  shown.kind = Kind::kEvent;
  shown.tid = tid;
  shown.ns = ns;
  shown.text = text;
  aside(std::move(shown));
}

void ReplayLines::off_cpu(int32_t tid, uint64_t ns, OffCpuShare share, const std::string& state) {
  Shown shown;
  shown.kind = Kind::kOffCpu;
  shown.tid = tid;
  shown.ns = ns;
  shown.off = share;
  shown.text = state;
  aside(std::move(shown));
}

void ReplayLines::remark(const std::string& text) {
  Shown shown;
  shown.kind = Kind::kRemark;
  shown.text = text;
  push(render(shown), false);
  flush(kMostLines);
}

void ReplayLines::finish() { flush(0); }

}  // namespace patchbay::cmd
