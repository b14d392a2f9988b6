// SPDX-License-Identifier: MIT
#include "cmd/report/graph_source.h"

#include <fnmatch.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/record/record_report.h"
#include "output/trace_line.h"
#include "trace_dat/recorded_names.h"

namespace patchbay::cmd {

Result<std::unique_ptr<GraphSource>> GraphSource::open(const std::string& path) {
  PB_ASSIGN(auto input, open_trace_input(path));
  std::unique_ptr<GraphSource> source(new GraphSource);
  source->input_ = std::move(input);
  PB_TRY(source->load());
  source->address_text_ = std::make_unique<AddressText>(&source->names_, true);
  return source;
}

Status GraphSource::load() {
  if (input_.dat) {
    events_ = input_.dat->events();
    names_ = recorded_names(*input_.dat);
    take_comms(input_.dat->cmdlines());
    off_cpu_ = recorded_off_cpu(*input_.dat);
    return {};
  }
  PB_ASSIGN(auto meta, read_recorded_meta(*input_.buffer));
  events_ = std::move(meta.events);
  names_ = AddressNames::from_symbols(make_recorded_symbol_table(std::move(meta.modules)));
  for (const abi::CommEntry& entry : input_.buffer->comms())
    comms_[int32_t(entry.tid)] = std::string(entry.comm, ::strnlen(entry.comm, sizeof entry.comm));
  return {};
}

void GraphSource::take_comms(std::string_view untrusted_lines) {
  while (!untrusted_lines.empty()) {
    const std::string_view line = cut_at(&untrusted_lines, '\n');
    int32_t tid = 0;
    auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), tid);
    if (error == std::errc() && rest != line.data() + line.size())
      comms_[tid] = std::string(rest + 1, line.data() + line.size());
  }
}

namespace {

// A line that is written over each half second.
class ReadProgress {
 public:
  explicit ReadProgress(const std::string& command)
      : command_(command), on_(!command.empty() && ::isatty(STDERR_FILENO)) {}
  ~ReadProgress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void take() {
    if ((++events_ & 0xffff) != 0 || !on_ || monotonic_ms() < next_) return;
    next_ = monotonic_ms() + 500;
    shown_ = true;
    std::fprintf(stderr, "\r\033[K[ patchbay %s: %.1f million records read ]", command_.c_str(),
                 double(events_) / 1e6);
  }

 private:
  const std::string command_;
  const bool on_;
  bool shown_ = false;
  uint64_t events_ = 0;
  int64_t next_ = monotonic_ms() + 1000;
};

}  // namespace

Status GraphSource::walk(size_t buffer, const Each& each) {
  const bool joins = tells_kernel_events_ && buffer == 0;
  PB_ASSIGN(auto pages, joins ? input_.top_and_kernel_pages() : input_.pages(buffer));
  // The times in records of a trace.dat are nanoseconds, as its readers expect; in our rings they
  // are ticks.
  PageSource* source = pages.get();
  GraphDecoder::ToNs to_ns = [](uint64_t time) { return time; };
  if (input_.buffer) to_ns = [source](uint64_t time) { return source->to_ns(time); };
  GraphDecoder decoder(events_, std::move(to_ns));
  EventMerger merger(source);
  MergedEvent event;
  GraphRecord record;
  ReadProgress progress(command_);
  while (merger.next(&event)) {
    progress.take();
    counter_.take(event);
    if (decoder.decode(event, &record)) {
      if (names_.has_images()) unify(&record);
      tid_ = record.tid, cpu_ = event.cpu, ns_ = event.ns;
      each(event, record);
    } else {
      losses_.short_records++;
    }
  }
  losses_.malformed_pages += merger.malformed_pages();
  return {};
}

// Programs are loaded at other addresses in each process, and have others' functions at theirs.
uint64_t GraphSource::unified(uint64_t address) {
  const auto [known, is_new] = unified_.try_emplace({names_.table(), address}, address);
  if (!is_new) return known->second;
  const AddressText::Entry& entry = address_text_->of(address);
  const auto [named, is_first] = by_name_.try_emplace(entry.plain, address);
  if (is_first) {
    while (!shown_names_.try_emplace(named->second, entry.plain).second)
      named->second = next_made_++;
    places_[named->second] = {names_.image(), address};
  }
  return known->second = named->second;
}

void GraphSource::unify(GraphRecord* record) {
  names_.stand_at(record->tid, record->ns);
  if (record->kind == GraphRecord::Kind::kOther) return;
  if (record->func) record->func = unified(record->func);
  if (record->parent) record->parent = unified(record->parent);
  for (uint64_t& frame : record->frames) frame = unified(frame);
}

InputPeople& GraphSource::people() {
  if (people_) return *people_;
  people_ = std::make_unique<InputPeople>();
  people_->add(input_);
  return *people_;
}

WhoSelection& GraphSource::selection() {
  if (!selection_) selection_ = std::make_unique<WhoSelection>(who_choice_, &people().finder);
  return *selection_;
}

const Who& GraphSource::who() { return people().finder.find(0, tid_, cpu_, ns_); }

std::string GraphSource::thread_name(int32_t tid) const {
  auto found = comms_.find(tid);
  std::string text;
  append_escaped(&text, found == comms_.end() ? "<...>" : found->second);
  return text + "-" + std::to_string(tid);
}

std::string time_text(uint64_t ns) {
  struct Unit {
    double ns;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1e3, "us"}, {1e6, "ms"}, {1e9, "s "}, {60e9, "m "}, {3600e9, "h "}};
  size_t unit = 0;
  while (unit < 4 && double(ns) >= kUnits[unit + 1].ns * 0.9999995) unit++;
  char text[48];
  std::snprintf(text, sizeof text, "%7.3f %s", double(ns) / kUnits[unit].ns, kUnits[unit].name);
  return text;
}

bool function_fits(const std::string& glob, const std::string& name) {
  auto fits = [&](const std::string& part) {
    return ::fnmatch(glob.c_str(), part.c_str(), 0) == 0;
  };
  if (fits(name)) return true;
  size_t parameters = name.ends_with(')') ? name.find('(', 1) : name.npos;
  std::string plain = name.substr(0, parameters);
  size_t colons = plain.rfind("::");
  return fits(plain) || (colons != plain.npos && fits(plain.substr(colons + 2)));
}

void print_graph_notes(std::string_view command, const GraphLosses& losses,
                       const PairingTotals& totals) {
  auto say = [&](uint64_t count, const char* what, const char* where) {
    if (count != 0)
      std::fprintf(stderr, "patchbay %.*s: %llu %s%s %s\n", int(command.size()), command.data(),
                   static_cast<unsigned long long>(count), what, count == 1 ? "" : "s", where);
  };
  say(totals.open_at_end, "call",
      "open at the end (exit, exec, or the recording stopped): counted up to the last record of "
      "the thread");
  say(totals.without_exit, "call",
      "ended without a return (an exception, longjmp, or lost records): counted up to the last "
      "record before");
  say(totals.without_entry, "call", "whose entry is not in the recording");
  print_losses(command, losses.events);
  say(losses.malformed_pages, "damaged page", "read up to the damage");
  say(losses.short_records, "record", "shorter than the format says");
}

}  // namespace patchbay::cmd
