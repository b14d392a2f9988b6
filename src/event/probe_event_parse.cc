// SPDX-License-Identifier: MIT
//
// Lines of kprobe_events, uprobe_events and dynamic_events (docs/files.md). Which kind reads
// a line depends on the file and its first letter. A kind that finds nothing of its own leaves the
// line to the next. A line that no kind takes is EINVAL without an entry in the log. The order
// of checks within a kind is that of the kernel's __trace_{kprobe,uprobe,fprobe,eprobe}_create().
//
// Ours: C++ names as places (`ns::f`, `LIB:ns::operator+(A,B)+4`); an automatic event name is made
// of letters, digits and '_' whatever the place has; SYM-OFF, which the first patches for kprobe
// events had and the kernel refuses. An offset below zero is kept as two's complement.
#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "event/probe_event_argument.h"
#include "event/probe_event_words.h"

namespace patchbay {

namespace {

constexpr size_t kMaxArguments = 128;
constexpr uint32_t kMaxMaxActive = 4096;
constexpr std::string_view kReturnSuffix = "%return";
constexpr std::string_view kOperator = "operator";

enum class Outcome : uint8_t { kDone, kFailed, kNotMine };

class LineParser {
 public:
  LineParser(const std::vector<std::string_view>& words, ProbeWorld& world,
             std::string_view location)
      : words_(words), world_(world), faults_(location, words) {}

  Outcome parse_kprobe();
  Outcome parse_uprobe();
  Outcome parse_fprobe();
  Outcome parse_eprobe();

  ProbeParse take(Outcome outcome) {
    ProbeParse parsed;
    if (outcome == Outcome::kDone) {
      parsed.definition = std::move(out_);
      return parsed;
    }
    if (outcome == Outcome::kNotMine)
      faults_.fail_silently(EINVAL, "this file takes no such definition");
    parsed.error = faults_.take();
    return parsed;
  }

 private:
  bool fail(ProbeFault fault, size_t offset = 0, int error = EINVAL, std::string help = "") {
    return faults_.fail(fault, offset, error, std::move(help));
  }
  static Outcome outcome(bool ok) { return ok ? Outcome::kDone : Outcome::kFailed; }
  char letter() const { return words_[0][0]; }
  void set_group(std::string_view group) { out_.group = group; }

  bool parse_max_active();
  bool read_event_name(std::string_view name, size_t offset, std::string* group,
                       std::string* event);
  bool parse_event_name(std::string_view event);
  bool parse_arguments(size_t first, size_t end, const EventCall* source);

  bool parse_symbol_place();
  bool check_function();
  bool parse_function_arguments(const EventCall* source);
  bool check_registration();
  bool parse_path_place();
  bool parse_reference_counter(std::string_view* offset_text, size_t offset_at);
  bool parse_fprobe_place();
  bool check_tracepoint_name();
  bool check_return_value_words();
  bool parse_source();
  bool parse_filter(size_t at);

