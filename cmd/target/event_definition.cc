// SPDX-License-Identifier: MIT
#include "cmd/target/event_definition.h"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/named_function.h"
#include "cmd/target/probe_source.h"
#include "cmd/target/prototypes.h"
#include "cmd/target/target_program.h"
#include "cmd/target/target_symbols.h"
#include "cmd/target/tool_uses.h"
#include "event/function_event.h"
#include "event/function_event_atom.h"
#include "symbol/demangled_name.h"
#include "symbol/elf_image.h"
#include "symbol/load_functions.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

// A definition's error has a caret of its own: it begins a line.
Status define(serve::Client& client, const char* file, const std::string& definition) {
  Status status = client.write_all(file, definition + "\n", false);
  if (status.ok()) return status;
  return user_error(status.error().errno_value,
                    "-e '" + definition + "':\n" + status.error().message());
}

Error about_source(const EventRequest& event, const Error& error) {
  return user_error(error.errno_value, "-e '" + event.text + "': " + error.message());
}

// "int open(string path) ret", "open (string path) ret": a function's event with something behind,
// which is no place in a source.
bool has_words_behind(const std::string& text) {
  const size_t open = text.find('('), close = text.find(')');
  if (open == text.npos || close == text.npos || close + 1 == text.size()) return false;
  std::string_view first = std::string_view(text).substr(open + 1, close - open - 1);
  first = first.substr(0, first.find(','));
  const size_t blank = first.find(' ');
  if (blank == first.npos || first.find_first_of(" *&", blank + 1) != first.npos) return false;
  const std::string_view type = first.substr(0, blank), name = first.substr(blank + 1);
  static constexpr std::string_view kTypes[] = {"int",    "long",  "char",   "short", "size_t",
                                                "string", "float", "double", "symbol"};
  const bool is_sized = type.size() > 1 && std::string_view("usx").find(type[0]) != type.npos &&
                        type.find_first_not_of("0123456789", 1) == type.npos;
  auto is_word = [](std::string_view word) {
    return std::find(std::begin(kTypes), std::end(kTypes), word) != std::end(kTypes);
  };
  return (is_sized || is_word(type)) && !is_word(name);
}

struct Definition {
  const char* file;
  std::string line;
  bool is_one_of_many = false;    // where it cannot be had, the others are
  std::string result = "";        // of a function: as FunctionEventLines has it
  bool has_types = false;         // a prototype says what it is given
  FunctionValueNames names = {};  // it says what values are called
  FailureSign failure = FailureSign::kUnknown;
  ObjectArguments objects = {};  // it knows which fields are parts of an object
  WholeResult whole = {};        // a result that only a whole call has
};
using Definitions = std::vector<Definition>;

Result<Definitions> probe_definitions(serve::Client& client, const DerivedProbe& probe) {
  print_probe_notes(probe.notes);
  PB_ASSIGN(std::string there, client.read_all("dynamic_events"));
  Definitions definitions;
  for (std::string& line : probe.definitions(free_event_name(there, probe)))
    definitions.push_back({"dynamic_events", std::move(line)});
  return definitions;
}

// FUNC(*). A probe reads what a function event cannot: the stack, texts that are passed in pieces.
Result<Definitions> expanded_definitions(serve::Client& client, const EventRequest& event) {
  std::vector<std::string> objects = objects_of(client.pid(), client.exe());
  Result<FunctionEventLines> found = expand_function_event(objects, event.text);
  if (!found.ok()) return about_source(event, found.error());
  const bool has_result = event.is_call || event.text.find(" = ") != event.text.npos;
  if (!found->beyond.empty() && found->lines.size() == 1 && !has_result) {
    Result<DerivedProbe> probe =
        derive_probe(objects, event.text.substr(0, event.text.size() - 3) + " $params");
    auto is_left_out = [](const std::string& note) {
      return note.find("' is left out: ") != note.npos;
    };
    const bool has_more =
        probe.ok() && std::count_if(probe->notes.begin(), probe->notes.end(), is_left_out) <
                          std::ptrdiff_t(found->beyond.size());
    if (has_more) return probe_definitions(client, *probe);
  }
  print_probe_notes(found->notes);
  print_probe_notes(found->beyond);
  Definitions definitions;
  for (std::string& line : found->lines)
    definitions.push_back({"function_events", std::move(line)});
  return definitions;
}

// --- a name alone

constexpr size_t kMostFunctions = 1000;

struct NamedFunction {
  std::string name, library;  // as function_events finds it; the file that has it
};

// f[abi:cxx11] is a name.
bool is_glob(std::string_view text) {
  constexpr std::string_view kTag = "[abi:";
  for (size_t at = 0; (at = text.find_first_of("*?[", at)) != text.npos; at++)
    if (text.substr(at, kTag.size()) != kTag) return true;
  return false;
}

// available_filter_functions has names without blanks; function_events and debug information have
// this one.
constexpr std::string_view kAnonymous = "(anonymous namespace)", kListed = "(anonymous_namespace)";
constexpr std::string_view kOperator = "operator ", kListedOperator = "operator_";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// "ns::operator_new[](unsigned_long)" with the blank that debug information has. A function may be
// called operator_add: only what is an operator by its next word has one.
std::string with_operator(std::string name) {
  constexpr std::string_view kWords[] = {"new", "new[]", "delete", "delete[]"};
  for (size_t at = 0; (at = name.find(kListedOperator, at)) != name.npos; at++) {
    const std::string_view rest = std::string_view(name).substr(at + kListedOperator.size());
    const bool begins = at == 0 || std::string_view(name).substr(0, at).ends_with("::");
    const bool is_word = std::any_of(std::begin(kWords), std::end(kWords), [&](auto word) {
      return rest.starts_with(word) &&
             (rest.size() == word.size() || rest[word.size()] == '(' || rest[word.size()] == '<');
    });
    if (begins && is_word) name.replace(at, kListedOperator.size(), kOperator);
  }
  return name;
}

