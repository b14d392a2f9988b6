// SPDX-License-Identifier: MIT
//
// The tool's end of the socket (protocol.h). Errors carry the agent's own sentence. One thread at a
// time.
//
// No call waits for a process that is stopped, or in which nothing moves (peer_watch.h): after a
// second it fails with ETIMEDOUT, and says so. An agent that works is waited for. Such a client can
// be used on: calls fail at once while the process is stopped, and work again when it goes on.
//
//   call A  -> request A ... no sign of life: ETIMEDOUT; the answer to A is owed
//   call B  -> still owed: ETIMEDOUT, B is not sent
//   (the process goes on: it does A)
//   call C  -> takes the answer to A first: bytes that A has read are kept for the next read of the
//              handle, a handle that A has opened is closed. Then C is done.
//
// What changes something (write, mkdir, …) is not sent to a process that is seen to be stopped.
//
// The agent may be anybody's, and lie. What it costs us at most:
//
//   who answers     the process itself (peer.h): EPERM
//   one message     kMaxMessage; one descriptor, others are closed
//   one answer      60 s, though it shows life
//   a whole file    Most: bytes and lines (EFBIG), and 60 s; a list: kMostNames
//   until_ms()      a time that a caller gives for everything, ETIMEDOUT
//   told to end     what the tool still has to do is done: but for no longer than 700 ms of an
//                   agent that is not busy, 5 s of one that is, not at all of one that is frozen
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "serve/peer_watch.h"
#include "serve/protocol.h"
#include "tracefs/tree.h"

