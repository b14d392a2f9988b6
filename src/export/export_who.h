// SPDX-License-Identifier: MIT
//
// Who a record is of, and whether somebody is wanted: the one predicate behind --tid, --pid,
// --comm, --exe and --tree, and what --by and --group tell apart.
//
// A thread id may have belonged to several programs, one after the other: after an exec, or when it
// was given out again. So who it is depends on the time.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "export/export_people.h"
#include "export/who_choice.h"
#include "trace_dat/process_images.h"

namespace patchbay {

// A thread in one program. Names are bytes of foreign files.
struct Who {
  uint32_t index = 0;  // of all that were found, from 0 on
  uint32_t input = 0;
  uint32_t image = 0;  // of a recording of several programs; ImageFinder::kNone: not known
  int32_t tid = 0, pid = 0;
  std::string comm;  // "<...>": not known
  std::string exe;   // "": not known
};

class WhoFinder {
 public:
  // `people` outlives this, and has the same inputs.
  explicit WhoFinder(ExportPeople* people) : people_(people) {}
  // Inputs are numbered from 0 on. `images`, which outlive this, are of a recording of several
  // programs; none: it is of one.
  void add(const std::vector<ProcessImage>& images);
  // Of a record; it stays where it is. `cpu` tells the idle threads apart.
  const Who& find(uint32_t input, int32_t tid, uint32_t cpu, uint64_t ns);

  // These processes of an input, and those that they have started. A child that was forked, and
  // executed nothing, counts as one of the first process of its program.
  using Tree = std::unordered_set<uint64_t>;
  Tree tree(uint32_t input, const std::vector<uint64_t>& pids) const;
  static bool has(const Tree& tree, const Who& who) {
    return tree.contains(key(who.image, who.pid));
  }

 private:
  struct Input {
    const std::vector<ProcessImage>* images = nullptr;  // of a recording of several programs
    ImageFinder finder = {};
    std::unordered_map<uint64_t, const Who*> known = {};  // by image and thread
    const Who* last = nullptr;
    uint64_t last_key = 0;
  };
  static uint64_t key(uint32_t image, int32_t pid) { return uint64_t{image} << 32 | uint32_t(pid); }
  Who make(Input* of, uint32_t input, int32_t tid, uint32_t cpu, uint64_t ns);

  ExportPeople* people_;
  std::vector<Input> inputs_;
  std::deque<Who> all_;
};

// Of a file that may be null.
const std::vector<ProcessImage>& images_of(const TraceDatReader* dat);

class WhoSelection {
 public:
  WhoSelection(const WhoChoice& choice, WhoFinder* finder) : choice_(choice), finder_(finder) {}
  bool wants(uint32_t input, int32_t tid, uint32_t cpu, uint64_t ns) {
    return !choice_.has_any() || wants(finder_->find(input, tid, cpu, ns));
  }

 private:
  bool wants(const Who& who);
  bool is_in_a_tree(const Who& who);

  const WhoChoice choice_;
  WhoFinder* finder_;
  std::vector<int8_t> known_;           // by Who::index; 0: not looked at
  std::vector<WhoFinder::Tree> trees_;  // by input …
  std::vector<bool> has_trees_;         // … once they were looked for
};

}  // namespace patchbay
