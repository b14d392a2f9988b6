// SPDX-License-Identifier: MIT
#include "cmd/common/options.h"

#include <getopt.h>

#include <algorithm>
#include <cstdio>

#include "cmd/common/commands.h"
#include "cmd/common/run_time.h"

namespace patchbay::cmd {
namespace {

constexpr int kColorId = kFirstOptionId - 1, kForceId = kFirstOptionId - 2,
              kForId = kFirstOptionId - 3;
constexpr size_t kWidth = 80, kMostLeft = 24;

constexpr Option kCommonOptions[] = {
    {.name = "color",
     .argument = "auto|always|never",
     .help = "colours messages, lines of report and calls, names of directories; auto, the "
             "default: on a terminal",
     .group = "Common options",
     .id = kColorId},
    {.letter = 'h', .name = "help", .help = "prints this text"},
};

constexpr Option kForceOption = {
    .name = "force",
    .help = "attaches also where a filter of system calls cannot be read",
    .more = "The filter may end the program when the agent makes a call that it does not allow.",
    .id = kForceId};
constexpr Option kForOption = {
    .name = "for",
    .argument = "TIME",
    .help = "ends after TIME, as Ctrl-C does: 10s, 500ms, 2m",
    .more = "The time counts from when all is set up. CMD gets a SIGTERM then.",
    .id = kForId};
bool g_is_forced = false;

// "-o, --output FILE", "    --json", "-l GLOB".
std::string left_side(const Option& option) {
  std::string text = option.letter ? std::string{'-', option.letter} : "   ";
  const bool has_name = *option.name != '\0';
  if (has_name) text += std::string(option.letter ? ", --" : " --") + option.name;
  if (!option.argument) return text;
  const bool is_optional = option.argument[0] == '[';
  const std::string argument = option.argument;
  if (!is_optional) return text + " " + argument;
  return text + (has_name ? "[=" + argument.substr(1) : argument);
}

std::string option_list(const std::vector<Option>& options) {
  size_t left = 0;
  for (const Option& option : options)
    if (option.kind == Option::Kind::kListed && left_side(option).size() <= kMostLeft)
      left = std::max(left, left_side(option).size());
  const size_t indent = 2 + left + 2;
  std::string text;
  for (const Option& option : options) {
    if (option.kind != Option::Kind::kListed) continue;
    if (option.group) text += "\n" + std::string(option.group) + ":\n";
    std::string side = "  " + left_side(option);
    side += side.size() + 2 > indent ? "\n" + std::string(indent, ' ')
                                     : std::string(indent - side.size(), ' ');
    text += side + wrapped(option.help, indent);
  }
  return text;
}

// The rows in getopt_long's form.
struct GetoptTable {
  std::string letters;
  std::vector<option> names;

  explicit GetoptTable(const CommandLine& line, const std::vector<Option>& options) {
    if (line.order == CommandLine::Words::kLast) letters = "+";
    if (line.order == CommandLine::Words::kInOrder) letters = "-";
    letters += ':';  // a missing value is told apart
    for (const Option& one : options) {
      const int argument = !one.argument            ? no_argument
                           : one.argument[0] == '[' ? optional_argument
                                                    : required_argument;
      if (one.letter) letters += one.letter + std::string(size_t(argument), ':');
      if (*one.name) names.push_back({one.name, argument, nullptr, id_of(one)});
    }
    names.push_back({});
  }
};

// The id of what getopt_long has returned: a letter may stand for another row's.
int id_of_result(const std::vector<Option>& options, int result) {
  for (const Option& one : options)
    if (one.letter && one.letter == result) return id_of(one);
  return result;
}

// An option that getopt_long has refused: `-x`, `--xyz`, or the one that misses its value.
// `before`: optind when getopt_long was asked; within "-xy" it stays.
int bad_option(const CommandLine& line, const std::vector<Option>& options, char** argv, int before,
               bool misses_value) {
  const std::string_view last = argv[::optind - 1];
  const bool is_short = ::optopt != 0 && (::optind == before || !last.starts_with("--"));
  const std::string option = is_short ? std::string{'-', char(::optopt)} : std::string(last);
  if (misses_value) return usage_error(line.name, "The option '" + option + "' misses its value.");
  std::vector<std::string> names, meant;
  for (const Option& one : options)
    if (*one.name && one.kind != Option::Kind::kOldSpelling)
      names.push_back("--" + std::string(one.name));
  const std::string_view name = std::string_view(option).substr(0, option.find('='));
  for (const std::string& one : names) {
    if (one == name) return usage_error(line.name, "The option '" + one + "' takes no value.");
    if (name.size() > 2 && one.starts_with(name)) meant.push_back(one);
  }
  std::string near;
  if (!is_short && meant.size() < 2)
    near = did_you_mean(name, std::vector<std::string_view>(names.begin(), names.end()));
  if (meant.size() > 1) near = " It is the beginning of " + join(meant, " and ") + ".";
  return usage_error(line.name, "There is no option '" + option + "'." + near);
}

}  // namespace

std::span<const Option> common_options() { return kCommonOptions; }
bool is_forced() { return g_is_forced; }

std::string wrapped(std::string_view text, size_t indent) {
  std::string lines;
  size_t column = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (column > indent && column + 1 + word.size() > kWidth) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) lines += ' ', column++;
    lines += word;
    column += word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return lines + "\n";
}

int id_of(const Option& option) { return option.id ? option.id : option.letter; }

std::vector<Option> options_of(const CommandLine& line) {
  std::vector<Option> all;
  for (std::span<const Option> part : line.options) all.insert(all.end(), part.begin(), part.end());
  if (line.lasts) all.push_back(kForOption);
  if (line.attaches) all.push_back(kForceOption);
  all.insert(all.end(), std::begin(kCommonOptions), std::end(kCommonOptions));
  return all;
}

std::string help_text(const CommandLine& line) {
  std::string text;
  std::string_view synopsis = line.synopsis;
  for (const char* before = "Usage: patchbay "; !synopsis.empty(); before = "       patchbay ") {
    const std::string_view one = synopsis.substr(0, synopsis.find('\n'));
    text += before + std::string(one) + "\n";
    synopsis.remove_prefix(std::min(one.size() + 1, synopsis.size()));
  }
  text += "\n" + std::string(line.about) + option_list(options_of(line));
  return *line.after ? text + "\n" + line.after : text;
}

std::optional<int> parse_options(const CommandLine& line, int argc, char** argv,
                                 const TakeOption& take) {
  const std::vector<Option> options = options_of(line);
  const GetoptTable table(line, options);
  ::opterr = 0;
  for (;;) {
    const int before = ::optind;
    const int result =
        ::getopt_long(argc, argv, table.letters.c_str(), table.names.data(), nullptr);
    if (result == -1) break;
    if (result == '?' || result == ':')
      return bad_option(line, options, argv, before, result == ':');
    const int id = id_of_result(options, result);
    const char* value = ::optarg ? ::optarg : "";
    if (id == 'h') return std::fputs(help_text(line).c_str(), stdout) < 0 ? kFailed : kOk;
    const char* wrong = nullptr;
    if (id == kForceId)
      g_is_forced = true;
    else if (id == kForId)
      wrong = take_run_time(value);
    else if (id != kColorId)
      wrong = take(id, value);
    else if (!set_color(value))
      wrong = "--color takes auto, always or never.";
    if (wrong) return usage_error(line.name, wrong);
  }
  return std::nullopt;
}

int too_much(const CommandLine& line, char** argv) {
  return usage_error(line.name, "The word '" + std::string(argv[::optind]) + "' is one too many.");
}

}  // namespace patchbay::cmd
