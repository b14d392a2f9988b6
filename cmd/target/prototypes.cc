// SPDX-License-Identifier: MIT
#include "cmd/target/prototypes.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "cmd/target/c_structure.h"
#include "cmd/target/probe_source.h"
#include "cmd/target/target_program.h"
#include "cmd/target/trace_request.h"
#include "event/function_event.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMostFiles = 1000;
constexpr uintmax_t kMostBytes = 64 << 20;  // of one file
constexpr char kSixWords[] = "(x64 arg1, x64 arg2, x64 arg3, x64 arg4, x64 arg5, x64 arg6)";

// "libfoo.so.1" is meant by "libfoo.so.1" and "libfoo.so.1.2.3". The dynamic linker has some of
// libc's functions of its own (strlen).
bool is_library(const std::string& file, const std::string& soname) {
  if (file.starts_with("ld-linux") && soname == "libc.so.6") return true;
  return file == soname || (file.starts_with(soname) && file[soname.size()] == '.');
}

// What stands before the '(' at `open`: "open", "std::terminate", "operator new[]".
std::string declared_name(const std::string& line, size_t open) {
  size_t end = open;
  if (line.substr(0, end).ends_with("[]")) end -= 2;
  size_t begin = end;
  const auto is_part = [](char c) { return std::isalnum(uint8_t(c)) || c == '_' || c == ':'; };
  while (begin > 0 && is_part(line[begin - 1])) begin--;
  constexpr std::string_view kOperator = "operator ";
  if (begin < end && line.substr(0, begin).ends_with(kOperator)) begin -= kOperator.size();
  return begin < end ? line.substr(begin, open - begin) : "";
}

// A function of C++ by its parameters' types, as a process calls it: "operator new(unsigned long)".
std::string signature_of(const std::string& declaration) {
  Result<CDeclaration> parsed = parse_c_declaration(declaration);
  if (!parsed.ok()) return "";
  std::string types;
  for (const CDeclaration::Parameter& one : parsed->parameters)
    types += (types.empty() ? "" : ", ") + one.type;
  for (const char* sign : {" *", " &"})
    for (size_t at; (at = types.find(sign)) != types.npos;) types.erase(at, 1);
  return parsed->name + "(" + types + ")";
}

// Cuts the comment off a line of a file.
FailureSign take_comment(std::string* line) {
  const size_t at = line->find("//");
  if (at == line->npos) return FailureSign::kUnknown;
  const std::string comment = line->substr(at + 2);
  line->erase(line->find_last_not_of(" \t", at > 0 ? at - 1 : 0) + 1);
  const std::vector<std::string_view> words = split_words(comment);
  if (words.size() == 1 && words[0] == "errno") return FailureSign::kErrno;
  if (words.size() == 2 && words[0] == "error" && words[1] == "number") return FailureSign::kResult;
  return comment == " does not return" ? FailureSign::kNever : FailureSign::kUnknown;
}

// The names of a line's arguments, in their order; nothing of a line that is none.
std::vector<std::string> arguments_of(const std::string& line) {
  std::vector<std::string> names;
  const FunctionEventParse parsed = parse_function_event(line, [](std::string_view) { return 1; });
  if (!parsed.def) return names;
  for (const FunctionEventArg& argument : parsed.def->args)
    names.push_back(argument.fields.empty() ? "" : argument.fields.front().name);
  return names;
}

// To what debug information says, where it has the same arguments as the declaration in a file.
void add_names_of_file(const PrototypeFiles::Entry* entry, Prototype* prototype) {
  if (!entry || prototype->lines.size() != 1) return;
  Result<CDeclaration> declaration = parse_c_declaration(entry->declaration);
  if (!declaration.ok()) return;
  const FunctionLine made = function_line(*declaration, *entry->types, declaration->name);
  const std::vector<std::string> ours = arguments_of(prototype->lines[0]),
                                 theirs = arguments_of(made.line);
  if (ours.size() != theirs.size()) return;
  FunctionValueNames& names = prototype->names[0];
  for (size_t i = 0; i < ours.size(); i++)
    if (SharedValueNames found = made.names.of(theirs[i]); found && !names.of(ours[i]))
      names.arguments.emplace_back(ours[i], std::move(found));
  if (!names.result) names.result = made.names.result;
}

std::string shared_directory() {
  char tool[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", tool, sizeof tool);
  const std::filesystem::path path(std::string(tool, length > 0 ? size_t(length) : 0));
  return path.parent_path().parent_path() / "share/patchbay/prototypes";
}

}  // namespace

std::vector<std::string> prototype_directories() {
  std::vector<std::string> directories;
  const char *config = std::getenv("XDG_CONFIG_HOME"), *home = std::getenv("HOME");
  if (config && *config == '/')
    directories.push_back(std::string(config) + "/patchbay/prototypes");
  else if (home && *home == '/')
    directories.push_back(std::string(home) + "/.config/patchbay/prototypes");
  directories.push_back("/etc/patchbay/prototypes");
  directories.push_back(shared_directory());
  return directories;
}

const PrototypeFiles& PrototypeFiles::installed() {
  static const PrototypeFiles files = read_from(prototype_directories());
  return files;
}

PrototypeFiles PrototypeFiles::read_from(const std::vector<std::string>& directories) {
  PrototypeFiles files;
  for (const std::string& directory : directories) files.read_directory(directory);
  return files;
}

