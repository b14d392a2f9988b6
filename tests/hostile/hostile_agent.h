// SPDX-License-Identifier: MIT
//
// A model of an agent that wants to harm who talks with it: random, endless, late, contradictory
// and malformed answers, by a seed. What it does is decided by numbers alone, so a seed that has
// found something finds it again.
//
//   right     of none of it
//   mixed     of each of the below something; most answers are right, so that a command goes on
//   flood     every file and every list is without end, in the longest messages
//   lines     the same, of empty lines and one-letter names
//   dribble   without end too, a byte at a time, and each a few milliseconds late
//   again     there is never anything yet
//   mute      says who it is, and nothing more
//   deaf      says not even that
//   spin      the same, while it uses a processor
//
// Used by src/serve/client_bounds_test.cc and cmd/serve/collector_test.cc, and by the program
// tests/programs/hostile_agent.cc.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../../src/abi/table_abi.h"
#include "../../src/serve/protocol.h"

namespace hostile {

inline constexpr const char* kManners[] = {"right", "mixed", "flood", "lines", "dribble",
                                           "again", "mute",  "deaf",  "spin"};

class Agent {
 public:
  using Call = patchbay::serve::Call;

  Agent(uint64_t seed, std::string manner) : random_(seed + 1), manner_(std::move(manner)) {}
  ~Agent() {
    for (const Connection& one : connections_) ::close(one.fd);
    if (listener_ >= 0) ::close(listener_);
    if (buffer_ >= 0) ::close(buffer_);
  }
  Agent(const Agent&) = delete;

  void buffer_is(const char* path) { buffer_ = ::open(path, O_RDWR | O_CLOEXEC); }

  // At DIRECTORY/ctl.sock.
  bool listen(const std::string& directory) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory + "/ctl.sock";
    if (path.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return listener_ >= 0 &&
           ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
           ::chmod(path.c_str(), 0600) == 0 && ::listen(listener_, 64) == 0;
  }

  // For ever where `stop` is null: it sleeps then, when there is nothing to do.
  void run(const std::atomic<bool>* stop) {
    while (!stop || !stop->load()) {
      std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
      for (const Connection& one : connections_) polled.push_back({one.fd, POLLIN, 0});
      const bool has_late = std::any_of(connections_.begin(), connections_.end(),
                                        [](const Connection& one) { return !one.late.empty(); });
      if (::poll(polled.data(), polled.size(), has_late ? 5 : stop ? 10 : -1) <= 0) send_late();
      for (size_t i = polled.size(); i-- > 1;)
        if (polled[i].revents && !serve(connections_[i - 1])) {
          ::close(connections_[i - 1].fd);
          connections_.erase(connections_.begin() + long(i - 1));
        }
      if (polled[0].revents) accept();
    }
  }

 private:
  struct Connection {
    int fd = -1;
    std::vector<std::string> late;  // answers that wait
    std::map<uint32_t, std::string> paths;
    std::map<uint32_t, unsigned> reads;
  };
  struct Answer {
    patchbay::serve::Reply reply{};
    std::string text;
    int descriptor = -1;
    ~Answer() {
      if (descriptor >= 0) ::close(descriptor);
    }
  };

  uint64_t random() {  // splitmix64
    uint64_t z = random_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t end) { return random() % end; }
  bool is(const char* manner) const { return manner_ == manner; }

  void accept() {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int size = 1 << 20;
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    connections_.push_back({});
    connections_.back().fd = fd;
  }

  std::string noise(size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = char(random());
    return bytes;
  }
  static std::string repeated(std::string_view line, size_t size) {
    std::string text;
    while (text.size() + line.size() <= size) text += line;
    return text;
  }

  // Of src/abi/table_abi.h: { n: 1 } hitcount: 3.
  static std::string right_histogram() {
    std::string body;
    const auto put = [&](std::initializer_list<int> numbers) {
      for (const int one : numbers) patchbay::abi::put_table_number(&body, uint64_t(one));
    };
    const auto put_column = [&](const char* name) {
      put({1, 0, 0, 8, 0});  // one column: its form, flags, size and buckets
      patchbay::abi::put_table_text(&body, name);
      patchbay::abi::put_table_text(&body, "");
    };
    patchbay::abi::put_table_text(&body, "hist:keys=n:vals=hitcount:sort=hitcount:size=2048");
    put({0});
    put_column("n");
    put_column("hitcount");
    put({0, 0, 0, 0});     // tracks, saved, sorts, names
    put({1, 1, 1, 3, 0});  // one row: its key of one byte, hits, nothing tracked
    put({0, 3, 0});
    return patchbay::abi::table_image(patchbay::abi::kHistMagic, body);
  }

