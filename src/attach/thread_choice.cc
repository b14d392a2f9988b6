// SPDX-License-Identifier: MIT
#include "attach/thread_choice.h"

#include <dirent.h>
#include <elf.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>

#include "attach/proc_text.h"
#include "attach/tracing.h"
#include "base/unique_fd.h"

namespace patchbay::attach {
namespace {

constexpr int kWaits = 0, kSleeps = 1, kRuns = 2, kNotToBeUsed = -1;

std::string task_file(pid_t pid, pid_t tid, const char* name) {
  const std::string path =
      "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + name;
  auto text = read_file(path);
  return text.ok() ? *text : std::string();
}

// Reading a file may be what the dynamic linker or stdio does; a pipe, a socket or a terminal is
// something that a thread waits for.
bool waits_for_a_reader(pid_t pid, pid_t tid, uint64_t fd) {
  struct stat about = {};
  const std::string path =
      "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/fd/" + std::to_string(fd);
  return ::stat(path.c_str(), &about) == 0 &&
         (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || S_ISCHR(about.st_mode));
}

// libc waits for its own locks, and for a program's mutex, by FUTEX_WAIT; for a condition, a
// semaphore, the end of a thread by FUTEX_WAIT_BITSET.
bool is_no_lock(uint64_t operation) { return (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET; }

// --- dynamic symbols in memory, by their GNU hash table

struct DynamicSymbols {
  uint64_t hash = 0, symbols = 0, strings = 0;
};

template <typename T>
bool read_at(pid_t pid, uint64_t address, T* out) {
  return read_memory(pid, address, out, sizeof *out).ok();
}

std::optional<Elf64_Phdr> dynamic_segment(pid_t pid, uint64_t start, uint64_t* bias) {
  Elf64_Ehdr header = {};
  if (!read_at(pid, start, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return {};
  std::optional<Elf64_Phdr> found;
  bool has_bias = false;
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment = {};
    if (!read_at(pid, start + header.e_phoff + i * sizeof segment, &segment)) return {};
    if (segment.p_type == PT_DYNAMIC) found = segment;
    if (segment.p_type != PT_LOAD || std::exchange(has_bias, true)) continue;
    *bias = start - (segment.p_vaddr - segment.p_offset);
  }
  return found;
}

bool read_dynamic(pid_t pid, uint64_t start, DynamicSymbols* out) {
  uint64_t bias = 0;
  const auto segment = dynamic_segment(pid, start, &bias);
  if (!segment) return false;
  constexpr uint64_t kMostEntries = 256;
  for (uint64_t i = 0; i < std::min(segment->p_memsz / sizeof(Elf64_Dyn), kMostEntries); i++) {
    Elf64_Dyn entry = {};
    if (!read_at(pid, bias + segment->p_vaddr + i * sizeof entry, &entry)) return false;
    if (entry.d_tag == DT_NULL) break;
    // The dynamic linker has made addresses of these, where it could write to them.
    const uint64_t address = entry.d_un.d_ptr < bias ? entry.d_un.d_ptr + bias : entry.d_un.d_ptr;
    if (entry.d_tag == DT_GNU_HASH) out->hash = address;
    if (entry.d_tag == DT_SYMTAB) out->symbols = address;
    if (entry.d_tag == DT_STRTAB) out->strings = address;
  }
  return out->hash && out->symbols && out->strings;
}

uint32_t gnu_hash(std::string_view name) {
  uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + uint8_t(letter);
  return hash;
}

bool is_function(pid_t pid, const DynamicSymbols& table, uint32_t index, std::string_view name) {
  Elf64_Sym symbol = {};
  char text[64] = {};
  return name.size() < sizeof text &&
         read_at(pid, table.symbols + index * sizeof symbol, &symbol) &&
         symbol.st_shndx != SHN_UNDEF &&
         read_memory(pid, table.strings + symbol.st_name, text, name.size() + 1).ok() &&
         name == std::string_view(text, std::strlen(text));
}

}  // namespace

bool exports_function(pid_t pid, uint64_t start, std::string_view name) {
  DynamicSymbols table;
  struct {
    uint32_t buckets, first, bloom_words, shift;
  } head = {};
  if (!read_dynamic(pid, start, &table) || !read_at(pid, table.hash, &head) || !head.buckets)
    return false;
  const uint32_t hash = gnu_hash(name);
  const uint64_t buckets = table.hash + sizeof head + uint64_t{head.bloom_words} * 8;
  const uint64_t chains = buckets + uint64_t{head.buckets} * 4;
  uint32_t index = 0;
  if (!read_at(pid, buckets + hash % head.buckets * 4, &index) || index < head.first) return false;
  constexpr int kLongestChain = 4096;
  for (int i = 0; i < kLongestChain; i++, index++) {
    uint32_t word = 0;
    if (!read_at(pid, chains + uint64_t{index - head.first} * 4, &word)) return false;
    if ((word | 1) == (hash | 1) && is_function(pid, table, index, name)) return true;
    if (word & 1) return false;
  }
  return false;
}

ThreadChoice::ThreadChoice(pid_t pid, const TargetLibc& libc)
    : pid_(pid), libc_(libc), lines_(read_maps(pid)) {
  const MapLine* head = nullptr;  // of the object whose lines follow
  bool is_linker = false, is_allocator = false;
  for (const MapLine& line : lines_) {
    if (line.inode && line.offset == 0) {
      head = &line;
      const std::string name = line.name.substr(line.name.rfind('/') + 1);
      is_linker = name.starts_with("ld-") || name.starts_with("ld.");
      is_allocator = false;
    }
    if (!line.is_code || !head || line.inode != head->inode) continue;
    if (line.offset != 0 || head == &line)
      is_allocator = !libc.has_code(line.range.start) && !is_linker &&
                     exports_function(pid, head->range.start, "malloc");
    if (is_linker) linker_.push_back(line.range);
    if (is_allocator) allocators_.push_back(line.range);
  }
}

bool ThreadChoice::is_critical(uint64_t address) const {
  const auto holds = [address](const Range& range) { return range.contains(address); };
  return std::any_of(linker_.begin(), linker_.end(), holds) ||
         std::any_of(allocators_.begin(), allocators_.end(), holds);
}

// The dynamic linker has system calls of its own: a thread that is inside dlopen() and maps a file
// is not in libc.
int ThreadChoice::rank_of_call(pid_t tid, long number, uint64_t first, uint64_t second,
                               uint64_t pc) const {
  if (!libc_.has_code(pc)) return kNotToBeUsed;
  if (is_harmless_wait(number))
    return number != SYS_read || waits_for_a_reader(pid_, tid, first) ? kWaits : kNotToBeUsed;
  switch (number) {
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_restart_syscall:  // a sleep, a poll or a futex that was stopped before
      return kSleeps;
    case SYS_futex:
      return is_no_lock(second) ? kSleeps : kNotToBeUsed;
    default:
      return kNotToBeUsed;
  }
}

int ThreadChoice::rank(pid_t tid) const {
  const std::string stat = task_file(pid_, tid, "stat");
  const size_t name_end = stat.rfind(") ");
  const char state = name_end + 2 < stat.size() && name_end != stat.npos ? stat[name_end + 2] : 'X';
  if (state == 'R') return kRuns;
  if (state != 'S') return kNotToBeUsed;
  const std::string text = task_file(pid_, tid, "syscall");
  long number = -1;
  uint64_t pc = 0;
  unsigned long long first = 0, second = 0;
  if (text.starts_with("running")) return kRuns;
  if (!parse_syscall(text, &number, &pc) ||
      std::sscanf(text.c_str(), "%*d %llx %llx", &first, &second) != 2)
    return kNotToBeUsed;
  return rank_of_call(tid, number, first, second, pc);
}

// Of those that wait, one with children comes last: while it stands, the end of a child wakes
// another thread (all_threads.cc says how).
std::vector<pid_t> ThreadChoice::candidates(Among among) const {
  std::vector<std::tuple<bool, bool, int, pid_t>> ranked;
  bool any_forks = false;
  const std::string directory = "/proc/" + std::to_string(pid_) + "/task";
  DIR* tasks = ::opendir(directory.c_str());
  if (!tasks) return {};
  int threads = 0;
  while (const dirent* entry = ::readdir(tasks)) {
    const auto tid = pid_t(std::strtol(entry->d_name, nullptr, 10));
    const int its_rank = tid > 0 ? rank(tid) : kNotToBeUsed;
    threads += tid > 0;
    const bool forks =
        tid > 0 && (has_children(pid_, tid) || is_about_children(system_call_of(pid_, tid)));
    any_forks |= forks;
    if (its_rank != kNotToBeUsed) ranked.emplace_back(its_rank == kRuns, forks, its_rank, tid);
  }
  ::closedir(tasks);
  std::sort(ranked.begin(), ranked.end());
  std::vector<pid_t> tids;
  for (const auto& [runs, forks, its_rank, tid] : ranked)
    if (among == Among::kAll || threads == 1 || (!runs && !forks) ||
        (runs && among == Among::kChildless && !any_forks))
      tids.push_back(tid);
  return tids;
}

// What stands on the stack above rsp. A frame of a signal: its return address is libc's
// __restore_rt, the instruction pointer that was interrupted stands 168 bytes above that. Another
// allocator than libc's that sleeps has called libc a few frames ago.
const char* ThreadChoice::stack_refusal(uint64_t stack, bool sleeps) const {
  constexpr uint64_t kLooked = 64 << 10, kNear = 4 << 10;
  constexpr uint64_t kInterrupted = 8 + 40 + 16 * 8;  // from the return address: ucontext, rip
  const MapLine* line = line_at(lines_, stack);
  uint64_t end = line ? line->range.end : (stack | 4095) + 1;
  end = std::min(end, stack + kLooked);
  if (end <= stack) return "has no stack";  // any word may stand in rsp
  std::vector<uint64_t> words((end - stack) / 8);
  if (!read_memory(pid_, stack, words.data(), words.size() * 8).ok()) return "has no stack";
  for (size_t i = 0; i < words.size(); i++) {
    if (sleeps && i < kNear / 8 && is_critical(words[i]))
      return "sleeps in an allocator or in the dynamic linker";
    if (words[i] != libc_.restorer() || i + kInterrupted / 8 >= words.size()) continue;
    const uint64_t interrupted = words[i + kInterrupted / 8];
    if (is_critical(interrupted) || libc_.has_code(interrupted))
      return "handles a signal that has interrupted libc, or what allocates memory";
  }
  return nullptr;
}

Status ThreadChoice::may_use(pid_t tid, long number, const user_regs_struct& registers) const {
  int its_rank = kRuns;
  if (number >= 0) {
    its_rank = rank_of_call(tid, number, registers.rdi, registers.rsi, registers.rip);
    if (its_rank == kNotToBeUsed)
      return user_error(EAGAIN,
                        thread_name(tid) + " makes a system call in which it may hold a lock");
  } else if (libc_.has_code(registers.rip) || is_critical(registers.rip)) {
    return user_error(EAGAIN, thread_name(tid) + " runs in libc, or in what allocates memory");
  }
  if (const char* why = stack_refusal(registers.rsp, its_rank == kSleeps))
    return user_error(EAGAIN, thread_name(tid) + " " + why);
  return {};
}

}  // namespace patchbay::attach
