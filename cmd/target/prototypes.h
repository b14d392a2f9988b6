// SPDX-License-Identifier: MIT
//
// What a function is given, when only its name is said (-e malloc). The first that knows it:
//
//   1. debug information of the file that the function is in
//   2. a file of prototypes: ~/.config/patchbay/prototypes/*.h, /etc/patchbay/prototypes/*.h, then
//      those that come with patchbay (share/patchbay/prototypes, made by tools/prototypes)
//   3. nobody: the six words in which integers are passed, as hexadecimal numbers
//
// A file of prototypes has declarations of C, one a line, `typedef`, `enum` and `struct` lines, and
// in a comment the libraries that it is about: `// library: libfoo.so.1`. Without that it is about
// all of them. A type is looked for in the file itself, then in all files. A comment behind a
// declaration says how the function tells that it has failed (FailureSign):
//
//   int open(const char *path, int flags, ...); // errno
//   int pthread_mutex_lock(pthread_mutex_t *mutex); // error number
//   void exit(int status); // does not return
//
// Behind that and a ';' stands what is passed for `...`, and when (function_line()):
//
//   int open(const char *path, int flags, ...); // errno; mode_t mode if flags & 0x40
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/target/c_declaration.h"
#include "cmd/target/kept_source.h"
#include "debug_info/derive.h"

namespace patchbay::cmd {

// The files of prototypes. Each is read once, and of it what is asked for: a start asks for one of
// thousands of lines.
class PrototypeFiles {
 public:
  PrototypeFiles(PrototypeFiles&&) noexcept;
  ~PrototypeFiles();
  // Those of prototype_directories(), as they are at the first call.
  static const PrototypeFiles& installed();
  static PrototypeFiles read_from(const std::vector<std::string>& directories);

  struct Entry {
    std::string declaration;
    std::string file;                    // where it stands
    std::vector<std::string> libraries;  // sonames; empty: any
    const CTypes* types;                 // of this file
    FailureSign failure = FailureSign::kUnknown;
    std::string rest;  // what is passed for `...`
  };
  // `library`: the file that has the function, by its base name; "": that is not known, and the
  // first one of this name is it.
  const Entry* find(const std::string& function, const std::string& library) const;
  // Of all files.
  const CTypes& types() const;
  // Lines that are no declaration, with their place: "FILE:7: A ')' is missing".
  std::vector<std::string> problems() const;

 private:
  struct Contents;
  PrototypeFiles();

  std::unique_ptr<Contents> contents_;
};

struct Prototype {
  enum class Source { kDebugInfo, kFile, kNone };
  Source source = Source::kNone;
  std::string where;                   // the file that says it
  std::string declaration;             // kFile: as it stands there
  std::vector<std::string> libraries;  // kFile: sonames of those that may have it; empty: any
  std::vector<std::string> lines;      // of function_events
  // The first of them with what is passed for `...`, which is not always there (the conditions of
  // its names say when); "": nothing is known of that.
  std::string with_rest = {};
  std::vector<std::string> results;    // of each line: as FunctionEventLines has them
  // Of each line. libc's debug information calls a word of flags int: its file of prototypes is
  // asked, too.
  std::vector<FunctionValueNames> names;
  std::vector<ObjectArguments> objects;  // of each line: arguments of several fields
  std::vector<WholeResult> wholes;       // of each line: where `results` has nothing
  FailureSign failure = FailureSign::kUnknown;
  std::vector<std::string> notes;
  // kNone: the sentence about a function of which only inlined copies are left.
  std::string only_copies = {};
  // kNone: why the debug information does not say it, if there is any; a sentence.
  std::string why_unknown = {};
};

class Prototypes {
 public:
  // `objects`: the files that are looked into for debug information, in this order.
  // `many`: it will be asked for many functions, and of copies that were inlined nothing is said.
  explicit Prototypes(std::vector<std::string> objects, bool many = false)
      : objects_(std::move(objects)), many_(many) {}

  // `asked`: as the user names the function, "libfoo:parse"; `library`: the base name of the file
  // that has it, "" when that is not known.
  Prototype of(const std::string& asked, const std::string& library);

 private:
  SourceProbes* probes_of(const std::string& object);

  std::vector<std::string> objects_;
  bool many_;
  std::map<std::string, std::optional<KeptSource>> open_;  // none: no debug information
};

// The sentence about a function of which only inlined copies are left, in one of these files; "":
// it is none.
std::string only_copies_of(const std::vector<std::string>& objects, const std::string& function);

// Where prototypes are looked for, the first first.
std::vector<std::string> prototype_directories();

}  // namespace patchbay::cmd
