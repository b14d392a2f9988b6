// SPDX-License-Identifier: MIT
//
// patchbay ship: recordings, or the rings of running processes, to a database.
//
//   recordings   ─────────────────────────────────────> blocks ──> server
//   rings ──> RingTaker (a thread of its own) ──> spool ──> blocks ──> server
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <set>
#include <thread>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cmd/common/commands.h"
#include "cmd/common/daemon_conf.h"
#include "cmd/ship/ring_taker.h"
#include "cmd/ship/ship_recording.h"
#include "cmd/ship/ship_spool.h"
#include "cmd/target/process_choice.h"
#include "serve/directory.h"
#include "ship/clickhouse_sink.h"
#include "ship/parquet_partitions.h"

namespace patchbay::cmd {
namespace {

constexpr int kTo = kFirstOptionId, kHost = kTo + 1, kDatabase = kTo + 2, kUser = kTo + 3,
              kPasswordFile = kTo + 4, kCluster = kTo + 5, kEvery = kTo + 6, kSpool = kTo + 7,
              kSpoolSize = kTo + 8, kPatience = kTo + 9, kRows = kTo + 10, kTimeout = kTo + 11;
constexpr Option kOptions[] = {
    {.name = "to",
     .argument = "URL|DIR/|null",
     .help = "ships to the ClickHouse server at URL, like http://127.0.0.1:8123; into DIR/, as "
             "Parquet files in folders of host, event, date and hour; to null it makes the rows "
             "and throws them away",
     .id = kTo},
    {.letter = 'i',
     .name = "input",
     .argument = "FILE",
     .help = "ships the recording FILE, which may be what patchbay report takes",
     .more = "A recording that is there already is not there twice.",
     .repeats = true},
    {.letter = 'p',
     .name = "pid",
     .argument = "PID",
     .help = "ships the rings of this process, by its id or its name, until it ends; several, as "
             "-p A -p B or -p A,B",
     .repeats = true},
    {.name = "all",
     .help = "ships the rings of all processes that have an agent, and of those that come",
     .id = kAllId},
    {.letter = 'e',
     .name = "event",
     .argument = "GLOB",
     .help = "ships only events that GLOB fits: EVENT, SYSTEM:EVENT or SYSTEM",
     .repeats = true},
    {.letter = 'f',
     .name = "filter",
     .argument = "FILTER",
     .help = "ships only events for which FILTER is true, in the language of the filter files"},
    {.name = "host",
     .argument = "NAME",
     .help = "names the machine; the default is what the recording says, or this one's name",
     .id = kHost},
    {.name = "database",
     .argument = "NAME",
     .help = "the database of the tables; the default is patchbay",
     .group = "The server",
     .id = kDatabase},
    {.name = "user", .argument = "NAME", .help = "the user of the database", .id = kUser},
    {.name = "password-file",
     .argument = "FILE",
     .help = "reads the user's password from the first line of FILE (mode 600)",
     .id = kPasswordFile},
    {.name = "cluster",
     .argument = "NAME",
     .help = "makes a Distributed table TABLE_all over this cluster beside each table",
     .id = kCluster},
    {.name = "timeout",
     .argument = "SECONDS",
     .help = "how long one request may take; the default is 60",
     .id = kTimeout},
    {.name = "patience",
     .argument = "SECONDS",
     .help = "gives up when the server was away for so long; the default is 60, of running "
             "processes for ever",
     .id = kPatience},
    {.name = "rows",
     .argument = "N",
     .help = "rows of a block; the default is 100000",
     .id = kRows},
    {.name = "every",
     .argument = "SECONDS",
     .help = "of running processes: ships what has come each SECONDS; the default is 5",
     .group = "Running processes",
     .id = kEvery},
    {.name = "spool",
     .argument = "DIR",
     .help = "keeps what waits for the server in DIR; the default is a directory beside those of "
             "the processes",
     .id = kSpool},
    {.name = "spool-size",
     .argument = "SIZE",
     .help = "how much may wait, as 512M or 4G; the default is 1G; the oldest goes first, and is "
             "counted",
     .id = kSpoolSize},
    kConfOption,
};

struct ShipOptions {
  std::string to, password_file, spool, wrong;
  ClickhouseChoice server;
  ShipRequest request;
  std::vector<std::string> inputs;
  ProcessChoice processes;
  int64_t every_ms = 5000;
  uint64_t spool_bytes = uint64_t{1} << 30;
  bool has_patience = false;
  bool is_folder() const { return to.find('/') != to.npos && to.find("://") == to.npos; }
  bool is_live() const { return processes.all || !processes.pids.empty(); }
};

// "512M": K, M, G.
bool parse_size(std::string_view text, uint64_t* bytes) {
  unsigned shift = 0;
  if (!text.empty() && !is_digit(text.back())) {
    const char unit = text.back();
    shift = unit == 'K' || unit == 'k' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 64;
    text.remove_suffix(1);
  }
  uint64_t number = 0;
  if (shift == 64 || !parse_positive(text, &number) || number > (uint64_t{1} << 40 >> shift))
    return false;
  *bytes = number << shift;
  return true;
}

const char* take_seconds(std::string_view value, int64_t* ms, const char* wrong) {
  double seconds = 0;
  if (!parse_positive(value, &seconds) || seconds > 1e6) return wrong;
  *ms = int64_t(seconds * 1000) + (seconds * 1000 < 1);
  return nullptr;
}

const char* take_server_option(int id, const std::string& value, ShipOptions* options) {
  int64_t ms = 0;
  const char* wrong = nullptr;
  switch (id) {
    case kDatabase:
      options->server.database = value;
      return value.empty() ? "--database takes a name." : nullptr;
    case kUser:
      options->server.user = value;
      return nullptr;
    case kPasswordFile:
      options->password_file = value;
      return nullptr;
    case kCluster:
      options->server.cluster = value;
      return nullptr;
    case kTimeout:
      wrong = take_seconds(value, &ms, "--timeout takes seconds.");
      options->server.request_seconds = long((ms + 999) / 1000);
      return wrong;
    case kPatience:
      wrong = take_seconds(value, &ms, "--patience takes seconds.");
      options->server.patience_seconds = long((ms + 999) / 1000);
      options->has_patience = true;
      return wrong;
    default:
      return nullptr;
  }
}

const char* take_option(int id, const std::string& value, ShipOptions* options) {
  switch (id) {
    case kTo:
      options->to = value;
      return nullptr;
    case 'i':
      options->inputs.push_back(value);
      return nullptr;
    case 'e':
      options->request.choice.events.push_back(value);
      return nullptr;
    case 'f':
      options->request.choice.filter = value;
      return nullptr;
    case kHost:
      options->request.host = value;
      return value.empty() ? "--host takes a name." : nullptr;
    case kRows:
      return parse_positive(value, &options->request.limits.rows) ? nullptr
                                                                  : "--rows takes a number.";
    case kEvery:
      return take_seconds(value, &options->every_ms, "--every takes seconds.");
    case kSpool:
      options->spool = value;
      return value.empty() ? "--spool takes a directory." : nullptr;
    case kSpoolSize:
      return parse_size(value, &options->spool_bytes) ? nullptr
                                                      : "--spool-size takes a size, as 512M.";
    default:
      if (is_process_option(id)) return options->processes.take(id, value);
      return take_server_option(id, value, options);
  }
}

// --- signals

// The first one ends the taking of rings, the second one the sending.
std::atomic<int> g_signals{0};
static_assert(std::atomic<int>::is_always_lock_free);
void count_signal(int) { g_signals.fetch_add(1); }

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = count_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

void say(const std::string& sentence) {
  std::fprintf(stderr, "patchbay ship: %s\n", printable(sentence).c_str());
}

// --- one recording

class Shipper {
 public:
  explicit Shipper(const ShipOptions& options) : options_(options) {}

