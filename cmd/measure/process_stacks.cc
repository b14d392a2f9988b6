// SPDX-License-Identifier: MIT
#include "cmd/measure/process_stacks.h"

#include <linux/futex.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>

#include "attach/stack_copies.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cmd/common/commands.h"
#include "cmd/target/inside_ids.h"
#include "cmd/target/target_program.h"
#include "debug_info/source_frames.h"
#include "output/syscall_names.h"
#include "symbol/stack_walk.h"
#include "uprobes/uprobe_program.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMostFrames = 1000, kMostOfAll = 100'000;  // of a thread; of a process

const char* text_of(StackWalk::End end) {
  switch (end) {
    case StackWalk::End::kOutermost:
      return "";
    case StackWalk::End::kNoTable:
      return "nothing says who called this";
    case StackWalk::End::kNoStack:
      return "the stack goes on where none was copied";
    default:
      return "there are more frames";
  }
}

// Names and lines of one process.
class Namer {
 public:
  explicit Namer(const UprobeProgram& program) : program_(program) {}

  void add(const StackFrame& frame, std::vector<NamedFrame>* frames) {
    NamedFrame named;
    named.pc = frame.pc;
    named.is_guessed = frame.is_guessed;
    if (frame.is_signal) {
      named.function = "<signal handler called>";  // as gdb says it
      frames->push_back(std::move(named));
      return;
    }
    const uint64_t at = frame.is_interrupted ? frame.pc : frame.pc - 1;
    SymbolizedAddress symbol;
    if (program_.symbols().symbolize(at, &symbol) && !symbol.is_variable) {
      named.function = symbol.name;
      named.offset = frame.pc - symbol.start;
    }
    const UprobeObject* const object = object_at(at);
    if (object) named.module = base_name(object->name);
    std::vector<SourceFrame> sources;
    if (object)
      if (Lines* const lines = lines_of(*object))
        sources = lines->frames.at(at - object->module.bias);
    for (size_t i = 0; i + 1 < sources.size(); i++) {
      NamedFrame inlined = named;
      inlined.function = sources[i].function;
      inlined.offset = 0;
      inlined.file = sources[i].file;
      inlined.line = sources[i].line;
      inlined.is_inlined = true;
      frames->push_back(std::move(inlined));
    }
    if (!sources.empty()) {
      named.file = sources.back().file;
      named.line = sources.back().line;
    }
    frames->push_back(std::move(named));
  }

 private:
  struct Lines {
    explicit Lines(std::unique_ptr<DebugInfo> opened) : info(std::move(opened)), frames(*info) {}
    std::unique_ptr<DebugInfo> info;
    SourceFrames frames;
  };

  const UprobeObject* object_at(uint64_t address) const {
    for (const auto& object : program_.objects())
      if (address >= object->module.start && address < object->module.end) return object.get();
    return nullptr;
  }
  // Null: it has no debug information.
  Lines* lines_of(const UprobeObject& object) {
    auto [found, is_new] = lines_.try_emplace(&object);
    if (is_new)
      if (auto info = DebugInfo::open(object.path); info.ok())
        found->second = std::make_unique<Lines>(std::move(*info));
    return found->second.get();
  }

  const UprobeProgram& program_;
  std::map<const UprobeObject*, std::unique_ptr<Lines>> lines_;
};

// --- locks

constexpr uint64_t kReadersWord = 8, kWritersWord = 12;  // of an rwlock, see wait_of()

