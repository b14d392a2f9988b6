// SPDX-License-Identifier: MIT
#include "attach/attach.h"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>

#include "abi/attach_abi.h"
#include "attach/exchange.h"
#include "attach/library_loader.h"
#include "attach/other_root.h"
#include "attach/own_thread.h"
#include "attach/proc_text.h"
#include "attach/process_maps.h"
#include "attach/target_process.h"
#include "attach/tracing.h"
#include "base/file_mapping.h"
#include "base/unique_fd.h"
#include "serve/client.h"
#include "serve/directory.h"
#include "serve/held_directory.h"
#include "symbol/elf_image.h"

namespace patchbay::attach {
namespace {

constexpr std::string_view kAgentName = "libpatchbay.so";

bool is_agent(const MapLine& line) {
  const std::string_view path = line.name;
  return line.inode != 0 && path.substr(path.rfind('/') + 1).starts_with(kAgentName);
}

// Where the library begins that has code there: a program, and the agent in it, may map the file to
// read it as well. Null: there is none.
const MapLine* start_of_agent(const std::vector<MapLine>& lines) {
  const MapLine* start = nullptr;
  for (const MapLine& line : lines) {
    if (!is_agent(line)) continue;
    if (line.offset == 0) start = &line;
    if (line.is_code) return start;
  }
  return nullptr;
}

std::string in_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[uint8_t(byte) >> 4];
    text += kDigits[uint8_t(byte) & 15];
  }
  return text;
}

// The build id of what is mapped at `start`, by its notes; "": it has none.
std::string build_id_at(pid_t pid, uint64_t start) {
  Elf64_Ehdr header = {};
  Elf64_Phdr segments[32];
  if (!read_memory(pid, start, &header, sizeof header).ok() ||
      header.e_phnum > std::size(segments) ||
      !read_memory(pid, start + header.e_phoff, segments, header.e_phnum * sizeof *segments).ok())
    return {};
  for (const Elf64_Phdr& segment : std::span(segments, header.e_phnum)) {
    if (segment.p_type != PT_NOTE || segment.p_memsz > 4096) continue;
    std::string notes(segment.p_memsz, '\0');
    if (!read_memory(pid, start + segment.p_vaddr, notes.data(), notes.size()).ok()) continue;
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
      Elf64_Nhdr note;
      std::memcpy(&note, notes.data() + at, sizeof note);
      const size_t value = at + sizeof note + (note.n_namesz + 3) / 4 * 4;
      const size_t end = value + (note.n_descsz + 3) / 4 * 4;
      if (end > notes.size() || end <= at) break;
      if (note.n_type == NT_GNU_BUILD_ID)
        return in_hex(std::string_view(notes).substr(value, note.n_descsz));
      at = end;
    }
  }
  return {};
}

// Its function, if the library that is mapped at `start` is the one that we would load. The file
// with its debugging symbols is large: it is not read as a whole.
Result<uint64_t> entry_at(pid_t pid, uint64_t start, const std::string& agent) {
  PB_ASSIGN(const FileMapping file, FileMapping::open(agent));
  PB_ASSIGN(const ElfImage image, ElfImage::from_file(file.bytes()));
  if (image.build_id().empty() || image.build_id() != build_id_at(pid, start)) return uint64_t{0};
  const ElfSymbols symbols = image.dynsym();
  for (size_t i = 0; i < symbols.size(); i++)
    if (symbols.name_is(symbols[i], abi::kAttachEntry)) return start + symbols[i].st_value;
  return uint64_t{0};
}

bool serves(pid_t pid) {
  const auto directory = serve::runtime_directory(false);
  return directory.ok() &&
         serve::connect_socket(directory.value() + "/" + std::to_string(pid)).ok();
}

struct Found {
  Presence presence = Presence::kNone;
  uint64_t entry = 0;  // of the agent's function, where it sleeps
};

Result<Found> find_agent(pid_t pid, const std::string& agent) {
  if (::kill(pid, 0) != 0 && errno == ESRCH)
    return user_error(ESRCH, "there is no process " + std::to_string(pid));
  const std::vector<MapLine> lines = read_maps(pid);
  const MapLine* start = start_of_agent(lines);
  if (!start) return Found{};
  if (serves(pid)) return Found{Presence::kActive};
  PB_ASSIGN(const uint64_t entry, entry_at(pid, start->range.start, agent));
  return entry ? Found{Presence::kAsleep, entry} : Found{Presence::kOther};
}

