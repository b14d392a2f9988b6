// SPDX-License-Identifier: MIT
#include "trace_dat/metadata.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>

#include "abi/match_abi.h"
#include "base/monotonic_clock.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "output/printk_text.h"

namespace patchbay {

namespace {

constexpr size_t kMaxAddresses = 1 << 20;  // garbage in `symbol` fields must not eat the machine

constexpr uint32_t kMaxFrames = 1024;  // of one stack

bool is_tracer_address(std::string_view field) {
  return field == "ip" || field == "parent_ip" || field == "func" || field == "retaddr";
}

// The call before it may be its function's last instruction.
bool is_caller(std::string_view field) {
  return field == "__parent_ip" || field == "__probe_ret_ip" || field == "parent_ip" ||
         field == "retaddr" || field == "caller";
}

bool split_at_nul(std::string_view* rest, std::string_view* part) {
  size_t end = rest->find('\0');
  if (end == std::string_view::npos) return false;
  *part = rest->substr(0, end);
  rest->remove_prefix(end + 1);
  return true;
}

bool add_format(std::string_view payload, RecordedMeta* out) {
  if (payload.size() < 4) return false;
  std::string_view rest = payload.substr(4), system;
  if (!split_at_nul(&rest, &system)) return false;
  while (!rest.empty() && rest.back() == '\0') rest.remove_suffix(1);
  Result<EventCall> event = parse_format(system, rest);
  if (!event.ok()) return false;
  auto same = std::find_if(out->events.begin(), out->events.end(),
                           [&](const EventCall& e) { return e.id == event->id; });
  if (same != out->events.end()) {
    out->formats.erase(out->formats.begin() + (same - out->events.begin()));
    out->events.erase(same);
  }
  out->formats.push_back({std::string(system), event->name, std::string(rest)});
  out->events.push_back(std::move(*event));
  return true;
}

bool add_module(std::string_view payload, RecordedMeta* out) {
  abi::ModuleRecord module;
  if (payload.size() < sizeof module) return false;
  std::memcpy(&module, payload.data(), sizeof module);
  std::string_view rest = payload.substr(sizeof module), build_id, path;
  if (!split_at_nul(&rest, &build_id)) return false;
  if (!split_at_nul(&rest, &path)) path = rest;
  if (module.end <= module.start) return false;
  std::erase_if(out->modules, [&](const RecordedModule& m) {
    return m.start < module.end && module.start < m.end;
  });
  out->modules.push_back(
      {module.start, module.end, module.bias, std::string(build_id), std::string(path)});
  return true;
}

bool add_exe(std::string_view payload, RecordedMeta* out) {
  std::string_view rest = payload, path;
  if (!split_at_nul(&rest, &path)) return false;
  out->exe = path;
  out->command_line = rest;
  std::replace(out->command_line.begin(), out->command_line.end(), '\0', ' ');
  return true;
}

// A name in a kallsyms line holds neither blanks nor control characters.
std::string plain_name(std::string_view name) {
  std::string plain(name);
  for (char& c : plain)
    if (uint8_t(c) <= ' ' || c == 0x7f) c = '_';
  return plain.empty() ? "?" : plain;
}

// What ends a line or a column would make two of it.
std::string one_line(std::string text) {
  for (char& c : text)
    if (uint8_t(c) < ' ' || c == 0x7f) c = '?';
  return text;
}

struct Symbol {
  std::string name, module;
  uint64_t end = 0;
  bool is_variable = false;
};

std::string stats_text(const BufferFile& file, uint32_t ring) {
  RingStats stats = file.stats(ring);
  return "entries: " + std::to_string(stats.entries) +
         "\ndropped events: " + std::to_string(stats.dropped) + "\n";
}

}  // namespace

Result<RecordedMeta> read_recorded_meta(const BufferFile& file) {
  PB_ASSIGN(auto log, file.meta());
  RecordedMeta out;
  for (const BufferFile::Meta& record : log) {
    bool good = true;
    if (record.type == abi::kMetaEventFormat) good = add_format(record.payload, &out);
    if (record.type == abi::kMetaModule) good = add_module(record.payload, &out);
    if (record.type == abi::kMetaExe) good = add_exe(record.payload, &out);
    if (record.type == abi::kMetaMatch) out.matches.append(record.payload).push_back('\n');
    if (!good) out.malformed++;
  }
  return out;
}

AddressCollector::AddressCollector(const std::vector<EventCall>& events) { set_events(events); }
AddressCollector::~AddressCollector() = default;

void AddressCollector::set_events(const std::vector<EventCall>& events) {
  by_id_.clear();
  for (const EventCall& event : events) {
    if (event.id >= by_id_.size()) by_id_.resize(size_t(event.id) + 1);
    // A probe's :symbol is a u64 that only its print format tells from a number.
    const bool has_symbols = event.print_fmt.find("%pS") != event.print_fmt.npos;
    for (const EventField& field : event.fields) {
      bool address = field.name == "__ip" || field.name == "__parent_ip" ||
                     field.name.starts_with("__probe_") || field.type == "symbol" ||
                     field.type == "unsigned symbol" || (has_symbols && field.type == "u64");
      if (event.system == "ftrace" && is_tracer_address(field.name)) address = true;
      if (event.system == "ftrace" && field.name == "caller") {  // to the end of the record
        by_id_[event.id].push_back({field.offset, kMaxFrames, true});
        continue;
      }
      if (address && field.size >= 8)
        by_id_[event.id].push_back({field.offset, field.size / 8, is_caller(field.name)});
    }
  }
}

void AddressCollector::add_page(const PageImage& page) {
  EventIterator events(page.bytes, page.used);
  EventView event;
  while (events.next(&event)) {
    uint16_t id;
    if (event.record.size() < sizeof(abi::RecordHeader)) continue;
    std::memcpy(&id, event.record.data(), 2);
    if (id >= counts_.size()) counts_.resize(size_t(id) + 1);
    counts_[id]++;
    if (id >= by_id_.size()) continue;
    for (const Where& where : by_id_[id]) {
      for (uint32_t i = 0; i < where.count; i++) {
        uint64_t address, at = where.offset + uint64_t(8) * i;
        if (at + 8 > event.record.size()) break;
        std::memcpy(&address, event.record.data() + at, 8);
        uint64_t& last = last_[address * 0x9e3779b97f4a7c15 >> 54];  // was nearly always seen
        if (address == last || address == 0 || addresses_.size() >= kMaxAddresses) continue;
        last = address;
        addresses_.insert(address);
        if (where.callers) addresses_.insert(address - 1);
      }
    }
  }
}

std::vector<uint64_t> AddressCollector::sorted() const {
  std::vector<uint64_t> list(addresses_.begin(), addresses_.end());
  std::sort(list.begin(), list.end());
  return list;
}

std::string kallsyms_text(SymbolTable* symbols, const std::vector<uint64_t>& addresses) {
  std::map<uint64_t, Symbol> lines;
  for (uint64_t address : addresses) {
    SymbolizedAddress found;
    char hex[24];
    if (symbols && symbols->symbolize(address, &found)) {
      std::string module = found.module ? found.module->path() : "";
      module = plain_name(base_name(module));
      lines[found.start] = {plain_name(found.name), module == "?" ? "" : module,
                            found.start + found.size, found.is_variable};
    } else if (!std::binary_search(addresses.begin(), addresses.end(), address + 1)) {
      snprintf(hex, sizeof hex, "0x%" PRIx64, address);
      lines.insert({address, {hex, "", address + 1}});
    }
  }
  std::string text;
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    char hex[24];
    snprintf(hex, sizeof hex, "%016" PRIx64, line->first);
    text += std::string(hex) + (line->second.is_variable ? " d " : " t ") + line->second.name;
    if (!line->second.module.empty()) text += "\t[" + line->second.module + "]";
    text += '\n';
    auto next = std::next(line);
    uint64_t end = line->second.end;
    if (end <= line->first || (next != lines.end() && next->first <= end)) continue;
    snprintf(hex, sizeof hex, "%016" PRIx64, end);
    text += std::string(hex) + " t 0x" + std::string(hex + std::min<size_t>(strspn(hex, "0"), 15)) +
            "\n";
  }
  return text;
}

