// SPDX-License-Identifier: MIT
//
// The code of a stub before the displaced instructions (patch/patcher.h: StubPrologue): either the
// general way into probe_hit(), or in front of it a fast path generated for one event whose fields
// are all plain registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "probe/probe_abi.h"

namespace patchbay {

// Code of one shape (codegen/code_template.h).
struct CodeTemplate;
using CodeTemplatePtr = std::shared_ptr<const CodeTemplate>;

// What the code of a place depends on. Two of them that are equal give the same code.
struct ProbeCode {
  const CallSite* site;  // stays where it is
  // The only event of the place, when code is generated for it; event.event is null otherwise. The
  // code reads EventProgram.rings each time, so the program and the counts must outlive it; sizes
  // may change under it.
  SiteEvent event;
  bool fast;           // the code records the event by itself
  bool hist;           // or, with `fast`, it updates the histogram that is the only trigger, while
                       // soft mode says that the event is off (codegen/hist_code.h)
  bool calls;          // or it calls subscribers, which are the only triggers, likewise
                       // (codegen/callback_code.h)
  bool filtered;       // it tests the event's filter on the registers first
  bool gated;          // and before that the filters of its triggers, all of which have one
  bool mirrored;       // or, of a mirror alone, it looks whether somebody listens
  bool soft;           // it looks whether soft mode says that the event is off
  bool uses_xmm;       // some event reads xmm registers
  bool flags_live;     // the program may read flags behind the place that are set before it
  bool inside;         // not a function's entry, or all registers are read: the code steps over the
                       // red zone, keeps every register and the flags
  bool hooks_return;   // site->return_program is there
  bool hook_uses_xmm;  // what is taken at the entry for the return reads xmm registers
  bool site_has_events;  // site->program is there
  bool shared;           // probe_entry_shared: what is to be done is in the site's programs
  bool at_return;        // not of a place: what return_entry goes on with (return_hook.S). It reads
                         // the event from the slot's program, so that it is only its shape's
  bool takes;            // neither: what probe_entry_hook goes on with for a whole call
                         // (function_entry.S). event.fetch is what runs at the entry
  bool operator==(const ProbeCode&) const = default;
};

// The best code for a place that is to run these programs (either may be null). `flags_live` and
// `inside` are those of the plan: SitePlan.flags_live, and whether it is from plan_insn().
ProbeCode probe_code(const CallSite* site, const SiteProgram* program,
                     const SiteProgram* return_program, bool flags_live, bool inside);

// What all places with the same code share. Null: there is no room for such code.
CodeTemplatePtr probe_template(const ProbeCode& code);
// Writes the prologue for execution at `address`; returns its size, 0 when `capacity` is too small.
// `made`: the code's template.
size_t emit_probe(const CodeTemplate& made, const ProbeCode& code, uint8_t* out, size_t capacity,
                  uint64_t address);
size_t emit_probe(const ProbeCode& code, uint8_t* out, size_t capacity, uint64_t address);

// Where the stack is in that code, for unwinders (patch/stub_views.h).
uint16_t probe_stack_shape(const CodeTemplate& made);

// True when a fast path can be generated for the event in this process (rseq works, the record's
// fixed part is small, every field is compiled, every thread's events are wanted, a filter can be
// tested on the registers, and so can those of its triggers).
bool has_fast_path(const SiteEvent& event);

// True when the code can do all that a hit comes to while nobody records the event: its only
// trigger is a histogram that counts numbers, whose filter, if it has one, can be tested on the
// registers.
bool has_fast_hist(const SiteEvent& event);

// The same where all triggers are subscriptions, at the entry of a function.
bool has_fast_callbacks(const SiteEvent& event);

// The same as has_fast_path() for a return: every field is a register, nothing limits it, and it
// has no filter. Of a whole call fields may also be loads, those of the entry may be anything, and
// so may a filter of numbers.
bool has_fast_return(const SiteEvent& event);

// One record of 24 bytes, a callback, function_graph's entry and exit, the profiler: what
// function_entry.S and return_hook.S do without the general way.
bool is_fast_call(const SiteEvent& event);
bool is_fast_callback(const SiteEvent& event);  // one of the program, at a function
bool is_fast_graph(const SiteEvent& event);
bool is_fast_profile(const SiteEvent& event);

// Sets code, return_code and take_code of a program that is about to be published. What they depend
// on besides the program is its rings' clock.
void choose_code(SiteProgram* program, bool on_return);

// SiteProgram.return_code for a return program: the number of the code for its only event. 0: there
// is none, or no room for it. Programs with the same fields share it, and it is never taken back.
uint16_t return_code(const SiteProgram& program);
// SiteProgram.take_code, likewise: of the program's whole calls, which all take the same.
uint16_t take_code(const SiteProgram& program);

// True when the event has a filter that the code can test on the registers at the place, or on the
// texts that they lead to: a hit that does not match costs next to nothing, whatever the event's
// other fields are.
bool has_register_filter(const SiteEvent& event);

// The same for triggers that all have such a filter, on registers alone.
bool has_register_gate(const SiteEvent& event);

// True when the only trigger is a mirror, and the code can look at its listeners.
bool has_listener_gate(const SiteEvent& event);

}  // namespace patchbay
