// SPDX-License-Identifier: MIT
//
// Machine code for one event at one call site. The fast path is ring_publish.S with what is known
// at this time folded in: size, event id, addresses, and the fields stored straight from their
// registers into the sub-buffer. Nothing of the rings is folded in: they may be replaced. It only
// handles the usual case (same sub-buffer, small delta, registered thread); whatever else goes on
// to probe_hit().
//
//     inside a function: rsp -= 128, over the red zone
//     [rsp - 8 …] saved rax rcx rdx r9 r10 r11 (a function's entry has no red zone of its own to
//                 lose, and signal handlers keep off these 128 bytes); the flags, where they live
//     filters of triggers on registers (filter/filter_jit.cc); one matches -> matched
//     off in soft mode? -> rejected
//     filter on registers; no match -> rejected
//     a function's caller is a return trampoline (probe/return_hook.h)? -> slow
//     fs:[rseq.rseq_cs] = &cs
//   start:                                   ---- restartable from here ----
//     cpu = fs:[rseq.cpu_id_start]; not registered? -> slow
//     rc  = event->rings->controls + cpu * 128
//     now = rdtsc; delta = now - rc.slot[parity].time;  delta >= 2^27 (or negative)? -> slow
//     offset in sub-buffer is 0, 16 or too near the end (rc.space_mask)? -> slow
//     event header, common fields, head, fields -> sub-buffer
//     rc.slot[!parity] = { now, entries + 1 }
//     rc.publish = publish + bytes, other parity
//   committed:                               ---- to here ----
//   count:                                   ---- a sequence of its own (probe/hit_counter.h) ----
//     hits[cpu] += 1
//     restore, jmp leave
//   slow:
//     restore
//   matched:
//     rax below the stack; rax = site; call probe_entry…; jmp leave
//   rejected:
//     jmp count, or leave if hits are not counted
//   leave:
//     where returns are hooked: rax below the stack; push done; rax = site; jmp probe_entry_hook
//   done:
//     inside a function: rsp += 128
//
// An abort of the first sequence lands behind the signature at `abort` and takes the slow path,
// which has its own bound; an abort of the second adds with a lock instead.
#define XBYAK_NO_EXCEPTION
#include <xbyak/xbyak.h>

#include <cstring>
#include <string>
#include <vector>

#include "filter/filter_insn.h"
#include "filter/filter_jit.h"
#include "patch/stub_views.h"
#include "probe/graph_hot.h"
#include "probe/hit_counter.h"
#include "probe/probe_compile.h"
#include "probe/return_hook.h"
#include "probe/trigger_hot.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

using Xbyak::util::ah;
using Xbyak::util::al;
using Xbyak::util::byte;
using Xbyak::util::dword;
using Xbyak::util::eax;
using Xbyak::util::ecx;
using Xbyak::util::edx;
using Xbyak::util::qword;
using Xbyak::util::r10;
using Xbyak::util::r11;
using Xbyak::util::r11d;
using Xbyak::util::r8;
using Xbyak::util::r9;
using Xbyak::util::r9d;
using Xbyak::util::rax;
using Xbyak::util::rcx;
using Xbyak::util::rdx;
using Xbyak::util::rip;
using Xbyak::util::rsp;
using Xbyak::util::word;

constexpr uint32_t kRseqSignature = 0x53053053;
constexpr int kRedZone = 128;
constexpr uint32_t kAlignmentCheck = 0x40000;
constexpr int kSavedRax = -8, kSavedRcx = -16, kSavedRdx = -24, kSavedR9 = -32, kSavedR10 = -40,
              kSavedR11 = -48, kScratch = -56, kSavedFlags = -64, kSavedR8 = -72, kLowest = -72;
// Of a return the word below the stack pointer is the trampoline's, so that these stand 8 lower,
// and return_hook.S saves them. Beyond the registers: the slot's arguments.
constexpr int kSlotArgument = 32;
constexpr uint32_t kMaxFastRecord = abi::kMaxSmallData;
// Stand for values that differ from one site or event to the next; never short enough for a shorter
// encoding.
constexpr uint64_t kAnyWord = 0x1122334455667788;
constexpr uint32_t kAnyId = 0x12345678;
constexpr int kMaxFastFields = 12;
constexpr size_t kMaxProbeCode = 1024;

int64_t thread_pointer() {
  int64_t tp;
  __asm__("mov %%fs:0, %0" : "=r"(tp));
  return tp;
}

// Of a fast record: its fields are all fixed.
uint32_t record_size(const FetchProgram& fetch) { return (fetch.fixed_size + 3) & ~3u; }

