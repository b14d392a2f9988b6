// SPDX-License-Identifier: MIT
#include "cmd/mount/mount_operations.h"

#include <fcntl.h>
#include <string.h>

#include <algorithm>
#include <cerrno>

#include "cmd/common/commands.h"

namespace patchbay::cmd {
namespace {

constexpr uint32_t kForwardedFlags = O_ACCMODE | O_TRUNC | O_APPEND;
constexpr uint64_t kUnknownInode = 0xffffffff;  // in a directory's listing, as libfuse has it

constexpr double kKeepSeconds = 1;

// Not the root of a process: that may go.
bool always_exists(std::string_view path) {
  bool is_fixed =
      path.find('/') == path.npos || path.starts_with("per_cpu/") || path.starts_with("options/");
  return is_fixed && !path.empty() && !is_pages_file(path);
}

struct OpenDirectory {
  std::shared_ptr<MountTarget> target;
  std::string path;
  std::vector<std::string> names;
};

MountNode child_of(const MountNode& above, const char* name) {
  MountNode child;
  child.target = above.target;
  child.path = above.path.empty() ? name : above.path + "/" + name;
  return child;
}

// "all/trace" -> "trace".
std::string path_in_all(const MountNode& node) {
  return node.path == kAllName ? "" : node.path.substr(kAllName.size() + 1);
}

const std::shared_ptr<OpenFile>& open_file(const fuse_file_info* info) {
  return *reinterpret_cast<std::shared_ptr<OpenFile>*>(info->fh);
}
OpenDirectory* open_directory(const fuse_file_info* info) {
  return reinterpret_cast<OpenDirectory*>(info->fh);
}

// 0 or the errno of a call that needs the process.
int status_errno(serve::Client* client, const Status& status) {
  if (!client) return ENODEV;
  return status.ok() ? 0 : mount_errno(status.error());
}

}  // namespace

// --- what the requests share

MountOperations::MountOperations(std::shared_ptr<MountTarget> target, const MountOwner& owner,
                                 All all)
    : nodes_(MountNode{target, "", S_IFDIR | 0700, 0}),
      attributes_(owner),
      only_(std::move(target)) {
  if (all != All::kNo) all_ = std::make_unique<MountAll>(&processes_, all == All::kYesAndSays);
}

void MountOperations::start() {
  if (all_) all_->start();
}

MountOperations& MountOperations::of(fuse_req_t request) {
  return *static_cast<MountOperations*>(fuse_req_userdata(request));
}

// Copies the node. False after an answer.
bool MountOperations::node(fuse_req_t request, fuse_ino_t inode, MountNode* out) {
  std::lock_guard held(mutex_);
  const MountNode* found = nodes_.find(inode);
  if (!found) return fuse_reply_err(request, ESTALE), false;
  *out = *found;
  return true;
}

// Asks what the path is. The kernel may keep what never changes: the attributes, which only this
// mount changes, and the existence of the fixed files of the top instance. Files of events and
// instances come and go.
void MountOperations::reply_entry(serve::Client* client, fuse_req_t request, MountNode node) {
  Result<serve::Client::FileStatus> status = sys_error("stat", node.target->absence());
  if (client) status = client->stat(node.path);
  reply_node(request, std::move(node), status);
}

void MountOperations::reply_node(fuse_req_t request, MountNode node,
                                 const Result<serve::Client::FileStatus>& status) {
  if (!status.ok()) return (void)fuse_reply_err(request, mount_errno(status.error()));
  node.mode = status.value().mode;
  node.size = status.value().size;
  fuse_entry_param entry{};
  {
    std::lock_guard held(mutex_);
    entry.ino = nodes_.refer(node);
    entry.attr = attributes_.attributes(entry.ino, node);
  }
  entry.attr_timeout = kKeepSeconds;
  entry.entry_timeout = always_exists(node.path) ? kKeepSeconds : 0;
  if (fuse_reply_entry(request, &entry) == 0) return;
  std::lock_guard held(mutex_);
  nodes_.forget(entry.ino, 1);
}

void MountOperations::reply_attributes(fuse_req_t request, fuse_ino_t inode,
                                       const MountNode& node) {
  struct stat result;
  {
    std::lock_guard held(mutex_);
    result = attributes_.attributes(inode, node);
  }
  fuse_reply_attr(request, &result, kKeepSeconds);
}

void MountOperations::reply_opened(fuse_req_t request, fuse_file_info info,
                                   std::shared_ptr<OpenFile> file) {
  info.fh = reinterpret_cast<uint64_t>(new std::shared_ptr<OpenFile>(file));
  info.direct_io = 1;
  info.nonseekable = file->is_stream;
  if (fuse_reply_open(request, &info) == 0) return;
  // The caller was interrupted.
  delete reinterpret_cast<std::shared_ptr<OpenFile>*>(info.fh);
  if (file->all) all_->release(file->all);
}

void MountOperations::forget_directory(const MountNode& directory) {
  std::lock_guard held(mutex_);
  attributes_.removed(directory);
  nodes_.removed(directory);
}

void MountOperations::shut_down() {
  if (all_) all_->shut_down();
  if (only_) only_->shut_down();
  processes_.shut_down();
}

// --- the requests

// One message of the socket holds so much. The kernel splits a longer read or write.
constexpr unsigned kMaxFuseWrite = 128 * 1024;
static_assert(kMaxFuseWrite <= serve::Client::kMaxWrite);

struct MountOperations::Entry {
  static void init(void*, fuse_conn_info* connection) {
    connection->max_readahead = 0;  // splice(2) must not take more than it was asked for
    connection->max_write = kMaxFuseWrite;
    connection->want |= connection->capable & FUSE_CAP_ATOMIC_O_TRUNC;
    connection->want &= ~unsigned(FUSE_CAP_ASYNC_READ | FUSE_CAP_READDIRPLUS);
  }

