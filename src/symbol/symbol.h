// SPDX-License-Identifier: MIT
//
// Functions by name and names by address, for the process itself (agent) and for a recorded list of
// modules (tool). A module is one loaded ELF object. Everything here runs outside the probe path;
// it allocates. Not thread-safe: the control thread owns it. The C++ demangler recurses: the thread
// needs a stack of 1 MiB.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

enum class SymbolSource : uint8_t { kSymtab, kDynsym, kDebugFile, kEhFrame };

struct FunctionSymbol {
  uint64_t address = 0;  // run-time address of the entry (bias applied)
  uint32_t size = 0;     // bytes; from the symbol, else from .eh_frame, else up to the next symbol
  SymbolSource source = SymbolSource::kDynsym;
  bool is_ifunc = false;        // address is the resolver's
  bool is_global = false;       // visible to other objects
  bool is_old_version = false;  // NAME@VERSION, beside a default NAME@@VERSION
  bool has_default = false;     // an old version, of what the object has a default one of
  // name.cold, or a nameless part that only the unwind table shows: no call ever enters there.
  bool is_cold_part = false;
  std::string_view name;  // mangled, without @VERSION; empty for kEhFrame (shown as file@0xOFFSET)
};

struct SdtNote;      // symbol/sdt_notes.h
struct UnwindTable;  // symbol/unwind_table.h

class Module {
 public:
  virtual ~Module() = default;
  virtual const std::string& path() const = 0;  // as in /proc/PID/maps
  // The file's base name: what `library:` in a function's name is matched with (or the soname).
  virtual const std::string& name() const = 0;
  virtual const std::string& build_id() const = 0;  // hex, empty when there is none
  virtual uint64_t start() const = 0;
  virtual uint64_t end() const = 0;
  virtual uint64_t bias() const = 0;
  // Sorted by address, aliases adjacent with the best name first; loaded at the first call. PLT
  // stubs, signal return trampolines and undefined symbols are not in it. Names stay valid as long
  // as the module; the vector until SymbolTable::drop_caches().
  virtual const std::vector<FunctionSymbol>& functions() = 0;
  // Code bytes as in the file (not as patched now); empty when the range is not executable text.
  // When the file is gone or was replaced: the bytes that were in memory at the first question
  // (running process), or nothing.
  virtual std::string_view original_code(uint64_t address, size_t size) = 0;
  // Bytes of its file from an address on to the end of what is loaded there, code or data; pointers
  // are not relocated. Empty where there is nothing.
  virtual std::string_view file_bytes(uint64_t) { return {}; }
  // Each address of code that its data holds, and where (symbol/stored_addresses.h), as run-time
  // addresses.
  virtual void stored_addresses(const std::function<void(uint64_t place, uint64_t value)>&) {}
  // Its USDT probes, with run-time addresses; the texts stay valid as long as the module.
  virtual std::vector<SdtNote> sdt_notes();
  // Of one of functions() that has_default: "GLIBC_2.2.5".
  virtual std::string_view version_of(const FunctionSymbol&) const { return {}; }
  // Run-time address of a data or function symbol; 0 when it is not defined here.
  virtual uint64_t find_symbol(std::string_view) { return 0; }
  // Where the unwinder may go on in the middle of its functions: run-time addresses, sorted. False:
  // its tables are missing or cannot be read, it may go on anywhere.
  virtual bool landing_pads(std::vector<uint64_t>*) { return false; }
  // How to come from its functions to their callers; empty when it does not say.
  virtual UnwindTable unwind_table();
  // Code that walks its own stack by the return addresses it has put there, [first, second): all
  // of what the compilers of OCaml and Go make, and V8's builtins.
  virtual std::vector<std::pair<uint64_t, uint64_t>> walked_code() { return {}; }
  // The function of another object that is called through the stub, or jumped to through the word,
  // at this address, mostly with something behind an '@'; empty: there is none.
  virtual std::string_view imported_at(uint64_t) { return {}; }
  // Made by Go's compiler, as its .gopclntab says.
  virtual bool is_go() { return false; }
  // Executable ranges [first, second) of run-time addresses.
  virtual const std::vector<std::pair<uint64_t, uint64_t>>& text_ranges() const = 0;
};

