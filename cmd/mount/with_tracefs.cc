// SPDX-License-Identifier: MIT
//
// patchbay with-tracefs PID -- CMD: runs a program that knows the kernel's tracefs only (trace-cmd,
// perf ftrace, anything that uses libtracefs) as if the tree of a process were the kernel's.
//
//   a mount namespace of our own                                     nobody else sees any of this
//     /sys/kernel/tracing      tracefs  (the kernel's)                   its line names the place
//                              tmpfs    (what is bound below)
//                              FUSE     (the process; on top: what a path leads to)
//     /proc/sys/kernel/ftrace_enabled, /proc/kallsyms                    files of the tmpfs
//     /proc/sys/kernel/stack_tracer_enabled   the tree's; in a copy of the folder if there is none
//     /proc/CMD/mounts         where the kernel's cannot be mounted: a copy that says tracefs
//
// libtracefs looks for the first line of /proc/mounts whose type is exactly "tracefs", which a FUSE
// mount never has. We serve the mount while CMD runs; all ends with it.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

#include "cmd/common/tracefs_command.h"
#include "cmd/mount/mount_fuse.h"
#include "cmd/target/attachment.h"
#include "cmd/target/process_word.h"
#include "cmd/target/target_symbols.h"

namespace patchbay::cmd {
namespace {

constexpr int kOurFailure = 125, kCannotRun = 126, kNotFound = 127;
constexpr const char kTracefs[] = "/sys/kernel/tracing";
constexpr const char kStackSwitch[] = "/proc/sys/kernel/stack_tracer_enabled";
constexpr const char kMounts[] = "/proc/self/mounts";

pid_t g_child = 0;

Status write_file(const std::string& path, std::string_view text) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return sys_error("open " + path, errno);
  while (!text.empty()) {
    ssize_t count = ::write(fd.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return sys_error("write " + path, errno);
    text.remove_prefix(size_t(count));
  }
  return {};
}

// --- the namespace

// A user who is not root gets a user namespace in which he is root.
Status enter_namespace() {
  uid_t uid = ::geteuid();
  gid_t gid = ::getegid();
  if (::unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) {
    return user_error(errno, std::string("A mount namespace cannot be made: ") +
                                 std::strerror(errno) +
                                 "; root may, or a user where user namespaces are allowed.");
  }
  if (uid != 0) {
    (void)write_file("/proc/self/setgroups", "deny");
    PB_TRY(write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1"));
    PB_TRY(write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1"));
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return sys_error("make the mounts private", errno);
  return {};
}

// A line of the mount table: source, place, type, and the rest.
struct MountLine {
  std::string source, place, type, rest;
};
std::vector<MountLine> read_mounts() {
  std::vector<MountLine> lines;
  Result<std::string> text = read_file(kMounts);
  std::istringstream stream(text.ok() ? *text : "");
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    MountLine entry;
    words >> entry.source >> entry.place >> entry.type;
    std::getline(words, entry.rest);
    lines.push_back(std::move(entry));
  }
  return lines;
}

struct Place {
  std::string path;         // where the tree goes
  bool needs_copy = false;  // no line of type tracefs names it
};

// The place that libtracefs would find. It is made when there is none.
Result<Place> find_place() {
  for (const MountLine& line : read_mounts()) {
    if (line.type == "tracefs") return Place{line.place, false};
  }
  struct stat status;
  if (::stat(kTracefs, &status) != 0 || !S_ISDIR(status.st_mode)) {
    return user_error(ENOENT, std::string("There is no directory ") + kTracefs +
                                  " for the tree (the kernel has no tracefs).");
  }
  bool mounted = ::mount("none", kTracefs, "tracefs", 0, nullptr) == 0;
  return Place{kTracefs, !mounted};
}

Status bind_over(const std::string& from, const std::string& to) {
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) == 0) return {};
  return sys_error("bind a file over " + to, errno);
}

// trace-cmd writes to ftrace_enabled whenever it exists, and copies kallsyms for its names. Returns
// the directory of the files that are laid over others, which the tree then hides.
Result<UniqueFd> lay_files(const Place& place, const std::string& kallsyms) {
  if (::mount("patchbay", place.path.c_str(), "tmpfs", 0, "mode=0700") != 0)
    return sys_error("mount a tmpfs on " + place.path, errno);
  UniqueFd directory(::open(place.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return sys_error("open " + place.path, errno);
  PB_TRY(write_file(place.path + "/ftrace_enabled", "1\n"));
  PB_TRY(write_file(place.path + "/kallsyms", kallsyms));
  const char enabled[] = "/proc/sys/kernel/ftrace_enabled";
  if (::access(enabled, F_OK) == 0) PB_TRY(bind_over(place.path + "/ftrace_enabled", enabled));
  PB_TRY(bind_over(place.path + "/kallsyms", "/proc/kallsyms"));
  return directory;
}

// --- the command

// In the child: the table of this process id, which exec keeps, says that the type is tracefs.
Status lay_mount_table(const Place& place, int directory) {
  std::string text;
  for (const MountLine& line : read_mounts()) {
    const std::string& type = line.place == place.path ? "tracefs" : line.type;
    text += line.source + " " + line.place + " " + type + line.rest + "\n";
  }
  std::string file = "/proc/self/fd/" + std::to_string(directory) + "/mounts";
  PB_TRY(write_file(file, text));
  return bind_over(file, "/proc/" + std::to_string(::getpid()) + "/mounts");
}

// In the child, to which we serve the tree: the switch of the stack tracer, where trace-cmd looks
// for it. Where the kernel has no such file, the folder is laid anew, with the files that it has.
Status lay_folder_again(const char* folder) {
  UniqueFd below(::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!below.valid()) return sys_error(std::string("open ") + folder, errno);
  if (::mount("patchbay", folder, "tmpfs", 0, "mode=0555") != 0)
    return sys_error(std::string("mount a tmpfs on ") + folder, errno);
  const std::string from = "/proc/self/fd/" + std::to_string(below.get()) + "/";
  const std::string to = std::string(folder) + "/";
  std::unique_ptr<DIR, int (*)(DIR*)> names(::fdopendir(::dup(below.get())), ::closedir);
  while (const dirent* entry = names ? ::readdir(names.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entry->d_type == DT_DIR) {
      (void)::mkdir((to + name).c_str(), 0755);
    } else {
      PB_TRY(write_file(to + name, ""));
    }
    const std::string source = from + name, target = to + name;
    if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
      return sys_error("bind a file over " + target, errno);
  }
  return {};
}

Status lay_stack_switch(const Place& place) {
  const std::string ours = place.path + "/stack_tracer_enabled";
  if (::access(ours.c_str(), F_OK) != 0) return {};
  if (::access(kStackSwitch, F_OK) != 0) {
    PB_TRY(lay_folder_again("/proc/sys/kernel"));
    PB_TRY(write_file(kStackSwitch, ""));
  }
  return bind_over(ours, kStackSwitch);
}

[[noreturn]] void become(char** words, const Place& place, int directory) {
  if (place.needs_copy) {
    Status laid = lay_mount_table(place, directory);
    if (!laid.ok()) fail("with-tracefs", laid.error());
    if (!laid.ok()) ::_exit(kOurFailure);
  }
  Status laid = lay_stack_switch(place);  // without it only `trace-cmd stack` misses something
  if (!laid.ok()) fail("with-tracefs", laid.error());
  ::setenv("TRACEFS_PATH", place.path.c_str(), 1);
  ::execvp(words[0], words);
  int error = errno;
  fail("with-tracefs", sys_error(std::string("run ") + words[0], error));
  ::_exit(error == ENOENT ? kNotFound : kCannotRun);
}

// The terminal sends Ctrl-C to the command, too. A signal that only we get is passed on.
void pass_signals_on() {
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGQUIT, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = [](int signal) { ::kill(g_child, signal); };
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGHUP, &action, nullptr);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<int> run_command(char** words, const Place& place, int directory, FuseMount& mount) {
  g_child = ::fork();
  if (g_child < 0) return sys_error("fork", errno);
  if (g_child == 0) become(words, place, directory);
  pass_signals_on();
  UniqueFd end(int(::syscall(SYS_pidfd_open, g_child, 0)));
  if (!end.valid()) {
    Error error = sys_error("watch the command", errno);
    ::kill(g_child, SIGKILL);
    wait_for(g_child);
    return error;
  }
  Status served = mount.serve(end.get());
  if (!served.ok()) fail("with-tracefs", served.error());
  return wait_for(g_child);
}

// --- the agent

// Takes the agent out when we have ended, however that was: in the user namespace that we enter
// nobody may stop a thread of the process. So a child that stays outside does it. Until something
// else is connected to the agent the client stays, so that nobody else takes the agent out.
class LeaveFromOutside {
 public:
  LeaveFromOutside(Attachment* attachment, std::unique_ptr<serve::Client> client)
      : client_(std::move(client)) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    UniqueFd end(ends[0]);
    ours_.reset(ends[1]);
    child_ = ::fork();
    if (child_ == 0) wait_and_leave(attachment, end.get());
    if (child_ > 0) attachment->forget();
  }
  ~LeaveFromOutside() {
    client_.reset();
    ours_.reset();
    if (child_ > 0) wait_for(child_);
  }
  LeaveFromOutside(const LeaveFromOutside&) = delete;
  void others_are_connected() { client_.reset(); }

 private:
  [[noreturn]] void wait_and_leave(Attachment* attachment, int end) {
    ours_.reset();
    client_.reset();
    for (int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
    char none;
    while (::read(end, &none, 1) < 0 && errno == EINTR) {
    }
    attachment->leave();
    ::_exit(0);
  }

  std::unique_ptr<serve::Client> client_;
  UniqueFd ours_;
  pid_t child_ = -1;
};

Result<int> run_with_tree(int pid, char** words) {
  Attachment attachment;
  PB_ASSIGN(std::unique_ptr<serve::Client> client, attach_if_needed(pid, &attachment));
  PB_ASSIGN(std::string kallsyms, target_kallsyms(*client));
  LeaveFromOutside leave(&attachment, std::move(client));
  attachment.deliver_signals();
  PB_TRY(enter_namespace());
  PB_ASSIGN(Place place, find_place());
  PB_ASSIGN(UniqueFd directory, lay_files(place, kallsyms));
  MountOptions options;
  options.directory = place.path;
  options.pid = pid;
  options.over_files = true;
  PB_ASSIGN(std::unique_ptr<FuseMount> mount, FuseMount::create(options));
  leave.others_are_connected();
  return run_command(words, place, directory.get(), *mount);
}

}  // namespace

constexpr CommandLine kWithTracefsLine = {
    .name = "with-tracefs",
    .summary = "run trace-cmd or its like on a process",
    .synopsis = "with-tracefs [-p] PID [--] CMD [ARG...]",
    .about = R"(Runs CMD as if the tracefs of process PID were the kernel's, for programs that know
no other: trace-cmd, perf ftrace, and what is linked with libtracefs. Nothing stays
mounted. A process without the agent has it as long as CMD runs.

)",
    .options = {{std::span(&kNeededPidOption, 1)}},
    .after = R"(The exit status is that of CMD; 125 when it could not be run so.
Example: patchbay with-tracefs 1234 -- trace-cmd record -e functions sleep 1
)",
    .words = "PID CMD",
    .order = CommandLine::Words::kLast,
    .attaches = true,
};

int run_with_tracefs(int argc, char** argv) {
  int pid = 0;
  const auto take = [&pid](int, const char* value) { return take_pid(value, &pid); };
  if (const std::optional<int> ended = parse_options(kWithTracefsLine, argc, argv, take))
    return *ended;
  if (!take_pid_word(argv, argc, &pid))
    return usage_error("with-tracefs", "A process id and a command are needed.");
  char** words = argv + ::optind;
  if (*words && std::strcmp(*words, "--") == 0) words++;
  if (!*words) return usage_error("with-tracefs", "The command to run is missing.");
  Result<int> status = run_with_tree(pid, words);
  if (status.ok()) return *status;
  fail("with-tracefs", status.error());
  return kOurFailure;
}

}  // namespace patchbay::cmd
