// SPDX-License-Identifier: MIT
//
// patchbay record: runs a program with the agent and writes what its functions were called with.
//
//   look at the program ---- refuse what cannot take the agent
//   lock the output     ---- an unwritable place is an error before anything runs
//   start it, held in the agent's constructor
//   write the definitions, enable them -- a mistake ends here: main() never ran
//   release it; take its sub-buffers until it ends or Ctrl-C
//   write trace.dat, say what is in it, pass the program's status on
#include <getopt.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <set>

#include "commands.h"
#include "recording.h"
#include "serve/client.h"
#include "serve/directory.h"
#include "target_program.h"
#include "traced_child.h"
#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr const char kHelp[] =
    "Usage: patchbay record -e 'FUNC(ARGS)' [-e ...] [OPTION...] [--] CMD [ARG...]\n\n"
    "Runs CMD and records every call of the functions that are named, with their arguments.\n\n"
    "  -e, --event 'FUNC(TYPE NAME, ...)'  a function and its arguments, as function_events takes "
    "it:\n"
    "                        'openat(int dfd, string path, x32 flags)'; any number of them\n"
    "  -o, --output FILE     default trace.dat\n"
    "  -b, --buffer-size KB  of the buffer of one CPU\n"
    "  -m, --mode MODE       when the buffer is full: overwrite the oldest events (default), or "
    "drop\n"
    "                        the newest; both are counted\n"
    "      --format 6|7      version of trace.dat, default 7\n"
    "      --print           print the events at the end\n"
    "  -q, --quiet           no progress and no summary\n\n"
    "Ctrl-C stops recording; the file is written. The exit status is that of CMD (128 + N: killed "
    "by\n"
    "signal N), 1 when recording failed, 2 for a wrong command line.\n"
    "Example: patchbay record -e 'sqlite3_prepare_v2(NULL, string sql, int n)' -- sqlite3 x.db "
    "'.schema'\n";

constexpr uint64_t kDefaultKbOfAllCpus = 256 * 1024;
constexpr uint64_t kDefaultKb = 8 * 1024, kSmallestDefaultKb = 1408;
constexpr int kFastestMs = 1, kSlowestMs = 16;
constexpr unsigned kBusyPercent = 20;  // of a ring taken in one turn: do not sleep at all
constexpr int kGraceMs = 300;          // between Ctrl-C and the file: the program may end first

struct Options {
  std::vector<std::string> events;
  std::string output = "trace.dat";
  uint64_t buffer_kb = 0;
  bool overwrite = true;
  int version = 7;
  bool print = false;
  bool quiet = false;
  std::vector<std::string> words;
};

// --- command line

uint64_t default_buffer_kb() {
  long cpus = std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L);
  return std::clamp(kDefaultKbOfAllCpus / uint64_t(cpus), kSmallestDefaultKb, kDefaultKb);
}

bool parse_kb(std::string_view text, uint64_t* kb) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *kb);
  return error == std::errc() && end == text.data() + text.size() && *kb > 0 &&
         *kb < uint64_t{4} << 20;
}

// Null when the option is right, else the sentence about it.
const char* take_option(int letter, const char* value, Options* options) {
  std::string_view text = value ? value : "";
  switch (letter) {
    case 'e':
      options->events.emplace_back(text);
      return nullptr;
    case 'o':
      options->output = text;
      return text.empty() ? "-o takes a file." : nullptr;
    case 'b':
      return parse_kb(text, &options->buffer_kb) ? nullptr
                                                 : "-b takes KB for one CPU, 1 to 4194303.";
    case 'm':
      options->overwrite = text == "overwrite";
      return text == "overwrite" || text == "drop" ? nullptr : "-m takes overwrite or drop.";
    case 'F':
      options->version = text == "6" ? 6 : 7;
      return text == "6" || text == "7" ? nullptr : "--format takes 6 or 7.";
    case 'P':
      options->print = true;
      return nullptr;
    default:
      options->quiet = true;
      return nullptr;
  }
}

