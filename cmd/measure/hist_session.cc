// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_session.h"

#include <unistd.h>

#include <algorithm>

#include "base/monotonic_clock.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/common/run_time.h"
#include "cmd/common/terminal.h"
#include "cmd/measure/looks.h"
#include "cmd/record/record_report.h"

namespace patchbay::cmd {
namespace {

std::string process_text(const CountedProcess& member) {
  return "process " + std::to_string(member.pid()) + " " + one_line(member.exe()) +
         (member.ended() ? " (has ended)" : "");
}

// "{A}\n", "{B}\n" -> "{A, B}\n"; either may be empty.
std::string joined_objects(std::string_view a, std::string_view b) {
  const auto inside = [](std::string_view object) {
    object = trim(object, "\n");
    return object.size() < 2 ? "" : object.substr(1, object.size() - 2);
  };
  const std::string_view first = inside(a), second = inside(b);
  return "{" + std::string(first) + (first.empty() || second.empty() ? "" : ", ") +
         std::string(second) + "}\n";
}

}  // namespace

// --- who is there

std::string HistSession::who() const {
  const auto& members = processes_.members();
  if (!processes_.is_several()) return "process " + std::to_string(members.front()->pid());
  if (chosen_ > 0 && chosen_ <= members.size())
    return process_text(*members[chosen_ - 1]) + " (" + std::to_string(chosen_) + " of " +
           std::to_string(members.size()) + ")";
  const auto nr_ended = std::count_if(members.begin(), members.end(),
                                      [](const auto& member) { return member->ended(); });
  std::string text =
      std::to_string(members.size()) + (members.size() == 1 ? " process" : " processes");
  if (nr_ended > 0) text += ", " + std::to_string(nr_ended) + " of them ended";
  if (const size_t refused = processes_.refused().size())
    text += ", and " + std::to_string(refused) + " that cannot be counted";
  return text;
}

void HistSession::say_news() {
  for (; nr_said_ < processes_.refused().size(); nr_said_++)
    remark(processes_.refused()[nr_said_].text());
  for (const std::string& loss : processes_.take_losses())
    std::fprintf(stderr, "patchbay %s: %s\n", command_.c_str(), printable(loss).c_str());
}

// --- while they run

// A program that is killed leaves nothing, so it is looked at while it runs.
void HistSession::watch_quietly() {
  for (LookPause pause(kFirstLookMs, kMostLookMs); !interrupted();) {
    if (processes_.child()) {
      if (processes_.wait(pause.ms()) != TracedChild::Event::kNothing) return;
    } else {
      ::usleep(useconds_t(pause.ms()) * 1000);
      if (interrupted()) return;
    }
    const int64_t began_ms = monotonic_ms();
    processes_.look();
    pause.next(processes_.is_several() ? monotonic_ms() - began_ms : 0);
    say_news();
    // A program that we have started may have executed another one, which runs to its end.
    if (!processes_.child() && processes_.ended()) return;
  }
}

// Nothing: there is no table yet.
std::string HistSession::shown(const Show& show, const CountedProcess* member) const {
  const std::vector<HistImagePtr> images = processes_.images(member);
  if (!images.empty() && images[0]) return show(*images[0]);
  return target_.json ? show(HistImage()) : "";
}

std::string HistSession::on_screen(const Show& show) const {
  const auto& members = processes_.members();
  const bool has_chosen = chosen_ > 0 && chosen_ <= members.size();
  const std::string keys = processes_.is_several() ? ", [ ] choose one, q ends\n" : ", q ends\n";
  return "patchbay " + command_ + ": " + who() + keys +
         shown(show, has_chosen ? members[chosen_ - 1].get() : nullptr);
}

void HistSession::watch_on_screen(const Show& show) {
  Result<std::unique_ptr<Terminal>> terminal = Terminal::open();
  if (!terminal.ok()) return watch_quietly();
  const auto delay_ms = int64_t(target_.delay * 1000);
  std::string shown;
  for (int64_t next_ms = 0; !(*terminal)->ended() && !interrupted();) {
    if (processes_.child() ? processes_.wait(0) != TracedChild::Event::kNothing
                           : processes_.ended())
      return;
    if (monotonic_ms() >= next_ms) {
      next_ms = monotonic_ms() + delay_ms;
      processes_.look();
      shown = on_screen(show);
    }
    (*terminal)->show(shown);
    const int key = (*terminal)->key(int(std::clamp<int64_t>(next_ms - monotonic_ms(), 1, 100)),
                                     processes_.descriptor());
    if (key == 'q' || key == 3) return;
    if (key == 26) (*terminal)->suspend();
    if ((key == '[' || key == ']') && processes_.is_several()) {
      const size_t count = processes_.members().size() + 1;
      chosen_ = (chosen_ + (key == ']' ? 1 : count - 1)) % count;
      shown = on_screen(show);
    }
  }
}

// --- the result

std::string HistSession::several_json(const Show& show) const {
  std::string head = "{\"processes\": [", comma;
  for (const auto& member : processes_.members()) {
    const std::string one = "{\"pid\": " + std::to_string(member->pid()) +
                            ", \"exe\": " + json_quote(member->exe()) +
                            ", \"has_ended\": " + (member->ended() ? "true" : "false") + "}";
    const std::string own = target_.per_process ? shown(show, member.get()) : "";
    head += comma + std::string(trim(joined_objects(one, own), "\n"));
    comma = ", ";
  }
  head += "], \"refused\": [", comma = "";
  for (const TakenProcesses::Refused& one : processes_.refused()) {
    head += comma + "{\"pid\": " + std::to_string(one.pid) + ", \"exe\": " + json_quote(one.exe) +
            ", \"reason\": " + json_quote(one.reason) + "}";
    comma = ", ";
  }
  return joined_objects(head + "]}", shown(show));
}

std::string HistSession::result(const Show& show) const {
  if (!processes_.is_several()) return shown(show);
  if (target_.json) return several_json(show);
  std::string text;
  if (target_.per_process) {
    for (const auto& member : processes_.members())
      text += "# " + process_text(*member) + "\n" + shown(show, member.get()) + "\n";
    text += "# " + who() + "\n";
  }
  return text + shown(show);
}

Status HistSession::write_result(const std::string& text) const {
  return write_output(target_.output, text);
}

void HistSession::say(const std::vector<std::string>& sentences) const {
  for (const std::string& sentence : sentences)
    std::fprintf(stderr, "patchbay %s: %s\n", command_.c_str(), printable(sentence).c_str());
}

// Nothing was counted in any process: why, of the first.
std::vector<std::string> HistSession::why_nothing() const {
  if (processes_.child()) {
    for (const HistImagePtr& image : processes_.images())
      if (!image || image->hits > 0) return {};
    return processes_.current() ? processes_.current()->why_nothing() : std::vector<std::string>();
  }
  std::vector<std::string> sentences;
  for (const auto& member : processes_.members()) {
    std::vector<std::string> own = member->why_nothing();
    if (own.empty()) return {};
    if (sentences.empty()) sentences = std::move(own);
  }
  return sentences;
}

int HistSession::finish(const Show& show) {
  TracedChild* const child = processes_.child();
  if (child) processes_.stop_following();
  processes_.look_last();
  say_news();
  if (processes_.members().empty()) return fail(command_, "no process was counted.");
  if (child && !processes_.is_counting()) {
    (void)fail(command_, "no program had what is to be counted.");
    const int status = processes_.exit_status();
    return status == kOk ? kFailed : status;
  }
  if (Status written = write_result(result(show)); !written.ok())
    return fail(command_, written.error());
  if (child) say(processes_.take_about_executed());
  say(why_nothing());
  return child ? processes_.exit_status() : kOk;
}

int HistSession::run(const Show& show) {
  const bool has_screen = !target_.json && ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
  Status ready = processes_.begin(has_screen);
  if (ready.ok() && processes_.child()) ready = processes_.release();
  if (!ready.ok()) return fail(command_, ready.error());
  if (TracedChild* const child = processes_.child())
    child->before_timed_end([this] { processes_.look(); });
  run_time_begins();
  say_news();
  if (processes_.members().empty() && !interrupted())
    remark("no process is " + processes_.waits_for() + " yet: those that come are counted");
  has_screen ? watch_on_screen(show) : watch_quietly();
  return finish(show);
}

}  // namespace patchbay::cmd
