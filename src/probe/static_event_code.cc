// SPDX-License-Identifier: MIT
//
//   (event, record: rsi, size: edx)
//     thread new, or in agent code? -> offer
//     kPlain    filter of the event; no match: done
//               header, -> static_event_publish
//     kGated    filters of its triggers; one matches: -> offer
//               off in soft mode? done
//               header, -> static_event_wanted
//     kCalls    on in soft mode? -> offer
//               filter of the callback, if it has one; no match: done
//               header, -> static_event_callback
//   offer:
//     -> static_event_offer
//
// Budget (docs/invariants.md): a filter's no 0.5 x floor, callback 0.7 x. What counts is mostly how
// often the way jumps, so that it runs straight on where there is a budget, and tests are in it
// instead of being called.
#define XBYAK_NO_EXCEPTION
#include "probe/static_event_code.h"

#include <xbyak/xbyak.h>

#include <algorithm>
#include <vector>

#include "filter/filter_insn.h"
#include "probe/static_event_hot.h"
#include "probe/trigger_hot.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {
namespace {

using namespace Xbyak::util;  // register names

constexpr uint32_t kMaxTests = 64;
constexpr size_t kMaxCode = 256 + 64 * kMaxTests;

bool is_usable(const FilterProgram* filter) {
  return filter && filter->nr_insns <= kMaxTests && has_inline_tests(*filter);
}

// Fields of the common header, which is not written yet.
bool reads_header(const FilterProgram& filter) {
  return std::any_of(filter.insns, filter.insns + filter.nr_insns,
                     [](const FilterInsn& insn) { return insn.offset < sizeof(uint64_t); });
}

int64_t tls_offset() {
  int64_t thread_pointer;
  __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
  return reinterpret_cast<int64_t>(&pb_thread.fast_tid) - thread_pointer;
}

class HitEmitter : public Xbyak::CodeGenerator {
 public:
  HitEmitter(const SiteProgram& program, uint8_t* out)
      : Xbyak::CodeGenerator(kMaxCode, out), program_(program), event_(*program.event[0].event) {}

  // False: there is nothing to be gained.
  bool emit() {
    const bool done = program_.plain == kPlain   ? emit_plain()
                      : program_.plain == kGated ? emit_gated()
                      : program_.plain == kCalls ? emit_calls()
                                                 : false;
    if (!done) return false;
    L(offer_);
    mov(rdi, address(&program_));
    mov(rcx, rsp);
    mov(r8, rbp);
    go_on(address(&static_event_offer));
    return true;
  }

 private:
  bool emit_plain() {
    if (!is_usable(event_.filter)) return false;
    emit_tests(*event_.filter, wanted_);
    ret();
    L(wanted_);
    emit_header();
    mov(rdi, address(&event_));
    go_on(address(&static_event_publish));
    return true;
  }

  bool emit_gated() {
    const FilterProgram* gate = event_.triggers->gate;
    if (!is_usable(gate)) return false;
    emit_tests(*gate, offer_);
    emit_soft_test();
    jne(wanted_, T_NEAR);
    ret();
    L(wanted_);
    emit_header();
    mov(rdi, address(&program_));
    mov(r8, address(&event_));
    go_on(address(&static_event_wanted));
    return true;
  }

  bool emit_calls() {
    const Trigger& one = event_.triggers->trigger[0];
    if (!is_usable(one.filter)) return false;
    emit_soft_test();
    jne(offer_, T_NEAR);
    emit_tests(*one.filter, wanted_);
    ret();
    L(wanted_);
    emit_header();
    mov(rdi, address(one.callback));
    go_on(address(&static_event_callback));
    return true;
  }

  template <typename T>
  static uint64_t address(T* of) {
    return reinterpret_cast<uint64_t>(of);
  }
  void go_on(uint64_t function) {
    mov(rax, function);
    jmp(rax);
  }
  Xbyak::Address fast_tid() {
    db(0x64);  // fs:
    return dword[Xbyak::RegExp(size_t(tls_offset()))];
  }

  void emit_tests(const FilterProgram& filter, Xbyak::Label& match) {
    if (reads_header(filter)) {
      emit_header();
    } else {
      cmp(fast_tid(), 0);
      je(offer_, T_NEAR);
    }
    emit_record_tests(*this, filter, rsi, edx, match);
  }
  // Equal: off.
  void emit_soft_test() {
    mov(rax, address(event_.soft));
    cmp(dword[rax], 0);
  }
  // RecordHeader, flags are 0. Leaves the thread in ecx.
  void emit_header() {
    mov(ecx, fast_tid());
    test(ecx, ecx);  // here too: a handler may have changed who the thread is
    je(offer_, T_NEAR);
    mov(rax, rcx);
    shl(rax, 32);
    or_(rax, event_.id);
    mov(ptr[rsi], rax);
  }

  const SiteProgram& program_;
  const EventProgram& event_;
  Xbyak::Label wanted_, offer_;
};

}  // namespace

FilterCode static_event_code(const SiteProgram& program) {
  std::vector<uint8_t> buffer(kMaxCode);
  HitEmitter emitter(program, buffer.data());
  const bool done = emitter.emit();
  if (Xbyak::GetError() != Xbyak::ERR_NONE) {
    Xbyak::ClearError();
    return FilterCode();
  }
  return done ? FilterCode(buffer.data(), emitter.getSize()) : FilterCode();
}

}  // namespace patchbay
