// SPDX-License-Identifier: MIT
// A small world for the tests of probe events: some functions, symbols, files and events.
#pragma once

#include <map>
#include <string>

#include "event/probe_event.h"

namespace patchbay {

class TestWorld : public ProbeWorld {
 public:
  TestWorld() {
    add_event("syscalls", "sys_enter_umask",
              {{"int", "__syscall_nr", 8, 4, true}, {"int", "mask", 16, 8, false}});
    add_event("syscalls", "sys_enter_openat",
              {{"int", "__syscall_nr", 8, 4, true},
               {"int", "dfd", 16, 8, false},
               {"const char *", "filename", 24, 8, false}});
    add_event("sched", "sched_process_exec",
              {{"__data_loc char[]", "filename", 8, 4, false},
               {"pid_t", "pid", 12, 4, true},
               {"char", "comm", 16, 16, false, 16},
               {"s8", "nice", 32, 1, true}});
    add_event("kmem", "kfree",
              {{"unsigned long", "call_site", 8, 8, false}, {"const void *", "ptr", 16, 8, false}});
    add_event("sched", "sched_switch", {{"char", "prev_comm", 8, 16, false, 16}});
  }

  Function find_function(std::string_view symbol) override {
    if (symbol.starts_with("later.so:")) return {0, 0, false};
    if (symbol == "name_show") return {2, 16, true};
    static constexpr std::string_view kKnown[] = {
        "vfs_read",    "vfs_write",     "vfs_open",       "do_exit",          "kernel_clone",
        "kfree",       "main",          "ns::f",          "ns::f(int,char*)", "libx-1.so:ns::f",
        "libx-1.so:g", "ns::operator+", "ns::operator->", "ns::operator%(A)", "ns::operator/",
        "foo.isra.0"};
    for (std::string_view known : kKnown)
      if (symbol == known) return {1, 64, true};
    return {};
  }
  bool is_text(uint64_t address, bool* entry) override {
    *entry = address == 0x401000;
    return address >= 0x401000 && address < 0x402000;
  }
  uint64_t address_of(std::string_view symbol) override {
    auto found = symbols.find(std::string(symbol));
    return found == symbols.end() ? 0 : found->second;
  }
  uint64_t data_at(std::string_view path, uint64_t file_offset) override {
    return path == "/bin/sh" ? data + file_offset : 0;
  }
  const EventCall* find_event(std::string_view system, std::string_view name) override {
    auto found = events.find(std::string(system) + "." + std::string(name));
    return found == events.end() ? nullptr : &found->second;
  }
  const EventCall* find_tracepoint(std::string_view name) override {
    for (const auto& [key, call] : events)
      if (call.name == name) return &call;
    return nullptr;
  }
  FileKind file_kind(std::string_view path) override {
    if (path == "/bin/sh" || path == "/bin/busybox" || path == "/usr/lib/libfoo-1.2.so")
      return FileKind::kRegular;
    return path == "/sys" ? FileKind::kOther : FileKind::kNone;
  }
  std::vector<std::string> near_functions(std::string_view symbol) override {
    if (symbol == "vfs_raed") return {"vfs_read"};
    return {};
  }

  std::map<std::string, uint64_t> symbols = {{"jiffies", 0x5000}, {"ns::counter", 0x6000}};
  std::map<std::string, EventCall> events;
  uint64_t data = 0x700000;

 private:
  void add_event(const std::string& system, const std::string& name,
                 std::vector<EventField> fields) {
    EventCall call;
    call.system = system;
    call.name = name;
    call.common = common_fields();
    call.fields = std::move(fields);
    events[system + "." + name] = std::move(call);
  }
};

}  // namespace patchbay
