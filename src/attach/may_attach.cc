// SPDX-License-Identifier: MIT
//
// Why a process cannot be attached to, as far as /proc says it. The kernel decides in the end; but
// its EPERM does not say which of the rules it was, nor what helps.
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "attach/proc_text.h"
#include "attach/target_process.h"
#include "base/file_mapping.h"
#include "base/unique_fd.h"
#include "symbol/elf_image.h"

namespace patchbay::attach {
namespace {

constexpr unsigned long kKernelThread = 0x200000;  // PF_KTHREAD, in the flags of /proc/PID/stat
constexpr char kFirstPidNamespace[] = "pid:[4026531836]";  // PROC_PID_INIT_INO

Error refuse(pid_t pid, int errno_value, const std::string& why) {
  return user_error(errno_value, "process " + std::to_string(pid) + " " + why);
}

std::string link_text(const std::string& path) {
  char text[256];
  const ssize_t size = ::readlink(path.c_str(), text, sizeof text);
  return std::string(text, size > 0 ? size_t(size) : 0);
}

bool is_kernel_thread(const std::string& stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return false;
  const char* at = stat.c_str() + name_end + 1;
  for (int skipped = 0; skipped < 6; skipped++) {  // state … tpgid
    at = std::strchr(at + 1, ' ');
    if (!at) return false;
  }
  return std::strtoul(at + 1, nullptr, 10) & kKernelThread;
}

// --- what it is doing

Status check_thread(pid_t pid, const std::string& status, const std::string& proc) {
  const std::string tracer = status_field(status, "TracerPid");
  if (!tracer.empty() && tracer != "0") {
    std::string name = read_text(proc + "/" + tracer + "/comm").value_or("");
    if (!name.empty()) name = " (" + name.substr(0, name.find('\n')) + ")";
    return refuse(pid, EBUSY, "is traced by process " + tracer + name + ": end that first");
  }
  if (status_field(status, "Seccomp") == "1")
    return refuse(
        pid, EPERM,
        "runs under the strict mode of seccomp, where any call of ours kills it: start it "
        "without, or with the agent");
  return {};
}

// Each thread may have a tracer and a mode of its own.
Status check_threads(pid_t pid, const std::string& directory, const std::string& proc) {
  DIR* tasks = ::opendir((directory + "/task").c_str());
  Status checked;
  while (const dirent* entry = tasks && checked.ok() ? ::readdir(tasks) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    const auto status = read_text(directory + "/task/" + entry->d_name + "/status");
    if (status) checked = check_thread(pid, *status, proc);
  }
  if (tasks) ::closedir(tasks);
  return checked;
}

// The first thread may end before the others; the process then looks like one that has ended.
bool has_other_threads(const std::string& directory) {
  DIR* tasks = ::opendir((directory + "/task").c_str());
  bool any = false;
  while (const dirent* entry = tasks && !any ? ::readdir(tasks) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    const auto status = read_text(directory + "/task/" + entry->d_name + "/status");
    const std::string state = status ? status_field(*status, "State") : "X";
    any = !state.starts_with('Z') && !state.starts_with('X');
  }
  if (tasks) ::closedir(tasks);
  return any;
}

// A child of vfork() runs in its parent's memory until it executes a program.
Status check_memory(pid_t pid, const std::string& status) {
  const int parent = std::atoi(status_field(status, "PPid").c_str());
  constexpr long kVm = 1;  // KCMP_VM
  if (parent <= 0 || ::syscall(SYS_kcmp, pid, parent, kVm, 0, 0) != 0) return {};
  return refuse(pid, EBUSY,
                "shares its memory with process " + std::to_string(parent) +
                    " (vfork): wait until it executes a program, or attach to that one");
}

Status check_status(pid_t pid, const std::string& status, const std::string& directory,
                    const std::string& proc) {
  const std::string leader = status_field(status, "Tgid"), state = status_field(status, "State");
  if (!leader.empty() && leader != std::to_string(pid))
    return user_error(
        EINVAL, std::to_string(pid) + " is a thread of process " + leader + ": attach to that");
  if (state.starts_with('Z') && has_other_threads(directory))
    return refuse(pid, ENOTSUP,
                  "goes on without its first thread, which has ended (pthread_exit): the kernel "
                  "does not show such a process's memory; start it with the agent");
  if (state.starts_with('Z') || state.starts_with('X'))
    return refuse(pid, ESRCH, "has ended: its parent has not asked for its status yet");
  if (state.starts_with('T'))
    return refuse(pid, EBUSY, "is stopped: let it go on first, kill -CONT " + std::to_string(pid));
  return check_thread(pid, status, proc);
}

// --- what it runs

// It was built for Go's own runtime: the note that its linker writes.
bool is_go(const ElfImage& image, std::span<const uint8_t> file) {
  static constexpr char kName[] = {'G', 'o', 0, 0};
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_NOTE || segment.p_offset > file.size()) continue;
    const auto notes =
        file.subspan(segment.p_offset, std::min(segment.p_filesz, file.size() - segment.p_offset));
    if (std::search(notes.begin(), notes.end(), std::begin(kName), std::end(kName)) != notes.end())
      return true;
  }
  return false;
}