  Status start() {
    if (options_.is_folder()) return {};
    if (options_.to == "null") {
      sink_ = std::make_unique<NullShipSink>();
      return {};
    }
    ClickhouseChoice choice = options_.server;
    choice.url = options_.to;
    choice.stop = &stop;
    PB_TRY(choice.read_password(options_.password_file));
    if (options_.is_live() && !options_.has_patience) choice.patience_seconds = 0;
    PB_ASSIGN(sink_, ClickhouseSink::make(choice, say));
    return {};
  }

  Status ship(const ShipRequest& request, const std::vector<ShipLoss>& more = {}) {
    return ship_recordings(request,
                           [&](ExportSource* source, const ShipOrigin& origin,
                               const std::vector<ShipLoss>& losses) -> Status {
                             std::vector<ShipLoss> all = losses;
                             all.insert(all.end(), more.begin(), more.end());
                             if (options_.is_folder()) {
                               ParquetPartitions files(origin, options_.to);
                               return ship_through(source, &files, all);
                             }
                             ShipConverter converter(origin, sink_.get(), request.limits);
                             return ship_through(source, &converter, all);
                           });
  }

  // Events that nobody can read any more.
  Status ship_loss(const ShipOrigin& origin, const ShipLoss& loss) {
    if (options_.is_folder()) {
      ParquetPartitions files(origin, options_.to);
      return ship_through(nullptr, &files, {loss});
    }
    ShipConverter converter(origin, sink_.get(), options_.request.limits);
    return ship_through(nullptr, &converter, {loss});
  }

