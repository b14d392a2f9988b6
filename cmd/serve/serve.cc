// SPDX-License-Identifier: MIT
//
// patchbay serve: the counts of all processes of a host, for Prometheus.
//
//   main thread   who comes (collector.h), the rules of [attach] (attach_rules.h), slow clients
//   a thread a connection, at most kConnections     answer_request (requests.h)
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "base/monotonic_clock.h"
#include "base/output_file.h"
#include "cmd/common/commands.h"
#include "cmd/common/daemon_conf.h"
#include "cmd/common/descriptors.h"
#include "cmd/common/print_file.h"
#include "cmd/serve/alerts.h"
#include "cmd/serve/attach_rules.h"
#include "cmd/serve/collector.h"
#include "cmd/serve/daemon_state.h"
#include "cmd/serve/made_token.h"
#include "cmd/serve/requests.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr unsigned kConnections = 64, kIdleSeconds = 30, kBusySeconds = 60;
constexpr size_t kMostBody = 1 << 20;
constexpr int kTurnMs = 200;
constexpr int64_t kSweepMs = 1000, kRulesMs = 2000;

enum Id : int {
  kListen = kFirstOptionId,
  kTokenFile,
  kNoToken,
  kTlsCert,
  kTlsKey,
  kFileSd,
  kOnAlert,
  kAlerts,
  kMostKeys,
  kMostSeries,
};

constexpr Option kOptions[] = {
    {.name = "listen",
     .argument = "ADDRESS:PORT",
     .help = "listens there; the default is 127.0.0.1:9797, port 0 is a free one",
     .more = "An address other than loopback needs --token-file, --tls-cert and --tls-key.",
     .group = "Where",
     .id = kListen},
    {.name = "token-file",
     .argument = "FILE",
     .help = "answers those only that send the token in FILE as Authorization: Bearer; the default "
             "is a new token in serve.token of the runtime directory",
     .more = "FILE is readable by its owner alone.",
     .id = kTokenFile},
    {.name = "no-token",
     .help = "answers every user of this machine, who then reads what all these processes count, "
             "and the texts in their keys",
     .id = kNoToken},
    {.name = "tls-cert",
     .argument = "FILE",
     .help = "speaks TLS, with the certificates in FILE",
     .id = kTlsCert},
    {.name = "tls-key",
     .argument = "FILE",
     .help = "names the key of the certificate, readable by its owner alone",
     .id = kTlsKey},
    {.name = "file-sd",
     .argument = "FILE",
     .help = "writes FILE, for file_sd_configs of Prometheus; /sd is the same for http_sd_configs",
     .id = kFileSd},
    {.name = "most-keys",
     .argument = "N",
     .help = "gives N series to a histogram, those of its largest keys; the rest is in one more; "
             "the default is 1000",
     .group = "What",
     .id = kMostKeys},
    {.name = "most-series",
     .argument = "N",
     .help = "gives N series to all processes together; the default is 500000",
     .id = kMostSeries},
    {.name = "on-alert",
     .argument = "ACTION",
     .help = "does ACTION when alertmanager posts an alert to /alert: 'snapshot, keep 10'",
     .more = "The process that the labels pid and start name gets a snapshot of its buffer (of the "
             "instance that exported_instance names), which becomes a trace.dat. The newest 10 "
             "stay. It needs --token-file.",
     .id = kOnAlert},
    {.name = "alert-directory",
     .argument = "DIR",
     .help = "keeps these files in DIR; the default is alerts in the runtime directory",
     .id = kAlerts},
    kConfOption,
};

struct ServeOptions {
  ListenAddress listen;
  std::string token_file, certificate_file, key_file, file_sd, alert_directory;
  bool no_token = false;
  std::optional<AlertAction> on_alert;
  SeriesBounds bounds;
  std::string wrong;  // keeps the sentence about an option

  const char* take(int id, const char* value);
  const char* check() const;
};

