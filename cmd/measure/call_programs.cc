// SPDX-License-Identifier: MIT
#include "cmd/measure/call_programs.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/common/run_time.h"
#include "cmd/measure/executed_notes.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kFastestMs = 1, kSlowestMs = 20;
constexpr int kVisibleUs = 2500;  // until a record is known (call_rings.cc)
constexpr size_t kMostNamed = 4;  // programs in a sentence, and sentences of a kind

void say(const std::string& sentence) {
  std::fprintf(stderr, "patchbay calls: %s\n", printable(sentence).c_str());
}

std::string name_of(const std::string& exe) { return std::string(base_name(exe)); }

}  // namespace

// --- the programs

void CallPrograms::watch(Program* program) {
  if (!program->rings) return;
  program->watch =
      std::make_unique<CallWatch>(options_, program->session.get(), program->rings.get(), &totals_);
  program->buffer = mapped_buffer(process_of(*program).directory);
  is_filtered_ |= program->session->is_filtered();
}

Status CallPrograms::begin() {
  programs_.push_back(std::make_unique<Program>());
  Program* const first = programs_.back().get();
  first_ = first;
  first->session = std::make_unique<CallSession>(target_, process_);
  PB_TRY(first->session->prepare(&first->rings));
  first->exe = exe_ = process_.client->exe();
  note_missing(*first);
  current_ = first;
  watch(first);
  run_time_begins();
  return process_.release();
}

void CallPrograms::note_missing(Program& program) {
  std::set<std::string> lacks;
  for (const auto& [text, error] : program.session->missing()) {
    lacks.insert(text);
    if (error.errno_value != ENOENT)
      failures_.push_back(name_of(program.exe) + ": " + error.message());
  }
  for (const std::string& text : target_.functions) {
    if (!lacks.contains(text)) found_.insert(text);
    if (!lacks.contains(text)) continue;
    add_program(program.exe, &missing_in_[text]);
  }
}

// What a line says about a program behind its path.
std::string CallPrograms::set_up(ExecutedProgram& executed) {
  if (!executed.client) {
    const std::string why = executed.reason.empty() ? "" : ": " + executed.reason;
    if (executed.reason.empty()) return ", which has none of the functions";
    if (not_seen_.size() < kMostNamed)
      not_seen_.push_back("the program has executed another one (" + executed.exe +
                          "), whose calls are not seen" + why);
    return ", whose calls are not seen" + why;
  }
  programs_.push_back(std::make_unique<Program>());
  Program& program = *programs_.back();
  program.exe = executed.exe;
  program.own.adopt(executed);
  program.session = std::make_unique<CallSession>(target_, program.own);
  const Status ready = program.session->prepare_executed(&program.rings);
  current_ = &program;
  if (!ready.ok()) {
    program.rings.reset();
    failures_.push_back(name_of(program.exe) + ": " + ready.error().message());
    return ", whose calls are not seen: " + ready.error().message();
  }
  note_missing(program);
  watch(&program);
  return program.rings ? "" : ", which has none of the functions";
}

// --- what it executes

// What its memory says is known as long as it is there.
void CallPrograms::before_exec() {
  ::usleep(kVisibleUs);
  if (Status taken = take_events(false); !taken.ok() && failed_.ok()) failed_ = taken;
}

bool CallPrograms::current_is_gone() const {
  return !current_ || (current_ == first_ ? process_.client : current_->own.client)->gone();
}

void CallPrograms::show(const std::string& line) {
  if (options_.table) return;
  std::string text = printable(line);
  std::replace(text.begin(), text.end(), '\n', ' ');
  text += '\n';
  if (Status written = write_(&text); !written.ok() && failed_.ok()) failed_ = written;
}

// Its threads have ended. Forked children of it may go on.
void CallPrograms::end_current() {
  Program* const old = std::exchange(current_, nullptr);
  if (!old) return;
  const pid_t pid = process_.child->pid();
  const auto has_ended = [pid](int32_t tid) {
    return tid == pid || (::kill(tid, 0) != 0 && errno == ESRCH);
  };
  Status taken = old->watch ? old->watch->take_events(true, write_) : Status();
  if (taken.ok() && old->watch) taken = old->watch->finish(has_ended, write_);
  if (!taken.ok() && failed_.ok()) failed_ = taken;
}

void CallPrograms::executed(ExecutedProgram program) {
  end_current();
  process_.child->note_program();
  const std::string before = std::exchange(exe_, program.exe);
  const std::string about = set_up(program);
  show("--- " + name_of(before) + " executed " + exe_ + about + " ---");
  std::erase_if(programs_, [this](const auto& one) {
    if (one.get() == current_ || process_.executed->is_written(one->buffer)) return false;
    collect(*one);
    return true;
  });
}

// --- while they run

Status CallPrograms::take_events(bool is_end) {
  for (const auto& program : programs_)
    if (program->watch) PB_TRY(program->watch->take_events(is_end, write_));
  return failed_;
}

