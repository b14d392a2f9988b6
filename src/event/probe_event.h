// SPDX-License-Identifier: MIT
//
// Probe events (docs/files.md, "Probes"): one line of kprobe_events, uprobe_events or
// dynamic_events, from text to an EventCall and a fetch program. Plain data and text; what the
// definition is checked against (symbols, files, other events) is asked of a ProbeWorld.
//
//   p[:[GRP/][EV]] [LIB:]SYM[+OFF]|ADDR [ARGS]    r[MAX]…    f…    t…    e…    p PATH:OFF…
//     ProbeDefinition: kind, names, place, arguments as chains of fetch instructions
//       make_probe_event_call      format and print fmt as the kernel's
//       compile_probe_event        FetchProgram
//       show                       the line that the file shows
//
// Errors are the kernel's: text, caret, errno, location (docs/files.md, "Errors of probes").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/event_call.h"
#include "event/function_event.h"  // FetchProgramPtr
#include "fetch/fetch_abi.h"

namespace patchbay {

enum class ProbeKind : uint8_t {
  kKprobe,  // p, and r or %return with on_return: a place given by symbol or address
  kUprobe,  // the same with PATH:OFFSET
  kFprobe,  // f: entry of a function (or of all that a glob matches), or with on_return its exit
  kTracepoint,  // t: a static event of the program
  kEprobe,      // e: any event
};

// Which file was written: dynamic_events takes every kind, the other two their own.
enum class ProbeFile : uint8_t { kDynamicEvents, kKprobeEvents, kUprobeEvents };

struct ProbeError {
  std::string location;   // "trace_kprobe" "trace_uprobe" "trace_fprobe" "event_probe" "dynevent"
  std::string text;       // the kernel's
  size_t position = 0;    // characters of the command before the caret
  int error = 0;          // EINVAL EILSEQ ENOENT …
  bool is_logged = true;  // false: errno only (`p`, `p:` …)
  // Some faults leave a second entry ("Invalid $-variable specified", "Invalid fetch argument").
  std::string second_text;
  size_t second_position = 0;
  // What the kernel's text leaves open, for the sentence that the writer gets and not for the log:
  // "there is no register %axx; did you mean %ax?". Often empty.
  std::string help;
};

// A type of an argument; the table is in probe_types.cc.
struct ProbeType {
  std::string_view name;  // "u8" … "x64" "char" "symbol" "string" "ustring" "symstr"
  uint8_t size;           // bytes; of string and symstr 4, the __data_loc word
  bool is_signed;
  std::string_view field_type;  // in the format file: "u8" for char, "u64" for symbol
  std::string_view format;      // in the print fmt
};
const ProbeType* find_probe_type(std::string_view name);

// Where the value of an argument comes from. kSteps: its first step says it. The others are looked
// up when the fetch program is made: their first step is a kImm that is replaced then (the address
// as it was found in parsing, if it is one); names and texts have no steps.
enum class ProbeStart : uint8_t {
  kSteps,
  kSymbol,      // name + number: the address of a symbol
  kFileOffset,  // the address where byte `number` of the place's file lies
  kField,       // the field `name` of the source event
  kFieldIndex,  // its field `number`, counted from 0 behind the common ones
  kComm,        // the thread's name
  kErrno,       // errno of the thread, which is at the same place in each one's variables
  kText,        // the text `name`, which the definition brings along
};

struct ProbeArgument {
  std::string name;
  std::string text;  // as listed: "count=$arg3:u64"
  const ProbeType* type = nullptr;
  uint32_t array_len = 0;  // > 0: TYPE[N]
  ProbeStart start = ProbeStart::kSteps;
  std::string start_name;
  int64_t start_number = 0;
  std::vector<FetchInsn> steps;           // the chain without its end: see compile_probe_event
  bool ends_in_address = false;           // steps leave an address: the value is loaded from there
  uint8_t bit_width = 0, bit_offset = 0;  // bitfield in a container of type->size bytes
  bool bit_is_signed = false;
  bool uses_entry_arg = false;            // $argN
  bool uses_registers = false;            // %REG, $stack …
  uint32_t offset = 0;                    // of the field, from make_probe_event_call
};

struct ProbeDefinition {
  ProbeKind kind = ProbeKind::kKprobe;
  bool on_return = false;
  std::optional<uint32_t> max_active;  // as given
  std::string group, event;            // final names, also when they were made up
  // The place. Symbol (with library: prefix) and offset, or address; PATH and offset; the
  // tracepoint's name; the source event.
  std::string symbol;
  uint64_t offset = 0;
  uint64_t address = 0;
  std::optional<uint64_t> reference_counter;  // file offset (uprobes)
  std::string source_group, source_event;
  std::vector<ProbeArgument> arguments;
  std::string filter;  // of an eprobe: behind `if`

