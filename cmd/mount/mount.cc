// SPDX-License-Identifier: MIT
// patchbay mount [-p PID] DIR: the tracefs of a process, or of all, as a directory.
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "base/text.h"
#include "cmd/common/descriptors.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/mount/mount_fuse.h"
#include "cmd/target/attachment.h"
#include "cmd/target/process_word.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kOwner = kFirstOptionId, kForeground = kFirstOptionId + 1, kAll = kFirstOptionId + 2;
constexpr Option kOptions[] = {
    {.letter = 'p',
     .name = "pid",
     .argument = "PID",
     .help = "names the process; without it DIR has one directory for each process with an agent",
     .more = "A process without an agent gets it until the directory is unmounted."},
    {.name = "all",
     .help = "adds the directory all, whose files are those of every process",
     .more = "A write there goes to all processes, and to those that come later.",
     .id = kAll},
    {.name = "options",
     .argument = "uid=UID,gid=GID,mode=MODE",
     .help = "sets owner and group of all files, and the mode of the root directory (octal)",
     .more = "Owner and group are a number or a name; the mode is 0700 without it. For root other "
             "users' access is decided by these.",
     .id = kOwner},
    {.name = "foreground", .help = "stays in the foreground; Ctrl-C unmounts", .id = kForeground},
    {.letter = 'o', .argument = "OPTIONS", .id = kOwner, .kind = Option::Kind::kOldSpelling},
    {.letter = 'f', .id = kForeground, .kind = Option::Kind::kOldSpelling},
};

bool parse_user(const std::string& text, uid_t* uid) {
  if (to_number(text, uid)) return true;
  const passwd* entry = ::getpwnam(text.c_str());
  if (entry) *uid = entry->pw_uid;
  return entry != nullptr;
}
bool parse_group(const std::string& text, gid_t* gid) {
  if (to_number(text, gid)) return true;
  const group* entry = ::getgrnam(text.c_str());
  if (entry) *gid = entry->gr_gid;
  return entry != nullptr;
}

// "uid=0,gid=tracing,mode=750". Empty when all is right, else the word that is not.
std::string parse_mount_options(std::string_view text, MountOwner* owner) {
  while (!text.empty()) {
    std::string word(cut_at(&text, ','));
    size_t equal = word.find('=');
    std::string name = word.substr(0, equal);
    std::string value = equal == word.npos ? "" : word.substr(equal + 1);
    mode_t mode = 0;
    bool good = false;
    if (name == "uid") good = parse_user(value, &owner->uid);
    if (name == "gid") good = parse_group(value, &owner->gid);
    if (name == "mode") good = to_number(value, &mode, 8) && mode <= 07777;
    if (!good) return word;
    if (name == "mode") owner->root_mode = mode;
  }
  return "";
}

struct Options {
  MountOptions mount;
  bool foreground = false;
};

bool parse_command_line(int argc, char** argv, Options* options, int* status) {
  options->mount.owner.uid = ::geteuid();
  options->mount.owner.gid = ::getegid();
  std::string wrong;
  const auto take = [&](int id, const char* value) -> const char* {
    if (id == 'p') return take_pid(value, &options->mount.pid);
    if (id == kAll) return options->mount.all = true, nullptr;
    if (id == kForeground) return options->foreground = true, nullptr;
    wrong = parse_mount_options(value, &options->mount.owner);
    if (wrong.empty()) return nullptr;
    wrong = "--options takes uid=, gid= and mode=, not '" + wrong + "'.";
    return wrong.c_str();
  };
  if (const std::optional<int> ended = parse_options(kMountLine, argc, argv, take))
    return *status = *ended, false;
  if (argc - ::optind == 2) (void)take_pid_word(argv, argc, &options->mount.pid);
  if (argc - ::optind != 1)
    return *status = usage_error("mount", "One directory is needed."), false;
  if (options->mount.all && options->mount.pid != 0)
    return *status = usage_error("mount", "--all is for a mount without -p."), false;
  options->mount.directory = argv[::optind];
  options->mount.all_says = options->foreground;
  return true;
}

// The daemon changes its directory. A relative path must mean the same afterwards.
void make_paths_absolute(Options* options) {
  char path[PATH_MAX];
  if (::realpath(options->mount.directory.c_str(), path)) options->mount.directory = path;
  Result<std::string> runtime = serve::runtime_directory(false);
  if (runtime.ok()) ::setenv("PATCHBAY_DIR", runtime->c_str(), 1);
}

// A daemon keeps nothing of the shell that has started it. Otherwise the reader of an inherited
// pipe would never see its end. This is called before we open anything.
void close_inherited_descriptors() {
  if (::syscall(SYS_close_range, 3u, ~0u, 0u) == 0) return;
  for (int fd = 3; fd < 65536; fd++) ::close(fd);  // old kernels
}

}  // namespace

constexpr CommandLine kMountLine = {
    .name = "mount",
    .summary = "show the tracefs of a process, or of all, as a directory",
    .synopsis = "mount [-p PID | --all] [--options OPTION,...] [--foreground] DIR",
    .about = R"(Shows the tracefs of a process at DIR, an empty directory; without PID, DIR has one
directory for each process with an agent. `fusermount3 -u DIR` removes it. A process
without the agent has it as long as it is mounted. With --all there is DIR/all, too: what
is written to its files goes to all processes, and to those that come later; a read shows
what they have as one text.

)",
    .options = {kOptions},
    .after = R"(-o and -f are understood, too, as every FUSE mount has them.
Example: patchbay mount -p 1234 /mnt/tracing && cat /mnt/tracing/trace
         patchbay mount --all /mnt/t && echo 1 > /mnt/t/all/events/functions/enable
)",
    .words = "DIR",
    .attaches = true,
};

int run_mount(int argc, char** argv) {
  Options options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  make_paths_absolute(&options);
  if (!options.foreground) close_inherited_descriptors();
  if (options.mount.pid == 0) raise_descriptor_limit();
  const UniqueFd stop = stop_signals();
  Attachment attachment;  // of the daemon: the process that has put the agent in may end before
  std::unique_ptr<serve::Client> client;
  if (options.mount.pid != 0) {
    Result<std::unique_ptr<serve::Client>> found = attach_if_needed(options.mount.pid, &attachment);
    if (!found.ok()) return fail("mount", found.error());
    client = std::move(*found);
  }
  Result<std::unique_ptr<FuseMount>> mount = FuseMount::create(options.mount);
  if (!mount.ok()) return fail("mount", mount.error());
  client.reset();  // the mount has connections of its own: nobody takes the agent out from here on
  // The parent process ends here. The mount is ready: requests wait for serve().
  if (!options.foreground && fuse_daemonize(0) != 0)
    return fail("mount", sys_error("become a daemon", errno));
  attachment.deliver_signals();
  Status served = (*mount)->serve(stop.get());
  return served.ok() ? kOk : fail("mount", served.error());
}

}  // namespace patchbay::cmd
