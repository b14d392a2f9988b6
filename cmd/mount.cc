// SPDX-License-Identifier: MIT
// patchbay mount [--pid PID] DIR: the tracefs of a process, or of all, as a directory.
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>

#include "mount_fuse.h"
#include "serve/directory.h"
#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr const char kHelp[] =
    "Usage: patchbay mount [-p PID] [-o OPTION,...] [-f] DIR\n\n"
    "Shows the tracefs of a process at DIR, an empty directory; without PID, DIR has one "
    "directory\n"
    "for each process with an agent. `fusermount3 -u DIR` removes it.\n\n"
    "  -p, --pid PID     the process\n"
    "  -o uid=UID,gid=GID,mode=MODE\n"
    "                    owner and group of all files, mode of the root directory (octal)\n"
    "  -f, --foreground  stay in the foreground; Ctrl-C unmounts\n\n"
    "Example: patchbay mount -p 1234 /mnt/tracing && cat /mnt/tracing/trace\n";

template <typename Number>
bool parse_number(std::string_view text, int base, Number* value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_user(const std::string& text, uid_t* uid) {
  if (parse_number(text, 10, uid)) return true;
  const passwd* entry = ::getpwnam(text.c_str());
  if (entry) *uid = entry->pw_uid;
  return entry != nullptr;
}
bool parse_group(const std::string& text, gid_t* gid) {
  if (parse_number(text, 10, gid)) return true;
  const group* entry = ::getgrnam(text.c_str());
  if (entry) *gid = entry->gr_gid;
  return entry != nullptr;
}

// "uid=0,gid=tracing,mode=750". Empty when all is right, else the word that is not.
std::string parse_mount_options(std::string_view text, MountOwner* owner) {
  while (!text.empty()) {
    std::string word(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    size_t equal = word.find('=');
    std::string name = word.substr(0, equal);
    std::string value = equal == word.npos ? "" : word.substr(equal + 1);
    mode_t mode = 0;
    bool good = false;
    if (name == "uid") good = parse_user(value, &owner->uid);
    if (name == "gid") good = parse_group(value, &owner->gid);
    if (name == "mode") good = parse_number(value, 8, &mode) && mode <= 07777;
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
  const option long_options[] = {{"pid", required_argument, nullptr, 'p'},
                                 {"options", required_argument, nullptr, 'o'},
                                 {"foreground", no_argument, nullptr, 'f'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {}};
  options->mount.owner.uid = ::geteuid();
  options->mount.owner.gid = ::getegid();
  ::opterr = 0;
  for (int letter; (letter = ::getopt_long(argc, argv, "p:o:fh", long_options, nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), *status = kOk, false;
    if (letter == '?') return *status = bad_option("mount", argv), false;
    if (letter == 'f') options->foreground = true;
    if (letter == 'p' && !parse_pid(::optarg, &options->mount.pid))
      return *status = usage_error("mount", "-p takes a process id."), false;
    if (letter != 'o') continue;
    std::string wrong = parse_mount_options(::optarg, &options->mount.owner);
    if (!wrong.empty())
      return *status = usage_error("mount", "-o takes uid=, gid= and mode=, not '" + wrong + "'."),
             false;
  }
  if (argc - ::optind == 2) (void)take_pid_word(argv, argc, &options->mount.pid);
  if (argc - ::optind != 1)
    return *status = usage_error("mount", "One directory is needed."), false;
  options->mount.directory = argv[::optind];
  return true;
}

// The daemon changes its directory: what was given as a relative path must not depend on it.
void make_paths_absolute(Options* options) {
  char path[PATH_MAX];
  if (::realpath(options->mount.directory.c_str(), path)) options->mount.directory = path;
  Result<std::string> runtime = serve::runtime_directory(false);
  if (runtime.ok()) ::setenv("PATCHBAY_DIR", runtime->c_str(), 1);
}

// A daemon keeps nothing of the shell that has started it: who reads the other end of an inherited
// pipe would never see its end. Called before we open anything.
void close_inherited_descriptors() {
  if (::close_range(3, ~0u, 0) == 0) return;
  for (int fd = 3; fd < 65536; fd++) ::close(fd);  // old kernels
}

}  // namespace

int run_mount(int argc, char** argv) {
  Options options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  make_paths_absolute(&options);
  if (!options.foreground) close_inherited_descriptors();
  Result<std::unique_ptr<FuseMount>> mount = FuseMount::create(options.mount);
  if (!mount.ok()) return fail("mount", mount.error());
  // The parent's process ends here; the mount is ready: requests wait for serve().
  if (!options.foreground && fuse_daemonize(0) != 0)
    return fail("mount", sys_error("become a daemon", errno));
  UniqueFd stop = stop_signals();
  Status served = (*mount)->serve(stop.get());
  return served.ok() ? kOk : fail("mount", served.error());
}

}  // namespace patchbay::cmd
