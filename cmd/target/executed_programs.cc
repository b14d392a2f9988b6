// SPDX-License-Identifier: MIT
#include "cmd/target/executed_programs.h"

#include <utility>

#include "attach/proc_text.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMostSentences = 8;
constexpr int kMostDepth = 64;  // of children of children

}  // namespace

Result<std::unique_ptr<ExecutedPrograms>> ExecutedPrograms::make(const std::string& runtime,
                                                                 FollowWishes wishes) {
  std::unique_ptr<ExecutedPrograms> made(new ExecutedPrograms());
  PB_ASSIGN(made->tree_, FollowTree::make(runtime, std::move(wishes)));
  return made;
}

// The process has ended, or goes on without us: then the directory that it has now is its own.
ExecutedPrograms::~ExecutedPrograms() {
  for (const Left& one : left_) one.directory.remove();
}

void ExecutedPrograms::first_waits(pid_t pid) {
  pid_ = pid;
  add_directory(ProgramDirectory::find(tree_->runtime(), pid));
  tree_->follow_only(pid);
}

// A process may execute many programs: what earlier ones have left goes.
void ExecutedPrograms::add_directory(const ProgramDirectory& directory) {
  std::erase_if(left_, [&](const Left& one) {
    if (is_written(one.buffer)) return false;
    one.directory.remove();
    return true;
  });
  left_.push_back({directory, mapped_buffer(directory.path)});
}

void ExecutedPrograms::look(ExecListener& listener, bool is_over) {
  for (FollowSaid& said : tree_->read()) hear(said, listener);
  // A program without an agent says nothing when it is there.
  if (next_.empty() || reason_.empty() || !(is_over || listener.current_is_gone())) return;
  listener.executed({std::exchange(next_, ""), nullptr, "", std::exchange(reason_, "")});
}

void ExecutedPrograms::hear(FollowSaid& said, ExecListener& listener) {
  if (said.kind == abi::FollowKind::kForked) return (void)children_.insert(said.pid);
  if (said.pid != pid_) return let_others_go(said);
  switch (said.kind) {
    case abi::FollowKind::kExecutes:
      next_ = said.texts[0];
      reason_.clear();
      if (!is_closed_) listener.before_exec();
      return tree_->saw(said.ticket);
    case abi::FollowKind::kNotFollowed:
      next_ = said.texts[0];
      reason_ = said.texts[1];
      return;
    case abi::FollowKind::kStays:
      next_.clear();
      return listener.stays();
    case abi::FollowKind::kSays:
      // Of a program that is not there yet: it runs without us, or is about to say more.
      if (!next_.empty()) next_ = said.texts[1], reason_ = said.texts[0];
      if (next_.empty() && sentences_.size() < kMostSentences)
        sentences_.push_back(std::string(base_name(said.texts[1])) + ": " + said.texts[0]);
      return;
    default:
      return arrive(said, listener);
  }
}

void ExecutedPrograms::arrive(const FollowSaid& said, ExecListener& listener) {
  next_.clear();
  reason_.clear();
  ExecutedProgram program{said.exe(), nullptr, "", ""};
  if (said.kind == abi::FollowKind::kHasNothing) return listener.executed(std::move(program));
  const ProgramDirectory directory = ProgramDirectory::find(tree_->runtime(), said.pid);
  program.directory = directory.path;
  auto client = serve::Client::connect_directory(directory.path);
  if (!client.ok()) {
    program.reason = client.error().message();
    return listener.executed(std::move(program));
  }
  add_directory(directory);
  if (is_closed_) return (void)(*client)->resume();
  program.client = std::move(*client);
  serve::Client& waiting = *program.client;
  listener.executed(std::move(program));
  (void)waiting.resume();
}

// A child that has slipped through, as its parent did not find FollowSlots.
void ExecutedPrograms::let_others_go(const FollowSaid& said) const {
  if (said.kind != abi::FollowKind::kWaits) return;
  const ProgramDirectory directory = ProgramDirectory::find(tree_->runtime(), said.pid);
  auto client = serve::Client::connect_directory(directory.path);
  if (client.ok()) (void)(*client)->resume();
}

void ExecutedPrograms::close() {
  is_closed_ = true;
  tree_->close();
}

// One that was forked a moment ago may not have said so yet.
void ExecutedPrograms::add_children_of(pid_t pid, int depth) {
  if (depth == kMostDepth) return;
  for (const pid_t tid : attach::tasks_of(pid))
    for (const pid_t child : attach::children_of(pid, tid)) {
      children_.insert(child);
      add_children_of(child, depth + 1);
    }
}

bool ExecutedPrograms::is_written(const MappedBuffer& buffer) {
  add_children_of(pid_, 0);
  bool is_written = false;
  std::erase_if(children_, [&](pid_t pid) {
    Result<std::string> maps = read_file("/proc/" + std::to_string(pid) + "/maps");
    if (!maps.ok()) return true;
    for (const std::string& line : split_lines(*maps)) is_written |= buffer.is_in(line);
    return false;
  });
  return is_written;
}

}  // namespace patchbay::cmd