// What emit_probe fills in, and where in the code it stands, as offset from its start.
struct Fixup {
  enum class Value : uint8_t { kId, kIp, kSite, kRings, kHits, kSoft } value;
  size_t at;
};
// A restartable sequence: where its struct rseq_cs has start_ip, and what that says.
struct Sequence {
  size_t cs, start, committed, abort;
};
// An indirect call: its displacement, and where there is room for the pointer, which is aligned
// (alignment checks may be on).
struct Call {
  size_t displacement, room;
  void* target;
};
constexpr int kSavedForEntry = -16;
constexpr size_t kCallRoom = 16;
struct Fixups {
  std::vector<Fixup> values;
  std::vector<Call> calls;
  std::vector<Sequence> sequences;
};

class ProbeEmitter : public Xbyak::CodeGenerator {
 public:
  ProbeEmitter(const ProbeCode& code, uint8_t* out, size_t capacity)
      : Xbyak::CodeGenerator(capacity, out),
        code_(code),
        tid_(reinterpret_cast<int64_t>(&pb_thread.fast_tid) - thread_pointer()),
        step_(code.inside ? kRedZone : 0),
        below_(code.at_return ? 8 : 0),
        tests_(code.filtered || code.gated || code.soft),
        keeps_flags_(code.flags_live && (code.fast || tests_)),
        counts_(code.event.counts != nullptr && (code.fast || tests_)),
        only_hooks_(code.hooks_return && !code.site_has_events) {}

  void emit() {
    if (code_.at_return) return emit_return();
    if (code_.shared) return emit_shared();
    step_over_red_zone();
    if (tests_ || code_.fast) mov(ptr[rsp + kLowest], rax);  // stack_touch.h
    if (tests_) emit_tests();
    if (code_.fast) emit_fast();
    if (!only_hooks_) {
      L(slow_call_);
      emit_call();
      jmp(code_.hooks_return ? leave_ : done_, T_NEAR);
    } else {
      jmp(leave_, T_NEAR);
    }
    if (tests_) emit_rejected();
    if (counts_) emit_count_abort();
    emit_data();
    L(leave_);
    stack_is(step_now());
    if (code_.hooks_return) emit_hook();
    L(done_);
    stack_is(step_now());
    step_back();
    L(end_);
    if (!only_hooks_) add_call(entry_call_, entry_room_, entry_point());
    if (code_.hooks_return) add_call(hook_call_, hook_room_, hook_point());
    if (code_.fast) add_sequence(cs_, start_, committed_, abort_);
    if (counts_) add_sequence(count_cs_, count_start_, counted_, count_abort_);
  }
  const Fixups& fixups() const { return fixups_; }
  const StackShape& shape() const { return shape_; }

 private:
  int step_now() const { return only_hooks_ ? 0 : step_; }
  void step_over_red_zone() {
    if (!step_now()) return;
    lea(rsp, ptr[rsp - kRedZone]);
    stack_is(step_);
  }
  void step_back() {
    if (!step_now()) return;
    lea(rsp, ptr[rsp + kRedZone]);
    stack_is(0);
  }
  // From here on the program's stack pointer is that much higher; `saved`: save() has been here.
  void stack_is(int moved, bool saved = false) {
    if (code_.at_return || shape_.count == kMaxStackRows) return;  // pb_return_code has one rule
    shape_.row[shape_.count++] = {uint16_t(getSize()), uint8_t(moved), saved};
  }
  void emit_shared() {
    code_.hooks_return ? emit_hook() : emit_call();
    jmp(done_, T_NEAR);
    emit_room(entry_room_);
    L(done_);
    add_call(code_.hooks_return ? hook_call_ : entry_call_, entry_room_,
             reinterpret_cast<void*>(probe_entry_shared));
  }
  // All is saved, r8 is the slot.
  void emit_return() {
    fs();
    cmp(fs_dword(tid_), 0);
    je(slow_, T_NEAR);
    emit_sequence(record_size(*code_.event.fetch) + 4);
    if (counts_) {
      emit_count();
    } else {
      leave();
    }
    dd(kRseqSignature);
    L(abort_);
    L(slow_);
    jmp(ptr[rip + general_room_]);
    if (counts_) emit_count_abort();
    align(8);
    emit_word(done_room_, reinterpret_cast<uint64_t>(pb_return_done));
    emit_word(general_room_, reinterpret_cast<uint64_t>(pb_return_general));
    emit_data();
    add_sequence(cs_, start_, committed_, abort_);
    if (counts_) add_sequence(count_cs_, count_start_, counted_, count_abort_);
  }
  void emit_word(Xbyak::Label& label, uint64_t value) {
    L(label);
    dq(value);
  }
  // Of the event that the slot's program has: such code serves every event of its shape.
  void mov_slot_event(const Xbyak::Reg64& reg, size_t field) {
    mov(reg, ptr[r8 + offsetof(ReturnSlot, program)]);
    mov(reg, ptr[reg + offsetof(SiteProgram, event) + field]);
  }
  void load_rings() {
    if (code_.at_return) return mov_slot_event(r10, offsetof(SiteEvent, event));
    mov_value(r10, Fixup::Value::kRings);
  }
  void load_hits() {
    if (!code_.at_return) return mov_value(r10, Fixup::Value::kHits);
    mov_slot_event(r10, offsetof(SiteEvent, counts));
    mov(r10, ptr[r10 + offsetof(ProbeCounts, hits)]);
  }
  void* entry_point() const {
    void (*plain[])() = {probe_entry, probe_entry_xmm};
    void (*flags[])() = {probe_entry_flags, probe_entry_xmm_flags};
    void (*all[])() = {probe_entry_all, probe_entry_all_xmm};
    auto* which = code_.inside ? all : code_.flags_live ? flags : plain;
    return reinterpret_cast<void*>(which[code_.uses_xmm]);
  }
  void* hook_point() const {
    const bool flags = code_.flags_live || code_.inside;
    return reinterpret_cast<void*>(flags ? probe_entry_hook_flags : probe_entry_hook);
  }

