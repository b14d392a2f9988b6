// SPDX-License-Identifier: MIT
//
// From best to worst: sled, jump, short jump, int3, refused. Each step that fails leaves its
// reason, and the plan shows the first one that mattered.

#include "patch/site_planner.h"

#include <sys/auxv.h>

#include <algorithm>
#include <cstring>

#include "arch/x86_64/decoder.h"
#include "arch/x86_64/text_memory.h"
#include "base/text.h"
#include "patch/shadow_stack.h"
#include "patch/site_layout.h"
#include "patch/site_table.h"

namespace patchbay {
namespace {

constexpr int kFlagsLookahead = 8;
constexpr uint64_t kLoopScan = 1024;  // a loop around a whole function is looked for this far
constexpr int kMostTailJumps = 8;       // one behind the other
constexpr char kNoTrapInLibc[] =
    "int3 refused in libc: glibc runs parts of it with SIGTRAP blocked";

bool contains(const Module& module, uint64_t address) {
  return address >= module.start() && address < module.end();
}

std::string_view file_name(const Module& module) { return base_name(module.path()); }

bool is_dynamic_linker(const Module& module) {
  const uint64_t base = ::getauxval(AT_BASE);
  return (base && contains(module, base)) || file_name(module).starts_with("ld-linux");
}

// Code that a thread runs with a stack, registers or thread pointer that are not those of a
// function.
bool is_special_entry(std::string_view name, bool in_dynamic_linker) {
  if (name == "_start" || name == "__restore_rt" || name == "_init" || name == "_fini") return true;
  if (!in_dynamic_linker) return false;
  return name.starts_with("_dl_start") || name.starts_with("_dl_runtime_") ||
         name.starts_with("_dl_tlsdesc");
}
constexpr char kSpecialEntry[] = "not entered by an ordinary call";

bool is_in_binding(std::string_view name) {
  return name.starts_with("_dl_relocate") || name.starts_with("_dl_sysdep") ||
         name == "_dl_fixup" || name == "rtld_lock_default_lock";
}
constexpr char kBinding[] =
    "the dynamic linker runs it while it binds the calls of objects, the tracer's among them";

// Null: it may be traced.
const char* special_refusal(std::string_view name, bool in_dynamic_linker) {
  if (is_special_entry(name, in_dynamic_linker)) return kSpecialEntry;
  return in_dynamic_linker && is_in_binding(name) ? kBinding : nullptr;
}

// Where the dynamic linker tells debuggers what it loads, and the agent listens
// (agent/load_watch.h).
constexpr char kTellsOfObjects[] =
    "the dynamic linker tells the agent there which objects come and go";
bool tells_of_objects(std::string_view name) { return name.ends_with("_dl_debug_state"); }

constexpr char kShadowStack[] =
    "a call cannot be moved: the process runs with a hardware shadow stack";

// One walk over the instructions that a jump of `need` bytes would displace.
struct Walk {
  const char* problem = nullptr;
  bool padded = false;  // bytes that nothing reaches make up for what is missing
  DisplacedRun run;
  bool flags_live = false;
  uint8_t flags_written = 0;
  uint64_t behind = 0;  // where straight-line code goes on; 0: nowhere, or only perhaps
};

class EntryWalker {
 public:
  // `may_be_cancelled`: threads that wait in system calls of this module unwind from there.
  EntryWalker(const ModuleCode& code, uint64_t entry, uint64_t patch, uint64_t function_end,
              bool may_be_cancelled = false)
      : patch_(patch), end_(function_end), may_be_cancelled_(may_be_cancelled) {
    bytes_ = code.code_at(patch);
    limit_ = code.next_entry(entry);
  }

  uint64_t limit() const { return limit_; }

