// SPDX-License-Identifier: MIT
#include "uprobes/kernel_tracefs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/text.h"

namespace patchbay {
namespace {

constexpr std::string_view kPrefix = "patchbay_";
constexpr int kLockTries = 1000, kLockUs = 10000;
constexpr int kRemoveTries = 1000, kRemoveUs = 10000;  // 10 s

bool is_tracefs(int fd) {
  struct statfs about = {};
  return ::fstatfs(fd, &about) == 0 && about.f_type == TRACEFS_MAGIC;
}

// Where /proc/self/mounts has one, then the usual places. A tracefs of Patchbay's own
// (with-tracefs) may lie over them, and is none of the kernel's.
std::vector<std::string> usual_places() {
  std::vector<std::string> places{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
  Result<std::string> mounts = read_file("/proc/self/mounts");
  for (const std::string& line : split_lines(mounts.ok() ? *mounts : std::string())) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() > 2 && words[2] == "tracefs") places.emplace_back(words[1]);
  }
  return places;
}

bool is_locked_down() {
  Result<std::string> text = read_file("/sys/kernel/security/lockdown");
  return text.ok() && text->find("[confidentiality]") != text->npos;
}

const char* name_of(KernelUse use) {
  return use == KernelUse::kUprobes ? "uprobes" : "kernel events";
}

Error no_rights(KernelUse use, const std::string& what, int error) {
  if (is_locked_down())
    return user_error(EPERM,
                      "the kernel is locked down (confidentiality), and lets nobody use tracefs");
  if (error == EACCES || error == EPERM)
    return user_error(error, std::string(name_of(use)) +
                                 " need root, or a user who may write the kernel's tracefs (" +
                                 what + ": " + std::strerror(error) + ")");
  return sys_error(what, error);
}

// A mount that stands nowhere.
Result<UniqueFd> mount_detached(KernelUse use) {
  // Calls of Linux 5.2, which libc has since 2.36.
  UniqueFd context(int(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context.valid() && errno == ENODEV)
    return user_error(ENODEV, "this kernel has no tracefs (CONFIG_TRACING)");
  if (!context.valid()) return no_rights(use, "mount tracefs", errno);
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return no_rights(use, "mount tracefs", errno);
  UniqueFd root(int(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
  if (!root.valid()) return no_rights(use, "mount tracefs", errno);
  return root;
}

Result<UniqueFd> find_tracefs(KernelUse use) {
  int refused = 0;
  for (const std::string& place : usual_places()) {
    UniqueFd root(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (root.valid() && is_tracefs(root.get())) return root;
    if (!root.valid() && (errno == EACCES || errno == EPERM)) refused = errno;
  }
  Result<UniqueFd> mounted = mount_detached(use);
  if (mounted.ok() || !refused) return mounted;
  return no_rights(use, "open /sys/kernel/tracing", refused);
}

// False: somebody else holds it.
bool lock(int fd, bool waits) {
  for (int i = 0; i < (waits ? kLockTries : 1); i++) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (waits) ::usleep(kLockUs);
  }
  return false;
}

}  // namespace

Result<UniqueFd> lock_instances(const TracefsDirectory& top) {
  PB_ASSIGN(UniqueFd all, top.open("instances", O_RDONLY | O_DIRECTORY));
  if (!lock(all.get(), true))
    return user_error(ETIMEDOUT,
                      "another recording's instance of the kernel's tracefs does not go");
  return all;
}

namespace {

// A reader that has not gone yet keeps an instance; a hit keeps an event.
bool remove_instance(const TracefsDirectory& top, const std::string& name) {
  (void)top.write("instances/" + name + "/events/enable", "0");
  const std::string path = "instances/" + name;
  for (int i = 0; i < kRemoveTries; i++) {
    if (::unlinkat(top.get(), path.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    ::usleep(kRemoveUs);
  }
  return false;
}

Status remove_events(const TracefsDirectory& top, const std::string& group) {
  Status last;
  for (int i = 0; i < kRemoveTries; i++) {
    Result<std::string> events = top.read("uprobe_events");
    if (!events.ok() && events.error().errno_value == ENOENT) return {};  // no uprobes
    if (!events.ok()) return events.error();
    const std::vector<std::string> removals = uprobe_removals(*events, group);
    if (removals.empty()) return {};
    if (i) ::usleep(kRemoveUs);
    for (const std::string& removal : removals)
      if (Status done = top.write("uprobe_events", removal + "\n", O_APPEND); !done.ok())
        last = done;
  }
  return last;
}

// Whether its tool lives. Nobody holds the instance of one that was killed.
bool is_held(const TracefsDirectory& top, const std::string& name) {
  Result<UniqueFd> own = top.open("instances/" + name, O_RDONLY | O_DIRECTORY);
  return !own.ok() || !lock(own->get(), false);
}

// Of all tools that live no more: their names. Its caller holds the lock of all.
std::vector<std::string> remove_leftovers(const TracefsDirectory& top, bool dry_run) {
  std::set<std::string> living, gone;
  for (const std::string& name : top.list("instances")) {
    if (!name.starts_with(kPrefix)) continue;
    const bool stays = is_held(top, name) || (!dry_run && !remove_instance(top, name));
    (stays ? living : gone).insert(name);
  }
  Result<std::string> events = top.read("uprobe_events");
  for (const std::string& line : events.ok() ? split_lines(*events) : std::vector<std::string>()) {
    const size_t colon = line.find(':'), slash = line.find('/');
    if (colon >= slash || slash == line.npos) continue;
    const std::string group = line.substr(colon + 1, slash - colon - 1);
    if (group.starts_with(kPrefix) && !living.contains(group)) gone.insert(group);
  }
  for (const std::string& group : gone)
    if (!dry_run) (void)remove_events(top, group);
  return {gone.begin(), gone.end()};
}

// The last entry of the kernel's log: its sentence, the line and the caret.
std::string last_of_error_log(const TracefsDirectory& top) {
  Result<std::string> log = top.read("error_log");
  if (!log.ok()) return "";
  const size_t last = log->rfind("\n[");
  return last == log->npos ? *log : log->substr(last + 1);
}

}  // namespace

// --- files

Result<UniqueFd> TracefsDirectory::open(const std::string& path, int flags) const {
  UniqueFd file(::openat(get(), path.c_str(), flags | O_CLOEXEC));
  if (!file.valid()) return sys_error("open tracefs/" + path, errno);
  return file;
}

Result<std::string> TracefsDirectory::read(const std::string& path) const {
  PB_ASSIGN(const UniqueFd file, open(path, O_RDONLY));
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t count = ::read(file.get(), part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return sys_error("read tracefs/" + path, errno);
    if (count == 0) return text;
    text.append(part, size_t(count));
  }
}

Status TracefsDirectory::write(const std::string& path, std::string_view text, int flags) const {
  PB_ASSIGN(const UniqueFd file, open(path, O_WRONLY | flags));
  ssize_t count;
  do count = ::write(file.get(), text.data(), text.size());
  while (count < 0 && errno == EINTR);
  if (count < 0) return sys_error("write tracefs/" + path, errno);
  return {};
}

std::vector<std::string> TracefsDirectory::list(const std::string& path) const {
  std::vector<std::string> names;
  Result<UniqueFd> fd = open(path, O_RDONLY | O_DIRECTORY);
  DIR* directory = fd.ok() ? ::fdopendir(fd->release()) : nullptr;
  while (const dirent* entry = directory ? ::readdir(directory) : nullptr)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  if (directory) ::closedir(directory);
  return names;
}

Result<TracefsDirectory> open_kernel_tracefs(KernelUse use) {
  PB_ASSIGN(UniqueFd root, find_tracefs(use));
  TracefsDirectory top(std::move(root));
  struct stat about = {};
  const bool wants_uprobes = use == KernelUse::kUprobes;
  if (wants_uprobes && ::fstatat(top.get(), "uprobe_events", &about, 0) != 0 && errno == ENOENT)
    return user_error(ENOENT, "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)");
  for (const char* name : {wants_uprobes ? "uprobe_events" : "events", "instances"}) {
    const bool is_directory = !wants_uprobes || name[0] == 'i';
    Result<UniqueFd> file = top.open(name, is_directory ? O_RDONLY : O_RDWR);
    if (!file.ok())
      return no_rights(use, "open tracefs/" + std::string(name), file.error().errno_value);
  }
  return top;
}

std::vector<std::string> remove_kernel_leftovers(bool dry_run) {
  Result<TracefsDirectory> top = open_kernel_tracefs(KernelUse::kEvents);
  if (!top.ok()) return {};
  Result<UniqueFd> all = lock_instances(*top);
  return all.ok() ? remove_leftovers(*top, dry_run) : std::vector<std::string>();
}

std::vector<std::string> uprobe_removals(std::string_view events, std::string_view group) {
  std::vector<std::string> removals;
  for (const std::string& line : split_lines(events)) {
    const size_t colon = line.find(':'), blank = line.find(' ');
    if (colon >= blank || blank == line.npos) continue;
    const std::string name = line.substr(colon + 1, blank - colon - 1);
    if (name.starts_with(group) && name.substr(group.size()).starts_with('/'))
      removals.push_back("-:" + name);
  }
  return removals;
}

// --- the instance

Result<std::unique_ptr<KernelInstance>> KernelInstance::make(KernelUse use) {
  PB_ASSIGN(TracefsDirectory top, open_kernel_tracefs(use));
  std::unique_ptr<KernelInstance> made(new KernelInstance(std::move(top)));
  PB_ASSIGN(const UniqueFd all, lock_instances(made->top_));
  (void)remove_leftovers(made->top_, false);
  const std::string name = std::string(kPrefix) + std::to_string(::getpid());
  const std::string path = "instances/" + name;
  if (::mkdirat(made->top_.get(), path.c_str(), 0700) != 0)
    return no_rights(use, "make tracefs/" + path, errno);
  made->name_ = name;
  PB_ASSIGN(made->lock_, made->top_.open(path, O_RDONLY | O_DIRECTORY));
  if (!lock(made->lock_.get(), true))
    return user_error(EBUSY, "somebody else holds tracefs/" + path);
  PB_ASSIGN(UniqueFd directory, made->top_.open(path, O_RDONLY | O_DIRECTORY));
  made->instance_ = std::make_unique<TracefsDirectory>(std::move(directory));
  PB_TRY(made->instance_->write("tracing_on", "0"));  // the kernel makes it with 1
  return made;
}

Status KernelInstance::define(const std::string& line) { return define_uprobe(top_, line); }

Status define_uprobe(const TracefsDirectory& top, const std::string& line) {
  const std::string before = last_of_error_log(top);
  Status defined = top.write("uprobe_events", line + "\n", O_APPEND);
  if (defined.ok()) return defined;
  std::string log = last_of_error_log(top);
  if (log == before) log.clear();
  return user_error(defined.error().errno_value,
                    "the kernel refuses '" + line + "': " +
                        (log.empty() ? std::strerror(defined.error().errno_value) : "\n" + log));
}

Status KernelInstance::remove() {
  if (name_.empty()) return {};
  Result<UniqueFd> all = lock_instances(top_);
  const std::string name = std::exchange(name_, "");
  lock_.reset();
  instance_.reset();
  const bool removed = remove_instance(top_, name);
  PB_TRY(remove_events(top_, name));
  if (removed) return {};
  return user_error(EBUSY, "the instance " + name +
                               " of the kernel's tracefs could not be removed; patchbay clean "
                               "tries again");
}

}  // namespace patchbay
