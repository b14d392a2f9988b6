// SPDX-License-Identifier: MIT
#include "serve/client.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "serve/directory.h"

namespace patchbay::serve {
namespace {

// Reading the symbols of a large program takes seconds; longer than this, the agent hangs.
constexpr time_t kAnswerSeconds = 60;
constexpr int kHelloTries = 3;

Error no_agent(int pid, const std::string& directory) {
  std::string name = "Process " + std::to_string(pid);
  if (::kill(pid, 0) != 0 && errno == ESRCH) return user_error(ESRCH, name + " does not exist.");
  return user_error(
      ESRCH, name + " has no agent in " + directory +
                 "; start the program with `patchbay record`, or with LD_PRELOAD=libpatchbay.so"
                 " and the same PATCHBAY_DIR.");
}

// The descriptor that came with a message, if any; more than one are closed.
UniqueFd take_descriptor(msghdr* message) {
  UniqueFd result;
  for (cmsghdr* header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      result.reset(fd);
    }
  }
  return result;
}

bool is_gone(const Error& error) {
  return error.errno_value == ECONNRESET || error.errno_value == EPIPE ||
         error.errno_value == ECONNREFUSED;
}

}  // namespace

Result<std::unique_ptr<Client>> Client::connect(int pid) {
  Result<std::string> directory = runtime_directory(false);
  if (!directory.ok()) return directory.error();
  Result<std::unique_ptr<Client>> client =
      connect_directory(*directory + "/" + std::to_string(pid));
  if (client.ok()) return client;
  int error = client.error().errno_value;
  if (error == ENOENT || error == ECONNREFUSED || is_gone(client.error()))
    return no_agent(pid, *directory);
  return client;
}