  Walk walk(uint64_t need) const {
    Walk walk;
    walk.run.from = patch_;
    walk.run.code = data();
    bool ended = false, all_nops = true, split = false;
    walk.run.runs_anywhere = true;
    uint64_t at = 0;
    while (at < need && !walk.problem && !ended) {
      Insn insn;
      walk.problem = step(at, &insn);
      if (walk.problem) break;
      walk.run.offset[walk.run.count++] = static_cast<uint8_t>(at);
      all_nops &= insn.kind == InsnKind::kNop;
      walk.run.runs_anywhere &= insn.kind == InsnKind::kPlain && !insn.rip_disp_offset;
      note_flags(insn, &walk);
      ended = insn.ends_flow();
      at += insn.length;
      const bool is_call = insn.kind == InsnKind::kCall || insn.kind == InsnKind::kIndirectCall;
      if (is_call && has_shadow_stack()) walk.problem = kShadowStack;
      if (is_call && at < need) walk.problem = "a call would return into the bytes of the jump";
      split |= is_call || insn.is_direct_branch();
    }
    walk.padded = at < need;
    if (!walk.problem && at < need) walk.problem = check_padding(at, need);
    walk.run.displaced = static_cast<uint8_t>(std::max(at, need));
    walk.run.is_nops = all_nops;
    walk.behind = ended || split ? 0 : patch_ + at;
    return walk;
  }

  // Goes on behind the displaced run, until all flags are written or control flow splits.
  bool flags_live_behind(const Walk& walk) const {
    if (walk.flags_live || !walk.behind) return walk.flags_live;
    Walk state = walk;
    uint64_t at = walk.behind - patch_;
    for (int i = walk.run.count; i < kFlagsLookahead && !state.flags_live; i++) {
      Insn insn;
      if (state.flags_written == kAllArithmeticFlags || at >= bytes_.size()) break;
      if (!decode(at, &insn)) break;
      note_flags(insn, &state);
      if (insn.ends_flow() || insn.is_direct_branch() || insn.kind == InsnKind::kIndirectCall)
        break;
      at += insn.length;
    }
    return state.flags_live;
  }

  bool decode(uint64_t at, Insn* insn) const {
    if (at >= bytes_.size()) return false;
    return decode_insn(data() + at, std::min<uint64_t>(kMaxInsnLength, bytes_.size() - at),
                       patch_ + at, insn);
  }

 private:
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(bytes_.data()); }

  static void note_flags(const Insn& insn, Walk* walk) {
    if (insn.flags_read & ~walk->flags_written) walk->flags_live = true;
    walk->flags_written |= insn.flags_written;
  }

  const char* step(uint64_t at, Insn* insn) const {
    if (patch_ + at >= limit_) return "the next function begins in the bytes of the jump";
    if (end_ && patch_ + at >= end_) return "the function is shorter than the jump";
    if (!decode(at, insn)) return "bytes that are no instruction";
    if (patch_ + at + insn->length > limit_)
      return "the next function begins inside an instruction";
    if (insn->kind == InsnKind::kTrap) return "an int3 of the program";
    if (insn->kind == InsnKind::kUnsupported) return "an instruction that cannot be moved";
    if (insn->kind == InsnKind::kSyscall && may_be_cancelled_) {
      return "a thread that is cancelled in the system call unwinds from there";
    }
    return nullptr;
  }

  // Bytes behind a ret or jmp may be overwritten when they are alignment that nothing reaches.
  const char* check_padding(uint64_t at, uint64_t need) const {
    while (at < need) {
      Insn insn;
      if (patch_ + at >= limit_) return "the next function begins in the bytes of the jump";
      if (!decode(at, &insn)) return "code of unknown kind follows the function";
      if (insn.kind != InsnKind::kNop && insn.kind != InsnKind::kTrap) {
        return "other code follows the return in the bytes of the jump";
      }
      at += insn.length;
    }
    return nullptr;
  }