struct ResolvedFunction {
  Module* module = nullptr;
  FunctionSymbol symbol;     // for an IFUNC: address of the implementation that was chosen
  std::string display_name;  // demangled without parameters for C++, else the symbol's name, or
                             // file@0xOFFSET
};

struct SymbolizedAddress {
  std::string name;     // demangled without parameters; never contains a blank
  uint64_t start = 0;   // of the function or variable
  uint64_t offset = 0;  // address - start
  uint32_t size = 0;
  bool is_variable = false;
  const Module* module = nullptr;
};

class SymbolTable {
 public:
  virtual ~SymbolTable() = default;
  // Reads the list of loaded modules again. Returns true when it has changed. A Module that was
  // unloaded leaves modules(), but its object stays valid as long as the table. It is the same
  // object when the same file comes back to the same address. Where it may have gone and come
  // between two calls, another object takes its place: the two are never mistaken for each other.
  virtual bool refresh() = 0;
  // Grows whenever a name that was not found may be found now: modules() has changed, or new
  // modules have been relocated.
  virtual uint64_t changes() { return 0; }
  // Modules that come between begin_loading() and its end are mapped, but not yet relocated. None
  // of their code may be called (IFUNC resolvers). Modules with relocations in their text are left
  // out until the end: the next begin_loading(), or loading_is_over().
  virtual void begin_loading() {}
  virtual void end_loading() {}
  virtual void loading_is_over() {}
  // Called by refresh() for each module whose memory is gone, or is another's.
  virtual void set_unload_hook(std::function<void(const Module&)>) {}
  virtual std::vector<Module*> modules() = 0;
  // NAME, LIBRARY:NAME, file@0xOFFSET, NAME@VERSION, a mangled name, ns::Class::method (all
  // overloads), or that with a full parameter list, also as lists show it. NAME prefers the
  // executable, then libraries in load order, as the dynamic linker does: the first module that has
  // it counts. A global function of C++ in the executable, or in another library than libc, comes
  // before libc's of that name. The tracer's library is passed over, because it holds a C++ runtime
  // and functions in front of libc's. Of several versions of a symbol NAME is the default one.
  // LIBRARY is a soname prefix (libsqlite3, libc).
  // EINVAL with near matches in the sentence when nothing matches.
  virtual Result<std::vector<ResolvedFunction>> resolve(std::string_view spec) = 0;
  // False when no module holds the address, or no function and no variable contains it.
  virtual bool symbolize(uint64_t address, SymbolizedAddress* out) = 0;
  // Address of a data or function symbol, for `=$SYMBOL`; 0 when unknown.
  virtual uint64_t address_of(std::string_view symbol) = 0;
  // Frees everything that can be made again: functions(), name indexes, demangled names, resident
  // file pages.
  virtual void drop_caches() = 0;
};

// The running process, through dl_iterate_phdr.
std::unique_ptr<SymbolTable> make_self_symbol_table();

struct RecordedModule {
  uint64_t start, end, bias;
  std::string build_id, path;
};
// Modules of a recorded process: files are opened by path and used only when the build-id agrees.
std::unique_ptr<SymbolTable> make_recorded_symbol_table(std::vector<RecordedModule> modules);

// `ns::f(int, char)` -> with_parameters; false: `ns::f`. Returns the input when it is not mangled.
std::string demangle(std::string_view mangled, bool with_parameters);
// What std::type_info::name() says, as the source writes the type; `name` when it is none.
std::string demangle_type(std::string_view name);
// A name as symbolize() gives it: ", " becomes ",", any other blank "_".
std::string without_blanks(std::string_view name);
// How a function is shown: its demangled name without parameters, NAME@VERSION of an old version,
// or file@0xOFFSET.
std::string display_name(const Module& module, const FunctionSymbol& function);
// Up to `limit` candidates nearest to `wrong`, best first (edit distance; also prefix and
// substring).
std::vector<std::string> near_matches(std::string_view wrong,
                                      const std::vector<std::string_view>& candidates,
                                      size_t limit = 3);

}  // namespace patchbay