// The dynamic linker may have been called by its name, with the program as its argument.
bool has_libc(const std::string& directory) {
  const std::string maps = read_text(directory + "/maps").value_or("");
  return maps.find("/libc.so.6\n") != maps.npos || maps.find("/libc-2.") != maps.npos;
}

Status check_sanitizers(pid_t pid, const ElfImage& image, const std::string& directory) {
  const std::string maps = read_text(directory + "/maps").value_or("");
  std::string found = maps.find("/libtsan.so") != maps.npos ? "thread" : "";
  const ElfSymbols symbols = image.dynsym();
  for (size_t i = 0; i < symbols.size() && found.empty(); i++) {
    if (symbols.name_is(symbols[i], "__tsan_init")) found = "thread";
    if (symbols.name_is(symbols[i], "__msan_init")) found = "memory";
  }
  if (found.empty()) return {};
  return refuse(pid, ENOEXEC,
                "is built with -fsanitize=" + found +
                    ", which takes what the agent does for mistakes of the program: run a build "
                    "without");
}

Status check_linker(pid_t pid, const ElfImage& image, std::span<const uint8_t> file,
                    const std::string& directory) {
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_INTERP || segment.p_offset > file.size()) continue;
    const std::string name(reinterpret_cast<const char*>(file.data()) + segment.p_offset,
                           std::min(segment.p_filesz, file.size() - segment.p_offset));
    if (name.find("ld-musl") != name.npos)
      return refuse(pid, ENOEXEC, "runs with musl: the agent needs a build for glibc");
    return {};
  }
  if (has_libc(directory)) return {};
  if (is_go(image, file))
    return refuse(pid, ENOEXEC,
                  "is a Go program without libc, which the agent needs: run a build with cgo");
  return refuse(pid, ENOEXEC,
                "is a static program, without a dynamic linker that loads the agent: run one that "
                "is linked dynamically");
}

