// SPDX-License-Identifier: MIT
#include "export/export_who.h"

#include "trace_dat/trace_dat_read.h"

namespace patchbay {
const std::vector<ProcessImage>& images_of(const TraceDatReader* dat) {
  static const std::vector<ProcessImage> none;
  return dat ? dat->images().images : none;
}

void WhoFinder::add(const std::vector<ProcessImage>& images) {
  Input& input = inputs_.emplace_back();
  if (images.empty()) return;
  input.images = &images;
  input.finder = ImageFinder(images);
}

Who WhoFinder::make(Input* of, uint32_t input, int32_t tid, uint32_t cpu, uint64_t ns) {
  const uint32_t image = of->images ? of->finder.find(tid, ns) : ImageFinder::kNone;
  Who who{uint32_t(all_.size()), input, image, tid, 0, "", ""};
  if (image != ImageFinder::kNone) {
    const ImageThread* thread = of->finder.thread(tid, ns);
    who.pid = thread && thread->process ? thread->process : (*of->images)[image].pid;
    who.exe = (*of->images)[image].exe;
    if (thread) who.comm = thread->comm;
    if (!who.comm.empty()) return who;
  }
  const ExportThread& thread = *people_->thread(input, tid, tid == 0 ? cpu : 0);
  who.comm = thread.comm;
  if (image != ImageFinder::kNone) return who;
  who.pid = thread.process->pid;
  who.exe = thread.process->exe;
  return who;
}

const Who& WhoFinder::find(uint32_t input, int32_t tid, uint32_t cpu, uint64_t ns) {
  Input& of = inputs_[input];
  const uint32_t image = of.images ? of.finder.find(tid, ns) : 0;
  // No thread has a negative id: idle ones, one a CPU, stand there.
  const uint64_t key = uint64_t{image} << 32 | (tid != 0 ? uint32_t(tid) : ~cpu);
  if (of.last && of.last_key == key) return *of.last;
  const auto [at, is_new] = of.known.try_emplace(key, nullptr);
  if (is_new) at->second = &all_.emplace_back(make(&of, input, tid, cpu, ns));
  of.last_key = key;
  return *(of.last = at->second);
}

namespace {

// Who has started whom, by keys of an image and a process. A number may be given out again, so it
// is the process that had it when the child began.
class Family {
 public:
  struct Node {
    int32_t pid;
    uint64_t begin_ns, key;
  };
  void add(const Node& node) { by_pid_[node.pid].push_back(node); }
  void add_child(uint64_t parent, uint64_t child) { children_.emplace(parent, child); }
  void add_child_of(int32_t parent, const Node& child) {
    const Node* found = nullptr;
    if (const auto named = by_pid_.find(parent); named != by_pid_.end())
      for (const Node& node : named->second)
        if (!found || (node.begin_ns <= child.begin_ns && node.begin_ns >= found->begin_ns) ||
            (found->begin_ns > child.begin_ns && node.begin_ns < found->begin_ns))
          found = &node;
    if (found && found->key != child.key) add_child(found->key, child.key);
  }
  WhoFinder::Tree tree(const std::vector<uint64_t>& pids) const {
    WhoFinder::Tree tree;
    std::vector<uint64_t> left;
    const auto take = [&](uint64_t key) {
      if (tree.insert(key).second) left.push_back(key);
    };
    for (uint64_t pid : pids)
      if (const auto named = by_pid_.find(int32_t(pid)); named != by_pid_.end())
        for (const Node& node : named->second) take(node.key);
    while (!left.empty()) {
      const auto [first, last] = children_.equal_range(left.back());
      left.pop_back();
      for (auto child = first; child != last; ++child) take(child->second);
    }
    return tree;
  }

 private:
  std::unordered_map<int32_t, std::vector<Node>> by_pid_;
  std::unordered_multimap<uint64_t, uint64_t> children_;
};

}  // namespace

WhoFinder::Tree WhoFinder::tree(uint32_t input, const std::vector<uint64_t>& pids) const {
  Family family;
  const Input& of = inputs_[input];
  // Who is in no image has its number alone.
  for (uint64_t pid : pids) family.add({int32_t(pid), 0, key(ImageFinder::kNone, int32_t(pid))});
  if (!of.images) {
    const ExportPeople::Forked& forked = people_->forked(input);
    for (int32_t child : forked.children)
      family.add_child(key(ImageFinder::kNone, forked.parent), key(ImageFinder::kNone, child));
    return family.tree(pids);
  }
  for (uint32_t i = 0; i < of.images->size(); i++) {
    const ProcessImage& image = (*of.images)[i];
    family.add({image.pid, image.begin_ns, key(i, image.pid)});
    for (const ImageThread& thread : image.threads) {
      if (thread.process == 0 || thread.process == image.pid) continue;
      family.add({thread.process, thread.first_ns, key(i, thread.process)});
      family.add_child(key(i, image.pid), key(i, thread.process));
    }
  }
  for (uint32_t i = 0; i < of.images->size(); i++) {
    const ProcessImage& image = (*of.images)[i];
    family.add_child_of(image.parent, {image.pid, image.begin_ns, key(i, image.pid)});
  }
  return family.tree(pids);
}

bool WhoSelection::is_in_a_tree(const Who& who) {
  if (choice_.trees.empty()) return true;
  if (trees_.size() <= who.input) {
    trees_.resize(who.input + 1);
    has_trees_.resize(who.input + 1);
  }
  if (!has_trees_[who.input]) trees_[who.input] = finder_->tree(who.input, choice_.trees);
  has_trees_[who.input] = true;
  return WhoFinder::has(trees_[who.input], who);
}

bool WhoSelection::wants(const Who& who) {
  if (known_.size() <= who.index) known_.resize(who.index + 1);
  int8_t& known = known_[who.index];
  if (known) return known > 0;
  const bool is_wanted = choice_.takes_tid(who.tid) && choice_.takes_pid(who.pid) &&
                         choice_.takes_comm(who.comm) && choice_.takes_exe(who.exe) &&
                         is_in_a_tree(who);
  known = is_wanted ? 1 : -1;
  return is_wanted;
}

}  // namespace patchbay
