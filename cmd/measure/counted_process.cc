// SPDX-License-Identifier: MIT
#include "cmd/measure/counted_process.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/foreign_file.h"
#include "base/monotonic_clock.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/measure/looks.h"
#include "cmd/target/event_definition.h"
#include "cmd/target/nothing_recorded.h"
#include "event/function_event.h"
#include "ring_buffer/buffer_file.h"
#include "serve/directory.h"
#include "trace_dat/metadata.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kBufferKb = 64;  // of a program that only counts

// "events/SYSTEM/EVENT/trigger" -> "events/SYSTEM/EVENT".
std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// What a program has left of events/SYSTEM/EVENT/hist_image (the agent's last_hists.cc).
std::string kept_bytes(const std::string& directory, const std::string& instance,
                       const std::string& event) {
  std::string name = event.substr(event.find('/') + 1);
  name[name.find('/')] = ':';
  const std::string own =
      instance.substr(instance.find('/') == instance.npos ? 0 : instance.find('/') + 1);
  Result<std::string> text = read_in_root(directory, "/hist/" + own + name, kMostForeignText);
  return text.ok() ? *text : "";
}

// The newest histogram of a trigger file, without " [active]".
std::string last_listing(const std::string& triggers) {
  std::string listing;
  for (const std::string& line : split_lines(triggers))
    if (line.starts_with("hist:")) listing = line;
  return listing.substr(0, listing.rfind(" ["));
}

}  // namespace

HistFile::HistFile(std::string_view untrusted) {
  Result<std::vector<HistImage>> images = parse_hist_images(untrusted);
  if (!images.ok()) return;
  for (HistImage& image : *images)
    images_.push_back(std::make_shared<const HistImage>(std::move(image)));
}

HistImagePtr HistFile::of(const std::string& listing) const {
  for (const HistImagePtr& image : images_)
    if (image->definition == listing) return image;
  return nullptr;
}

// --- its beginning

Status CountedProcess::start(const std::vector<std::string>& words, bool quiet,
                             const std::optional<FollowWishes>& wishes) {
  PB_TRY(program_.start(words, kBufferKb, quiet, wishes));
  pid_ = client().pid();
  exe_ = client().exe();
  return {};
}

void CountedProcess::adopt(ExecutedProgram& program) {
  program_.adopt(program);
  pid_ = client().pid();
  exe_ = program.exe;
}

Status CountedProcess::attach(int pid, int wait_ms) {
  PB_TRY(program_.attach(pid, {.wait_ms = wait_ms}));
  pid_ = client().pid();
  exe_ = client().exe();
  stop_on_interrupt();
  stop_on_closed_output();
  program_.attachment.deliver_signals();
  PB_ASSIGN(std::unique_ptr<ToolUses> uses, ToolUses::begin(client(), program_.directory, wait_ms));
  uses_ = std::move(uses);
  defined_.uses = uses_.get();
  return {};
}

Result<std::string> CountedProcess::define(const std::string& event, bool is_call) {
  PB_ASSIGN(std::vector<std::string> names,
            define_event(client(), {event, "", is_call}, &defined_));
  if (names.size() == 1) {
    std::string directory = "events/" + names.front();
    directory[directory.find(':')] = '/';
    asked_.push_back({{event, "", is_call}, directory});
    return names.front();
  }
  return several_events(event, names);
}

// A function's event is not there before somebody defines it, so the function is named.
Error CountedProcess::several_events(const std::string& asked,
                                     const std::vector<std::string>& events) {
  std::vector<std::string> names;
  Result<std::string> listed = client().read_all("function_events");
  for (const std::string& line : split_lines(listed.ok() ? *listed : "")) {
    const FunctionEventParse parsed =
        parse_function_event(line, [](std::string_view) { return 1; });
    const std::string name = parsed.def ? "functions:" + parsed.def->event_name() : "";
    if (std::find(events.begin(), events.end(), name) == events.end()) continue;
    names.push_back(parsed.def->function);
  }
  const bool are_functions = names.size() == events.size();
  if (!are_functions) names = events;
  return user_error(EINVAL, "'" + asked + "' means " + std::to_string(names.size()) +
                                (are_functions ? " functions" : " events") + ", among them " +
                                names.front() + " and " + names.back() + ": choose one.");
}

Status CountedProcess::apply(const HistPlan& plan, bool verbose) {
  plan_ = plan;
  if (uses_) {
    PB_ASSIGN(std::string name, uses_->make_instance());
    instance_ = "instances/" + name + "/";
  }
  if (verbose) std::fprintf(stderr, "%s", plan_.commands().c_str());
  std::map<std::string, std::vector<std::string>> listings;
  for (const HistPlan::Write& write : plan_.writes) {
    Status done = client().write_all(placed(write.path), write.text + "\n", false);
    if (!done.ok())
      return user_error(done.error().errno_value,
                        write.path + ": " + write.text + "\n" + done.error().message());
    if (uses_ && write.path == "dynamic_events")
      uses_->add(ToolUse::Kind::kEvent, "synthetic/" + plan_.synthetic);
    else if (uses_)
      uses_->add(ToolUse::Kind::kTrigger, placed(write.path), write.text);
    if (!write.path.ends_with("/trigger")) continue;
    PB_ASSIGN(std::string triggers, client().read_all(placed(write.path)));
    listings[directory_of(write.path)].push_back(last_listing(triggers));
  }
  for (const std::string& event : plan_.histograms) {
    std::vector<std::string>& of_event = listings[event];
    if (of_event.empty()) return user_error(ENOENT, "There is no histogram in " + event + ".");
    listings_.push_back(of_event.front());
    of_event.erase(of_event.begin());
  }
  images_.resize(plan_.histograms.size());
  empty_images_.resize(plan_.histograms.size());
  PB_TRY(read_images(&empty_images_));
  for (HistImagePtr& image : empty_images_) {
    if (!image) return user_error(EBADMSG, "The tables of the process cannot be read.");
    HistImage columns = *image;
    columns.rows.clear();
    image = std::make_shared<const HistImage>(std::move(columns));
  }
  if (uses_) uses_->ready();
  return {};
}

