// SPDX-License-Identifier: MIT
//
// Lines and addresses. One statement often has several addresses: the head of a loop, moved code. A
// line is probed once in each instance of a function, at its lowest address that begins a
// statement, as debuggers place a breakpoint.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "debug_info/functions.h"

namespace patchbay {

class SourceLines {
 public:
  struct Row {
    uint64_t address;
    int line;
    const char* file;
    bool is_statement;
  };
  struct Place {
    FunctionInstance instance;
    uint64_t address;
  };

  // Where the function is declared, and the line of it; 0 and "" when that is not known.
  static std::string file_of(const FunctionInstance& instance);
  static int first_line_of(const FunctionInstance& instance);

  // line -> addresses, of an instance's own source file: the first one in each part of the code. An
  // optimizer moves what seldom runs (.cold), and a line may have code in both.
  using Addresses = std::map<int, std::vector<uint64_t>>;
  Addresses lines_of(const FunctionInstance& instance);
  // The places of a line of a file; `lines` gets all lines of the file that have code.
  std::vector<Place> places_of(const UnitIndex& index, FunctionFinder& finder,
                               std::string_view file, int line, std::vector<int>* lines);
  // The line that an address belongs to; 0 when none does.
  int line_at(Dwarf_Die die, uint64_t address);

 private:
  const std::vector<Row>& rows_of(Dwarf_Die die);

  std::unordered_map<void*, std::vector<Row>> rows_;  // by unit
};

// "; nearest 14", "; nearest 10 and 14", or "" when there are no lines.
std::string nearest_lines(const std::vector<int>& lines, int line);

}  // namespace patchbay