// Options, then the program's words. kOk, or the exit status in *status and false.
bool parse_command_line(int argc, char** argv, Options* options, int* status) {
  const option long_options[] = {{"event", required_argument, nullptr, 'e'},
                                 {"output", required_argument, nullptr, 'o'},
                                 {"buffer-size", required_argument, nullptr, 'b'},
                                 {"mode", required_argument, nullptr, 'm'},
                                 {"format", required_argument, nullptr, 'F'},
                                 {"print", no_argument, nullptr, 'P'},
                                 {"quiet", no_argument, nullptr, 'q'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {}};
  ::opterr = 0;
  for (int letter;
       (letter = ::getopt_long(argc, argv, "+e:o:b:m:qh", long_options, nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), *status = kOk, false;
    if (letter == '?') return *status = bad_option("record", argv), false;
    if (const char* wrong = take_option(letter, ::optarg, options))
      return *status = usage_error("record", wrong), false;
  }
  options->words.assign(argv + ::optind, argv + argc);
  if (options->events.empty())
    return *status = usage_error("record", "At least one -e 'FUNC(ARGS)' is needed."), false;
  if (options->words.empty())
    return *status = usage_error("record", "The program to run is missing."), false;
  if (options->buffer_kb == 0) options->buffer_kb = default_buffer_kb();
  return true;
}

// --- before the program runs

Result<EnvironmentList> child_environment(const Options& options, const std::string& directory) {
  Result<std::string> agent = find_agent();
  if (!agent.ok()) return agent.error();
  if (agent->find_first_of(": ") != agent->npos) {
    return user_error(EINVAL, "LD_PRELOAD cannot hold the agent's path '" + *agent +
                                  "' (a blank or colon is in it).");
  }
  const char* old = std::getenv("LD_PRELOAD");
  return EnvironmentList{{"LD_PRELOAD", old && *old ? *agent + ":" + old : *agent},
                         {"PATCHBAY_WAIT", "1"},
                         {"PATCHBAY_DIR", directory},
                         {"PATCHBAY_BUFFER_SIZE_KB", std::to_string(options.buffer_kb)},
                         {"PATCHBAY_OVERWRITE", options.overwrite ? "1" : "0"}};
}

// Writes the definitions and enables all. The sentence of a wrong one has a caret of its own, so it
// begins a line.
Status define_events(const Options& options, serve::Client& client) {
  for (const std::string& event : options.events) {
    Status status = client.write_all("function_events", event + "\n", false);
    if (!status.ok()) {
      return user_error(status.error().errno_value,
                        "-e '" + event + "':\n" + status.error().message());
    }
  }
  return client.write_all("events/functions/enable", "1\n", false);
}

// --- while it runs

int64_t now_ms() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

std::string size_text(uint64_t bytes) {
  char text[32];
  const char* units[] = {"bytes", "KB", "MB", "GB", "TB"};
  double value = double(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, unit++;
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

// A line that is written over once a second while standard error is a terminal.
class Progress {
 public:
  explicit Progress(bool wanted) : on_(wanted && ::isatty(STDERR_FILENO)), next_(now_ms() + 1000) {}
  ~Progress() { clear(); }
  void show(const Recording& recording) {
    if (!on_ || now_ms() < next_) return;
    next_ = now_ms() + 1000;
    std::fprintf(stderr, "\r\033[K[ patchbay record: %llu events, %s, lost %llu ]",
                 static_cast<unsigned long long>(recording.published()),
                 size_text(recording.bytes()).c_str(),
                 static_cast<unsigned long long>(recording.lost()));
    shown_ = true;
  }
  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  bool on_, shown_ = false;
  int64_t next_;
};

struct Outcome {
  bool stopped = false;    // by a signal, the program lives
  bool exec_seen = false;  // the program has become another one
  std::string new_exe;
};

std::string exe_of(pid_t pid) {
  char path[4096];
  ssize_t length = ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path, sizeof path);
  return std::string(path, length > 0 ? size_t(length) : 0);
}

// Sub-buffers are taken without sleeping while the program fills them fast, rarely while it is
// quiet.
Outcome record_until_end(TracedChild& child, Recording& recording, serve::Client& client,
                         bool quiet) {
  Outcome outcome;
  Progress progress(!quiet);
  std::string exe = exe_of(child.pid());
  int wait_ms = kFastestMs;
  int64_t next_look = now_ms() + 100;
  for (;;) {
    unsigned filled = recording.drain();
    wait_ms = filled >= kBusyPercent ? 0
              : filled > 0           ? std::max(wait_ms / 2, kFastestMs)
                                     : std::min(wait_ms * 2 + 1, kSlowestMs);
    progress.show(recording);
    TracedChild::Event event = child.wait(wait_ms);
    if (event == TracedChild::Event::kExited) return outcome;
    if (event == TracedChild::Event::kStopRequested) break;
    if (now_ms() < next_look) continue;
    next_look = now_ms() + 100;
    recording.refresh_events();
    if (outcome.exec_seen) continue;
    std::string now = exe_of(child.pid());
    outcome.exec_seen = !now.empty() && now != exe;
    if (outcome.exec_seen) outcome.new_exe = now;
  }
  (void)client.write_all("tracing_on", "0\n",
                         false);  // the agent may just have died with the program
  for (int64_t end = now_ms() + kGraceMs; now_ms() < end && !child.exited();) (void)child.wait(10);
  outcome.stopped = !child.exited();
  return outcome;
}

// --- afterwards

std::string per_cpu_text(const Recording& recording) {
  std::string text;
  for (uint32_t ring = 0; ring < recording.counts().size(); ring++) {
    const RingCounts& counts = recording.counts()[ring];
    uint64_t lost = counts.overwritten + counts.dropped;
    bool is_cpu = ring < recording.buffer().header().nr_cpus;
    if (!is_cpu && counts.events + lost == 0) continue;
    text += (text.empty() ? "" : ", ") +
            (is_cpu ? "cpu" + std::to_string(ring) : std::string("no-rseq")) + " " +
            std::to_string(lost);
  }
  return text;
}

// Processes that the program has forked, as far as they have recorded anything.
size_t forked_processes(const Recording& recording, pid_t pid) {
  std::set<uint32_t> others;
  for (const abi::CommEntry& entry : recording.buffer().comms()) {
    if (entry.tgid != uint32_t(pid)) others.insert(entry.tgid);
  }
  return others.size();
}

void note(const std::string& text) {
  std::fprintf(stderr, "[ patchbay record: %s ]\n", text.c_str());
}

void print_notes(const Recording& recording, const TracedChild& child, const Outcome& outcome) {
  if (uint64_t missed = recording.buffer().missed())
    note(std::to_string(missed) + " hits could not be recorded");
  if (uint64_t nested = recording.buffer().recursion())
    note(std::to_string(nested) + " hits inside the agent were not recorded");
  if (outcome.exec_seen) {
    note("the program has executed " + outcome.new_exe + ", which is not recorded");
  }
  if (size_t forked = forked_processes(recording, child.pid())) {
    note(std::to_string(forked) + (forked == 1 ? " forked process is" : " forked processes are") +
         " in the file, too; programs that they executed are not");
  }
  if (outcome.stopped)
    note("recording has stopped; the program goes on as process " + std::to_string(child.pid()));
}

void print_summary(const Recording& recording, const TraceDatResult& result,
                   const Options& options) {
  note(std::to_string(recording.events() - result.events_lost) + " events, " +
       size_text(result.bytes) + " in " + options.output + "; lost " +
       std::to_string(recording.lost()) + " (" + per_cpu_text(recording) + ")");
}

// Says what a full or failing disk has taken. True when everything is saved.
bool report_disk(const TraceDatResult& result, const Recording& recording, const Options& options) {
  if (result.events_lost == 0 && result.pages_lost == 0) return true;
  fail("record", options.output + ": " + std::strerror(result.error ? result.error : EIO) + "; " +
                     std::to_string(recording.events() - result.events_lost) +
                     " events are saved in it, " + std::to_string(result.events_lost) +
                     " are not.");
  return false;
}

void remove_process_directory(const std::string& directory) {
  ::unlink((directory + "/" + serve::kSocketName).c_str());
  ::unlink((directory + "/" + serve::kBufferName).c_str());
  ::rmdir(directory.c_str());
}

int print_report(const std::string& output) {
  std::string words[] = {"report", "-i", output};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  ::optind = 0;  // getopt starts anew
  return run_report(3, argv);
}

// Writes the file. The buffer is kept when that failed: `patchbay recover` can still read it.
int finish(Recording& recording, const TracedChild& child, const Outcome& outcome,
           const Options& options, const std::string& directory) {
  Result<TraceDatResult> result = recording.finish();
  if (!result.ok()) {
    fail("record", result.error());
    return fail("record", "What is left of the recording is in " + directory +
                              "; patchbay recover reads it.");
  }
  bool saved = report_disk(*result, recording, options);
  if (!options.quiet) print_summary(recording, *result, options);
  if (!options.quiet) print_notes(recording, child, outcome);
  if (!outcome.stopped) remove_process_directory(directory);
  return saved ? kOk : kFailed;
}

// The program, held before main(), with its events defined; and the opened output.
struct Session {
  std::unique_ptr<OutputLock> lock;
  std::unique_ptr<TracedChild> child;
  std::unique_ptr<serve::Client> client;
  std::unique_ptr<Recording> recording;
  std::string directory;
};

Status start_program(const Options& options, Session* session) {
  Result<std::string> program = find_program(options.words[0]);
  if (!program.ok()) return program.error();
  std::vector<std::string> words = without_env(*program, options.words);
  if (words[0] != options.words[0]) program = find_program(words[0]);
  if (!program.ok()) return program.error();
  PB_TRY(check_program(*program));
  Result<std::unique_ptr<OutputLock>> lock = OutputLock::take(options.output);
  if (!lock.ok()) return lock.error();
  session->lock = std::move(*lock);
  Result<std::string> runtime = serve::runtime_directory(true);
  if (!runtime.ok()) return runtime.error();
  Result<EnvironmentList> environment = child_environment(options, *runtime);
  if (!environment.ok()) return environment.error();
  Result<std::unique_ptr<TracedChild>> child = TracedChild::start(words, *environment);
  if (!child.ok()) return child.error();
  session->child = std::move(*child);
  session->directory = *runtime + "/" + std::to_string(session->child->pid());
  return {};
}

Status prepare_recording(const Options& options, Session* session) {
  Result<std::unique_ptr<serve::Client>> client =
      session->child->wait_for_agent(session->directory);
  if (!client.ok()) return client.error();
  session->client = std::move(*client);
  PB_TRY(define_events(options, *session->client));
  Result<UniqueFd> fd = session->client->open_buffer();
  if (!fd.ok()) return fd.error();
  Result<std::unique_ptr<BufferFile>> buffer = BufferFile::from_fd(std::move(*fd), true);
  if (!buffer.ok()) return buffer.error();
  Result<std::unique_ptr<Recording>> recording =
      Recording::open(std::move(*buffer), options.output, options.version);
  if (!recording.ok()) return recording.error();
  session->recording = std::move(*recording);
  session->lock->keep();
  return session->child->release(*session->client);
}

}  // namespace

int run_record(int argc, char** argv) {
  Options options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  Session session;
  Status ready = start_program(options, &session);
  if (ready.ok()) ready = prepare_recording(options, &session);
  if (!ready.ok()) {
    bool started = session.child != nullptr;
    session.child.reset();  // held: it is killed, main() never ran
    if (started) remove_process_directory(session.directory);
    return fail("record", ready.error());
  }
  Outcome outcome =
      record_until_end(*session.child, *session.recording, *session.client, options.quiet);
  int written = finish(*session.recording, *session.child, outcome, options, session.directory);
  session.client.reset();
  while (!session.child->exited()) (void)session.child->wait(-1);
  if (outcome.stopped) remove_process_directory(session.directory);
  if (options.print && written == kOk) written = print_report(options.output);
  return session.child->exit_status() != 0 ? session.child->exit_status() : written;
}

}  // namespace patchbay::cmd
