// SPDX-License-Identifier: MIT
//
// Events that programs and libraries bring along (patchbay/trace_event.h). Each object of the
// process hands over the events and sites it consists of, and takes them back when it goes away; an
// event of one name may come from several objects.
//
//   constructor of an object -> patchbay_register_events()   -> register_events() -> Registry
//   echo 1 > enable          -> Registry -> update()         -> every site of the event: nop -> jmp
//   destructor (dlclose)     -> patchbay_unregister_events() -> all sites nops again, events gone
//
// Everything here is called with the registry's lock held, from whatever thread loads or unloads
// the object, which holds the dynamic linker's lock: nothing here asks the linker for more than the
// list of objects.
#pragma once

#include <patchbay/static_event_abi.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/static_event_code.h"
#include "patch/patcher.h"
#include "registry/registry.h"

namespace patchbay {

class StaticEvents : public EventSource {
 public:
  StaticEvents(Registry& registry, Patcher& patcher);
  ~StaticEvents() override;

  // What patchbay_register_events() answers: 0, -EINVAL, -EEXIST. Each event that could not be
  // added is named in the top instance's error_log. An object that is already known is left as it
  // is.
  int register_events(uint32_t abi, patchbay_event* events, uint64_t nr_events,
                      const patchbay_site* sites, uint64_t nr_sites);
  // When it returns no site of the object is patched, and its memory is not looked at any more. An
  // unknown object, and the program itself (which only ends), are left alone.
  void unregister_events(patchbay_event* events, uint64_t nr_events);

  Status update(std::span<LiveEvent* const> changed) override;

  // One line a site, for debug/: "ADDRESS key system:name on|off", or "refused: reason".
  std::string sites() const;
  uint64_t site_count() const;

 private:
  struct Definition;
  struct Object;
  struct Made;

  Result<Definition*> add_part(patchbay_event* event, Object* object);
  void drop_part(Object* object, Definition* definition);
  void add_sites(Object* object, const patchbay_site* sites, uint64_t nr_sites);
  const SiteProgram* make_program(const LiveEvent& live, std::span<const SiteEvent> list);
  const Made* program_for(Definition* definition);
  static uint64_t first_site(const Definition& definition);
  static void show(Definition* definition);
  static void show_part(patchbay_event* event, const Made* made);
  Status patch(std::span<Definition* const> changed, const Object* only);
  void note(const std::string& command, const std::string& reason);

  Registry& registry_;
  Patcher& patcher_;
  std::map<const LiveEvent*, std::unique_ptr<Definition>> definitions_;
  std::vector<std::unique_ptr<Object>> objects_;
  // Never freed: a thread may be on its way with one.
  std::vector<std::unique_ptr<char[]>> programs_;
  std::vector<FilterCode> codes_;  // of programs
};

}  // namespace patchbay
