// SPDX-License-Identifier: MIT
#include "cmd/mount/mount_fuse.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cmd/mount/mount_operations.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kEagerTries = 50;

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

}  // namespace

UniqueFd stop_signals() {
  sigset_t stops;
  ::sigemptyset(&stops);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&stops, signal);
  ::pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  return UniqueFd(::signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
}

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
  int run_loop(int stop_fd);
};

Status FuseMount::Impl::mount() {
  // Owner, group and modes rule the access of others, as for the kernel's tracefs. Only root can
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
  if (!options.over_files) PB_TRY(check_directory(options.directory));
  std::shared_ptr<MountTarget> target;
  if (options.pid != 0) {
    PB_ASSIGN(std::unique_ptr<serve::Client> client, serve::Client::connect(options.pid));
    target = MountTarget::of_client(std::move(client));
  }
  PB_TRY(check_device(options.pid));
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  using All = MountOperations::All;
  const All all = !options.all ? All::kNo : options.all_says ? All::kYesAndSays : All::kYes;
  impl->operations = std::make_unique<MountOperations>(std::move(target), options.owner, all);
  PB_TRY(impl->mount());
  return std::unique_ptr<FuseMount>(new FuseMount(std::move(impl)));
}

// One command is several requests in a row, and a wake-up costs more than an answer. So this looks
// for the next request for a moment before it sleeps. There is one thread, so that requests are
// handled in their order (see mount_target.h). Returns 0 at the end, or the errno of the device.
int FuseMount::Impl::run_loop(int stop_fd) {
  fuse_buf buffer{};
  int idle = 0, result = 0;
  while (!fuse_session_exited(session)) {
    int size = fuse_session_receive_buf(session, &buffer);
    if (size > 0) {
      fuse_session_process_buf(session, &buffer);
      idle = 0;
    } else if (size != -EAGAIN && size != -EINTR) {
      result = -size;
      break;
    } else if (++idle < kEagerTries) {
      ::sched_yield();
    } else {
      pollfd polled[] = {{fuse_session_fd(session), POLLIN, 0}, {stop_fd, POLLIN, 0}};
      (void)::poll(polled, 2, -1);
      if (polled[1].revents) break;
      idle = 0;
    }
  }
  std::free(buffer.mem);
  return result;
}

Status FuseMount::serve(int stop_fd) {
  int device = fuse_session_fd(impl_->session);
  ::fcntl(device, F_SETFL, ::fcntl(device, F_GETFL) | O_NONBLOCK);
  impl_->operations->start();
  int error = impl_->run_loop(stop_fd);
  impl_->operations->shut_down();
  return error ? Status(sys_error("serve the mount", error)) : Status();
}

}  // namespace patchbay::cmd
