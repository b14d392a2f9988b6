// SPDX-License-Identifier: MIT
//
// One event's record as text: the part of a line behind the time. Each event is compiled once. The
// result owns all its data, so it also serves when the event itself is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "event/event_call.h"
#include "output/print_fmt.h"
#include "output/probe_head.h"
#include "output/tracer_text.h"

namespace patchbay {

class EventText {
 public:
  // `escape`: the format is foreign, its names must not command a terminal.
  explicit EventText(const EventCall& call, bool escape = false);
  ~EventText();

  const std::string& name() const { return name_; }
  uint16_t id() const { return id_; }
  // What the option printk-msg-only is about: a marker's or a printk's line.
  bool is_marker() const { return style_ == Style::kMarker || is_printk(); }
  const TracerText& tracer() const { return tracer_; }

  // Without a newline at the end (a marker's own is left away):
  //   function events  caller->func(a=1, s=text), of whole calls … fd=3 duration=1200 behind it
  //   markers          tracing_mark_write: text      # 41 buf: 61 62
  //   printk           func: text, of bprint and bputs by the texts of TextContext.printk
  //   tracers          func <-parent, stacks (tracer_text.h)
  //   probe events     name: (place) <the arguments of the print fmt>
  //   synthetic events name: a=1 b=2, with the option `verbose` name: %llu a=1 …
  //   any other        name: <print fmt>, or name: a=1 b=2 when it has none that can be understood
  // What lies behind the record's end is shown as (cut), never read.
  void append(std::string* out, std::span<const uint8_t> record, TextContext* context) const;
  // A call without others inside as one line, as trace-cmd's report has it: the entry, with the
  // duration of its exit.
  void append_leaf(std::string* out, std::span<const uint8_t> entry, uint64_t duration_ns,
                   TextContext* context) const;
  // Option `fields`: name: a=0x1 (1) s=text
  void append_fields(std::string* out, std::span<const uint8_t> record, TextContext* context) const;
  // Option `raw`: type: 17, and for markers # <ip hex> text and # <id hex> buf: …
  void append_raw(std::string* out, std::span<const uint8_t> record, TextContext* context) const;
  // Option `printk-msg-only`: a marker's text alone, or a printk's.
  void append_message(std::string* out, std::span<const uint8_t> record,
                      TextContext* context) const;
  // "caller":…,"function":…,"fields":{…} for report --json.
  void append_json(std::string* out, std::span<const uint8_t> record, TextContext* context) const;

 private:
  struct Step;
  struct Piece;
  enum class Style : uint8_t {
    kFunction,
    kMarker,
    kRawMarker,
    kBprint,
    kBputs,
    kTracer,
    kProbe,
    kFormat,
    kFields
  };
  bool is_printk() const { return style_ == Style::kBprint || style_ == Style::kBputs; }
  void append_function(std::string* out, std::span<const uint8_t> record,
                       TextContext* context) const;
  void append_marker(std::string* out, std::span<const uint8_t> record, TextContext* context) const;
  void append_printk_text(std::string* out, std::span<const uint8_t> record,
                          TextContext* context) const;
  static void append_raw_marker(std::string* out, std::span<const uint8_t> record);
  void append_graph(std::string* out, std::span<const uint8_t> record,
                    std::optional<uint64_t> duration_ns, TextContext* context) const;
  static std::vector<Piece> pieces_of(const EventCall& event);
  void append_arguments_of_probe(std::string* out, std::span<const uint8_t> record,
                                 TextContext* context) const;
  void append_steps(std::string* out, size_t first, std::span<const uint8_t> record,
                    TextContext* context) const;

  std::string name_, head_;  // "name: "
  uint16_t id_ = 0;
  Style style_ = Style::kFields;
  ProbeHeadText probe_head_;
  TracerText tracer_;
  std::vector<Step> steps_;
  size_t arguments_end_ = 0;  // of kFunction: the first step behind the list of arguments
  std::vector<std::pair<size_t, std::string>> unknown_;  // of kFunction: "a=?" in front of a step
  std::unique_ptr<PrintFormat> format_;
  std::vector<Piece> pieces_;                    // of format_, where not every record has all of it
  std::unique_ptr<PrintFormat> verbose_format_;  // null: verbose changes nothing
};

// A function's name as the options sym-offset and sym-addr want it; of a caller's, the address that
// the call returns to.
void append_symbol(std::string* out, uint64_t address, TextContext* context);
void append_caller(std::string* out, uint64_t address, TextContext* context);

}  // namespace patchbay