// --- its counts

// A file with several histograms is read once, so that they are of one time.
Status CountedProcess::read_images(std::vector<HistImagePtr>* images) {
  std::map<std::string, HistFile> files;
  for (const std::string& event : plan_.histograms) {
    if (files.contains(event)) continue;
    PB_ASSIGN(const std::string bytes,
              client().read_all(placed(event) + "/hist_image", kMostImage));
    files[event] = HistFile(bytes);
  }
  for (size_t i = 0; i < plan_.histograms.size(); i++)
    if (HistImagePtr own = files[plan_.histograms[i]].of(listings_[i]))
      (*images)[i] = std::move(own);
  return {};
}

Status CountedProcess::look() {
  PB_TRY(read_images(&images_));
  looked_ms_ = monotonic_ms();
  return {};
}

std::string CountedProcess::look_last() {
  if (!program_.ended()) {
    if (look().ok()) return "";
    if (!program_.ended())
      return looked_ms_ ? silent_text(monotonic_ms() - looked_ms_)
                        : "does not answer (stopped?), and could not be looked at before; its "
                          "counts are lost";
  }
  bool missing = false;
  std::map<std::string, HistFile> files;
  for (size_t i = 0; i < plan_.histograms.size(); i++) {
    const std::string& event = plan_.histograms[i];
    if (!files.contains(event))
      files[event] = HistFile(kept_bytes(program_.directory, instance_, event));
    HistImagePtr own = files[event].of(listings_[i]);
    missing |= !own;
    if (own) images_[i] = std::move(own);
  }
  if (!missing) return "";
  return lost_text();
}

void CountedProcess::note_end() {
  if (!ended()) return;
  if (!ended_ms_) ended_ms_ = monotonic_ms();
  if (!program_.child || program_.child->exited()) return;
  char path[4096];
  const std::string link = "/proc/" + std::to_string(pid_) + "/exe";
  const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
  if (length > 0) successor_.assign(path, size_t(length));
}

std::string CountedProcess::end_by_exec(const std::string& successor, bool was_looked_at) {
  successor_ = successor;
  ended_ms_ = monotonic_ms();
  has_left_ = true;
  program_.client.reset();
  if (was_looked_at || plan_.histograms.empty()) return "";
  return "has executed another one (" + successor + "); " +
         (looked_ms_ ? counted_before_text(ended_ms_ - looked_ms_)
                     : "what it counted before is lost");
}

std::string CountedProcess::lost_text() {
  note_end();
  if (successor_.empty() && program_.child && program_.child->ended_as_another())
    successor_ = program_.child->last_name();
  const int64_t age_ms = ended_ms_ - looked_ms_;
  if (!successor_.empty())
    return "has executed another one (" + successor_ + "), whose calls are not counted; " +
           (looked_ms_ ? counted_before_text(age_ms) : "what it counted before is lost");
  return looked_ms_ ? lost_at_end_text(age_ms)
                    : "was killed or called _exit() before its counts could be looked at; they are "
                      "lost";
}

// The events that were asked for and have not been hit, each with the filter of its histogram.
std::vector<EventRequest> CountedProcess::not_hit() {
  std::vector<EventRequest> events;
  for (const auto& [request, directory] : asked_) {
    std::string bytes = kept_bytes(program_.directory, instance_, directory);
    if (!program_.ended()) {
      Result<std::string> now = client().read_all(placed(directory) + "/hist_image", kMostImage);
      if (now.ok()) bytes = std::move(*now);
    }
    Result<std::vector<HistImage>> images = parse_hist_images(bytes);
    if (!images.ok()) continue;
    const auto empty = std::find_if(images->begin(), images->end(),
                                    [](const HistImage& image) { return image.hits == 0; });
    if (empty == images->end()) continue;
    events.push_back(request);
    const size_t filter = empty->definition.find(" if ");
    if (filter != empty->definition.npos)
      events.back().filter = empty->definition.substr(filter + 4);
  }
  return events;
}

std::vector<std::string> CountedProcess::why_nothing() {
  if (has_left_) return {};
  for (const HistImagePtr& image : images_)
    if (!image || image->hits > 0) return {};
  auto buffer = BufferFile::open(program_.directory + "/" + serve::kBufferName, false);
  if (!buffer.ok()) return {};
  Result<RecordedMeta> meta = read_recorded_meta(**buffer);
  if (!meta.ok()) return {};
  return cmd::why_nothing(not_hit(), meta->modules, meta->exe);
}

// --- its end

// Of a process that goes on nothing is left behind.
void CountedProcess::leave() {
  if (!uses_) return;
  uses_->release();
  say_what_stays(client());
  uses_.reset();
  defined_.uses = nullptr;
  program_.client.reset();
  program_.attachment.leave();
  has_left_ = true;
}

}  // namespace patchbay::cmd
