// SPDX-License-Identifier: MIT
//
// A site must know its program before a thread can arrive there, and keep one until none can:
//
//   publish new programs  ->  one patch transaction  ->  null programs of sites that are restored
//
// A site whose machine code would be the same is not patched again: its stub reads the program.
#include "registry/function_sites.h"

#include "base/hex_number.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <unordered_set>

namespace patchbay {

namespace {

bool same_code(const ProbeCode& a, const ProbeCode& b) {
  return a.site == b.site && a.fast == b.fast && a.uses_xmm == b.uses_xmm &&
         a.flags_live == b.flags_live && a.inside == b.inside && a.filtered == b.filtered;
}

bool same_events(const SiteProgram& program, const std::vector<const EventProgram*>& list) {
  return std::equal(list.begin(), list.end(), program.event, program.event + program.nr_events);
}

}  // namespace

void FunctionSites::FreeProgram::operator()(SiteProgram* program) const { std::free(program); }

FunctionSites::~FunctionSites() = default;

void FunctionSites::join(const LiveEvent* live, std::span<const FunctionPlace> places) {
  for (const FunctionPlace& place : places) {
    Site& site = sites_[place.plan.patch_address];
    // What another event is running there stays what it is: the same function.
    if (!site.patched) {
      site.site.ip = place.plan.entry;
      site.plan = place.plan;
      site.label = place.label;
    }
    site.events.push_back(live);
  }
}

void FunctionSites::leave(const LiveEvent* live, std::span<const FunctionPlace> places) {
  for (const FunctionPlace& place : places)
    std::erase(sites_[place.plan.patch_address].events, live);
}

Result<const SiteProgram*> FunctionSites::wanted_program(Site* site) {
  std::vector<const EventProgram*> list;
  for (const LiveEvent* event : site->events)
    list.insert(list.end(), event->programs.begin(), event->programs.end());
  if (list.empty()) return nullptr;
  for (const ProgramPtr& known : site->programs)
    if (same_events(*known, list)) return known.get();
  const size_t size = sizeof(SiteProgram) + list.size() * sizeof(EventProgram*);
  ProgramPtr made(static_cast<SiteProgram*>(std::calloc(1, size)));
  if (!made) return sys_error("make a program for " + site->label, ENOMEM);
  made->nr_events = uint32_t(list.size());
  std::copy(list.begin(), list.end(), made->event);
  site->programs.push_back(std::move(made));
  return site->programs.back().get();
}

ProbeCode FunctionSites::code_for(const Site& site, const SiteProgram* program) const {
  ProbeCode code{&site.site, nullptr, false, site.plan.flags_live};
  if (!program) return code;
  for (uint32_t i = 0; i < program->nr_events; i++)
    code.uses_xmm |= program->event[i]->fetch->uses_xmm != 0;
  if (program->nr_events != 1 || code.flags_live) return code;
  const EventProgram* event = program->event[0];
  if (has_register_filter(*event)) code.filtered = event;
  if (has_fast_path(*event)) code.fast = event;
  return code;
}

Result<std::vector<FunctionSites::Step>> FunctionSites::plan_steps(
    std::span<const FunctionPlace* const> places) {
  std::vector<Step> steps;
  std::unordered_set<Site*> seen;
  for (const FunctionPlace* place : places) {
    Site* site = &sites_[place->plan.patch_address];
    if (!seen.insert(site).second) continue;
    auto program = wanted_program(site);
    if (!program.ok()) return program.error();
    if (*program == site->program) continue;
    steps.push_back(
        {site, site->program, *program, site->code, code_for(*site, *program), site->patched});
  }
  return steps;
}

void FunctionSites::publish(Site* site, const SiteProgram* program) {
  site->program = program;
  __atomic_store_n(&site->site.program, program, __ATOMIC_RELEASE);  // pairs with probe_hit
}

// One transaction for all steps whose code changes, forwards or back.
Status FunctionSites::patch(std::span<const Step> steps, bool back, bool single_threaded) {
  std::vector<SiteChange> changes;
  std::vector<const Site*> changed;
  for (const Step& step : steps) {
    const bool will_be = back ? step.was_patched : step.new_program != nullptr;
    const bool was = back ? step.new_program != nullptr : step.was_patched;
    if (!will_be && !was) continue;
    if (will_be && was && same_code(step.old_code, step.new_code)) continue;
    const ProbeCode& code = back ? step.old_code : step.new_code;
    StubPrologue prologue;
    if (will_be)
      prologue = [code](uint8_t* out, size_t capacity, uint64_t address) {
        return emit_probe(code, out, capacity, address);
      };
    changes.push_back({step.site->plan, std::move(prologue)});
    changed.push_back(step.site);
  }
  if (changes.empty()) return {};
  auto report = patcher_.apply(changes, single_threaded);
  if (!report.ok()) return report.error();
  if (report->refusals.empty()) return {};
  const auto& [index, reason] = report->refusals.front();
  return user_error(EIO, "could not patch " + changed[index]->label + ": " + reason);
}

Status FunctionSites::update(std::span<const FunctionPlace* const> places, bool single_threaded) {
  auto steps = plan_steps(places);
  if (!steps.ok()) return steps.error();
  for (const Step& step : *steps)
    if (step.new_program) publish(step.site, step.new_program);
  if (Status status = patch(*steps, false, single_threaded); !status.ok()) {
    for (const Step& step : *steps)
      if (step.old_program) publish(step.site, step.old_program);
    // What cannot be put back (its library is gone) records nothing any more; the rest goes on.
    [[maybe_unused]] Status ignored = patch(*steps, true, single_threaded);
    for (const Step& step : *steps)
      if (!step.old_program) publish(step.site, nullptr);
    return status;
  }
  for (const Step& step : *steps) {
    if (!step.new_program) publish(step.site, nullptr);
    step.site->patched = step.new_program != nullptr;
    step.site->code = step.new_code;
  }
  return {};
}

std::string FunctionSites::show() const {
  std::string text;
  for (const auto& [address, site] : sites_) {
    if (!site.program) continue;
    text += hex_number(address) + " " + site_kind_name(site.plan.kind) + " " + site.label;
    for (const LiveEvent* event : site.events)
      if (!event->programs.empty()) text += " " + event->call.name;
    if (!site.plan.reason.empty()) text += " (" + site.plan.reason + ")";
    text += '\n';
  }
  return text;
}

}  // namespace patchbay