std::string modules_text(int32_t pid, const std::string& exe,
                         const std::vector<RecordedModule>& modules,
                         const std::vector<uint64_t>& addresses) {
  std::string lines;
  size_t count = 0;
  for (const RecordedModule& module : modules) {
    auto first = std::lower_bound(addresses.begin(), addresses.end(), module.start);
    if (first == addresses.end() || *first >= module.end) continue;
    char range[64], bias[32];
    std::snprintf(range, sizeof range, "%" PRIx64 " %" PRIx64 " ", module.start, module.end);
    std::snprintf(bias, sizeof bias, " %" PRIx64 "\n", module.bias);
    lines += range + one_line(module.path) + "\t" +
             (module.build_id.empty() ? "-" : one_line(module.build_id)) + bias;
    count++;
  }
  if (count == 0) return "";
  char head[48];
  std::snprintf(head, sizeof head, "%x %zx ", unsigned(pid), count);
  return head + one_line(exe.empty() ? "?" : exe) + "\n" + lines;
}

// A shell may have forked tens of thousands: on a disk that is nearly full they must not take the
// room of the rest.
constexpr size_t kMaxChildren = 256;

std::string processes_text(int32_t pid, const std::string& exe,
                           const std::vector<abi::CommEntry>& comms) {
  std::map<uint32_t, uint32_t> processes;  // by thread
  for (const abi::CommEntry& entry : comms)
    if (entry.tid && entry.tgid && entry.tgid != uint32_t(pid) && processes.size() < kMaxChildren)
      processes[entry.tid] = entry.tgid;
  std::string text;
  for (const auto& [thread, process] : processes) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%x 0 ", thread);
    text += numbers + one_line(exe);
    std::snprintf(numbers, sizeof numbers, "\t%x\n", process);
    text += numbers;
  }
  return text;
}

