// SPDX-License-Identifier: MIT
#include "cmd/measure/call_lines.h"

#include <algorithm>
#include <cstdio>

#include "output/text_put.h"
#include "output/trace_line.h"
#include "ring_buffer/buffer_file.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMostIndented = 64;
constexpr char kBold[] = "\033[1m", kRed[] = "\033[31m", kPlain[] = "\033[0m";

std::span<const uint8_t> bytes_of(const std::string& record) {
  return {reinterpret_cast<const uint8_t*>(record.data()), record.size()};
}

}  // namespace

CallLines::CallLines(const CallLineOptions& options, const std::vector<CallText>& functions,
                     const CallTextContext& context, const CaughtExceptions* caught,
                     CallTotals* totals)
    : options_(options),
      functions_(functions),
      context_(context),
      caught_(caught),
      totals_(*totals),
      sums_(totals->sums_of(functions)) {}

void CallLines::begin_line(const CallThread& thread, size_t depth) {
  if (totals_.has_threads) {
    out_ += '[';
    put_number(&out_, thread.tid);
    out_ += "] ";
  }
  if (options_.indented) out_.append(2 * std::min(depth, kMostIndented), ' ');
}

void CallLines::append_call(const CallThread& thread, const LiveCall& call) {
  const CallText& text = functions_[call.function];
  if (!options_.color) return text.append_call(&out_, bytes_of(call.record), thread.tid, context_);
  std::string line;
  text.append_call(&line, bytes_of(call.record), thread.tid, context_);
  const size_t open = line.find('(');
  out_ += kBold + line.substr(0, open) + kPlain + line.substr(open);
}

void CallLines::append_stack(const LiveCall& call) {
  for (const uint64_t address : call.stack) {
    out_ += "    ";
    if (context_.addresses) {
      out_ += context_.addresses->caller(address).offset;
    } else {
      out_ += "0x";
      put_hex(&out_, address);
    }
    out_ += '\n';
  }
}

void CallLines::enter(CallThread* thread) {
  totals_.entered++;
  sums_[thread->calls[thread->depth - 1].function]->entered++;
  if (totals_.first_tid == 0) totals_.first_tid = thread->tid;
  totals_.has_threads |= thread->tid != totals_.first_tid;
  if (!has_braces() || options_.table || thread->depth < 2) return;
  LiveCall& parent = thread->calls[thread->depth - 2];
  if (parent.is_opened) return;
  parent.is_opened = true;
  begin_line(*thread, thread->depth - 2);
  append_call(*thread, parent);
  out_ += " {\n";
  append_stack(parent);
}

void CallLines::count(const LiveCall& call, LiveCallEnd how, uint64_t ns, bool failed) {
  totals_.calls++;
  CallTotals::Sum& sum = *sums_[call.function];
  sum.calls++;
  sum.errors += failed;
  if (how != LiveCallEnd::kReturned) return;
  sum.returned++;
  sum.all_ns += ns;
  if (!call.is_inner) sum.total_ns += ns;
  sum.max_ns = std::max(sum.max_ns, ns);
}

void CallLines::append_left(std::span<const uint8_t> record) {
  const std::string exception = caught_ ? caught_->text_of(record) : "";
  out_ += " = ? <left by exception";
  if (!exception.empty()) out_ += ' ' + exception;
  out_ += '>';
}

void CallLines::append_end(const CallThread& thread, const LiveCall& call, LiveCallEnd how,
                           uint64_t ns, std::span<const uint8_t> returned, bool failed) {
  if (how == LiveCallEnd::kNotHooked) return;
  if (how == LiveCallEnd::kUnfinished) {
    out_ += " <unfinished ...>";
  } else if (how == LiveCallEnd::kNoReturn) {
    out_ += " = ? <no return seen>";
  } else if (how == LiveCallEnd::kLeft) {
    append_left(returned);
  } else {
    if (options_.color && failed) out_ += kRed;
    functions_[call.function].append_result(&out_, returned, thread.tid, context_);
    if (options_.color && failed) out_ += kPlain;
    out_ += " <";
    put_milliseconds(&out_, ns);
    out_ += '>';
  }
}

void CallLines::leave(CallThread* thread, LiveCallEnd how, uint64_t end_ns,
                      std::span<const uint8_t> returned) {
  const LiveCall& call = thread->calls[thread->depth - 1];
  const uint64_t ns = end_ns - std::min(end_ns, call.start_ns);
  const CallText& text = functions_[call.function];
  const bool has_returned = how == LiveCallEnd::kReturned, is_left = how == LiveCallEnd::kLeft;
  const bool failed = is_left || (has_returned && text.is_failure(returned));
  const bool has_ended = has_returned || is_left;
  const bool is_long = options_.longer_ns == 0 || (has_ended && ns >= options_.longer_ns) ||
                       how == LiveCallEnd::kUnfinished;
  if (!is_long || (options_.errors_only && !failed)) return;
  count(call, how, ns, failed);
  if (options_.table) return;
  begin_line(*thread, thread->depth - 1);
  if (call.is_opened)
    out_ += '}';
  else
    append_call(*thread, call);
  append_end(*thread, call, how, ns, returned, failed);
  if (call.is_opened) {
    out_ += "  /* ";
    append_escaped(&out_, text.name());
    out_ += " */";
  }
  out_ += '\n';
  if (!call.is_opened) append_stack(call);
}

void CallLines::lost(uint64_t events) {
  if (options_.table) return;
  out_ += "... " + (events == kLostUnknown ? "some" : std::to_string(events)) + " events lost\n";
}

std::vector<CallTotals::Sum*> CallTotals::sums_of(const std::vector<CallText>& texts) {
  std::vector<Sum*> sums;
  std::map<std::string, size_t> counts;
  for (const CallText& text : texts) {
    const std::string& name = text.listed_name();
    Sum*& place = places_[{name, counts[name]++}];
    if (!place) place = &functions.emplace_back(Function{name, {}}).sum;
    sums.push_back(place);
  }
  return sums;
}

bool CallTotals::has_entered(const std::string& name) const {
  return std::any_of(functions.begin(), functions.end(),
                     [&](const Function& one) { return one.sum.entered > 0 && one.name == name; });
}

std::string CallTotals::table() const {
  std::vector<const Function*> order;
  for (const Function& one : functions)
    if (one.sum.calls > 0) order.push_back(&one);
  std::stable_sort(order.begin(), order.end(), [](const Function* a, const Function* b) {
    return a->sum.total_ns > b->sum.total_ns;
  });
  std::string text =
      "     calls    errors       total ms        mean ms         max ms  function\n";
  for (const Function* one : order) {
    const Sum& sum = one->sum;
    const double mean = sum.returned ? double(sum.all_ns) / double(sum.returned) : 0;
    char line[160];
    std::snprintf(line, sizeof line, "%10llu %9llu %14.3f %14.6f %14.6f  ",
                  static_cast<unsigned long long>(sum.calls),
                  static_cast<unsigned long long>(sum.errors), double(sum.total_ns) / 1e6,
                  mean / 1e6, double(sum.max_ns) / 1e6);
    text += line;
    append_escaped(&text, one->name);
    text += '\n';
  }
  return text;
}

}  // namespace patchbay::cmd