  uint64_t patch_, end_;
  uint64_t limit_ = 0;
  bool may_be_cancelled_;
  std::string_view bytes_;
};

bool starts_with_endbr64(std::string_view code) {
  return code.starts_with(std::string_view("\xf3\x0f\x1e\xfa", 4));
}

// Of the nops that lead to the entry the last one with room for a 5-byte jmp. Where the function
// before goes on into this one through them (memmove_chk into memmove, in glibc), the jmp takes it
// to where it was going. No thread ever stands inside of one nop. 0: there is none.
uint64_t room_in_nops(ModuleCode& code, uint64_t previous, uint64_t patch, uint64_t entry) {
  constexpr uint64_t kReach = 128;  // of the short jump, backwards from its end
  uint64_t room = 0;
  for (uint64_t at = previous; at < entry;) {
    const std::string_view bytes = code.code_at(at);
    Insn insn;
    if (!decode_insn(reinterpret_cast<const uint8_t*>(bytes.data()),
                     std::min<uint64_t>(kMaxInsnLength, bytes.size()), at, &insn) ||
        at + insn.length > entry)
      return 0;
    const bool fits = insn.length >= kJumpSize && patch + kShortJumpSize - at <= kReach;
    if (insn.kind != InsnKind::kNop)
      room = 0;
    else if (fits)
      room = at;
    at += insn.length;
  }
  if (!room || code.outside_branch_into(previous, previous, room + 1, entry)) return 0;
  return room;
}

// Room for a 5-byte jmp before the entry, which a short jump at `patch` reaches: directly before it
// in padding that the previous function cannot reach, or in nops.
const char* padding_before(ModuleCode& code, uint64_t patch, uint64_t entry, uint64_t* room) {
  const uint64_t first = entry - kJumpSize;
  *room = first;
  if (code.code_at(first).size() < kJumpSize) return "nothing is known of the code before it";
  const uint64_t previous = code.previous_entry(entry);
  if (!previous) return "nothing is known of the code before it";
  const uint64_t end = code.end_of_code(previous, entry);
  // The previous function's own jump may reach over its end.
  const uint64_t own_patch = previous + (starts_with_endbr64(code.code_at(previous)) ? 4 : 0);
  if (end && std::max(end, own_patch + kJumpSize) <= first) return nullptr;
  *room = room_in_nops(code, previous, patch, entry);
  if (*room && *room >= own_patch + kJumpSize) return nullptr;
  return "there are no 5 unused bytes before it";
}

void take_run(const Walk& walk, SiteKind kind, SitePlan* plan) {
  plan->kind = kind;
  plan->displaced = walk.run.displaced;
  plan->boundary_count = walk.run.count;
  plan->runs_anywhere = walk.run.runs_anywhere;
  std::copy_n(walk.run.offset, kMaxBoundaries, plan->boundary.begin());
}

void keep_bytes(const ModuleCode& code, SitePlan* plan) {
  const std::string_view bytes = code.code_at(plan->patch_address);
  std::memcpy(plan->original.data(), bytes.data(), std::min(bytes.size(), kMaxDisplaced));
  if (plan->kind == SiteKind::kShortJump) {
    std::memcpy(plan->padding.data(), code.code_at(plan->target).data(), kJumpSize);
  }
}

SitePlan refused(SitePlan plan, std::string reason) {
  plan.kind = SiteKind::kRefused;
  plan.reason = std::move(reason);
  return plan;
}

constexpr char kSequence[] =
    "it would lie in a restartable sequence of the program (rseq), which a thread may not leave";

// It begins with a push or `sub …, %rsp`. A jump of its own that goes back to this would have to
// come from behind the end of its frame. What looks like a distance there is of another table.
bool moves_stack(std::string_view code) {
  const size_t at = code.starts_with('\x41') || code.starts_with('\x48') ? 1 : 0;
  const std::string_view sub = code.substr(at, 2);
  return (code.size() > at && (code[at] & 0xf8) == 0x50) || sub == "\x83\xec" || sub == "\x81\xec";
}

// What else than the instructions before them leads to the bytes behind a function's entry.
struct Entrances {
  const ModuleCode& code;
  bool anywhere = false;              // an indirect jump of the function, to a place unknown
  bool has_jump = false;              // it may have an indirect one
  std::vector<uint64_t> certain = {};  // where distances of its own tables lead, if it adds them
  std::vector<uint64_t> tables = {};  // where its jump tables lead

