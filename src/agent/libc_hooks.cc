// SPDX-License-Identifier: MIT
#include "agent/libc_hooks.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "agent/libc_entries.h"
#include "agent/next_function.h"
#include "agent/stand_ins.h"
#include "arch/x86_64/decoder.h"
#include "probe/returns/return_callers.h"

namespace patchbay {
namespace {

Module* module_at(SymbolTable& symbols, uint64_t address) {
  for (Module* module : symbols.modules())
    if (module->start() <= address && address < module->end()) return module;
  return nullptr;
}

// Of the dynamic symbol; 0: not known.
uint32_t size_of_function(uint64_t address) {
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  if (!::dladdr1(reinterpret_cast<void*>(address), &info,
                 reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT) ||
      !symbol)
    return 0;
  return uint32_t(symbol->st_size);
}

FunctionSymbol symbol_of(const char* name, uint64_t address) {
  FunctionSymbol function;
  function.address = address;
  function.size = size_of_function(address);
  function.name = name;
  return function;
}

Result<EntryHook> make_hook(Agent* agent, const NamedStandIn& one) {
  Module* module = module_at(*agent->symbols, one.at.real);
  if (!module) return user_error(ESRCH, "its library is not known");
  return agent->patcher->make_hook(*module, symbol_of(one.name, one.at.real), one.at.stand_in);
}

// Those that change or tell a mask or a disposition. None of them waits.
constexpr std::string_view kAskers[] = {"pthread_sigmask", "sigaction", "sigprocmask"};

// The function that this one ends in by a jump (sigaction: libc's own part of it); 0: none.
uint64_t jumps_on_to(Module& module, uint64_t start, uint64_t size) {
  const std::string_view code = module.original_code(start, size);
  Insn insn;
  for (size_t at = 0; at < code.size(); at += insn.length) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data() + at);
    if (!decode_insn(bytes, code.size() - at, start + at, &insn)) return 0;
    if (insn.kind == InsnKind::kJump && insn.target - start >= size) return insn.target;
  }
  return 0;
}

void add_askers(Agent* agent, const NamedStandIn& one, std::vector<abi::AttachRange>* ranges) {
  if (std::find(std::begin(kAskers), std::end(kAskers), one.name) == std::end(kAskers)) return;
  Module* module = module_at(*agent->symbols, one.at.real);
  const uint64_t size = size_of_function(one.at.real);
  if (!module || !size) return;
  ranges->push_back({one.at.real, one.at.real + size});
  SymbolizedAddress behind;
  const uint64_t next = jumps_on_to(*module, one.at.real, size);
  if (next && agent->symbols->symbolize(next, &behind))
    ranges->push_back({behind.start, behind.start + behind.size});
}

}  // namespace

void write_libc_entries(Agent* agent) {
  agent->symbols->refresh();
  for (const LibcEntry& one : libc_entries()) {
    Module* const module = module_at(*agent->symbols, one.at.real);
    if (!module) continue;
    const FunctionSymbol function = symbol_of(one.name, one.at.real);
    if (agent->patcher->write_hook(*module, function, one.at.stand_in).ok()) note_replaced(one);
  }
}

Result<const LibcHooks*> libc_hooks(Agent* agent) {
  static auto* const hooks = new LibcHooks;
  if (!hooks->entries.empty()) return hooks;
  agent->symbols->refresh();
  LibcHooks made;
  std::vector<StandIn> stand_ins;
  std::vector<NamedStandIn> wanted = stand_ins_to_hook();
  if (wanted.empty()) return user_error(ENOTSUP, "the functions of libc are not found");
  for (const NamedStandIn& one : entries_to_hook()) wanted.push_back(one);
  for (const NamedStandIn& one : wanted) {
    Result<EntryHook> hook = make_hook(agent, one);
    if (!hook.ok() && !one.is_needed) {
      if (std::string_view(one.name) == "syscall") drop_own_rseq();
      continue;
    }
    if (!hook.ok())
      return user_error(ENOTSUP, std::string(one.name) +
                                     "() of libc cannot be hooked: " + hook.error().message());
    set_next_function(one.name, hook->original);
    if (std::string_view(one.name) == "_dl_find_object")
      pb_find_object = reinterpret_cast<void*>(hook->original);
    else
      stand_ins.push_back(one.at);
    made.entries.push_back(*hook);
    add_askers(agent, one, &made.signal_askers);
  }
  find_next_functions();
  agent->patcher->set_stand_ins(std::move(stand_ins));
  *hooks = std::move(made);
  return hooks;
}

}  // namespace patchbay