std::vector<RecordedModule> modules_of_text(std::string_view text) {
  std::vector<RecordedModule> modules;
  while (!text.empty()) {
    const std::string line(cut_at(&text, '\n'));
    const size_t tab = line.find('\t');
    RecordedModule module{};
    int path = 0, bias = 0;
    if (tab == line.npos ||
        std::sscanf(line.c_str(), "%" SCNx64 " %" SCNx64 " %n", &module.start, &module.end,
                    &path) != 2 ||
        path == 0 || size_t(path) >= tab || module.end <= module.start)
      continue;
    const std::string behind = line.substr(tab + 1);
    const size_t blank = behind.find(' ');
    if (blank == behind.npos ||
        std::sscanf(behind.c_str() + blank, " %" SCNx64 "%n", &module.bias, &bias) != 1)
      continue;
    module.path = line.substr(size_t(path), tab - size_t(path));
    module.build_id = behind.substr(0, blank);
    if (module.build_id == "-") module.build_id.clear();
    modules.push_back(std::move(module));
  }
  return modules;
}

std::string format_with_id(std::string text, uint16_t id) {
  const size_t at = text.find("\nID: "), end = text.find('\n', at + 1);
  if (at == text.npos || end == text.npos) return "";
  return text.replace(at + 5, end - at - 5, std::to_string(id));
}

namespace {

// A buffer file may be of an earlier boot: then its pairs are not of this clock.
std::string boot_text(const std::vector<abi::ClockPair>& pairs) {
  if (pairs.empty()) return "";
  const abi::ClockPair& last = pairs.back();
  Result<std::string> id = read_file("/proc/sys/kernel/random/boot_id");
  const bool is_this_boot = id.ok() && last.mono_ns <= monotonic_ns();
  const std::string name =
      is_this_boot ? std::string(trim(*id)) : "00000000-0000-0000-0000-000000000000";
  return name + " " + std::to_string(int64_t(last.real_ns - last.mono_ns));
}

}  // namespace

Result<TraceDatMetadata> collect_metadata(const BufferFile& file,
                                          const AddressCollector& addresses) {
  PB_ASSIGN(auto meta, read_recorded_meta(file));
  TraceDatMetadata out;
  out.formats = std::move(meta.formats);
  out.matches = std::move(meta.matches);
  const std::vector<uint64_t> used = addresses.sorted();
  const int32_t pid = file.header().pid;
  out.process_maps = modules_text(pid, meta.exe, meta.modules, used);
  if (out.process_maps.empty()) {  // it says whose recording this is, also without files
    abi::CommEntry main{uint32_t(pid), uint32_t(pid), {}};
    out.process_maps = processes_text(0, meta.exe.empty() ? "?" : meta.exe, {main});
  }
  out.process_maps += processes_text(pid, "?", file.comms());
  std::unique_ptr<SymbolTable> symbols = make_recorded_symbol_table(std::move(meta.modules));
  out.kallsyms = kallsyms_text(symbols.get(), used);
  out.printk_formats = printk_formats_text(file.printk_texts());
  std::map<uint32_t, std::string> comms;
  for (const abi::CommEntry& entry : file.comms()) comms[entry.tid] = entry.comm;
  for (const auto& [tid, comm] : comms) {
    out.cmdlines += std::to_string(tid) + " " + one_line(comm) + "\n";
  }
  for (uint32_t ring = 0; ring < file.nr_rings(); ring++)
    out.cpu_stats.push_back(stats_text(file, ring));
  out.tsc = file.header().clock == abi::kClockTsc;
  out.clock_line = fit_clock(file.header().clock, file.clock_pairs());
  utsname system;
  if (uname(&system) == 0)
    out.uname = std::string(system.sysname) + " " + system.nodename + " " + system.release + " " +
                system.machine;
  out.boot = boot_text(file.clock_pairs());
  out.trace_id = file.header().start_realtime_ns ^ uint64_t(uint32_t(file.header().pid)) << 32;
  return out;
}

}  // namespace patchbay