// What every object has from the compiler's own start files: no glob means it.
bool is_start_up_code(std::string_view name) {
  constexpr std::string_view kNames[] = {"_start",
                                         "_init",
                                         "_fini",
                                         "frame_dummy",
                                         "register_tm_clones",
                                         "deregister_tm_clones",
                                         "__do_global_dtors_aux",
                                         "_dl_relocate_static_pie"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// "NAME [LIBRARY]" of available_filter_functions.
NamedFunction listed_function(const std::string& line, const std::string& program) {
  const size_t bracket = line.ends_with(']') ? line.rfind(" [") : line.npos;
  if (bracket == line.npos) return {line, program};
  return {line.substr(0, bracket), line.substr(bracket + 2, line.size() - bracket - 3)};
}

// How a listed function is meant. A name, letter by letter, means no glob: T::operator*.
enum class Meant { kNot, kByGlob, kByName };

// A name without its parameters means each function of that name with its clones, and the program's
// own in the nameless namespace.
Meant how_meant(const NamedFunction& listed, const std::string& pattern,
                const std::string& program) {
  const std::string_view suffix = shown_clone_suffix(listed.name);
  const std::string_view whole =
      std::string_view(listed.name).substr(0, listed.name.size() - suffix.size());
  if (is_cold_name(listed.name)) return Meant::kNot;
  if (listed.name == pattern || whole == pattern || listed.name.starts_with(pattern + "("))
    return Meant::kByName;
  if (listed.library == program && whole == std::string(kListed) + "::" + pattern)
    return Meant::kByName;
  const bool fits = is_glob(pattern) && listed.name.find("@0x") == listed.name.npos &&
                    !is_start_up_code(listed.name) &&
                    !::fnmatch(pattern.c_str(), listed.name.c_str(), 0);
  return fits ? Meant::kByGlob : Meant::kNot;
}

// One name alone means the functions of one object.
void keep_one_object(const std::string& text, const std::string& program,
                     std::vector<NamedFunction>* found) {
  std::vector<std::string> files;
  for (const NamedFunction& one : *found) files.push_back(one.library);
  files = files_by_rank(files, program);
  if (files.empty()) return;
  std::erase_if(*found, [&](const NamedFunction& one) { return one.library != files[0]; });
  const std::string word = library_word(files[0]);
  if (files.size() < 2 || word.empty()) return;
  for (NamedFunction& one : *found) one.name = word + ":" + one.name;
  say_which_is_meant(text, files);
}

// The functions of available_filter_functions that a name or a glob means.
std::vector<NamedFunction> functions_named(const std::string& listed, const std::string& program,
                                           const std::string& text) {
  const auto parts = split_library(replaced(text, "operator\"\" ", "operator\"\""));
  const std::string &library = parts.first, &asked = parts.second;
  const std::string pattern = without_blanks(asked);
  std::vector<NamedFunction> by_name, by_glob;
  std::set<std::string> names;
  for (const std::string& line : split_lines(listed)) {
    NamedFunction one = listed_function(line, program);
    const Meant how = how_meant(one, pattern, program);
    if (how == Meant::kNot || !is_file_of_library(library, one.library)) continue;
    const bool is_one_object = how == Meant::kByName && library.empty();
    if (!names.insert(is_one_object ? one.name + " " + one.library : one.name).second) continue;
    // The user's own spelling is as good as the list's.
    const bool is_asked = one.name == pattern;
    const std::string name =
        is_asked ? asked : with_operator(replaced(one.name, kListed, kAnonymous));
    one.name = (library.empty() ? "" : library + ":") + name;
    (how == Meant::kByName ? by_name : by_glob).push_back(std::move(one));
  }
  if (by_name.empty()) return by_glob;
  if (library.empty()) keep_one_object(asked, program, &by_name);
  return by_name;
}

// `why`: of those of which there is debug information that does not say it; a sentence.
void say_what_is_unknown(const std::vector<std::string>& unknown, const std::string& why) {
  if (unknown.empty()) return;
  // The shortest is the one that a person reads.
  const std::string& one = *std::min_element(
      unknown.begin(), unknown.end(),
      [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  const std::string which = unknown.size() == 1
                                ? one + "()"
                                : std::to_string(unknown.size()) + " functions (" + one + "() …)";
  remark("nothing says what the arguments of " + which + " are: six words are shown; `" + one +
         "(int a, string b)` says it, or a file of prototypes (patchbay-record(1))" +
         (why.empty() ? "" : ". " + why));
}

void add_functions(Prototype prototype, bool is_one_of_many, bool has_rest,
                   Definitions* definitions) {
  if (has_rest && !prototype.with_rest.empty()) prototype.lines[0] = prototype.with_rest;
  const bool has_types = prototype.source != Prototype::Source::kNone;
  for (size_t i = 0; i < prototype.lines.size(); i++)
    definitions->push_back({"function_events", std::move(prototype.lines[i]), is_one_of_many,
                            std::move(prototype.results[i]), has_types,
                            std::move(prototype.names[i]), prototype.failure,
                            std::move(prototype.objects[i]), std::move(prototype.wholes[i])});
}

// For its list, the process takes each of its functions apart. Where the files alone tell which
// one is meant, it need not.
Result<std::vector<NamedFunction>> functions_meant(serve::Client& client,
                                                   const std::vector<std::string>& objects,
                                                   const std::string& text) {
  const auto parts = split_library(text);
  const std::string &library = parts.first, &asked = parts.second;
  // helper@a.c: one of several, or all that a glob means there.
  if (find_file_mark(asked) != asked.npos) {
    const size_t at = text.rfind('@');
    // The default version is f@@VERSION.
    const std::string function(trim_back(std::string_view(text).substr(0, at), "@"));
    auto found = functions_meant(client, objects, function);
    if (found.ok())
      for (NamedFunction& one : *found) one.name += text.substr(at);
    return found;
  }
  std::vector<std::string> chosen = objects;
  std::erase_if(chosen, [&](const std::string& object) {
    return !is_file_of_library(library, std::string(base_name(object)));
  });
  if (const std::string file = sole_file_with_function(chosen, asked); !file.empty())
    return std::vector<NamedFunction>{{text, std::string(base_name(file))}};
  PB_ASSIGN(std::string listed,
            client.read_all("available_filter_functions", serve::kMostFunctions));
  return functions_named(listed, std::string(base_name(client.exe())), text);
}

// Where libraries are looked for that no process has loaded.
constexpr const char* kLibraryDirectories[] = {"/usr/local/lib/",
                                               "/lib/x86_64-linux-gnu/",
                                               "/usr/lib/x86_64-linux-gnu/",
                                               "/lib64/",
                                               "/usr/lib64/",
                                               "/usr/lib/"};

// The file of a library that the process does not have yet: beside the objects that it has, or
// where the dynamic linker looks. "": there is none.
std::string file_to_come(const std::string& library, const std::vector<std::string>& objects) {
  std::vector<std::string> folders;
  for (const std::string& object : objects)
    folders.push_back(object.substr(0, object.rfind('/') + 1));
  folders.insert(folders.end(), std::begin(kLibraryDirectories), std::end(kLibraryDirectories));
  std::set<std::string> looked_at;
  for (const std::string& folder : folders) {
    if (!folder.starts_with('/') || !looked_at.insert(folder).second) continue;
    std::error_code none;
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
      const std::string file = entry.path().filename().string();
      if (is_file_of_library(library, file) && file.find(".so") != file.npos) files.insert(file);
    }
    // A file without a version may be a text for the linker.
    for (const std::string& file : files)
      if (open_elf(folder + file).ok()) return folder + file;
  }
  return "";
}

// The functions that "libfoo:parse*" means where libfoo is still to come: those that its file
// offers, each of which waits for it. The file is added to the objects.
std::vector<NamedFunction> functions_to_come(const std::string& text,
                                             std::vector<std::string>* objects) {
  const auto [library, asked] = split_library(text);
  if (!library.starts_with("lib") || !is_glob(asked)) return {};
  for (const std::string& object : *objects)
    if (is_file_of_library(library, std::string(base_name(object)))) return {};
  const std::string path = file_to_come(library, *objects);
  Result<ElfFile> elf = open_elf(path);
  if (!elf.ok()) return {};
  const ElfSymbols symbols = elf->image.dynsym();
  std::string listed;
  for (size_t i = 0; i < symbols.size(); i++) {
    const Elf64_Sym symbol = symbols[i];
    if (is_function(elf->image, symbol))
      listed += without_blanks(demangle(symbols.name(symbol), false)) + " [" +
                std::string(base_name(path)) + "]\n";
  }
  std::vector<NamedFunction> found = functions_named(listed, "", text);
  if (found.empty()) return found;
  objects->push_back(path);
  return found;
}

// Of what debug information says of the function `whole`, what is about its clone `name`:
// f.isra.0. One line for all of them is for this one, too.
void keep_clone(const std::string& whole, const std::string& name, Prototype* prototype) {
  const std::string suffix = name.substr(whole.size());
  if (prototype->lines.size() == 1 && prototype->lines[0].starts_with(whole + "("))
    prototype->lines[0].insert(whole.size(), suffix);
  for (size_t i = prototype->lines.size(); i-- > 0;) {
    const std::string_view line = without_event_name(prototype->lines[i]);
    if (line.find(suffix + "(") != line.npos) continue;
    const auto drop = [i](auto* all) { all->erase(all->begin() + std::ptrdiff_t(i)); };
    drop(&prototype->lines);
    drop(&prototype->results);
    drop(&prototype->names);
    drop(&prototype->objects);
    drop(&prototype->wholes);
  }
}

// Of local functions of C that no debug information tells apart, each has an event of its own:
// helper@a.c(…).
void split_namesakes(serve::Client& client, const std::string& function, Definitions* definitions) {
  const Definition one = definitions->back();
  const size_t nr_library = function.size() - split_library(function).second.size();
  const bool is_word =
      std::all_of(function.begin() + std::ptrdiff_t(nr_library), function.end(), is_word_char);
  if (!is_word || !one.line.starts_with(function + "(")) return;
  const std::map<uint64_t, std::string> names = namesakes_of(client, function);
  const auto is_of_cxx = [](const auto& name) {
    return name.second.find('@') == std::string::npos;
  };
  if (names.empty() || std::any_of(names.begin(), names.end(), is_of_cxx)) return;
  definitions->pop_back();
  for (const auto& [address, name] : names) {
    Definition& each = definitions->emplace_back(one);
    each.line.replace(nr_library, function.size() - nr_library, name);
    each.is_one_of_many = true;
  }
  remark("-e '" + function + "' means " + std::to_string(names.size()) + " functions");
}

// Empty: the process has no such function.
Result<Definitions> named_definitions(serve::Client& client, const EventRequest& event,
                                      bool has_rest) {
  std::vector<std::string> objects = objects_of(client.pid(), client.exe());
  PB_ASSIGN(std::vector<NamedFunction> found, functions_meant(client, objects, event.text));
  if (event.is_own_code)
    std::erase_if(found, [](const NamedFunction& one) {
      const std::string name = split_library(one.name).second;
      return name.starts_with("std::") || name.starts_with("__gnu_cxx::");
    });
  const size_t nr_loaded = objects.size();
  if (found.empty()) found = functions_to_come(event.text, &objects);
  if (found.size() > kMostFunctions && event.is_own_code)
    return user_error(E2BIG, "The program has " + std::to_string(found.size()) +
                                 " functions of its own, and at most " +
                                 std::to_string(kMostFunctions) +
                                 " can be shown: -e names some, as -e 'parse*'; `patchbay top` "
                                 "says which are called, and record -t function_graph has all.");
  if (found.size() > kMostFunctions)
    return user_error(E2BIG, "-e '" + event.text + "' means " + std::to_string(found.size()) +
                                 " functions, and at most " + std::to_string(kMostFunctions) +
                                 " become events: write a narrower glob, or take the tracer: "
                                 "-t function -l '" +
                                 event.text + "'.");
  if (objects.size() > nr_loaded)
    remark("the program does not have " + objects.back() + " yet: what -e '" + event.text +
           "' means there waits for it");
  constexpr size_t kMany = 8;  // reading all costs about as much as looking for these
  Prototypes prototypes(objects, found.size() > kMany);
  Definitions definitions;
  std::vector<std::string> unknown;
  std::string why_unknown;
  // Debug information says all copies of a function.
  std::set<std::string> with_clones;
  const auto is_clone = [](const NamedFunction& one) {
    return !shown_clone_suffix(one.name).empty();
  };
  std::stable_partition(found.begin(), found.end(), std::not_fn(is_clone));
  const std::string asked = split_library(event.text).second;
  const bool is_clone_asked = !shown_clone_suffix(asked).empty();
  for (const NamedFunction& function : found) {
    const std::string whole =
        function.name.substr(0, function.name.size() - shown_clone_suffix(function.name).size());
    if (with_clones.contains(whole)) continue;
    Prototype prototype = prototypes.of(whole, function.library);
    if (is_clone_asked && is_clone(function)) keep_clone(whole, function.name, &prototype);
    const bool is_said =
        prototype.source == Prototype::Source::kDebugInfo && !prototype.lines.empty();
    if (is_said) with_clones.insert(whole);
    if (is_clone(function) && !is_said) prototype = prototypes.of(function.name, function.library);
    if (prototype.source == Prototype::Source::kNone) {
      unknown.push_back(function.name);
      if (why_unknown.empty()) why_unknown = prototype.why_unknown;
    }
    if (found.size() == 1) print_probe_notes(prototype.notes);
    const bool may_have_namesakes = !is_said && prototype.libraries.empty();
    add_functions(std::move(prototype), found.size() > 1, has_rest, &definitions);
    if (may_have_namesakes && found.size() <= kMany)
      split_namesakes(client, function.name, &definitions);
  }
  if (event.is_own_code)
    remark("the calls of " + std::to_string(found.size()) +
           " functions of the program itself; -e shows others, as -e malloc, and -c counts");
  else
    say_what_is_unknown(unknown, why_unknown);
  if (found.size() > 1 && !event.is_own_code)
    remark("-e '" + event.text + "' means " + std::to_string(found.size()) + " functions");
  return definitions;
}

// The soname of the library that a file of prototypes names, and that the process does not have:
// sqlite3_step() of a python3 that has not imported sqlite3 yet. "": there is none.
std::string library_to_come(const Prototype& prototype, const std::string& function,
                            const std::vector<std::string>& objects) {
  const auto is_loaded = [&](const std::string& soname) {
    return std::any_of(objects.begin(), objects.end(), [&](const std::string& object) {
      return base_name(object).starts_with(soname);
    });
  };
  const auto has_it = [&](const std::string& soname) {
    return std::any_of(std::begin(kLibraryDirectories), std::end(kLibraryDirectories),
                       [&](const char* folder) { return defines(folder + soname, function); });
  };
  const std::vector<std::string>& all = prototype.libraries;
  if (std::any_of(all.begin(), all.end(), is_loaded)) return "";
  if (all.size() == 1) return all.front();
  const auto found = std::find_if(all.begin(), all.end(), has_it);
  return found == all.end() ? "" : *found;
}

// "open@plt" has the arguments of open().
Definitions definitions_of_stub(serve::Client& client, const std::string& text, bool has_rest) {
  // What is passed only sometimes is for those who know when: `has_rest`.
  Definitions definitions;
  const std::string function = text.substr(0, text.size() - kOwnCalls.size());
  Prototype prototype = Prototypes(objects_of(client.pid(), client.exe())).of(function, "");
  if (prototype.source == Prototype::Source::kNone)
    say_what_is_unknown({text}, prototype.why_unknown);
  if (has_rest && !prototype.with_rest.empty())
    prototype.lines[0] = std::exchange(prototype.with_rest, "");
  for (std::string& line : prototype.lines)
    line.insert(std::min(line.find('('), line.size()), kOwnCalls);
  print_probe_notes(prototype.notes);
  add_functions(std::move(prototype), false, has_rest, &definitions);
  return definitions;
}

// A function that the process does not list: of a library that it does not have yet, whose event
// waits for it, or one that the dynamic linker chooses among several (strrchr, cos), if a prototype
// is known. The process says whether there is one.
Result<Definitions> unlisted_definitions(serve::Client& client, const std::string& text,
                                         bool has_rest) {
  Definitions definitions;
  if (is_glob(text)) return definitions;
  if (text.ends_with(kOwnCalls)) return definitions_of_stub(client, text, has_rest);
  const std::vector<std::string> objects = objects_of(client.pid(), client.exe());
  Prototypes prototypes(objects);
  Prototype prototype = prototypes.of(text, "");
  const bool is_known = prototype.source != Prototype::Source::kNone;
  const bool has_library = !split_library(text).first.empty();
  if (!is_known && !prototype.only_copies.empty())
    return user_error(EINVAL, "-e '" + text + "': " + prototype.only_copies);
  if (!is_known && !has_library && place_in_process(client, text).empty()) return definitions;
  if (!is_known) say_what_is_unknown({text}, prototype.why_unknown);
  if (const std::string soname = has_library ? "" : library_to_come(prototype, text, objects);
      !soname.empty()) {
    remark(text + "() waits for " + soname + ", which the program does not have yet");
    prototype = prototypes.of(soname.substr(0, soname.find(".so")) + ":" + text, "");
  }
  print_probe_notes(prototype.notes);
  add_functions(std::move(prototype), false, has_rest, &definitions);
  return definitions;
}

// What is wrong with "libfoo:parse*" where libfoo is still to come; "": it is here, or no glob.
std::string why_no_glob(serve::Client& client, const std::string& text) {
  const std::string library = split_library(text).first;
  if (!library.starts_with("lib") || !is_glob(text)) return "";
  for (const std::string& object : objects_of(client.pid(), client.exe()))
    if (is_file_of_library(library, std::string(base_name(object)))) return "";
  return "-e '" + text + "': the program has not loaded " + library +
         ", and no file of it that has such functions is where libraries are looked for. A name "
         "waits for any: -e " +
         library + ":FUNC.";
}

// --- a declaration of C

// Where function_events would refuse a text that C takes. Without a result it is one only when each
// type is known and nothing is left out: what is wrong with "open(strng path)", or with a seventh
// argument, function_events says better.
struct DeclaredFunction {
  FunctionLine made;
  std::string result;  // as result_atom() says it
  bool has_result;     // the declaration names a type
};
std::optional<DeclaredFunction> declared_function(const std::string& text) {
  const auto any_address = [](std::string_view) { return 1; };
  // With "RESULT = " in front it is function_events' own.
  const size_t open = text.find('(');
  const bool is_whole_call = text.find('=') < open;
  if (open == text.npos || is_whole_call || parse_function_event(text, any_address).def)
    return std::nullopt;
  Result<CDeclaration> declaration = parse_c_declaration(text);
  if (!declaration.ok()) return std::nullopt;
  FunctionLine made =
      function_line(*declaration, PrototypeFiles::installed().types(), declaration->name);
  const auto& parameters = declaration->parameters;
  const bool has_names = std::all_of(parameters.begin(), parameters.end(),
                                     [](const auto& one) { return !one.name.empty(); });
  if (declaration->result.empty() && (!has_names || !made.notes.empty())) return std::nullopt;
  return DeclaredFunction{std::move(made),
                          result_atom(*declaration, PrototypeFiles::installed().types()),
                          !declaration->result.empty()};
}

// What a request is in the words of function_events or dynamic_events.
Result<Definitions> definitions_of(serve::Client& client, const EventRequest& event) {
  if (event.kind() == EventRequest::Kind::kProbe)
    return Definitions{{"dynamic_events", event.text}};
  if (std::optional<DeclaredFunction> declared = declared_function(event.text)) {
    print_probe_notes(declared->made.notes);
    return Definitions{{"function_events", std::move(declared->made.line)}};
  }
  if (event.kind() == EventRequest::Kind::kFunction && event.text.ends_with("(*)"))
    return expanded_definitions(client, event);
  if (event.kind() == EventRequest::Kind::kFunction)
    return Definitions{{"function_events", event.text}};
  if (const size_t equals = event.text.find(" = ");
      equals != event.text.npos && event.text.find('(') == event.text.npos)
    return about_source(event, user_error(EINVAL,
                                          "The arguments of a call with its result are said, or "
                                          "asked for: -e '" +
                                              event.text + "(*)'."));
  if (has_words_behind(event.text)) {
    return about_source(event,
                        user_error(EINVAL,
                                   "Nothing may stand behind the arguments of a function. Its "
                                   "result stands before it: -e 'int ret = " +
                                       function_name_in(event.text) + "(...)'."));
  }
  Result<DerivedProbe> probe = derive_probe(objects_of(client.pid(), client.exe()), event.text);
  if (!probe.ok()) return about_source(event, probe.error());
  return probe_definitions(client, *probe);
}

// The event of a definition, as "p:GRP/EV …" or "p:GRP.EV …" say it; the definition without one.
std::string name_in(const std::string& definition) {
  size_t colon = definition.find(':'), blank = definition.find(' ');
  if (colon > blank) return definition;
  std::string name = definition.substr(colon + 1, blank - colon - 1);
  size_t slash = name.find('/');
  if (slash == name.npos) slash = name.find('.');
  if (slash != name.npos) name[slash] = ':';
  return name;
}

// Whether an event "SYSTEM:EVENT" has the name that a definition gives.
bool is_called(const std::string& event, const std::string& name) {
  return event == name || event.ends_with(":" + name);
}

// A line without a name, or with "GRP/" alone, gets one from the process.
bool is_named_by(const std::vector<std::string>& lines, const std::string& event) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    const std::string name = name_in(line);
    if (name.ends_with(':')) return event.starts_with(name);
    return name == line || is_called(event, name);
  });
}

