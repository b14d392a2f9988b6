// SPDX-License-Identifier: MIT
//
// The two tables: the running process, whose modules the dynamic linker lists, and a recorded list.
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <unordered_map>

#include "base/file_stamp.h"
#include "base/loaded_objects.h"
#include "base/own_program.h"
#include "base/release.h"
#include "base/text.h"
#include "symbol/resolve.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr uint64_t kPage = 4096;
// Far more functions than a person reads about; a bound, because the process is not ours.
constexpr size_t kMaxCachedNames = 16384;

class ModuleTable : public SymbolTable {
 public:
  bool refresh() override { return false; }
  std::vector<Module*> modules() override;
  Result<std::vector<ResolvedFunction>> resolve(std::string_view spec) override;
  bool symbolize(uint64_t address, SymbolizedAddress* out) override;
  uint64_t address_of(std::string_view symbol) override;
  void drop_caches() override;

 protected:
  void set_modules(ModuleList modules);
  const ModuleList& list() const { return modules_; }

 private:
  ElfModule* module_of(uint64_t address) const;
  // Of an address that no module holds now.
  virtual ElfModule* module_that_was_at(uint64_t) const { return nullptr; }
  const std::string& shown_name(const ElfModule& module, const FunctionSymbol& function);

  ModuleList modules_;              // in load order
  std::vector<ElfModule*> sorted_;  // by address
  std::unordered_map<uint64_t, std::string> names_;
};

void ModuleTable::set_modules(ModuleList modules) {
  modules_ = std::move(modules);
  names_.clear();
  sorted_.clear();
  for (const auto& module : modules_) sorted_.push_back(module.get());
  std::sort(sorted_.begin(), sorted_.end(),
            [](const ElfModule* a, const ElfModule* b) { return a->start() < b->start(); });
}

std::vector<Module*> ModuleTable::modules() {
  std::vector<Module*> result;
  for (const auto& module : modules_) result.push_back(module.get());
  return result;
}

Result<std::vector<ResolvedFunction>> ModuleTable::resolve(std::string_view spec) {
  return resolve_functions(modules_, spec);
}

ElfModule* ModuleTable::module_of(uint64_t address) const {
  auto after = std::upper_bound(sorted_.begin(), sorted_.end(), address,
                                [](uint64_t a, const ElfModule* m) { return a < m->start(); });
  if (after == sorted_.begin()) return nullptr;
  ElfModule* module = *std::prev(after);
  return address < module->end() ? module : nullptr;
}

const std::string& ModuleTable::shown_name(const ElfModule& module,
                                           const FunctionSymbol& function) {
  if (names_.size() >= kMaxCachedNames) names_.clear();
  auto [entry, added] = names_.try_emplace(function.address);
  if (added) entry->second = without_blanks(display_name(module, function));
  return entry->second;
}

bool ModuleTable::symbolize(uint64_t address, SymbolizedAddress* out) {
  ElfModule* module = module_of(address);
  const bool is_gone = !module;
  if (is_gone) module = module_that_was_at(address);
  const FunctionSymbol* function = module ? module->plt_entry_around(address) : nullptr;
  if (!function && module) function = module->function_around(address);
  const bool is_variable = !function;
  // A recording has code of a library that is gone; what is at its variables now may be anything.
  if (!function && module && !is_gone) function = module->variable_around(address);
  if (!function) return false;
  out->name = shown_name(*module, *function);
  out->start = function->address;
  out->offset = address - function->address;
  out->size = function->size;
  out->is_variable = is_variable;
  out->module = module;
  return true;
}

uint64_t ModuleTable::address_of(std::string_view symbol) {
  FunctionSpec spec = split_spec(symbol);
  for (const auto& module : modules_) {
    if (!spec.library.empty() && !module->is_called(spec.library)) continue;
    if (uint64_t address = module->find_symbol(spec.name)) return address;
  }
  // An IFUNC or a C++ name.
  Result<std::vector<ResolvedFunction>> functions = resolve(symbol);
  return functions.ok() && !functions->empty() ? functions->front().symbol.address : 0;
}

void ModuleTable::drop_caches() {
  release(&names_);
  for (const auto& module : modules_) module->drop_caches();
}

// --- the running process