  const std::vector<std::string_view>& words_;
  ProbeWorld& world_;
  ProbeFaults faults_;
  ProbeDefinition out_;
};

// What stands behind the first ':' of the first word; null: there is none.
std::optional<std::string_view> name_part(std::string_view first_word) {
  const size_t colon = first_word.find(':', 1);
  if (colon == first_word.npos) return std::nullopt;
  return first_word.substr(colon + 1);
}

std::string automatic_name(std::string name) {
  if (name.size() > kMaxProbeName) name.resize(kMaxProbeName);
  for (char& c : name)
    if (!is_name_char(c)) c = '_';
  return name;
}

// --- what all kinds share

bool LineParser::parse_max_active() {
  const std::string_view word = words_[0];
  if (word.size() < 2 || !is_digit(word[1])) return true;
  const std::string_view number = word.substr(1, word.find(':') - 1);
  uint64_t value = 0;
  if (number.size() > kMaxProbeName || read_unsigned(number, 0, &value) || !value ||
      value > UINT32_MAX)
    return fail(ProbeFault::kBadMaxact, 1);
  if (value > kMaxMaxActive) return fail(ProbeFault::kMaxactTooBig, 1);
  out_.max_active = uint32_t(value);
  return true;
}

// [GROUP/]EVENT or GROUP.EVENT. `group` stays as it is when none is given; `event` is empty for
// "GROUP/".
bool LineParser::read_event_name(std::string_view name, size_t offset, std::string* group,
                                 std::string* event) {
  size_t slash = name.find('/');
  if (slash == name.npos) slash = name.find('.');
  if (slash != name.npos) {
    if (slash == 0) return fail(ProbeFault::kNoGroupName, offset);
    if (slash > kMaxProbeName) return fail(ProbeFault::kGroupTooLong, offset);
    if (!is_good_group(name.substr(0, slash))) return fail(ProbeFault::kBadGroupName, offset);
    *group = name.substr(0, slash);
    name.remove_prefix(slash + 1);
    offset += slash + 1;
    if (name.empty()) return true;
  }
  if (name.empty()) return fail(ProbeFault::kNoEventName, offset);
  if (name.size() > kMaxProbeName) return fail(ProbeFault::kEventTooLong, offset);
  if (!is_good_name(name)) return fail(ProbeFault::kBadEventName, offset);
  *event = name;
  return true;
}

bool LineParser::parse_event_name(std::string_view event) {
  faults_.set_word(0);
  return read_event_name(event, size_t(event.data() - words_[0].data()), &out_.group, &out_.event);
}

bool LineParser::parse_arguments(size_t first, size_t end, const EventCall* source) {
  if (end - first > kMaxArguments)
    return faults_.fail_silently(E2BIG, "a probe has at most 128 arguments");
  const ProbeArgumentContext context{out_, world_, faults_, source};
  uint64_t size = 0;
  for (size_t i = first; i < end; i++) {
    faults_.set_word(i);
    if (!parse_probe_argument(words_[i], context, &out_.arguments, &size)) return false;
  }
  return true;
}

// --- kprobes

// LIB: in front of the name, but not the "::" of C++.
size_t library_end(std::string_view place) {
  const size_t colon = place.find(':');
  const size_t brace = place.find_first_of("(<");
  if (colon == place.npos || colon > brace || place.substr(colon).starts_with("::")) return 0;
  return colon + 1;
}

// `ns::operator%` has its own '%'.
size_t find_suffix(std::string_view place) {
  size_t at = place.find('%');
  while (at != place.npos && place.substr(0, at).ends_with(kOperator)) at = place.find('%', at + 1);
  return at;
}

// Where "+OFF" begins. Of an operator's name, or with a file's name, that is the last sign with a
// number behind it.
size_t find_offset(std::string_view place) {
  const size_t name = library_end(place);
  if (place.find(kOperator, name) == place.npos && place.find('@', name) == place.npos)
    return place.find_first_of("+-", name);
  const size_t sign = place.find_last_of("+-");
  int64_t ignored = 0;
  return sign != place.npos && !read_signed(place.substr(sign), 0, &ignored) ? sign : place.npos;
}

// A path is the business of uprobes; "ns::operator/" is none.
bool is_path_place(std::string_view place) {
  const size_t slash = place.find('/');
  if (slash == place.npos || place.find(':') == place.npos) return false;
  return !place.substr(0, slash).ends_with(kOperator);
}

bool LineParser::check_function() {
  const ProbeWorld::Function function = world_.find_function(out_.symbol);
  if (!function.library_is_loaded || function.matches == 1) return true;
  if (function.matches > 1) return fail(ProbeFault::kNonUniqSymbol);
  std::string help;
  for (const std::string& name : world_.near_functions(out_.symbol))
    help += (help.empty() ? "did you mean " : ", ") + name;
  return fail(ProbeFault::kBadProbeAddr, 0, EINVAL, help.empty() ? "" : help + "?");
}

bool LineParser::parse_symbol_place() {
  std::string_view place = words_[1];
  const size_t suffix = find_suffix(place);
  if (suffix != place.npos) {
    if (place.substr(suffix) != kReturnSuffix) return fail(ProbeFault::kBadAddrSuffix, suffix);
    out_.on_return = true;
    place = place.substr(0, suffix);
  }
  const size_t sign = find_offset(place);
  if (sign != place.npos) {
    int64_t offset = 0;
    if (read_signed(place.substr(sign), 0, &offset) || offset > UINT32_MAX ||
        offset < -int64_t{UINT32_MAX})
      return fail(ProbeFault::kBadProbeAddr);
    out_.offset = uint64_t(offset);
    place = place.substr(0, sign);
  }
  out_.symbol = place;
  if (!check_function()) return false;
  if (out_.on_return && out_.offset) return fail(ProbeFault::kBadRetprobe);
  return true;
}

// What the kernel finds out when it registers the probe: symbols in arguments, and whether there
// is anything at the place.
bool LineParser::check_registration() {
  faults_.set_word(1);
  for (const ProbeArgument& argument : out_.arguments) {
    if (argument.start != ProbeStart::kSymbol) continue;
    std::string_view symbol = argument.start_name;
    int64_t offset = 0;
    if (int error = split_symbol_offset(&symbol, &offset))
      return fail(ProbeFault::kFailRegProbe, 0, error);
    if (world_.address_of(symbol)) continue;
    return fail(ProbeFault::kBadProbeAddr, 0, ENOENT, "there is no symbol " + std::string(symbol));
  }
  if (out_.kind != ProbeKind::kKprobe || !out_.symbol.empty()) return true;
  bool entry = false;
  if (!world_.is_text(out_.address, &entry))
    return fail(ProbeFault::kFailRegProbe, 0, EINVAL, "there is no code at this address");
  if (out_.on_return && !entry)
    return fail(ProbeFault::kFailRegProbe, 0, EINVAL, "no function begins at this address");
  return true;
}

bool LineParser::parse_function_arguments(const EventCall* source) {
  const ProbeArgumentContext context{out_, world_, faults_, source};
  return check_meta_arguments(words_, 2, context) && parse_arguments(2, words_.size(), source) &&
         check_registration();
}

Outcome LineParser::parse_kprobe() {
  if ((letter() != 'p' && letter() != 'r') || words_.size() < 2) return Outcome::kNotMine;
  out_.kind = ProbeKind::kKprobe;
  out_.on_return = letter() == 'r';
  set_group("kprobes");
  if (!out_.on_return && words_[0].size() > 1 && is_digit(words_[0][1]))
    return outcome(fail(ProbeFault::kBadMaxactType, 1));
  if (!parse_max_active()) return Outcome::kFailed;
  if (read_unsigned(words_[1], 0, &out_.address)) {
    out_.address = 0;
    faults_.set_word(1);
    if (is_path_place(words_[1])) return Outcome::kNotMine;
    if (!parse_symbol_place()) return Outcome::kFailed;
  }
  const auto event = name_part(words_[0]);
  if (event && !parse_event_name(*event)) return Outcome::kFailed;
  if (out_.event.empty()) {
    const std::string place = out_.symbol.empty()
                                  ? hex_number(out_.address)
                                  : out_.symbol + "_" + std::to_string(int64_t(out_.offset));
    out_.event = automatic_name((out_.on_return ? "r_" : "p_") + place);
  }
  return outcome(parse_function_arguments(nullptr));
}

// --- uprobes

// "0x10(0x20)": the braces, cut off.
bool LineParser::parse_reference_counter(std::string_view* offset_text, size_t offset_at) {
  const size_t open = offset_text->find('(');
  if (open == offset_text->npos) return true;
  const size_t close = offset_text->find(')', open);
  if (close == offset_text->npos)
    return fail(ProbeFault::kRefcntOpenBrace, offset_at + offset_text->size());
  if (close + 1 != offset_text->size())
    return fail(ProbeFault::kBadRefcntSuffix, offset_at + close + 1);
  uint64_t counter = 0;
  if (int error = read_unsigned(offset_text->substr(open + 1, close - open - 1), 0, &counter))
    return fail(ProbeFault::kBadRefcnt, offset_at + open + 1, error);
  if (counter) out_.reference_counter = counter;
  *offset_text = offset_text->substr(0, open);
  return true;
}

bool LineParser::parse_path_place() {
  const std::string_view place = words_[1];
  const size_t colon = place.rfind(':');
  out_.symbol = place.substr(0, colon);
  faults_.set_word(1);
  switch (world_.file_kind(out_.symbol)) {
    case ProbeWorld::FileKind::kNone:
      return fail(ProbeFault::kFileNotFound, 0, ENOENT);
    case ProbeWorld::FileKind::kOther:
      return fail(ProbeFault::kNoRegularFile);
    case ProbeWorld::FileKind::kRegular:
      break;
  }
  const size_t offset_at = colon + 1;
  std::string_view offset_text = place.substr(offset_at);
  if (!parse_reference_counter(&offset_text, offset_at)) return false;
  const size_t suffix = offset_text.find('%');
  if (suffix != offset_text.npos) {
    if (offset_text.substr(suffix) != kReturnSuffix)
      return fail(ProbeFault::kBadAddrSuffix, offset_at + suffix);
    out_.on_return = true;
    offset_text = offset_text.substr(0, suffix);
  }
  if (int error = read_unsigned(offset_text, 0, &out_.offset))
    return fail(ProbeFault::kBadUprobeOffs, offset_at, error);
  return true;
}

Outcome LineParser::parse_uprobe() {
  if ((letter() != 'p' && letter() != 'r') || words_.size() < 2) return Outcome::kNotMine;
  if (words_.size() - 2 > kMaxArguments)
    return outcome(faults_.fail_silently(E2BIG, "a probe has at most 128 arguments"));
  const std::string_view place = words_[1];
  const size_t colon = place.rfind(':');
  if (place.find('/') == place.npos || colon == place.npos || colon + 1 >= place.size() ||
      !is_digit(place[colon + 1]))
    return Outcome::kNotMine;
  out_.kind = ProbeKind::kUprobe;
  out_.on_return = letter() == 'r';
  set_group("uprobes");
  if (!parse_path_place()) return Outcome::kFailed;
  if (words_[0].substr(1).starts_with(':') && !parse_event_name(words_[0].substr(2)))
    return Outcome::kFailed;
  if (out_.event.empty()) {
    const std::string base = std::string(base_name(out_.symbol));
    out_.event = automatic_name("p_" + base.substr(0, base.find_first_of(".-_")) + "_" +
                                hex_number(out_.offset));
  }
  return outcome(parse_arguments(2, words_.size(), nullptr));
}

// --- fprobes and tracepoint probes

bool LineParser::check_tracepoint_name() {
  const std::string_view name = out_.symbol;
  for (size_t i = 0; i < name.size(); i++)
    if (!is_name_char(name[i])) return fail(ProbeFault::kBadTpName, i);
  return true;
}

// `$retval` in an argument makes an exit probe of an fprobe.
bool LineParser::check_return_value_words() {
  constexpr std::string_view kVariable = "$retval";
  for (size_t i = 2; i < words_.size(); i++) {
    const size_t at = words_[i].find(kVariable);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = words_[i].substr(at + kVariable.size());
    if (!rest.empty() && is_name_char(rest[0])) continue;
    if (out_.kind == ProbeKind::kTracepoint) {
      faults_.set_word(i);
      return fail(ProbeFault::kRetvalOnProbe, at);
    }
    out_.on_return = true;
    return true;
  }
  return true;
}

bool LineParser::parse_fprobe_place() {
  const bool is_tracepoint = out_.kind == ProbeKind::kTracepoint;
  const size_t suffix = is_tracepoint ? words_[1].find('%') : find_suffix(words_[1]);
  out_.symbol = words_[1].substr(0, suffix);
  if (suffix != std::string_view::npos) {
    if (is_tracepoint || words_[1].substr(suffix) != kReturnSuffix)
      return fail(ProbeFault::kBadAddrSuffix, suffix);
    out_.on_return = true;
    return true;
  }
  if (is_tracepoint && !check_tracepoint_name()) return false;
  return check_return_value_words();
}

Outcome LineParser::parse_fprobe() {
  if ((letter() != 'f' && letter() != 't') || words_.size() < 2) return Outcome::kNotMine;
  const bool is_tracepoint = letter() == 't';
  out_.kind = is_tracepoint ? ProbeKind::kTracepoint : ProbeKind::kFprobe;
  set_group(is_tracepoint ? "tracepoints" : "fprobes");
  if (!parse_max_active()) return Outcome::kFailed;
  faults_.set_word(1);
  if (!parse_fprobe_place()) return Outcome::kFailed;
  faults_.set_word(0);
  if (!out_.on_return && out_.max_active) return outcome(fail(ProbeFault::kBadMaxactType, 1));
  const auto event = name_part(words_[0]);
  if (event && !parse_event_name(*event)) return Outcome::kFailed;
  if (out_.event.empty()) {
    const std::string before = is_digit(out_.symbol[0]) ? "_" : "";
    out_.event =
        automatic_name(is_tracepoint ? before + out_.symbol
                                     : out_.symbol + (out_.on_return ? "__exit" : "__entry"));
    if (is_digit(out_.event[0])) out_.event = automatic_name("_" + out_.event);
  }
  if (!parse_function_arguments(is_tracepoint ? world_.find_tracepoint(out_.symbol) : nullptr))
    return Outcome::kFailed;
  if (is_tracepoint || out_.symbol.find_first_of("*?[") != std::string::npos) return Outcome::kDone;
  const ProbeWorld::Function function = world_.find_function(out_.symbol);
  if (function.matches || !function.library_is_loaded) return Outcome::kDone;
  faults_.set_word(1);
  return outcome(fail(ProbeFault::kFailRegProbe));
}

// --- event probes

bool LineParser::parse_source() {
  faults_.set_word(1);
  if (!read_event_name(words_[1], 0, &out_.source_group, &out_.source_event) ||
      out_.source_group.empty() || out_.source_event.empty())
    return fail(ProbeFault::kNoEventInfo);
  return true;
}

// `at`: the word behind `if`.
[[gnu::cold]] bool LineParser::parse_filter(size_t at) {
  faults_.set_word(at);
  if (at == words_.size()) return fail(ProbeFault::kNoEpFilter);
  for (size_t i = at; i < words_.size(); i++) {
    if (i > at) out_.filter += ' ';
    out_.filter += words_[i];
  }
  return true;
}

Outcome LineParser::parse_eprobe() {
  if (letter() != 'e' || words_.size() < 2) return Outcome::kNotMine;
  out_.kind = ProbeKind::kEprobe;
  set_group("eprobes");
  const auto event = name_part(words_[0]);
  if (event && !parse_event_name(*event)) return Outcome::kFailed;
  if (!parse_source()) return Outcome::kFailed;
  if (out_.event.empty()) out_.event = out_.source_event;
  const auto found = std::find(words_.begin() + 2, words_.end(), "if");
  const auto end = size_t(found - words_.begin());
  if (end - 2 > kMaxArguments)
    return outcome(faults_.fail_silently(E2BIG, "a probe has at most 128 arguments"));
  const EventCall* source = world_.find_event(out_.source_group, out_.source_event);
  if (!source) return outcome(fail(ProbeFault::kBadAttachEvent, 0, ENODEV));
  if (end != words_.size() && !parse_filter(end + 1)) return Outcome::kFailed;
  if (!parse_arguments(2, end, source)) return Outcome::kFailed;
  for (const ProbeArgument& argument : out_.arguments) {
    if (argument.start != ProbeStart::kSymbol) continue;
    std::string_view symbol = argument.start_name;
    int64_t offset = 0;
    int error = split_symbol_offset(&symbol, &offset);
    if (!error && !world_.address_of(symbol)) error = ENOENT;
    if (error)
      return outcome(faults_.fail_silently(error, "there is no symbol " + std::string(symbol)));
  }
  return Outcome::kDone;
}

}  // namespace

[[gnu::cold]] ProbeParse parse_probe_event(std::string_view line, ProbeFile file,
                                           ProbeWorld& world) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.empty()) {
    ProbeParse parsed;
    parsed.error = ProbeError{.error = EINVAL, .is_logged = false};
    return parsed;
  }
  if (file != ProbeFile::kUprobeEvents) {
    LineParser parser(words, world, "trace_kprobe");
    const Outcome outcome = parser.parse_kprobe();
    if (outcome != Outcome::kNotMine || file == ProbeFile::kKprobeEvents)
      return parser.take(outcome);
  }
  if (file == ProbeFile::kDynamicEvents && words[0][0] == 'e') {
    LineParser parser(words, world, "event_probe");
    return parser.take(parser.parse_eprobe());
  }
  if (file == ProbeFile::kDynamicEvents && (words[0][0] == 'f' || words[0][0] == 't')) {
    LineParser parser(words, world, "trace_fprobe");
    return parser.take(parser.parse_fprobe());
  }
  LineParser parser(words, world, "trace_uprobe");
  return parser.take(parser.parse_uprobe());
}

}  // namespace patchbay