Result<std::vector<std::string>> available_events(serve::Client& client) {
  PB_ASSIGN(std::string text, client.read_all("available_events"));
  return split_lines(text);
}

// A function event that says the same is there: it is used by us, too.
bool share_function(const FunctionEventDef& def, const std::string& listed, ToolUses* uses) {
  for (const std::string& line : split_lines(listed)) {
    if (line.substr(0, line.find("  # ")) != def.canonical()) continue;
    if (uses) (void)uses->share(ToolUse::Kind::kFunction, def.event_name());
    return true;
  }
  return false;
}

// A definition of the event `name` under the first name that is free: "f_2=f(int a)".
std::string under_free_name(const std::vector<std::string>& available, const std::string& name,
                            const std::string& line) {
  for (int i = 2;; i++) {
    const std::string free = name + "_" + std::to_string(i);
    if (std::find(available.begin(), available.end(), "functions:" + free) == available.end())
      return free + "=" + line;
  }
}

// Defines a function event, unless it is there. Its name.
Result<std::string> define_function(serve::Client& client, const std::string& line,
                                    const std::vector<std::string>& available, ToolUses* uses) {
  // An address by name is the process's business: any will do.
  FunctionEventParse parsed = parse_function_event(line, [](std::string_view) { return 1; });
  std::string chosen = line, name = parsed.def ? "functions:" + parsed.def->event_name() : "";
  if (parsed.def && std::find(available.begin(), available.end(), name) != available.end()) {
    PB_ASSIGN(std::string listed, client.read_all("function_events"));
    if (share_function(*parsed.def, listed, uses)) return name;
    chosen =
        under_free_name(available, parsed.def->event_name(), std::string(without_event_name(line)));
    const std::string free = chosen.substr(0, chosen.find('='));
    remark("another function event is called " + parsed.def->event_name() +
           " in the process; this one is " + free);
    name = "functions:" + free;
  }
  Status defined = define(client, "function_events", chosen);
  if (!defined.ok() && defined.error().errno_value == ENOENT && parsed.def) {
    const std::string place = place_in_process(client, parsed.def->function);
    FunctionEventDef there = *parsed.def;
    there.event = name.substr(name.find(':') + 1);
    there.function = place;
    if (!place.empty())
      defined = define(client, "function_events", there.canonical());
    else if (const std::string copies =
                 only_copies_of(objects_of(client.pid(), client.exe()), parsed.def->function);
             !copies.empty())
      return user_error(ENOENT, copies);
  }
  if (!defined.ok()) return defined.error();
  if (uses) uses->add(ToolUse::Kind::kFunction, name.substr(name.find(':') + 1));
  return name;
}