  // An indirect jump of the function goes back to its beginning. Its address alone, in data or in
  // an instruction, says nothing: that is how functions are handed on.
  bool back_to(uint64_t entry, uint64_t patch) const {
    if (!has_jump || moves_stack(code.code_at(patch))) return false;
    if (code.label_at_entry(entry)) return true;
    if (patch != entry && code.address_into(patch, patch + 1)) return true;
    return std::any_of(certain.begin(), certain.end(),
                       [&](uint64_t to) { return to == entry || to == patch; });
  }
  const char* into(uint64_t first, uint64_t last) const {
    constexpr const char* kIndirect = "an indirect jump may land in the bytes of the jump";
    if (first == last) return nullptr;
    if (code.branch_into(first, last)) return "a branch lands in the bytes of the jump";
    if (anywhere || code.address_into(first, last)) return kIndirect;
    const bool found = std::any_of(tables.begin(), tables.end(),
                                   [&](uint64_t to) { return to >= first && to < last; });
    return found ? kIndirect : nullptr;
  }
};

bool in_sequence(const ModuleCode& code, uint64_t first, uint64_t last) {
  return std::any_of(code.sequences().begin(), code.sequences().end(), [&](const auto& sequence) {
    return first < sequence.second && last > sequence.first;
  });
}

// Jump, short jump or int3; fills plan->kind and reason.
void choose_kind(const Entrances& entrances, ModuleCode& code, const EntryWalker& walker,
                 bool is_libc, SitePlan* plan) {
  const uint64_t patch = plan->patch_address;
  const auto problem_of = [&](const Walk& walk, uint64_t size) {
    if (walk.problem) return walk.problem;
    if (in_sequence(code, patch, patch + walk.run.displaced)) return kSequence;
    return entrances.into(patch + 1, patch + size);
  };
  Walk jump = walker.walk(kJumpSize);
  jump.problem = problem_of(jump, kJumpSize);
  if (!jump.problem) {
    take_run(jump, jump.run.is_nops ? SiteKind::kSled : SiteKind::kJump, plan);
    plan->flags_live = walker.flags_live_behind(jump);
    return;
  }
  plan->reason = jump.problem;
  Walk shorter = walker.walk(kShortJumpSize);
  const char* no_short = problem_of(shorter, kShortJumpSize);
  uint64_t room = 0;
  if (!no_short) no_short = padding_before(code, patch, plan->entry, &room);
  if (!no_short) {
    plan->target = room;
    take_run(shorter, SiteKind::kShortJump, plan);
    plan->flags_live = walker.flags_live_behind(shorter);
    return;
  }
  if (std::strcmp(no_short, jump.problem) != 0) plan->reason += std::string("; ") + no_short;
  Walk one = walker.walk(1);
  one.problem = problem_of(one, 1);
  if (one.problem) {
    plan->reason = one.problem;
  } else if (is_libc) {
    plan->reason += std::string("; ") + kNoTrapInLibc;
  } else {
    take_run(one, SiteKind::kTrap, plan);
    plan->flags_live = walker.flags_live_behind(one);
  }
}

// The nop of a static event, which the event makes a jump of whenever it likes.
bool is_key(std::string_view code) {
  return code.starts_with(std::string_view("\x0f\x1f\x44\x00\x00", 5));
}

}  // namespace

// A jump table of a cold part leads back into the function, whose own code has no indirect jump.
static void add_targets_of_parts(const std::vector<FunctionSymbol>& functions, ModuleCode* code,
                                 FunctionBodies* bodies) {
  std::vector<uint64_t> targets;
  for (const FunctionSymbol& part : functions) {
    if (!part.is_cold_part || !code->may_jump_indirectly(part.address, part.address + part.size))
      continue;
    const FunctionBody* body = bodies->around(part.address);
    if (body) bodies->table_targets(*body, &targets);
  }
  code->add_addresses(targets);
}