const char* ServeOptions::take(int id, const char* value) {
  const auto refuse = [this](const Error& error) { return (wrong = error.message()).c_str(); };
  switch (id) {
    case kListen: {
      Result<ListenAddress> parsed = parse_listen(value);
      if (!parsed.ok()) return refuse(parsed.error());
      listen = *parsed;
      return nullptr;
    }
    case kOnAlert: {
      Result<AlertAction> parsed = parse_alert_action(value);
      if (!parsed.ok()) return refuse(parsed.error());
      on_alert = *parsed;
      return nullptr;
    }
    case kNoToken:
      no_token = true;
      return nullptr;
    case kMostKeys:
      return parse_positive(value, &bounds.most_keys) ? nullptr : "--most-keys takes a number.";
    case kMostSeries:
      return parse_positive(value, &bounds.most_series) ? nullptr : "--most-series takes a number.";
    default:
      (id == kTokenFile ? token_file
       : id == kTlsCert ? certificate_file
       : id == kTlsKey  ? key_file
       : id == kFileSd  ? file_sd
                        : alert_directory) = value;
      return *value ? nullptr : "A name of a file is needed.";
  }
}

const char* ServeOptions::check() const {
  if (certificate_file.empty() != key_file.empty()) return "--tls-cert and --tls-key go together.";
  if (no_token && !token_file.empty()) return "--no-token and --token-file exclude each other.";
  if (!listen.is_loopback() && token_file.empty())
    return "An address that others can reach needs --token-file: else anybody reads what runs "
           "here.";
  if (!listen.is_loopback() && certificate_file.empty())
    return "An address that others can reach needs --tls-cert and --tls-key: else anybody on the "
           "way reads the token.";
  if (on_alert && token_file.empty()) return "--on-alert needs --token-file.";
  return nullptr;
}

// A whole new file in the place of the old one.
Status write_file(const std::string& path, const std::string& text) {
  PB_ASSIGN(OutputFile file, OutputFile::replacement(path, ".new"));
  PB_TRY(file.write(text));
  return file.take_place();
}

// All that one daemon is made of.
struct Daemon {
  ServeOptions options;
  DaemonConf conf;
  std::string runtime, url;
  std::unique_ptr<DaemonState> state;
  std::unique_ptr<MadeToken> made_token;  // null: a file of the user's has it, or there is none
  std::unique_ptr<Collector> collector;
  std::unique_ptr<Alerts> alerts;
  std::unique_ptr<RuledProcesses> ruled;
  size_t nr_rules = 0;
  std::atomic<uint16_t> port = 0;
  ServedThings things;
  std::unique_ptr<WebServer> server;  // ends first

  Status start();
  Status start_server();
  std::string token_file() const;
  void note_state() const;
  void turn();
  int64_t swept_ms = 0, ruled_ms = 0;
};

Status Daemon::start() {
  PB_ASSIGN(runtime, serve::runtime_directory(!serve::directory_is_chosen() || ::geteuid() != 0));
  PB_ASSIGN(std::vector<AttachRule> rules, attach_rules(conf));
  nr_rules = rules.size();
  PB_ASSIGN(state, DaemonState::hold(runtime));
  raise_descriptor_limit();
  collector = std::make_unique<Collector>(runtime, options.bounds);
  ruled = std::make_unique<RuledProcesses>(std::move(rules), runtime);
  if (options.on_alert)
    alerts = std::make_unique<Alerts>(*options.on_alert, options.alert_directory.empty()
                                                             ? runtime + "/alerts"
                                                             : options.alert_directory);
  return start_server();
}

Status Daemon::start_server() {
  WebSettings settings{.address = options.listen.address,
                       .port = options.listen.port,
                       .connections = kConnections,
                       .idle_seconds = kIdleSeconds,
                       .busy_seconds = kBusySeconds,
                       .most_body = kMostBody,
                       .threads = true};
  if (!options.token_file.empty()) {
    PB_ASSIGN(things.token, read_secret(options.token_file));
  } else if (!options.no_token) {
    PB_ASSIGN(made_token, MadeToken::make(runtime));
    things.token = made_token->text();
  }
  const bool has_tls = !options.certificate_file.empty();
  if (has_tls) {
    PB_ASSIGN(settings.certificate, read_pem(options.certificate_file, false));
    PB_ASSIGN(settings.key, read_pem(options.key_file, true));
  }
  things.metrics = [this](const std::string& scraper, Format format) {
    return collector->scrape(scraper, format);
  };
  if (alerts)
    things.alert = [this](const std::vector<Alert>& fired, std::string* answer) {
      std::string error;
      const size_t made = alerts->take(fired, collector->agents(), &error);
      *answer = std::to_string(made) + " snapshots\n" + (error.empty() ? "" : error + "\n");
      return error.empty();
    };
  // Where the port is the kernel's choice, requests may come before we know it.
  things.targets = [this, address = options.listen, has_tls]() mutable {
    address.port = port;
    return address.port ? targets_json(address.text(), has_tls) : "[]\n";
  };
  PB_ASSIGN(server, WebServer::start(settings, [this](const HttpRequest& request) {
              return answer_request(request, things);
            }));
  options.listen.port = server->port();
  port = server->port();
  url = (has_tls ? "https://" : "http://") + options.listen.text() + "/metrics";
  if (!options.file_sd.empty())
    PB_TRY(write_file(options.file_sd, targets_json(options.listen.text(), has_tls)));
  return {};
}

