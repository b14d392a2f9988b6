// SPDX-License-Identifier: MIT
#include "cmd/completions.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cmd/command_table.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/target/target_program.h"
#include "cmd/target/trace_request.h"
#include "event/trace_options.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMostFound = 500;  // a process has thousands of functions

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (bool more = !text.empty(); more;) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    more = end != text.npos;
    if (more) text.remove_prefix(end + 1);
  }
  return parts;
}

std::string comm_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return printable(name);
}

// One command line, read from its beginning to the word that is being written.
class Completer {
 public:
  explicit Completer(const std::vector<std::string>& words)
      : words_(words), current_(words.back()) {}
  Completions run();

 private:
  void add(std::string_view text, std::string_view description = "");
  void add_commands();
  void add_options(const std::vector<Option>& options);
  void add_processes();
  void add_own_processes();
  void add_lines_of(const char* file, bool with_systems);
  void add_tracefs_paths();
  void add_value(std::string_view kind);
  void read_words(const CommandLine& line, const std::vector<Option>& options);

  const std::vector<std::string>& words_;
  const std::string current_;
  Completions all_;
  int pid_ = 0;
  const Option* waiting_ = nullptr;  // the option before the current word, whose value it is
  size_t plain_ = 0;                 // words before the current one that are no options
  bool in_program_ = false;
};

void Completer::add(std::string_view text, std::string_view description) {
  if (text.starts_with(current_) && all_.found.size() < kMostFound)
    all_.found.push_back({std::string(text), std::string(description)});
}

void Completer::add_commands() {
  for (const Command& command : all_commands()) add(command.line->name, command.line->summary);
  add("help", "print help, or that of a command");
  add("version", "print the version");
}

void Completer::add_options(const std::vector<Option>& options) {
  for (const Option& option : options) {
    if (option.kind == Option::Kind::kOldSpelling) continue;
    const char* help = option.help ? option.help : "an option of trace_options";
    if (*option.name) add("--" + std::string(option.name), help);
    if (option.letter && current_ == std::string{'-', option.letter}) add(current_, help);
  }
}

void Completer::add_processes() {
  Result<std::string> directory = serve::runtime_directory(false);
  if (!directory.ok()) return;
  Result<std::vector<serve::ProcessEntry>> entries = serve::list_processes(*directory);
  if (!entries.ok()) return;
  for (const serve::ProcessEntry& entry : *entries)
    if (entry.has_agent()) add(std::to_string(entry.pid), comm_of(entry.pid));
}

// Those that can be attached to, as far as a user's name says it.
void Completer::add_own_processes() {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    int pid = 0;
    struct stat status;
    if (!parse_pid(entry.path().filename().string(), &pid) || pid == ::getpid()) continue;
    const bool is_own = ::stat(entry.path().c_str(), &status) == 0 && status.st_uid == ::geteuid();
    if (is_own && !exe_of(pid).empty()) add(std::to_string(pid), comm_of(pid));
  }
}

// Of the process that -p names, or of the only one.
void Completer::add_lines_of(const char* file, bool with_systems) {
  Result<std::unique_ptr<serve::Client>> client = choose_process(pid_);
  if (!client.ok()) return;
  Result<std::string> text = (*client)->read_all(file, serve::kMostFunctions);
  if (!text.ok()) return;
  std::string last;
  for (const std::string& line : split_lines(*text)) {
    const std::string system = line.substr(0, line.find(':'));
    if (with_systems && system != last) add(last = system, "all events of the system");
    add(line.substr(0, line.find(" [")));
  }
}

void Completer::add_tracefs_paths() {
  Result<std::unique_ptr<serve::Client>> client = choose_process(pid_);
  if (!client.ok()) return;
  const size_t slash = current_.rfind('/');
  const std::string directory = slash == current_.npos ? "" : current_.substr(0, slash + 1);
  Result<std::vector<std::string>> names = (*client)->list(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) add(directory + name);
}