SitePlanner::ModuleState& SitePlanner::state_of(Module& module) {
  if (last_module_ == &module && last_state_->code->describes(module)) return *last_state_;
  ModuleState& state = modules_[&module];
  if (!state.code || !state.code->describes(module)) {
    state.code = std::make_unique<ModuleCode>(module);
    state.bodies = std::make_unique<FunctionBodies>(*state.code);
    state.landing_pads_read = false;
    add_targets_of_parts(module.functions(), state.code.get(), state.bodies.get());
    const std::string_view name = file_name(module);
    const bool is_ours = contains(module, reinterpret_cast<uint64_t>(&patch_trap_target)) &&
                         !contains(module, ::getauxval(AT_ENTRY));
    state.refusal.clear();
    if (is_ours) state.refusal = "belongs to the tracer itself";
    if (contains(module, ::getauxval(AT_SYSINFO_EHDR)) || name == "[vdso]") {
      state.refusal = "lies in the kernel's vdso";
    }
    if (module.is_go()) state.refusal = "it is Go's: its stack and its calls are not C's";
    state.is_libc =
        is_dynamic_linker(module) || name.starts_with("libc.so") || name.starts_with("libc-2");
  }
  last_module_ = &module;
  last_state_ = &state;
  return state;
}

// What stands at an address where no site has written: some site's jump may cover it.
static void original_bytes(uint64_t address, uint8_t bytes[kJumpSize]) {
  std::memcpy(bytes, reinterpret_cast<const void*>(address), kJumpSize);
  for (uint64_t at = address - kMaxDisplaced + 1; at < address + kJumpSize; at++) {
    const Site* site = site_find(at);
    if (!site || site->address != at || site->state == SiteState::kOriginal) continue;
    for (uint64_t i = 0; i < site_size(*site); i++)
      if (at + i >= address && at + i < address + kJumpSize)
        bytes[at + i - address] = site->original[i];
  }
}

SitePlan plan_key(uint64_t address, uint64_t target) {
  static constexpr uint8_t kNop[kJumpSize] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
  SitePlan plan;
  plan.entry = plan.patch_address = address;
  plan.target = target;
  plan.displaced = kJumpSize;
  uint8_t jump[kJumpSize];
  if (!encode_jump(address, target, jump)) return refused(std::move(plan), "its jump is too far");
  const auto* live = reinterpret_cast<const uint8_t*>(address);
  uint8_t original[kJumpSize];
  original_bytes(address, original);
  const auto is = [](const uint8_t* found, const uint8_t* wanted) {
    return std::memcmp(found, wanted, kJumpSize) == 0;
  };
  if (!is(live, kNop) && !is(live, jump) && !is(original, kNop)) {
    return refused(std::move(plan), "unexpected bytes: expected " + hex_bytes(kNop, kJumpSize) +
                                        ", found " + hex_bytes(live, kJumpSize));
  }
  plan.kind = SiteKind::kKey;
  plan.boundary_count = 1;
  std::copy_n(kNop, kJumpSize, plan.original.begin());
  return plan;
}

bool SitePlanner::ModuleState::has_landing_pad(Module& module, uint64_t first, uint64_t last) {
  if (!landing_pads_read) {
    landing_pads_known = module.landing_pads(&landing_pads);
    landing_pads_read = true;
  }
  if (!landing_pads_known) return true;
  auto pad = std::lower_bound(landing_pads.begin(), landing_pads.end(), first);
  return pad != landing_pads.end() && *pad < last;
}

const char* SitePlanner::no_jump_at(Module& module, const FunctionBody& body, uint64_t address) {
  ModuleState& state = state_of(module);
  const uint64_t first = address + 1, last = address + kJumpSize;
  if (body.branch_into(first, last)) return "a branch lands behind the instruction";
  for (uint64_t at = first; at < std::min(last, body.end()); at++) {
    if (body.is_boundary(at) && is_key(state.code->code_at(at)))
      return "the nop of a static event follows";
  }
  if (state.has_landing_pad(module, first, last)) return "an exception may land behind it";
  if (state.code->outside_branch_into(body.start(), body.end(), first, last))
    return "a branch from another function may land behind it";
  if (state.bodies->has_hidden_entries(address)) return "an indirect jump may land behind it";
  return nullptr;
}