struct LoadedObject {
  std::string name;
  uint64_t bias = 0;
  const Elf64_Phdr* headers = nullptr;  // where they are in memory
  std::shared_ptr<ElfModule> module;    // null: it is new
  std::vector<Elf64_Phdr> segments;     // of a new one
  std::string build_id;
};

// One walk over the dynamic linker's list.
struct LoadedObjects {
  const std::vector<LoadedObject>& before;
  size_t next = 0;  // the list keeps its order: here the search begins
  bool is_same = false;
  bool is_loading = false;
  bool left_out = false;
  unsigned long long adds = 0, subs = 0;  // of objects that ever came and went
  unsigned long long known_adds = 0, known_subs = 0;
  std::vector<LoadedObject> objects = {};
};

const LoadedObject* find_before(LoadedObjects* loaded, const dl_phdr_info& info) {
  const char* name = info.dlpi_name ? info.dlpi_name : "";
  for (size_t i = loaded->next; i < loaded->before.size(); ++i) {
    const LoadedObject& object = loaded->before[i];
    if (object.bias != info.dlpi_addr || object.headers != info.dlpi_phdr || object.name != name)
      continue;
    loaded->next = i + 1;
    return &object;
  }
  return nullptr;
}

// Under the dynamic linker's lock, which keeps the object loaded: copies what needs that.
int note_object(const dl_phdr_info& info, LoadedObjects* loaded) {
  loaded->adds = info.dlpi_adds;
  loaded->subs = info.dlpi_subs;
  loaded->is_same = loaded->adds == loaded->known_adds && loaded->subs == loaded->known_subs;
  if (loaded->is_same) return 1;
  if (const LoadedObject* known = find_before(loaded, info)) {
    loaded->objects.push_back(*known);
    return 0;
  }
  LoadedObject object;
  object.name = info.dlpi_name ? info.dlpi_name : "";
  object.bias = info.dlpi_addr;
  object.headers = info.dlpi_phdr;
  object.segments.assign(info.dlpi_phdr, info.dlpi_phdr + info.dlpi_phnum);
  const ElfImage image = ElfImage::from_memory(object.segments, object.bias);
  // What is written into its text now would be taken for what the relocation has to add to.
  if (loaded->is_loading && image.has_text_relocations()) {
    loaded->left_out = true;
    return 0;
  }
  object.build_id = image.build_id();
  loaded->objects.push_back(std::move(object));
  return 0;
}

struct MappedFile {
  uint64_t start = 0, end = 0;
  std::string_view path;
};

// Lines of /proc/self/maps that have a name, " (deleted)" taken off.
std::vector<MappedFile> mapped_files(std::string_view maps) {
  std::vector<MappedFile> files;
  while (!maps.empty()) {
    std::string_view line = cut_at(&maps, '\n');
    MappedFile file;
    const char* end = line.data() + line.size();
    auto start = std::from_chars(line.data(), end, file.start, 16);
    if (start.ec != std::errc() || start.ptr == end) continue;
    std::from_chars(start.ptr + 1, end, file.end, 16);
    size_t name = line.find_first_of("/[");
    if (name == line.npos) continue;
    file.path = line.substr(name);
    constexpr std::string_view kDeleted = " (deleted)";
    if (file.path.ends_with(kDeleted)) file.path.remove_suffix(kDeleted.size());
    files.push_back(file);
  }
  return files;
}

// The dynamic linker counts what comes and what goes. An object that is where it was has been there
// all the time if as many objects are missing as have gone; otherwise any that can be unloaded may
// have gone and come back, and gets another Module.
class SelfSymbolTable final : public ModuleTable {
 public:
  SelfSymbolTable() { refresh(); }
  bool refresh() override;
  uint64_t changes() override { return changes_; }
  void begin_loading() override;
  void end_loading() override { loading_ = false; }
  void loading_is_over() override;
  void set_unload_hook(std::function<void(const Module&)> hook) override {
    unload_hook_ = std::move(hook);
  }

 private:
  struct Known {
    std::shared_ptr<ElfModule> module;
    FileStamp stamp;  // where there is no build-id
  };

  bool add_modules(LoadedObjects* loaded);
  ModuleIdentity identity_of(const LoadedObject& object, bool is_executable) const;
  std::shared_ptr<ElfModule> module_for(ModuleIdentity identity, std::vector<MappedFile>* files);
  std::shared_ptr<ElfModule> known(const ModuleIdentity& identity) const;
  void tell_unloaded(const ModuleList& modules) const;
  void note_gone(const ModuleList& modules);
  ElfModule* module_that_was_at(uint64_t address) const override;

