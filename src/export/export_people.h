// SPDX-License-Identifier: MIT
// Who is in the recordings: hosts, processes, threads.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/export_event.h"
#include "export/export_source.h"

namespace patchbay {

class ExportPeople {
 public:
  // Everything that an input says of its threads. Returns the number of its host.
  uint32_t add(const ExportInput& input);
  // Of a record; made where it is not known yet. Threads with the id 0 are idle ones, one a CPU.
  const ExportThread* thread(uint32_t input, int32_t tid, uint32_t cpu);
  // Of a recording of one program: its process, and those that it has forked.
  struct Forked {
    int32_t parent = 0;
    std::vector<int32_t> children;
  };
  const Forked& forked(uint32_t input) const { return inputs_[input].forked; }
  // Names of processes, once all inputs are there.
  void name_processes();
  void list(ExportMeta* meta) const;

 private:
  struct InputPeople {
    uint32_t host = 0;
    ExportProcess* only = nullptr;  // all threads of this input are its
    Forked forked;
  };
  // A machine by its name, or, where a recording does not name its machine, by the file.
  struct Host {
    std::string name, file;
    bool operator==(const Host&) const = default;
  };
  uint32_t host_of(const Host& wanted);
  ExportProcess* process(uint32_t host, int32_t pid);
  void add_dat(const ExportInput& input, InputPeople* people);
  void add_process_maps(std::string_view untrusted_text, InputPeople* people);
  void add_images(const std::vector<ProcessImage>& images, InputPeople* people);
  void add_comms(std::string_view untrusted_lines, const InputPeople& people);
  void add_buffer(const BufferFile& buffer, InputPeople* people);
  ExportThread* find_thread(uint32_t host, int32_t tid);
  ExportThread* make_thread(uint32_t host, int32_t tid, uint32_t cpu, ExportProcess* process);
  static uint64_t key(uint32_t host, int32_t tid, uint32_t cpu) {
    // No machine has 2^31 CPUs: idle threads stand behind all ids.
    return uint64_t(host) << 33 | (tid == 0 ? uint64_t{1} << 32 | cpu : uint64_t(uint32_t(tid)));
  }

  std::vector<Host> hosts_;
  std::vector<InputPeople> inputs_;
  std::deque<ExportProcess> processes_;  // both stay where they are
  std::deque<ExportThread> threads_;
  std::unordered_map<uint64_t, ExportProcess*> process_by_pid_;
  std::unordered_map<uint64_t, ExportThread*> thread_by_tid_;
};

}  // namespace patchbay
