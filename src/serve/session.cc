// SPDX-License-Identifier: MIT
#include "serve/session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "base/own_program.h"

namespace patchbay::serve {
namespace {

constexpr size_t kMaxText = kMaxMessage - sizeof(Reply);
constexpr uint32_t kKnownFlags = O_ACCMODE | O_TRUNC | O_APPEND;
constexpr const char kBufferPath[] = "buffer";

bool takes_data(Call call) {
  return call == Call::kOpen || call == Call::kWrite || call == Call::kList ||
         call == Call::kStat || call == Call::kMkdir || call == Call::kRmdir ||
         call == Call::kWriteFile;
}

// Rules that hold for every request, before anything is done.
Status check_request(const Request& request, std::string_view data) {
  if (request.call < uint32_t(Call::kHello) || request.call > uint32_t(Call::kWriteFile)) {
    return user_error(ENOSYS, "The agent does not know call " + std::to_string(request.call) +
                                  "; tool and agent are of different versions.");
  }
  if (!data.empty() && !takes_data(Call(request.call))) {
    return user_error(EINVAL, "A request that takes no data has some.");
  }
  return {};
}

Status check_path(std::string_view path) {
  if (path.size() > kMaxPath)
    return user_error(ENAMETOOLONG, "The path is longer than 4096 bytes.");
  if (path.find('\0') != path.npos)
    return user_error(EINVAL, "The path has a NUL character in it.");
  return {};
}

bool reads(uint32_t flags) { return (flags & O_ACCMODE) != O_WRONLY; }
bool writes(uint32_t flags) { return (flags & O_ACCMODE) != O_RDONLY; }

// The tree belongs to one user; what a mode forbids to its owner is forbidden to all.
// Root opens everything, as it does in the kernel; the read or write then says that it cannot be.
Status check_mode(uint32_t mode, uint32_t flags, std::string_view path) {
  if (::geteuid() == 0) return {};
  if (writes(flags) && !(mode & 0200)) {
    return user_error(EACCES, "The file '" + std::string(path) + "' cannot be written.");
  }
  if (reads(flags) && !(mode & 0400)) {
    return user_error(EACCES, "The file '" + std::string(path) + "' cannot be read.");
  }
  return {};
}

std::string encode(const Reply& reply, std::string_view text) {
  std::string message(sizeof reply, '\0');
  std::memcpy(message.data(), &reply, sizeof reply);
  message.append(text.substr(0, kMaxText));
  return message;
}

std::string encode_error(int errno_value, std::string_view sentence) {
  Reply reply{};
  reply.error = errno_value > 0 ? errno_value : EIO;
  return encode(reply, sentence);
}

}  // namespace

SessionReply Session::handle(std::string_view untrusted_message) {
  SessionReply result;
  Request request;
  if (untrusted_message.size() < sizeof request || untrusted_message.size() > kMaxMessage)
    return result;
  std::memcpy(&request, untrusted_message.data(), sizeof request);
  std::string_view data = untrusted_message.substr(sizeof request);
  // The program may not have asked for exceptions at all: none may leave the agent.
  try {
    Status status = check_request(request, data);
    Result<Answer> answer =
        status.ok() ? dispatch_noted(request, data) : Result<Answer>(status.error());
    if (answer.ok()) {
      result.message = encode(Reply{0, answer->handle, answer->value}, answer->text);
      result.descriptor = std::move(answer->descriptor);
    } else {
      result.message = encode_error(answer.error().errno_value, answer.error().message());
    }
  } catch (const std::exception&) {
    result = SessionReply{encode_error(ENOMEM, ""), UniqueFd()};
  }
  return result;
}

Session::~Session() {
  for (std::unique_ptr<Handle>& handle : handles_)
    if (handle) {
      handle->flushed = true;  // nobody closes it any more
      [[maybe_unused]] Status never_fails = close_handle(std::move(handle));
    }
}

// The request as forked children repeat it. The number of a file that it opens is filled in later.
// A close is noted where it is done.
Operation Session::operation_of(const Request& request, std::string_view data) {
  Operation made;
  made.flags = request.flags;
  made.caller = request.caller;
  made.value = request.value;
  const Call call = Call(request.call);
  if (call == Call::kOpen || call == Call::kWriteFile) {
    made.path = data.substr(0, data.find('\0'));
    if (!is_repeated(made.path, request.flags)) return made;
    made.kind = call == Call::kOpen ? OperationKind::kOpen : OperationKind::kWriteFile;
    made.data = data.substr(std::min(made.path.size() + 1, data.size()));
  } else if (call == Call::kMkdir || call == Call::kRmdir) {
    made.path = data;
    made.kind = call == Call::kMkdir ? OperationKind::kMkdir : OperationKind::kRmdir;
  } else if (call == Call::kWrite || call == Call::kFlush || call == Call::kIoctl) {
    Result<Handle*> handle = find_handle(request.handle);
    if (!handle.ok() || !(*handle)->repeated) return made;
    made.file = (*handle)->number;
    made.path = (*handle)->path;
    made.data = data;
    made.kind = call == Call::kWrite   ? OperationKind::kWrite
                : call == Call::kFlush ? OperationKind::kFlush
                                       : OperationKind::kIoctl;
  }
  return made;
}

// What failed may have changed something before: it is repeated too, and fails there as well.
Result<Session::Answer> Session::dispatch_noted(const Request& request, std::string_view data) {
  if (!has_journal()) return dispatch(request, data);
  Operation operation = operation_of(request, data);
  if (operation.kind == OperationKind::kNone) return dispatch(request, data);
  begin_notes();
  Result<Answer> answer = dispatch(request, data);
  operation.notes = end_notes();
  operation.error = answer.ok() ? 0 : answer.error().errno_value;
  if (operation.kind == OperationKind::kOpen) {
    if (!answer.ok()) return answer;
    operation.file = (*find_handle(answer->handle))->number;
  }
  hooks_.journal->append(operation);
  return answer;
}

Result<Session::Answer> Session::dispatch(const Request& request, std::string_view data) {
  switch (Call(request.call)) {
    case Call::kHello:
      return hello(request);
    case Call::kOpen:
      return open(request, data);
    case Call::kRead:
      return read(request);
    case Call::kWrite:
      return write(request, data);
    case Call::kClose:
      return close(request);
    case Call::kList:
      return list(request, data);
    case Call::kResume:
      if (hooks_.resume) hooks_.resume();
      return Answer{};
    case Call::kStat:
      return stat(data);
    case Call::kMkdir:
    case Call::kRmdir:
      return change_directory_entry(Call(request.call), data);
    case Call::kFlush:
    case Call::kPoll:
    case Call::kIoctl:
      return act_on_open(request);
    case Call::kWriteFile:
      return write_file(request, data);
    case Call::kDetach:
      break;  // the server's
  }
  return sys_error("call", ENOSYS);
}

Result<Session::Answer> Session::hello(const Request& request) {
  if (request.value != kProtocolVersion) {
    return user_error(EPROTO, "The agent speaks version " + std::to_string(kProtocolVersion) +
                                  " of the protocol, the tool version " +
                                  std::to_string(request.value) + ".");
  }
  Answer answer;
  answer.value = kProtocolVersion;
  answer.text =
      std::to_string(::getpid()) + '\0' + (hooks_.exe.empty() ? own_program() : hooks_.exe) + '\0' +
      std::to_string(::gettid()) + '\0' + (hooks_.attached ? "attached" : "preloaded") + '\0';
  return answer;
}

// Looks the file up, checks that the request may open it, and opens it. It has no handle yet.
Result<std::unique_ptr<tracefs::File>> Session::open_file(const Request& request,
                                                          std::string_view path) {
  PB_TRY(check_path(path));
  if ((request.flags & ~kKnownFlags) || (request.flags & O_ACCMODE) == O_ACCMODE) {
    return user_error(EINVAL, "The flags of an open are not known.");
  }
  PB_ASSIGN(tracefs::Node node, tracefs::lookup(root_, path));
  if (!node.file) return user_error(EISDIR, "'" + std::string(path) + "' is a directory.");
  PB_TRY(check_mode(node.file->mode(), request.flags, path));
  PB_TRY(node.file->open(request.flags));
  return std::move(node.file);
}

Result<Session::Answer> Session::open(const Request& request, std::string_view path) {
  PB_ASSIGN(uint32_t index, free_handle());
  if (path == kBufferPath && hooks_.open_buffer) return open_buffer(index);
  PB_ASSIGN(std::unique_ptr<tracefs::File> file, open_file(request, path));
  auto handle = std::make_unique<Handle>();
  handle->file = std::move(file);
  handle->flags = request.flags;
  handle->number = OpenFiles::enter(handle->file.get());
  handle->repeated = is_repeated(path, request.flags);
  if (handle->repeated) handle->path = path;
  Answer answer;
  answer.handle = take_handle(index, std::move(handle));
  return answer;
}

Result<Session::Answer> Session::open_buffer(uint32_t index) {
  PB_ASSIGN(UniqueFd fd, hooks_.open_buffer());
  Answer answer;
  answer.handle = take_handle(index, std::make_unique<Handle>());
  answer.descriptor = std::move(fd);
  return answer;
}

Result<Session::Answer> Session::read(const Request& request) {
  PB_ASSIGN(auto found, find_handle(request.handle));
  Handle& handle = *found;
  if (!handle.file || !reads(handle.flags))
    return user_error(EBADF, "The file is not open for reading.");
  if (request.flags > uint32_t(tracefs::ReadMode::kWholePage))
    return user_error(EINVAL, "The mode of a read is not known.");
  size_t wanted = size_t(std::min<uint64_t>(request.value, kMaxText));
  PB_ASSIGN(std::string text, handle.file->read_next(wanted, tracefs::ReadMode(request.flags)));
  Answer answer;
  answer.text = std::move(text);
  answer.value = answer.text.size();
  return answer;
}

Result<Session::Answer> Session::write(const Request& request, std::string_view bytes) {
  PB_ASSIGN(auto found, find_handle(request.handle));
  Handle& handle = *found;
  if (!handle.file || !writes(handle.flags))
    return user_error(EBADF, "The file is not open for writing.");
  handle.flushed = false;
  PB_ASSIGN(size_t taken, handle.file->write_as(bytes, tracefs::Caller{request.caller}));
  Answer answer;
  answer.value = std::min(taken, bytes.size());
  return answer;
}

Result<Session::Answer> Session::close(const Request& request) {
  PB_TRY(find_handle(request.handle));
  PB_TRY(close_handle(std::move(handles_[request.handle - 1])));
  return Answer{};
}

// A child has the file too if it was open when the child was forked.
Status Session::close_handle(std::unique_ptr<Handle> handle) {
  if (!handle->file) return {};
  const bool noted =
      has_journal() && (handle->repeated || handle->number < hooks_.journal->files_at_last_fork());
  Operation operation;
  operation.kind = OperationKind::kClose;
  operation.file = handle->number;
  operation.path = handle->path;
  if (noted) begin_notes();
  Status status = handle->flushed ? Status() : handle->file->flush();
  handle.reset();
  if (!noted) return status;
  operation.notes = end_notes();
  hooks_.journal->append(operation);
  return status;
}

Result<Session::Answer> Session::write_file(const Request& request, std::string_view data) {
  size_t end = data.find('\0');
  if (end == data.npos) return user_error(EINVAL, "A path does not end with a NUL character.");
  if (!writes(request.flags)) return user_error(EBADF, "The file is not open for writing.");
  PB_ASSIGN(std::unique_ptr<tracefs::File> file, open_file(request, data.substr(0, end)));
  Answer answer;
  for (std::string_view rest = data.substr(end + 1); !rest.empty();) {
    PB_ASSIGN(size_t taken, file->write_as(rest, tracefs::Caller{request.caller}));
    if (taken == 0) return user_error(EIO, "The file takes no more of the text.");
    size_t count = std::min(taken, rest.size());
    answer.value += count;
    rest.remove_prefix(count);
  }
  PB_TRY(file->flush());
  return answer;
}

Result<Session::Answer> Session::stat(std::string_view path) {
  PB_TRY(check_path(path));
  PB_ASSIGN(tracefs::Node node, tracefs::lookup(root_, path));
  uint64_t size = node.file ? node.file->size() : 0;
  Answer answer;
  answer.value = node.file ? S_IFREG | (node.file->mode() & 07777)
                           : S_IFDIR | (node.directory->mode() & 07777);
  answer.text.assign(reinterpret_cast<const char*>(&size), sizeof size);
  return answer;
}

// mkdir and rmdir: done by the directory above.
Result<Session::Answer> Session::change_directory_entry(Call call, std::string_view path) {
  PB_TRY(check_path(path));
  size_t slash = path.rfind('/');
  std::string_view above = slash == path.npos ? "" : path.substr(0, slash);
  std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..")
    return user_error(EINVAL, "'" + std::string(path) + "' does not end with a name.");
  PB_ASSIGN(tracefs::Node node, tracefs::lookup(root_, above));
  if (!node.directory)
    return user_error(ENOTDIR, "'" + std::string(above) + "' is not a directory.");
  PB_TRY(call == Call::kMkdir ? node.directory->make_directory(name)
                              : node.directory->remove_directory(name));
  return Answer{};
}

Result<Session::Answer> Session::act_on_open(const Request& request) {
  PB_ASSIGN(auto found, find_handle(request.handle));
  Handle& handle = *found;
  Answer answer;
  if (!handle.file) return user_error(EBADF, "The buffer is a descriptor, not a tracefs file.");
  if (Call(request.call) == Call::kPoll) {
    if (handle.file->readable()) answer.value |= kPollReadable;
    if (handle.file->changed(request.value != 0)) answer.value |= kPollChanged;
  } else if (Call(request.call) == Call::kIoctl) {
    PB_TRY(handle.file->ioctl(uint32_t(request.value)));
  } else {
    handle.flushed = true;
    PB_TRY(handle.file->flush());
  }
  return answer;
}

// As many whole names as one message holds, from number `value` on; the answer's value is how many
// there are.
Result<Session::Answer> Session::list(const Request& request, std::string_view path) {
  PB_TRY(check_path(path));
  PB_ASSIGN(tracefs::Node node, tracefs::lookup(root_, path));
  if (!node.directory)
    return user_error(ENOTDIR, "'" + std::string(path) + "' is not a directory.");
  std::vector<std::string> names = node.directory->list();
  Answer answer;
  answer.value = names.size();
  for (uint64_t i = request.value; i < names.size(); i++) {
    if (answer.text.size() + names[i].size() + 1 > kMaxText) break;
    answer.text += names[i] + "\n";
  }
  return answer;
}

Result<uint32_t> Session::free_handle() const {
  uint32_t index = 0;
  while (index < handles_.size() && handles_[index]) index++;
  if (index == kMaxHandles) return user_error(EMFILE, "At most 4096 files can be open at a time.");
  return index;
}

uint32_t Session::take_handle(uint32_t index, std::unique_ptr<Handle> handle) {
  if (index == handles_.size()) handles_.emplace_back();
  handles_[index] = std::move(handle);
  return index + 1;
}

Result<Session::Handle*> Session::find_handle(uint32_t handle) {
  if (handle == 0 || handle > handles_.size() || !handles_[handle - 1]) {
    return user_error(EBADF, "There is no open file " + std::to_string(handle) + ".");
  }
  return handles_[handle - 1].get();
}

}  // namespace patchbay::serve
