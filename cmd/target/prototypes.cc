// SPDX-License-Identifier: MIT
#include "cmd/target/prototypes.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/foreign_file.h"
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
  const auto is_part = [](char c) { return is_word_char(c) || c == ':'; };
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

// Cuts the comment off a line of a file. `rest`: what it says about `...`.
FailureSign take_comment(std::string* line, std::string* rest = nullptr) {
  const size_t at = line->find("//");
  if (at == line->npos) return FailureSign::kUnknown;
  std::string comment = line->substr(at + 2);
  const size_t behind = std::min(comment.find(';'), comment.size());
  if (rest) *rest = comment.substr(std::min(behind + 1, comment.size()));
  comment.resize(behind);
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

// Debug information says that there is a `...`, and not what is passed for it.
void add_rest_of_file(const PrototypeFiles::Entry& entry, const CDeclaration& declaration,
                      const std::string& without, Prototype* prototype) {
  const FunctionLine with = function_line(declaration, *entry.types, declaration.name, entry.rest);
  std::string line = prototype->lines[0];
  const size_t same = without.size() - 1;  // up to the ')'
  if (with.line.size() <= without.size() || !line.ends_with(')')) return;
  if (with.line.compare(0, same, without, 0, same) != 0) return;
  line.replace(line.size() - 1, 1, with.line.substr(same));
  prototype->with_rest = line;
  FunctionValueNames& names = prototype->names[0];
  names.conditions = with.names.conditions;
  for (ArgumentCondition& one : names.conditions) {
    // The arguments may have other names there.
    const std::vector<std::string> ours = arguments_of(line), theirs = arguments_of(with.line);
    for (size_t i = 0; i < std::min(ours.size(), theirs.size()); i++)
      if (theirs[i] == one.of) one.of = ours[i];
  }
  for (const auto& [argument, values] : with.names.arguments) {
    const std::string name = argument;  // no lambda takes a binding
    const bool is_of_rest =
        std::any_of(names.conditions.begin(), names.conditions.end(),
                    [&](const ArgumentCondition& one) { return one.argument == name; });
    if (is_of_rest && !names.of(name)) names.arguments.emplace_back(name, values);
  }
  names.octal.insert(names.octal.end(), with.names.octal.begin(), with.names.octal.end());
}

// Debug information has no attribute that says how `...` is read.
void add_format_of_file(const FunctionLine& made, Prototype* prototype) {
  constexpr std::string_view kRest = ", ...)";
  std::string line = prototype->lines[0];
  if (!made.line.ends_with(kRest) || line.ends_with(kRest) || !line.ends_with(')')) return;
  line.replace(line.size() - 1, 1, kRest);
  if (arguments_of(line).size() == arguments_of(made.line).size()) prototype->lines[0] = line;
}

// To what debug information says, where it has the same arguments as the declaration in a file.
void add_names_of_file(const PrototypeFiles::Entry* entry, Prototype* prototype) {
  if (!entry || prototype->lines.size() != 1) return;
  Result<CDeclaration> declaration = parse_c_declaration(entry->declaration);
  if (!declaration.ok()) return;
  const FunctionLine made = function_line(*declaration, *entry->types, declaration->name);
  add_format_of_file(made, prototype);
  const std::vector<std::string> ours = arguments_of(prototype->lines[0]),
                                 theirs = arguments_of(made.line);
  if (ours.size() != theirs.size()) return;
  FunctionValueNames& names = prototype->names[0];
  if (!entry->rest.empty()) add_rest_of_file(*entry, *declaration, made.line, prototype);
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

namespace {

struct File {
  std::string path, text;
  std::unique_ptr<CTypes> types;
  bool has_types = false;  // they were read
  // By the names that were asked for; those that it does not have, too.
  std::unordered_map<std::string, std::vector<PrototypeFiles::Entry>> known;
};

// Calls `use` with each line and its number.
void for_each_line(std::string_view text, const auto& use) {
  size_t number = 0;
  for (size_t begin = 0; begin < text.size(); number++) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    use(text.substr(begin, end - begin), number + 1);
    begin = end + 1;
  }
}

bool is_comment(std::string_view line) {
  return line.empty() || line.starts_with("//") || line.starts_with('#');
}

// Whether a line is about a type, which `types` has then, or something that is wrong with it.
bool take_type(std::string_view text, CTypes* types, Status* status) {
  std::string line(text);
  if (is_comment(line)) return false;
  (void)take_comment(&line);
  if (is_c_enumeration(line)) {
    *status = types->add_enum(line);
    return true;
  }
  if (is_c_structure(line)) {
    *status = types->add_struct(line);
    return true;
  }
  return line.starts_with("typedef ") && types->add_typedef(line);
}

void take_types(std::string_view text, CTypes* types) {
  for_each_line(text, [&](std::string_view line, size_t) {
    Status ignored;
    if (line.starts_with("enum") || line.starts_with("struct") || line.starts_with("typedef"))
      (void)take_type(line, types, &ignored);
  });
}

// Which libraries the declarations of a file are about that stand behind these lines.
std::vector<std::string> libraries_of(std::string_view text) {
  constexpr std::string_view kLibrary = "// library:";
  std::vector<std::string> libraries;
  for (size_t at = 0; (at = text.find(kLibrary, at)) != text.npos; at += kLibrary.size()) {
    if (at > 0 && text[at - 1] != '\n') continue;
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    for (std::string_view word : split_words(line.substr(kLibrary.size())))
      libraries.emplace_back(word);
  }
  return libraries;
}

// What a line declares; "": it declares no function. The name is the word before the first '(' that
// no '*' follows.
std::string function_of(const std::string& line) {
  const size_t open = line.find('(');
  return open == line.npos ? "" : declared_name(line, open);
}

}  // namespace

struct PrototypeFiles::Contents {
  void read_directory(const std::string& path);
  const std::vector<Entry>& entries(File* file, const std::string& function);
  const CTypes* types_of(File* file);
  const CTypes& all_types();

  std::recursive_mutex lock;
  std::vector<std::unique_ptr<File>> files;  // in the order in which they are asked
  std::optional<CTypes> types;               // of all of them
};

PrototypeFiles::PrototypeFiles() : contents_(std::make_unique<Contents>()) {}
PrototypeFiles::PrototypeFiles(PrototypeFiles&&) noexcept = default;
PrototypeFiles::~PrototypeFiles() = default;

const PrototypeFiles& PrototypeFiles::installed() {
  static const PrototypeFiles files = read_from(prototype_directories());
  return files;
}

PrototypeFiles PrototypeFiles::read_from(const std::vector<std::string>& directories) {
  PrototypeFiles files;
  for (const std::string& directory : directories) files.contents_->read_directory(directory);
  return files;
}

void PrototypeFiles::Contents::read_directory(const std::string& path) {
  std::error_code none;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path, none)) {
    const bool is_it = entry.path().extension() == ".h" && entry.is_regular_file(none);
    if (is_it && entry.file_size(none) <= kMostBytes) found.push_back(entry.path());
    if (found.size() == kMostFiles) break;
  }
  std::sort(found.begin(), found.end());
  for (const std::string& name : found) {
    Result<std::string> text = read_foreign_file(name, kMostBytes);
    if (!text.ok()) continue;
    auto file = std::make_unique<File>();
    file->path = name;
    file->text = std::move(*text);
    file->types = std::make_unique<CTypes>([this] { return &all_types(); });
    files.push_back(std::move(file));
  }
}

