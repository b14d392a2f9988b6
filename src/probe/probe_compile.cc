// SPDX-License-Identifier: MIT
//
// Machine code for one event at one call site. The fast path is ring_publish.S with what is known
// at this time folded in: size, event id, addresses, and the fields stored straight from their
// registers into the sub-buffer. Nothing of the rings is folded in: they may be replaced. It only
// handles the usual case (same sub-buffer, small delta, registered thread); whatever else goes on
// to probe_hit().
//
//     [rsp - 8 …] saved rax rcx rdx r9 r10 r11 (a function's entry has no red zone of its own to
//     lose,
//                 and signal handlers keep off these 128 bytes)
//     filter on registers (filter/filter_jit.cc); no match -> done
//   again:
//     fs:[rseq.rseq_cs] = &cs
//   start:                                   ---- restartable from here ----
//     cpu = fs:[rseq.cpu_id_start]; not registered? -> slow
//     rc  = event->rings->controls + cpu * 128
//     now = rdtsc; delta = now - rc.slot[parity].time;  delta >= 2^27 (or negative)? -> slow
//     offset in sub-buffer is 0, 16 or too near the end (rc.space_mask)? -> slow
//     event header, common fields, caller, function, fields -> sub-buffer
//     rc.slot[!parity] = { now, entries + 1 }
//     rc.publish = publish + bytes, other parity
//   committed:                               ---- to here ----
//     restore, jmp done
//   slow:
//     restore; push rax; rax = site; call probe_entry…; pop rax
//   done:
//
// An abort lands behind the signature at `abort` and takes the slow path, which has its own bound.
#define XBYAK_NO_EXCEPTION
#include <xbyak/xbyak.h>

#include <cstring>
#include <string>
#include <vector>

#include "filter/filter_insn.h"
#include "filter/filter_jit.h"
#include "probe/probe_compile.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

using Xbyak::util::dword;
using Xbyak::util::eax;
using Xbyak::util::ecx;
using Xbyak::util::edx;
using Xbyak::util::qword;
using Xbyak::util::r10;
using Xbyak::util::r11;
using Xbyak::util::r11d;
using Xbyak::util::r9;
using Xbyak::util::r9d;
using Xbyak::util::rax;
using Xbyak::util::rcx;
using Xbyak::util::rdx;
using Xbyak::util::rip;
using Xbyak::util::rsp;

constexpr uint32_t kRseqSignature = 0x53053053;
constexpr int kSavedRax = -8, kSavedRcx = -16, kSavedRdx = -24, kSavedR9 = -32, kSavedR10 = -40,
              kSavedR11 = -48;
constexpr uint32_t kMaxFastRecord = abi::kMaxSmallData;
// Stand for values that differ from one site or event to the next; never short enough for a shorter
// encoding.
constexpr uint64_t kAnyIp = 0x1122334455667788, kAnySite = 0x8877665544332211;
constexpr uint64_t kAnyRings = 0x1234567812345678;
constexpr uint32_t kAnyId = 0x12345678;
constexpr int kMaxFastFields = 12;
constexpr size_t kMaxProbeCode = 1024;

int64_t thread_pointer() {
  int64_t tp;
  __asm__("mov %%fs:0, %0" : "=r"(tp));
  return tp;
}

// Where in the code the values stand that emit_probe fills in, as offsets from its start; 0:
// nowhere.
struct Fixups {
  size_t id = 0, ip = 0, site = 0, rings = 0;
  size_t cs = 0;  // struct rseq_cs from start_ip on
  size_t start = 0, committed = 0, abort = 0;
};

class ProbeEmitter : public Xbyak::CodeGenerator {
 public:
  ProbeEmitter(const ProbeCode& code, uint8_t* out, size_t capacity)
      : Xbyak::CodeGenerator(capacity, out), code_(code) {}

  void emit() {
    if (code_.filtered)
      emit_register_tests(
          *this, filter_register_tests(*code_.filtered->filter, *code_.filtered->fetch), done_);
    if (code_.fast) emit_fast();
    L(slow_call_);
    push(rax);
    mov(rax, kAnySite);
    fixups_.site = getSize() - 8;
    call(ptr[rip + entry_]);
    pop(rax);
    jmp(done_, T_NEAR);
    align(8);
    L(entry_);
    dq(reinterpret_cast<uint64_t>(entry_point()));
    if (code_.fast) emit_cs();
    L(done_);
    if (!code_.fast) return;
    auto offset = [this](const Xbyak::Label& label) {
      return size_t(label.getAddress() - getCode());
    };
    fixups_.start = offset(start_);
    fixups_.committed = offset(committed_);
    fixups_.abort = offset(abort_);
  }
  const Fixups& fixups() const { return fixups_; }

 private:
  void* entry_point() const {
    if (code_.inside)
      return reinterpret_cast<void*>(code_.uses_xmm ? probe_entry_all_xmm : probe_entry_all);
    if (code_.flags_live)
      return reinterpret_cast<void*>(code_.uses_xmm ? probe_entry_xmm_flags : probe_entry_flags);
    return reinterpret_cast<void*>(code_.uses_xmm ? probe_entry_xmm : probe_entry);
  }

