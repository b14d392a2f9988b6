// SPDX-License-Identifier: MIT
#include "cmd/record/followed.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/monotonic_clock.h"
#include "base/raw_syscall.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/descriptors.h"
#include "cmd/record/record_report.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/follow_request.h"
#include "cmd/target/running_process.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kKbOfAllCpus = 8 * 1024, kFewestKb = 256;  // of a program that is executed

uint64_t buffer_kb_for(const RecordOptions& options) {
  if (options.buffer_kb) return options.buffer_kb;
  const auto cpus = uint64_t(std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L));
  return std::max(kKbOfAllCpus / cpus, kFewestKb);
}

}  // namespace

struct FollowedPrograms::Image : RecordedPart {
  uint32_t number = 0;  // in images_
  ProgramDirectory directory;
  std::unique_ptr<serve::Client> client;  // null: it has ended
  AppliedRequest applied;
  std::set<pid_t> children;  // forked ones that have not executed anything
  bool is_held = false;      // it has not been told yet that it may go on
  bool is_early = false;     // it has said a sentence, and not yet whether it waits
  int64_t next_try = 0;      // ms
};

FollowedPrograms::FollowedPrograms(const RecordOptions& options) : options_(options) {}

Result<std::unique_ptr<FollowedPrograms>> FollowedPrograms::make(const std::string& runtime,
                                                                 const RecordOptions& options) {
  std::unique_ptr<FollowedPrograms> made(new FollowedPrograms(options));
  PB_ASSIGN(made->parts_, RecordingParts::beside(options, "--follow"));
  FollowWishes wishes = wishes_of(options.request);
  wishes.buffer_size_kb = buffer_kb_for(options);
  wishes.overwrite = options.overwrite;
  wishes.only = options.only;
  PB_ASSIGN(made->tree_, FollowTree::make(runtime, std::move(wishes)));
  return made;
}

FollowedPrograms::~FollowedPrograms() {
  for (const std::unique_ptr<Image>& image : images_)
    if (image != images_.front() || first_ended_) image->directory.remove();
}

// --- what the agents say

void FollowedPrograms::first_runs(pid_t pid, const std::string& exe,
                                  const std::vector<std::string>& words) {
  auto image = std::make_unique<Image>();
  image->part.pid = pid;
  image->part.parent = ::getpid();
  image->part.begin_ns = raw_monotonic_ns();
  image->part.exe = exe;
  image->part.words = words;
  image->directory = ProgramDirectory::find(tree_->runtime(), pid);
  raise_descriptor_limit();  // only now: the first one was not to inherit it
  keep_reserve();
  owner_[pid] = image.get();
  images_.push_back(std::move(image));
}

void FollowedPrograms::look() {
  for (FollowSaid& said : tree_->read()) take(std::move(said));
  for (Image* image : live_)
    if (image->is_held && monotonic_ms() >= image->next_try) let_go(image);
  end_those_that_ended();
  std::erase_if(live_, [](const Image* image) {
    return !image->is_held && !image->client && !image->recording;
  });
}

FollowedPrograms::Image* FollowedPrograms::owner_of(pid_t pid) const {
  const auto found = owner_.find(pid);
  return found == owner_.end() ? nullptr : found->second;
}

void FollowedPrograms::not_followed(const FollowSaid& said) {
  NotFollowed what{said.pid,      said.time_ns,      said.texts[0],
                   said.texts[1], int32_t(said.cpu), said.comm};
  const Image* owner = owner_of(said.pid);
  if (!owner) owner = owner_of(said.parent);  // the child of a vfork() is told of by nobody
  if (owner) what.part = owner->number;
  // Without an owner the number is one of another pid namespace; the rest is what no agent says.
  if (!owner || what.cpu >= ::sysconf(_SC_NPROCESSORS_CONF)) what.cpu = -1;
  not_followed_.push_back(std::move(what));
}