  Xbyak::RegExp place(int saved) const { return rsp + (saved - below_); }
  Xbyak::Address fs_dword(int64_t offset) { return dword[Xbyak::RegExp(size_t(offset))]; }
  void fs() { db(0x64); }
  void mov_value(const Xbyak::Reg64& reg, Fixup::Value value) {
    mov(reg, kAnyWord);
    fixups_.values.push_back({value, getSize() - 8});
  }

  // probe_entry.S says how each is entered.
  void emit_call() {
    stack_is(step_);
    step_ ? push(rax) : mov(ptr[rsp + kSavedForEntry], rax);
    if (step_) stack_is(step_ + 8);
    mov_value(rax, Fixup::Value::kSite);
    call(ptr[rip]);
    entry_call_ = getSize() - 4;
    step_ ? pop(rax) : mov(rax, ptr[rsp + kSavedForEntry]);
    if (step_) stack_is(step_);
  }
  // At the entry nothing lies in the red zone, so its return can be hooked as any call's.
  void emit_hook() {
    step_back();
    mov(ptr[rsp + kSavedForEntry], rax);
    lea(rax, ptr[rip + hooked_]);
    push(rax);
    stack_is(8);
    mov_value(rax, Fixup::Value::kSite);
    jmp(ptr[rip]);
    hook_call_ = getSize() - 4;
    L(hooked_);
    stack_is(0);
    mov(rax, ptr[rsp + kSavedForEntry]);
    if (step_ && !only_hooks_) jmp(end_, T_NEAR);
  }

  // What decides on the registers alone whether there is anything to do.
  void emit_tests() {
    if (keeps_flags_) save_flags();
    Xbyak::Label& rejected = !counts_ && !keeps_flags_ ? leave_ : rejected_;
    if (code_.gated) emit_gate();
    if (code_.soft) {
      mov(ptr[rsp + kSavedRax], rax);
      mov_value(rax, Fixup::Value::kSoft);
      cmp(dword[rax], 0);
      mov(rax, ptr[rsp + kSavedRax]);
      je(rejected, T_NEAR);
    }
    if (code_.filtered) emit_filter(*code_.event.event->filter, rejected);
    if (code_.fast) return;
    L(matched_);
    if (keeps_flags_) restore_flags_alone();
  }
  void emit_filter(const FilterProgram& filter, Xbyak::Label& rejected) {
    const auto tests = filter_register_tests(filter, *code_.event.fetch);
    emit_register_tests(*this, tests, rejected, step_);
  }
  void emit_gate() {
    Xbyak::Label none;
    emit_filter(*code_.event.event->triggers->gate, none);
    jmp(matched_, T_NEAR);
    L(none);
  }
  void restore_flags_alone() {
    mov(ptr[place(kSavedRax)], rax);
    restore_flags();
    mov(rax, ptr[place(kSavedRax)]);
  }

  // Nobody knows this thread yet.
  void emit_rejected() {
    L(rejected_);
    if (!counts_) {
      if (keeps_flags_) restore_flags_alone();
      jmp(leave_, T_NEAR);
      return;
    }
    save();
    fs();
    cmp(fs_dword(tid_), 0);
    je(count_locked_, T_NEAR);
    fs();
    mov(eax, fs_dword(pb_rseq_offset));
    fs();
    cmp(eax, fs_dword(pb_rseq_offset + 4));
    jne(count_locked_, T_NEAR);
    if (code_.fast) {
      jmp(count_, T_NEAR);
    } else {
      emit_count();
    }
  }