  static void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
    MountOperations& mount = of(request);
    MountNode above;
    if (!mount.node(request, parent, &above)) return;
    MountNode child = child_of(above, name);
    if (mount.is_in_all(above) || (mount.all_ && !above.target && name == kAllName)) {
      return mount.all_->stat(path_in_all(child), [&mount, request, child](auto status) {
        mount.reply_node(request, child, status);
      });
    }
    if (!above.target) {
      int pid = 0;
      child.path = "";
      if (parse_pid(name, &pid)) child.target = mount.processes_.find(pid);
      if (!child.target) return (void)fuse_reply_err(request, ENOENT);
    }
    child.target->run([&mount, request, child](serve::Client* client) {
      mount.reply_entry(client, request, child);
    });
  }

  static void forget(fuse_req_t request, fuse_ino_t inode, uint64_t count) {
    {
      MountOperations& mount = of(request);
      std::lock_guard held(mount.mutex_);
      mount.nodes_.forget(inode, count);
    }
    fuse_reply_none(request);
  }

  static void getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
    MountOperations& mount = of(request);
    MountNode node;
    if (!mount.node(request, inode, &node)) return;
    // An open file may have been removed; the root is there without its process.
    if (info || node.path.empty()) return mount.reply_attributes(request, inode, node);
    if (mount.is_in_all(node)) {
      return mount.all_->stat(path_in_all(node),
                              [&mount, request, inode, node](auto status) mutable {
                                if (!status.ok())
                                  return (void)fuse_reply_err(request, mount_errno(status.error()));
                                node.mode = status->mode;
                                node.size = status->size;
                                mount.reply_attributes(request, inode, node);
                              });
    }
    node.target->run([&mount, request, inode, node](serve::Client* client) mutable {
      Result<serve::Client::FileStatus> status = sys_error("stat", node.target->absence());
      if (client) status = client->stat(node.path);
      if (!status.ok()) return (void)fuse_reply_err(request, mount_errno(status.error()));
      node.mode = status->mode;
      node.size = status->size;
      mount.reply_attributes(request, inode, node);
    });
  }

  // truncate(2) is accepted and does nothing: the open has done already what `>` does.
  static void setattr(fuse_req_t request, fuse_ino_t inode, struct stat* to, int which,
                      fuse_file_info*) {
    MountOperations& mount = of(request);
    MountNode node;
    if (!mount.node(request, inode, &node)) return;
    {
      std::lock_guard held(mount.mutex_);
      mount.attributes_.set(node, *to, which);
    }
    mount.reply_attributes(request, inode, node);
  }

  static void open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
    MountOperations& mount = of(request);
    MountNode node;
    if (!mount.node(request, inode, &node)) return;
    if (mount.is_in_all(node)) return open_in_all(request, node, *info);
    if (!node.target) return (void)fuse_reply_err(request, EISDIR);
    node.target->run([request, node, info = *info](serve::Client* client) mutable {
      auto file = std::make_shared<OpenFile>();
      file->target = node.target;
      file->path = node.path;
      file->flags = uint32_t(info.flags);
      file->is_pages = is_pages_file(node.path);
      file->is_stream = is_stream_file(node.path);
      Result<uint32_t> handle = sys_error("open", node.target->absence());
      if (client) handle = client->open(node.path, uint32_t(info.flags) & kForwardedFlags);
      if (!handle.ok()) return (void)fuse_reply_err(request, mount_errno(handle.error()));
      file->handle = *handle;
      info.fh = reinterpret_cast<uint64_t>(new std::shared_ptr<OpenFile>(file));
      info.direct_io = 1;
      info.nonseekable = file->is_stream;
      if (fuse_reply_open(request, &info) == 0) return;
      (void)client->close(file->handle);  // the caller was interrupted
      delete reinterpret_cast<std::shared_ptr<OpenFile>*>(info.fh);
    });
  }

  static void open_in_all(fuse_req_t request, const MountNode& node, fuse_file_info info) {
    MountOperations& mount = of(request);
    const std::string path = path_in_all(node);
    mount.all_->open(path, uint32_t(info.flags), [&mount, request, path, info](auto opened) {
      if (!opened.ok()) return (void)fuse_reply_err(request, mount_errno(opened.error()));
      auto file = std::make_shared<OpenFile>();
      file->all = *opened;
      file->path = path;
      file->flags = uint32_t(info.flags);
      file->is_stream = is_stream_file(path);
      mount.reply_opened(request, info, std::move(file));
    });
  }

  // Page-cache requests, those of splice(2), carry no lock owner; read(2) does.
  static void read(fuse_req_t request, fuse_ino_t, size_t size, off_t offset,
                   fuse_file_info* info) {
    ReadRequest read;
    read.request = request;
    read.file = open_file(info);
    read.size = size;
    read.offset = uint64_t(offset);
    read.is_splice = read.file->is_pages && info->lock_owner == 0;
    read.nonblocking = info->flags & O_NONBLOCK;
    if (read.file->all) return of(request).all_->read(read.file->all, read);
    MountTarget& target = *read.file->target;
    target.run([&target, read](serve::Client* client) { target.read(client, read); });
  }

  static void write(fuse_req_t request, fuse_ino_t, const char* bytes, size_t size, off_t,
                    fuse_file_info* info) {
    uint32_t caller = uint32_t(fuse_req_ctx(request)->pid);
    if (const std::shared_ptr<AllFile>& all = open_file(info)->all) {
      return of(request).all_->write(all, std::string(bytes, size), caller, [request](auto taken) {
        if (taken.ok())
          fuse_reply_write(request, *taken);
        else
          fuse_reply_err(request, mount_errno(taken.error()));
      });
    }
    open_file(info)->target->run([request, file = open_file(info), caller,
                                  text = std::string(bytes, size)](serve::Client* client) {
      Result<size_t> taken = sys_error("write", ENODEV);
      if (client) taken = client->write(file->handle, text, caller);
      if (taken.ok())
        fuse_reply_write(request, *taken);
      else
        fuse_reply_err(request, mount_errno(taken.error()));
    });
  }

  // close(2). It does not complain about a process that is gone: its reader ends cleanly. It does
  // not complain about a stopped process either: nothing can have been written there.
  static void flush(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
    if (const std::shared_ptr<AllFile>& all = open_file(info)->all) {
      return of(request).all_->flush(all, [request](Status flushed) {
        fuse_reply_err(request, flushed.ok() ? 0 : mount_errno(flushed.error()));
      });
    }
    open_file(info)->target->run([request, file = open_file(info)](serve::Client* client) {
      int error = client ? status_errno(client, client->flush(file->handle)) : 0;
      const bool only_read = (file->flags & O_ACCMODE) == O_RDONLY;
      if (error == ENODEV && client->gone()) error = 0;
      if (error == ETIMEDOUT && only_read) error = 0;
      fuse_reply_err(request, error);
    });
  }

  static void release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
    auto* owner = reinterpret_cast<std::shared_ptr<OpenFile>*>(info->fh);
    std::shared_ptr<OpenFile> file = std::move(*owner);
    delete owner;
    if (file->all) {
      of(request).all_->release(file->all);
      return (void)fuse_reply_err(request, 0);
    }
    file->target->run([request, file](serve::Client* client) {
      file->target->forget_polls(file.get());
      if (client) (void)client->close(file->handle);
      fuse_reply_err(request, 0);
    });
  }

  static void mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t) {
    MountOperations& mount = of(request);
    MountNode above;
    if (!mount.node(request, parent, &above)) return;
    MountNode child = child_of(above, name);
    if (mount.is_in_all(above)) {
      return mount.all_->make_directory(path_in_all(child), [&mount, request, child](Status made) {
        if (!made.ok()) return (void)fuse_reply_err(request, mount_errno(made.error()));
        mount.reply_node(request, child, serve::Client::FileStatus{S_IFDIR | 0750, 0});
      });
    }
    if (!above.target) return (void)fuse_reply_err(request, EPERM);
    above.target->run([&mount, request, above, child](serve::Client* client) {
      Status made = client ? client->make_directory(child.path) : Status();
      if (int error = status_errno(client, made)) return (void)fuse_reply_err(request, error);
      {
        std::lock_guard held(mount.mutex_);
        mount.attributes_.made(above, child);
      }
      mount.reply_entry(client, request, child);
    });
  }

  static void rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) {
    MountOperations& mount = of(request);
    MountNode above;
    if (!mount.node(request, parent, &above)) return;
    MountNode child = child_of(above, name);
    if (mount.is_in_all(above)) {
      return mount.all_->remove_directory(
          path_in_all(child), [&mount, request, child](Status gone) {
            if (!gone.ok()) return (void)fuse_reply_err(request, mount_errno(gone.error()));
            mount.forget_directory(child);
            fuse_reply_err(request, 0);
          });
    }
    if (!above.target) return (void)fuse_reply_err(request, EPERM);
    above.target->run([&mount, request, child](serve::Client* client) {
      Status removed = client ? client->remove_directory(child.path) : Status();
      int error = status_errno(client, removed);
      if (error == 0) mount.forget_directory(child);
      fuse_reply_err(request, error);
    });
  }

  static void opendir(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
    MountOperations& mount = of(request);
    MountNode node;
    if (!mount.node(request, inode, &node)) return;
    auto reply = [request, node, info = *info](Result<std::vector<std::string>> names) mutable {
      if (!names.ok()) return (void)fuse_reply_err(request, mount_errno(names.error()));
      auto* directory = new OpenDirectory{node.target, node.path, std::move(*names)};
      info.fh = reinterpret_cast<uint64_t>(directory);
      if (fuse_reply_open(request, &info) != 0) delete directory;
    };
    if (mount.is_in_all(node)) return mount.all_->list(path_in_all(node), reply);
    if (!node.target) {
      std::vector<std::string> names = mount.processes_.names();
      if (mount.all_) names.push_back(std::string(kAllName) + "/");
      return reply(std::move(names));
    }
    node.target->run([node, reply](serve::Client* client) mutable {
      if (!client) return reply(sys_error("list", node.target->absence()));
      reply(client->list(node.path));
    });
  }

  static void readdir(fuse_req_t request, fuse_ino_t, size_t size, off_t offset,
                      fuse_file_info* info) {
    const std::vector<std::string>& names = open_directory(info)->names;
    std::string buffer(size, '\0');
    size_t used = 0;
    for (size_t i = size_t(offset); i < names.size() + 2; i++) {
      std::string name = i == 0 ? "./" : i == 1 ? "../" : names[i - 2];
      struct stat attributes {};
      attributes.st_ino = kUnknownInode;
      attributes.st_mode = name.ends_with('/') ? S_IFDIR : S_IFREG;
      if (name.ends_with('/')) name.pop_back();
      size_t need = fuse_add_direntry(request, buffer.data() + used, size - used, name.c_str(),
                                      &attributes, off_t(i + 1));
      if (need > size - used) break;
      used += need;
    }
    fuse_reply_buf(request, buffer.data(), used);
  }

  static void releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
    delete open_directory(info);
    fuse_reply_err(request, 0);
  }

  static void poll(fuse_req_t request, fuse_ino_t, fuse_file_info* info, fuse_pollhandle* handle) {
    const std::shared_ptr<OpenFile>& file = open_file(info);
    const unsigned wanted = info->poll_events;
    if (file->all) return of(request).all_->poll(file->all, request, {handle, wanted});
    file->target->run([request, file, handle, wanted](serve::Client* client) {
      file->target->poll(client, request, file, {handle, wanted});
    });
  }

  static void ioctl(fuse_req_t request, fuse_ino_t, unsigned command, void*, fuse_file_info* info,
                    unsigned, const void*, size_t, size_t) {
    if (open_file(info)->all) return (void)fuse_reply_err(request, ENOTTY);
    open_file(info)->target->run([request, file = open_file(info), command](serve::Client* client) {
      Status done = client ? client->ioctl(file->handle, command) : Status();
      if (int error = status_errno(client, done))
        fuse_reply_err(request, error);
      else
        fuse_reply_ioctl(request, 0, nullptr, 0);
    });
  }

  // tracefs refuses these operations: new files with EACCES, all else with EPERM.
  static void create(fuse_req_t request, fuse_ino_t, const char*, mode_t, fuse_file_info*) {
    fuse_reply_err(request, EACCES);
  }
  static void mknod(fuse_req_t request, fuse_ino_t, const char*, mode_t, dev_t) {
    fuse_reply_err(request, EACCES);
  }
  static void unlink(fuse_req_t request, fuse_ino_t, const char*) {
    fuse_reply_err(request, EPERM);
  }
  static void symlink(fuse_req_t request, const char*, fuse_ino_t, const char*) {
    fuse_reply_err(request, EPERM);
  }
  static void rename(fuse_req_t request, fuse_ino_t, const char*, fuse_ino_t, const char*,
                     unsigned) {
    fuse_reply_err(request, EPERM);
  }
  static void link(fuse_req_t request, fuse_ino_t, fuse_ino_t, const char*) {
    fuse_reply_err(request, EPERM);
  }
};

const fuse_lowlevel_ops& MountOperations::table() {
  static const fuse_lowlevel_ops operations = [] {
    fuse_lowlevel_ops table{};
    table.init = Entry::init;
    table.lookup = Entry::lookup;
    table.forget = Entry::forget;
    table.getattr = Entry::getattr;
    table.setattr = Entry::setattr;
    table.open = Entry::open;
    table.read = Entry::read;
    table.write = Entry::write;
    table.flush = Entry::flush;
    table.release = Entry::release;
    table.opendir = Entry::opendir;
    table.readdir = Entry::readdir;
    table.releasedir = Entry::releasedir;
    table.mkdir = Entry::mkdir;
    table.rmdir = Entry::rmdir;
    table.poll = Entry::poll;
    table.ioctl = Entry::ioctl;
    table.create = Entry::create;
    table.mknod = Entry::mknod;
    table.unlink = Entry::unlink;
    table.symlink = Entry::symlink;
    table.rename = Entry::rename;
    table.link = Entry::link;
    return table;
  }();
  return operations;
}

}  // namespace patchbay::cmd