// Lines of dynamic_events about the event "GRP/EV", without its name: "p|work a=%di".
std::vector<std::string> probes_of(const std::string& listed, const std::string& event) {
  std::vector<std::string> found;
  for (const std::string& line : split_lines(listed)) {
    const size_t colon = line.find(':'), end = line.find(' ');
    if (colon < end && line.substr(colon + 1, end - colon - 1) == event)
      found.push_back(line.substr(0, colon) + "|" + line.substr(end));
  }
  return found;
}

// "p:GRP/EV PLACE" as "p:GRP/FREE PLACE"; "p PLACE" as "p:FREE PLACE".
std::string renamed(const std::string& line, const std::string& free) {
  const size_t blank = line.find(' '), colon = std::min(line.find(':'), blank);
  const size_t slash = line.rfind('/', blank);
  const bool has_group = slash != line.npos && slash > colon && slash < blank;
  return (has_group ? line.substr(0, slash + 1) : line.substr(0, colon) + ":") + free +
         line.substr(blank);
}

// Defines a line and returns its events. The kernel adds another place of an event that is there to
// that event. A command must not change what others have, so its line comes under a free name, and
// goes again when it says what is there already.
Result<std::vector<std::string>> define_beside(serve::Client& client, const std::string& line,
                                               const std::vector<std::string>& before) {
  std::string name = name_in(line);
  const bool has_name = name != line;
  if (!has_name) name = "probe";
  std::string free = name.substr(name.find(':') + 1), there;
  const auto is_taken = [&](const std::string& as) {
    return std::any_of(before.begin(), before.end(),
                       [&](const auto& event) { return is_called(event, as); });
  };
  for (const std::string& event : before)
    if (has_name && is_called(event, name)) there = event;
  const std::string stem = free;
  for (int i = 2; is_taken(free); i++) free = stem + "_" + std::to_string(i);
  Status defined = define(client, "dynamic_events", renamed(line, free));
  if (!defined.ok()) return defined.error();
  Result<std::vector<std::string>> after = available_events(client);
  if (!after.ok()) return after;
  const std::set<std::string> old(before.begin(), before.end());
  std::erase_if(*after, [&](const std::string& event) {
    return old.contains(event) || !is_called(event, free);
  });
  if (there.empty() || after->size() != 1) return after;
  PB_ASSIGN(std::string listed, client.read_all("dynamic_events"));
  if (probes_of(listed, with_slash(there)) != probes_of(listed, with_slash(after->front()))) {
    remark("another event is called " + there + " in the process; this one is " + after->front());
    return after;
  }
  (void)client.write_all("dynamic_events", "-:" + with_slash(after->front()) + "\n", false);
  return std::vector<std::string>{there};
}

