// SPDX-License-Identifier: MIT
//
// A name is tried in steps, each in all modules in load order before the next one:
//
//   0. one identifier: the program's own function, of C or C++; then those that libraries offer
//   1. exactly this symbol (C, or mangled)              the tables as they lie in the files
//   2. its clones: name.isra.0, name.constprop.1, ...   the same
//   3. C++: the demangled name, in classes from the exact overload to a mere last component
//
// Step 0 is there because libc has hundreds of short names (send, index, step), which programs have
// in C++ as well. Step 3 demangles only names that contain every identifier of what was asked for,
// which is a search in a few megabytes and some hundred demanglings, instead of some ten thousand.
#include "symbol/resolve.h"

#include <link.h>

#include <algorithm>

#include "base/text.h"
#include "symbol/demangled_name.h"
#include "symbol/structors.h"

namespace patchbay {
namespace {

constexpr size_t kMaxDemangledForHints = 20000;
constexpr std::string_view kAnonymous = "(anonymous namespace)::";

// libc, its dynamic linker, and the parts that older ones have beside it.
bool is_c_library(std::string_view file) {
  constexpr std::string_view kFiles[] = {"libc.so", "libc-2.", "libpthread", "ld-linux", "libm.so"};
  return std::any_of(std::begin(kFiles), std::end(kFiles),
                     [&](std::string_view name) { return file.starts_with(name); });
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// How well a C++ function answers the question; less is better.
enum class Answer {
  kExact,       // this name (and this overload, when one was asked for)
  kExactClone,  // the same, but a clone like .isra.0
  kTemplate,    // an instantiation, asked for without template arguments
  kSuffix,      // asked for without its first namespaces
  kSuffixClone,
  kOtherParameters,  // the name, but not the parameter list asked for: only for the error's
                     // sentence
  kNo,
};

// What a shown name has behind the one of C++, as its symbol has it: ".llvm.12", ".avx2.0".
std::string_view shown_suffix(std::string_view asked) {
  const size_t last = asked.find_last_of(":)>}]\"");
  const size_t dot = asked.find('.', last == asked.npos ? 0 : last);
  return asked.substr(dot == 0 ? asked.size() : std::min(dot, asked.size()));
}

class CxxQuestion {
 public:
  explicit CxxQuestion(std::string_view asked);
  bool may_be(std::string_view symbol) const;
  Answer compare(std::string_view symbol) const;

 private:
  Answer compare_name(std::string_view name) const;

  // With the clone's suffix apart, as the demangler has it: shop::hidden.llvm.12
  std::string prefix_, name_, parameters_, trailing_, suffix_;
  std::string listed_;          // as lists show it, without blanks
  bool has_arguments_ = false;  // template arguments or ABI tags
  std::vector<std::string> needles_;
};

CxxQuestion::CxxQuestion(std::string_view asked) {
  suffix_ = shown_suffix(asked);
  asked.remove_suffix(suffix_.size());
  DemangledName parts = split_demangled(asked);
  prefix_ = without_blanks(parts.prefix);
  listed_ = without_blanks(parts.name.empty() ? asked : parts.name);
  name_ = squeeze(parts.name.empty() ? asked : parts.name);
  if (name_.starts_with("::")) name_.erase(0, 2);
  parameters_ = canonical_parameters(parts.parameters);
  trailing_ = squeeze(parts.trailing);
  has_arguments_ = without_template_arguments(name_) != name_;
  needles_ = mangled_needles(name_);
}

bool CxxQuestion::may_be(std::string_view symbol) const {
  if (!symbol.starts_with("_Z")) return false;
  return std::all_of(needles_.begin(), needles_.end(), [&](const std::string& needle) {
    return ::memmem(symbol.data(), symbol.size(), needle.data(), needle.size()) != nullptr;
  });
}

Answer CxxQuestion::compare_name(std::string_view name) const {
  std::string whole = squeeze(name);
  std::string bare = has_arguments_ ? whole : squeeze(without_template_arguments(name));
  if (whole == name_ || without_blanks(name) == listed_) return Answer::kExact;
  if (bare == name_) return Answer::kTemplate;
  return whole.ends_with("::" + name_) || bare.ends_with("::" + name_) ? Answer::kSuffix
                                                                       : Answer::kNo;
}

Answer CxxQuestion::compare(std::string_view symbol) const {
  std::string text = demangle(symbol, true);
  DemangledName parts = split_demangled(text);
  if (without_blanks(parts.prefix) != prefix_) return Answer::kNo;  // thunks are asked for as such
  if (!suffix_.empty() && clone_suffix(symbol) != suffix_) return Answer::kNo;
  const std::string shown = demangle(symbol.substr(0, symbol.find('.')), false);
  Answer answer = compare_name(std::string_view(shown).substr(parts.prefix.size()));
  if (answer == Answer::kNo) return answer;
  if (!parameters_.empty() && canonical_parameters(parts.parameters) != parameters_) {
    return Answer::kOtherParameters;
  }
  std::string_view trailing = parts.trailing.substr(0, parts.trailing.find(" [clone"));
  if (!trailing_.empty() && squeeze(trailing) != trailing_) return Answer::kOtherParameters;
  if (clone_suffix(symbol) == suffix_) return answer;
  if (answer == Answer::kExact) return Answer::kExactClone;
  return answer == Answer::kSuffix ? Answer::kSuffixClone : answer;
}

class Resolver {
 public:
  Resolver(const ModuleList& modules, std::string_view spec) : all_(modules), spec_(spec) {}
  Result<std::vector<ResolvedFunction>> resolve();

 private:
  Result<std::vector<ResolvedFunction>> finish();
  bool select_modules();
  bool by_offset(Result<std::vector<ResolvedFunction>>* result);
  bool by_owner();
  bool add_of_program(ElfModule& program);
  bool add_global_cxx(ElfModule& module, bool only_global, bool clones);
  bool add_clones(ElfModule& module);
  bool by_symbol();
  bool by_clone();
  bool by_file();
  bool by_cxx_name();
  bool is_tracers_own(const ElfModule& module) const;
  bool is_passed_over(const ElfModule& module) const;
  void drop_old_versions();
  void drop_ways_to_structors();
  [[gnu::cold]] Status check_one_name() const;
  void add(ElfModule& module, const FunctionSymbol& function, std::string display);

  Error no_library() const;
  [[gnu::cold]] Error no_function();
  std::string other_use() const;
  std::string elsewhere() const;
  std::vector<std::string> hints();
  void add_c_names(std::vector<std::string_view>* names) const;
  std::vector<std::string> cxx_names() const;

  const ModuleList& all_;
  std::string_view spec_;
  std::string_view library_, name_;
  ModuleList chosen_;
  std::vector<ResolvedFunction> found_;
  bool only_suffix_ = false;
  bool takes_tracers_own_ = false;  // nobody else has the name
  std::vector<std::string> other_overloads_;
};

// The tracer carries a C++ runtime and an unwinder of its own, which nobody means by
// `operator new` or `_Unwind_RaiseException`; and functions that stand in for libc's, which are
// traced by libc's name (Patcher::set_stand_ins).
bool Resolver::is_tracers_own(const ElfModule& module) const {
  return module.identity().is_tracer && library_.empty();
}
bool Resolver::is_passed_over(const ElfModule& module) const {
  return is_tracers_own(module) && !takes_tracers_own_;
}

// As the dynamic linker does for a program that is linked today.
void Resolver::drop_old_versions() {
  auto is_old = [](const ResolvedFunction& f) { return f.symbol.is_old_version; };
  if (!std::all_of(found_.begin(), found_.end(), is_old)) std::erase_if(found_, is_old);
}

// One construction is one call.
void Resolver::drop_ways_to_structors() {
  if (found_.size() < 2) return;
  std::vector<StructorCode> functions;
  for (const ResolvedFunction& one : found_)
    functions.push_back({one.symbol.name, one.symbol.address,
                         one.module->original_code(one.symbol.address, one.symbol.size)});
  const auto stubs = [&] {
    std::vector<PltEntry> entries;
    for (const FunctionSymbol& stub : elf(found_[0].module)->plt_entries())
      entries.push_back({stub.address, stub.size, stub.name.substr(0, stub.name.find('@'))});
    return entries;
  };
  const std::vector<size_t> ways = ways_to_structors(functions, stubs);
  for (auto way = ways.rbegin(); way != ways.rend(); ++way)
    found_.erase(found_.begin() + long(*way));
}

void Resolver::add(ElfModule& module, const FunctionSymbol& function, std::string display) {
  if (function.is_cold_part || is_passed_over(module)) return;
  auto same = [&](const ResolvedFunction& other) {
    return other.symbol.address == function.address;
  };
  if (std::any_of(found_.begin(), found_.end(), same)) return;
  found_.push_back({&module, function, std::move(display)});
}

bool Resolver::select_modules() {
  for (const auto& module : all_) {
    if (library_.empty() || module->is_called(library_)) chosen_.push_back(module);
  }
  return !chosen_.empty();
}

// file@0xOFFSET; false when the name has another form.
bool Resolver::by_offset(Result<std::vector<ResolvedFunction>>* result) {
  size_t at = name_.rfind("@0x");
  if (at == name_.npos || at == 0) return false;
  std::string_view file = name_.substr(0, at), digits = name_.substr(at + 3);
  uint64_t offset = 0;
  if (!to_number(digits, &offset, 16)) return false;
  *result = no_function();
  for (const auto& module : chosen_) {
    if (module->name() != file && !module->is_called(file)) continue;
    uint64_t address = module->bias() + offset;
    const FunctionSymbol* function = module->function_at(address);
    if (function) {
      add(*module, *function, display_name(*module, *function));
      *result = finish();
      return true;
    }
    const FunctionSymbol* around = module->function_around(address);
    std::string sentence = "no function starts at " + std::string(name_);
    if (around) sentence += "; it lies in " + display_name(*module, *around);
    *result = user_error(EINVAL, sentence);
  }
  return true;
}

// Functions of C++ in no namespace, and in the nameless one: send(Host const&). Clones, where they
// are all that is left of one.
bool Resolver::add_global_cxx(ElfModule& module, bool only_global, bool clones) {
  const std::string named = std::to_string(name_.size()) + std::string(name_);
  for (const char* start : {"_Z", "_ZL", "_ZN12_GLOBAL__N_1"}) {
    module.for_each_name(
        [&](const TableSymbol& symbol) {
          const std::string_view name = symbol.table.name(symbol.symbol);
          if (is_cold_name(name) || clone_suffix(name).empty() == clones) return;
          std::string shown =
              without_template_arguments(demangle(name.substr(0, name.find('.')), false));
          if (shown.starts_with(kAnonymous)) shown.erase(0, kAnonymous.size());
          const FunctionSymbol function = module.complete(symbol);
          if (shown == name_ && (function.is_global || !only_global))
            add(module, function, demangle(name, false));
        },
        start + named);
  }
  return !found_.empty();
}

bool Resolver::add_of_program(ElfModule& program) {
  for (const FunctionSymbol& function : program.find_functions(name_))
    add(program, function, display_name(program, function));
  drop_old_versions();
  return !found_.empty() || add_global_cxx(program, false, false) || add_clones(program) ||
         add_global_cxx(program, false, true);
}

// What the program calls by this name, where it is one identifier. A library's function of C is the
// dynamic linker's choice.
bool Resolver::by_owner() {
  if (!std::all_of(name_.begin(), name_.end(), is_word_char)) return false;
  for (const auto& module : chosen_) {
    if (is_passed_over(*module)) continue;
    if (module->identity().is_executable && add_of_program(*module)) return true;
  }
  for (const auto& module : chosen_) {
    if (is_passed_over(*module) || module->identity().is_executable) continue;
    const bool is_c_librarys = is_c_library(module->name());
    if (!is_c_librarys && add_global_cxx(*module, true, false)) return true;
    for (const FunctionSymbol& function : module->find_functions(name_))
      if (function.is_global) return false;  // by_symbol() finds it
  }
  return false;
}

bool Resolver::by_symbol() {
  if (name_.find('@') != name_.npos) return false;  // by_file() knows versions
  for (const auto& module : chosen_) {
    for (const FunctionSymbol& function : module->find_functions(name_)) {
      add(*module, function, display_name(*module, function));
    }
    drop_old_versions();
    if (!found_.empty()) return true;
  }
  return false;
}

// f@file.c, as perf probe and gdb have it, for one of several static functions; f@VERSION; f@plt
// for the stub of an object's own calls.
bool Resolver::by_file() {
  const size_t at = name_.rfind('@');
  if (at == name_.npos || at == 0) return false;
  const std::string_view function = trim_back(name_.substr(0, at), "@"),
                         file = name_.substr(at + 1);
  for (const auto& module : chosen_) {
    if (is_passed_over(*module)) continue;
    if (file == "plt") {
      for (const FunctionSymbol& stub : module->plt_entries())
        if (stub.name == name_) add(*module, stub, std::string(stub.name));
    } else {
      for (const FunctionSymbol& one : module->find_functions_of_file(function, file))
        add(*module, one, display_name(*module, one));
      if (!found_.empty()) return true;
      for (const FunctionSymbol& one : module->find_functions_of_version(function, file))
        add(*module, one, display_name(*module, one));
    }
    if (!found_.empty()) return true;
  }
  return false;
}

// The optimiser replaced a function by specialised copies of it. Many names are looked at, so this
// reads the list of functions.
bool Resolver::add_clones(ElfModule& module) {
  const std::string start = std::string(name_) + ".";
  module.for_each_name(
      [&](const TableSymbol& symbol) {
        const FunctionSymbol function = module.complete(symbol);
        add(module, function, display_name(module, function));
      },
      start);
  return !found_.empty();
}

bool Resolver::by_clone() {
  return std::any_of(chosen_.begin(), chosen_.end(),
                     [&](const auto& module) { return add_clones(*module); });
}

bool Resolver::by_cxx_name() {
  CxxQuestion question(name_);
  Answer best = Answer::kOtherParameters;
  for (const auto& module : chosen_) {
    if (best == Answer::kExact) break;
    Answer best_before = best;
    module->for_each_name(
        [&](const TableSymbol& symbol) {
          std::string_view name = symbol.table.name(symbol.symbol);
          if (!question.may_be(name) || is_cold_name(name)) return;
          if (is_passed_over(*module)) return;
          Answer answer = question.compare(name);
          // Nobody means a function inside of the tracer by the end of its name.
          const bool is_suffix = answer == Answer::kSuffix || answer == Answer::kSuffixClone;
          if (takes_tracers_own_ && is_suffix) return;
          if (answer == Answer::kOtherParameters) other_overloads_.push_back(demangle(name, true));
          // A later module must answer better, not as well: the first module that has it wins.
          if (answer > best || (answer == best && best == best_before)) return;
          if (answer < best) found_.clear();
          best = answer;
          add(*module, module->complete(symbol), demangle(name, false));
        },
        "_Z");
  }
  only_suffix_ = best == Answer::kSuffix || best == Answer::kSuffixClone;
  return !found_.empty();
}

// A suffix is taken only for one function (with all its overloads), never for a choice of several.
Status Resolver::check_one_name() const {
  if (!only_suffix_) return Status();
  std::vector<std::string> names;
  for (const ResolvedFunction& function : found_) {
    std::string name = function.display_name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  auto bare = [](const std::string& name) { return without_template_arguments(name); };
  bool one = std::all_of(names.begin(), names.end(),
                         [&](const std::string& name) { return bare(name) == bare(names[0]); });
  if (one) return Status();
  std::string count = std::to_string(names.size());
  if (names.size() > 5) names.resize(5);
  return user_error(EINVAL, quoted(name_) + " can mean " + count +
                                " functions: " + join(names, ", ") +
                                (count != std::to_string(names.size()) ? ", ..." : "") +
                                "; write the whole name");
}

// An IFUNC stands for the implementation that its resolver chooses on this machine.
Result<std::vector<ResolvedFunction>> Resolver::finish() {
  PB_TRY(check_one_name());
  drop_ways_to_structors();
  std::vector<ResolvedFunction> result;
  for (ResolvedFunction& function : found_) {
    auto* module = static_cast<ElfModule*>(function.module);
    if (function.symbol.is_ifunc && module->identity().in_this_process) {
      if (!module->is_relocated())
        return user_error(EAGAIN, quoted(spec_) +
                                      " is chosen at run time (IFUNC), and its library "
                                      "is still being loaded");
      uint64_t address = call_ifunc_resolver(function.symbol.address);
      auto holds = [&](const auto& m) { return address >= m->start() && address < m->end(); };
      auto owner = std::find_if(all_.begin(), all_.end(), holds);
      const FunctionSymbol* chosen =
          owner == all_.end() ? nullptr : (*owner)->function_around(address);
      if (!chosen || chosen->address != address) {
        bool in_vdso = owner != all_.end() && (*owner)->is_vdso();
        if (found_.size() > 1) continue;
        return user_error(
            EINVAL, quoted(spec_) + " is chosen at run time (IFUNC), and its implementation " +
                        (in_vdso ? "lies in the kernel's vdso, which cannot be traced; "
                                   "an object's own calls are " +
                                       std::string(name_) + "@plt"
                                 : "lies in no function that is known"));
      }
      function.module = owner->get();
      function.symbol = *chosen;
    }
    auto same = [&](const auto& other) { return other.symbol.address == function.symbol.address; };
    if (std::none_of(result.begin(), result.end(), same)) result.push_back(std::move(function));
  }
  return result;
}

// --- what to say when there is nothing

Error Resolver::no_library() const {
  std::vector<std::string> names;
  std::vector<std::string_view> candidates;
  for (const auto& module : all_) {
    if (!module->is_vdso()) names.push_back(module->name());
  }
  for (const std::string& name : names)
    candidates.push_back(std::string_view(name).substr(0, name.find(".so")));
  std::vector<std::string> near = near_matches(library_, candidates, 1);
  return user_error(EINVAL, "no library " + quoted(library_) + " in this program" +
                                (near.empty() ? "" : ", did you mean " + near[0] + "?") +
                                "; loaded are " + join(names, ", "));
}

// The name is known, but not as a function.
std::string Resolver::other_use() const {
  std::string import;
  for (const auto& module : chosen_) {
    OtherUse use = module->find_other_use(name_);
    if (use == OtherUse::kData) {
      return quoted(name_) + " in " + module->name() + " is not a function but data";
    }
    // A part of another function, or what signal handlers return to (__restore_rt).
    if (use == OtherUse::kCode)
      return quoted(name_) + " in " + module->name() + " is code that nobody calls, not a function";
    if (use == OtherUse::kImport && import.empty()) import = module->name();
  }
  if (import.empty()) return "";
  std::string place = elsewhere();
  std::string sentence = quoted(name_) + " is only imported by " + import;
  return sentence + (place.empty() ? ", and no loaded library defines it" : "; " + place);
}

// With the wrong library in front.
std::string Resolver::elsewhere() const {
  if (library_.empty()) return "";
  for (const auto& module : all_) {
    if (!module->find_functions(name_).empty()) return module->name() + " has it";
  }
  return "";
}

void Resolver::add_c_names(std::vector<std::string_view>* names) const {
  for (const auto& module : chosen_) {
    if (is_tracers_own(*module)) continue;
    module->for_each_name(
        [&](const TableSymbol& symbol) {
          std::string_view name = symbol.table.name(symbol.symbol);
          if (!name.starts_with("_Z") && name.find('.') == name.npos) names->push_back(name);
        },
        "");
  }
}

// Names that share an identifier with what was asked for, or all, as long as they are not too many.
std::vector<std::string> Resolver::cxx_names() const {
  std::vector<std::string> names;
  std::vector<std::string> needles = mangled_needles(split_demangled(name_).name);
  auto shares = [&](std::string_view symbol) {
    return std::any_of(needles.begin(), needles.end(), [&](const std::string& needle) {
      return symbol.find(needle) != symbol.npos;
    });
  };
  for (const auto& module : chosen_) {
    if (is_tracers_own(*module)) continue;
    module->for_each_name(
        [&](const TableSymbol& symbol) {
          std::string_view name = symbol.table.name(symbol.symbol);
          bool wanted = module == chosen_.front()
                            ? names.size() < kMaxDemangledForHints / 2 || shares(name)
                            : shares(name);
          if (wanted && names.size() < kMaxDemangledForHints)
            names.push_back(demangle(name, false));
        },
        "_Z");
  }
  return names;
}

std::vector<std::string> Resolver::hints() {
  std::vector<std::string_view> candidates;
  bool qualified = name_.find("::") != name_.npos;
  if (!qualified) add_c_names(&candidates);
  std::vector<std::string> near = near_matches(name_, candidates);
  if (!near.empty()) return near;
  std::vector<std::string> demangled = cxx_names();
  candidates.clear();
  for (const std::string& name : demangled) {
    size_t last = name.rfind("::");
    candidates.push_back(qualified || last == name.npos ? std::string_view(name)
                                                        : std::string_view(name).substr(last + 2));
  }
  return near_matches(split_demangled(name_).name, candidates);
}

Error Resolver::no_function() {
  std::string use = other_use();
  if (!use.empty()) return user_error(EINVAL, use);
  std::string sentence = "no function " + quoted(name_) + " in ";
  sentence += library_.empty() ? "this program or its libraries" : chosen_.front()->name();
  std::string place = elsewhere();
  if (!place.empty()) return user_error(ENOENT, sentence + "; " + place);
  if (!other_overloads_.empty()) {
    if (other_overloads_.size() > 5) other_overloads_.resize(5);
    return user_error(ENOENT, sentence + "; there is " + join(other_overloads_, ", "));
  }
  std::vector<std::string> near = hints();
  if (!near.empty()) sentence += "; did you mean " + join(near, ", ") + "?";
  for (const auto& module : chosen_)
    if (module->has_packed_names() && (!library_.empty() || module == chosen_.front()))
      sentence += (near.empty() ? "; " : " ") + module->name() +
                  " has names in .gnu_debugdata (MiniDebugInfo), which are not read";
  return user_error(ENOENT, sentence);
}

Result<std::vector<ResolvedFunction>> Resolver::resolve() {
  FunctionSpec spec = split_spec(spec_);
  library_ = spec.library;
  name_ = spec.name;
  if (name_.empty()) return user_error(EINVAL, "the name of a function is missing");
  if (!select_modules()) return no_library();
  Result<std::vector<ResolvedFunction>> result(std::vector<ResolvedFunction>{});
  if (by_offset(&result)) return result;
  for (bool tracers_own : {false, true}) {
    takes_tracers_own_ = tracers_own;
    other_overloads_.clear();
    if (by_owner() || by_symbol() || by_file() || by_clone() || by_cxx_name()) return finish();
  }
  return no_function();
}

}  // namespace

FunctionSpec split_spec(std::string_view spec) {
  spec = trim(spec);
  for (size_t i = 0; i < spec.size(); ++i) {
    if (spec[i] == '(' || spec[i] == '<' || spec[i] == ' ' || spec[i] == '[') break;
    if (spec[i] != ':') continue;
    if (i + 1 < spec.size() && spec[i + 1] == ':') {
      // Of three colons the first one separates a library from ::name.
      if (i == 0 || i + 2 >= spec.size() || spec[i + 2] != ':') {
        ++i;
        continue;
      }
    }
    return {trim(spec.substr(0, i)), trim(spec.substr(i + 1))};
  }
  return {{}, spec};
}

namespace {

struct IfuncCall {
  uint64_t resolver;
  uint64_t implementation;
};

int call_in_its_object(dl_phdr_info* info, size_t, void* data) {
  auto* call = static_cast<IfuncCall*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const Elf64_Phdr& segment = info->dlpi_phdr[i];
    uint64_t offset = call->resolver - info->dlpi_addr - segment.p_vaddr;
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) || offset >= segment.p_memsz)
      continue;
    auto resolver = reinterpret_cast<uint64_t (*)()>(call->resolver);
    call->implementation = resolver();
    return 1;
  }
  return 0;
}

}  // namespace

// Called under the dynamic linker's lock and only in an object that it lists, so that no other
// thread unloads the resolver meanwhile. On x86-64 a resolver takes no arguments, and asking it
// again, as dlsym() does each time, gives the same answer.
uint64_t call_ifunc_resolver(uint64_t resolver) {
  IfuncCall call{resolver, 0};
  dl_iterate_phdr(call_in_its_object, &call);
  return call.implementation;
}

Result<std::vector<ResolvedFunction>> resolve_functions(const ModuleList& modules,
                                                        std::string_view spec) {
  return Resolver(modules, spec).resolve();
}

}  // namespace patchbay