// Why there is no place for a probe; null: a function is decoded there.
const char* SitePlanner::outside_of_code(Module& module, uint64_t address) {
  ModuleState& state = state_of(module);
  if (!state.refusal.empty()) return state.refusal.c_str();
  if (!contains(module, address)) return "outside of the module";
  if (state.code->code_at(address).empty()) return "not in executable text";
  const long index = state.code->function_before(address);
  const bool in_linker = state.is_libc && is_dynamic_linker(module);
  if (index < 0) return nullptr;
  const FunctionSymbol& function = module.functions()[size_t(index)];
  if (address - function.address >= std::max(function.size, 1u)) return nullptr;  // behind it
  if (in_linker && tells_of_objects(function.name)) return kTellsOfObjects;
  return special_refusal(function.name, in_linker);
}

// A jump where nothing but the instruction before leads to what is displaced with it; else int3.
SitePlan SitePlanner::plan_insn(Module& module, uint64_t address) {
  SitePlan plan;
  plan.entry = plan.patch_address = address;
  plan.flags_live = true;
  if (const char* why = outside_of_code(module, address)) return refused(std::move(plan), why);
  ModuleState& state = state_of(module);
  const FunctionBody* body = state.bodies->around(address);
  if (!body) return refused(std::move(plan), "it lies in no function");
  plan.entry = body->start();
  if (!body->is_boundary(address)) {
    const uint64_t begin = body->instruction_around(address);
    if (!begin) return refused(std::move(plan), "bytes before it are no instructions");
    plan.not_a_boundary = true;
    return refused(std::move(plan),
                   "in the middle of the instruction that begins at " + hex_number(begin));
  }
  EntryWalker walker(*state.code, address, address, body->end(), state.is_libc);
  const Walk one = walker.walk(1);
  if (one.problem) return refused(std::move(plan), one.problem);
  if (in_sequence(*state.code, address, address + one.run.displaced))
    return refused(std::move(plan), kSequence);
  if (state.is_libc) plan.no_trap = kNoTrapInLibc;
  const Walk jump = walker.walk(kJumpSize);
  const char* no_jump = jump.problem;
  if (!no_jump && in_sequence(*state.code, address, address + jump.run.displaced))
    no_jump = kSequence;
  if (!no_jump && !optimization_ && !plan.no_trap) no_jump = "optimization is off";
  if (!no_jump && (jump.run.count > 1 || jump.padded)) no_jump = no_jump_at(module, *body, address);
  if (!no_jump) {
    take_run(jump, SiteKind::kProbeJump, &plan);
  } else if (plan.no_trap) {
    return refused(std::move(plan), std::string(no_jump) + "; " + plan.no_trap);
  } else {
    plan.reason = no_jump;
    take_run(one, SiteKind::kProbeTrap, &plan);
  }
  keep_bytes(*state.code, &plan);
  if (const char* why = placement_refusal(plan)) return refused(std::move(plan), why);
  return compared_with_memory(std::move(plan));
}

// --- functions that have a stand-in

void SitePlanner::set_stand_ins(std::vector<StandIn> list) {
  stand_ins_ = std::move(list);
  std::sort(stand_ins_.begin(), stand_ins_.end(),
            [](const StandIn& a, const StandIn& b) { return a.real < b.real; });
}

uint64_t SitePlanner::stand_in_for(uint64_t address) const {
  auto found = std::lower_bound(stand_ins_.begin(), stand_ins_.end(), address,
                                [](const StandIn& one, uint64_t real) { return one.real < real; });
  return found != stand_ins_.end() && found->real == address ? found->stand_in : 0;
}