  // What an honest agent would say, roughly.
  std::string right_text(const std::string& path) {
    const auto has = [&](const char* word) { return path.find(word) != path.npos; };
    if (has("available_events")) return "libc:malloc\nevil:hit\nevil:other\n";
    if (has("functions") || has("function_kinds"))
      return "malloc [libc.so.6] jump\nhit [evil] jump\n";
    if (has("/format"))
      return "name: hit\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;"
             "\tsigned:0;\n\tfield:int n;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"%d\", "
             "REC->n\n";
    if (has("/id")) return "7\n";
    if (has("trigger"))
      return "evil:hit   hist:keys=n:vals=hitcount:sort=hitcount:size=2048 [active]\n";
    if (has("/hist_image")) return right_histogram();
    if (has("/profile_image"))
      return patchbay::abi::table_image(patchbay::abi::kProfileMagic, std::string(1, '\0'));
    if (has("tracer")) return "nop function function_graph\n";
    if (has("stats")) return "entries: 1\noverrun: 0\n";
    return below(2) ? "0\n" : "1\n";
  }

  void answer_rightly(Connection& to, const patchbay::serve::Request& request,
                      const std::string& data, Answer* answer) {
    switch (Call(request.call)) {
      case Call::kHello: {
        const std::string pid = std::to_string(::getpid());
        answer->reply.value = patchbay::serve::kProtocolVersion;
        answer->text = pid + '\0' + "/bin/evil" + '\0' + std::to_string(::syscall(SYS_gettid)) +
                       '\0' + "attached" + '\0';
        break;
      }
      case Call::kOpen:
        answer->reply.handle = ++handles_;
        to.paths[answer->reply.handle] = data;
        if (data == "buffer" && buffer_ >= 0) answer->descriptor = ::dup(buffer_);
        break;
      case Call::kRead:
        if (to.reads[request.handle]++ == 0) answer->text = right_text(to.paths[request.handle]);
        break;
      case Call::kWrite:
      case Call::kWriteFile:
        answer->reply.value = data.size();
        break;
      case Call::kList:
        if (request.value == 0) answer->text = "evil/\nhit/\nenable\n";
        answer->reply.value = 3;
        break;
      case Call::kStat:
        answer->reply.value = S_IFREG | 0644;
        answer->text.assign(8, '\x07');
        break;
      default:
        break;
    }
  }

  int some_descriptor() {
    switch (below(4)) {
      case 0: {
        const int file = ::memfd_create("evil", MFD_CLOEXEC);
        const std::string bytes = noise(4096);
        if (::write(file, bytes.data(), bytes.size()) < 0) return file;
        return file;
      }
      case 1:
        return ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
      case 2:
        return ::open("/", O_RDONLY | O_CLOEXEC);
      default:
        return ::open("/dev/null", O_RDWR | O_CLOEXEC);
    }
  }

  // One of all wrongs.
  void make_wrong(Answer* answer) {
    constexpr size_t kMost = patchbay::serve::kMaxMessage - sizeof(patchbay::serve::Reply);
    switch (below(10)) {
      case 0:
        answer->text = noise(below(300));
        break;
      case 1:
        answer->text = noise(below(kMost));
        break;
      case 2:
        answer->reply.error = int32_t(below(200));
        answer->text = "\033]0;owned\007\033[31mno\r\nnot\b\b" + noise(below(40));
        break;
      case 3:
        answer->reply.error = int32_t(random());
        break;
      case 4:
        answer->reply.value = random();
        answer->reply.handle = uint32_t(random());
        break;
      case 5:
        answer->reply.value = ~uint64_t{0};
        answer->text = repeated("../../etc/\n", below(kMost));
        break;
      case 6:
        answer->text = repeated("\n", below(kMost));
        break;
      case 7:
        if (answer->descriptor < 0) answer->descriptor = some_descriptor();
        break;
      case 8:
        answer->reply.error = EAGAIN;
        break;
      default:
        answer->text = "";
        break;
    }
  }

  void make_endless(const patchbay::serve::Request& request, std::string_view line, size_t size,
                    Answer* answer) {
    if (Call(request.call) != Call::kRead && Call(request.call) != Call::kList) return;
    answer->text = repeated(line, size);
    answer->reply.value = ~uint64_t{0};
  }