// Empty: there is no token.
std::string Daemon::token_file() const {
  return made_token ? made_token->path() : options.token_file;
}

void Daemon::note_state() const {
  state->write("{\"pid\": " + std::to_string(::getpid()) + ", \"url\": " + json_quote(url) +
               ", \"token_file\": " + json_quote(token_file()) +
               ", \"conf\": " + json_quote(conf.path) + ", \"rules\": " + std::to_string(nr_rules) +
               ", " + collector->state_json() + "}");
}

void Daemon::turn() {
  server->run(kTurnMs);
  const int64_t now_ms = monotonic_ms();
  if (now_ms >= ruled_ms + kRulesMs) {
    ruled->look();
    ruled_ms = monotonic_ms();
  }
  if (now_ms >= swept_ms + kSweepMs) {
    collector->sweep();
    note_state();
    swept_ms = monotonic_ms();
  }
}

std::string who_may_ask(const std::string& token_file) {
  if (token_file.empty()) return "every user of this machine may ask";
  return "who asks sends the token in " + token_file +
         "; prometheus.yml: authorization: {credentials_file: " + token_file + "}";
}

int serve(Daemon* daemon) {
  if (const Status started = daemon->start(); !started.ok()) return fail("serve", started.error());
  stop_on_interrupt();
  (void)::signal(SIGPIPE, SIG_IGN);
  daemon->note_state();
  const bool is_printed = std::printf("%s\n", daemon->url.c_str()) > 0 && std::fflush(stdout) == 0;
  if (!is_printed) return fail("serve", "the address cannot be printed");
  std::fprintf(stderr, "[ patchbay serve: %s ]\n", who_may_ask(daemon->token_file()).c_str());
  while (!interrupted()) daemon->turn();
  daemon->server.reset();
  if (!daemon->options.file_sd.empty()) ::unlink(daemon->options.file_sd.c_str());
  return kOk;
}

}  // namespace

constexpr CommandLine kServeLine = {
    .name = "serve",
    .summary = "serve the counts of all processes to Prometheus",
    .synopsis = "serve [OPTION...]",
    .about = R"(Serves what the processes with an agent count, over HTTP, as metrics: their
histograms, their probes, the functions of the profiler, and what their buffers
recorded and lost. It switches nothing on, and reads what there is when somebody
asks. It prints the address, and runs until Ctrl-C, or a SIGTERM.

Text, OpenMetrics and protobuf with native histograms are answered, as the
scraper prefers. Histograms with a key .log2 or a value .counters are histograms
there, all others are counters.

The sections [serve] and [attach] of /etc/patchbay/patchbay.conf are read first:
the options below by their names, and which processes get which events.

)",
    .options = {kOptions},
    .after = R"(Example: patchbay write 1234 events/http/request/trigger \
             hist:keys=status:vals=ns.counters && patchbay serve
)",
};

int run_serve(int argc, char** argv) {
  Daemon daemon;
  const auto take = [&](int id, const char* value) { return daemon.options.take(id, value); };
  if (const std::optional<int> ended =
          parse_options_with_conf(kServeLine, "serve", argc, argv, take, &daemon.conf))
    return *ended;
  if (::optind < argc) return too_much(kServeLine, argv);
  if (const char* wrong = daemon.options.check()) return usage_error("serve", wrong);
  return serve(&daemon);
}

}  // namespace patchbay::cmd
