// SPDX-License-Identifier: MIT
#include "serve/journal.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace patchbay::serve {
namespace {

// Files whose writes reach all processes by memory that they share, or that only a reader asks for.
constexpr std::string_view kNotRepeated[] = {
    "buffer_percent", "error_log",        "inject",     "saved_cmdlines_size", "snapshot",
    "snapshot_raw",   "stack_max_size",   "trace",      "trace_clock",         "trace_marker",
    "trace_pipe",     "trace_marker_raw", "tracing_on", "trace_pipe_raw",      "tracing_cpumask",
};

// The fixed part; path, data and notes follow.
struct Head {
  OperationKind kind;
  uint32_t flags, caller;
  int32_t error;
  uint64_t file, value;
  uint32_t path_size, data_size, nr_notes, reserved;
};

struct Table {
  std::map<uint64_t, tracefs::File*> files;
  uint64_t next = 1;
};

// Never freed: the control thread may run to the very end of the process.
Table& table() {
  static auto& made = *new Table;
  return made;
}

// The path's part before its last name, and that name.
std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

// Short writes go on where they ended, as Session does it.
Status write_all(tracefs::File& file, std::string_view bytes, uint32_t caller) {
  for (std::string_view rest = bytes; !rest.empty();) {
    PB_ASSIGN(size_t taken, file.write_as(rest, tracefs::Caller{caller}));
    if (taken == 0) return user_error(EIO, "The file takes no more of the text.");
    rest.remove_prefix(std::min(taken, rest.size()));
  }
  return {};
}

}  // namespace

std::string encode_operation(const Operation& one) {
  const Head head = {one.kind,
                     one.flags,
                     one.caller,
                     one.error,
                     one.file,
                     one.value,
                     uint32_t(one.path.size()),
                     uint32_t(one.data.size()),
                     uint32_t(one.notes.size()),
                     0};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes += one.path;
  bytes += one.data;
  bytes.append(reinterpret_cast<const char*>(one.notes.data()), one.notes.size() * sizeof(Note));
  return bytes;
}

Result<Operation> decode_operation(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof head) return sys_error("an operation", EINVAL);
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes.remove_prefix(sizeof head);
  const uint64_t notes_size = uint64_t{head.nr_notes} * sizeof(Note);
  if (bytes.size() != uint64_t{head.path_size} + head.data_size + notes_size)
    return sys_error("an operation", EINVAL);
  Operation one;
  one.kind = head.kind;
  one.flags = head.flags;
  one.caller = head.caller;
  one.error = head.error;
  one.file = head.file;
  one.value = head.value;
  one.path = bytes.substr(0, head.path_size);
  one.data = bytes.substr(head.path_size, head.data_size);
  one.notes.resize(head.nr_notes);
  if (notes_size)
    std::memcpy(one.notes.data(), bytes.data() + head.path_size + head.data_size, notes_size);
  return one;
}

bool is_repeated(std::string_view path, uint32_t open_flags) {
  if ((open_flags & O_ACCMODE) == O_RDONLY) return false;
  const std::string_view name = split_path(path).second;
  return std::find(std::begin(kNotRepeated), std::end(kNotRepeated), name) ==
         std::end(kNotRepeated);
}

uint64_t OpenFiles::enter(tracefs::File* file) {
  table().files[table().next] = file;
  return table().next++;
}

void OpenFiles::leave(uint64_t number) { table().files.erase(number); }
uint64_t OpenFiles::next_number() { return table().next; }

tracefs::File* OpenFiles::find(uint64_t number) {
  const auto found = table().files.find(number);
  return found == table().files.end() ? nullptr : found->second;
}

void OpenFiles::close_inherited() {
  for (const auto& one : std::exchange(table().files, {})) delete one.second;
}

// A file that was open at the fork is this process's from here on: the session that had opened it
// is a copy that no thread runs.
tracefs::File* Repeater::find(uint64_t number) {
  const auto found = files_.find(number);
  if (found != files_.end()) return found->second.get();
  tracefs::File* inherited = OpenFiles::find(number);
  if (!inherited) return nullptr;
  OpenFiles::leave(number);
  files_[number].reset(inherited);
  return inherited;
}

Status Repeater::open(const Operation& operation) {
  PB_ASSIGN(tracefs::Node node, tracefs::lookup(root_, operation.path));
  if (!node.file) return sys_error(operation.path, EISDIR);
  PB_TRY(node.file->open(operation.flags));
  files_[operation.file] = std::move(node.file);
  return {};
}

Status Repeater::write_file(const Operation& operation) {
  PB_ASSIGN(tracefs::Node node, tracefs::lookup(root_, operation.path));
  if (!node.file) return sys_error(operation.path, EISDIR);
  PB_TRY(node.file->open(operation.flags));
  PB_TRY(write_all(*node.file, operation.data, operation.caller));
  return node.file->flush();
}

Status Repeater::change_entry(const Operation& operation) {
  const auto [above, name] = split_path(operation.path);
  PB_ASSIGN(tracefs::Node node, tracefs::lookup(root_, above));
  if (!node.directory) return sys_error(operation.path, ENOTDIR);
  return operation.kind == OperationKind::kMkdir ? node.directory->make_directory(name)
                                                 : node.directory->remove_directory(name);
}

Status Repeater::repeat(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kNone:
      return {};
    case OperationKind::kOpen:
      return open(operation);
    case OperationKind::kMkdir:
    case OperationKind::kRmdir:
      return change_entry(operation);
    case OperationKind::kWriteFile:
      return write_file(operation);
    default:
      break;
  }
  tracefs::File* file = find(operation.file);
  if (!file) return {};
  if (operation.kind == OperationKind::kClose) {
    files_.erase(operation.file);
    return {};
  }
  if (operation.kind == OperationKind::kIoctl) return file->ioctl(uint32_t(operation.value));
  if (operation.kind == OperationKind::kFlush) return file->flush();
  Result<size_t> taken = file->write_as(operation.data, tracefs::Caller{operation.caller});
  return taken.ok() ? Status() : Status(taken.error());
}

}  // namespace patchbay::serve