  static std::string bytes_of(const Answer& answer) {
    return std::string(reinterpret_cast<const char*>(&answer.reply), sizeof answer.reply) +
           answer.text;
  }

  void send(const Connection& to, const std::string& bytes, int descriptor) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
      const int passed[3] = {descriptor, descriptor, descriptor};
      const size_t count = is("mixed") ? 1 + below(3) : 1;
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(count * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(count * sizeof(int));
      std::memcpy(CMSG_DATA(header), passed, count * sizeof(int));
    }
    (void)::sendmsg(to.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void send_late() {
    for (Connection& one : connections_) {
      for (const std::string& bytes : one.late) send(one, bytes, -1);
      one.late.clear();
    }
  }

  void use_a_processor() {
    for (pollfd none{-1, 0, 0}; ::poll(&none, 1, 0) == 0;) {
      std::vector<pollfd> polled;
      for (const Connection& one : connections_) polled.push_back({one.fd, 0, 0});
      for (int i = 0; i < 1'000'000; i++) (void)random();
      (void)::poll(polled.data(), polled.size(), 0);
      if (std::any_of(polled.begin(), polled.end(),
                      [](const pollfd& one) { return one.revents != 0; }))
        return;
    }
  }

  bool serve(Connection& to) {
    std::string bytes(patchbay::serve::kMaxMessage, '\0');
    const ssize_t size = ::recv(to.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size <= 0) return false;
    patchbay::serve::Request request{};
    std::memcpy(&request, bytes.data(), std::min(size_t(size), sizeof request));
    const std::string data =
        bytes.substr(sizeof request, size_t(size) - std::min(size_t(size), sizeof request));
    const bool is_hello = Call(request.call) == Call::kHello;
    if (is("deaf") || (is("mute") && !is_hello)) return true;
    if (is("spin") && !is_hello) return use_a_processor(), true;
    Answer answer;
    answer_rightly(to, request, data, &answer);
    constexpr size_t kLongest = 131'000;
    if (is("flood"))
      make_endless(request, "evil:function_of_the_program [evil]\n", kLongest, &answer);
    if (is("lines")) make_endless(request, "\n", kLongest, &answer);
    if (is("again") && Call(request.call) == Call::kRead) answer.reply.error = EAGAIN;
    if (is("dribble")) {
      make_endless(request, "\n", 1, &answer);
      to.late.push_back(bytes_of(answer));
      return true;
    }
    if (!is("mixed") || is_hello) return send(to, bytes_of(answer), answer.descriptor), true;
    return serve_mixed(to, request, &answer);
  }

  bool serve_mixed(Connection& to, const patchbay::serve::Request& request, Answer* answer) {
    const uint64_t turn = below(100);
    if (turn < 25) make_wrong(answer);
    if (turn == 25) make_endless(request, "evil\n", 131'000, answer);
    const std::string bytes = bytes_of(*answer);
    if (turn == 26) return false;         // hangs up
    if (turn == 27) return true;          // says nothing
    if (turn == 28) send(to, bytes, -1);  // twice
    if (turn == 29) return send(to, bytes.substr(0, below(sizeof answer->reply)), -1), true;
    if (turn == 30) return send(to, bytes + noise(2 * patchbay::serve::kMaxMessage), -1), true;
    if (turn < 35) return to.late.push_back(bytes), true;
    send(to, bytes, answer->descriptor);
    return true;
  }

  uint64_t random_;
  const std::string manner_;
  int listener_ = -1, buffer_ = -1;
  uint32_t handles_ = 0;
  std::vector<Connection> connections_;
};

// One in a process of its own, at RUNTIME/PID, until this object ends.
class Process {
 public:
  Process(const std::string& runtime, uint64_t seed, const char* manner) {
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::prctl(PR_SET_NAME, "patchbay");
      Agent agent(seed, manner);
      directory_ = runtime + "/" + std::to_string(::getpid());
      ::mkdir(directory_.c_str(), 0700);
      if (!agent.listen(directory_)) ::_exit(1);
      ::close(ready[1]);
      agent.run(nullptr);
    }
    directory_ = runtime + "/" + std::to_string(pid_);
    ::close(ready[1]);
    char byte;
    (void)!::read(ready[0], &byte, 1);
    ::close(ready[0]);
  }
  ~Process() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  pid_t pid() const { return pid_; }
  const std::string& directory() const { return directory_; }

 private:
  pid_t pid_ = -1;
  std::string directory_;
};

}  // namespace hostile
