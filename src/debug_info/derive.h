// SPDX-License-Identifier: MIT
//
// From the text that a user types to the plain definitions that the agent takes:
//
//   work:3 n item->name
//       p:probe_calls/work_L3 calls:work+18 n=-20(%bp):s32 name=+0(+8(%bx)):string
//
// A place is LIB:SYM+OFF, or PATH:0xOFFSET where no symbol names it. When one request means several
// places (inlined copies, clones), there are several definitions of one event.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "debug_info/debug_info.h"
#include "debug_info/functions.h"
#include "debug_info/probe_request.h"
#include "debug_info/probe_type.h"
#include "debug_info/result_use.h"
#include "debug_info/source_lines.h"
#include "debug_info/unit_index.h"
#include "debug_info/variable.h"
#include "event/object_form.h"
#include "event/value_names.h"

namespace patchbay {

struct DerivedProbe {
  std::string group, event;
  std::vector<std::string> places;  // with the arguments: "calls:work+18 n=-20(%bp):s32"
  bool on_return = false;
  std::vector<std::string> notes;  // what a person should know
  // The lines to write, with the event's name, which may differ from the derived one.
  std::vector<std::string> definitions(const std::string& as_event) const;
};

// Overloads with different parameters have a line each, with their parameters in the name.
struct FunctionEventLines {
  std::vector<std::string> lines;
  // Of each line, what the function returns: a word of function_events, "string" of a text by its
  // address, "void"; "" when it is in no register as it is.
  std::vector<std::string> results;
  std::vector<WholeResult> wholes;        // of each line: where `results` has nothing
  std::vector<FunctionValueNames> names;  // of each line: of what has the type of an enumeration
  std::vector<ObjectArguments> objects;   // of each line: arguments of several fields
  std::vector<std::string> notes;         // what a person should know
  std::vector<std::string> beyond;  // parameters that it cannot have: "'g' (int) is passed …"
};

struct FunctionLines {
  std::string function, file;
  int first = 0;
  std::vector<int> lines;  // those that can be probed, counted in the file
  int last = 0;
};

struct VisibleVariables {
  std::string place;  // "work+18"
  struct Row {
    std::string type, name, fetch;  // fetch empty: it cannot be fetched
    std::string why;
  };
  std::vector<Row> rows;
};

class SourceProbes {
 public:
  static Result<std::unique_ptr<SourceProbes>> open(const std::string& path);

  Result<DerivedProbe> derive(const ProbeRequest& request);
  // `func(int n, string name)` as function_events takes it, from `func` or `func@file.c`. Of
  // several functions of that name each has a line, which means no other one. `has_objects`: with
  // the parts of objects, structures by value and values of 16 bytes, for which the kernel's
  // uprobes have no form.
  Result<FunctionEventLines> function_events(std::string_view function, bool has_objects = true);
  // Whether function_events() will be asked for many functions: debug information is read once for
  // them all, and nothing is said of copies that were inlined.
  void expect_many(bool many) { finder_.expect_many(many); }
  bool expects_many() const { return finder_.expects_many(); }
  // Of a function, or (FILE:LINE) of the function that is there.
  Result<FunctionLines> lines(const ProbeRequest& request);
  Result<std::vector<VisibleVariables>> variables(const ProbeRequest& request);
  std::vector<std::string> functions() { return finder_.names(); }
  const DebugInfo& info() const { return *info_; }

 private:
  struct Site {
    FunctionInstance instance;
    uint64_t address = 0;
  };
  using Arguments = std::vector<FetchArgument>;
  explicit SourceProbes(std::unique_ptr<DebugInfo> info);
  // Whether one description of the result is right for all of them.
  bool have_one_result(const std::vector<FunctionInstance>& functions);
  Result<std::vector<Site>> sites_of(const ProbeRequest& request);
  Result<std::vector<Site>> sites_of_line(const ProbeRequest& request);
  Result<std::vector<Site>> sites_of_pattern(const ProbeRequest& request);
  Result<std::vector<Site>> sites_in_file(const ProbeRequest& request);
  ProbePoint point_of(const Site& site, bool on_return) const;
  bool can_name(const Site& site, bool on_return) const;
  std::string place_text(const Site& site, bool by_file) const;
  std::string shown_place(uint64_t address) const;
  TextOfAddress address_text(bool by_file) const;
  ValueNamesCache value_names_;
  Result<Arguments> arguments_of(const ProbeRequest& request, const Site& site, bool by_file,
                                 DerivedProbe* probe);
  Status add_argument(const ProbeRequestArgument& argument, VariableReader& reader,
                      Arguments* arguments, DerivedProbe* probe);
  void add_all(const ProbeRequestArgument& argument, VariableReader& reader, Arguments* arguments,
               DerivedProbe* probe);
  Result<std::string> arguments_text(const ProbeRequest& request, const Site& site, bool* by_file,
                                     std::string* kinds, DerivedProbe* probe);
  void name_probe(const ProbeRequest& request, const Site& site, DerivedProbe* probe) const;

  std::unique_ptr<DebugInfo> info_;
  UnitIndex index_;
  FunctionFinder finder_;
  SourceLines lines_;
  ResultUses result_uses_;
};

}  // namespace patchbay