  // One sequence whose last instruction is the addition; all registers are saved.
  void emit_count() {
    L(count_);
    load_hits();
    lea(rax, ptr[rip + count_cs_]);
    fs();
    mov(qword[Xbyak::RegExp(size_t(pb_rseq_offset + 8))], rax);
    L(count_start_);  // at once: the kernel forgets a sequence that it finds a thread outside of
    fs();
    mov(eax, fs_dword(pb_rseq_offset));
    shl(rax, 19);
    static_assert(kHitRowSize == 1 << 19);
    add(qword[r10 + rax], 1);
    L(counted_);
    leave();
  }
  void emit_count_abort() {
    dd(kRseqSignature);
    L(count_abort_);
    L(count_locked_);
    stack_is(step_, true);
    load_hits();
    mov(rax, pb_locked_row);
    lock();
    add(qword[r10 + rax], 1);
    leave();
  }
  void leave() {
    if (code_.at_return) return jmp(ptr[rip + done_room_]);
    if (keeps_flags_) restore_flags();
    restore();
    jmp(leave_, T_NEAR);
  }

  void emit_fast() {
    const uint32_t size = record_size(*code_.event.fetch);
    const uint32_t bytes = size + 4;
    if ((keeps_flags_ && !tests_) || (code_.inside && !keeps_flags_)) save_flags();
    save();
    if (keeps_flags_ || code_.inside) check_alignment_flag();
    fs();
    cmp(fs_dword(tid_), 0);
    je(slow_, T_NEAR);
    if (code_.event.fetch->head == RecordHead::kFunction) check_caller();
    emit_sequence(bytes);
    counts_ ? emit_count() : leave();
    dd(kRseqSignature);
    L(abort_);
    L(slow_);
    stack_is(step_, true);
    if (keeps_flags_) restore_flags();
    restore();
    if (!code_.gated) return;
    jmp(slow_call_, T_NEAR);
    L(matched_);
    if (keeps_flags_) restore_flags_alone();
  }

  void emit_sequence(uint32_t bytes) {
    lea(rax, ptr[rip + cs_]);
    fs();
    mov(qword[Xbyak::RegExp(size_t(pb_rseq_offset + 8))], rax);
    L(start_);
    emit_find_place(bytes);
    mov(ptr[r9], r11d);
    store_head();
    store_fields();
    emit_publish(bytes);
    L(committed_);
  }

  // Only a call that is somebody's tail call can have a trampoline as its caller.
  void check_caller() {
    mov(rax, ptr[rsp + step_]);
    mov(r10, reinterpret_cast<uint64_t>(pb_return_trampolines));
    sub(rax, r10);
    cmp(rax, int(kReturnSlots * kReturnTrampolineSize));
    jb(slow_, T_NEAR);
  }

  // Leaves r10 the RingControl, rcx publish, rax now, rdx parity * 16, r9 the place of the event,
  // r11 its first word.
  void emit_find_place(uint32_t bytes) {
    fs();
    mov(eax, fs_dword(pb_rseq_offset));
    fs();
    cmp(eax, fs_dword(pb_rseq_offset + 4));
    jne(slow_, T_NEAR);
    load_rings();
    mov(r10, ptr[r10]);
    shl(rax, 7);
    add(rax, ptr[r10 + offsetof(RingSet, controls)]);
    mov(r10, rax);
    mov(rcx, ptr[r10 + offsetof(abi::RingControl, publish)]);
    rdtsc();
    shl(rdx, 32);
    or_(rax, rdx);
    mov(rdx, rcx);
    shr(rdx, 28);
    and_(edx, 16);
    mov(r11, rax);
    sub(r11, ptr[r10 + rdx + offsetof(abi::RingControl, slot)]);
    cmp(r11, 1 << abi::kDeltaBits);
    jae(slow_, T_NEAR);
    mov(r9d, ecx);
    and_(r9d, ptr[r10 + offsetof(abi::RingControl, space_mask)]);
    sub(r9d, int(abi::kPageHeaderSize + 1));
    jb(slow_, T_NEAR);
    add(r9d, int(bytes + abi::kPageHeaderSize));  // the offset of its last byte
    cmp(r9d, ptr[r10 + offsetof(abi::RingControl, space_mask)]);
    ja(slow_, T_NEAR);
    mov(r9d, ecx);
    add(r9, r10);
    add(r9, ptr[r10 + offsetof(abi::RingControl, data_delta)]);
    shl(r11d, 5);
    or_(r11d, int((bytes - 4) / 4));
  }

