// SPDX-License-Identifier: MIT
//
// Changing code that runs. A Patcher owns the patched places of the process: it plans (what kind of
// call site a function entry can be), builds stubs near the code, and applies changes as
// transactions (docs/text_poke.md). Used by the control thread only, one transaction at a time.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/x86_64/relocate.h"
#include "base/result.h"
#include "symbol/symbol.h"

namespace patchbay {

enum class SiteKind : uint8_t {
  kSled,       // nops that the compiler left (patchable-function-entry, -mfentry)
  kJump,       // 5-byte jmp over relocated instructions
  kShortJump,  // 2-byte jmp to a 5-byte jmp in the padding before the function
  kTrap,       // int3
  kRefused,    // not traced; see reason
  kKey,        // a 5-byte nop that becomes a jmp to `target` (static events): no stub
  kProbeTrap,  // int3 on any instruction (probes inside functions, USDT)
  kProbeJump,  // the same with a jmp over it and what follows it, where that is provably safe
};
// "sled" "jump" "short-jump" "int3" "refused" "key" "probe-int3" "probe-jump"
const char* site_kind_name(SiteKind kind);

struct SitePlan {
  SiteKind kind = SiteKind::kRefused;
  std::string reason;           // why not a better kind; empty for sled and jump
  uint64_t entry = 0;           // the function's address
  uint64_t patch_address = 0;   // entry, or behind endbr64; of a stand-in elsewhere
  uint32_t displaced = 0;       // bytes of original code at patch_address that move to the stub
  bool flags_live = false;      // the displaced or following code reads flags it has not set
  uint64_t target = 0;          // kKey: where the jmp goes; kShortJump: where that jmp is
  bool loops_to_entry = false;  // a branch of its own body goes back to patch_address: refused
  bool not_a_boundary = false;  // plan_insn: refused because no instruction begins there
  bool runs_anywhere = false;   // what is displaced can be copied as it is: no need to decode it
  bool not_mapped = false;      // refused because its object is being unloaded
  // Why the place may not be an int3, not even while another probe stands in its displaced bytes
  // (libc). Null: it may.
  const char* no_trap = nullptr;
  // What apply() needs and verifies: the original bytes, and where instructions start in them.
  uint8_t boundary_count = 0;
  std::array<uint8_t, kMaxBoundaries> boundary = {};
  std::array<uint8_t, kMaxDisplaced> original = {};
  std::array<uint8_t, 5> padding = {};  // kShortJump: the bytes at `target`
};

// Writes the machine code that runs before the displaced instructions into `out` (at most
// `capacity` bytes) for execution at `address`; it falls through at its end. Returns the bytes
// written. Must be position-dependent on `address` only.
// `shape`: where the stack is meanwhile (patch/stub_views.h).
struct StubPrologue : std::function<size_t(uint8_t* out, size_t capacity, uint64_t address)> {
  using std::function<size_t(uint8_t*, size_t, uint64_t)>::function;
  uint16_t shape = 0;
  std::array<const void*, 2> reads = {};  // what it looks at: asked for before it is needed
};
inline constexpr size_t kMaxPrologue = 2048;

// The entry of a library's function as a jump to a function of ours. Whoever writes it sees to it
// that no thread stands in [address + 1, address + displaced): nothing else catches threads there.
struct EntryHook {
  uint64_t address = 0;
  uint32_t displaced = 0;  // bytes of whole instructions that the jump covers
  std::array<uint8_t, 5> old_bytes = {}, new_bytes = {};
  uint64_t original = 0;  // what the function was: the displaced instructions and a jump back
};

// A function of ours that the program calls instead of a library's.
struct StandIn {
  uint64_t real = 0;      // the library's function
  uint64_t stand_in = 0;  // ours, which begins with five bytes of nops (behind an endbr64)
};

struct SiteChange {
  SitePlan plan;          // from plan()
  StubPrologue prologue;  // empty: restore the original bytes
};

struct PatchReport {
  uint64_t applied = 0;
  uint64_t refused = 0;
  uint64_t waited_us = 0;                                // for threads to leave the bytes
  std::vector<std::pair<size_t, std::string>> refusals;  // index of the change, reason
};

class Patcher {
 public:
  virtual ~Patcher() = default;
  // Decides how `function` can be patched, from its original bytes and the symbols around it.
  virtual SitePlan plan(Module& module, const FunctionSymbol& function) = 0;
  // From now on the entries of these functions are planned where the program's calls come in: the
  // plan's entry is the library's function, its patch_address in ours.
  virtual void set_stand_ins(std::vector<StandIn>) {}
  // Everything for a hook of this function that leads to `target`, which may be anywhere; nothing
  // is written to the function. `original` works whether the hook is in the text or not.
  virtual Result<EntryHook> make_hook(Module&, const FunctionSymbol&, uint64_t) {
    return user_error(ENOTSUP, "no hooks here");
  }
  // Writes such a hook into code that runs.
  virtual Status write_hook(Module&, const FunctionSymbol&, uint64_t) {
    return user_error(ENOTSUP, "no hooks here");
  }
  // Why the return address of a call of this function may not be exchanged: it returns twice, or
  // looks at its return address (setjmp, vfork, dlsym, swapcontext, …). Null: it may. Decodes the
  // function: some ten microseconds.
  virtual const char* return_refusal(Module& module, const FunctionSymbol& function) = 0;
  // A static event's nop at `address`, to become `jmp target`. Refused when there is neither the
  // 5-byte nop (0f 1f 44 00 00) nor that jmp, or when target is out of reach. A SiteChange of such
  // a site has a prologue that is not called: present = jump, empty = nop. A probe may displace the
  // nop, or stand on it: both work, in either order (site_table.h).
  virtual SitePlan plan_key(uint64_t address, uint64_t target) = 0;
  // Any instruction. Instructions are decoded from the start of the function that holds the address
  // (or from the nearest place where one is known to begin). The prologue of such a site must keep
  // all registers and flags, and step over the red zone itself (emit_probe with `inside`).
  //
  // Places may overlap. A place whose instruction the jump of another one displaces runs in that
  // one's stub, in front of its moved instruction, whichever came first; the jump stays as long as
  // one of them is on. Where a stub of earlier times ends in bytes that a jump needs, the place is
  // an int3 (refused in libc). apply() does all this by itself (docs/text_poke.md).
  virtual SitePlan plan_insn(Module& module, uint64_t address) = 0;
  // Off: plan_insn() chooses int3 wherever it may be (not in libc), as long as it is off. The
  // kernel's debug.kprobes-optimization.
  virtual void set_optimization(bool on) = 0;
  virtual bool optimization() const = 0;
  // The kind that is in force at a place that is on; kRefused: it is off. A kProbeJump that has to
  // be an int3, or still waits for its jump, is kProbeTrap; a place that another jump displaces is
  // kProbeJump.
  virtual SiteKind active_kind(uint64_t patch_address) const = 0;
  // One transaction for all changes: verify every old byte; if one place has unexpected bytes
  // nothing at all is changed there and it is reported in refusals, the others go on. A site that
  // is already patched is pointed to its new stub. `single_threaded`: only this thread runs program
  // code (start-up), no waiting needed.
  virtual Result<PatchReport> apply(std::span<const SiteChange> changes, bool single_threaded) = 0;
  virtual uint64_t patched_sites() const = 0;
  // Sites that apply() left at int3, because some thread could not be proven outside of their bytes
  // in time, work all the same. This tries to give them their jump (apply() does it too) and
  // returns how many are still waiting.
  virtual uint64_t finish_pending() = 0;
  // The memory from the first to before the second address was unmapped, or is another object's
  // now: what was patched there is forgotten and nothing is written. Returns the places that were
  // on.
  virtual std::vector<uint64_t> unmapped(uint64_t, uint64_t) { return {}; }
  // Until the next call no thread runs code in these ranges: their object is being loaded. Changes
  // in them alone need not wait for threads, and leave places elsewhere that wait as they are.
  virtual void set_unused(std::vector<std::pair<uint64_t, uint64_t>>) {}
  // Frees what can be made again: what is known of modules, and room for many changes at once.
  virtual void drop_caches() {}
  // Where a debugger has come to the process since, int3 becomes what debuggers pass on
  // (kTrapHalt in site_table.h). How many such places there are, if nobody was told of this tracer.
  virtual uint64_t follow_tracer() { return 0; }
};
std::unique_ptr<Patcher> make_patcher();

// SIGTRAP/SIGSEGV side, async-signal-safe, lock-free; called first by the agent's signal handlers.
// trap: `ip` = address of the int3. If it is ours, returns the address at which to continue (the
// stub), else 0. Also answers for places in the middle of a transaction.
uint64_t patch_trap_target(uint64_t ip);
// The same for the fault of a hlt at `ip`, which stands for int3 in a process that is traced.
// Where there is none (any more) it answers `ip` itself once, to see: `again` is for the second
// time, when the fault is the program's.
uint64_t patch_halt_target(uint64_t ip, bool again);
// For a handler that has set the program counter to `ip`, in the program's view: where to go on. An
// instruction that some jump displaces runs in its stub; any other address is returned as it is.
uint64_t patch_resume_ip(uint64_t ip);

}  // namespace patchbay