void FollowedPrograms::take(FollowSaid said) {
  switch (said.kind) {
    case abi::FollowKind::kForked:
      if (Image* image = owner_of(said.parent)) {
        owner_[said.pid] = image;
        if (image->client || image == images_.front().get()) image->children.insert(said.pid);
      }
      return;
    case abi::FollowKind::kNotFollowed:
      return not_followed(said);
    case abi::FollowKind::kHasNothing:
      has_nothing_++;
      return arrive(said, false);
    case abi::FollowKind::kWaits:
      return arrive(said, true);
    case abi::FollowKind::kSays:
      return hear(std::move(said));
    default:  // of a tree that follows one process
      return;
  }
}

// What the agent of a program, or of a forked child of it, could not do.
void FollowedPrograms::hear(FollowSaid said) {
  const std::string sentence = said.texts.front();
  Image* image = owner_of(said.pid);
  const bool is_new = !image || (image->part.pid == said.pid && !image->is_early &&
                                 !image->client && !image->is_held);
  if (is_new) {
    said.texts.erase(said.texts.begin());
    arrive(said, false);
    image = images_.back().get();
    image->is_early = true;
  }
  if (image->part.note.empty()) image->part.note = sentence;
}

// A program that we cannot even connect to would wait for us in vain.
void FollowedPrograms::let_go(Image* image) {
  constexpr int kPauseMs = 2000;
  if (image->client) {
    image->is_held = !image->client->resume().ok() && !image->client->gone();
  } else {
    reserve_.reset();
    Result<std::unique_ptr<serve::Client>> client =
        serve::Client::connect_directory(tree_->runtime() + "/" + std::to_string(image->part.pid));
    const bool goes = client.ok() && (*client)->resume().ok();
    image->is_held = !goes && is_alive(image->part.pid);
    client = user_error(0, "");
    keep_reserve();
  }
  image->next_try = monotonic_ms() + kPauseMs;
}