Result<std::unique_ptr<Client>> Client::connect_directory(const std::string& process_directory) {
  // A program that closes all its descriptors may just have closed the agent's: it makes new ones.
  Status status;
  for (int i = 0; i < kHelloTries; i++) {
    Result<UniqueFd> fd = connect_socket(process_directory);
    std::unique_ptr<Client> client(new Client());
    if (fd.ok()) client->fd_ = std::move(*fd);
    status = fd.ok() ? client->hello() : Status(fd.error());
    if (status.ok()) return client;
    if (!is_gone(status.error())) break;
    timespec pause{0, 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return status.error();
}

Status Client::hello() {
  timeval limit{kAnswerSeconds, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  Request request{};
  request.call = uint32_t(Call::kHello);
  request.value = kProtocolVersion;
  Result<Answer> answer = call(request, "");
  if (!answer.ok()) return answer.error();
  const std::string& text = answer->text;
  size_t end = text.find('\0');
  pid_ = std::atoi(text.c_str());
  if (end != text.npos) exe_ = text.c_str() + end + 1;
  return {};
}

Result<Client::Answer> Client::call(Request request, std::string_view data) {
  if (data.size() > kMaxWrite) return user_error(EMSGSIZE, "A request is longer than one message.");
  iovec parts[2] = {{&request, sizeof request}, {const_cast<char*>(data.data()), data.size()}};
  msghdr out{};
  out.msg_iov = parts;
  out.msg_iovlen = 2;
  ssize_t sent;
  do sent = ::sendmsg(fd_.get(), &out, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent < 0) return sys_error("talk to the agent", errno);
  Answer answer;
  answer.text.resize(kMaxMessage);
  iovec in_parts[2] = {{&answer.reply, sizeof answer.reply},
                       {answer.text.data(), answer.text.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr in{};
  in.msg_iov = in_parts;
  in.msg_iovlen = 2;
  in.msg_control = control;
  in.msg_controllen = sizeof control;
  ssize_t size;
  do size = ::recvmsg(fd_.get(), &in, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) return user_error(ETIMEDOUT, "The agent does not answer.");
  if (size < 0) return sys_error("talk to the agent", errno);
  answer.descriptor = take_descriptor(&in);
  if (size == 0) return user_error(EPIPE, "The agent is gone, or does not talk to this user.");
  if (size_t(size) < sizeof answer.reply)
    return user_error(EPROTO, "The agent's answer is too short.");
  answer.text.resize(size_t(size) - sizeof answer.reply);
  if (answer.reply.error == 0) return answer;
  if (answer.text.empty()) return sys_error("the agent", answer.reply.error);
  return user_error(answer.reply.error, answer.text);
}

Result<std::vector<std::string>> Client::list(std::string_view path) {
  std::vector<std::string> names;
  for (;;) {
    Request request{};
    request.call = uint32_t(Call::kList);
    request.value = names.size();
    Result<Answer> answer = call(request, path);
    if (!answer.ok()) return answer.error();
    std::string_view rest = answer->text;
    if (rest.empty()) return names;
    while (!rest.empty()) {
      size_t end = std::min(rest.find('\n'), rest.size());
      names.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (names.size() >= answer->reply.value) return names;
  }
}

Result<uint32_t> Client::open(std::string_view path, uint32_t flags) {
  Request request{};
  request.call = uint32_t(Call::kOpen);
  request.flags = flags;
  Result<Answer> answer = call(request, path);
  if (!answer.ok()) return answer.error();
  return answer->reply.handle;
}

Result<std::string> Client::read(uint32_t handle, size_t size) {
  Request request{};
  request.call = uint32_t(Call::kRead);
  request.handle = handle;
  request.value = size;
  Result<Answer> answer = call(request, "");
  if (!answer.ok()) return answer.error();
  return std::move(answer->text);
}

Result<size_t> Client::write(uint32_t handle, std::string_view bytes) {
  Request request{};
  request.call = uint32_t(Call::kWrite);
  request.handle = handle;
  Result<Answer> answer = call(request, bytes);
  if (!answer.ok()) return answer.error();
  return size_t(std::min<uint64_t>(answer->reply.value, bytes.size()));
}

Status Client::close(uint32_t handle) {
  Request request{};
  request.call = uint32_t(Call::kClose);
  request.handle = handle;
  Result<Answer> answer = call(request, "");
  if (!answer.ok()) return answer.error();
  return {};
}

Result<std::string> Client::read_all(std::string_view path) {
  Result<uint32_t> handle = open(path, O_RDONLY);
  if (!handle.ok()) return handle.error();
  std::string text;
  for (;;) {
    Result<std::string> part = read(*handle, kMaxMessage);
    if (!part.ok()) (void)close(*handle);
    if (!part.ok()) return part.error();
    if (part->empty()) break;
    text += *part;
  }
  PB_TRY(close(*handle));
  return text;
}

Status Client::write_all(std::string_view path, std::string_view text, bool truncate) {
  Result<uint32_t> handle = open(path, O_WRONLY | (truncate ? O_TRUNC : O_APPEND));
  if (!handle.ok()) return handle.error();
  while (!text.empty()) {
    std::string_view part = text.substr(0, kMaxWrite);
    size_t newline = part.rfind('\n');
    if (part.size() < text.size() && newline != part.npos) part = part.substr(0, newline + 1);
    Result<size_t> taken = write(*handle, part);
    if (taken.ok() && *taken == 0) taken = user_error(EIO, "The agent takes no more of the text.");
    if (!taken.ok()) (void)close(*handle);
    if (!taken.ok()) return taken.error();
    text.remove_prefix(*taken);
  }
  return close(*handle);
}

Result<UniqueFd> Client::open_buffer() {
  Request request{};
  request.call = uint32_t(Call::kOpen);
  Result<Answer> answer = call(request, "buffer");
  if (!answer.ok()) return answer.error();
  if (!answer->descriptor.valid())
    return user_error(EPROTO, "The agent has not passed its buffer.");
  UniqueFd fd = std::move(answer->descriptor);
  PB_TRY(close(answer->reply.handle));
  return fd;
}

Status Client::resume() {
  Request request{};
  request.call = uint32_t(Call::kResume);
  Result<Answer> answer = call(request, "");
  if (!answer.ok()) return answer.error();
  return {};
}

}  // namespace patchbay::serve
