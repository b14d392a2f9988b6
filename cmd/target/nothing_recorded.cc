// SPDX-License-Identifier: MIT
#include "cmd/target/nothing_recorded.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <tuple>

#include "base/text.h"
#include "base/unique_fd.h"
#include "cmd/target/target_program.h"
#include "symbol/elf_image.h"
#include "symbol/held_files.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMostNames = 4;  // of one sentence

// Functions of libc that people mean when they name another one.
constexpr std::array<std::string_view, 24> kFamilies = {
    " open openat creat opendir fopen freopen shm_open mkstemp mkostemp ",
    " read pread readv preadv fread fgets getline getdelim getc fgetc recv recvfrom recvmsg ",
    " write pwrite writev pwritev fwrite fputs puts fputc putc putchar printf fprintf vprintf "
    "vfprintf dprintf send sendto sendmsg overflow ",
    " close fclose closedir close_range closefrom ",
    " malloc calloc realloc reallocarray aligned_alloc posix_memalign memalign strdup strndup "
    "asprintf vasprintf Znwm Znam ",
    " free realloc ZdlPv ZdlPvm ZdaPv ZdaPvm ",
    " stat lstat fstat fstatat statx xstat lxstat fxstat fxstatat access faccessat ",
    " fork vfork clone posix_spawn posix_spawnp system popen ",
    " execve execv execvp execvpe execl execlp execle fexecve execveat posix_spawn posix_spawnp "
    "system popen ",
    " exit _exit quick_exit abort ",
    " memcpy memmove mempcpy memset ",
    " sleep usleep nanosleep clock_nanosleep ",
    " poll ppoll select pselect epoll_wait epoll_pwait ",
    " time gettimeofday clock_gettime ",
    " pthread_mutex_lock pthread_mutex_trylock pthread_mutex_timedlock pthread_mutex_clocklock "
    "pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_spin_lock sem_wait ",
    " pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait ",
    " rename renameat renameat2 ",
    " unlink unlinkat remove rmdir ",
    " mkdir mkdirat ",
    " wait waitpid wait3 wait4 waitid ",
    " accept accept4 ",
    " signal sigaction ",
    " mmap mremap sbrk brk ",
    " readdir readdir_r scandir getdents fts_read nftw ftw ",
};

// "__openat64_2" -> "openat": the word that the names of a function have in common.
std::string stem_of(std::string_view name) {
  std::string stem(name.substr(std::min(name.find_first_not_of('_'), name.size())));
  for (std::string_view end : {"_nocancel", "_unlocked", "_chk", "_2", "64"})
    if (stem.size() > end.size() && stem.ends_with(end)) stem.resize(stem.size() - end.size());
  return stem;
}

// A library's name in a definition is the beginning of its file's, up to a letter's end.
bool is_library(const RecordedModule& module, const std::string& library) {
  const std::string_view base = base_name(module.path);
  if (!base.starts_with(library)) return false;
  return base.size() == library.size() || !std::isalnum(uint8_t(base[library.size()]));
}

bool is_loaded(const std::string& library, const std::vector<RecordedModule>& modules) {
  return library.empty() ||
         std::any_of(modules.begin(), modules.end(),
                     [&](const RecordedModule& module) { return is_library(module, library); });
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return is_word_char(c) || c == ':' || c == '~';
  });
}

// What an object takes from others, and what it defines, by name.
struct Names {
  std::set<std::string> wanted;
  std::vector<std::pair<std::string, uint64_t>> defined;
};

void read_names(const std::string& path, Names* names) {
  Result<ElfFile> elf = open_elf(path);
  if (!elf.ok()) return;
  const ElfSymbols symbols = elf->image.dynsym();
  for (size_t i = 1; i < symbols.size(); i++) {
    const Elf64_Sym symbol = symbols[i];
    std::string name(symbols.name(symbol));
    if (symbol.st_shndx == SHN_UNDEF)
      names->wanted.insert(std::move(name));
    else
      names->defined.emplace_back(std::move(name), symbol.st_value);
  }
}

// The names under which an object defines the same function, `name` being one of them.
std::set<std::string> aliases(const Names& names, const std::string& name) {
  std::set<std::string> same{name};
  for (const auto& [one, address] : names.defined) {
    if (one != name) continue;
    for (const auto& [other, at] : names.defined)
      if (at == address) same.insert(other);
  }
  return same;
}

// Whether an object is the program's own: not the agent, not where the function is defined.
bool is_caller(const RecordedModule& module) {
  return !is_agent_file(module.path) && !base_name(module.path).starts_with("ld-linux") &&
         module.path.starts_with('/');
}

