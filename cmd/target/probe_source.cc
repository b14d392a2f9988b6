// SPDX-License-Identifier: MIT
#include "cmd/target/probe_source.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>

#include "attach/process_files.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cmd/common/commands.h"
#include "cmd/target/kept_source.h"
#include "cmd/target/target_program.h"
#include "event/function_event.h"
#include "symbol/elf_image.h"

namespace patchbay::cmd {
namespace {

// Ranks sentences that say that nothing was found. A sentence about the function itself is best,
// then one with names that are near.
int how_near(const Error& error) {
  const bool is_elsewhere = error.message().find(" .dwo ") != std::string::npos;
  if (is_elsewhere || !error.message().starts_with("There is no function")) return 2;
  return error.message().find("near: ") != std::string::npos;
}

// The reasons why no object could answer. A user who means the program must not be told of the
// library that was asked last, nor of libraries that have no such function.
struct NoAnswer {
  std::optional<Error> lacking;  // of the object that has the function: no debug information of it
  std::optional<Error> best;  // of those with debug information; with names that are near, if any
  std::optional<Error> program;  // it has no debug information

  Error sentence(const std::string& path) const {
    if (lacking) return *lacking;
    if (!best && program) return *program;
    if (!best) return user_error(ENOENT, "The process has no file with debug information.");
    if (!program) return *best;
    return user_error(ENOENT, best->message() + " " + path +
                                  " has no debug information (-g, or its -dbgsym package).");
  }
};

// Asks one object after the other until one has an answer.
template <typename Answer, typename Ask>
Result<Answer> first_answer(const std::vector<std::string>& objects, const std::string& function,
                            Ask ask) {
  NoAnswer none;
  for (const std::string& object : objects) {
    Result<KeptSource> source = KeptSource::open(object);
    if (!source.ok()) {
      if (object == objects.front()) none.program = source.error();
      if (!none.lacking && (objects.size() == 1 || defines(object, function)))
        none.lacking = source.error();
      continue;
    }
    Result<Answer> answer = ask(**source);
    if (answer.ok()) return answer;
    // The object has the function and cannot answer, or it does not have the function.
    if (answer.error().errno_value != ENOENT) return answer.error();
    if (!none.lacking && defines(object, function)) none.lacking = answer.error();
    if (!none.best || how_near(answer.error()) > how_near(*none.best)) none.best = answer.error();
  }
  return none.sentence(objects.empty() ? "" : objects.front());
}

// The libraries that are loaded for the agent alone: the agent asks for them, and the program does
// not.
class AgentLibraries {
 public:
  explicit AgentLibraries(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      LinkedNames names = linked_names(path);
      if (names.soname.empty()) names.soname = base_name(path);
      needed_[names.soname] = names.needed;
      soname_[path] = names.soname;
    }
  }
  // `roots`: paths. Sonames of all that they ask for.
  std::set<std::string> reached(const std::vector<std::string>& roots) const {
    std::set<std::string> names;
    std::vector<std::string> next;
    for (const std::string& root : roots)
      if (auto found = soname_.find(root); found != soname_.end()) next.push_back(found->second);
    while (!next.empty()) {
      const std::string name = next.back();
      next.pop_back();
      const auto found = needed_.find(name);
      if (!names.insert(name).second || found == needed_.end()) continue;
      next.insert(next.end(), found->second.begin(), found->second.end());
    }
    return names;
  }
  const std::string& soname(const std::string& path) const { return soname_.at(path); }

 private:
  std::map<std::string, std::vector<std::string>> needed_;
  std::map<std::string, std::string> soname_;
};

}  // namespace

std::string asked_function(std::string_view text) {
  std::string_view name = text.substr(0, text.find_first_of(" (+%@;"));
  if (name.find("::") != name.npos) return "";
  if (const size_t colon = name.find(':'); colon != name.npos) {
    const bool has_line = colon + 1 < name.size() && std::isdigit(uint8_t(name[colon + 1]));
    name = has_line ? name.substr(0, colon) : name.substr(colon + 1, name.find(':', colon + 1));
  }
  return std::string(name);
}

bool defines(const std::string& path, const std::string& name) {
  if (name.empty()) return false;
  Result<ElfFile> elf = open_elf(path);
  if (!elf.ok()) return false;
  for (const ElfSymbols& symbols : {elf->image.dynsym(), elf->image.symtab()})
    for (size_t i = 1; i < symbols.size(); i++)
      if (symbols[i].st_shndx != SHN_UNDEF && symbols.name_is(symbols[i], name)) return true;
  return false;
}

std::vector<std::string> objects_of(int pid, const std::string& exe) {
  std::vector<std::string> all, agents;
  for (const attach::ProcessFile& file : attach::files_of(pid)) {
    if (is_agent_file(file.path)) agents.push_back(file.path);
    all.push_back(file.path);
  }
  if (all.empty() && !exe.empty()) all.push_back(exe);  // it is gone
  const AgentLibraries libraries(all);
  const std::set<std::string> agents_own = libraries.reached(agents);
  std::vector<std::string> objects, roots;
  for (const std::string& path : all)
    if (!agents_own.contains(libraries.soname(path))) roots.push_back(path);
  const std::set<std::string> programs_own = libraries.reached(roots);
  for (const std::string& path : all)
    if (!is_agent_file(path) && programs_own.contains(libraries.soname(path)))
      objects.push_back(path);
  return objects;
}

Result<DerivedProbe> derive_probe(const std::vector<std::string>& objects, std::string_view text) {
  PB_ASSIGN(ProbeRequest request, parse_probe_request(text));
  return first_answer<DerivedProbe>(objects, asked_function(text),
                                    [&](SourceProbes& source) { return source.derive(request); });
}

namespace {

// `int r = f(*)`, `mine=f(*)`: the line of f with the result and the name that are asked for.
std::string as_asked(const std::string& line, const FunctionEventDef& asked, size_t number) {
  const auto any_address = [](std::string_view) { return 1; };
  FunctionEventParse parsed = parse_function_event(line, any_address);
  if (!parsed.def) return line;
  if (!asked.event.empty())
    parsed.def->event = asked.event + (number ? "_" + std::to_string(number) : "");
  if (asked.is_call) {
    parsed.def->is_call = true;
    parsed.def->result = asked.result;
  }
  return parsed.def->canonical();
}

}  // namespace

Result<FunctionEventLines> expand_function_event(const std::vector<std::string>& objects,
                                                 const std::string& text, bool has_objects) {
  std::string function = text.substr(0, text.size() - 3);
  FunctionEventParse asked = parse_function_event(function + "()", nullptr);
  if (asked.def) function = asked.def->function;
  Result<FunctionEventLines> found = first_answer<FunctionEventLines>(
      objects, asked_function(function),
      [&](SourceProbes& source) { return source.function_events(function, has_objects); });
  if (!found.ok() || !asked.def) return found;
  for (size_t i = 0; i < found->lines.size(); i++)
    found->lines[i] = as_asked(found->lines[i], *asked.def, i);
  return found;
}

std::string free_event_name(const std::string& dynamic_events, const DerivedProbe& probe) {
  std::string name = probe.event;
  auto is_taken = [&] {
    return dynamic_events.find(":" + probe.group + "/" + name + " ") != dynamic_events.npos;
  };
  for (int i = 1; is_taken(); i++) name = probe.event + "_" + std::to_string(i);
  return name;
}

void print_probe_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) remark(note);
}

}  // namespace patchbay::cmd
