// SPDX-License-Identifier: MIT
// What the environment asks of the agent, and the configuration file that it names
// (docs/manual/flight_recorder.md lists the variables, man/patchbay.conf.5.scd describes the file).
// A variable of the environment goes before one of the file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tracefs/conf_parse.h"

namespace patchbay {

// PATCHBAY_TRACE_TRIGGER: EVENT.TRIGGER[ if FILTER], several separated by commas; where there is a
// `;` or a newline, by these, since definitions of histograms have commas.
struct TriggerSettings {
  std::string event;    // its name, or system:name
  std::string trigger;  // what is written to its file
};
std::vector<TriggerSettings> parse_triggers(std::string_view text);

// PATCHBAY_TRACE_INSTANCE: name[^flag…][,event…], several separated by `;` or newlines.
struct InstanceSettings {
  std::string name;
  std::vector<std::string> flags;   // traceoff, traceprintk
  std::vector<std::string> events;  // words for set_event
};

// PATCHBAY_CONFIG: the name of a file; PATCHBAY_CONFIG_TEXT: what would stand in it, behind it.
struct ConfSource {
  std::string name;     // as the messages have it
  std::string failure;  // why it could not be read
  tracefs::Conf conf;
};

// A variable that is a write to a file of the top instance, its commas as blanks.
struct VariableWrite {
  const char* variable;
  const char* file;
  std::string text;
  bool is_list = false;  // of functions, with blanks between
};

struct AgentSettings {
  bool wait = false;              // the tool started us; wait in the constructor for its word
  bool attached = false;          // we came into a running program
  std::string runtime_directory;  // "": as the environment has it
  // Per CPU: PATCHBAY_BUFFER_SIZE_KB, or PATCHBAY_TRACE_BUF_SIZE=n[KMG].
  uint64_t buffer_size_kb = 1408;
  bool overwrite = true;                     // PATCHBAY_OVERWRITE=0: drop new events when full
  std::vector<std::string> function_events;  // PATCHBAY_FUNCTION_EVENTS: split at newlines and `;`
  // PATCHBAY_KPROBE_EVENT: lines of dynamic_events, split at `;`; a comma stands for a blank.
  std::vector<std::string> probe_events;
  bool enable_all = false;                // definitions, but no PATCHBAY_TRACE_EVENT
  std::vector<std::string> trace_events;  // PATCHBAY_TRACE_EVENT: split at commas
  std::vector<TriggerSettings> trace_triggers;
  std::vector<std::string> trace_options;  // PATCHBAY_TRACE_OPTIONS: split at commas
  std::string trace_clock;                 // PATCHBAY_TRACE_CLOCK
  bool alloc_snapshot = false;             // PATCHBAY_ALLOC_SNAPSHOT, anything but 0
  std::vector<InstanceSettings> instances;
  std::vector<VariableWrite> writes;  // PATCHBAY_FTRACE and its like
  std::vector<ConfSource> sources;
  std::map<std::string, std::string> places;  // variables of a source: "FILE:LINE"

  // What a message about a variable begins with: "FILE:LINE: VARIABLE".
  std::string origin_of(std::string_view variable) const;
};

AgentSettings read_settings();

// A process that the agent came into later: from now on the tool's words count in place of the
// environment, which is the program's. NAME=VALUE, each with its NUL.
void set_given_variables(std::string_view text);
// "": there is none of this name.
std::string given_variable(std::string_view name);

// PATCHBAY_WAIT has the process id of the tool, whose child is to wait for its word. Another
// process that finds it was executed by that child before the agent there took the variable away
// (by the constructor of a library): nobody asks for it.
enum class Started : uint8_t { kByItself, kByTool, kByChildOfTool };
Started how_started();

// "8192", "8M"; 0: not a size.
uint64_t parse_size(const char* text);
InstanceSettings parse_instance(std::string_view text);

// The tool's own variables and our name in LD_PRELOAD go out of the environment, so that programs
// that this one executes start as they would have without us. Edits `environ` itself: programs
// (bash) bring a setenv of their own, which works on another table. `argv_end`: behind the NULL of
// argv, where the kernel's environment begins.
void hide_from_environment(char** argv_end);

}  // namespace patchbay