  void emit_publish(uint32_t bytes) {
    mov(r11, ptr[r10 + rdx + offsetof(abi::RingControl, slot) + 8]);
    inc(r11);
    xor_(edx, 16);
    mov(ptr[r10 + rdx + offsetof(abi::RingControl, slot) + 8], r11);
    mov(ptr[r10 + rdx + offsetof(abi::RingControl, slot)], rax);
    btc(rcx, 32);
    add(rcx, int(bytes));
    mov(ptr[r10 + offsetof(abi::RingControl, publish)], rcx);
  }

  // r9 = the event in the sub-buffer; r11 is free; rcx, rdx, r9, r10, r11, rax are saved on the
  // stack.
  void store_head() {
    if (code_.at_return) return store_return_head();
    mov(dword[r9 + kData], kAnyId);  // common_type; flags and preempt count are 0
    fixups_.values.push_back({Fixup::Value::kId, getSize() - 4});
    fs();
    mov(r11d, fs_dword(tid_));
    mov(ptr[r9 + kData + 4], r11d);
    int ip = kData + 8;
    if (code_.event.fetch->head == RecordHead::kFunction) {
      mov(r11, ptr[rsp + step_]);
      mov(ptr[r9 + ip], r11);
      ip += 8;
    }
    mov_value(r11, Fixup::Value::kIp);
    mov(ptr[r9 + ip], r11);
  }

  void store_return_head() {
    mov_slot_event(r11, offsetof(SiteEvent, event));
    movzx(r11d, word[r11 + offsetof(EventProgram, id)]);
    mov(ptr[r9 + kData], r11d);
    fs();
    mov(r11d, fs_dword(tid_));
    mov(ptr[r9 + kData + 4], r11d);
    mov_slot_event(r11, offsetof(SiteEvent, ip));
    mov(ptr[r9 + kData + 8], r11);
    mov(r11, ptr[r8 + offsetof(ReturnSlot, return_address)]);
    mov(ptr[r9 + kData + 16], r11);
  }

  // Bytes of the record that no field covers (alignment, the tail) must not show what the ring held
  // before.
  void store_fields() {
    static constexpr int kArguments[] = {7, 6, 2, 1, 8, 9};  // rdi rsi rdx rcx r8 r9
    const FetchProgram& fetch = *code_.event.fetch;
    uint32_t end = record_head_size(fetch.head);
    uint64_t add_value = 0;
    int reg = 0;
    for (int i = 0; i < fetch.nr_insns; i++) {
      const FetchInsn& insn = fetch.insn[i];
      if (insn.op == FetchOp::kAdd) {
        add_value += insn.imm;
      } else if (insn.op == FetchOp::kStore) {
        zero(end, insn.offset);
        end = insn.offset + insn.size;
        store_register(reg, add_value, insn.size, kData + int(insn.offset));
      } else {
        reg = insn.op != FetchOp::kArg ? insn.index
              : code_.at_return        ? kSlotArgument + insn.index
                                       : kArguments[insn.index];
        add_value = 0;
      }
    }
    zero(end, record_size(fetch));
  }
  void zero(uint32_t from, uint32_t to) {
    for (; from < to; from++) mov(byte[r9 + kData + int(from)], 0);
  }

  // The program's value of a register: itself, or r11.
  Xbyak::Reg64 load_register(int reg) {
    static constexpr struct {
      int reg, slot;
    } kSaved[] = {{0, kSavedRax},  {1, kSavedRcx},  {2, kSavedRdx}, {9, kSavedR9},
                  {10, kSavedR10}, {11, kSavedR11}, {8, kSavedR8}};
    if (reg >= kSlotArgument) {
      mov(r11, ptr[r8 + offsetof(ReturnSlot, arg) + 8 * size_t(reg - kSlotArgument)]);
      return r11;
    }
    for (const auto& saved : kSaved) {
      if (saved.reg != reg || (reg == 8 && !code_.at_return)) continue;
      mov(r11, ptr[place(saved.slot)]);
      return r11;
    }
    if (reg != Xbyak::Operand::RSP) return Xbyak::Reg64(reg);
    lea(r11, ptr[rsp + step_]);
    return r11;
  }