  unsigned long long adds_ = 0, subs_ = 0;
  uint64_t changes_ = 1;
  bool is_first_ = true;
  bool loading_ = false;
  std::vector<LoadedObject> objects_;  // of the last refresh(), in load order
  std::vector<Known> ever_loaded_;     // modules stay valid after they were unloaded, and come back
  ModuleList unrelocated_;
  ModuleList gone_;   // in the order in which they went
  std::string maps_;  // that `files` of the running refresh() point into
  std::function<void(const Module&)> unload_hook_;
};

// Not one that stands in the list: where two look the same, the other one went.
std::shared_ptr<ElfModule> SelfSymbolTable::known(const ModuleIdentity& identity) const {
  for (const Known& one : ever_loaded_) {
    const ModuleIdentity& other = one.module->identity();
    if (other.bias != identity.bias || other.given_name != identity.given_name ||
        other.build_id != identity.build_id || other.segments.size() != identity.segments.size())
      continue;
    if (std::memcmp(other.segments.data(), identity.segments.data(),
                    identity.segments.size() * sizeof(Elf64_Phdr)) != 0)
      continue;
    if (identity.build_id.empty() && stamp_of(other.path) != one.stamp) continue;
    if (std::find(list().begin(), list().end(), one.module) == list().end()) return one.module;
  }
  return nullptr;
}

ModuleIdentity SelfSymbolTable::identity_of(const LoadedObject& object, bool is_executable) const {
  ModuleIdentity identity;
  identity.in_this_process = true;
  identity.is_executable = is_executable;
  identity.may_be_unloaded = !is_first_;
  identity.bias = object.bias;
  identity.start = UINT64_MAX;
  for (const Elf64_Phdr& segment : object.segments) {
    if (segment.p_type != PT_LOAD) continue;
    uint64_t start = object.bias + segment.p_vaddr;
    identity.start = std::min(identity.start, start & ~(kPage - 1));
    identity.end = std::max(identity.end, (start + segment.p_memsz + kPage - 1) & ~(kPage - 1));
  }
  const uint64_t own = reinterpret_cast<uint64_t>(&call_ifunc_resolver);
  identity.is_tracer = !is_executable && own >= identity.start && own < identity.end;
  identity.given_name = object.name;
  identity.segments = object.segments;
  identity.build_id = object.build_id;
  return identity;
}

// /proc/self/maps is read for an object that was never there before, once in a refresh().
std::shared_ptr<ElfModule> SelfSymbolTable::module_for(ModuleIdentity identity,
                                                       std::vector<MappedFile>* files) {
  if (std::shared_ptr<ElfModule> module = known(identity)) return module;
  if (maps_.empty()) {
    if (Result<std::string> maps = read_file("/proc/self/maps"); maps.ok()) maps_ = *maps;
    *files = mapped_files(maps_);
  }
  identity.path = identity.given_name;
  for (const MappedFile& file : *files) {
    if (identity.start >= file.start && identity.start < file.end) identity.path = file.path;
  }
  if (identity.path.empty() && identity.is_executable) identity.path = own_program();
  const FileStamp stamp = identity.build_id.empty() ? stamp_of(identity.path) : FileStamp{};
  ever_loaded_.push_back({std::make_shared<ElfModule>(std::move(identity)), stamp});
  return ever_loaded_.back().module;
}

// Gives each object its Module. False: it has none.
bool SelfSymbolTable::add_modules(LoadedObjects* loaded) {
  const size_t stayed = size_t(std::count_if(loaded->objects.begin(), loaded->objects.end(),
                                             [](const auto& o) { return o.module != nullptr; }));
  const bool some_came_back = loaded->subs - subs_ > objects_.size() - stayed;
  std::vector<MappedFile> files;
  bool changed = false;
  for (size_t i = 0; i < loaded->objects.size(); ++i) {
    LoadedObject& object = loaded->objects[i];
    ModuleIdentity identity;
    if (object.module) {
      if (!some_came_back || !object.module->identity().may_be_unloaded) continue;
      identity = object.module->identity();
    } else {
      identity = identity_of(object, i == 0);
    }
    if (identity.start >= identity.end) continue;
    object.module = module_for(std::move(identity), &files);
    object.module->set_relocated(!loading_);
    if (loading_) unrelocated_.push_back(object.module);
    object.segments = {};
    changed = true;
  }
  maps_ = {};
  return changed;
}

