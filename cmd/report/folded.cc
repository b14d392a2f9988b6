// SPDX-License-Identifier: MIT
#include "cmd/report/folded.h"

#include <algorithm>
#include <cerrno>

#include "output/trace_line.h"

namespace patchbay::cmd {
namespace {

constexpr uint32_t kMostLevels = 1000;

// One buffer: calls as CallTreeBuilder makes them, stacks and calls counted in trees of their own.
struct BufferStacks {
  BufferStacks(GraphSource* source, GroupBy by) : groups(source, by) {}
  CallGroups groups;
  CallTreeBuilder calls{groups.group_of()};
  std::map<int32_t, CallTree> stacks, functions;
  PairingTotals totals;
  const std::map<int32_t, CallTree>* chosen() {
    if (totals.calls != 0) return &calls.trees();
    return !stacks.empty() ? &stacks : &functions;
  }
};

// The innermost frame comes first. The others are addresses that calls return to. A call may be the
// last instruction of its function, so the byte before says which function it is.
void count_stack(CallTree* tree, const std::vector<uint64_t>& frames) {
  uint32_t at = CallTree::kRoot;
  for (size_t i = frames.size(); i-- > 0;) at = tree->child(at, frames[i] - (i > 0 ? 1 : 0));
  if (at != CallTree::kRoot) tree->node(at).counts.add(0, 1);
}

Status read_buffer(GraphSource& source, size_t buffer, BufferStacks* out) {
  CallPairing pairing(&out->calls);
  PB_TRY(source.walk(buffer, [&](const MergedEvent&, const GraphRecord& record) {
    if (!source.is_chosen()) return;
    const auto key = [&] { return out->groups.of(record.tid); };
    if (record.kind == GraphRecord::Kind::kStack) {
      count_stack(&out->stacks[key()], record.frames);
    } else if (record.kind == GraphRecord::Kind::kFunction) {
      count_stack(&out->functions[key()], {record.func, record.parent});
    } else {
      pairing.take(record);
    }
  }));
  pairing.finish();
  out->totals = pairing.totals();
  return {};
}

class FrameMaker {
 public:
  explicit FrameMaker(FlameStacks* out) : out_(out) {
    out_->frames.push_back({"all", 0, 0, 0, {}});
  }

  uint32_t child(uint32_t parent, const std::string& name) {
    auto [found, is_new] = index_.try_emplace({parent, name}, uint32_t(out_->frames.size()));
    if (!is_new) return found->second;
    out_->frames[parent].children.push_back(uint32_t(out_->frames.size()));
    out_->frames.push_back({name, 0, 0, 0, {}});
    return uint32_t(out_->frames.size() - 1);
  }

  // Functions at several addresses may have one name. A path that is too deep counts for its last
  // frame.
  void add(GraphSource& source, const CallTree& tree, uint32_t below) {
    std::vector<uint32_t> frame_of(tree.size(), below), level(tree.size(), 0);
    for (uint32_t i = 1; i < tree.size(); i++) {
      const CallNode& node = tree.node(i);
      level[i] = level[node.parent] + 1;
      frame_of[i] = frame_of[node.parent];
      if (level[i] <= kMostLevels)
        frame_of[i] = child(frame_of[i], source.function_name(node.func));
      out_->frames[frame_of[i]].self += node.counts.self_ns;
      out_->frames[frame_of[i]].calls += node.counts.calls;
    }
  }

  // Children come behind their parents.
  void sum_up() {
    std::vector<FlameFrame>& frames = out_->frames;
    for (size_t i = frames.size(); i-- > 0;) {
      frames[i].weight += frames[i].self;
      for (uint32_t child : frames[i].children) frames[i].weight += frames[child].weight;
    }
  }

 private:
  FlameStacks* out_;
  std::map<std::pair<uint32_t, std::string>, uint32_t> index_;
};

}  // namespace

Result<FlameStacks> read_stacks(GraphSource& source, GroupBy by) {
  FlameStacks stacks;
  FrameMaker maker(&stacks);
  bool any = false, several = source.nr_buffers() > 1;
  for (size_t i = 0; i < source.nr_buffers(); i++) {
    BufferStacks buffer(&source, by);
    PB_TRY(read_buffer(source, i, &buffer));
    bool in_ns = buffer.totals.calls != 0;
    if (buffer.chosen()->empty()) continue;
    if (any && in_ns != stacks.in_ns)
      return user_error(EINVAL, source.path() +
                                    " has times in one instance and only numbers of "
                                    "calls in another: they cannot be added.");
    any = true;
    stacks.in_ns = in_ns;
    stacks.totals += buffer.totals;
    std::string name;
    append_escaped(&name, source.buffer_name(i));
    uint32_t below = several ? maker.child(0, name.empty() ? "top" : name) : 0;
    for (const auto& [group, tree] : *buffer.chosen())
      maker.add(source, tree,
                by == GroupBy::kNone ? below : maker.child(below, buffer.groups.name_of(group)));
  }
  maker.sum_up();
  if (any && stacks.frames[0].weight != 0) return stacks;
  return user_error(ENODATA, "There are no records of the tracers, and no stacks, in " +
                                 source.path() + source.of_chosen() + ".");
}

std::string folded_text(const FlameStacks& stacks) {
  std::vector<std::string> lines;
  std::vector<std::pair<uint32_t, std::string>> left{{0, ""}};
  while (!left.empty()) {
    auto [index, path] = std::move(left.back());
    left.pop_back();
    const FlameFrame& frame = stacks.frames[index];
    if (index != 0) {
      std::string name = frame.name;
      std::replace(name.begin(), name.end(), ';', ':');
      path += (path.empty() ? "" : ";") + name;
      if (frame.self != 0) lines.push_back(path + " " + std::to_string(frame.self) + "\n");
    }
    for (uint32_t child : frame.children) left.emplace_back(child, path);
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace patchbay::cmd
