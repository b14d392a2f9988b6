// SPDX-License-Identifier: MIT
//
// One table says what a sub-command takes. Everything that has to agree comes from it: the parsing,
// the text of --help, the option lists of the manual pages (tools/man_options) and what a shell
// completes (cmd/completions.cc).
//
// A letter has one meaning in all commands (OPTION LETTERS in patchbay(1)). A row
// of the kind kOldSpelling is understood, and nobody is told of it.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::cmd {

struct Option {
  enum class Kind : uint8_t {
    kListed,       // in --help, the manual page and completions
    kCompleted,    // in completions: it is one of many that another row stands for
    kOldSpelling,  // understood only
  };

  char letter = 0;
  const char* name = "";  // behind `--`; empty: there is a letter only
  // What stands behind it: "FILE"; "[GLOB]" may be missing, and stands behind a `=` then;
  // "total|self": one of these words. Null: nothing.
  const char* argument = nullptr;
  const char* help = nullptr;   // sentences for --help and the manual page
  const char* more = "";        // further sentences for the manual page
  const char* group = nullptr;  // a heading: the rows from this one on
  bool repeats = false;         // it may be given several times
  int id = 0;                   // what the command gets; 0: the letter
  Kind kind = Kind::kListed;
};

// Ids of rows without a letter begin above the letters.
inline constexpr int kFirstOptionId = 1000;
// The id of a word of a command line whose words come in order (kInOrder).
inline constexpr int kWordId = 1;

struct CommandLine {
  enum class Words : uint8_t {
    kAnywhere,  // options stand before, between and behind the words
    kLast,      // the first word ends the options
    kInOrder,   // as kAnywhere, and the command gets each word at its place
  };

  const char* name;
  const char* summary;   // one line, for `patchbay help`
  const char* synopsis;  // lines behind "patchbay "
  const char* about;     // the text between the synopsis and the options, ready to print
  std::array<std::span<const Option>, 3> options;
  const char* after = "";  // the text behind the options
  const char* words = "";  // "PID PATH": what its words are, for completions
  Words order = Words::kAnywhere;
  bool attaches = false;  // puts the agent into processes, and so takes --force
  bool lasts = false;     // until Ctrl-C or the end of what it looks at, and so takes --for
};

// -h, --help and --color, which each command has.
std::span<const Option> common_options();
// --force was given: a filter of system calls that cannot be read is taken as it is.
bool is_forced();
// All rows of a command.
std::vector<Option> options_of(const CommandLine& line);
int id_of(const Option& option);

// Words of `text` in lines of 80 columns, those behind the first one indented.
std::string wrapped(std::string_view text, size_t indent);

// The text of `patchbay COMMAND --help`.
std::string help_text(const CommandLine& line);

// Gets an option and its value, "" for none. Null when it is right, else the sentence about it.
using TakeOption = std::function<const char*(int id, const char* value)>;
// Takes options off argv from optind on, until its end, or the first word of a line of the order
// kLast. Empty when all is right; else the exit status: help was asked for, or something is wrong,
// which was said.
std::optional<int> parse_options(const CommandLine& line, int argc, char** argv,
                                 const TakeOption& take);
// The usage error about the word at argv[optind] that nothing is left for.
int too_much(const CommandLine& line, char** argv);

}  // namespace patchbay::cmd