void SelfSymbolTable::tell_unloaded(const ModuleList& modules) const {
  if (!unload_hook_) return;
  for (const auto& old : list()) {
    auto covers = [&](const auto& now) {
      return now->start() == old->start() && now->end() == old->end();
    };
    // One that only may have gone has its own text there, as it was left or as it came.
    const bool may_be_there = std::any_of(modules.begin(), modules.end(), [&](const auto& now) {
      return covers(now) && now->identity().build_id == old->identity().build_id &&
             now->identity().given_name == old->identity().given_name;
    });
    if (!may_be_there) unload_hook_(*old);
  }
}

// Records and stacks may have addresses in them: those keep their names.
void SelfSymbolTable::note_gone(const ModuleList& modules) {
  const auto is_in = [](const ModuleList& list, const auto& module) {
    return std::find(list.begin(), list.end(), module) != list.end();
  };
  std::erase_if(gone_, [&](const auto& module) { return is_in(modules, module); });
  for (const auto& module : list())
    if (!is_in(modules, module)) gone_.push_back(module);
}

ElfModule* SelfSymbolTable::module_that_was_at(uint64_t address) const {
  for (auto module = gone_.rbegin(); module != gone_.rend(); ++module)
    if (address >= (*module)->start() && address < (*module)->end()) return module->get();
  return nullptr;
}

bool SelfSymbolTable::refresh() {
  LoadedObjects loaded{objects_};
  loaded.known_adds = adds_;
  loaded.known_subs = subs_;
  loaded.is_loading = loading_;
  for_each_object([&](const dl_phdr_info& info) { return note_object(info, &loaded); });
  if (loaded.is_same) return false;
  const bool any_changed = add_modules(&loaded) || loaded.objects.size() != objects_.size();
  adds_ = loaded.left_out ? 0 : loaded.adds;  // 0: looked at again the next time
  subs_ = loaded.subs;
  objects_ = std::move(loaded.objects);
  is_first_ = false;
  if (!any_changed) return false;
  ModuleList modules;
  for (const LoadedObject& object : objects_)
    if (object.module) modules.push_back(object.module);
  if (modules == list()) return false;
  tell_unloaded(modules);
  note_gone(modules);
  for (const auto& module : gone_) module->set_loaded(false);
  for (const auto& module : modules) module->set_loaded(true);
  set_modules(std::move(modules));
  changes_++;
  return true;
}

void SelfSymbolTable::begin_loading() {
  loading_is_over();
  loading_ = true;
}

void SelfSymbolTable::loading_is_over() {
  if (unrelocated_.empty()) return;
  for (const auto& module : unrelocated_) module->set_relocated(true);
  unrelocated_.clear();
  changes_++;
}

// --- a recorded process

class RecordedSymbolTable final : public ModuleTable {
 public:
  explicit RecordedSymbolTable(std::vector<RecordedModule> recorded) {
    ModuleList modules;
    for (RecordedModule& module : recorded) {
      ModuleIdentity identity;
      identity.path = std::move(module.path);
      identity.build_id = std::move(module.build_id);
      identity.start = module.start;
      identity.end = module.end;
      identity.bias = module.bias;
      modules.push_back(std::make_shared<ElfModule>(std::move(identity)));
    }
    set_modules(std::move(modules));
  }
};

}  // namespace

std::string display_name(const Module& module, const FunctionSymbol& function) {
  const std::string_view version = function.has_default ? module.version_of(function) : "";
  if (!version.empty()) return demangle(function.name, false) + "@" + std::string(version);
  if (!function.name.empty()) return demangle(function.name, false);
  char digits[17];
  auto end =
      std::to_chars(digits, digits + sizeof digits, function.address - module.bias(), 16).ptr;
  return module.name() + "@0x" + std::string(digits, end);
}

std::unique_ptr<SymbolTable> make_self_symbol_table() {
  return std::make_unique<SelfSymbolTable>();
}

std::unique_ptr<SymbolTable> make_recorded_symbol_table(std::vector<RecordedModule> modules) {
  return std::make_unique<RecordedSymbolTable>(std::move(modules));
}

}  // namespace patchbay