  void store_register(int reg, uint64_t add_value, int size, int offset) {
    Xbyak::Reg64 value = load_register(reg);
    if (add_value) {
      if (value != r11) mov(r11, value);
      mov(qword[place(kScratch)], rcx);  // publish, needed below
      mov(rcx, add_value);
      add(r11, rcx);
      mov(rcx, qword[place(kScratch)]);
      value = r11;
    }
    const auto at = r9 + offset;
    switch (size) {
      case 1:
        return mov(ptr[at], value.cvt8());
      case 2:
        return mov(ptr[at], value.cvt16());
      case 4:
        return mov(ptr[at], value.cvt32());
      default:
        return mov(ptr[at], value);
    }
  }

  void save() {
    mov(ptr[place(kSavedRax)], rax);
    mov(ptr[place(kSavedRcx)], rcx);
    mov(ptr[place(kSavedRdx)], rdx);
    mov(ptr[place(kSavedR9)], r9);
    mov(ptr[place(kSavedR10)], r10);
    mov(ptr[place(kSavedR11)], r11);
    stack_is(step_, true);
  }
  void restore() {
    mov(rax, ptr[place(kSavedRax)]);
    mov(rcx, ptr[place(kSavedRcx)]);
    mov(rdx, ptr[place(kSavedRdx)]);
    mov(r9, ptr[place(kSavedR9)]);
    mov(r10, ptr[place(kSavedR10)]);
    mov(r11, ptr[place(kSavedR11)]);
    stack_is(step_);
  }
  // popf costs as much as all the rest; rax is spent instead. DF and AC stay as they are.
  void save_flags() {
    pushfq();
    stack_is(step_ + 8);
    pop(qword[place(kSavedFlags)]);  // the address is computed behind the pop; kSavedRax is spent
    stack_is(step_);
  }
  void restore_flags() {
    mov(al, byte[place(kSavedFlags + 1)]);
    and_(al, 8);                        // OF
    mov(ah, byte[place(kSavedFlags)]);  // SF ZF AF PF CF
    add(al, 0x78);                      // overflows if OF was set
    sahf();
  }
  // Our unaligned stores would be faults.
  void check_alignment_flag() {
    test(dword[place(kSavedFlags)], kAlignmentCheck);
    jnz(slow_, T_NEAR);
  }

  // Beside the code, never written again. struct rseq_cs: version, flags, start, length, abort.
  void emit_data() {
    if (!only_hooks_ && !code_.at_return) emit_room(entry_room_);
    if (code_.hooks_return) emit_room(hook_room_);
    if (code_.fast) emit_cs(cs_);
    if (counts_) emit_cs(count_cs_);
  }
  void emit_room(Xbyak::Label& label) {
    L(label);
    for (size_t i = 0; i < kCallRoom; i++) db(0);
  }
  void emit_cs(Xbyak::Label& label) {
    L(label);
    for (int word = 0; word < 4; word++) dq(0);
  }
  size_t offset(const Xbyak::Label& label) const { return size_t(label.getAddress() - getCode()); }
  void add_call(size_t displacement, const Xbyak::Label& room, void* target) {
    fixups_.calls.push_back({displacement, offset(room), target});
  }
  void add_sequence(const Xbyak::Label& cs, const Xbyak::Label& start,
                    const Xbyak::Label& committed, const Xbyak::Label& abort) {
    fixups_.sequences.push_back({offset(cs) + 8, offset(start), offset(committed), offset(abort)});
  }

  static constexpr int kData = 4;  // behind the event's first word
  const ProbeCode& code_;
  const int64_t tid_;  // of ProbeThread.fast_tid, from the thread pointer
  const int step_;     // from our stack pointer to the program's
  const int below_;    // how much of the stack below it is in use
  const bool tests_, keeps_flags_, counts_, only_hooks_;
  Fixups fixups_;
  StackShape shape_;
  size_t entry_call_ = 0, hook_call_ = 0;
  Xbyak::Label start_, committed_, abort_, slow_, slow_call_, leave_, done_, end_, hooked_,
      entry_room_, hook_room_, done_room_, general_room_, cs_, count_, count_start_, counted_,
      count_abort_, count_locked_, count_cs_, rejected_, matched_;
};

// Code of one shape: what is left when site, function and event id are taken out. Fifty thousand
// functions with the same arguments share one.
struct Template {
  std::string key;
  std::vector<uint8_t> code;
  Fixups fixups;
  uint16_t shape;  // 0 when it is a return's
};
constexpr size_t kMaxTemplates = 64;