void FollowedPrograms::keep_reserve() { reserve_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

void FollowedPrograms::arrive(const FollowSaid& said, bool waits) {
  Image* before = owner_of(said.pid);
  const bool is_early = before && before->part.pid == said.pid && before->is_early;
  if (before && !is_early) {
    before->children.erase(said.pid);
    if (before->part.pid == said.pid && !before->part.end_ns) before->part.end_ns = said.time_ns;
  }
  owner_.erase(said.pid);
  if (!is_early) {
    images_.push_back(std::make_unique<Image>());
    images_.back()->number = uint32_t(images_.size() - 1);
  }
  Image* const image = is_early ? before : images_.back().get();
  image->is_early = false;
  image->part.pid = said.pid;
  image->part.parent = said.parent;
  image->part.begin_ns = said.time_ns;
  image->part.exe = said.exe();
  image->part.words = said.words();
  if (waits) {
    Status ready = is_closing_ ? Status() : set_up(image);
    if (is_closing_) image->directory = ProgramDirectory::find(tree_->runtime(), said.pid);
    if (!ready.ok()) image->part.note = ready.error().message();
    let_go(image);
    live_.push_back(image);
  }
  owner_[said.pid] = image;
}

// What the program has not, or cannot have, of the request keeps nothing else from being recorded.
Status FollowedPrograms::set_up(Image* image) {
  image->directory = ProgramDirectory::find(tree_->runtime(), image->part.pid);
  const std::string& directory = image->directory.path;
  PB_ASSIGN(image->client, serve::Client::connect_directory(directory));
  image->applied.on_missing = AppliedRequest::Missing::kAnyNamed;
  const RemarksOff quiet;
  PB_TRY(apply_request(options_.request, *image->client, &image->applied));
  Result<std::vector<RecordedBuffer>> buffers =
      open_buffers(options_.request, *image->client, directory, true);
  if (!buffers.ok()) return buffers.error();
  PB_TRY(parts_.open(image, std::move(*buffers), images_.size() - 1));
  if (!image->applied.failed.empty()) image->part.note = image->applied.failed.front();
  found_.insert(image->applied.found.begin(), image->applied.found.end());
  return {};
}

// --- while they run

unsigned FollowedPrograms::drain() {
  unsigned filled = 0;
  for (Image* image : live_)
    if (image->recording) filled = std::max(filled, image->recording->drain());
  return filled;
}

bool FollowedPrograms::has_children(Image* image) {
  std::erase_if(image->children, [this](pid_t pid) {
    if (is_alive(pid)) return false;
    owner_.erase(pid);
    return true;
  });
  return !image->children.empty();
}

void FollowedPrograms::end_those_that_ended() {
  for (Image* image : live_) {
    if (!image->client || !image->client->gone()) continue;
    if (!image->part.end_ns) image->part.end_ns = raw_monotonic_ns();
    if (!has_children(image)) end_image(image);
  }
}

void FollowedPrograms::end_image(Image* image) {
  parts_.finish(image, options_.request);
  recorded_.insert(image->recorded.begin(), image->recorded.end());
  if (image->client && !image->client->gone()) leave(image);
  image->client.reset();
  image->directory.remove();
  if (owner_of(image->part.pid) == image) owner_.erase(image->part.pid);
}

uint64_t FollowedPrograms::published() const {
  uint64_t sum = 0;
  for (const auto& image : images_) sum += image->published();
  return sum;
}

uint64_t FollowedPrograms::bytes() const {
  uint64_t sum = 0;
  for (const auto& image : images_) sum += image->bytes_spooled();
  return sum;
}

uint64_t FollowedPrograms::lost() const {
  uint64_t sum = 0;
  for (const auto& image : images_) sum += image->lost();
  return sum;
}

bool FollowedPrograms::knows_successor(pid_t pid) const {
  return std::any_of(images_.begin() + 1, images_.end(),
                     [pid](const auto& image) { return image->part.pid == pid; }) ||
         std::any_of(not_followed_.begin(), not_followed_.end(),
                     [pid](const NotFollowed& one) { return one.pid == pid; });
}

// --- the end

void FollowedPrograms::stop() {
  for (const std::unique_ptr<Image>& image : images_) {
    if (!image->client || image->client->gone()) continue;
    for (const InstanceRequest& instance : options_.request.instances())
      (void)image->client->write_all(instance.directory() + "tracing_on", "0\n", false);
  }
}

// Its places are as they were before: from now on nobody finds it by its directory.
void FollowedPrograms::leave(Image* image) {
  stop_request(image->applied, *image->client);
  for (const std::string& directory : image->applied.tracing)
    (void)image->client->write_all(directory + "current_tracer", "nop\n", true);
  go_on_++;
}

std::vector<std::string> FollowedPrograms::failures() const {
  std::vector<std::string> sentences;
  for (const std::unique_ptr<Image>& image : images_)
    if (!image->part.note.empty()) sentences.push_back(sentence_of(image->part));
  return sentences;
}

bool FollowedPrograms::has_more() const { return images_.size() > 1 || !not_followed_.empty(); }

void FollowedPrograms::close() {
  look();
  is_closing_ = true;
  tree_->close();
  look();
  stop();
  for (size_t i = 1; i < images_.size(); i++)
    if (images_[i]->client) end_image(images_[i].get());
}

// The first part is the output itself, until another file takes its place.
Result<MergeResult> FollowedPrograms::finish(const Recording& first, const std::string& moved_to) {
  Image* const top = images_.front().get();
  top->events = first.events();
  const std::string output = moved_to.empty() ? parts_.output() : moved_to;
  top->part.path = output;
  std::vector<MergedPart> parts;
  for (const std::unique_ptr<Image>& image : images_) parts.push_back(image->part);
  return parts_.merge(parts, not_followed_,
                      output + " has the first program alone, " + output +
                          ".*.part the others: `patchbay merge` makes one file of them.");
}

FollowedTotals FollowedPrograms::totals(const Recording& first) const {
  FollowedTotals totals;
  totals.has_nothing = has_nothing_;
  totals.counts = first.counts();
  totals.events = first.events();
  for (const std::unique_ptr<Image>& image : images_) {
    if (image != images_.front() && image->part.path.empty()) continue;
    totals.programs.emplace_back(base_name(image->part.exe));
    if (image == images_.front()) continue;
    totals.events += image->events;
    add_counts(image->counts, &totals.counts);
  }
  return totals;
}

}  // namespace patchbay::cmd
