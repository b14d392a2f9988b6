// SPDX-License-Identifier: MIT
//
// The writer of a marker: the thread's name and process, looked up in /proc by the id that the
// carrier gives.
#pragma once

#include <unordered_map>

#include "registry/markers.h"
#include "registry/registry.h"
#include "tracefs/tree.h"

namespace patchbay::tracefs {

// The writers of all markers of a tree. A thread's name is read again each time that a file is
// opened (exec renames threads); its process only when the name is another one.
class WriterNames {
 public:
  const Markers::Writer& of(uint32_t tid);

 private:
  std::unordered_map<uint32_t, Markers::Writer> writers_;
};

// The writers of one open file. The same thread is looked up once, because a program that writes
// markers writes many. Caller.tid 0 is the process itself.
class FileWriter {
 public:
  explicit FileWriter(WriterNames& names) : names_(names) {}
  const Markers::Writer& of(const Caller& caller);

 private:
  WriterNames& names_;
  bool known_ = false;
  uint32_t asked_ = 0;
  Markers::Writer writer_;
};

}  // namespace patchbay::tracefs