// The nops that the compiler has put at the entry of ours: nothing else of it is ever displaced.
static SitePlan plan_stand_in(uint64_t real, uint64_t stand_in) {
  SitePlan plan;
  plan.entry = real;
  plan.patch_address = stand_in;
  uint8_t code[kJumpSize];
  original_bytes(stand_in, code);
  if (starts_with_endbr64({reinterpret_cast<const char*>(code), kJumpSize})) {
    plan.patch_address += 4;
    original_bytes(plan.patch_address, code);
  }
  uint64_t at = 0;
  while (at < kJumpSize) {
    Insn insn;
    if (!decode_insn(code + at, kJumpSize - at, plan.patch_address + at, &insn) ||
        insn.kind != InsnKind::kNop)
      return refused(std::move(plan), "the tracer stands in for it, and cannot be patched there");
    plan.boundary[plan.boundary_count++] = uint8_t(at);
    at += insn.length;
  }
  plan.kind = SiteKind::kSled;
  plan.displaced = kJumpSize;
  std::copy_n(code, kJumpSize, plan.original.begin());
  return plan;
}

SitePlan SitePlanner::plan(Module& module, const FunctionSymbol& function) {
  if (const uint64_t stand_in = stand_in_for(function.address))
    return plan_stand_in(function.address, stand_in);
  SitePlan plan;
  plan.entry = plan.patch_address = function.address;
  ModuleState& state = state_of(module);
  if (!state.refusal.empty()) return refused(std::move(plan), state.refusal);
  if (function.is_ifunc)
    return refused(std::move(plan), "an IFUNC resolver: trace what it selects");
  if (function.is_cold_part)
    return refused(std::move(plan), "a part of a function that is never called");
  if (tells_of_objects(function.name) && is_dynamic_linker(module))
    return refused(std::move(plan), kTellsOfObjects);
  const bool in_linker = state.is_libc && is_dynamic_linker(module);
  if (const char* why = special_refusal(function.name, in_linker))
    return refused(std::move(plan), why);
  return plan_entry(state, function);
}

SitePlan SitePlanner::plan_hook(Module& module, const FunctionSymbol& function) {
  return plan_entry(state_of(module), function);
}

// Decodes the function only if it may have an indirect jump.
static Entrances entrances_of(const ModuleCode& code, FunctionBodies& bodies,
                              const FunctionSymbol& function) {
  Entrances found{code};
  const uint64_t end =
      function.size ? function.address + function.size : code.next_entry(function.address);
  if (!code.may_jump_indirectly(function.address, end)) return found;
  const FunctionBody* body = bodies.around(function.address);
  found.has_jump = !body || body->has_indirect_jump();
  const bool adds = body && body->jumps_to_sum();
  found.anywhere =
      body && !bodies.table_targets(*body, &found.tables, adds ? &found.certain : nullptr);
  return found;
}

SitePlan SitePlanner::plan_entry(ModuleState& state, const FunctionSymbol& function) {
  SitePlan plan;
  plan.entry = plan.patch_address = function.address;
  ModuleCode& code = *state.code;
  const std::string_view entry = code.code_at(function.address);
  if (entry.empty()) return refused(std::move(plan), "not in executable text");
  if (starts_with_endbr64(entry)) plan.patch_address += 4;
  const uint64_t end = function.size ? function.address + function.size : 0;
  EntryWalker walker(code, plan.entry, plan.patch_address, end);
  const Entrances entrances = entrances_of(code, *state.bodies, function);
  choose_kind(entrances, code, walker, state.is_libc, &plan);
  if (plan.kind == SiteKind::kRefused) return plan;
  keep_bytes(code, &plan);
  plan.loops_to_entry =
      plan.kind != SiteKind::kSled &&
      (entrances.back_to(plan.entry, plan.patch_address) ||
       code.loops_to(plan.entry, std::min(end ? end : walker.limit(), plan.entry + kLoopScan),
                     plan.patch_address));
  if (plan.loops_to_entry) {
    return refused(std::move(plan),
                   "it loops back to its first instruction: each pass would look like "
                   "a call, and the red zone may be in use there");
  }
  if (state.is_libc) plan.no_trap = kNoTrapInLibc;
  return compared_with_memory(std::move(plan));
}

