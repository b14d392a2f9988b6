// SPDX-License-Identifier: MIT
#include "export/export_people.h"

#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "abi/trace_dat_abi.h"
#include "base/text.h"
#include "trace_dat/metadata.h"

namespace patchbay {
namespace {

constexpr const char kUnknownComm[] = "<...>";

std::string this_host() {
  utsname names;
  return ::uname(&names) == 0 ? names.nodename : "";
}

// "Linux HOST RELEASE MACHINE"
std::string host_of_uname(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text.substr(0, text.find('\0')));
  return words.size() >= 2 ? std::string(words[1]) : "";
}

std::string base_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// One process of the option PROCMAPS: "PID LINES PROGRAM", numbers hexadecimal, then its files. In
// ours a thread of a forked child follows as "TID 0 PROGRAM\tPID".
struct ProcessMaps {
  int32_t pid = 0, process = 0;
  bool is_ours = false;
  std::string exe;
  std::vector<RecordedModule> modules;
};

bool parse_head(const std::string& line, ProcessMaps* out, uint64_t* lines) {
  unsigned pid = 0;
  int path = 0;
  if (std::sscanf(line.c_str(), "%x %" SCNx64 " %n", &pid, lines, &path) != 2 || path == 0)
    return false;
  *out = {};
  out->pid = int32_t(pid);
  out->process = out->pid;
  out->exe = line.substr(size_t(path));
  const size_t tab = out->exe.find('\t');
  unsigned process = 0;
  if (tab == out->exe.npos || std::sscanf(out->exe.c_str() + tab, " %x", &process) != 1)
    return true;
  out->process = int32_t(process);
  out->is_ours = true;
  out->exe.resize(tab);
  return true;
}

// Lines of trace-cmd end with the path.
void parse_file(const std::string& line, ProcessMaps* out) {
  std::vector<RecordedModule> ours = modules_of_text(line);
  if (!ours.empty()) {
    out->is_ours = true;
    out->modules.push_back(std::move(ours.front()));
    return;
  }
  RecordedModule module{};
  int path = 0;
  if (std::sscanf(line.c_str(), "%" SCNx64 " %" SCNx64 " %n", &module.start, &module.end, &path) !=
          2 ||
      path == 0 || module.end <= module.start)
    return;
  module.bias = module.start;
  module.path = line.substr(size_t(path));
  out->modules.push_back(std::move(module));
}

std::vector<ProcessMaps> parse_process_maps(std::string_view text) {
  std::vector<ProcessMaps> found;
  text = text.substr(0, text.find('\0'));
  while (!text.empty()) {
    ProcessMaps one;
    uint64_t lines = 0;
    if (!parse_head(std::string(cut_at(&text, '\n')), &one, &lines)) continue;
    for (; lines > 0 && !text.empty(); lines--) parse_file(std::string(cut_at(&text, '\n')), &one);
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace

uint32_t ExportPeople::host_of(const Host& wanted) {
  auto found = std::find(hosts_.begin(), hosts_.end(), wanted);
  if (found == hosts_.end()) found = hosts_.insert(found, wanted);
  return uint32_t(found - hosts_.begin());
}

ExportProcess* ExportPeople::process(uint32_t host, int32_t pid) {
  auto [at, is_new] = process_by_pid_.try_emplace(key(host, pid, 0), nullptr);
  if (is_new) {
    at->second = &processes_.emplace_back();
    at->second->index = uint32_t(processes_.size() - 1);
    at->second->host = host;
    at->second->pid = pid;
  }
  return at->second;
}

ExportThread* ExportPeople::make_thread(uint32_t host, int32_t tid, uint32_t cpu,
                                        ExportProcess* of) {
  auto [at, is_new] = thread_by_tid_.try_emplace(key(host, tid, cpu), nullptr);
  if (is_new) {
    at->second = &threads_.emplace_back();
    *at->second = {uint32_t(threads_.size() - 1), tid, cpu, of, kUnknownComm};
    if (tid == 0) at->second->comm = "<idle>";
  } else if (of && of->is_known && !at->second->process->is_known) {
    at->second->process = of;
  }
  return at->second;
}

ExportThread* ExportPeople::find_thread(uint32_t host, int32_t tid) {
  auto found = thread_by_tid_.find(key(host, tid, 0));
  return found == thread_by_tid_.end() ? nullptr : found->second;
}

uint32_t ExportPeople::add(const ExportInput& input) {
  InputPeople people;
  if (input.dat) {
    add_dat(input, &people);
  } else {
    people.host = host_of({this_host(), ""});
    add_buffer(*input.buffer, &people);
  }
  if (people.only) people.forked.parent = people.only->pid;
  inputs_.push_back(people);
  return people.host;
}

void ExportPeople::add_dat(const ExportInput& input, InputPeople* people) {
  const TraceDatReader& dat = *input.dat;
  std::string host;
  for (const TraceDatReader::Part& option : dat.options())
    if (option.id == abi::kDatUname) host = host_of_uname(option.body);
  people->host = host_of({host, host.empty() ? input.path : ""});
  for (const TraceDatReader::Part& option : dat.options())
    if (option.id == abi::kDatProcMaps) add_process_maps(option.body, people);
  add_images(dat.images().images, people);
  add_comms(dat.cmdlines(), *people);
}

// A recording of several programs says of each thread whose it is. A process that has executed
// another program has the last one's name.
void ExportPeople::add_images(const std::vector<ProcessImage>& images, InputPeople* people) {
  if (images.empty()) return;
  people->only = nullptr;
  for (const ProcessImage& image : images) {
    ExportProcess* found = process(people->host, image.pid);
    found->is_known = true;
    if (!image.exe.empty()) found->exe = image.exe;
    if (!image.words.empty()) found->command_line = image.words;
    found->modules = modules_of_text(image.process_maps);
    for (const ImageThread& thread : image.threads) {
      ExportProcess* of = process(people->host, thread.process ? thread.process : image.pid);
      if (of != found && !of->is_known) {  // a forked child
        of->is_known = true;
        of->exe = found->exe;
        of->modules = found->modules;
      }
      make_thread(people->host, thread.tid, 0, of)->process = of;
    }
  }
}

void ExportPeople::add_process_maps(std::string_view text, InputPeople* people) {
  std::vector<ProcessMaps> all = parse_process_maps(text);
  for (ProcessMaps& one : all) {
    ExportProcess* found = process(people->host, one.process);
    found->is_known = true;
    found->exe = one.exe;
    if (found->exe == "?") found->exe = &one == &all.front() ? "" : all.front().exe;
    if (!one.modules.empty()) found->modules = std::move(one.modules);
    // A recording of ours is of one process, and of children that stand behind it.
    if (one.is_ours && &one == &all.front()) people->only = found;
    if (people->only && found != people->only) people->forked.children.push_back(found->pid);
    make_thread(people->host, one.pid, 0, found);
  }
}

void ExportPeople::add_comms(std::string_view lines, const InputPeople& people) {
  while (!lines.empty()) {
    const std::string_view line = cut_at(&lines, '\n');
    int32_t tid = 0;
    auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), tid);
    const char* end = line.data() + line.size();
    if (error != std::errc() || rest == end || tid == 0) continue;
    ExportThread* known = find_thread(people.host, tid);
    if (!known)
      known =
          make_thread(people.host, tid, 0, people.only ? people.only : process(people.host, tid));
    known->comm = std::string(rest + 1, end);
  }
}

void ExportPeople::add_buffer(const BufferFile& buffer, InputPeople* people) {
  ExportProcess* found = process(people->host, buffer.header().pid);
  found->is_known = true;
  people->only = found;
  if (auto meta = read_recorded_meta(buffer); meta.ok()) {
    found->exe = meta->exe;
    found->modules = std::move(meta->modules);
    std::string_view words = meta->command_line;
    while (!words.empty()) found->command_line.emplace_back(cut_at(&words, '\0'));
  }
  for (const abi::CommEntry& entry : buffer.comms()) {
    if (entry.tid == 0) continue;
    ExportProcess* of = found;
    if (entry.tgid && int32_t(entry.tgid) != found->pid) {  // a forked child
      of = process(people->host, int32_t(entry.tgid));
      of->is_known = true;
      of->exe = found->exe;
      if (of->modules.empty()) of->modules = found->modules;
      people->forked.children.push_back(of->pid);
    }
    make_thread(people->host, int32_t(entry.tid), 0, of)->comm =
        std::string(entry.comm, ::strnlen(entry.comm, sizeof entry.comm));
  }
}

const ExportThread* ExportPeople::thread(uint32_t input, int32_t tid, uint32_t cpu) {
  const InputPeople& people = inputs_[input];
  auto found = thread_by_tid_.find(key(people.host, tid, cpu));
  if (found != thread_by_tid_.end()) return found->second;
  ExportProcess* of = people.only && tid != 0 ? people.only : process(people.host, tid);
  return make_thread(people.host, tid, cpu, of);
}

void ExportPeople::name_processes() {
  for (ExportProcess& one : processes_) {
    auto first = thread_by_tid_.find(key(one.host, one.pid, 0));
    const bool has_comm = first != thread_by_tid_.end() && first->second->comm != kUnknownComm;
    one.name = has_comm ? first->second->comm : base_name_of(one.exe);
    if (one.pid == 0) one.name = "<idle>";
  }
}

void ExportPeople::list(ExportMeta* meta) const {
  // The name of the only file would say nothing. Of files with one name the paths differ.
  for (const Host& one : hosts_) {
    const auto same = std::count_if(hosts_.begin(), hosts_.end(), [&one](const Host& other) {
      return base_name_of(other.file) == base_name_of(one.file);
    });
    const std::string file = same > 1 ? one.file : base_name_of(one.file);
    meta->hosts.push_back(hosts_.size() > 1 && one.name.empty() ? file : one.name);
  }
  for (const ExportProcess& one : processes_) meta->processes.push_back(&one);
  for (const ExportThread& one : threads_) meta->threads.push_back(&one);
}

}  // namespace patchbay