Error already_there(pid_t pid) {
  return user_error(EALREADY, "process " + std::to_string(pid) + " has an agent that serves");
}

Error is_on_its_way(pid_t pid) {
  return user_error(EINPROGRESS,
                    "the agent of process " + std::to_string(pid) +
                        " is coming or going, as another patchbay has told it: try again");
}

Error is_child(pid_t pid) {
  return user_error(ECHILD, "process " + std::to_string(pid) +
                                " was forked by one that was started with the agent, and records "
                                "with it: name that process");
}

Error is_incomplete(pid_t pid) {
  return user_error(ENOPKG, "the libc of process " + std::to_string(pid) +
                                 " (before 2.34) is there without its libpthread or libdl");
}

std::string settings_of(const Arrival& arrival) {
  std::string text;
  for (const auto& [name, value] : arrival.settings) {
    text += name + "=" + value;
    text += '\0';
  }
  return text;
}

// DIR/PID, which belongs to the process's user. The agent is given the directory itself: its path
// may lead elsewhere in the process, or nowhere.
//
// It is made when our thread is in the process. Before, a preloaded agent may just be starting: in
// a process that has forked and is about to execute a program, nothing shows it yet, and what it
// has made would be taken for a dead one's and moved away.
class ProcessDirectory {
 public:
  // Finds what would fail later, while nothing has been changed in the process.
  static Status can_be_made(const Target& target) {
    PB_ASSIGN(const std::string runtime, serve::runtime_directory(true));
    if (::access(runtime.c_str(), W_OK | X_OK) != 0)
      return sys_error("make a directory in " + runtime, errno);
    PB_TRY(open_directory_for(target.pid(), runtime));
    return {};
  }
  // `socket` leads to our thread: it is hung up when the process has executed another program.
  static Result<ProcessDirectory> make(const Target& target, int socket) {
    const pid_t pid = target.pid();
    ProcessDirectory made;
    PB_ASSIGN(const std::string runtime, serve::runtime_directory(true));
    const auto same_program = [socket] { return !is_hung_up(socket); };
    PB_ASSIGN(made.path_, serve::make_process_directory(runtime, pid, same_program));
    made.pid_ = pid;
    made.held_ = serve::HeldDirectory::open(made.path_);
    PB_TRY(target.is_same());
    const uid_t user = target.uid();
    if (user != ::geteuid() && ::lchown(made.path_.c_str(), user, gid_t(-1)) != 0)
      return sys_error("give " + made.path_ + " to user " + std::to_string(user), errno);
    PB_ASSIGN(made.descriptor_, open_directory_for(pid, made.path_));
    return made;
  }
  ProcessDirectory(ProcessDirectory&& other) noexcept
      : pid_(other.pid_),
        path_(std::exchange(other.path_, "")),
        held_(std::move(other.held_)),
        descriptor_(std::move(other.descriptor_)),
        is_used_(other.is_used_) {}
  // What the agent has not used goes again. One that could not come takes its files away by itself,
  // but not when its process has ended, or executes another program; the library is mapped for a
  // moment then. A program that was executed may have put its own directory in the place.
  ~ProcessDirectory() {
    constexpr int kLooks = 50, kLookUs = 20000;
    if (path_.empty() || is_used_) return;
    for (int i = 0; i < kLooks && held_.is_in_place() && ::rmdir(path_.c_str()) != 0; i++) {
      if (!start_of_agent(read_maps(pid_))) held_.remove();
      ::usleep(kLookUs);
    }
  }
  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_.get(); }
  void is_used() { is_used_ = true; }

 private:
  ProcessDirectory() = default;
  static bool is_hung_up(int socket) {
    pollfd polled = {socket, 0, 0};
    return ::poll(&polled, 1, 0) == 1 && (polled.revents & (POLLHUP | POLLERR));
  }

  pid_t pid_ = 0;
  std::string path_;
  serve::HeldDirectory held_;
  UniqueFd descriptor_;
  bool is_used_ = false;
};