// The functions of this kind that the executable uses, else those of the first library that uses
// any.
std::string others_called(const NamedFunction& function, const std::vector<RecordedModule>& modules,
                          const std::string& exe) {
  std::set<std::string> same{function.name};
  std::vector<std::string> callers{exe};
  for (const RecordedModule& module : modules) {
    Names names;
    if (!is_caller(module)) continue;
    const std::string place = place_of_file(module.path, module.build_id);
    if (module.path == exe) callers.front() = place;
    read_names(place, &names);
    const std::set<std::string> more = aliases(names, function.name);
    same.insert(more.begin(), more.end());
    // libc's calls of its own functions of this kind say nothing: that is how it works inside.
    if (more.size() == 1 && module.path != exe && !base_name(module.path).starts_with("libc.so"))
      callers.push_back(place);
  }
  for (const std::string& caller : callers) {
    Names names;
    read_names(caller, &names);
    std::vector<std::string> found;
    for (const std::string& name : names.wanted)
      if (!same.contains(name) && is_of_family(function.name, name)) found.push_back(name);
    std::stable_partition(found.begin(), found.end(), [&](const std::string& name) {
      return stem_of(name) == stem_of(function.name);
    });
    std::string list;
    for (size_t i = 0; i < std::min(found.size(), kMostNames); i++)
      list += (i ? ", " : "") + found[i];
    if (!list.empty()) return std::string(base_name(caller)) + " uses others of its kind: " + list;
  }
  return "";
}

// Whether each call of the function is a hit: not a place inside, not its return.
bool is_entry(const EventRequest& event) {
  const std::string& text = event.text;
  switch (event.kind()) {
    case EventRequest::Kind::kFunction:
      return true;
    case EventRequest::Kind::kProbe: {
      const size_t from = text.find_first_not_of(' ', std::min(text.find(' '), text.size()));
      const std::string place =
          text.substr(std::min(from, text.size()), text.find(' ', from) - from);
      return text.starts_with('p') && place.find('+') == place.npos &&
             place.find("%return") == place.npos;
    }
    case EventRequest::Kind::kSource: {
      const std::string place = text.substr(0, text.find(' '));
      const size_t colon = place.rfind(':');
      const bool has_line = colon != place.npos && colon + 1 < place.size() &&
                            std::isdigit(uint8_t(place[colon + 1]));
      return !has_line && place.find_first_of("+%;") == place.npos;
    }
    default:
      return false;
  }
}

std::string sentence(const EventRequest& event, const std::vector<RecordedModule>& modules,
                     const std::string& exe) {
  const NamedFunction function = function_named(event);
  if (!is_loaded(function.library, modules))
    return "'" + event.text + "': " + function.library + " was not loaded";
  if (!event.filter.empty())
    return "'" + event.text + "' was not hit, or no hit fitted its filter '" + event.filter + "'";
  if (function.name.empty() || !is_entry(event)) return "'" + event.text + "' was not hit";
  const std::string others = others_called(function, modules, exe);
  return function.name + "() was not called" + (others.empty() ? "" : "; " + others);
}

// The name of the event that a function's or a probe's definition makes; "": it is not known.
std::string event_named(const EventRequest& event) {
  const std::string& text = event.text;
  if (event.kind() == EventRequest::Kind::kProbe) {
    const size_t colon = text.find(':'), blank = text.find(' ');
    if (colon > blank) return "";
    std::string name = text.substr(colon + 1, blank - colon - 1);
    return name.substr(name.find('/') + 1);
  }
  // A name alone, perhaps with its library, is a function's or an event's.
  if (event.kind() == EventRequest::Kind::kEvent) {
    const NamedFunction function = function_named(event);
    if (!function.name.empty()) return function.name;
    const std::string own = split_library(text).second;
    return is_plain_name(own) && own.find(':') == own.npos ? own : "";
  }
  if (event.kind() != EventRequest::Kind::kFunction) return "";
  std::string name = function_named(event).name;
  const size_t equals = text.find('=');
  if (equals < text.find('(')) name = text.substr(0, equals);
  for (size_t at; (at = name.find("::")) != name.npos;) name.replace(at, 2, "_");
  return name;
}