int32_t word_in(const std::vector<uint8_t>& bytes, uint64_t offset) {
  int32_t word = 0;
  if (offset + sizeof word <= bytes.size()) std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

// Whether the thread is in one of these functions of libc: they stand innermost, in one object.
bool is_in_any(const ThreadStack& stack, std::initializer_list<std::string_view> names) {
  for (const NamedFrame& frame : stack.frames) {
    if (frame.module != stack.frames[0].module) return false;
    std::string_view name = frame.function;
    name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
    for (const std::string_view one : names)
      if (name.starts_with(one)) return true;
  }
  return false;
}

// Where glibc keeps the holder of a lock (sysdeps/nptl/bits/struct_mutex.h, struct_rwlock.h): a
// mutex' word is its first, and the holder 8 bytes behind it. An rwlock has the writer at 24; who
// reads waits for its word at 8, and who writes for another writer at 12. What stands there is
// believed when it is a thread of the process.
std::optional<LockWait> wait_of(const attach::ThreadCopy& thread, const ThreadStack& stack,
                                const std::map<int, int>& tid_of) {
  constexpr uint64_t kOwner = 8, kWriter = 24;
  const int operation = int(thread.arguments[1]) & FUTEX_CMD_MASK;
  const bool is_wait = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
  const bool is_pi = operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2;
  if (stack.system_call != "futex" || (!is_wait && !is_pi)) return std::nullopt;
  constexpr uint64_t kAt = attach::ThreadCopy::kBeforeWord;
  const auto holder = [&](uint64_t offset, int32_t mask) {
    const auto found = tid_of.find(word_in(thread.around_word, kAt + offset) & mask);
    return found == tid_of.end() || found->second == thread.tid ? 0 : found->second;
  };
  LockWait wait;
  wait.address = thread.arguments[0];
  if (is_pi) {
    wait.holder = holder(0, int32_t{FUTEX_TID_MASK});
    return wait;
  }
  if (is_in_any(stack, {"pthread_rwlock_"})) {
    wait.kind = LockWait::Kind::kRwlock;
    const uint64_t word =
        is_in_any(stack, {"pthread_rwlock_wr", "pthread_rwlock_timedwr", "pthread_rwlock_clockwr"})
            ? kWritersWord
            : kReadersWord;
    wait.holder = holder(kWriter - word, -1);
    if (wait.holder || word == kReadersWord) wait.address -= word;
    return wait;
  }
  if (!is_in_any(stack, {"pthread_mutex_", "lll_lock_wait", "GI___lll_lock_wait"}))
    return std::nullopt;
  wait.holder = holder(kOwner, -1);
  return wait;
}

std::string variable_at(SymbolTable& symbols, const LockWait& wait) {
  SymbolizedAddress symbol;
  if (!symbols.symbolize(wait.address, &symbol) || !symbol.is_variable) return "";
  // A writer waits for readers, of whom nobody knows who they are: the lock begins a little before.
  const bool is_inside = wait.kind == LockWait::Kind::kRwlock &&
                         (symbol.offset == kReadersWord || symbol.offset == kWritersWord);
  return symbol.name + (symbol.offset && !is_inside ? "+" + hex_number(symbol.offset) : "");
}

// The numbers of the threads, by those that the process knows.
std::map<int, int> numbers_inside(int pid, const attach::StackCopies& copies) {
  std::map<int, int> tid_of;
  for (const attach::ThreadCopy& thread : copies.threads) {
    const Result<std::string> status = read_file("/proc/" + std::to_string(pid) + "/task/" +
                                                 std::to_string(thread.tid) + "/status");
    const std::vector<int> numbers = status.ok() ? numbers_in(status.value()) : std::vector<int>();
    if (!numbers.empty()) tid_of[numbers.back()] = thread.tid;
  }
  return tid_of;
}

void find_waits(const attach::StackCopies& copies, SymbolTable& symbols, ProcessStacks* stacks) {
  const std::map<int, int> tid_of = numbers_inside(stacks->pid, copies);
  std::vector<std::pair<int, int>> pairs;
  for (size_t i = 0; i < copies.threads.size(); i++) {
    std::optional<LockWait> wait = wait_of(copies.threads[i], stacks->threads[i], tid_of);
    if (!wait) continue;
    wait->thread = i;
    wait->name = variable_at(symbols, *wait);
    if (wait->holder) pairs.emplace_back(copies.threads[i].tid, wait->holder);
    stacks->waits.push_back(std::move(*wait));
  }
  stacks->cycles = cycles_in(pairs);
}

// --- texts

std::string counted(size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string place_of(const NamedFrame& frame) {
  if (frame.line == 0) return frame.module.empty() ? "" : "(" + one_line(frame.module) + ")";
  return one_line(base_name(frame.file)) + ":" + std::to_string(frame.line);
}

std::string name_of(const NamedFrame& frame) {
  if (frame.function.empty()) return hex_number(frame.pc);
  if (frame.offset == 0 || frame.line) return one_line(frame.function);
  return one_line(frame.function) + "+" + hex_number(frame.offset);
}

void append_frames(const ThreadStack& stack, size_t first, std::string* text) {
  constexpr size_t kColumn = 44;
  for (size_t i = first; i < stack.frames.size(); i++) {
    const NamedFrame& frame = stack.frames[i];
    std::string line = "    " + std::string(frame.is_guessed ? "? " : "") + name_of(frame);
    const std::string place = place_of(frame);
    if (!place.empty())
      line += std::string(line.size() < kColumn ? kColumn - line.size() : 1, ' ') + " ";
    *text += line + place + (frame.is_inlined ? ", inlined" : "") + "\n";
  }
  if (!stack.end.empty()) *text += "    (" + stack.end + ")\n";
}

const ThreadStack* find_thread(const ProcessStacks& stacks, int tid) {
  for (const ThreadStack& thread : stacks.threads)
    if (thread.tid == tid) return &thread;
  return nullptr;
}

std::string head_of(const ProcessStacks& stacks) {
  char stood[32];
  std::snprintf(stood, sizeof stood, "%.1f", double(stacks.stood_ns) / 1e6);
  const ThreadStack* const first = find_thread(stacks, stacks.pid);
  const std::string name(first ? std::string_view(first->name) : base_name(stacks.exe));
  return "process " + std::to_string(stacks.pid) + " (" + one_line(name) +
         "): " + counted(stacks.threads.size(), "thread") + ", stood still for " + stood + " ms\n";
}

std::string thread_text(const ThreadStack& thread) {
  return std::to_string(thread.tid) + " " + one_line(thread.name);
}

std::string where_text(const ThreadStack& thread) {
  return thread.system_call.empty() ? "running" : "in " + thread.system_call;
}

// Behind the functions of a lock itself.
size_t first_own_frame(const ThreadStack& stack) {
  size_t first = 0;
  while (first < stack.frames.size() && (stack.frames[first].module.starts_with("libc.so") ||
                                         stack.frames[first].module.starts_with("libpthread")))
    first++;
  return first == stack.frames.size() ? 0 : first;
}

std::string lock_text(const LockWait& wait) {
  const std::string kind = wait.kind == LockWait::Kind::kMutex ? "mutex " : "rwlock ";
  return kind + (wait.name.empty() ? hex_number(wait.address) : one_line(wait.name));
}

void append_frame_json(const NamedFrame& frame, std::string* json) {
  *json += "{\"pc\":\"" + hex_number(frame.pc) + "\",\"function\":" + json_quote(frame.function);
  if (!frame.is_inlined) *json += ",\"offset\":" + std::to_string(frame.offset);
  *json += ",\"module\":" + json_quote(frame.module);
  if (frame.line)
    *json += ",\"file\":" + json_quote(frame.file) + ",\"line\":" + std::to_string(frame.line);
  if (frame.is_inlined) *json += ",\"inlined\":true";
  if (frame.is_guessed) *json += ",\"guessed\":true";
  *json += "}";
}

std::string thread_json(const ThreadStack& thread) {
  std::string json = "{\"tid\":" + std::to_string(thread.tid) +
                     ",\"name\":" + json_quote(thread.name) +
                     ",\"syscall\":" + json_quote(thread.system_call) + ",\"frames\":[";
  for (const NamedFrame& frame : thread.frames) {
    if (json.back() == '}') json += ',';
    append_frame_json(frame, &json);
  }
  return json + "],\"end\":" + json_quote(thread.end) + "}";
}

}  // namespace

std::vector<std::vector<int>> cycles_in(const std::vector<std::pair<int, int>>& waits) {
  std::map<int, int> next(waits.begin(), waits.end());  // a thread waits for one lock at a time
  std::map<int, int> seen_from;
  std::vector<std::vector<int>> cycles;
  for (const auto& [start, holder] : next) {
    int at = start;
    while (next.contains(at) && !seen_from.contains(at)) {
      seen_from[at] = start;
      at = next[at];
    }
    if (!next.contains(at) || seen_from[at] != start) continue;
    std::vector<int> cycle;
    for (int one = at; cycle.empty() || one != at; one = next[one]) cycle.push_back(one);
    cycles.push_back(std::move(cycle));
  }
  return cycles;
}

Result<ProcessStacks> stacks_of(int pid) {
  PB_ASSIGN(const attach::Target target, attach::Target::open(pid));
  PB_ASSIGN(const attach::StackCopies copies, attach::copy_stacks(target));
  PB_ASSIGN(const std::unique_ptr<UprobeProgram> program, UprobeProgram::of_process(pid));
  PB_TRY(target.is_same());
  ProcessStacks stacks;
  stacks.pid = pid;
  stacks.exe = program->main_object().name;
  stacks.stood_ns = copies.stood_ns;
  size_t left = kMostOfAll;
  StackWalk walk(program->symbols());
  Namer namer(*program);
  for (const attach::ThreadCopy& copy : copies.threads) {
    ThreadStack thread;
    thread.tid = copy.tid;
    thread.name = copy.name;
    if (copy.system_call >= 0) thread.system_call = syscall_name(uint64_t(copy.system_call));
    std::vector<StackFrame> frames;
    thread.end = text_of(walk.walk({copy.rip, copy.rsp, copy.rbp}, {copy.rsp, copy.stack},
                                   std::min(kMostFrames, left), &frames));
    left -= frames.size();
    for (const StackFrame& frame : frames) namer.add(frame, &thread.frames);
    stacks.threads.push_back(std::move(thread));
  }
  find_waits(copies, program->symbols(), &stacks);
  return stacks;
}

std::string stacks_text(const ProcessStacks& stacks) {
  std::string text = head_of(stacks);
  std::vector<bool> is_shown(stacks.threads.size());
  for (size_t i = 0; i < stacks.threads.size(); i++) {
    if (is_shown[i]) continue;
    const ThreadStack& thread = stacks.threads[i];
    std::vector<std::string> alike;
    for (size_t j = i; j < stacks.threads.size(); j++) {
      const ThreadStack& other = stacks.threads[j];
      const bool is_alike =
          thread.system_call == other.system_call && thread.end == other.end &&
          std::equal(thread.frames.begin(), thread.frames.end(), other.frames.begin(),
                     other.frames.end(),
                     [](const NamedFrame& a, const NamedFrame& b) { return a.pc == b.pc; });
      if (is_alike) alike.push_back(thread_text(other)), is_shown[j] = true;
    }
    text += "\n" + counted(alike.size(), "thread") + " " + where_text(thread) + ": " +
            join(alike, ", ") + "\n";
    append_frames(thread, 0, &text);
  }
  return text;
}

std::string locks_text(const ProcessStacks& stacks) {
  std::string text = head_of(stacks);
  if (stacks.waits.empty()) return text + "\nno thread waits for a lock\n";
  std::vector<int> shown;
  for (const LockWait& wait : stacks.waits) shown.push_back(stacks.threads[wait.thread].tid);
  std::vector<int> holders;
  for (const LockWait& wait : stacks.waits) {
    const ThreadStack& thread = stacks.threads[wait.thread];
    text += "\nthread " + thread_text(thread) + " waits for " + lock_text(wait);
    const ThreadStack* const holder = find_thread(stacks, wait.holder);
    text += holder ? ", which thread " + thread_text(*holder) + " holds\n"
                   : "; who holds it is not known\n";
    append_frames(thread, first_own_frame(thread), &text);
    if (holder && std::find(shown.begin(), shown.end(), holder->tid) == shown.end()) {
      shown.push_back(holder->tid);
      holders.push_back(holder->tid);
    }
  }
  for (const int tid : holders) {
    const ThreadStack& holder = *find_thread(stacks, tid);
    text += "\nthread " + thread_text(holder) + " holds, " + where_text(holder) + "\n";
    append_frames(holder, 0, &text);
  }
  for (const std::vector<int>& cycle : stacks.cycles) {
    text += "\ndeadlock: ";
    for (const int tid : cycle) text += std::to_string(tid) + " waits for ";
    text += std::to_string(cycle[0]) + "\n";
  }
  return text;
}

std::string stacks_json(const ProcessStacks& stacks, bool locks_alone) {
  std::string json = "{\"pid\":" + std::to_string(stacks.pid) +
                     ",\"exe\":" + json_quote(stacks.exe) +
                     ",\"stood_ns\":" + std::to_string(stacks.stood_ns) + ",\"threads\":[";
  for (size_t i = 0; i < stacks.threads.size(); i++) {
    const bool has_part =
        !locks_alone ||
        std::any_of(stacks.waits.begin(), stacks.waits.end(), [&](const LockWait& wait) {
          return wait.thread == i || wait.holder == stacks.threads[i].tid;
        });
    if (!has_part) continue;
    if (json.back() == '}') json += ',';
    json += thread_json(stacks.threads[i]);
  }
  json += "],\"locks\":[";
  for (const LockWait& wait : stacks.waits) {
    if (json.back() == '}') json += ',';
    json += "{\"tid\":" + std::to_string(stacks.threads[wait.thread].tid) + ",\"kind\":\"" +
            (wait.kind == LockWait::Kind::kMutex ? "mutex" : "rwlock") + "\",\"address\":\"" +
            hex_number(wait.address) + "\",\"name\":" + json_quote(wait.name) +
            ",\"holder\":" + (wait.holder ? std::to_string(wait.holder) : "null") + "}";
  }
  json += "],\"deadlocks\":[";
  for (const std::vector<int>& cycle : stacks.cycles) {
    if (json.back() == ']') json += ',';
    std::vector<std::string> tids;
    for (const int tid : cycle) tids.push_back(std::to_string(tid));
    json += "[" + join(tids, ",") + "]";
  }
  return json + "]}\n";
}

}  // namespace patchbay::cmd