template <typename T>
void put(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// The filter as far as it decides the code.
void add_tests(const FilterProgram& filter, const FetchProgram& fetch, std::string* key) {
  for (const RegisterTest& test : filter_register_tests(filter, fetch)) {
    const FilterInsn& insn = *test.insn;
    const uint64_t words[] = {uint64_t(test.source),
                              test.add,
                              insn.value,
                              insn.end,
                              uint64_t(insn.on_true) << 32 | insn.on_false,
                              uint64_t(insn.test) << 32 | uint64_t(insn.op) << 16 |
                                  uint64_t{insn.size} << 8 | uint64_t{insn.is_signed} << 1 |
                                  uint64_t{insn.invert}};
    key->append(reinterpret_cast<const char*>(words), sizeof words);
  }
  key->push_back('|');
}

std::string template_key(const ProbeCode& code) {
  std::string key;
  auto add = [&key](const void* bytes, size_t size) {
    key.append(static_cast<const char*>(bytes), size);
  };
  const bool kind[] = {
      code.uses_xmm,     code.flags_live,      code.inside,   code.fast,
      code.hooks_return, code.site_has_events, code.filtered, code.event.counts != nullptr,
      code.at_return,    code.shared,          code.gated,    code.soft};
  add(kind, sizeof kind);
  if (code.gated) add_tests(*code.event.event->triggers->gate, *code.event.fetch, &key);
  if (code.filtered) add_tests(*code.event.event->filter, *code.event.fetch, &key);
  if (!code.fast && !code.filtered && !code.gated && !code.soft) return key;
  add(&pb_rseq_offset, sizeof pb_rseq_offset);
  add(&pb_locked_row, sizeof pb_locked_row);
  if (!code.fast) return key;
  const FetchProgram& fetch = *code.event.fetch;
  add(&fetch.head, sizeof fetch.head);
  add(&fetch.fixed_size, sizeof fetch.fixed_size);
  add(fetch.insn, fetch.nr_insns * sizeof(FetchInsn));
  return key;
}

// Called by the control thread only (patch/patcher.h). A full cache starts again. Never freed: exit
// handlers and threads may run to the very end of the process.
const Template* find_template(const ProbeCode& code) {
  static auto& cache = *new std::vector<Template>;
  std::string key = template_key(code);
  for (const Template& made : cache)
    if (made.key == key) return &made;
  alignas(64) uint8_t buffer[kMaxProbeCode];
  ProbeEmitter emitter(code, buffer, sizeof buffer);
  emitter.emit();
  if (Xbyak::GetError() != Xbyak::ERR_NONE) {
    Xbyak::ClearError();
    return nullptr;
  }
  if (cache.size() == kMaxTemplates) cache.clear();
  cache.push_back({std::move(key),
                   {buffer, buffer + emitter.getSize()},
                   emitter.fixups(),
                   code.at_return ? uint16_t{0} : stack_shape_number(emitter.shape())});
  return &cache.back();
}

bool can_be_tested(const FilterProgram* filter, const FetchProgram& fetch) {
  return filter && !filter_register_tests(*filter, fetch).empty();
}

// Where it comes to nothing, counting is all that may be left to do.
bool may_be_tested(const SiteEvent& event) {
  return event.fetch && !event.event->from_record && (!event.counts || pb_rseq_offset);
}

bool has_no_switch(const EventProgram& event) { return !event.has_soft && !event.triggers; }

// All that the code can do without: which threads, which sources, what follows.
bool is_simple(const SiteEvent& event) {
  const EventProgram& program = *event.event;
  return pb_rseq_offset && event.fetch && program.kind == ConsumerKind::kRecord && !program.stack &&
         !program.from_record && !program.pids && !program.notrace_pids &&
         program.rings->clock == abi::kClockTsc;
}

bool is_scalar(const FetchProgram& fetch) {
  if (!fetch.scalar_only || record_size(fetch) > kMaxFastRecord) return false;
  int fields = 0;
  for (int i = 0; i < fetch.nr_insns; i++) {
    const FetchInsn& insn = fetch.insn[i];
    fields += insn.op == FetchOp::kStore;
    if (insn.op == FetchOp::kReg && insn.index >= kFlagsRegister) return false;
  }
  return fields <= kMaxFastFields;
}

uint64_t value_of(const ProbeCode& code, Fixup::Value value) {
  switch (value) {
    case Fixup::Value::kIp:
      return code.event.ip;
    case Fixup::Value::kSite:
      return reinterpret_cast<uint64_t>(code.site);
    case Fixup::Value::kRings:
      return reinterpret_cast<uint64_t>(&code.event.event->rings);
    case Fixup::Value::kHits:
      return reinterpret_cast<uint64_t>(code.event.counts->hits);
    case Fixup::Value::kSoft:
      return reinterpret_cast<uint64_t>(code.event.event->soft);
    case Fixup::Value::kId:
      return code.event.event->id;
  }
  return 0;
}

}  // namespace