// An event that others have defined keeps its name. Then the command's own is called NAME_2.
bool is_event_of(const EventCall& event, const std::string& name) {
  if (name.empty() || !event.name.starts_with(name)) return false;
  const std::string_view rest = std::string_view(event.name).substr(name.size());
  return rest.empty() || (rest.size() > 1 && rest[0] == '_' &&
                          rest.find_first_not_of("0123456789", 1) == rest.npos);
}

}  // namespace

std::string why_not_loaded(const std::string& function,
                           const std::vector<RecordedModule>& modules) {
  const NamedFunction named = function_named({function + "()", ""});
  if (is_loaded(named.library, modules)) return "";
  return "'" + function + "': " + named.library + " was not loaded";
}

std::vector<EventRequest> without_records(const TraceRequest& request,
                                          const std::vector<EventCall>& events,
                                          const std::function<uint64_t(uint16_t id)>& records_of) {
  std::vector<EventRequest> empty;
  for (const InstanceRequest& instance : request.instances()) {
    for (const EventRequest& one : instance.events) {
      const std::string name = event_named(one);
      // "prog:send" may be SYSTEM:EVENT as well.
      const bool has_prefix =
          one.kind() == EventRequest::Kind::kEvent && one.text.find(':') != one.text.npos;
      uint64_t known = 0, records = 0;
      for (const EventCall& event : events) {
        if (!is_event_of(event, name) || (has_prefix && event.system != "functions")) continue;
        known++;
        records += records_of(event.id);
      }
      if (known && records == 0) empty.push_back(one);
    }
  }
  return empty;
}

NamedFunction function_named(const EventRequest& event) {
  std::string text = event.text;
  if (event.kind() == EventRequest::Kind::kEvent && !text.starts_with("lib")) return {};
  if (event.kind() == EventRequest::Kind::kFunction) {
    text = function_name_in(text);
    text.erase(0, text.find_last_of('=') + 1);
  } else if (event.kind() == EventRequest::Kind::kProbe) {
    text.erase(0, std::min(text.find(' '), text.size()));
    text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
    text.resize(std::min(text.find_first_of(" +%"), text.size()));
  } else if (event.kind() == EventRequest::Kind::kSource) {
    text.resize(std::min(text.find_first_of(" :%+"), text.size()));
  }
  if (event.kind() == EventRequest::Kind::kEvent && text.find(':') == text.npos) return {};
  NamedFunction function;
  std::tie(function.library, function.name) = split_library(text);
  if (!is_plain_name(function.name)) function.name.clear();
  return function;
}

bool is_of_family(std::string_view one, std::string_view other) {
  const std::string first = stem_of(one), second = stem_of(other);
  if (first.empty() || second.empty()) return false;
  if (first == second) return true;
  return std::any_of(kFamilies.begin(), kFamilies.end(), [&](std::string_view family) {
    return family.find(" " + first + " ") != family.npos &&
           family.find(" " + second + " ") != family.npos;
  });
}

std::vector<std::string> why_nothing(const std::vector<EventRequest>& events,
                                     const std::vector<RecordedModule>& modules,
                                     const std::string& exe) {
  std::vector<std::string> sentences;
  // A place inside of a function that is named already was not hit either.
  std::set<std::string> named;
  for (const EventRequest& event : events)
    if (is_entry(event)) named.insert(function_named(event).name);
  for (const EventRequest& event : events) {
    if (!is_entry(event) && !event.text.empty() && named.contains(function_named(event).name) &&
        !function_named(event).name.empty())
      continue;
    std::string one = sentence(event, modules, exe);
    if (std::find(sentences.begin(), sentences.end(), one) == sentences.end())
      sentences.push_back(std::move(one));
  }
  return sentences;
}

std::vector<std::string> why_nothing(const TraceRequest& request,
                                     const std::vector<RecordedModule>& modules,
                                     const std::string& exe) {
  std::vector<std::string> sentences;
  bool has_tids = false;
  for (const InstanceRequest& instance : request.instances()) {
    for (std::string& one : why_nothing(instance.events, modules, exe))
      sentences.push_back(std::move(one));
    has_tids |= !instance.tids.empty();
    if (!instance.traces()) continue;
    std::string globs;
    for (const std::string& glob : instance.functions) globs += " -l '" + glob + "'";
    for (const std::string& glob : instance.not_functions) globs += " -N '" + glob + "'";
    sentences.push_back("-t " + instance.tracer + ": no function" +
                        (globs.empty() ? "" : " of" + globs) + " was called" +
                        (request.graph_functions().empty() ? "" : " below those of -g"));
  }
  if (has_tids) sentences.push_back("only the threads of -P were looked at");
  return sentences;
}

}  // namespace patchbay::cmd
