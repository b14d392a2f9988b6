// SPDX-License-Identifier: MIT
#include "mount_fuse.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <thread>

#include "mount_operations.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

std::string g_fuse_message;  // what libfuse has complained about last

void keep_fuse_message(fuse_log_level, const char* format, va_list arguments) {
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  g_fuse_message = text;
  while (!g_fuse_message.empty() && g_fuse_message.back() == '\n') g_fuse_message.pop_back();
}

std::string socket_way(int pid) {
  std::string id = pid ? std::to_string(pid) : "PID";
  return " Without a mount, `patchbay ls " + id + "`, `patchbay cat " + id +
         " trace` and `patchbay write " + id + " FILE TEXT` reach the same files.";
}

Status check_device(int pid) {
  UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (device.valid()) return {};
  std::string why = errno == ENOENT
                        ? "/dev/fuse does not exist (is the kernel module fuse loaded?)."
                    : errno == EACCES || errno == EPERM
                        ? "This user may not open /dev/fuse."
                        : "/dev/fuse cannot be opened: " + std::string(::strerror(errno)) + ".";
  return user_error(errno, why + socket_way(pid));
}

Status check_directory(const std::string& path) {
  DIR* stream = ::opendir(path.c_str());
  if (!stream && errno == ENOENT) {
    return user_error(ENOENT, "The directory " + path + " does not exist; make it first.");
  }
  if (!stream && errno == ENOTDIR) return user_error(ENOTDIR, path + " is not a directory.");
  if (!stream && errno == ENOTCONN) {
    return user_error(ENOTCONN, "A mount on " + path + " has lost its server; `fusermount3 -u " +
                                    path + "` removes it.");
  }
  if (!stream) return sys_error("read " + path, errno);
  int names = 0;
  while (names < 3 && ::readdir(stream)) names++;
  ::closedir(stream);
  if (names <= 2) return {};
  return user_error(ENOTEMPTY, "The directory " + path + " is not empty.");
}

void wake_up(int) {}

// Without SA_RESTART, so that the loop's read(2) ends.
void install_wake_up() {
  struct sigaction action {};
  action.sa_handler = wake_up;
  ::sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace

struct FuseMount::Impl {
  MountOptions options;
  std::unique_ptr<MountOperations> operations;
  fuse_session* session = nullptr;
  bool mounted = false;

  ~Impl() {
    if (mounted) fuse_session_unmount(session);
    if (session) fuse_session_destroy(session);
  }
  Status mount();
};

Status FuseMount::Impl::mount() {
  // Access by others is ruled by owner, group and modes, as for the kernel's tracefs; only root can
  // offer it.
  std::string words = "fsname=patchbay,subtype=tracefs,default_permissions";
  if (::geteuid() == 0) words += ",allow_other";
  std::string program = "patchbay", option = "-o";
  char* argv[] = {program.data(), option.data(), words.data(), nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(3, argv);
  fuse_set_log_func(keep_fuse_message);
  session = fuse_session_new(&arguments, &MountOperations::table(), sizeof(fuse_lowlevel_ops),
                             operations.get());
  fuse_opt_free_args(&arguments);
  if (!session) return user_error(EINVAL, "libfuse refuses: " + g_fuse_message);
  if (fuse_session_mount(session, options.directory.c_str()) != 0) {
    return user_error(
        EPERM, "Cannot mount on " + options.directory + ": " +
                   (g_fuse_message.empty() ? "libfuse does not say why" : g_fuse_message) + "." +
                   socket_way(options.pid));
  }
  mounted = true;
  return {};
}

FuseMount::FuseMount(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FuseMount::~FuseMount() = default;

Result<std::unique_ptr<FuseMount>> FuseMount::create(const MountOptions& options) {
  PB_TRY(check_directory(options.directory));
  std::shared_ptr<MountTarget> target;
  if (options.pid != 0) {
    Result<std::unique_ptr<serve::Client>> client = serve::Client::connect(options.pid);
    if (!client.ok()) return client.error();
    target = MountTarget::of_client(std::move(*client));
  }
  PB_TRY(check_device(options.pid));
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->operations = std::make_unique<MountOperations>(std::move(target), options.owner);
  PB_TRY(impl->mount());
  return std::unique_ptr<FuseMount>(new FuseMount(std::move(impl)));
}

// Signals come to a thread that waits for them; it ends the loop, whose read(2) may just be about
// to begin, by knocking until it has ended.
Status FuseMount::serve() {
  sigset_t stops;
  ::sigemptyset(&stops);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&stops, signal);
  ::pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  install_wake_up();
  std::atomic<bool> ended{false};
  pthread_t loop = ::pthread_self();
  std::thread watch([&] {
    int signal;
    ::sigwait(&stops, &signal);
    fuse_session_exit(impl_->session);
    while (!ended) {
      ::pthread_kill(loop, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  int result = fuse_session_loop(impl_->session);
  ended = true;
  ::pthread_kill(watch.native_handle(), SIGTERM);
  watch.join();
  impl_->operations->shut_down();
  return result < 0 ? Status(sys_error("serve the mount", -result)) : Status();
}

}  // namespace patchbay::cmd