// Who answers for a process says what is to be written into it. It may be a child that the process
// has left behind before it executed a program of another user. In that one there is no agent.
Status has_library(const Target& target) {
  const bool has_it = start_of_agent(read_maps(target.pid())) != nullptr;
  PB_TRY(target.is_same());
  if (has_it) return {};
  return user_error(ESRCH, "process " + std::to_string(target.pid()) +
                               " has no agent in it, though somebody answers in its place: it has "
                               "executed another program, and is let alone");
}

Result<Arrived> attach_here(const Target& target, const Arrival& arrival) {
  const pid_t pid = target.pid();
  PB_ASSIGN(const Found found, find_agent(pid, arrival.agent));
  if (found.presence == Presence::kActive) return already_there(pid);
  if (found.presence == Presence::kOther)
    return user_error(EEXIST, "process " + std::to_string(pid) +
                                  " has the agent of another version in it, which stays until it "
                                  "ends: use that version of patchbay");
  PB_ASSIGN(const TargetLibc libc, TargetLibc::find(pid));
  PB_TRY(ProcessDirectory::can_be_made(target));
  const std::vector<pid_t> threads = target.threads();
  PB_ASSIGN(const std::unique_ptr<LibraryLoader> loader,
            LibraryLoader::make(target, libc, arrival.timeout_ms, arrival.is_interrupted));
  const Library library = {arrival.agent, found.entry, abi::kAttachEntry, abi::kAttachVersion};
  if (const Status loaded = loader->load(library, arrival.timeout_ms); !loaded.ok()) {
    const int error = loaded.error().errno_value;
    return error == EALREADY      ? already_there(pid)
           : error == EINPROGRESS ? is_on_its_way(pid)
           : error == ECHILD      ? is_child(pid)
           : error == ENOPKG      ? is_incomplete(pid)
                                  : loaded.error();
  }
  const UniqueFd socket = loader->take_socket();
  PB_ASSIGN(ProcessDirectory directory, ProcessDirectory::make(target, socket.get()));
  const std::string settings =
      settings_of(arrival) + "PATCHBAY_PROCESS_DIRECTORY=" + directory.path() + '\0';
  PB_TRY(
      send_message(socket.get(), abi::AttachMessage::kSettings, settings, directory.descriptor()));
  PB_ASSIGN(const Exchanged done, run_exchange(socket.get(), target, arrival.timeout_ms, threads,
                                               [&] { loader->library_has_started(); }));
  directory.is_used();
  return Arrived{done.text, loader->stopped_ns(), done.stopped_ns};
}

}  // namespace

Result<Presence> presence_of(pid_t pid, const std::string& agent) {
  PB_ASSIGN(const Found found, find_agent(pid, agent));
  return found.presence;
}

bool has_hooks(pid_t pid) {
  const auto libc = TargetLibc::find(pid);
  return libc.ok() && libc.value().is_changed("fork");
}

Result<Arrived> attach(pid_t pid, const Arrival& arrival) {
  PB_TRY(may_attach(pid));
  PB_ASSIGN(const Target target, Target::open(pid));
  auto arrived = on_own_thread<Arrived>(pid, [&] { return attach_here(target, arrival); });
  // Nobody is to try again with the program that it executes now.
  if (!arrived.ok()) PB_TRY(target.is_same());
  return arrived;
}

Status detach(pid_t pid, int timeout_ms) {
  PB_ASSIGN(const std::unique_ptr<serve::Client> client, serve::Client::connect(pid));
  const Result<Target> target = Target::open(pid);
  if (target.ok()) PB_TRY(has_library(target.value()));
  PB_ASSIGN(const UniqueFd connection, client->detach());
  if (!target.ok()) return target.error();
  const Status done = detach_over(connection.get(), target.value(), timeout_ms);
  const int error = done.ok() ? 0 : done.error().errno_value;
  // Stopped, or changed by a debugger: that is no other command.
  if (error == EBUSY) return user_error(ECANCELED, done.error().message());
  return error == ETIMEDOUT ? user_error(EAGAIN, done.error().message()) : done;
}

Status detach_over(int socket, const Target& target, int timeout_ms) {
  const auto done = on_own_thread<Exchanged>(
      target.pid(), [&] { return run_exchange(socket, target, timeout_ms); });
  return done.ok() ? Status() : Status(done.error());
}

}  // namespace patchbay::attach