bool LiveText::read(uint64_t address, uint8_t* out, size_t size) {
  return copy_of_memory(address, out, size) == size || TextMemory().read(address, out, size);
}

bool LiveText::holds(uint64_t address, const uint8_t* expected, size_t size) {
  if (window_.empty()) window_.resize(kWindow);
  const bool inside = address >= first_ && address + size <= first_ + size_;
  if (!inside) {
    first_ = address;
    size_ = copy_of_memory(address, window_.data(), kWindow);
  }
  return size <= size_ && std::memcmp(window_.data() + (address - first_), expected, size) == 0;
}

// Where a site is, or was, its own books say what must stand there.
SitePlan SitePlanner::compared_with_memory(SitePlan plan) {
  const uint64_t address = plan.patch_address;
  if (site_near(address, plan.displaced)) return plan;
  if (live_.holds(address, plan.original.data(), plan.displaced)) return plan;
  uint8_t found[kMaxDisplaced];
  if (!LiveText::read(address, found, plan.displaced)) {
    plan.not_mapped = true;
    return refused(std::move(plan), "its object is being unloaded");
  }
  if (std::memcmp(found, plan.original.data(), plan.displaced) == 0) return plan;
  std::string reason = "code in memory differs from the file: expected " +
                       hex_bytes(plan.original.data(), plan.displaced) + ", found " +
                       hex_bytes(found, plan.displaced);
  return refused(std::move(plan), std::move(reason));
}

const char* SitePlanner::return_refusal(Module& module, const FunctionSymbol& function) {
  if (stand_in_for(function.address)) return return_hook_refusal(function, {});  // by its name
  std::vector<TailJump> tail_jumps;
  if (const char* why = own_return_refusal(module, function, &tail_jumps)) return why;
  return looks_behind(module, function, tail_jumps, 0) ? kTailRefusal : nullptr;
}

const char* SitePlanner::own_return_refusal(Module& module, const FunctionSymbol& function,
                                            std::vector<TailJump>* tail_jumps) {
  const ModuleCode& code = *state_of(module).code;
  const std::string_view entry = code.code_at(function.address);
  const uint64_t size =
      function.size ? function.size : code.next_entry(function.address) - function.address;
  return return_hook_refusal(function, entry.substr(0, size), tail_jumps);
}

// Whether one of the functions that have the return address after this one is refused, as far as
// the jumps say where they go.
bool SitePlanner::looks_behind(Module& module, const FunctionSymbol& function,
                               const std::vector<TailJump>& tail_jumps, int level) {
  for (const TailJump& jump : tail_jumps) {
    const uint64_t target = function.address + uint64_t(jump.target);
    const std::string_view imported = module.imported_at(target);
    if (!imported.empty() && return_refusal_by_name(imported)) return true;
    if (imported.empty() && !jump.through_memory && is_refused_behind(module, target, level))
      return true;
  }
  return false;
}

bool SitePlanner::is_refused_behind(Module& module, uint64_t target, int level) {
  auto [known, is_new] = state_of(module).refused_behind.try_emplace(target, false);
  if (!is_new || level == kMostTailJumps) return known->second;
  const std::vector<FunctionSymbol>& all = module.functions();
  const auto found = std::lower_bound(
      all.begin(), all.end(), target,
      [](const FunctionSymbol& function, uint64_t address) { return function.address < address; });
  if (found == all.end() || found->address != target) return false;
  std::vector<TailJump> tail_jumps;
  const bool refused = own_return_refusal(module, *found, &tail_jumps) ||
                       looks_behind(module, *found, tail_jumps, level + 1);
  return state_of(module).refused_behind[target] = refused;
}

}  // namespace patchbay