  const ShipCounts& counts() const { return counts_; }
  std::atomic<bool> stop{false};

 private:
  // Without a source: the losses alone. export_all() ends the sink, so they come first.
  template <typename Sink>
  Status ship_through(ExportSource* source, Sink* sink, const std::vector<ShipLoss>& losses) {
    for (const ShipLoss& loss : losses) PB_TRY(sink->add_loss(loss));
    PB_TRY(source ? export_all(source, sink) : sink->end({}));
    const ShipCounts& one = sink->counts();
    counts_.rows += one.rows;
    counts_.blocks += one.blocks;
    counts_.bytes += one.bytes;
    counts_.lost += one.lost;
    counts_.refused += one.refused;
    for (const std::string& note : sink->notes())
      if (said_.insert(note).second) say(note);
    return {};
  }

  const ShipOptions& options_;
  std::unique_ptr<ShipSink> sink_;
  ShipCounts counts_;
  std::set<std::string> said_;
};

int say_counts(const ShipCounts& counts, const std::string& to) {
  std::string text = std::to_string(counts.rows) + (counts.rows == 1 ? " row" : " rows") + " in " +
                     std::to_string(counts.blocks) + (counts.blocks == 1 ? " block" : " blocks") +
                     " (" + size_text(counts.bytes) + ") to " + to;
  if (counts.lost) text += "; " + std::to_string(counts.lost) + " lost events are told there";
  if (counts.refused) text += "; " + std::to_string(counts.refused) + " rows were refused";
  say(text);
  return counts.refused ? kFailed : kOk;
}

int ship_files(const ShipOptions& options) {
  Shipper shipper(options);
  if (const Status started = shipper.start(); !started.ok()) return fail("ship", started.error());
  // Whoever waits for an answer is told at once.
  std::atomic<bool> is_over{false};
  std::thread watch([&] {
    while (!is_over) {
      if (g_signals > 0) shipper.stop = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  Status done;
  for (const std::string& input : options.inputs) {
    ShipRequest request = options.request;
    request.path = input;
    done = shipper.ship(request);
    if (!done.ok()) break;
  }
  is_over = true;
  watch.join();
  if (!done.ok()) return fail("ship", done.error());
  return say_counts(shipper.counts(), options.to);
}

// --- rings

ShipOrigin origin_of_this_machine(const std::string& host) {
  ShipOrigin origin;
  utsname names;
  origin.host = !host.empty() ? host : ::uname(&names) == 0 ? names.nodename : "";
  if (Result<std::string> id = read_file("/proc/sys/kernel/random/boot_id"); id.ok())
    (void)parse_boot_id(trim(*id), &origin.boot_id);
  timespec real{};
  ::clock_gettime(CLOCK_REALTIME, &real);
  origin.wall_offset =
      int64_t(real.tv_sec) * 1'000'000'000 + int64_t(real.tv_nsec) - int64_t(monotonic_ns());
  origin.has_wall = true;
  return origin;
}

class LiveShip {
 public:
  LiveShip(const ShipOptions& options, ShipSpool* spool, RingChoice choice)
      : options_(options),
        spool_(spool),
        taker_(std::move(choice), spool, say),
        shipper_(options) {}

  int run() {
    if (const Status started = shipper_.start(); !started.ok())
      return fail("ship", started.error());
    std::thread thread([this] { take(); });
    Status done;
    while (done.ok()) {
      const bool was_over = taking_is_over_;
      const std::vector<Segment> waiting = spool_->segments();
      if (waiting.empty() && was_over) break;
      for (const Segment& segment : waiting) {
        spool_->hold(segment.meta.source);
        done = ship(segment);
        spool_->hold(0);
        if (!done.ok() || shipper_.stop) break;
      }
      if (waiting.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    sending_is_over_ = true;
    g_signals.fetch_add(done.ok() ? 0 : 1);
    thread.join();
    const size_t left = spool_->segments().size();
    if (left)
      say(std::to_string(left) + " pieces (" + size_text(spool_->bytes()) +
          ") wait in the spool for the next patchbay ship");
    const int status = say_counts(shipper_.counts(), options_.to);
    if (!done.ok() && done.error().errno_value != EINTR) return fail("ship", done.error());
    return left ? kFailed : status;
  }

 private:
  static constexpr int64_t kLastWordsMs = 10000;  // for the server, after Ctrl-C

  void take() {
    while (g_signals == 0 && !taker_.is_over()) {
      const unsigned filled = taker_.turn();
      if (filled < 25) std::this_thread::sleep_for(std::chrono::milliseconds(filled ? 5 : 50));
    }
    taker_.finish();
    taking_is_over_ = true;
    const int64_t until = monotonic_ms() + kLastWordsMs;
    while (!sending_is_over_) {
      if (g_signals > 1 || (g_signals > 0 && monotonic_ms() > until)) shipper_.stop = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  Status ship(const Segment& segment) {
    if (segment.bytes && !segment.meta.dropped) {
      ShipRequest request = options_.request;
      request.path = segment.data();
      request.source = segment.meta.source;
      const Status done = shipper_.ship(request);
      if (!done.ok() && is_of_the_server(done.error())) return done;
      if (done.ok()) return spool_->done(segment);
      say(done.error().message());
    }
    // What cannot be read is counted.
    ShipOrigin origin = origin_of_this_machine(options_.request.host);
    origin.source = segment.meta.source;
    ShipLoss loss;
    loss.ns = uint64_t(segment.meta.wall_ns - origin.wall_offset);
    loss.pid = segment.meta.pid;
    loss.reason = segment.meta.dropped ? "spool" : "damaged";
    loss.lost = segment.meta.events;
    PB_TRY(shipper_.ship_loss(origin, loss));
    return spool_->done(segment);
  }

  static bool is_of_the_server(const Error& error) {
    return error.errno_value == ETIMEDOUT || error.errno_value == EINTR ||
           error.errno_value == EACCES || error.errno_value == ENOPKG;
  }

  const ShipOptions& options_;
  ShipSpool* spool_;
  RingTaker taker_;
  Shipper shipper_;
  std::atomic<bool> taking_is_over_{false}, sending_is_over_{false};
};

int ship_rings(const ShipOptions& options) {
  RingChoice choice;
  Result<std::string> runtime = serve::runtime_directory(true);
  if (!runtime.ok()) return fail("ship", runtime.error());
  choice.runtime = *runtime;
  choice.pids = {options.processes.pids.begin(), options.processes.pids.end()};
  choice.segment_ms = options.every_ms;
  const std::string directory = options.spool.empty() ? *runtime + "/ship.spool" : options.spool;
  auto spool = ShipSpool::open(directory, options.spool_bytes);
  if (!spool.ok()) return fail("ship", spool.error());
  return LiveShip(options, spool->get(), std::move(choice)).run();
}

const char* check(const ShipOptions& options) {
  if (options.to.empty())
    return "--to is needed: the address of a server, a directory as DIR/, or null.";
  if (options.is_live() && !options.inputs.empty())
    return "A recording and running processes are shipped by two commands.";
  if (options.processes.has_groups()) return "Processes are named by -p or --all.";
  if (!options.is_live() && options.inputs.empty())
    return "Name a recording with -i, a process with -p, or say --all.";
  return nullptr;
}

}  // namespace

constexpr CommandLine kShipLine = {
    .name = "ship",
    .summary = "send events to ClickHouse, of recordings or of running processes",
    .synopsis =
        "ship --to URL|DIR/ [OPTION...] -i FILE...\n"
        "ship --to URL|DIR/ [OPTION...] -p PID|--all",
    .about = R"(Sends each kind of events to a table of its own, which is made from the format of
the event, with the host, boot, process, thread and time of each. Each row is
there once, whatever dies on the way: ask again, and what is there is not sent.
Events that were lost are rows of the table patchbay_losses.

Of running processes it reads the rings, which somebody else has filled
(patchbay start, the file of the agent), and the programs do not notice. What
the server does not take waits in a spool.

)",
    .options = {kOptions},
    .after =
        "Example: patchbay record -e 'malloc(u64 size)' -- ls\n"
        "         patchbay ship --to http://127.0.0.1:8123 -i trace.dat\n",
    .words = "FILE",
};

int run_ship(int argc, char** argv) {
  ShipOptions options;
  const auto take = [&](int id, const char* value) { return take_option(id, value, &options); };
  DaemonConf conf;
  if (const std::optional<int> ended =
          parse_options_with_conf(kShipLine, "ship", argc, argv, take, &conf))
    return *ended;
  while (::optind < argc) options.inputs.push_back(argv[::optind++]);
  if (const char* wrong = check(options)) return usage_error("ship", wrong);
  if (options.to != "null" && !options.is_folder())
    if (const Status url = check_server_url(options.to); !url.ok())
      return usage_error("ship", url.error().message());
  catch_signals();
  return options.is_live() ? ship_rings(options) : ship_files(options);
}

}  // namespace patchbay::cmd
