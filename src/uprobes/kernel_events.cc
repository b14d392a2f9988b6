// SPDX-License-Identifier: MIT
#include "uprobes/kernel_events.h"

#include <fcntl.h>
#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "abi/buffer_abi.h"
#include "base/text.h"
#include "event/event_call.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr size_t kMostEvents = 16384;
constexpr uint64_t kKernelBegin = uint64_t{1} << 63;
constexpr size_t kMostAddresses = 1 << 16;
// What somebody writes into the instance's trace_marker. It is always on.
constexpr const char* kMarker = "ftrace:print";

std::string hex_text(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%016" PRIx64, value);
  return text;
}

// "; near it: a, b"
std::string near_names(std::string_view wrong, const std::vector<std::string>& all) {
  std::vector<std::string_view> candidates(all.begin(), all.end());
  if (wrong.find(':') == wrong.npos)
    for (std::string_view& one : candidates) one.remove_prefix(one.find(':') + 1);
  std::string text;
  for (const std::string& one : near_matches(wrong, candidates))
    text += (text.empty() ? "; near it: " : ", ") + one;
  return text;
}

// Fields of an event that may hold an address of the kernel's code, which its text names.
std::vector<uint32_t> address_offsets(const EventCall& call) {
  std::vector<uint32_t> offsets;
  if (call.print_fmt.find("%p") == call.print_fmt.npos) return offsets;
  for (const EventField& field : call.fields)
    if (field.size == 8) offsets.push_back(field.offset);
  return offsets;
}

}  // namespace

std::vector<std::string> kernel_events_of(std::string_view request,
                                          const std::vector<std::string>& all) {
  const size_t colon = request.find(':');
  const std::string system(colon == request.npos ? "" : request.substr(0, colon));
  const std::string event(colon == request.npos ? request : request.substr(colon + 1));
  const auto fits = [](const std::string& glob, const std::string& name) {
    return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  };
  std::vector<std::string> found;
  for (const std::string& name : all) {
    const size_t middle = name.find(':');
    const std::string its_system = name.substr(0, middle), its_event = name.substr(middle + 1);
    const bool wanted = colon == request.npos ? event == its_system || fits(event, its_event)
                                              : fits(system.empty() ? "*" : system, its_system) &&
                                                    fits(event.empty() ? "*" : event, its_event);
    if (wanted) found.push_back(name);
  }
  return found;
}

std::string kernel_functions(std::string_view kallsyms, const std::set<uint64_t>& addresses) {
  std::map<uint64_t, std::string> functions, lines;
  while (!kallsyms.empty()) {
    const std::vector<std::string_view> words = split_words(cut_at(&kallsyms, '\n'));
    uint64_t address = 0;
    if (words.size() < 3 || words[1].size() != 1 || !std::strchr("TtWw", words[1][0])) continue;
    std::from_chars(words[0].data(), words[0].data() + words[0].size(), address, 16);
    if (address < kKernelBegin) continue;  // 0: who asks may not see them
    std::string name(words[2]);
    if (words.size() > 3) name += "\t" + std::string(words[3]);
    functions.emplace(address, std::move(name));
  }
  for (uint64_t address : addresses) {
    const auto next = functions.upper_bound(address);
    if (next == functions.begin() || next == functions.end()) continue;
    lines.insert_or_assign(std::prev(next)->first, std::prev(next)->second);
    lines.emplace(next->first, "0x" + hex_text(next->first));
  }
  std::string text;
  for (const auto& [address, name] : lines) text += hex_text(address) + " t " + name + "\n";
  return text;
}

// --- which events

Result<std::unique_ptr<KernelEvents>> KernelEvents::open(
    const std::vector<KernelEventRequest>& requests) {
  PB_ASSIGN(std::unique_ptr<KernelInstance> instance, KernelInstance::make(KernelUse::kEvents));
  std::unique_ptr<KernelEvents> events(new KernelEvents(std::move(instance)));
  for (const std::string& name : events->instance_->files().list("per_cpu")) {
    uint32_t cpu = 0;
    if (name.starts_with("cpu") && to_number(std::string_view(name).substr(3), &cpu))
      events->nr_cpus_ = std::max(events->nr_cpus_, cpu + 1);
  }
  PB_TRY(events->choose(requests));
  return events;
}

Status KernelEvents::choose(const std::vector<KernelEventRequest>& requests) {
  PB_ASSIGN(const std::string text, instance_->top().read("available_events"));
  const std::vector<std::string> all = split_lines(text);
  std::map<std::string, std::string> filters{{kMarker, ""}};  // of what is chosen; "": all
  PB_TRY(add(kMarker));
  for (const KernelEventRequest& request : requests) {
    const std::vector<std::string> names = kernel_events_of(request.text, all);
    if (names.empty())
      return user_error(ENOENT, "-k '" + request.text + "': the kernel has no such event" +
                                    near_names(request.text, all));
    for (const std::string& name : names) {
      const auto [known, is_new] = filters.emplace(name, request.filter);
      if (!is_new && known->second != request.filter)
        return user_error(EINVAL, "-k '" + request.text + "': " + name +
                                      " is asked for twice, with different filters; one filter "
                                      "can say both: -f 'A || B'");
      if (is_new) PB_TRY(add(name));
      if (is_new && !request.filter.empty()) PB_TRY(set_filter(request, name));
    }
  }
  return {};
}

