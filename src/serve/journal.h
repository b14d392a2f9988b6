// SPDX-License-Identifier: MIT
//
// What clients have changed in the tree, as forked children repeat it on their copies:
//
//   Session  --  Operation: open, write, flush, close, mkdir …  -->  OperationJournal   parent
//                                                                          |  (agent/followers.h)
//   Repeater <-------------------------------------------------------------'            child
//
// Only files are repeated whose writes change what this process does. What a write changes in
// memory that all share (tracing_on, a clear, a marker) has been done by the parent for all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/agreed.h"
#include "base/result.h"
#include "tracefs/tree.h"

namespace patchbay::serve {

enum class OperationKind : uint32_t {
  kNone,
  kOpen,
  kWrite,
  kFlush,
  kClose,
  kIoctl,
  kMkdir,
  kRmdir,
  kWriteFile,
  kLeave,  // the agent leaves the parent: nothing follows for those that are its children now
};

struct Operation {
  OperationKind kind = OperationKind::kNone;
  uint32_t flags = 0;   // of an open
  uint32_t caller = 0;  // of a write
  int32_t error = 0;    // what the parent's came to: 0 or an errno
  uint64_t file = 0;    // the open file, numbered from the start of the process
  uint64_t value = 0;   // of an ioctl
  std::string path, data;
  std::vector<Note> notes;
};

std::string encode_operation(const Operation& operation);
// EINVAL where the bytes are no operation.
Result<Operation> decode_operation(std::string_view bytes);

class OperationJournal {
 public:
  virtual ~OperationJournal() = default;
  // Some child may repeat what is appended.
  virtual bool wanted() const = 0;
  // A file that was opened before this number may be open in a child too.
  virtual uint64_t files_at_last_fork() const = 0;
  virtual void append(const Operation& operation) = 0;
};

// Whether writes into the file are to be repeated.
bool is_repeated(std::string_view path, uint32_t open_flags);

// Every file that a session has open, by its number: a child inherits a copy of each.
class OpenFiles {
 public:
  static uint64_t enter(tracefs::File* file);  // its number
  static void leave(uint64_t number);
  static uint64_t next_number();
  static tracefs::File* find(uint64_t number);
  // In a forked child: those that its parent had open. No session of this process has them.
  static void close_inherited();
};

class Repeater {
 public:
  explicit Repeater(tracefs::Directory& root) : root_(root) {}
  // What it comes to here. Of an operation on a file that is not open in this process, nothing.
  Status repeat(const Operation& operation);

 private:
  Status open(const Operation& operation);
  Status write_file(const Operation& operation);
  Status change_entry(const Operation& operation);
  tracefs::File* find(uint64_t number);

  tracefs::Directory& root_;
  std::map<uint64_t, std::unique_ptr<tracefs::File>> files_;
};

}  // namespace patchbay::serve