Status check_program(pid_t pid, const std::string& directory) {
  const std::string exe = directory + "/exe";
  UniqueFd file(::open(exe.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return refuse(pid, ESRCH, "has ended");
  if (!file.valid()) return sys_error("open " + exe, errno);
  Elf64_Ehdr header = {};
  if (::pread(file.get(), &header, sizeof header, 0) != ssize_t(sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return refuse(pid, ENOEXEC, "does not run an ELF program");
  if (header.e_machine == EM_X86_64 && header.e_ident[EI_CLASS] == ELFCLASS32)
    return refuse(pid, ENOEXEC,
                  "is an x32 program, with pointers of 32 bits: run a build for 64 bits");
  if (header.e_machine != EM_X86_64 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return refuse(pid, ENOEXEC,
                  "is not a 64-bit x86 program, as the agent is: run a build for x86-64");
  PB_ASSIGN(const FileMapping bytes, FileMapping::open(exe));
  const Result<ElfImage> image = ElfImage::from_file(bytes.bytes());
  if (!image.ok()) return refuse(pid, ENOEXEC, "runs a damaged program: " + image.error().what);
  PB_TRY(check_linker(pid, image.value(), bytes.bytes(), directory));
  return check_sanitizers(pid, image.value(), directory);
}

// --- who asks

uint64_t capabilities(const std::string& status, const char* set) {
  return std::strtoull(status_field(status, set).c_str(), nullptr, 16);
}

// Real, effective and saved id have to be ours, as the kernel wants it.
bool has_only(const std::string& ids, unsigned id) {
  std::istringstream words(ids);
  unsigned one = 0;
  for (int i = 0; i < 3 && words >> one; i++)
    if (one != id) return false;
  return true;
}

Status check_yama(pid_t pid, const std::string& proc, bool is_capable) {
  const auto scope = read_text(proc + "/sys/kernel/yama/ptrace_scope");
  if (!scope || scope->starts_with('0')) return {};
  const std::string which = "cannot be attached to: kernel.yama.ptrace_scope is ";
  if (scope->starts_with('3'))
    return refuse(pid, EPERM, which + "3, for everybody until the next boot");
  if (is_capable) return {};
  return refuse(
      pid, EPERM,
      which + scope->substr(0, 1) +
          ". Attach as root, or give `patchbay` the capability CAP_SYS_PTRACE" +
          (scope->starts_with('1') ? ", or let the program call prctl(PR_SET_PTRACER)" : ""));
}

// A user may do everything in a namespace that he has made.
bool is_in_foreign_namespace(const std::string& directory) {
  const std::string theirs = link_text(directory + "/ns/user");
  if (theirs.empty() || theirs == link_text("/proc/self/ns/user")) return false;
  UniqueFd name_space(::open((directory + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  uid_t owner = 0;
  return !name_space.valid() || ::ioctl(name_space.get(), NS_GET_OWNER_UID, &owner) != 0 ||
         owner != ::geteuid();
}

// The rules for a user without CAP_SYS_PTRACE.
Status check_user(pid_t pid, const std::string& status, const std::string& directory) {
  const std::string uids = status_field(status, "Uid"), gids = status_field(status, "Gid");
  if (std::strtoul(uids.c_str(), nullptr, 10) != ::getuid())
    return refuse(pid, EPERM, "is another user's: attach as that user or as root");
  if (!has_only(uids, ::getuid()) || !has_only(gids, ::getgid()))
    return refuse(pid, EPERM, "has the rights of another user or group, too: attach as root");
  if (is_in_foreign_namespace(directory))
    return refuse(pid, EPERM, "is in another user namespace: attach as root, from outside");
  const std::string own = read_text("/proc/self/status").value_or("");
  if (capabilities(status, "CapPrm") & ~capabilities(own, "CapPrm"))
    return refuse(pid, EPERM, "has capabilities that this user does not have: attach as root");
  struct stat about = {};
  if (::stat(directory.c_str(), &about) == 0 && about.st_uid != ::getuid())
    return refuse(pid, EPERM,
                  "is not dumpable: it has had other rights, or has forbidden it by "
                  "prctl(PR_SET_DUMPABLE); attach as root");
  return {};
}

Status check_rights(pid_t pid, const std::string& status, const std::string& directory,
                    const std::string& proc) {
  const std::string own = read_text("/proc/self/status").value_or("");
  const bool is_capable = capabilities(own, "CapEff") & (uint64_t{1} << CAP_SYS_PTRACE);
  if (!is_capable) PB_TRY(check_user(pid, status, directory));
  return check_yama(pid, proc, is_capable);
}

}  // namespace

Status may_attach(pid_t pid, const std::string& proc) {
  if (pid == ::getpid()) return refuse(pid, EINVAL, "is this one");
  const std::string directory = proc + "/" + std::to_string(pid);
  const auto status = read_text(directory + "/status"), stat = read_text(directory + "/stat");
  if (!status || !stat) return user_error(ESRCH, "there is no process " + std::to_string(pid));
  if (is_kernel_thread(*stat)) return refuse(pid, EINVAL, "is a thread of the kernel");
  if (pid == 1 && link_text(proc + "/self/ns/pid") == kFirstPidNamespace)
    return refuse(pid, EINVAL,
                  "is the init of this machine, whose end would be the kernel's: start it with the "
                  "agent where it has to be traced");
  PB_TRY(check_status(pid, *status, directory, proc));
  PB_TRY(check_rights(pid, *status, directory, proc));
  PB_TRY(check_threads(pid, directory, proc));
  PB_TRY(check_memory(pid, *status));
  return check_program(pid, directory);
}

}  // namespace patchbay::attach
