// SPDX-License-Identifier: MIT
#include "agent/environment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/unique_fd.h"

namespace patchbay {
namespace {

// What may stand in a configuration file, and so where all of read_settings() comes from.
constexpr std::string_view kVariables[] = {
    "PATCHBAY_BUFFER_SIZE_KB",
    "PATCHBAY_OVERWRITE",
    "PATCHBAY_TRACE_BUF_SIZE",
    "PATCHBAY_FUNCTION_EVENTS",
    "PATCHBAY_KPROBE_EVENT",
    "PATCHBAY_TRACE_EVENT",
    "PATCHBAY_TRACE_TRIGGER",
    "PATCHBAY_TRACE_OPTIONS",
    "PATCHBAY_TRACE_CLOCK",
    "PATCHBAY_ALLOC_SNAPSHOT",
    "PATCHBAY_TRACE_INSTANCE",
    "PATCHBAY_FTRACE",
    "PATCHBAY_FTRACE_FILTER",
    "PATCHBAY_FTRACE_NOTRACE",
    "PATCHBAY_FTRACE_GRAPH_FILTER",
    "PATCHBAY_FTRACE_GRAPH_NOTRACE",
    "PATCHBAY_FTRACE_GRAPH_MAX_DEPTH",
    "PATCHBAY_TRACING_THRESH",
};

// The kernel's parameters of these names, in the order in which they are carried out.
constexpr struct {
  const char *variable, *file;
} kVariableWrites[] = {
    {"PATCHBAY_FTRACE_FILTER", "set_ftrace_filter"},
    {"PATCHBAY_FTRACE_NOTRACE", "set_ftrace_notrace"},
    {"PATCHBAY_FTRACE_GRAPH_FILTER", "set_graph_function"},
    {"PATCHBAY_FTRACE_GRAPH_NOTRACE", "set_graph_notrace"},
    {"PATCHBAY_FTRACE_GRAPH_MAX_DEPTH", "max_graph_depth"},
    {"PATCHBAY_TRACING_THRESH", "tracing_thresh"},
    {"PATCHBAY_FTRACE", "current_tracer"},
};

constexpr size_t kMostOfAFile = 1 << 20;

using Given = std::map<std::string, std::string, std::less<>>;
const Given* g_given = nullptr;  // null: the environment counts

const char* variable(std::string_view name) {
  if (!g_given) return std::getenv(std::string(name).c_str());
  const auto found = g_given->find(name);
  return found == g_given->end() ? nullptr : found->second.c_str();
}

// An empty text: `failure` says why it cannot be read. A file that others may write to would let
// them decide what is recorded here, so it is refused.
std::string read_conf_file(const char* path, std::string* failure) {
  UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info = {};
  std::string text;
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return *failure = std::strerror(errno), text;
  if (!S_ISREG(info.st_mode)) return *failure = "This is not an ordinary file.", text;
  const uid_t user = ::geteuid();
  if (user != 0 && info.st_uid != user && info.st_uid != 0)
    return *failure = "It belongs to another user: chown it to this user or to root.", text;
  if (info.st_mode & S_IWOTH) return *failure = "Everybody may write to it: chmod o-w it.", text;
  char part[4096];
  for (ssize_t count; (count = ::read(fd.get(), part, sizeof part)) != 0;) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return *failure = std::strerror(errno), std::string();
    text.append(part, size_t(count));
    if (text.size() > kMostOfAFile) return *failure = "It is larger than 1 MiB.", std::string();
  }
  return text;
}

std::vector<ConfSource> read_sources() {
  std::vector<ConfSource> sources;
  if (const char* path = variable("PATCHBAY_CONFIG"); path && *path) {
    ConfSource source{path, "", {}};
    source.conf = tracefs::parse_conf(read_conf_file(path, &source.failure));
    sources.push_back(std::move(source));
  }
  if (const char* text = variable("PATCHBAY_CONFIG_TEXT"); text && *text)
    sources.push_back({"PATCHBAY_CONFIG_TEXT", "", tracefs::parse_conf(text)});
  return sources;
}

// The variables of the environment, and, where it has none, of the sources.
class Variables {
 public:
  explicit Variables(AgentSettings* settings) {
    for (ConfSource& source : settings->sources)
      for (const tracefs::ConfItem& item : source.conf.items)
        if (item.kind == tracefs::ConfKind::kVariable) take(settings, &source, item);
  }

  // Null: it is not set.
  const char* get(const char* name) const {
    if (const char* value = variable(name)) return value;
    const auto found = of_sources_.find(name);
    return found == of_sources_.end() ? nullptr : found->second.c_str();
  }
  std::string_view text(const char* name) const { return get(name) ?: ""; }

 private:
  void take(AgentSettings* settings, ConfSource* source, const tracefs::ConfItem& item) {
    const auto* known = std::find(std::begin(kVariables), std::end(kVariables), item.name);
    if (known == std::end(kVariables)) {
      source->conf.mistakes.push_back({item.line, 0, item.name,
                                       "There is no such variable, or it has to be in the "
                                       "environment."});
      return;
    }
    if (variable(item.name)) return;
    std::string& value = of_sources_[item.name];
    if (item.append && !value.empty())
      value += "\n" + item.text;
    else
      value = item.text;
    settings->places[item.name] = source->name + ":" + std::to_string(item.line);
  }