// The events of the lines: new ones, or those of a line that is there already. An event that
// somebody else defines meanwhile is none of ours.
Result<std::vector<std::string>> define_probes(serve::Client& client,
                                               const std::vector<std::string>& lines,
                                               const std::vector<std::string>& before,
                                               ToolUses* uses) {
  const std::set<std::string> old(before.begin(), before.end());
  std::set<std::string> names;
  for (const std::string& line : lines) {
    // Several lines of one request may be one event.
    const bool beside = std::any_of(before.begin(), before.end(), [&](const std::string& event) {
      return is_called(event, name_in(line));
    });
    Status defined = beside ? Status() : define(client, "dynamic_events", line);
    if (!beside && defined.ok()) continue;
    if (!beside && (defined.error().errno_value != EEXIST || name_in(line) != line))
      return defined.error();
    Result<std::vector<std::string>> made = define_beside(client, line, before);
    if (!made.ok()) return made;
    names.insert(made->begin(), made->end());
  }
  Result<std::vector<std::string>> after = available_events(client);
  if (!after.ok()) return after;
  for (const std::string& name : *after)
    if (!old.contains(name) && is_named_by(lines, name)) names.insert(name);
  for (const std::string& name : names) {
    if (!uses) continue;
    if (old.contains(name))
      (void)uses->share(ToolUse::Kind::kEvent, with_slash(name));
    else
      uses->add(ToolUse::Kind::kEvent, with_slash(name));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

// Functions of a glob that cannot be had.
struct Refused {
  size_t count = 0;
  std::optional<Error> first;
  void add(const Error& error) {
    if (!first) first = error;
    count++;
  }
  void say(size_t all) const {
    if (count == 0) return;
    // The reason is the last line: a caret below one of many names helps nobody.
    const std::string message = first->message();
    remark(std::to_string(count) + " of " + std::to_string(all) +
           " functions cannot be events; the first: " + message.substr(message.rfind('\n') + 1));
  }
};

}  // namespace

std::string with_slash(std::string event) {
  event[event.find(':')] = '/';
  return event;
}

namespace {

// "f(int n)" -> "call_f=void = f(int n)": not the name of an event that a user has or will define.
// A line that cannot be parsed is the process's to refuse.
std::string as_whole_call(const std::string& line) {
  FunctionEventParse parsed = parse_function_event(line, [](std::string_view) { return 1; });
  if (!parsed.def) return line;
  if (parsed.def->event.empty()) parsed.def->event = "call_" + parsed.def->event_name();
  parsed.def->is_call = true;
  return parsed.def->canonical();
}

}  // namespace

Result<std::vector<std::string>> define_event(serve::Client& client, const EventRequest& event,
                                              AppliedRequest* applied) {
  Result<std::vector<std::string>> before = available_events(client);
  if (!before.ok()) return before;
  Definitions definitions;
  if (event.kind() == EventRequest::Kind::kEvent) {
    Result<std::vector<std::string>> events = matching_events(*before, event.text);
    if (events.ok() || events.error().errno_value != ENOENT) return events;
    PB_ASSIGN(definitions, named_definitions(client, event, false));
    // "sched:sched_swich" is no function of a library to come.
    const bool may_wait = event.text.find(':') == event.text.npos || event.text.starts_with("lib");
    if (definitions.empty() && may_wait) {
      PB_ASSIGN(definitions, unlisted_definitions(client, event.text, false));
    }
    const std::string why = definitions.empty() ? why_no_glob(client, event.text) : "";
    if (!why.empty()) return user_error(ENOENT, why);
    if (definitions.empty()) return events;
  } else {
    PB_ASSIGN(definitions, definitions_of(client, event));
  }
  // Debug information takes its time, in which others define theirs.
  before = available_events(client);
  if (!before.ok()) return before;
  std::vector<std::string> names, probes;
  Refused refused;
  for (const Definition& one : definitions) {
    if (one.file != std::string_view("function_events")) {
      probes.push_back(one.line);
      continue;
    }
    const std::string line = event.is_call ? as_whole_call(one.line) : one.line;
    Result<std::string> name = define_function(client, line, *before, applied->uses);
    if (!name.ok() && !one.is_one_of_many) return name.error();
    if (!name.ok()) {
      refused.add(name.error());
      continue;
    }
    before->push_back(*name);
    names.push_back(*name);
  }
  if (names.empty() && refused.count > 0) return *refused.first;
  refused.say(definitions.size());
  if (probes.empty()) return names;
  return define_probes(client, probes, *before, applied->uses);
}

namespace {

// What a function returns of which only the arguments are said.
std::string result_of(serve::Client& client, const std::string& function) {
  Prototypes prototypes(objects_of(client.pid(), client.exe()));
  const Prototype prototype = prototypes.of(function, "");
  return prototype.source == Prototype::Source::kNone ? "x64" : prototype.results.front();
}

FunctionEventField address_beside(const FunctionEventField& text) {
  FunctionEventField address;
  address.position = text.position;
  address.atom = "x64";
  address.atom_size = 8;
  address.name = text.name + std::string(kAddressSuffix);
  return address;
}

// Of the texts of a structure.
void add_member_addresses(FunctionEventArg* structure) {
  std::vector<FunctionEventField> fields;
  for (const FunctionEventField& member : structure->fields) {
    fields.push_back(member);
    if (member.atom != "string") continue;
    fields.push_back(address_beside(member));
    fields.back().is_beside = true;
  }
  structure->fields = std::move(fields);
}

// A line that cannot be parsed is the process's to refuse.
std::string with_addresses(const std::string& line) {
  FunctionEventParse parsed = parse_function_event(line, [](std::string_view) { return 1; });
  if (!parsed.def) return line;
  for (FunctionEventArg& arg : parsed.def->args) {
    if (arg.struct_size) add_member_addresses(&arg);
    if (arg.struct_size || arg.fields.size() != 1) continue;
    const FunctionEventField& text = arg.fields[0];
    const bool is_plain = text.source == FunctionEventField::Source::kArgument &&
                          text.suffixes.empty() && text.length.empty();
    if (text.atom != "string" || !is_plain) continue;
    arg.fields.push_back(address_beside(text));
  }
  if (parsed.def->result && parsed.def->result->struct_size)
    add_member_addresses(&*parsed.def->result);
  if (!parsed.def->is_call) {
    FunctionEventField stack;
    stack.source = FunctionEventField::Source::kStack;
    stack.atom = "x64";
    stack.atom_size = 8;
    stack.name = kStackPlaceField;
    FunctionEventArg place;
    place.fields.push_back(std::move(stack));
    parsed.def->args.push_back(std::move(place));
  }
  return parsed.def->canonical();
}

// A probe's name has at most 63 characters, and the return's is called as its entry. That of an
// overload with its parameters may be longer: then it is called as the function alone.
constexpr size_t kMaxEntryName = 55;

std::string with_short_name(const std::string& line, const std::vector<std::string>& available) {
  const FunctionEventParse parsed = parse_function_event(line, [](std::string_view) { return 1; });
  if (!parsed.def || !parsed.def->event.empty()) return line;
  if (parsed.def->event_name().size() <= kMaxEntryName) return line;
  FunctionEventDef alone;
  alone.function = parsed.def->function.substr(0, parsed.def->function.find('('));
  const std::string name = alone.event_name().substr(0, kMaxEntryName);
  const bool is_free =
      std::find(available.begin(), available.end(), "functions:" + name) == available.end();
  return is_free ? name + "=" + line : under_free_name(available, name, line);
}

ObjectForm::Show show_of(const FunctionEventField& field) {
  using Show = ObjectForm::Show;
  if (is_float(field) || is_long_double(field)) return Show::kFloat;
  if (field.atom == "symbol") return Show::kSymbol;
  if (field.atom[0] == 'x' || field.atom == "symbol") return Show::kHex;
  const bool is_signed = field.atom[0] == 's' || field.atom == "int" || field.atom == "long";
  return is_signed && field.atom != "size_t" && !field.is_unsigned_word ? Show::kSigned
                                                                        : Show::kUnsigned;
}

bool is_part_of(const ObjectArguments& objects, const std::string& field) {
  return std::any_of(objects.begin(), objects.end(), [&](const ObjectArgument& object) {
    return std::find(object.fields.begin(), object.fields.end(), field) != object.fields.end();
  });
}

// What the user has written with lengths, `string/count buf`, is shown as long as it is.
void add_lengths(const FunctionEventDef& def, ObjectArguments* objects) {
  for (const FunctionEventArg& arg : def.args) {
    for (const FunctionEventField& field : arg.fields) {
      if (!field.most || is_part_of(*objects, field.name)) continue;
      ObjectForm form;
      const bool is_text = field.atom == "string";
      form.kind = is_text ? ObjectForm::Kind::kText : ObjectForm::Kind::kList;
      form.size = is_text ? 1 : field.atom_size;
      form.show = show_of(field);
      form.field = field.name;
      if (!field.length_is_end) form.length = field.length;
      objects->push_back({field.name, {field.name}, std::move(form)});
    }
  }
}

// The event of an entry as one of the whole call, whose result says whether the call has failed:
// -1, NULL or -1, the number of an error. Empty: no result of its says that.
struct WholeCall {
  std::string line, filter;
};

FunctionEventField field_of(FunctionEventField::Source source, std::string_view atom,
                            std::string_view name) {
  FunctionEventField field;
  field.source = source;
  field.atom = atom;
  field.atom_size = find_atom(atom)->size;
  field.name = name;
  return field;
}

WholeCall failing_call(const Definition& one) {
  using Source = FunctionEventField::Source;
  FunctionEventParse parsed = parse_function_event(one.line, [](std::string_view) { return 1; });
  if (!parsed.def || parsed.def->is_call) return {};
  const bool is_pointer = one.result == "string" || (one.has_types && one.result == "x64");
  const FunctionEventAtom* const atom = find_atom(is_pointer ? "x64" : one.result);
  if (!atom || atom->size > 8) return {};
  FunctionEventArg result;
  result.fields.push_back(field_of(Source::kResult, atom->name, kResultField));
  const bool is_number = atom->is_signed && can_be_length(result.fields[0]);
  if (!is_pointer && !is_number) return {};
  parsed.def->is_call = true;
  parsed.def->result = std::move(result);
  if (one.failure == FailureSign::kErrno)
    parsed.def->error = field_of(Source::kErrno, "int", kResultErrno);
  const std::string field(kResultField);
  std::string filter = field + " == -1";
  if (is_pointer) filter = field + " == 0 || " + field + " == 0xffffffffffffffff";
  if (is_number && one.failure == FailureSign::kResult) filter = field + " != 0";
  return {with_addresses(parsed.def->canonical()), std::move(filter)};
}

// What the user has written as `struct {int x, double y} p` is shown as one.
void add_structures(const FunctionEventDef& def, ObjectArguments* objects) {
  for (const FunctionEventArg& arg : def.args) {
    if (!arg.struct_size || is_part_of(*objects, arg.fields[0].name)) continue;
    ObjectArgument made{arg.struct_name, {}, {}};
    made.form.kind = ObjectForm::Kind::kMembers;
    for (const FunctionEventField& field : arg.fields) {
      if (field.is_beside) continue;
      ObjectForm& part = made.form.parts.emplace_back();
      part.kind = field.atom == "string" ? ObjectForm::Kind::kCText : ObjectForm::Kind::kScalar;
      part.name = field.name.substr(arg.struct_name.size() + 1);
      part.show = show_of(field);
      part.size = field.atom_size;
      part.field = field.name;
      made.fields.push_back(field.name);
    }
    objects->push_back(std::move(made));
  }
}

// Texts inside are recorded with their addresses (with_addresses()).
void add_text_addresses(ObjectForm* form, std::vector<std::string>* fields) {
  if (form->kind == ObjectForm::Kind::kCText && form->address.empty()) {
    form->address = form->field + std::string(kAddressSuffix);
    fields->push_back(form->address);
  }
  for (ObjectForm& part : form->parts) add_text_addresses(&part, fields);
}

Result<Definitions> function_definitions(serve::Client& client, const EventRequest& event) {
  std::string text = event.text;
  if (text.ends_with("(*)")) text.resize(text.size() - 3);
  const EventRequest request{.text = text, .is_own_code = event.is_own_code};
  const bool is_name = request.kind() == EventRequest::Kind::kEvent;  // T::operator(), too
  if (std::optional<DeclaredFunction> declared = is_name ? std::nullopt : declared_function(text)) {
    print_probe_notes(declared->made.notes);
    if (!declared->has_result)
      declared->result = result_of(client, function_name_in(declared->made.line));
    return Definitions{{"function_events", std::move(declared->made.line), false,
                        std::move(declared->result), true, std::move(declared->made.names),
                        FailureSign::kUnknown, std::move(declared->made.objects),
                        std::move(declared->made.whole)}};
  }
  if (request.kind() == EventRequest::Kind::kFunction)
    return Definitions{{"function_events", text, false, result_of(client, function_name_in(text))}};
  if (!is_name)
    return user_error(EINVAL, "-e '" + text +
                                  "': a function is needed: its name, a glob, FUNC(TYPE NAME, "
                                  "...) or a declaration of C.");
  PB_ASSIGN(Definitions found, named_definitions(client, request, true));
  if (found.empty()) {
    PB_ASSIGN(found, unlisted_definitions(client, text, true));
  }
  if (!found.empty()) return found;
  if (const std::string why = why_no_glob(client, text); !why.empty())
    return user_error(ENOENT, why);
  PB_ASSIGN(std::string listed,
            client.read_all("available_filter_functions", serve::kMostFunctions));
  std::vector<std::string> names = split_lines(listed);
  for (std::string& name : names) name.resize(std::min(name.size(), name.rfind(" [")));
  std::string sentence = "There is no function '" + text + "' in the process";
  const std::vector<std::string> near =
      near_matches(text, std::vector<std::string_view>(names.begin(), names.end()));
  for (size_t i = 0; i < near.size(); i++) sentence += (i == 0 ? "; near: " : ", ") + near[i];
  return user_error(ENOENT, sentence + ".");
}

}  // namespace

namespace {

// The result of a whole call as FunctionEventLines would have it.
std::string result_of_whole(const FunctionEventDef& def) {
  if (!def.result) return "void";
  const FunctionEventField& field = def.result->fields[0];
  return def.result->struct_size || field.is_array() ? "" : field.atom;
}

// The event of the whole call that is the return of an entry, with a result of several words and
// without the arguments, which the entry has. Where the result is in memory its address is passed
// before all arguments, and the entry skips it.
std::string whole_line(const Definition& one) {
  const auto any_address = [](std::string_view) { return 1; };
  FunctionEventParse parsed = parse_function_event(one.line, any_address);
  FunctionEventParse result =
      parse_function_event(one.whole.text + " = f(" + one.whole.hidden + ")", any_address);
  if (one.whole.text.empty() || !parsed.def || parsed.def->is_call || !result.def) return "";
  std::vector<FunctionEventArg>& args = parsed.def->args;
  parsed.def->is_call = true;
  parsed.def->result = std::move(result.def->result);
  const bool is_read = !result.def->args.empty();
  const bool is_skipped = is_read || class_of_result(*parsed.def->result).in_memory;
  if (is_skipped && (args.empty() || !args[0].is_null)) return "";
  args.clear();
  if (is_read) args.push_back(std::move(result.def->args[0]));
  return with_addresses(parsed.def->canonical());
}

// "": the function has no such event.
std::string define_whole_return(serve::Client& client, const Definition& one,
                                const std::string& entry, std::vector<std::string> available,
                                AppliedRequest* applied) {
  const std::string line = whole_line(one);
  if (line.empty()) return "";
  available.push_back(entry);
  const std::string stem = entry.substr(entry.find(':') + 1, kMaxEntryName);
  const std::string named = under_free_name(available, stem, std::string(without_event_name(line)));
  Result<std::string> name = define_function(client, named, available, applied->uses);
  return name.ok() ? *name : "";
}

Result<DefinedFunction> define_one(serve::Client& client, const Definition& one,
                                   const std::vector<std::string>& available,
                                   AppliedRequest* applied, WantedCalls wanted) {
  const auto define_line = [&](const std::string& line) {
    return define_function(client, with_short_name(line, available), available, applied->uses);
  };
  const FunctionEventParse parsed =
      parse_function_event(one.line, [](std::string_view) { return 1; });
  const bool says_how = one.failure == FailureSign::kErrno || one.failure == FailureSign::kResult;
  const bool failures_alone =
      wanted == WantedCalls::kFailures || (wanted == WantedCalls::kFailuresOfC && says_how);
  WholeCall whole = failures_alone ? failing_call(one) : WholeCall{};
  DefinedFunction made;
  if (!whole.line.empty()) {
    // A function whose return cannot be met has an entry.
    Result<std::string> name = define_line(whole.line);
    if (name.ok()) made.event = *name;
  }
  made.failure_filter = made.event.empty() ? "" : std::move(whole.filter);
  made.is_whole = !made.event.empty();
  if (!made.is_whole) {
    Result<std::string> name = define_line(with_addresses(one.line));
    // What is wrong is said of a line without what we have added.
    if (!name.ok()) name = define_line(one.line);
    PB_ASSIGN(made.event, std::move(name));
    made.is_whole = parsed.def->is_call;
  }
  if (!made.is_whole)
    made.returned = define_whole_return(client, one, made.event, available, applied);
  made.function = parsed.def->function;
  made.result = parsed.def->is_call ? result_of_whole(*parsed.def) : one.result;
  if (made.is_whole && made.result == "string" && !parsed.def->is_call) made.result = "x64";
  made.has_types = one.has_types;
  made.names = one.names;
  made.failure = one.failure;
  made.objects = one.objects;
  if (!made.returned.empty()) made.objects.push_back(one.whole.object);
  add_lengths(*parsed.def, &made.objects);
  add_structures(*parsed.def, &made.objects);
  for (ObjectArgument& object : made.objects) add_text_addresses(&object.form, &object.fields);
  return made;
}

}  // namespace

Result<std::vector<DefinedFunction>> define_functions(serve::Client& client,
                                                      const EventRequest& event,
                                                      AppliedRequest* applied, WantedCalls wanted) {
  PB_ASSIGN(Definitions definitions, function_definitions(client, event));
  PB_ASSIGN(std::vector<std::string> available, available_events(client));
  std::vector<DefinedFunction> functions;
  Refused refused;
  for (const Definition& one : definitions) {
    Result<DefinedFunction> made = define_one(client, one, available, applied, wanted);
    if (!made.ok() && !one.is_one_of_many) return made.error();
    if (!made.ok()) {
      refused.add(made.error());
      continue;
    }
    available.push_back(made->event);
    if (!made->returned.empty()) available.push_back(made->returned);
    functions.push_back(std::move(*made));
  }
  if (functions.empty() && refused.count > 0) return *refused.first;
  refused.say(definitions.size());
  return functions;
}

Result<std::vector<std::string>> matching_events(const std::vector<std::string>& available,
                                                 const std::string& text) {
  std::vector<std::string> found;
  std::vector<std::string_view> candidates;
  auto matches = [](const std::string& glob, const std::string& name) {
    return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  };
  for (const std::string& line : available) {
    size_t colon = line.find(':');
    std::string system = line.substr(0, colon), name = line.substr(colon + 1);
    bool is_it = text.find(':') != text.npos ? matches(text, line)
                                             : matches(text, name) || matches(text, system);
    if (is_it || text == "all") found.push_back(line);
    candidates.push_back(line);
  }
  if (!found.empty()) return found;
  std::string sentence = "There is no event and no function '" + text + "' in the process";
  std::vector<std::string> near = near_matches(text, candidates);
  for (size_t i = 0; i < near.size(); i++) sentence += (i == 0 ? "; near: " : ", ") + near[i];
  return user_error(ENOENT, sentence + ".");
}

}  // namespace patchbay::cmd