bool has_fast_path(const SiteEvent& event) {
  if (!is_simple(event) || !is_scalar(*event.fetch)) return false;
  const RecordHead head = event.fetch->head;
  if (head != RecordHead::kFunction && head != RecordHead::kProbe) return false;
  const EventProgram& program = *event.event;
  if (program.triggers && !has_register_gate(event)) return false;
  return !program.filter || can_be_tested(program.filter, *event.fetch);
}

bool has_register_filter(const SiteEvent& event) {
  if (!may_be_tested(event) || (event.event->triggers && !has_register_gate(event))) return false;
  return can_be_tested(event.event->filter, *event.fetch);
}

bool has_register_gate(const SiteEvent& event) {
  const TriggerProgram* triggers = event.event->triggers;
  return triggers && may_be_tested(event) && can_be_tested(triggers->gate, *event.fetch);
}

bool is_fast_call(const SiteEvent& event) {
  return is_simple(event) && has_no_switch(*event.event) &&
         event.fetch->head == RecordHead::kCall && event.fetch->nr_insns == 0 &&
         !event.event->filter && !event.counts && !event.ip && !event.event->merges_repeats &&
         event.event->rings->clock == abi::kClockTsc;
}

namespace {

// Of a graph or the profiler: all threads.
bool is_plain_graph(const SiteEvent& event, ConsumerKind kind) {
  const EventProgram& program = *event.event;
  return pb_rseq_offset && program.kind == kind && !event.counts && !program.pids &&
         !program.notrace_pids && program.rings->clock == abi::kClockTsc;
}

}  // namespace

bool is_fast_graph(const SiteEvent& event) {
  return is_plain_graph(event, ConsumerKind::kGraph) &&
         !(event.event->graph_flags & (kGraphArgs | kGraphRetaddr));
}

bool is_fast_profile(const SiteEvent& event) {
  return is_plain_graph(event, ConsumerKind::kProfile);
}

bool has_fast_return(const SiteEvent& event) {
  if (!is_simple(event) || !is_scalar(*event.fetch) || event.event->filter) return false;
  if (event.fetch->head != RecordHead::kReturn || !has_no_switch(*event.event)) return false;
  return !event.counts || !event.counts->max_active;
}

ProbeCode probe_code(const CallSite* site, const SiteProgram* program,
                     const SiteProgram* return_program, bool flags_live, bool inside) {
  ProbeCode code{};
  code.site = site;
  code.flags_live = flags_live;
  code.inside = inside;
  code.hooks_return = return_program != nullptr;
  code.site_has_events = program != nullptr;
  if (!program) return code;
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const FetchProgram* fetch = program->event[i].fetch;
    if (!fetch) continue;
    code.uses_xmm |= fetch->uses_xmm;
    code.inside |= fetch->uses_reg;
  }
  code.shared = !code.inside && !code.flags_live && !code.uses_xmm;
  if (program->nr_events != 1) return code;
  ProbeCode better = code;
  better.shared = false;
  better.event = program->event[0];
  better.fast = has_fast_path(better.event);
  better.filtered = has_register_filter(better.event);
  better.gated = has_register_gate(better.event);
  const bool may_be_off = better.event.event->has_soft && may_be_tested(better.event);
  better.soft = may_be_off && (better.gated || !better.event.event->triggers);
  const bool special = better.fast || better.filtered || better.gated || better.soft;
  const bool fits = special && find_template(better);
  return fits ? better : code;
}

uint16_t probe_stack_shape(const ProbeCode& code) {
  const Template* made = find_template(code);
  return made ? made->shape : 0;
}

size_t emit_probe(const ProbeCode& code, uint8_t* out, size_t capacity, uint64_t address) {
  const Template* made = find_template(code);
  if (!made || made->code.size() > capacity) return 0;
  std::memcpy(out, made->code.data(), made->code.size());
  for (const Fixup& fixup : made->fixups.values) {
    const uint64_t value = value_of(code, fixup.value);
    fixup.value == Fixup::Value::kId ? put(out + fixup.at, uint32_t(value))
                                     : put(out + fixup.at, value);
  }
  for (const Call& call : made->fixups.calls) {
    const size_t at = ((address + call.room + 7) & ~uint64_t{7}) - address;
    put(out + at, reinterpret_cast<uint64_t>(call.target));
    put(out + call.displacement, int32_t(at - (call.displacement + 4)));
  }
  for (const Sequence& sequence : made->fixups.sequences) {
    put(out + sequence.cs, address + sequence.start);
    put(out + sequence.cs + 8, uint64_t(sequence.committed - sequence.start));
    put(out + sequence.cs + 16, address + sequence.abort);
  }
  return made->code.size();
}

}  // namespace patchbay
