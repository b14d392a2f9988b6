// SPDX-License-Identifier: MIT
//
// The two tables: the running process, whose modules the dynamic linker lists, and a recorded list.
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <unordered_map>

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
  const FunctionSymbol* function = module ? module->function_around(address) : nullptr;
  if (!function) return false;
  out->name = shown_name(*module, *function);
  out->start = function->address;
  out->offset = address - function->address;
  out->size = function->size;
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
  names_ = {};
  for (const auto& module : modules_) module->drop_caches();
}

// --- the running process

struct LoadedObject {
  std::string name;
  uint64_t bias = 0;
  std::vector<Elf64_Phdr> segments;
  std::string build_id;
};

struct LoadedObjects {
  std::vector<LoadedObject> objects;
  unsigned long long generation = 0;  // changes with each object that comes or goes
  unsigned long long known_generation = 0;
};

// Under the dynamic linker's lock, which keeps the object loaded: copies what needs that.
int note_object(dl_phdr_info* info, size_t, void* data) {
  auto* loaded = static_cast<LoadedObjects*>(data);
  loaded->generation = info->dlpi_adds + info->dlpi_subs;
  if (loaded->generation == loaded->known_generation) return 1;
  LoadedObject object;
  object.name = info->dlpi_name ? info->dlpi_name : "";
  object.bias = info->dlpi_addr;
  object.segments.assign(info->dlpi_phdr, info->dlpi_phdr + info->dlpi_phnum);
  object.build_id = ElfImage::from_memory(object.segments, object.bias).build_id();
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
    std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(maps.size(), line.size() + 1));
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

class SelfSymbolTable final : public ModuleTable {
 public:
  SelfSymbolTable() { refresh(); }
  bool refresh() override;

 private:
  std::shared_ptr<ElfModule> module_for(const LoadedObject& object, bool is_executable,
                                        const std::vector<MappedFile>& files) const;
  std::shared_ptr<ElfModule> known(const ModuleIdentity& identity) const;

  unsigned long long generation_ = 0;
  ModuleList ever_loaded_;  // modules stay valid after they were unloaded, and come back
};

std::shared_ptr<ElfModule> SelfSymbolTable::known(const ModuleIdentity& identity) const {
  for (const auto& module : ever_loaded_) {
    const ModuleIdentity& other = module->identity();
    if (other.start == identity.start && other.end == identity.end && other.path == identity.path &&
        other.build_id == identity.build_id) {
      return module;
    }
  }
  return nullptr;
}

std::shared_ptr<ElfModule> SelfSymbolTable::module_for(const LoadedObject& object,
                                                       bool is_executable,
                                                       const std::vector<MappedFile>& files) const {
  ModuleIdentity identity;
  identity.in_this_process = true;
  identity.is_executable = is_executable;
  identity.bias = object.bias;
  identity.start = UINT64_MAX;
  for (const Elf64_Phdr& segment : object.segments) {
    if (segment.p_type != PT_LOAD) continue;
    uint64_t start = object.bias + segment.p_vaddr;
    identity.start = std::min(identity.start, start & ~(kPage - 1));
    identity.end = std::max(identity.end, (start + segment.p_memsz + kPage - 1) & ~(kPage - 1));
  }
  if (identity.start >= identity.end) return nullptr;
  const uint64_t own = reinterpret_cast<uint64_t>(&call_ifunc_resolver);
  identity.is_tracer = !is_executable && own >= identity.start && own < identity.end;
  identity.path = object.name;
  for (const MappedFile& file : files) {
    if (identity.start >= file.start && identity.start < file.end) identity.path = file.path;
  }
  identity.segments = object.segments;
  identity.build_id = object.build_id;
  if (std::shared_ptr<ElfModule> module = known(identity)) return module;
  return std::make_shared<ElfModule>(std::move(identity));
}

bool SelfSymbolTable::refresh() {
  LoadedObjects loaded;
  loaded.known_generation = generation_;
  dl_iterate_phdr(note_object, &loaded);
  if (loaded.generation == generation_) return false;
  generation_ = loaded.generation;
  Result<std::string> maps = read_file("/proc/self/maps");
  std::vector<MappedFile> files = mapped_files(maps.ok() ? *maps : std::string_view());
  ModuleList modules;
  for (size_t i = 0; i < loaded.objects.size(); ++i) {
    std::shared_ptr<ElfModule> module = module_for(loaded.objects[i], i == 0, files);
    if (!module) continue;
    modules.push_back(module);
    if (std::find(ever_loaded_.begin(), ever_loaded_.end(), module) == ever_loaded_.end()) {
      ever_loaded_.push_back(module);
    }
  }
  bool changed = modules != list();
  if (changed) set_modules(std::move(modules));
  return changed;
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
