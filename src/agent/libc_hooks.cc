// SPDX-License-Identifier: MIT
#include "agent/libc_hooks.h"

#include <dlfcn.h>
#include <link.h>

#include <cerrno>
#include <string>

#include "agent/next_function.h"
#include "agent/stand_ins.h"
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

Result<EntryHook> make_hook(Agent* agent, const NamedStandIn& one) {
  Module* module = module_at(*agent->symbols, one.at.real);
  if (!module) return user_error(ESRCH, "its library is not known");
  FunctionSymbol function;
  function.address = one.at.real;
  function.size = size_of_function(one.at.real);
  function.name = one.name;
  return agent->patcher->make_hook(*module, function, one.at.stand_in);
}

}  // namespace

Result<const std::vector<EntryHook>*> libc_hooks(Agent* agent) {
  static auto* const hooks = new std::vector<EntryHook>;
  if (!hooks->empty()) return hooks;
  agent->symbols->refresh();
  std::vector<EntryHook> made;
  std::vector<StandIn> stand_ins;
  const std::vector<NamedStandIn> wanted = stand_ins_to_hook();
  if (wanted.empty()) return user_error(ENOTSUP, "the functions of libc are not found");
  for (const NamedStandIn& one : wanted) {
    Result<EntryHook> hook = make_hook(agent, one);
    if (!hook.ok())
      return user_error(ENOTSUP, std::string(one.name) +
                                     "() of libc cannot be hooked: " + hook.error().message());
    set_next_function(one.name, hook->original);
    if (std::string_view(one.name) == "_dl_find_object")
      pb_find_object = reinterpret_cast<void*>(hook->original);
    else
      stand_ins.push_back(one.at);
    made.push_back(*hook);
  }
  find_next_functions();
  agent->patcher->set_stand_ins(std::move(stand_ins));
  *hooks = std::move(made);
  return hooks;
}

}  // namespace patchbay
