// SPDX-License-Identifier: MIT
//
// A perfetto trace (.pftrace): packets one behind the other, each `0A length bytes`
// (protos/perfetto/trace in google/perfetto has the messages).
//
//   sequence 1       descriptions of processes, threads and tracks; bundles of ftrace events
//                    (perfetto_ftrace.h); instants, counters, pairs, and calls of further threads
//   sequence 2 …     the calls of one thread each: the thread is the sequence's default, so a
//                    beginning takes 12 bytes, and an end 10, or 18 with a value
//
// Packets of a second host have its number as machine_id, 1 and so on, and its own sequences, of
// which the one that is numbered as the host, plus 1, is what sequence 1 is to the first host. So a
// reader keeps the pids of two hosts apart.
//
// No packet is ever missing from a file, so only those that define something say that they need
// the sequence's state.
//
// The times of a sequence are differences to its last packet (clock 64). What lies before that,
// as the beginning of a call that is known at its end only, has its absolute time (clock 6).
// Perfetto's own time is BOOTTIME; nothing in a recording says how far it is from ours, so the
// snapshots say: not at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/export_formats.h"
#include "export/perfetto_ftrace.h"
#include "export/perfetto_intern.h"

namespace patchbay {

class PerfettoSink : public ExportSink {
 public:
  PerfettoSink(std::unique_ptr<ExportWriter> writer, const ExportSettings& settings);
  Status begin(const ExportMeta& meta, ExportSource* source) override;
  Status schema(const ExportSchema& schema) override;
  Status event(const ExportEvent& event) override;
  Status loss(const ExportEvent& event) override;
  Status end(const ExportStats& stats) override;

 private:
  enum Type : uint32_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
  struct Sequence {
    uint32_t id = 0, generation = 0;
    uint32_t machine = 0;  // the number of its host
    uint64_t last_ns = 0, default_track = 0;
    PerfettoDefined defined;
  };
  // The calls that one buffer has of a thread.
  struct CallTrack {
    uint32_t input = 0, buffer = 0;
    uint64_t uuid = 0;
    Sequence* sequence = nullptr;
  };
  struct ThreadTracks {
    uint64_t uuid = 0, returns = 0;  // 0: not described yet
    std::vector<CallTrack> calls;
  };
  struct CounterField {
    const ExportField* field;
    std::string name;
    std::unordered_map<uint32_t, uint64_t> tracks;  // by process
  };
  // A TrackEvent that is being made.
  struct Making {
    Sequence* sequence;
    uint64_t ns;
    Type type;
  };
  ThreadTracks* tracks_of(const ExportThread& thread);
  void describe_thread(const ExportThread& thread, uint64_t uuid);
  uint64_t process_track(const ExportProcess& process);
  uint64_t child_track(Sequence* sequence, uint64_t parent, std::string_view name,
                       bool is_counter = false);
  void begin_machines();
  Sequence* base(uint32_t host) const { return sequences_[host].get(); }
  Sequence* base_of(const ExportEvent& event) const {
    return base(meta_->inputs[event.input].host);
  }
  CallTrack* call_track(const ExportEvent& event);
  void begin_sequence(Sequence* sequence, uint64_t ns);
  void put_packet(Sequence* sequence, std::string_view fields, uint32_t flags);
  Making make(Sequence* sequence, uint64_t ns, Type type, uint64_t track);
  void put_name(const Making& making, PerfettoName kind, uint32_t field, uint32_t id);
  void annotate(const Making& making, std::string_view name, uint32_t kind, uint64_t value,
                std::string_view text = {});
  void annotate_fields(const Making& making, const ExportSchema& schema,
                       std::span<const uint8_t> record, AddressText* addresses);
  void write(const Making& making);
  void call_begin(const ExportEvent& event);
  void call_end(const ExportEvent& event);
  void slice_begin(const Making& making, const ExportEvent& event);
  void single(const ExportEvent& event);
  void instant(const ExportEvent& event);
  void pair(const ExportEvent& event);
  void count(const ExportEvent& event);

  std::unique_ptr<ExportWriter> writer_;
  ExportSettings settings_;
  const ExportMeta* meta_ = nullptr;
  ExportSource* source_ = nullptr;
  PerfettoInterner interner_;
  PerfettoFtrace ftrace_;
  uint64_t last_uuid_ = 0;
  uint32_t generation_ = 1;
  std::vector<std::unique_ptr<Sequence>> sequences_;    // the first of each host in front
  std::vector<ThreadTracks> threads_;                   // by the thread's index
  std::vector<uint64_t> processes_;                     // by the process's index
  std::unordered_map<uint64_t, uint64_t> loss_tracks_;  // by host and CPU
  std::vector<std::vector<CounterField>> counters_;     // by the schema's index
  std::vector<uint32_t> event_names_, categories_;      // the same
  std::string event_, interned_, packet_, annotation_, text_, clean_;
};

}  // namespace patchbay
