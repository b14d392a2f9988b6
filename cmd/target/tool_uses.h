// SPDX-License-Identifier: MIT
//
// What commands of the tool have put into a running process, and which of them still need it. So
// several commands at once share what is equal, the last one takes it away, and the next command
// finds what a killed one has left.
//
//   DIR/PID/uses.lock   flock()ed while one command sets up or takes back: they do it in turn
//   DIR/PID/uses.N      one command's, flock()ed as long as it lives; a line for each thing:
//                         instance NAME          it was made
//                         function NAME ID       an event of function_events
//                         event SYSTEM/NAME ID   a line of dynamic_events
//                         trigger PATH TEXT      of an instance of its own
//                         file PATH TEXT         a setting, and the text it had before
//
//   begin()   lock; files that nobody holds: taken back, unless a living command has the same
//   ready()   unlock: everything is set up
//   release() lock; each of ours that no other file names is taken back; our file goes; unlock
//
// A thing that somebody uses by hand meanwhile (EBUSY) stays. So does an event whose number has
// changed: somebody has defined it anew. A process that does not answer keeps all, and our file
// stays behind for a command that comes when the process goes on. Where the directory belongs to
// another user (root looks at a user's process) there are no files, and each thing is ours alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "serve/client.h"

namespace patchbay::cmd {

struct ToolUse {
  enum class Kind : uint8_t { kInstance, kFunction, kEvent, kTrigger, kFile };
  Kind kind = Kind::kFile;
  std::string name, text;

  bool is_event() const { return kind == Kind::kFunction || kind == Kind::kEvent; }
  bool is_same(const ToolUse& other) const { return kind == other.kind && name == other.name; }
  // A line of a file, without its newline. False: it is none.
  std::string line() const;
  static bool parse(std::string_view untrusted_line, ToolUse* use);
};

class ToolUses {
 public:
  static constexpr int kMostWaitMs = 20'000;
  // ETIMEDOUT: another command has kept the process to itself for `wait_ms`. EINTR: this one is
  // told to end meanwhile.
  static Result<std::unique_ptr<ToolUses>> begin(serve::Client& client,
                                                 const std::string& process_directory,
                                                 int wait_ms = kMostWaitMs);
  ~ToolUses() { release(); }
  ToolUses(const ToolUses&) = delete;

  // An instance for this command alone. Its name.
  Result<std::string> make_instance();
  // What this command has made, or needs. Without a text, an event gets its number.
  void add(ToolUse::Kind kind, const std::string& name, const std::string& text = "");
  // A living command has made it: it is used by us, too. False: it is not a command's.
  bool share(ToolUse::Kind kind, const std::string& name);
  bool is_others(ToolUse::Kind kind, const std::string& name) const;
  bool is_in_own_instance(std::string_view path) const;  // it goes with the instance
  // To be called before a setting is changed. The setting gets `text`, its present value, back at
  // the end; or, when others have changed it already, the value that they have found.
  void keep_file(const std::string& path, const std::string& text);

  void ready() { lock_.reset(); }
  Status look_again();  // what the others need by now; until ready() it stays so
  void release();
  void stay();  // what was set up stays for good

 private:
  ToolUses(serve::Client& client, std::string directory)
      : client_(client), directory_(std::move(directory)) {}
  enum class Wait : bool { kToTheEnd, kUntilInterrupted };
  Status lock(int wait_ms = kMostWaitMs, Wait wait = Wait::kToTheEnd);
  void open_own();
  void read_others();
  void take_back(const std::vector<ToolUse>& uses);
  void take_back(const ToolUse& use);
  std::string id_of(const ToolUse& event);  // "": it is not there
  const ToolUse* find_other(ToolUse::Kind kind, const std::string& name) const;

  serve::Client& client_;
  const std::string directory_;
  UniqueFd lock_, own_;
  std::string own_path_;
  std::vector<ToolUse> uses_;    // ours, in the order they were made
  std::vector<ToolUse> others_;  // of living commands, as of the last look
  bool has_ended_ = false;
};

}  // namespace patchbay::cmd