  Xbyak::Address fs_dword(int64_t offset) { return dword[Xbyak::RegExp(size_t(offset))]; }

  void emit_fast() {
    const EventProgram& event = *code_.fast;
    const uint32_t size = event.max_size;
    const uint32_t bytes = size + 4;
    const int64_t rseq = pb_rseq_offset;
    const int64_t tid = reinterpret_cast<int64_t>(&pb_thread.fast_tid) - thread_pointer();
    save();
    fs();
    cmp(fs_dword(tid), 0);
    je(slow_, T_NEAR);
    lea(rax, ptr[rip + cs_]);
    fs();
    mov(qword[Xbyak::RegExp(size_t(rseq + 8))], rax);
    L(start_);
    fs();
    mov(eax, fs_dword(rseq));
    fs();
    cmp(eax, fs_dword(rseq + 4));
    jne(slow_, T_NEAR);
    mov(r10, kAnyRings);
    fixups_.rings = getSize() - 8;
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
    or_(r11d, int(size / 4));
    mov(ptr[r9], r11d);
    store_fields(event, tid);
    mov(r11, ptr[r10 + rdx + offsetof(abi::RingControl, slot) + 8]);
    inc(r11);
    xor_(edx, 16);
    mov(ptr[r10 + rdx + offsetof(abi::RingControl, slot) + 8], r11);
    mov(ptr[r10 + rdx + offsetof(abi::RingControl, slot)], rax);
    btc(rcx, 32);
    add(rcx, int(bytes));
    mov(ptr[r10 + offsetof(abi::RingControl, publish)], rcx);
    L(committed_);
    restore();
    jmp(done_, T_NEAR);
    dd(kRseqSignature);
    L(abort_);
    L(slow_);
    restore();
  }

  // r9 = the event in the sub-buffer; r11 is free; rcx, rdx, r9, r10, r11, rax are saved on the
  // stack.
  void store_fields(const EventProgram& event, int64_t tid) {
    const int data = 4;
    mov(dword[r9 + data], kAnyId);  // common_type; flags and preempt count are 0
    fixups_.id = getSize() - 4;
    fs();
    mov(r11d, fs_dword(tid));
    mov(ptr[r9 + data + 4], r11d);
    mov(r11, ptr[rsp]);
    mov(ptr[r9 + data + 8], r11);
    mov(r11, kAnyIp);
    fixups_.ip = getSize() - 8;
    mov(ptr[r9 + data + 16], r11);
    zero_gaps(event, data);
    uint64_t add_value = 0;
    int arg = 0;
    for (int i = 0; i < event.fetch->nr_insns; i++) {
      const FetchInsn& insn = event.fetch->insn[i];
      if (insn.op == FetchOp::kArg) {
        arg = insn.index;
        add_value = 0;
      } else if (insn.op == FetchOp::kAdd) {
        add_value += insn.imm;
      } else {
        store_arg(arg, add_value, insn.size, data + int(insn.offset));
      }
    }
  }

  // Bytes of the record that no field covers (alignment, the tail) must not show what the ring held
  // before.
  void zero_gaps(const EventProgram& event, int data) {
    uint32_t at = 24;
    for (int i = 0; i < event.fetch->nr_insns; i++) {
      const FetchInsn& insn = event.fetch->insn[i];
      if (insn.op != FetchOp::kStore) continue;
      zero(data, at, insn.offset);
      at = insn.offset + insn.size;
    }
    zero(data, at, event.max_size);
  }
  void zero(int data, uint32_t from, uint32_t to) {
    for (; from < to; from++) mov(Xbyak::util::byte[r9 + data + int(from)], 0);
  }

  void store_arg(int arg, uint64_t add_value, int size, int offset) {
    static const Xbyak::Reg64 in_place[] = {
        Xbyak::util::rdi, Xbyak::util::rsi, r11, r11, Xbyak::util::r8, r11};
    static const int saved[] = {0, 0, kSavedRdx, kSavedRcx, 0, kSavedR9};
    Xbyak::Reg64 value = in_place[arg];
    if (saved[arg]) mov(r11, ptr[rsp + saved[arg]]);
    if (add_value) {
      if (!saved[arg]) mov(r11, value);
      mov(qword[rsp + kScratch], rcx);  // publish, needed below
      mov(rcx, add_value);
      add(r11, rcx);
      mov(rcx, qword[rsp + kScratch]);
      value = r11;
    }
    const auto at = r9 + offset;
    switch (size) {
      case 1:
        mov(ptr[at], value.cvt8());
        break;
      case 2:
        mov(ptr[at], value.cvt16());
        break;
      case 4:
        mov(ptr[at], value.cvt32());
        break;
      default:
        mov(ptr[at], value);
        break;
    }
  }

