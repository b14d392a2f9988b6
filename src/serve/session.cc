// SPDX-License-Identifier: MIT
#include "serve/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

namespace patchbay::serve {
namespace {

constexpr size_t kMaxText = kMaxMessage - sizeof(Reply);
constexpr uint32_t kKnownFlags = O_ACCMODE | O_TRUNC | O_APPEND;
constexpr const char kBufferPath[] = "buffer";

bool takes_data(Call call) {
  return call == Call::kOpen || call == Call::kWrite || call == Call::kList;
}

// Rules that hold for every request, before anything is done.
Status check_request(const Request& request, std::string_view data) {
  if (request.call < uint32_t(Call::kHello) || request.call > uint32_t(Call::kResume)) {
    return user_error(ENOSYS, "The agent does not know call " + std::to_string(request.call) +
                                  "; tool and agent are of different versions.");
  }
  if (request.reserved != 0)
    return user_error(EINVAL, "A reserved word of the request is not zero.");
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
Status check_mode(uint32_t mode, uint32_t flags, std::string_view path) {
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

std::string own_exe() {
  char path[4096];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return std::string(path, length > 0 ? size_t(length) : 0);
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
    Result<Answer> answer = status.ok() ? dispatch(request, data) : Result<Answer>(status.error());
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
      std::to_string(::getpid()) + '\0' + (hooks_.exe.empty() ? own_exe() : hooks_.exe) + '\0';
  return answer;
}

Result<Session::Answer> Session::open(const Request& request, std::string_view path) {
  PB_TRY(check_path(path));
  if ((request.flags & ~kKnownFlags) || (request.flags & O_ACCMODE) == O_ACCMODE) {
    return user_error(EINVAL, "The flags of an open are not known.");
  }
  uint32_t number = 0;
  while (number < kMaxHandles && handles_[number]) number++;
  if (number == kMaxHandles) return user_error(EMFILE, "At most 64 files can be open at a time.");
  if (path == kBufferPath) return open_buffer(number);
  Result<tracefs::Node> node = tracefs::lookup(root_, path);
  if (!node.ok()) return node.error();
  if (!node->file) return user_error(EISDIR, "'" + std::string(path) + "' is a directory.");
  PB_TRY(check_mode(node->file->mode(), request.flags, path));
  PB_TRY(node->file->open(request.flags));
  handles_[number] = std::make_unique<Handle>();
  handles_[number]->file = std::move(node->file);
  handles_[number]->flags = request.flags;
  Answer answer;
  answer.handle = number + 1;
  return answer;
}

Result<Session::Answer> Session::open_buffer(uint32_t number) {
  if (!hooks_.open_buffer) return user_error(ENOENT, "This process has no buffer file.");
  Result<UniqueFd> fd = hooks_.open_buffer();
  if (!fd.ok()) return fd.error();
  handles_[number] = std::make_unique<Handle>();
  Answer answer;
  answer.handle = number + 1;
  answer.descriptor = std::move(*fd);
  return answer;
}

Result<Session::Answer> Session::read(const Request& request) {
  Result<Handle*> found = find_handle(request.handle);
  if (!found.ok()) return found.error();
  Handle& handle = **found;
  if (!handle.file || !reads(handle.flags))
    return user_error(EBADF, "The file is not open for reading.");
  if (!handle.snapshot) {
    Result<std::string> text = handle.file->read();
    if (!text.ok()) return text.error();
    handle.snapshot = std::move(*text);
  }
  Answer answer;
  size_t wanted = size_t(std::min<uint64_t>(request.value, kMaxText));
  answer.text = handle.snapshot->substr(handle.position, wanted);
  answer.value = answer.text.size();
  handle.position += answer.text.size();
  return answer;
}

Result<Session::Answer> Session::write(const Request& request, std::string_view bytes) {
  Result<Handle*> found = find_handle(request.handle);
  if (!found.ok()) return found.error();
  Handle& handle = **found;
  if (!handle.file || !writes(handle.flags))
    return user_error(EBADF, "The file is not open for writing.");
  Result<size_t> taken = handle.file->write(bytes);
  if (!taken.ok()) return taken.error();
  Answer answer;
  answer.value = std::min(*taken, bytes.size());
  return answer;
}

Result<Session::Answer> Session::close(const Request& request) {
  Result<Handle*> found = find_handle(request.handle);
  if (!found.ok()) return found.error();
  handles_[request.handle - 1].reset();
  return Answer{};
}

// As many whole names as one message holds, from number `value` on; the answer's value is how many
// there are.
Result<Session::Answer> Session::list(const Request& request, std::string_view path) {
  PB_TRY(check_path(path));
  Result<tracefs::Node> node = tracefs::lookup(root_, path);
  if (!node.ok()) return node.error();
  if (!node->directory)
    return user_error(ENOTDIR, "'" + std::string(path) + "' is not a directory.");
  std::vector<std::string> names = node->directory->list();
  Answer answer;
  answer.value = names.size();
  for (uint64_t i = request.value; i < names.size(); i++) {
    if (answer.text.size() + names[i].size() + 1 > kMaxText) break;
    answer.text += names[i] + "\n";
  }
  return answer;
}

Result<Session::Handle*> Session::find_handle(uint32_t handle) {
  if (handle == 0 || handle > kMaxHandles || !handles_[handle - 1]) {
    return user_error(EBADF, "There is no open file " + std::to_string(handle) + ".");
  }
  return handles_[handle - 1].get();
}

}  // namespace patchbay::serve