bool CallPrograms::wait(int timeout_ms) {
  if (process_.child) return process_.wait(timeout_ms, *this) != TracedChild::Event::kNothing;
  ::usleep(useconds_t(timeout_ms) * 1000);
  return interrupted() || process_.client->gone();
}

Status CallPrograms::run() {
  for (int wait_ms = kFastestMs;;) {
    PB_TRY(take_events(false));
    const bool was_busy = std::any_of(programs_.begin(), programs_.end(), [](const auto& one) {
      return one->rings && one->rings->was_busy();
    });
    wait_ms = was_busy ? kFastestMs : std::min(2 * wait_ms, kSlowestMs);
    if (wait(wait_ms)) break;
  }
  if (current_) current_->session->stop();
  process_.stop_following(*this);
  PB_TRY(take_events(true));
  for (const auto& program : programs_)
    if (program->watch) PB_TRY(program->watch->finish({}, write_));
  std::string table = options_.table ? totals_.table() : "";
  return table.empty() ? Status() : write_(&table);
}

// --- afterwards

void CallPrograms::collect(Program& program) {
  if (!program.watch) return;
  nr_collected_++;
  lost_ += program.watch->lost();
  lost_some_ |= program.watch->lost_some();
  missed_ += program.rings->rings().missed();
  unhooked_ += program.rings->rings().unhooked();
  for (const std::string& sentence : program.session->never_came(program.rings->top()))
    never_came_[sentence]++;
  why_nothing_ = program.session->why_nothing(totals_);
}

void CallPrograms::print_missing(const std::vector<std::string>& never_found) const {
  for (const std::string& text : never_found)
    (void)fail("calls", "'" + text + "': no program had such a function.");
  size_t said = 0;
  for (const auto& [text, names] : missing_in_) {
    if (!found_.contains(text)) continue;
    if (said++ < kMostNamed)
      say(list_of_programs(names) + (names.size() == 1 ? " has no '" : " have no '") + text + "'");
  }
  if (said > kMostNamed)
    say(std::to_string(said - kMostNamed) + " more of the functions are not in all programs");
}

bool CallPrograms::print_notes() {
  for (const auto& program : programs_) collect(*program);
  if (lost_ > 0 || lost_some_)
    say(std::string(lost_some_ ? "at least " : "") + std::to_string(lost_) +
        " events were lost: the program was faster than its lines could be written");
  if (missed_) say(std::to_string(missed_) + " hits could not be recorded");
  if (unhooked_)
    say(std::to_string(unhooked_) +
        " calls have no return: their callers' code walks its own stack by return addresses "
        "(code made at run time, V8, OCaml, Go), or more than 110,000 places call");
  bool has_never_come = false;
  for (const auto& [sentence, count] : never_came_) {
    if (count < nr_collected_) continue;
    say(sentence);
    has_never_come = true;
  }
  std::vector<std::string> never_found;
  for (const std::string& text : target_.functions)
    if (!found_.contains(text)) never_found.push_back(text);
  if (totals_.calls == 0 && is_filtered_)
    say("there was no call that --errors-only shows");
  else if (totals_.entered > 0 ? !lost_ && !lost_some_ && !missed_ : !has_never_come)
    for (const std::string& sentence : why_nothing_)
      if (!never_came_.contains(sentence)) say(sentence);
  if (totals_.calls == 0 && !is_filtered_ && totals_.entered > 0)
    say("none of " + std::to_string(totals_.entered) +
        " calls is one that --errors-only or --longer shows");
  print_missing(never_found);
  for (size_t i = 0; i < std::min(failures_.size(), kMostNamed); i++) say(failures_[i]);
  if (process_.executed)
    for (const std::string& sentence : process_.executed->take_sentences()) say(sentence);
  for (const std::string& sentence : not_seen_) say(sentence);
  // A program that ends by exit() removes its socket.
  const TracedChild* const child = process_.child.get();
  const std::string socket = process_.directory + "/" + serve::kSocketName;
  if (child && child->exited() && child->ended_as_another() && not_seen_.empty() &&
      ::access(socket.c_str(), F_OK) == 0)
    say("the program has executed another one (" + child->last_name() +
        "), whose calls are not seen");
  return never_found.empty();
}

int CallPrograms::end() {
  if (programs_.size() == 1) programs_.front()->session->undo();
  if (!process_.child) return kOk;
  // A program that goes on all the same is left to itself, as `record` does.
  constexpr int kGraceMs = 300;
  const int64_t end_ms = monotonic_ms() + kGraceMs;
  while (!process_.child->exited()) {
    if (run_time_is_over() && monotonic_ms() >= end_ms) return kOk;
    (void)process_.child->wait(run_time_text().empty() ? -1 : kGraceMs);
  }
  return process_.child->exit_status();
}

}  // namespace patchbay::cmd