  std::map<std::string, std::string> of_sources_;
};

std::vector<std::string> split(std::string_view rest, const char* separators) {
  std::vector<std::string> words;
  while (!rest.empty()) {
    size_t end = rest.find_first_of(separators);
    std::string_view word = rest.substr(0, end);
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    if (!word.empty()) words.emplace_back(word);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return words;
}

bool is_agent(std::string_view path) { return base_name(path).starts_with("libpatchbay.so"); }

}  // namespace

uint64_t parse_size(const char* text) {
  char* end = nullptr;
  uint64_t size = std::strtoull(text, &end, 10);
  switch (*end) {
    case 'G':
    case 'g':
      size *= 1024;
      [[fallthrough]];
    case 'M':
    case 'm':
      size *= 1024;
      [[fallthrough]];
    case 'K':
    case 'k':
      size *= 1024;
      end++;
      break;
    default:
      break;
  }
  return end != text && *end == '\0' ? size : 0;
}

InstanceSettings parse_instance(std::string_view text) {
  InstanceSettings instance;
  std::vector<std::string> words = split(text, ",");
  if (words.empty()) return instance;
  instance.flags = split(words[0], "^");
  if (!instance.flags.empty()) {
    instance.name = instance.flags[0];
    instance.flags.erase(instance.flags.begin());
  }
  instance.events.assign(words.begin() + 1, words.end());
  return instance;
}

std::vector<TriggerSettings> parse_triggers(std::string_view text) {
  std::vector<TriggerSettings> triggers;
  const bool has_lines = text.find_first_of("\n;") != text.npos;
  for (const std::string& one : split(text, has_lines ? "\n;" : ",")) {
    const size_t dot = one.find('.');
    if (dot == one.npos) break;  // as the kernel does: the rest is not looked at
    triggers.push_back({one.substr(0, dot), one.substr(dot + 1)});
  }
  return triggers;
}

std::string AgentSettings::origin_of(std::string_view variable) const {
  const auto place = places.find(std::string(variable));
  return (place == places.end() ? "" : place->second + ": ") + std::string(variable);
}

namespace {

void read_buffer_settings(const Variables& variables, AgentSettings* settings) {
  if (const char* size = variables.get("PATCHBAY_BUFFER_SIZE_KB")) {
    char* unit = nullptr;
    uint64_t kb = std::strtoull(size, &unit, 10);
    if (*unit) kb = (parse_size(size) + 1023) / 1024;
    if (kb > 0) settings->buffer_size_kb = kb;
  }
  if (const char* overwrite = variables.get("PATCHBAY_OVERWRITE"))
    settings->overwrite = std::strcmp(overwrite, "0") != 0;
  if (uint64_t size = parse_size(variables.get("PATCHBAY_TRACE_BUF_SIZE") ?: ""))
    settings->buffer_size_kb = (size + 1023) / 1024;
}

void read_variable_writes(const Variables& variables, AgentSettings* settings) {
  for (const auto& one : kVariableWrites) {
    std::string text(variables.text(one.variable));
    if (text.empty()) continue;
    std::replace(text.begin(), text.end(), ',', ' ');
    const bool is_list = std::string_view(one.file).starts_with("set_");
    settings->writes.push_back({one.variable, one.file, std::move(text), is_list});
  }
}

}  // namespace

void set_given_variables(std::string_view text) {
  auto* given = new Given;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find('\0'));
    const size_t equals = one.find('=');
    if (equals != one.npos) given->emplace(one.substr(0, equals), one.substr(equals + 1));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
  }
  delete std::exchange(g_given, given);
}

std::string given_variable(std::string_view name) { return g_given ? variable(name) ?: "" : ""; }

Started how_started() {
  const char* tool = variable("PATCHBAY_WAIT");
  if (!tool) return Started::kByItself;
  return std::atoi(tool) == ::getppid() ? Started::kByTool : Started::kByChildOfTool;
}

[[gnu::cold]] AgentSettings read_settings() {
  AgentSettings settings;
  settings.wait = how_started() == Started::kByTool;
  settings.sources = read_sources();
  const Variables variables(&settings);
  read_buffer_settings(variables, &settings);
  settings.function_events = split(variables.text("PATCHBAY_FUNCTION_EVENTS"), "\n;");
  for (std::string& line : split(variables.text("PATCHBAY_KPROBE_EVENT"), "\n;")) {
    std::replace(line.begin(), line.end(), ',', ' ');
    settings.probe_events.push_back(std::move(line));
  }
  settings.trace_events = split(variables.text("PATCHBAY_TRACE_EVENT"), ",\n");
  settings.enable_all = !variables.get("PATCHBAY_TRACE_EVENT") && !settings.function_events.empty();
  settings.trace_triggers = parse_triggers(variables.text("PATCHBAY_TRACE_TRIGGER"));
  settings.trace_options = split(variables.text("PATCHBAY_TRACE_OPTIONS"), ",\n");
  settings.trace_clock = variables.text("PATCHBAY_TRACE_CLOCK");
  std::string_view snapshot = variables.text("PATCHBAY_ALLOC_SNAPSHOT");
  settings.alloc_snapshot = !snapshot.empty() && snapshot != "0";
  for (const std::string& text : split(variables.text("PATCHBAY_TRACE_INSTANCE"), "\n;"))
    settings.instances.push_back(parse_instance(text));
  read_variable_writes(variables, &settings);
  return settings;
}

namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";

// The list of LD_PRELOAD ("a.so:libpatchbay.so") without the agent and what the tool has put before
// it (PATCHBAY_PRELOADED).
std::string without_agent(std::string_view list, std::string_view first) {
  std::string kept;
  for (const std::string& path : split(list, ": ")) {
    const bool was_put = path == std::exchange(first, {});
    if (was_put || is_agent(path)) continue;
    if (!kept.empty()) kept += ':';
    kept += path;
  }
  return kept;
}

// What stood in LD_PRELOAD before the tool, or the agent of the process that executed this one, put
// the agent there: RUNTIME:AGENT:LIST, where LIST may be empty. False: there was no LD_PRELOAD.
bool restore_list(std::string_view* list, std::string_view first) {
  if (!first.empty() && list->starts_with(first) && list->substr(first.size()).starts_with(':'))
    list->remove_prefix(first.size() + 1);
  const size_t end = std::min(list->find_first_of(": "), list->size());
  if (!is_agent(list->substr(0, end))) return true;
  const bool was_there = end < list->size();
  list->remove_prefix(end + was_there);
  return was_there;
}

bool names_agent(std::string_view list) {
  const std::vector<std::string> paths = split(list, ": ");
  return std::any_of(paths.begin(), paths.end(), is_agent);
}

char* preload_to_keep(char* entry, std::string_view preloaded) {
  std::string_view list = std::string_view(entry).substr(kPreload.size());
  const size_t size = list.size();
  if (!restore_list(&list, preloaded)) return nullptr;
  std::string kept(list);
  if (names_agent(list) && (kept = without_agent(list, preloaded)).empty()) return nullptr;
  char* shorter = kept.size() == size ? nullptr : ::strdup((std::string(kPreload) + kept).c_str());
  return shorter ? shorter : entry;
}

// What our entries are among.
struct Hidden {
  std::string preloaded;
  bool
      by_exec;  // put there at an exec (exec_environment.h): what else there is of ours is not ours
};

// What stands for the entry in the environment from now on: itself, a shorter one that lives as
// long as the process, or nothing. The text of an entry is never written to: /proc/self/environ
// shows what the program was started with, and others hold pointers into it.
char* entry_to_keep(char* entry, const Hidden& hidden) {
  const std::string_view text = entry;
  for (std::string_view name : {"PATCHBAY_FOLLOW=", "PATCHBAY_PRELOADED="})
    if (text.starts_with(name)) return nullptr;
  for (std::string_view name :
       {"PATCHBAY_WAIT=", "PATCHBAY_DIR=", "PATCHBAY_BUFFER_SIZE_KB=", "PATCHBAY_OVERWRITE="})
    if (!hidden.by_exec && text.starts_with(name)) return nullptr;
  return text.starts_with(kPreload) ? preload_to_keep(entry, hidden.preloaded) : entry;
}

// Null: there is none of this name, which ends with its '='.
const char* environment_value(std::string_view name) {
  for (char** entry = environ; *entry; entry++)
    if (std::string_view(*entry).starts_with(name)) return *entry + name.size();
  return nullptr;
}

}  // namespace

// The vector that the kernel has made is followed by the auxiliary vector, which runtimes (Go) find
// by walking to the NULL, from `environ` or from argv:
//
//   argv … NULL  A  PATCHBAY_WAIT  B  LD_PRELOAD  NULL  auxv      as it was
//   argv … NULL  A  A              A  B           NULL  auxv      `environ` points to the second A
//
// So entries move up to the NULL, which stays, and the places that become free repeat an entry.
// Code that walks from argv sees that entry more than once, and no end before the end.
void hide_from_environment(char** argv_end) {
  if (!environ) return;
  const Hidden hidden = {
      environment_value("PATCHBAY_PRELOADED=") ?: "",
      environment_value("PATCHBAY_FOLLOW=") && !environment_value("PATCHBAY_WAIT=")};
  char** end = environ;
  while (*end) end++;
  char** const first = environ;
  char** to = end;
  if (first == argv_end) {
    for (char** from = end; from-- > first;)
      if (char* entry = entry_to_keep(*from, hidden)) *--to = entry;
    static char filler[] = "LD_PRELOAD=";  // says nothing, where no other is left
    char* const repeated = *to ? *to : filler;
    environ = to;
    while (to > first) *--to = repeated;
    return;
  }
  // A table of its own, which setenv() has allocated and may move.
  to = first;
  for (char** from = first; *from; from++)
    if (char* entry = entry_to_keep(*from, hidden)) *to++ = entry;
  *to = nullptr;
}

}  // namespace patchbay