// What an argument's name, or one of its words, says about its values.
void Completer::add_value(std::string_view kind) {
  const bool is_choice = kind.find('|') != kind.npos;
  if (is_choice) {
    for (const std::string& word : split(kind, '|')) add(word);
  } else if (kind == "PID") {
    add_processes();
  } else if (kind == "PROCESS") {
    add_own_processes();
  } else if (kind == "EVENT") {
    add_lines_of("available_events", true);
  } else if (kind == "GLOB" || kind == "FUNC") {
    add_lines_of("available_filter_functions", false);
  } else if (kind == "PATH") {
    add_tracefs_paths();
  } else if (kind == "TRACER") {
    add("function", "every call of a function");
    add("function_graph", "entries and returns");
  } else if (kind == "CLOCK") {
    for (const TraceClockInfo& clock : kTraceClocks) add(clock.name);
  } else if (kind == "FILE") {
    all_.or_else = Completions::Else::kFiles;
  } else if (kind == "DIR") {
    all_.or_else = Completions::Else::kDirectories;
  } else if (kind == "CMD") {
    all_.or_else = Completions::Else::kProgram;
    all_.program = words_.size() - 1;
  }
}

// The option that a word is, and whether its value is the next word.
const Option* option_of(const std::vector<Option>& options, const std::string& word,
                        bool* takes_next) {
  const bool is_long = word.starts_with("--");
  const std::string name = is_long ? word.substr(2, word.find('=') - 2) : "";
  for (const Option& option : options) {
    const bool is_it = is_long ? name == option.name
                               : option.letter && word.size() > 1 && word[1] == option.letter;
    if (!is_it) continue;
    const bool has_value = is_long ? word.find('=') != word.npos : word.size() > 2;
    *takes_next = option.argument && option.argument[0] != '[' && !has_value;
    return &option;
  }
  return nullptr;
}

void Completer::read_words(const CommandLine& line, const std::vector<Option>& options) {
  const bool has_program = std::string_view(line.words).ends_with("CMD");
  for (size_t i = 2; i + 1 < words_.size() && !in_program_; i++) {
    const std::string& word = words_[i];
    if (waiting_) {
      if (id_of(*waiting_) == 'p') (void)parse_pid(word, &pid_);
      waiting_ = nullptr;
      continue;
    }
    bool takes_next = false;
    const bool is_end = word == "--";
    const bool is_option = word.size() > 1 && word[0] == '-' && !is_end;
    const Option* option = is_option ? option_of(options, word, &takes_next) : nullptr;
    if (takes_next) waiting_ = option;
    if (is_option) continue;
    const bool is_pid = !is_end && plain_ == 0 && parse_pid(word, &pid_);
    const size_t nr_before_program = split(line.words, ' ').size() - 1;
    in_program_ = is_end || (has_program && !is_pid && plain_ >= nr_before_program);
    if (in_program_) all_.program = is_end ? i + 1 : i;
    plain_++;
  }
}

Completions Completer::run() {
  if (words_.size() <= 2) {
    add_commands();
    if (current_.starts_with('-')) add_options(options_of({.name = ""}));
    return all_;
  }
  if (words_[1] == "help") return add_commands(), all_;
  const Command* command = find_command(words_[1]);
  if (!command) return all_;
  const std::vector<Option> options = options_of(*command->line);
  read_words(*command->line, options);
  if (in_program_) {
    all_.or_else = Completions::Else::kProgram;
  } else if (waiting_) {
    add_value(waiting_->argument);
  } else if (current_.starts_with('-')) {
    add_options(options);
  } else {
    const std::vector<std::string> kinds = split(command->line->words, ' ');
    if (kinds.empty()) return all_;
    const std::string& kind = kinds[std::min(plain_, kinds.size() - 1)];
    const bool repeats = kind.ends_with("...");
    if (plain_ < kinds.size() || repeats || kind == "PATH")
      add_value(kind.substr(0, kind.size() - (repeats ? 3 : 0)));
  }
  return all_;
}

// --- the shells' scripts