  // "vfs_read+5" "0x401000" "/bin/sh:0x0000000000001000", as a removal names it: without %return
  std::string place() const;
  std::string show() const;  // the listed line, without newline
  bool same_place(const ProbeDefinition& other) const;
};

// What definitions are checked against: the registry's in the agent, tables in tests.
class ProbeWorld {
 public:
  virtual ~ProbeWorld() = default;
  struct Function {
    uint32_t matches = 0;           // different functions of this name; 0: unknown, > 1: not unique
    uint64_t size = 0;              // bytes, if known
    bool library_is_loaded = true;  // false: LIB: of an object that is not here (yet)
  };
  virtual Function find_function(std::string_view symbol) = 0;  // [LIB:]NAME
  // The address lies in mapped text; `entry`: at the entry of a function.
  virtual bool is_text(uint64_t address, bool* entry) = 0;
  virtual uint64_t address_of(std::string_view symbol) = 0;  // `@SYM`, data or function; 0: unknown
  virtual uint64_t data_at(std::string_view path,
                           uint64_t file_offset) = 0;  // `@+OFF`; 0: not here
  // An event that an event probe may be attached to.
  virtual const EventCall* find_event(std::string_view system, std::string_view name) = 0;
  // A static event of this name in any system (t:); null: none (yet), which is no error.
  virtual const EventCall* find_tracepoint(std::string_view name) = 0;
  enum class FileKind { kNone, kRegular, kOther };
  virtual FileKind file_kind(std::string_view path) = 0;
  // Functions whose names are like this one, best first; for messages.
  virtual std::vector<std::string> near_functions(std::string_view) { return {}; }
};

struct ProbeParse {  // exactly one of the two
  std::optional<ProbeDefinition> definition;
  std::optional<ProbeError> error;
};
// `line`: one definition (not a removal), without newline. The order of checks is the kernel's, so
// that the first error is the same one.
ProbeParse parse_probe_event(std::string_view line, ProbeFile file, ProbeWorld& world);

// A removal: "-:[GRP/][EV] [PLACE [ARG…]]", or in dynamic_events "!" and a line.
struct ProbeRemoval {
  // Group empty: any (kNoGroup: none, for "-:/name"); event empty: the whole group. What stands
  // before the colon is not looked at, also behind `!`.
  std::string group, event;
  std::string place;  // empty: any
  std::vector<std::string> arguments;
  static constexpr std::string_view kNoGroup = "/";
};
struct ProbeRemovalParse {
  std::optional<ProbeRemoval> removal;
  std::optional<ProbeError> error;
};
bool is_probe_removal(std::string_view line);
ProbeRemovalParse parse_probe_removal(std::string_view line, ProbeFile file);
bool matches(const ProbeRemoval& removal, const ProbeDefinition& definition);

// DIFF_ARG_TYPE: index of the first argument whose name or type differs. If one has more than the
// other that is the first surplus one, whatever stands before it.
std::optional<size_t> different_argument(const ProbeDefinition& a, const ProbeDefinition& b);

// Fields, print fmt and the head of the text. `definition.arguments[].offset` are set.
EventCall make_probe_event_call(ProbeDefinition* definition);

// A longer string is cut. The kernel's limit is a page; here a record is built on the stack of the
// traced thread. An event with so many strings that a sub-buffer cannot hold them all shares it
// out: each gets less, but not less than kMinProbeString.
inline constexpr uint32_t kMaxProbeString = 512;
inline constexpr uint32_t kMinProbeString = 16;

// What a fetch program of this definition needs from the process at the time of compiling.
struct ProbeCompileContext {
  uint64_t ip = 0;                     // of the place, for %ip
  const EventCall* source = nullptr;   // e:, t:
  const SymbolNames* names = nullptr;  // for symstr
  uint32_t max_record = 0;             // what a sub-buffer holds: E2BIG beyond
  ProbeWorld* world = nullptr;         // asked again for `@SYM` and `@+OFF`; null: as parsed
  // The place is a function's entry though the definition does not say so (address, PATH:OFFSET):
  // argument registers are then read as arguments, which is cheaper.
  bool at_entry = false;
};
// Of a function's entry given by symbol, or at_entry, %di … %r9 become arguments. At a return
// $argN is the argument at the entry, and %REG the register behind the return.
Result<FetchProgramPtr> compile_probe_event(const ProbeDefinition& definition,
                                            const EventCall& call,
                                            const ProbeCompileContext& context);

}  // namespace patchbay
