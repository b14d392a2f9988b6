// SPDX-License-Identifier: MIT
//
// patchbay mirror: events of a process become events of the kernel's own tools for as long as this
// command runs (docs/mirror.md).
//
//   in the process   the trigger `mirror`, and with it the file with the probe     (ToolUses)
//   in the kernel    a line of uprobe_events, where we have the rights             (KernelMirrors)
//   print how to listen; wait for Ctrl-C, or the end of the process
//   take back the line, then the trigger
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "cmd/common/run_time.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/record/record.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/attachment.h"
#include "cmd/target/event_definition.h"
#include "cmd/target/process_word.h"
#include "cmd/target/target_program.h"
#include "cmd/target/tool_uses.h"
#include "event/event_call.h"
#include "mirror/mirror_layout.h"
#include "mirror/mirror_stubs.h"
#include "serve/directory.h"
#include "uprobes/kernel_mirrors.h"

namespace patchbay::cmd {
namespace {

constexpr int kClean = kFirstOptionId;
constexpr Option kOptions[] = {
    kPidOption,
    {.letter = 'f',
     .name = "filter",
     .argument = "FILTER",
     .help = "shows only hits that FILTER matches, of each of the events; it is tested in the "
             "process, before the kernel is entered"},
    {.name = "clean",
     .help = "removes what mirrors of killed commands have left, and ends",
     .id = kClean},
};

struct Options {
  int pid = 0;
  std::string filter;
  std::vector<std::string> events;
  bool clean = false;
};

struct Session {
  const Options& options;
  serve::Client& client;
  std::string directory;  // DIR/PID
  std::unique_ptr<ToolUses> uses;
  AppliedRequest applied;
  std::unique_ptr<KernelMirrors> kernel;  // null: no rights
  std::string text;                       // what is printed when all is set up
};

// The trigger that is there, as the file shows it: "mirror:unlimited if n > 3".
std::string mirror_line(serve::Client& client, const std::string& event_path) {
  Result<std::string> triggers = client.read_all(event_path + "/trigger");
  for (const std::string& line : split_lines(triggers.ok() ? *triggers : std::string()))
    if (line.starts_with("mirror")) return line;
  return "";
}

Status set_trigger(Session* session, const std::string& name, const std::string& event_path) {
  const std::string file = event_path + "/mirror", &filter = session->options.filter;
  PB_ASSIGN(const std::string before, session->client.read_all(file));
  if (before == "0\n") {
    session->uses->keep_file(file, before);
    const std::string trigger = "mirror" + (filter.empty() ? "" : " if " + filter) + "\n";
    return session->client.write_all(event_path + "/trigger", trigger, false);
  }
  (void)session->uses->share(ToolUse::Kind::kFile, file);
  const std::string line = mirror_line(session->client, event_path);
  const size_t condition = line.find(" if ");
  const std::string has = condition == line.npos ? "" : line.substr(condition + 4);
  if (filter.empty() && !has.empty()) remark(name + " is mirrored already, as '" + line + "'");
  if (filter.empty() || filter == has) return {};
  return user_error(EBUSY, name + " is mirrored already, as '" + line +
                               "', and all listeners see what its one filter lets through.");
}

// "arg0 = n (s32), arg1 = name (text)"
std::string arguments_text(const MirrorLayout& layout) {
  std::string text;
  size_t number = 0;
  for (const MirrorField& field : layout.fields) {
    if (field.usdt.empty() || number == kMostUsdtArguments) continue;
    text += (number ? ", arg" : "arg") + std::to_string(number) + " = " + field.name + " (" +
            field.type + ")";
    number++;
  }
  return text;
}

std::string bpf_example(const MirrorLayout& layout) {
  size_t number = 0;
  for (const MirrorField& field : layout.fields) {
    if (field.usdt.empty()) continue;
    const std::string argument = "arg" + std::to_string(number++);
    if (field.type == "text") return "@[str(" + argument + ")] = count();";
  }
  return "@ = count();";
}

Status mirror_event(Session* session, const std::string& name) {
  const std::string event_path = "events/" + with_slash(name);
  PB_TRY(set_trigger(session, name, event_path));
  PB_ASSIGN(const std::string format, session->client.read_all(event_path + "/format"));
  PB_ASSIGN(const EventCall call, parse_format(name.substr(0, name.find(':')), format));
  const MirrorLayout layout = mirror_layout(call);
  const std::string file =
      session->directory + "/mirror/" + mirror_file_name(call.system, call.name);
  if (::access(file.c_str(), F_OK) != 0)
    return user_error(errno, name + ": its file " + file +
                                 " has been removed; `patchbay write` 0 and 1 to " + event_path +
                                 "/mirror makes it anew.");
  const std::string pid = std::to_string(session->client.pid());
  std::string& text = session->text;
  text += name + " is mirrored in process " + pid + "\n";
  if (session->kernel) {
    std::vector<std::string> left_out;
    PB_ASSIGN(const std::string kernel_name,
              session->kernel->add(call, file, session->client.pid(), &left_out));
    if (kernel_name != name)
      remark("the kernel has an event " + name + " already; this one is " + kernel_name + " there");
    for (const std::string& field : left_out)
      remark(name + ": the kernel has no type for the field '" + field + "', and is not given it");
    text += "  perf record -e " + kernel_name + " -p " + pid + "\n";
    text += "  trace-cmd record -e " + kernel_name + "\n";
  }
  text += "  bpftrace -p " + pid + " -e 'usdt:" + file + ":" + name + " { " + bpf_example(layout) +
          " }'\n";
  if (const std::string arguments = arguments_text(layout); !arguments.empty())
    text += "    " + arguments + "\n";
  return {};
}

// Nobody's rights are needed for the probe itself: who has them finds it in its file.
Status open_kernel(Session* session, const std::string& runtime) {
  Result<std::unique_ptr<KernelMirrors>> kernel = KernelMirrors::open(runtime);
  if (kernel.ok()) {
    session->kernel = std::move(*kernel);
    return {};
  }
  const int error = kernel.error().errno_value;
  if (error != EPERM && error != EACCES) return kernel.error();
  remark(
      "the kernel's uprobe_events stays as it is, so that perf and trace-cmd do not see the "
      "events: " +
      kernel.error().message() + "; a user who may, finds the probes in their files");
  return {};
}

Status set_up(Session* session, const std::string& runtime) {
  PB_TRY(open_kernel(session, runtime));
  PB_ASSIGN(session->uses, ToolUses::begin(session->client, session->directory));
  session->applied.uses = session->uses.get();
  for (const std::string& text : session->options.events) {
    const EventRequest request{text, ""};
    Result<std::vector<std::string>> names =
        define_event(session->client, request, &session->applied);
    if (!names.ok()) return names.error();
    for (const std::string& name : *names) PB_TRY(mirror_event(session, name));
  }
  session->uses->ready();
  run_time_begins();
  return {};
}

// Listeners have to go before their event does.
int take_back(Session* session) {
  int status = kOk;
  if (session->kernel)
    for (const std::string& event : session->kernel->remove())
      status = fail("mirror", event +
                                  " is still listened to, and stays an event of the kernel's; "
                                  "when that has ended, `patchbay mirror --clean` removes it.");
  session->kernel.reset();
  if (session->uses) session->uses->release();
  return status;
}

void wait_for_end(const serve::Client& client, int signals) {
  for (;;) {
    pollfd polled[] = {{signals, POLLIN, 0}, {client.descriptor(), 0, 0}};
    if (::poll(polled, 2, -1) < 0 && errno != EINTR) return;
    if (polled[0].revents || polled[1].revents) return;
  }
}

int mirror(const Options& options) {
  const UniqueFd signals = watch_signals();
  Attachment attachment;
  Result<std::unique_ptr<serve::Client>> client = attach_if_needed(options.pid, &attachment);
  if (!client.ok()) return fail("mirror", client.error());
  attachment.deliver_signals();
  Result<std::string> runtime = serve::runtime_directory(false);
  if (!runtime.ok()) return fail("mirror", runtime.error());
  Session session{options, **client, *runtime + "/" + std::to_string((*client)->pid()), {}, {},
                  {},      {}};
  if (Status ready = set_up(&session, *runtime); !ready.ok()) {
    (void)take_back(&session);
    return fail("mirror", ready.error());
  }
  std::printf("%s", printable(session.text).c_str());
  std::fflush(stdout);
  wait_for_end(**client, signals.get());
  if ((*client)->gone())
    remark("process " + std::to_string((*client)->pid()) + " has ended, and its mirrors with it");
  return take_back(&session);
}

// What killed commands have put into processes, and into the kernel.
int clean() {
  Result<std::string> runtime = serve::runtime_directory(false);
  if (!runtime.ok()) return fail("mirror", runtime.error());
  Result<std::vector<serve::ProcessEntry>> processes = serve::list_processes(*runtime);
  for (const serve::ProcessEntry& one :
       processes.ok() ? *processes : std::vector<serve::ProcessEntry>()) {
    if (one.state != serve::ProcessState::kAlive) continue;
    Result<std::unique_ptr<serve::Client>> client = serve::Client::connect_directory(one.directory);
    if (client.ok()) (void)ToolUses::begin(**client, one.directory);
  }
  for (const std::string& event : remove_mirror_leftovers(*runtime, false))
    std::printf("removed %s of the kernel's uprobe_events: its command has ended\n",
                printable(event).c_str());
  return kOk;
}

}  // namespace

constexpr CommandLine kMirrorLine = {
    .name = "mirror",
    .summary = "show events of a process to perf, trace-cmd and bpftrace",
    .synopsis = "mirror [-p PID] [-f FILTER] EVENT...\nmirror --clean",
    .about = R"(Makes events of a running process events of the kernel, as long as this command
runs: perf, trace-cmd, bpftrace and programs of libbpf can listen to them, beside
those of the kernel. It prints how. Their fields have the same names and values.
While nobody listens a hit costs next to nothing.

EVENT is what `record -e` takes: SYSTEM:EVENT, 'FUNC(ARGS)', 'p:NAME PLACE ARG'.
Root is needed to listen, and for the event of the kernel; without it there is the
USDT probe alone.

)",
    .options = {kOptions},
    .after = R"(Example: patchbay mirror -p 1234 'getenv(string name)' &
         perf record -e functions:getenv -p 1234 sleep 5; perf script
)",
    .words = "EVENT...",
    .attaches = true,
    .lasts = true,
};

int run_mirror(int argc, char** argv) {
  Options options;
  const auto take = [&](int id, const char* value) -> const char* {
    if (id == 'p') return take_pid(value, &options.pid);
    if (id == 'f') options.filter = value;
    options.clean |= id == kClean;
    return id == 'f' && !*value ? "-f takes a filter." : nullptr;
  };
  if (const std::optional<int> ended = parse_options(kMirrorLine, argc, argv, take)) return *ended;
  if (options.clean) return ::optind < argc ? too_much(kMirrorLine, argv) : clean();
  if (options.pid == 0 && ::optind < argc && parse_pid(argv[::optind], &options.pid)) ::optind++;
  for (int i = ::optind; i < argc; i++) options.events.emplace_back(argv[i]);
  if (options.events.empty()) return usage_error("mirror", "An event is needed.");
  return mirror(options);
}

}  // namespace patchbay::cmd
