// SPDX-License-Identifier: MIT
#include "cmd/record/followed.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/monotonic_clock.h"
#include "base/raw_syscall.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/descriptors.h"
#include "cmd/record/follow_request.h"
#include "cmd/record/record_report.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/leftovers.h"
#include "serve/held_directory.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kKbOfAllCpus = 8 * 1024, kFewestKb = 256;  // of a program that is executed
constexpr int kMostEarlier = 1000;                            // DIR/PID.1 … (serve/directory.cc)

uint64_t buffer_kb_for(const RecordOptions& options) {
  if (options.buffer_kb) return options.buffer_kb;
  const auto cpus = uint64_t(std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L));
  return std::max(kKbOfAllCpus / cpus, kFewestKb);
}

Status write_file(const std::string& path, const std::string& text) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid() || ::write(fd.get(), text.data(), text.size()) != ssize_t(text.size()))
    return sys_error("write " + path, errno);
  return {};
}

// The texts behind a record, each with its NUL.
std::vector<std::string> texts_in(std::string_view bytes) {
  std::vector<std::string> texts;
  while (!bytes.empty()) texts.emplace_back(cut_at(&bytes, '\0'));
  return texts;
}

// DIR/tree-PID, new. A tool that has our number in another container may have that name.
Result<std::string> make_tree(const std::string& runtime) {
  const std::string path = runtime + "/" + abi::kFollowPrefix + std::to_string(::getpid());
  remove_stale_trees(runtime, false);
  for (int n = 0; n <= kMostEarlier; n++) {
    const std::string one = n == 0 ? path : path + "." + std::to_string(n);
    if (::mkdir(one.c_str(), 0700) == 0) return one;
    if (errno != EEXIST) return sys_error("make " + one, errno);
  }
  return user_error(EEXIST, "There are too many directories " + path + ".N: remove some.");
}

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

}  // namespace

struct FollowedPrograms::Image : RecordedPart {
  uint32_t number = 0;  // in images_
  dev_t device = 0;     // of its directory
  ino_t inode = 0;
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
  made->runtime_ = runtime;
  PB_ASSIGN(made->parts_, RecordingParts::beside(options, "--follow"));
  PB_ASSIGN(made->directory_, make_tree(runtime));
  const std::string& directory = made->directory_;
  FollowWishes wishes = wishes_of(options.request);
  wishes.buffer_size_kb = buffer_kb_for(options);
  wishes.overwrite = options.overwrite;
  wishes.only = options.only;
  struct stat status;
  if (::stat("/proc/self/ns/pid", &status) == 0) wishes.pid_namespace = status.st_ino;
  PB_TRY(write_file(directory + "/" + abi::kFollowWanted, text_of(wishes)));
  const std::string log = directory + "/" + abi::kFollowLog;
  made->log_.reset(::open(log.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made->log_.valid()) return sys_error("write " + log, errno);
  if (::flock(made->log_.get(), LOCK_EX | LOCK_NB) != 0) return sys_error("lock " + log, errno);
  PB_TRY(write_file(directory + "/" + abi::kFollowSlots, std::string(sizeof(abi::FollowSlots), 0)));
  UniqueFd slots(::open((directory + "/" + abi::kFollowSlots).c_str(), O_RDWR | O_CLOEXEC));
  void* const at =
      ::mmap(nullptr, sizeof(abi::FollowSlots), PROT_READ | PROT_WRITE, MAP_SHARED, slots.get(), 0);
  if (at == MAP_FAILED) return sys_error("map " + directory + "/" + abi::kFollowSlots, errno);
  made->slots_ = Mapping(at, sizeof(abi::FollowSlots));
  made->watch_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!made->watch_.valid() || ::inotify_add_watch(made->watch_.get(), log.c_str(), IN_MODIFY) < 0)
    return sys_error("watch " + log, errno);
  return made;
}