  void save() {
    mov(ptr[rsp + kSavedRax], rax);
    mov(ptr[rsp + kSavedRcx], rcx);
    mov(ptr[rsp + kSavedRdx], rdx);
    mov(ptr[rsp + kSavedR9], r9);
    mov(ptr[rsp + kSavedR10], r10);
    mov(ptr[rsp + kSavedR11], r11);
  }
  void restore() {
    mov(rax, ptr[rsp + kSavedRax]);
    mov(rcx, ptr[rsp + kSavedRcx]);
    mov(rdx, ptr[rsp + kSavedRdx]);
    mov(r9, ptr[rsp + kSavedR9]);
    mov(r10, ptr[rsp + kSavedR10]);
    mov(r11, ptr[rsp + kSavedR11]);
  }

  // struct rseq_cs: version, flags, start, length, abort. Lives beside the code, never written
  // again.
  void emit_cs() {
    align(8);  // the kernel copies it, whatever its alignment
    L(cs_);
    dd(0);
    dd(0);
    fixups_.cs = getSize();
    dq(0);
    dq(0);
    dq(0);
  }

 private:
  static constexpr int kScratch = -56;
  void fs() { db(0x64); }
  const ProbeCode& code_;
  Fixups fixups_;
  Xbyak::Label start_, committed_, abort_, slow_, slow_call_, done_, entry_, cs_;
};

// Code of one shape: what is left when site, function and event id are taken out. Fifty thousand
// functions with the same arguments share one.
struct Template {
  std::string key;
  std::vector<uint8_t> code;
  Fixups fixups;
};
constexpr size_t kMaxTemplates = 64;

template <typename T>
void put(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// The filter as far as it decides the code.
void add_tests(const EventProgram& event, std::string* key) {
  for (const RegisterTest& test : filter_register_tests(*event.filter, *event.fetch)) {
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
  uint8_t kind[5] = {code.uses_xmm, code.flags_live, code.inside, code.fast != nullptr,
                     code.filtered != nullptr};
  add(kind, sizeof kind);
  if (code.filtered) add_tests(*code.filtered, &key);
  if (!code.fast) return key;
  add(&code.fast->max_size, sizeof code.fast->max_size);
  add(&pb_rseq_offset, sizeof pb_rseq_offset);
  add(code.fast->fetch->insn, code.fast->fetch->nr_insns * sizeof(FetchInsn));
  return key;
}

// Called by the control thread only (patch/patcher.h). A full cache starts again.
const Template* find_template(const ProbeCode& code) {
  static std::vector<Template> cache;
  std::string key = template_key(code);
  for (const Template& made : cache)
    if (made.key == key) return &made;
  alignas(64) uint8_t buffer[kMaxProbeCode];  // align() goes by the address
  ProbeEmitter emitter(code, buffer, sizeof buffer);
  emitter.emit();
  if (Xbyak::GetError() != Xbyak::ERR_NONE) {
    Xbyak::ClearError();
    return nullptr;
  }
  if (cache.size() == kMaxTemplates) cache.clear();
  cache.push_back({std::move(key), {buffer, buffer + emitter.getSize()}, emitter.fixups()});
  return &cache.back();
}

}  // namespace

bool has_fast_path(const EventProgram& event) {
  if (!pb_rseq_offset || event.rings->clock != abi::kClockTsc) return false;
  if (event.pids || event.notrace_pids) return false;
  if (event.fetch->head == kProbeHead) return false;
  if (!event.fetch->scalar_only || event.max_size > kMaxFastRecord || event.max_size % 4)
    return false;
  int fields = 0;
  for (int i = 0; i < event.fetch->nr_insns; i++)
    fields += event.fetch->insn[i].op == FetchOp::kStore;
  if (fields > kMaxFastFields) return false;
  if (!event.filter) return true;
  if (filter_register_tests(*event.filter, *event.fetch).empty()) return false;
  return find_template({nullptr, &event, false, false, false, &event}) != nullptr;  // it fits
}

bool has_register_filter(const EventProgram& event) {
  if (!event.filter || filter_register_tests(*event.filter, *event.fetch).empty()) return false;
  return find_template({nullptr, nullptr, false, false, false, &event}) != nullptr;
}

size_t emit_probe(const ProbeCode& code, uint8_t* out, size_t capacity, uint64_t address) {
  const Template* made = find_template(code);
  if (!made || made->code.size() > capacity) return 0;
  std::memcpy(out, made->code.data(), made->code.size());
  const Fixups& fix = made->fixups;
  put(out + fix.site, reinterpret_cast<uint64_t>(code.site));
  if (code.fast) {
    put(out + fix.id, uint32_t(code.fast->id));
    put(out + fix.ip, code.site->ip);
    put(out + fix.rings, reinterpret_cast<uint64_t>(&code.fast->rings));
    put(out + fix.cs, address + fix.start);
    put(out + fix.cs + 8, uint64_t(fix.committed - fix.start));
    put(out + fix.cs + 16, address + fix.abort);
  }
  return made->code.size();
}

}  // namespace patchbay