const CTypes& PrototypeFiles::Contents::all_types() {
  const std::lock_guard guard(lock);
  if (types) return *types;
  types.emplace();
  for (const auto& file : files) take_types(file->text, &*types);
  return *types;
}

const CTypes* PrototypeFiles::Contents::types_of(File* file) {
  if (!std::exchange(file->has_types, true)) take_types(file->text, file->types.get());
  return file->types.get();
}

// "operator delete(void*)" is looked for by its name, and by what stands in the parentheses.
const std::vector<PrototypeFiles::Entry>& PrototypeFiles::Contents::entries(
    File* file, const std::string& function) {
  const auto [found, is_new] = file->known.try_emplace(function);
  if (!is_new) return found->second;
  const std::string_view text = file->text;
  const std::string name = function.substr(0, function.find('(')), needle = name + "(";
  size_t end = 0;
  for (size_t at = 0; (at = text.find(needle, at)) != text.npos; at++) {
    if (at < end) continue;  // the line is dealt with
    const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    end = std::min(text.find('\n', at), text.size());
    std::string line(text.substr(begin, end - begin));
    CTypes ignored;
    Status status;
    if (is_comment(line) || take_type(line, &ignored, &status)) continue;
    std::string rest;
    const FailureSign failure = take_comment(&line, &rest);
    if (function_of(line) != name) continue;
    if (name != function && signature_of(line) != function) continue;
    found->second.push_back(
        {line, file->path, libraries_of(text.substr(0, begin)), types_of(file), failure, rest});
  }
  return found->second;
}