Status KernelEvents::add(const std::string& name) {
  if (events_.size() >= kMostEvents)
    return user_error(E2BIG, "these are more than " + std::to_string(kMostEvents) +
                                 " events of the kernel: name fewer");
  Event event;
  const size_t middle = name.find(':');
  event.system = name.substr(0, middle);
  event.name = name.substr(middle + 1);
  PB_ASSIGN(const std::string format,
            instance_->files().read("events/" + event.system + "/" + event.name + "/format"));
  PB_ASSIGN(const EventCall call, parse_format(event.system, format));
  event.kernel_id = call.id;
  event.id = uint16_t(kKernelPrintId - events_.size());
  event.format = format_with_id(format, event.id);
  event.addresses = address_offsets(call);
  by_kernel_id_[event.kernel_id] = events_.size();
  events_.push_back(std::move(event));
  return {};
}

Status KernelEvents::set_filter(const KernelEventRequest& request, const std::string& name) {
  std::string path = "events/" + name + "/filter";
  path.replace(path.find(':'), 1, "/");
  const Status set = instance_->files().write(path, request.filter);
  if (set.ok()) return set;
  // The file has the filter and the kernel's sentence about it.
  Result<std::string> why = instance_->files().read(path);
  std::string sentence = why.ok() ? "\n" + *why : std::strerror(set.error().errno_value);
  while (sentence.ends_with('\n')) sentence.pop_back();
  (void)instance_->files().write(path, "0");
  return user_error(
      set.error().errno_value,
      "-f '" + request.filter + "': the kernel refuses it for " + name + ": " + sentence);
}

// --- recording

Status KernelEvents::set_up(bool ticks, uint64_t buffer_kb, bool overwrite, uint32_t page_size,
                            Sink sink) {
  const KernelRings::Options options{ticks ? "x86-tsc" : "mono", buffer_kb, overwrite};
  PB_ASSIGN(rings_, KernelRings::open(
                        *instance_, options,
                        {[this](uint32_t cpu, const EventView& view) { take_record(cpu, view); },
                         [this](uint32_t cpu, uint64_t lost) { pages_[cpu]->lose(lost); }}));
  counts_.resize(rings_->nr_cpus());
  for (uint32_t cpu = 0; cpu < rings_->nr_cpus(); cpu++)
    pages_.push_back(std::make_unique<RecordPages>(
        page_size, [sink, cpu](const PageImage& page) { sink(cpu, page); }));
  return {};
}

Status KernelEvents::start() {
  for (const Event& event : events_) {
    if (event.system == "ftrace") continue;
    const std::string path = "events/" + event.system + "/" + event.name + "/enable";
    if (Status on = instance_->files().write(path, "1"); !on.ok())
      return user_error(on.error().errno_value, "the kernel does not enable " + event.system + ":" +
                                                    event.name + ": " +
                                                    std::strerror(on.error().errno_value));
  }
  return rings_->start();
}

void KernelEvents::stop() {
  if (instance_->group().empty() || !rings_) return;
  rings_->stop();
  (void)instance_->files().write("events/enable", "0");
}

void KernelEvents::take_record(uint32_t cpu, const EventView& view) {
  abi::RecordHeader header;
  if (view.record.size() < sizeof header) return;
  std::memcpy(&header, view.record.data(), sizeof header);
  const auto known = by_kernel_id_.find(header.common_type);
  if (known == by_kernel_id_.end()) return;
  Event& event = events_[known->second];
  threads_.note(uint32_t(header.common_pid));
  for (uint32_t offset : event.addresses) {
    uint64_t address = 0;
    if (offset + sizeof address > view.record.size()) continue;
    std::memcpy(&address, view.record.data() + offset, sizeof address);
    if (address >= kKernelBegin && addresses_.size() < kMostAddresses) addresses_.insert(address);
  }
  record_.assign(view.record.begin(), view.record.end());
  std::memcpy(record_.data(), &event.id, sizeof event.id);
  if (!pages_[cpu]->add(view.time, record_)) {
    counts_[cpu].lost++;
    return pages_[cpu]->lose(1);
  }
  event.records++;
  counts_[cpu].events++;
}

Status KernelEvents::finish() {
  stop();
  rings_->drain_rest();
  for (const auto& pages : pages_) pages->flush();
  const std::vector<uint64_t> losses = rings_->losses();
  for (size_t cpu = 0; cpu < losses.size(); cpu++) counts_[cpu].lost += losses[cpu];
  command_lines_ = threads_.command_lines(instance_->top());
  if (Result<std::string> texts = instance_->top().read("printk_formats"); texts.ok())
    printk_formats_ = *texts;
  return instance_->remove();
}

uint64_t KernelEvents::nr_events() const {
  uint64_t sum = 0;
  for (const Counts& counts : counts_) sum += counts.events;
  return sum;
}

uint64_t KernelEvents::nr_lost() const {
  uint64_t sum = 0;
  for (const Counts& counts : counts_) sum += counts.lost;
  return sum;
}

void KernelEvents::add_to(TraceDatMetadata* metadata) const {
  for (const Event& event : events_)
    metadata->formats.push_back({event.system, event.name, event.format});
  if (!addresses_.empty()) {
    Result<std::string> kallsyms = read_file("/proc/kallsyms");
    if (kallsyms.ok()) metadata->kallsyms += kernel_functions(*kallsyms, addresses_);
  }
  metadata->printk_formats += printk_formats_;
  // What the agent knows of a thread is from the time of its events.
  std::set<std::string> known;
  for (const std::string& line : split_lines(metadata->cmdlines))
    known.insert(line.substr(0, line.find(' ')));
  for (const std::string& line : split_lines(command_lines_)) {
    const std::string tid = line.substr(0, line.find(' '));
    if (tid != "0" && !known.contains(tid)) metadata->cmdlines += line + "\n";
  }
}

}  // namespace patchbay