namespace patchbay::serve {

// Whether an error of a Client means that the agent has gone away.
bool is_gone(const Error& error);
// Whether it means that the agent has not answered.
bool is_silent(const Error& error);

// The tool is told to end when `check` says so once, or end_soon() has been called; until another
// check is set.
void set_end_check(bool (*check)());
void end_soon();

// What a file has at most.
struct Most {
  size_t bytes, lines;
};
inline constexpr Most kMostText = {16 << 20, 250'000};       // settings, formats, lists of events
inline constexpr Most kMostFunctions = {64 << 20, 1 << 20};  // one line for each function
inline constexpr Most kMostTable = {128 << 20, 2 << 20};     // of a histogram, and its stacks
inline constexpr size_t kMostNames = 250'000, kMostNameBytes = 16 << 20;  // of a directory

class Client {
 public:
  // The agent of a process, in the runtime directory (directory.h). ESRCH with what to do when the
  // process has no agent or does not exist; EPERM when another process answers in its name.
  static Result<std::unique_ptr<Client>> connect(int pid);
  // The agent whose socket is DIR/PID/ctl.sock, for `process_directory` = DIR/PID. PID may be its
  // number in a pid namespace of its own.
  // Nothing is waited for beyond `until_ms` of monotonic_ms(); 0: there is no such time.
  static Result<std::unique_ptr<Client>> connect_directory(const std::string& process_directory,
                                                           int64_t until_ms = 0);
  void until_ms(int64_t time) { until_ms_ = time; }

  int pid() const { return pid_; }    // of the directory; where that has none, as the agent says
  int peer() const { return peer_; }  // who answers, by its number here; 0: not to be seen
  const std::string& exe() const { return exe_; }
  const std::string& arrival() const { return arrival_; }  // "attached", "preloaded"
  int descriptor() const { return fd_.get(); }  // readable at end of file when the agent is gone

  // Whether the agent has gone away (the program has ended, or executed another one).
  bool gone() const;

  // Whether the last call had an answer, as far as it was waited for.
  bool answers() const { return last_sign_ == PeerWatch::Sign::kLife; }

  Result<std::vector<std::string>> list(std::string_view path);
  struct FileStatus {
    uint32_t mode = 0;  // with S_IFREG or S_IFDIR
    uint64_t size = 0;
  };
  Result<FileStatus> stat(std::string_view path);
  Status make_directory(std::string_view path);
  Status remove_directory(std::string_view path);

  Result<uint32_t> open(std::string_view path, uint32_t flags);
  // Empty at the end of the file; EAGAIN while there is nothing yet.
  Result<std::string> read(uint32_t handle, size_t size,
                           tracefs::ReadMode mode = tracefs::ReadMode::kAny);
  // Waits while there is nothing yet, asking again after 1 ms, then ever less often; also while the
  // process is stopped. The end of the file when the agent goes away. `stop` is called before each
  // wait: true ends with EINTR.
  Result<std::string> read_waiting(uint32_t handle, size_t size, const std::function<bool()>& stop);
  // At most kMaxWrite bytes. `caller`: the thread on whose behalf we call; 0: our own.
  Result<size_t> write(uint32_t handle, std::string_view bytes, uint32_t caller = 0);
  Status flush(uint32_t handle);  // close(2) of one descriptor
  Result<bool> readable(uint32_t handle);
  Result<uint64_t> poll(uint32_t handle, bool tell);  // kPoll… bits of protocol.h
  Status ioctl(uint32_t handle, uint32_t command);
  Status close(uint32_t handle);  // of a process that does not answer: later

  // What there is now: a file that would wait ends there.
  Result<std::string> read_all(std::string_view path, Most most = kMostText);
  // Open, write everything (again from where a short write ended, as a shell does), close.
  // `truncate` is the shell's `>`, else `>>`. Text longer than one message is split behind a
  // newline.
  Status write_all(std::string_view path, std::string_view text, bool truncate);
  // The buffer file of the process.
  Result<UniqueFd> open_buffer();
  // kDetach: everything is switched off, and the agent waits for what abi/attach_abi.h says, over
  // this connection, which is the caller's from now on. EBUSY: another client is there; EAGAIN:
  // something is still in use; EINVAL: it stays.
  Result<UniqueFd> detach();
  Status resume();  // lets a program that waits in the agent's constructor run

  static constexpr size_t kMaxWrite = kMaxMessage - sizeof(Request);

 private:
  struct Answer {
    Reply reply{};
    std::string text;
    UniqueFd descriptor;
  };
  // A call whose answer has not come in time.
  struct Owed {
    Call call{};
    uint32_t handle = 0;
  };
  Client() = default;
  static Status done(const Result<Answer>& answer);
  Result<Answer> call(Request request, std::string_view data);
  Result<Answer> call(Call call, uint32_t handle, uint64_t value, std::string_view data = "");
  Status send(const Request& request, std::string_view data);
  Result<Answer> receive();
  ssize_t wait_for(const std::function<ssize_t(int flags)>& attempt);
  bool is_too_long(int64_t begin_ms) const;
  bool use_up(bool is_busy, uint64_t begin_ns);
  class Parts;
  Error silence() const;
  Error no_talk(int error) const;  // 0: the other side has closed
  Status settle();
  void keep_what_came_late(const Owed& late, const Result<Answer>& answer);
  bool goes_on();
  Status write_pieces(std::string_view path, std::string_view text, uint32_t flags);
  static Result<std::unique_ptr<Client>> connect_to(const std::string& directory, bool is_itself,
                                                    int64_t until_ms);
  Status check_peer(const std::string& directory, bool is_itself);
  Status hello();

  UniqueFd fd_;
  int peer_ = 0;  // who listens there, and has to be who answers
  int64_t until_ms_ = 0;
  // What is left when the tool is told to end.
  int64_t idle_ns_ = 700'000'000, busy_ns_ = 5'000'000'000;
  std::optional<Error> refused_;  // nothing is asked any more
  std::vector<char> input_;       // the last answer
  int pid_ = 0;
  std::string exe_, arrival_;
  PeerWatch watch_;
  PeerWatch::Sign last_sign_ = PeerWatch::Sign::kLife;  // of the last wait
  std::optional<Owed> owed_;
  std::map<uint32_t, std::string> late_bytes_;  // by handle, for its next read
  std::vector<uint32_t> to_close_;
};

}  // namespace patchbay::serve
