// SPDX-License-Identifier: MIT
#include "cmd/report/replay_lines.h"

#include <algorithm>
#include <cstdio>

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

std::string ReplayLines::line_of(int32_t tid, uint32_t level, const std::string& duration,
                                 const std::string& text) const {
  char thread[32];
  std::snprintf(thread, sizeof thread, " [%6d] | ", tid);
  return duration + thread + std::string(2 * std::min(level, kMostIndent), ' ') + text + "\n";
}

std::string ReplayLines::remark_of(CallEnd how, const GraphRecord* exit) const {
  if (how == CallEnd::kNoReturn) return ", no return";
  if (how == CallEnd::kOpenAtEnd) return ", open at the end";
  char value[32] = "";
  if (options_.retval && exit && exit->has_retval)
    std::snprintf(value, sizeof value, " = 0x%llx", static_cast<unsigned long long>(exit->retval));
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
  uint64_t number = push(line_of(calls.tid, level, kNoTime, text + " {"), true);
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
  std::string remark = remark_of(how, exit), name = options_.name_of(call.func);
  std::string time = how == CallEnd::kReturned || exit ? time_text(duration_ns) : kNoTime;
  if (is_short || how == CallEnd::kNoEntry) {
    if (line) *line = {false, "", ""};
  }
  if (!is_short && options_.least_ns != 0) settle(&thread);
  if (is_leaf && !is_short) {
    std::string text = line->call + ";" + (remark.empty() ? "" : " /*" + remark + " */");
    if (size_t comma = text.find("/*, "); comma != text.npos) text.erase(comma + 2, 1);
    *line = {false, line_of(calls.tid, thread.level, time, text), ""};
  } else if (!is_short) {
    push(line_of(calls.tid, thread.level, time, "} /* " + name + remark + " */"), false);
  }
  flush(kMostLines);
}

void ReplayLines::event(int32_t tid, const std::string& text) {
  Thread& thread = threads_[tid];
  if ((options_.only && thread.only == 0) || thread.without != 0) return;
  settle(&thread);
  push(line_of(tid, thread.level, kNoTime, "/* " + text + " */"), false);
  flush(kMostLines);
}

void ReplayLines::remark(const std::string& text) {
  push(kNoTime + "          | /* " + text + " */\n", false);
  flush(kMostLines);
}

void ReplayLines::finish() { flush(0); }

}  // namespace patchbay::cmd