FollowedPrograms::~FollowedPrograms() {
  for (const std::unique_ptr<Image>& image : images_)
    if (image != images_.front() || first_ended_) remove_directory(*image);
  remove_early_directories();
  if (auto* slots = reinterpret_cast<abi::FollowSlots*>(slots_.data()))
    __atomic_store_n(&slots->is_over, 1, __ATOMIC_RELEASE);
  log_.reset();  // whoever executes something from here on does so without us
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

void FollowedPrograms::find_directory(Image* image) const {
  struct stat status;
  if (::stat((runtime_ + "/" + std::to_string(image->part.pid)).c_str(), &status) != 0) return;
  image->device = status.st_dev;
  image->inode = status.st_ino;
}

// What the process has executed before was moved to DIR/PID.N, or is moved at this moment: its
// successor has a directory of the same name then.
void FollowedPrograms::remove_directory(const Image& image) const {
  if (image.inode == 0) return;
  const std::string path = runtime_ + "/" + std::to_string(image.part.pid);
  for (int n = 0; n <= kMostEarlier; n++) {
    const std::string one = n == 0 ? path : path + "." + std::to_string(n);
    serve::HeldDirectory held = serve::HeldDirectory::open(one);
    if (!held.is_held() && n > 0) return;
    if (held.is(image.device, image.inode)) return held.remove();
  }
}

// Of programs that were killed before they have said that they wait.
void FollowedPrograms::remove_early_directories() const {
  std::error_code error;
  std::vector<std::filesystem::path> early;
  for (const auto& entry : std::filesystem::directory_iterator(runtime_, error)) {
    const int pid = std::atoi(entry.path().filename().c_str());
    const bool is_before = entry.path().has_extension();  // PID.N, of a program before this one
    if (pid <= 0 || (is_alive(pid) && !is_before)) continue;
    // Who was killed, or executed another program, as soon as it had its directory.
    if (::rmdir(entry.path().c_str()) == 0) continue;
    const auto tree = std::filesystem::read_symlink(entry.path() / abi::kFollowTree, error);
    if (!error && tree == directory_ && !is_alive(pid)) early.push_back(entry.path());
  }
  for (const auto& path : early) std::filesystem::remove_all(path, error);
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
  find_directory(image.get());
  raise_descriptor_limit();  // only now: the first one was not to inherit it
  keep_reserve();
  owner_[pid] = image.get();
  images_.push_back(std::move(image));
}

void FollowedPrograms::look() {
  char events[4096];
  while (::read(watch_.get(), events, sizeof events) > 0) {
  }
  char bytes[65536];
  for (ssize_t count; (count = ::read(log_.get(), bytes, sizeof bytes)) > 0;)
    unread_.append(bytes, size_t(count)), consumed_ += count;
  forget_consumed();
  size_t at = 0;
  for (abi::FollowRecord record; unread_.size() - at >= sizeof record; at += record.size) {
    std::memcpy(&record, unread_.data() + at, sizeof record);
    const bool is_whole = record.size >= sizeof record && record.size <= abi::kMostFollowRecord;
    if (!is_whole) {  // no agent writes such a one
      unread_.clear();
      return;
    }
    if (unread_.size() - at < record.size) break;
    take(record, texts_in(std::string_view(unread_).substr(at + sizeof record,
                                                           record.size - sizeof record)));
  }
  unread_.erase(0, at);
  take_slots();
  for (Image* image : live_)
    if (image->is_held && monotonic_ms() >= image->next_try) let_go(image);
  end_those_that_ended();
  std::erase_if(live_, [](const Image* image) {
    return !image->is_held && !image->client && !image->recording;
  });
}

// The log may lie in memory, and a recording last for days.
void FollowedPrograms::forget_consumed() {
  constexpr off_t kEnough = 1 << 20;
  if (consumed_ - forgotten_ < kEnough) return;
  (void)::fallocate(log_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, forgotten_,
                    consumed_ - forgotten_);
  forgotten_ = consumed_;
}

void FollowedPrograms::take_slots() {
  const auto* slots = reinterpret_cast<const abi::FollowSlots*>(slots_.data());
  const uint32_t taken = __atomic_load_n(&slots->taken, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < std::min(taken, abi::kMostFollowSlots); i++) {
    const abi::FollowSlot& slot = slots->slot[i];
    if (!__atomic_load_n(&slot.is_written, __ATOMIC_ACQUIRE) || !slots_taken_.insert(i).second)
      continue;
    const auto text = [](const char* at, size_t size) {
      return std::string(at, ::strnlen(at, size));
    };
    not_followed(slot.parent, {slot.pid, slot.time_ns, text(slot.path, sizeof slot.path),
                               text(slot.reason, sizeof slot.reason), int32_t(slot.cpu),
                               text(slot.comm, sizeof slot.comm)});
  }
}

uint64_t FollowedPrograms::unnamed() const {
  const auto* slots = reinterpret_cast<const abi::FollowSlots*>(slots_.data());
  const uint32_t taken = __atomic_load_n(&slots->taken, __ATOMIC_RELAXED);
  return taken - slots_taken_.size();
}

FollowedPrograms::Image* FollowedPrograms::owner_of(pid_t pid) const {
  const auto found = owner_.find(pid);
  return found == owner_.end() ? nullptr : found->second;
}

void FollowedPrograms::not_followed(pid_t parent, NotFollowed what) {
  const Image* owner = owner_of(what.pid);
  if (!owner) owner = owner_of(parent);  // the child of a vfork() is told of by nobody
  if (owner) what.part = owner->number;
  // Without an owner the number is one of another pid namespace; the rest is what no agent says.
  if (!owner || what.cpu >= ::sysconf(_SC_NPROCESSORS_CONF)) what.cpu = -1;
  not_followed_.push_back(std::move(what));
}

void FollowedPrograms::take(const abi::FollowRecord& record, std::vector<std::string> texts) {
  switch (record.kind) {
    case abi::FollowKind::kForked:
      if (Image* image = owner_of(record.parent)) {
        owner_[record.pid] = image;
        if (image->client || image == images_.front().get()) image->children.insert(record.pid);
      }
      return;
    case abi::FollowKind::kNotFollowed:
      texts.resize(2);
      return not_followed(record.parent,
                          {record.pid, record.time_ns, texts[0], texts[1], int32_t(record.cpu),
                           std::string(record.comm, ::strnlen(record.comm, sizeof record.comm))});
    case abi::FollowKind::kHasNothing:
      has_nothing_++;
      return arrive(record, std::move(texts), false);
    case abi::FollowKind::kWaits:
      return arrive(record, std::move(texts), true);
    case abi::FollowKind::kSays:
      return hear(record, std::move(texts));
  }
}

// What the agent of a program, or of a forked child of it, could not do.
void FollowedPrograms::hear(const abi::FollowRecord& record, std::vector<std::string> texts) {
  if (texts.empty()) return;
  const std::string sentence = texts.front();
  Image* image = owner_of(record.pid);
  const bool is_new = !image || (image->part.pid == record.pid && !image->is_early &&
                                 !image->client && !image->is_held);
  if (is_new) {
    texts.erase(texts.begin());
    arrive(record, std::move(texts), false);
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
        serve::Client::connect_directory(runtime_ + "/" + std::to_string(image->part.pid));
    const bool goes = client.ok() && (*client)->resume().ok();
    image->is_held = !goes && is_alive(image->part.pid);
    client = user_error(0, "");
    keep_reserve();
  }
  image->next_try = monotonic_ms() + kPauseMs;
}

void FollowedPrograms::keep_reserve() { reserve_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

void FollowedPrograms::arrive(const abi::FollowRecord& record, std::vector<std::string> texts,
                              bool waits) {
  Image* before = owner_of(record.pid);
  const bool is_early = before && before->part.pid == record.pid && before->is_early;
  if (before && !is_early) {
    before->children.erase(record.pid);
    if (before->part.pid == record.pid && !before->part.end_ns)
      before->part.end_ns = record.time_ns;
  }
  owner_.erase(record.pid);
  if (!is_early) {
    images_.push_back(std::make_unique<Image>());
    images_.back()->number = uint32_t(images_.size() - 1);
  }
  Image* const image = is_early ? before : images_.back().get();
  image->is_early = false;
  image->part.pid = record.pid;
  image->part.parent = record.parent;
  image->part.begin_ns = record.time_ns;
  if (!texts.empty()) image->part.exe = texts[0];
  if (!texts.empty()) image->part.words.assign(texts.begin() + 1, texts.end());
  if (waits) {
    Status ready = is_closing_ ? Status() : set_up(image);
    if (is_closing_) find_directory(image);
    if (!ready.ok()) image->part.note = ready.error().message();
    let_go(image);
    live_.push_back(image);
  }
  owner_[record.pid] = image;
}

// What the program has not, or cannot have, of the request keeps nothing else from being recorded.
Status FollowedPrograms::set_up(Image* image) {
  const std::string directory = runtime_ + "/" + std::to_string(image->part.pid);
  find_directory(image);
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
  remove_directory(*image);
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

// Who executes something from here on does so without us, and nobody waits for us any more.
void FollowedPrograms::close() {
  look();
  is_closing_ = true;
  __atomic_store_n(&reinterpret_cast<abi::FollowSlots*>(slots_.data())->is_over, 1,
                   __ATOMIC_RELEASE);
  (void)::flock(log_.get(), LOCK_UN);
  look();
  stop();
  for (size_t i = 1; i < images_.size(); i++)
    if (images_[i]->client) end_image(images_[i].get());
}

// The first part is the output itself, until another file takes its place.
Result<MergeResult> FollowedPrograms::finish(const Recording& first) {
  Image* const top = images_.front().get();
  top->events = first.events();
  const std::string output = parts_.output();
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
