// SPDX-License-Identifier: MIT
// Commands of histograms, triggers and synthetic events, written to a whole tree in the order that
// the input says, with hits between them: markers, injected records, and what they fire. Most
// commands are right ones that refer to each other: definitions come and go while others use them,
// in two instances that come and go. Nothing may crash or hang; what is accepted is listed, and a
// table counts no more than it was hit. At the end everything can be removed again.
#include <cstdint>

#include "tracefs/control_tree_fixture.h"

namespace patchbay::tracefs {
namespace {

constexpr size_t kMostOperations = 40;
constexpr const char* kEvents[] = {"events/ftrace/print", "events/synthetic/sy",
                                   "events/synthetic/s2", "events/sched/one", "events/sched/two"};
constexpr const char* kEventNames[] = {"ftrace.print", "synthetic.sy", "synthetic.s2", "sched.one",
                                       "sched.two"};
constexpr const char* kFields[] = {"aa",          "ss",  "common_pid", "common_cpu", "hitcount",
                                   "common_type", "pid", "comm",       "buf",        "st"};
constexpr const char* kModifiers[] = {
    "",       "",         "",       ".hex",      ".log2",      ".buckets=7", ".sym",
    ".usecs", ".percent", ".graph", ".execname", ".quantiles", ".counters",  ".stacktrace"};

class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint32_t below(uint32_t limit) {
    if (size_ == 0) return 0;
    size_--;
    return *data_++ % limit;
  }
  template <size_t N>
  std::string of(const char* const (&words)[N]) {
    return words[below(N)];
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

std::string variable(Choices& choices) { return "v" + std::to_string(choices.below(4)); }

std::string atom(Choices& choices) {
  switch (choices.below(8)) {
    case 0:
      return std::to_string(choices.below(4));
    case 1:
      return "common_timestamp";
    case 2:
      return "$" + variable(choices);
    case 3:
      return choices.of(kEventNames) + ".$" + variable(choices);
    case 4:
      return "common_stacktrace";
    default:
      return choices.of(kFields);
  }
}

std::string expression(Choices& choices) {
  std::string text = atom(choices);
  for (uint32_t i = choices.below(6); i > 3; i--)
    text += std::string(1, "+-*/"[choices.below(4)]) + atom(choices);
  return text;
}

std::string list(Choices& choices, uint32_t most) {
  std::string text;
  for (uint32_t i = choices.below(most) + 1; i > 0; i--)
    text += (choices.below(8) ? choices.of(kFields) : "$" + variable(choices)) +
            choices.of(kModifiers) + (i > 1 ? "," : "");
  return text;
}

std::string action(Choices& choices) {
  static constexpr const char* kHandlers[] = {"onmatch(", "onmax($", "onchange($"};
  const uint32_t handler = choices.below(3);
  std::string text = kHandlers[handler];
  text += handler == 0 ? choices.of(kEventNames) : variable(choices);
  switch (choices.below(4)) {
    case 0:
      return text + ").snapshot()";
    case 1:
      return text + ").save(" + choices.of(kFields) + ")";
    case 2:
      return text + ").sy(" + atom(choices) + "," + atom(choices) + ")";
    default:
      return text + ").trace(s2," + atom(choices) + ")";
  }
}

std::string hist_command(Choices& choices) {
  std::string text = "hist:keys=" + list(choices, 3);
  for (uint32_t i = choices.below(5); i > 0; i--) {
    switch (choices.below(8)) {
      case 0:
        text += ":vals=" + list(choices, 2);
        break;
      case 1:
        text += ":sort=" + choices.of(kFields) + (choices.below(2) ? ".descending" : "");
        break;
      case 2:
        text += choices.below(2) ? ":size=128" : ":nohitcount";
        break;
      case 3:
        text += choices.below(3) ? ":name=shared" : ":clock=mono";
        break;
      case 4:
        text += ":" + action(choices);
        break;
      case 5:
        static constexpr const char* kStates[] = {":pause", ":cont", ":clear"};
        text += choices.of(kStates);
        break;
      default:
        text += ":" + variable(choices) + "=" + expression(choices);
    }
  }
  if (choices.below(6) == 0) text += " if common_pid > " + std::to_string(choices.below(3));
  return text;
}

std::string plain_command(Choices& choices) {
  static constexpr const char* kCommands[] = {"traceoff",
                                              "traceon:3",
                                              "stacktrace:2",
                                              "snapshot",
                                              "enable_hist:synthetic:sy",
                                              "disable_hist:ftrace:print:1",
                                              "enable_event:synthetic:s2",
                                              "disable_event:sched:one",
                                              "hist",
                                              "hist:keys",
                                              ""};
  return choices.of(kCommands);
}

// What is wrong with it: a letter less, or another one.
void damage(std::string* text, Choices& choices) {
  if (text->empty()) return;
  const size_t at = (choices.below(256) | choices.below(256) << 8) % text->size();
  if (choices.below(2))
    text->erase(at, 1);
  else
    (*text)[at] = ":,.=$()+-/ *"[choices.below(12)];
}

uint64_t number_behind(const std::string& text, const char* word) {
  const size_t at = text.find(word);
  PB_CHECK(at != text.npos);
  return std::strtoull(text.c_str() + at + std::char_traits<char>::length(word), nullptr, 10);
}

class Run {
 public:
  explicit Run(ControlTree* tree) : tree_(*tree) { make_synthetic(); }

  void step(Choices& choices) {
    const std::string in = choices.below(4) ? "" : "instances/one/";
    const std::string event = in + choices.of(kEvents);
    switch (choices.below(16)) {
      case 0:
        (void)(choices.below(2) ? tree_.mkdir("instances/one") : tree_.rmdir("instances/one"));
        return;
      case 1:
        tree_.write("synthetic_events", choices.below(2) ? "!sy" : "!s2");
        return;
      case 2:
        make_synthetic();
        return;
      case 3:
        remove_listed(event, choices.below(4));
        return;
      case 4:
        tree_.write(event + "/enable", choices.below(2) ? "1" : "0");
        return;
      case 5:
      case 6:
        tree_.write(in + "trace_marker", choices.below(2) ? "text" : "");
        return;
      case 7:
      case 8:
        tree_.write(in + "events/synthetic/sy/inject", choices.below(2) ? "aa=7" : "aa=1 ss='x'");
        tree_.write(in + "events/synthetic/s2/inject", "aa=" + std::to_string(choices.below(200)));
        return;
      case 9:
        look_at(event);
        return;
      default:
        write_command(event, choices);
    }
  }

  // True: nothing is left.
  bool clean() {
    tree_.write("tracing_on", "1");
    for (int round = 0; round < 8; round++) {
      for (const char* in : {"", "instances/one/"})
        for (const char* event : kEvents) remove_all(std::string(in) + event);
      if (tree_.read("show_event_triggers").empty()) break;
    }
    for (const char* event : kEvents) tree_.write(std::string(event) + "/enable", "0");
    tree_.rmdir("instances/one");
    tree_.write("synthetic_events", "", O_WRONLY | O_TRUNC);
    return tree_.read("show_event_triggers").empty() && tree_.read("synthetic_events").empty() &&
           tree_.mkdir("instances/one") == 0 && tree_.rmdir("instances/one") == 0;
  }

 private:
  void make_synthetic() {
    tree_.write("synthetic_events", "sy u64 aa; char ss[]");
    tree_.write("synthetic_events", "s2 u64 aa");
  }

  void write_command(const std::string& event, Choices& choices) {
    std::string command = choices.below(6) ? hist_command(choices) : plain_command(choices);
    if (choices.below(8) == 0) command.insert(0, "!");
    if (choices.below(8) == 0) damage(&command, choices);
    const uint32_t flags = O_WRONLY | (choices.below(12) ? 0 : O_TRUNC);
    const long taken = tree_.write(event + "/trigger", command, flags);
    PB_CHECK(taken < 0 || size_t(taken) == command.size());
  }

  // One by one, for `>` removes none of which others use a variable; and at once, for the kernel
  // does not list a modifier of common_stacktrace, so that "!" and the listing do not find it.
  void remove_all(const std::string& event) {
    for (uint32_t i = 0; i < 64 && remove_listed(event, 0); i++) continue;
    tree_.open(event + "/trigger", O_WRONLY | O_TRUNC);
  }

  // The nth of those that the file lists; false: there are not so many, or it has to stay.
  bool remove_listed(const std::string& event, uint32_t nth) {
    const std::string text = tree_.read(event + "/trigger");
    size_t begin = 0;
    for (; nth > 0 && begin != text.npos; nth--) begin = text.find('\n', begin + 1);
    if (begin >= text.size() || text.starts_with("#")) return false;
    if (text[begin] == '\n') begin++;
    std::string line = text.substr(begin, text.find('\n', begin) - begin);
    for (const char* state : {" [active]", " [paused]"})
      if (line.ends_with(state)) line.resize(line.size() - 9);
    if (line.empty()) return false;
    tree_.write(event + "/trigger", "!" + line);
    return tree_.read(event + "/trigger") != text;
  }

  void look_at(const std::string& event) {
    const std::string text = tree_.read(event + "/hist");
    tree_.read(event + "/trigger");
    tree_.read(event + "/hist_debug");
    tree_.read("error_log");
    const size_t at = text.rfind("Totals:");
    if (at == text.npos) return;
    const std::string totals = text.substr(at);
    PB_CHECK(number_behind(totals, "Entries: ") <= number_behind(totals, "Hits: "));
  }

  ControlTree& tree_;
};

}  // namespace
}  // namespace patchbay::tracefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace patchbay::tracefs;
  static std::unique_ptr<ControlTree> tree;
  if (!tree) {
    tree = std::make_unique<ControlTree>(true);
    tree->add_event("sched", "one");
    tree->add_event("sched", "two");
  }
  Choices choices(data, size);
  Run run(tree.get());
  for (size_t i = 0; i < kMostOperations && !choices.empty(); i++) run.step(choices);
  PB_CHECK(run.clean());
  return 0;
}