void PrototypeFiles::read_directory(const std::string& path) {
  std::error_code none;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path, none)) {
    const bool is_it = entry.path().extension() == ".h" && entry.is_regular_file(none);
    if (is_it && entry.file_size(none) <= kMostBytes) found.push_back(entry.path());
    if (found.size() == kMostFiles) break;
  }
  std::sort(found.begin(), found.end());
  for (const std::string& file : found) read_file(file);
}

// Declarations are taken apart when they are asked for: a start reads thousands of lines, and asks
// for one. The name is the word before the first '(' that no '*' follows.
void PrototypeFiles::read_file(const std::string& path) {
  std::ifstream stream(path);
  std::vector<std::string> libraries;
  CTypes* const types = types_by_file_.emplace_back(std::make_unique<CTypes>(types_.get())).get();
  size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    number++;
    constexpr std::string_view kLibrary = "// library:";
    if (line.starts_with(kLibrary))
      for (std::string_view word : split_words(std::string_view(line).substr(kLibrary.size())))
        libraries.emplace_back(word);
    if (line.empty() || line.starts_with("//") || line.starts_with('#')) continue;
    const FailureSign failure = take_comment(&line);
    if (is_c_enumeration(line)) {
      const Status added = types->add_enum(line);
      if (added.ok()) (void)types_->add_enum(line);
      if (!added.ok())
        problems_.push_back(path + ":" + std::to_string(number) + ": " + added.error().message());
      continue;
    }
    if (is_c_structure(line)) {
      const Status added = types->add_struct(line);
      if (added.ok()) (void)types_->add_struct(line);
      if (!added.ok())
        problems_.push_back(path + ":" + std::to_string(number) + ": " + added.error().message());
      continue;
    }
    if (line.starts_with("typedef ") && types->add_typedef(line)) {
      types_->add_typedef(line);
      continue;
    }
    const size_t open = line.find('(');
    const std::string name = open == line.npos ? "" : declared_name(line, open);
    if (name.empty()) {
      problems_.push_back(path + ":" + std::to_string(number) + ": no declaration of a function");
      continue;
    }
    by_name_[name].push_back({line, path, libraries, types, failure});
    if (name.find_first_of(" :") != name.npos)
      by_name_[signature_of(line)].push_back({line, path, libraries, types, failure});
  }
}

const PrototypeFiles::Entry* PrototypeFiles::find(const std::string& function,
                                                  const std::string& library) const {
  const auto found = by_name_.find(function);
  if (found == by_name_.end()) return nullptr;
  for (const Entry& entry : found->second) {
    const bool is_any = entry.libraries.empty();
    const auto names_it = [&](const std::string& soname) { return is_library(library, soname); };
    if (is_any || library.empty() ||
        std::any_of(entry.libraries.begin(), entry.libraries.end(), names_it))
      return &entry;
  }
  return nullptr;
}

SourceProbes* Prototypes::probes_of(const std::string& object) {
  const auto [found, is_new] = open_.try_emplace(object);
  if (is_new)
    if (auto opened = KeptSource::open(object); opened.ok()) found->second = std::move(*opened);
  return found->second ? &**found->second : nullptr;
}

Prototype Prototypes::of(const std::string& asked, const std::string& library) {
  Prototype prototype;
  const std::string function = split_library(asked).second;
  for (const std::string& object : objects_) {
    if (!library.empty() && base_name(object) != library) continue;
    SourceProbes* const probes = probes_of(object);
    if (!probes) continue;
    Result<FunctionEventLines> lines = probes->function_events(function);
    if (!lines.ok()) continue;
    prototype.source = Prototype::Source::kDebugInfo;
    prototype.where = object;
    prototype.lines = std::move(lines->lines);
    prototype.results = std::move(lines->results);
    // The library that the user has named stands before the name that debug information has.
    if (function != asked)
      for (std::string& line : prototype.lines)
        line.insert(0, asked.substr(0, asked.size() - function.size()));
    prototype.names = std::move(lines->names);
    prototype.objects = std::move(lines->objects);
    prototype.wholes = std::move(lines->wholes);
    const auto* entry = PrototypeFiles::installed().find(function, std::string(base_name(object)));
    add_names_of_file(entry, &prototype);
    if (entry) prototype.failure = entry->failure;
    prototype.notes = std::move(lines->notes);
    prototype.notes.insert(prototype.notes.end(), lines->beyond.begin(), lines->beyond.end());
    return prototype;
  }
  std::string has_it = library;
  for (const std::string& object : objects_)
    if (has_it.empty() && defines(object, function)) has_it = base_name(object);
  const PrototypeFiles& files = PrototypeFiles::installed();
  if (const PrototypeFiles::Entry* entry = files.find(function, has_it)) {
    if (Result<CDeclaration> declaration = parse_c_declaration(entry->declaration);
        declaration.ok()) {
      FunctionLine made = function_line(*declaration, *entry->types, asked);
      prototype.source = Prototype::Source::kFile;
      prototype.where = entry->file;
      prototype.declaration = entry->declaration;
      prototype.libraries = entry->libraries;
      prototype.lines = {std::move(made.line)};
      prototype.results = {result_atom(*declaration, *entry->types)};
      prototype.names = {std::move(made.names)};
      prototype.objects = {std::move(made.objects)};
      prototype.wholes = {std::move(made.whole)};
      prototype.notes = std::move(made.notes);
      prototype.failure = entry->failure;
      return prototype;
    }
  }
  prototype.lines = {asked + kSixWords};
  prototype.results = {"x64"};
  prototype.names = {{}};
  prototype.objects = {{}};
  prototype.wholes = {{}};
  return prototype;
}

}  // namespace patchbay::cmd