const PrototypeFiles::Entry* PrototypeFiles::find(const std::string& function,
                                                  const std::string& library) const {
  if (function.empty()) return nullptr;
  const std::lock_guard guard(contents_->lock);
  for (const auto& file : contents_->files) {
    for (const Entry& entry : contents_->entries(file.get(), function)) {
      const bool is_any = entry.libraries.empty();
      const auto names_it = [&](const std::string& soname) { return is_library(library, soname); };
      if (is_any || library.empty() ||
          std::any_of(entry.libraries.begin(), entry.libraries.end(), names_it))
        return &entry;
    }
  }
  return nullptr;
}

const CTypes& PrototypeFiles::types() const { return contents_->all_types(); }

std::vector<std::string> PrototypeFiles::problems() const {
  std::vector<std::string> problems;
  for (const auto& file : contents_->files) {
    CTypes types;
    for_each_line(file->text, [&](std::string_view text, size_t number) {
      const auto add = [&](const std::string& what) {
        problems.push_back(file->path + ":" + std::to_string(number) + ": " + what);
      };
      Status status;
      const bool is_type = take_type(text, &types, &status);
      if (!status.ok()) add(status.error().message());
      if (is_type || is_comment(text)) return;
      std::string line(text);
      (void)take_comment(&line);
      if (function_of(line).empty()) add("no declaration of a function");
    });
  }
  return problems;
}

SourceProbes* Prototypes::probes_of(const std::string& object) {
  const auto [found, is_new] = open_.try_emplace(object);
  if (is_new)
    if (auto opened = KeptSource::open(object); opened.ok()) found->second = std::move(*opened);
  if (!found->second) return nullptr;
  if (is_new) (*found->second)->expect_many(many_);
  return &**found->second;
}

Prototype Prototypes::of(const std::string& asked, const std::string& library) {
  Prototype prototype;
  const std::string function = split_library(asked).second;
  for (const std::string& object : objects_) {
    if (!library.empty() && base_name(object) != library) continue;
    SourceProbes* const probes = probes_of(object);
    if (!probes) continue;
    Result<FunctionEventLines> lines = probes->function_events(function);
    if (!lines.ok() && lines.error().errno_value == ENOEXEC && prototype.only_copies.empty())
      prototype.only_copies = lines.error().message();
    if (!lines.ok() && lines.error().errno_value == ENODATA && prototype.why_unknown.empty() &&
        (!library.empty() || defines(object, function)))
      prototype.why_unknown = lines.error().message();
    if (!lines.ok()) continue;
    prototype.source = Prototype::Source::kDebugInfo;
    prototype.where = object;
    prototype.lines = std::move(lines->lines);
    prototype.results = std::move(lines->results);
    // The library that the user has named stands before the name that debug information has.
    if (function != asked)
      for (std::string& line : prototype.lines)
        line.insert(line.size() - without_event_name(line).size(),
                    asked.substr(0, asked.size() - function.size()));
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
      if (!entry->rest.empty()) {
        FunctionLine with = function_line(*declaration, *entry->types, asked, entry->rest);
        prototype.with_rest = std::move(with.line);
        made.names = std::move(with.names);
      }
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

std::string only_copies_of(const std::vector<std::string>& objects, const std::string& function) {
  return Prototypes(objects).of(function, "").only_copies;
}

}  // namespace patchbay::cmd