constexpr char kBash[] = R"(# bash completion of patchbay
_patchbay() {
  local cur cword words=() line
  if declare -F _get_comp_words_by_ref > /dev/null; then
    _get_comp_words_by_ref -n =: cur cword words
  else
    cur=${COMP_WORDS[COMP_CWORD]} cword=$COMP_CWORD words=("${COMP_WORDS[@]}")
  fi
  COMPREPLY=()
  # Where readline begins a new word at a colon, what stands before it is there already.
  local colons=${cur%"${cur##*[:=]}"}
  [[ $COMP_WORDBREAKS == *:* ]] || colons=
  while IFS= read -r line; do
    case $line in
      :files) compopt -o filenames; COMPREPLY+=($(compgen -f -- "$cur")) ;;
      :directories) compopt -o filenames; COMPREPLY+=($(compgen -d -- "$cur")) ;;
      :program\ *)
        local first=${line#:program }
        if ((first >= cword)); then
          COMPREPLY+=($(compgen -c -- "$cur"))
        elif declare -F _command_offset > /dev/null; then
          _command_offset "$first"
        fi
        compopt -o default ;;
      *)
        line=${line%%$'\t'*}
        printf -v line %q "${line#"$colons"}"
        COMPREPLY+=("$line") ;;
    esac
  done < <("${words[0]/#\~/$HOME}" completions words -- "${words[@]:0:cword+1}" 2> /dev/null)
}
complete -F _patchbay patchbay
)";

constexpr char kZsh[] = R"(#compdef patchbay
_patchbay() {
  local line
  local -a found
  while IFS= read -r line; do
    case $line in
      :files) _files ;;
      :directories) _files -/ ;;
      :program\ *) shift "${line#:program }" words; ((CURRENT -= ${line#:program })); _normal ;;
      *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done < <("${words[1]}" completions words -- "${(@)words[1,CURRENT]}" 2> /dev/null)
  (( ${#found} )) && _describe -t patchbay patchbay found
}
if [ "$funcstack[1]" = _patchbay ]; then
  _patchbay "$@"
else
  compdef _patchbay patchbay
fi
)";

constexpr char kFish[] = R"(# fish completion of patchbay
function __patchbay_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] completions words -- $words 2> /dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :directories
                __fish_complete_directories (commandline -ct)
            case ':program *'
                set -l first (math (string replace ':program ' '' -- $line) + 1)
                __fish_complete_subcommand --commandline $words[$first..-1]
            case '*'
                echo $line
        end
    end
end
complete -c patchbay -f -a '(__patchbay_complete)'
)";

void print_words(const Completions& all) {
  for (const Completion& one : all.found)
    std::printf("%s\t%s\n", one_line(one.text).c_str(), one_line(one.description).c_str());
  switch (all.or_else) {
    case Completions::Else::kFiles:
      return (void)std::puts(":files");
    case Completions::Else::kDirectories:
      return (void)std::puts(":directories");
    case Completions::Else::kProgram:
      return (void)std::printf(":program %zu\n", all.program);
    case Completions::Else::kNothing:
      return;
  }
}

// --- the tables, for tools/man_options

std::string option_json(const Option& option) {
  const auto text = [](const char* name, const char* value) {
    return std::string("\"") + name + "\": " + json_quote(value ? value : "");
  };
  const char letter[] = {option.letter, '\0'};
  return "{" + text("letter", letter) + ", " + text("name", option.name) + ", " +
         text("argument", option.argument) + ", " + text("help", option.help) + ", " +
         text("more", option.more) + ", " + text("group", option.group) +
         ", \"repeats\": " + (option.repeats ? "true" : "false") + "}";
}

void print_table() {
  const char* before = "{";
  for (const Command& command : all_commands()) {
    std::printf("%s\n%s: {\"synopsis\": %s,\n \"options\": [", before,
                json_quote(command.line->name).c_str(), json_quote(command.line->synopsis).c_str());
    const char* comma = "";
    std::vector<Option> options = options_of(*command.line);
    options.resize(options.size() - common_options().size());
    for (const Option& option : options) {
      if (option.kind != Option::Kind::kListed) continue;
      std::printf("%s\n  %s", comma, option_json(option).c_str());
      comma = ",";
    }
    std::printf("]}");
    before = ",";
  }
  std::printf("\n}\n");
}

}  // namespace

Completions complete(const std::vector<std::string>& words) { return Completer(words).run(); }

int run_completions(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "bash") return std::fputs(kBash, stdout) < 0 ? kFailed : kOk;
  if (what == "zsh") return std::fputs(kZsh, stdout) < 0 ? kFailed : kOk;
  if (what == "fish") return std::fputs(kFish, stdout) < 0 ? kFailed : kOk;
  if (what == "table") return print_table(), kOk;
  if (what == "words" && argc > 3)
    return print_words(complete(std::vector<std::string>(argv + 3, argv + argc))), kOk;
  return usage_error("completions", "A shell is needed: bash, zsh or fish.");
}

}  // namespace patchbay::cmd
