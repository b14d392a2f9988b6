// SPDX-License-Identifier: MIT
#include "uprobes/uprobe_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

#include "base/file_mapping.h"
#include "base/foreign_file.h"
#include "base/text.h"
#include "symbol/elf_image.h"
#include "symbol/go_program.h"

namespace patchbay {
namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kMaxCheck = 48;  // bytes of a stack check

// --- symbols of a 32-bit program

class Module32 final : public Module {
 public:
  Module32(const UprobeObject& object, std::span<const uint8_t> bytes)
      : module_(object.module), name_(base_name(module_.path)) {
    functions_ = ProgramFile::functions_32(bytes);
    for (const ProgramFile::Function& function : functions_) {
      FunctionSymbol symbol;
      symbol.address = function.address + module_.bias;
      symbol.size = uint32_t(function.size);
      symbol.is_global = function.is_global;
      symbol.source = SymbolSource::kSymtab;
      symbol.name = function.name;
      symbols_.push_back(symbol);
    }
    for (const ProgramFile::Segment& segment : object.file.segments)
      if (segment.is_executable)
        text_.emplace_back(segment.address + module_.bias,
                           segment.address + module_.bias + segment.memory_size);
  }
  const std::string& path() const override { return module_.path; }
  const std::string& name() const override { return name_; }
  const std::string& build_id() const override { return module_.build_id; }
  uint64_t start() const override { return module_.start; }
  uint64_t end() const override { return module_.end; }
  uint64_t bias() const override { return module_.bias; }
  const std::vector<FunctionSymbol>& functions() override { return symbols_; }
  std::string_view original_code(uint64_t, size_t) override { return {}; }
  const std::vector<std::pair<uint64_t, uint64_t>>& text_ranges() const override { return text_; }

 private:
  RecordedModule module_;
  std::string name_;
  std::vector<ProgramFile::Function> functions_;
  std::vector<FunctionSymbol> symbols_;
  std::vector<std::pair<uint64_t, uint64_t>> text_;
};

// What the resolver of symbol/ does for 64-bit files, with plain names alone.
class Symbols32 final : public SymbolTable {
 public:
  explicit Symbols32(const std::vector<std::unique_ptr<UprobeObject>>& objects) {
    for (const auto& object : objects) {
      Result<FileMapping> bytes = FileMapping::open(object->path);
      if (bytes.ok()) modules_.push_back(std::make_unique<Module32>(*object, bytes->bytes()));
    }
  }
  bool refresh() override { return false; }
  std::vector<Module*> modules() override {
    std::vector<Module*> list;
    for (const auto& module : modules_) list.push_back(module.get());
    return list;
  }
  Result<std::vector<ResolvedFunction>> resolve(std::string_view spec) override;
  bool symbolize(uint64_t address, SymbolizedAddress* out) override;
  uint64_t address_of(std::string_view symbol) override {
    auto found = resolve(symbol);
    return found.ok() ? found->front().symbol.address : 0;
  }
  void drop_caches() override {}

 private:
  std::vector<std::unique_ptr<Module32>> modules_;
};

Result<std::vector<ResolvedFunction>> Symbols32::resolve(std::string_view spec) {
  const size_t colon = spec.find("::") == spec.npos ? spec.find(':') : spec.npos;
  const std::string_view library = colon == spec.npos ? "" : spec.substr(0, colon);
  const std::string_view name = colon == spec.npos ? spec : spec.substr(colon + 1);
  std::vector<std::string_view> names;
  for (const auto& module : modules_) {
    if (!library.empty() && !module->name().starts_with(library)) continue;
    std::vector<ResolvedFunction> found;
    for (const FunctionSymbol& function : module->functions()) {
      names.push_back(function.name);
      const bool is_new = found.empty() || found.back().symbol.address != function.address;
      if (function.name == name && is_new)
        found.push_back({module.get(), function, std::string(name)});
    }
    if (!found.empty()) return found;
  }
  std::string sentence = "There is no function " + std::string(name);
  const std::vector<std::string> near = near_matches(name, names);
  for (const std::string& one : near) sentence += (one == near[0] ? "; near: " : ", ") + one;
  return user_error(EINVAL, sentence + ".");
}

bool Symbols32::symbolize(uint64_t address, SymbolizedAddress* out) {
  for (const auto& module : modules_) {
    const auto& list = module->functions();
    auto after =
        std::upper_bound(list.begin(), list.end(), address,
                         [](uint64_t a, const FunctionSymbol& f) { return a < f.address; });
    if (address < module->start() || address >= module->end() || after == list.begin()) continue;
    const uint64_t start = std::prev(after)->address;
    const auto first = std::lower_bound(
        list.begin(), list.end(), start,
        [](const FunctionSymbol& f, uint64_t a) { return f.address < a; });  // the best name
    const uint64_t next = after == list.end() ? module->end() : after->address;
    const uint64_t size = first->size ? first->size : next - start;
    if (address - start >= size) continue;
    out->name = without_blanks(demangle(first->name, false));
    out->start = start;
    out->offset = address - start;
    out->size = uint32_t(size);
    out->module = module.get();
    return true;
  }
  return false;
}

// --- files

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one = {}, other = {};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

struct MappedFile {
  uint64_t start = 0;
  std::string range;  // as the file in map_files/ is called
  uint64_t inode = 0;
  bool has_code = false;
};

// Files by path, in the order of their first addresses. An object that the program has mapped once
// more to read it (an agent reads libc) is where its code is: behind the last beginning of the file
// before that.
std::vector<std::pair<std::string, MappedFile>> mapped_files(const std::string& maps) {
  std::vector<std::pair<std::string, MappedFile>> files;
  for (const std::string& line : split_lines(maps)) {
    unsigned long long start = 0, end = 0, offset = 0, inode = 0;
    char access[5] = "";
    const size_t slash = line.find('/');
    if (slash == line.npos || std::sscanf(line.c_str(), "%llx-%llx %4s %llx %*x:%*x %llu", &start,
                                          &end, access, &offset, &inode) != 5)
      continue;
    std::string path = line.substr(slash);
    auto known = std::find_if(files.begin(), files.end(),
                              [&](const auto& file) { return file.first == path; });
    const bool is_new = known == files.end();
    if (is_new) known = files.insert(files.end(), {std::move(path), MappedFile()});
    MappedFile& file = known->second;
    if (is_new || (offset == 0 && !file.has_code)) {
      file.start = start;
      file.range = hex_number(start).substr(2) + "-" + hex_number(end).substr(2);
      file.inode = inode;
    }
    file.has_code |= access[2] == 'x';
  }
  return files;
}

// Whether a file is the one that is mapped there, where map_files may not be asked: by its number
// and its first page.
bool is_mapped_file(const std::string& path, const std::string& proc, const MappedFile& file) {
  struct stat found = {};
  Result<UniqueFd> opened = open_foreign_file(path, kMostMappedFile);
  return opened.ok() && ::fstat(opened->get(), &found) == 0 && found.st_ino == file.inode &&
         is_first_page_at(*opened, proc, file.start);
}

// Where the file can be opened; empty: nowhere. The path alone may be another file's: of another
// root or other mounts, or replaced since.
std::string path_of_mapped(const std::string& name, const std::string& proc,
                           const MappedFile& file) {
  const std::string held = proc + "/map_files/" + file.range;
  struct stat known = {};
  if (::stat(held.c_str(), &known) == 0) return is_same_file(name, held) ? name : held;
  for (const std::string& path : {name, proc + "/root/" + name, proc + "/exe"})
    if (is_mapped_file(path, proc, file)) return path;
  return "";
}

std::string build_id_of(std::span<const uint8_t> bytes) {
  Result<ElfImage> image = ElfImage::from_file(bytes);
  return image.ok() ? image->build_id() : "";
}

// Go's functions are called after their packages, main.work; those of C in the same program are
// not, but for the clones that a compiler makes.
bool is_go_name(std::string_view name) {
  if (name.find('.') == name.npos) return false;
  static constexpr const char* kClones[] = {".constprop.", ".isra.", ".part.", ".cold", ".llvm."};
  return std::none_of(std::begin(kClones), std::end(kClones),
                      [&](const char* clone) { return name.find(clone) != name.npos; });
}

// What kind of Go program, if any.
void look_for_go(UprobeObject* object, std::span<const uint8_t> bytes) {
  Result<ElfImage> image = ElfImage::from_file(bytes);
  object->is_go = object->file.has_go_note || (image.ok() && is_go_image(*image));
  object->is_go_without_libc = object->is_go && (object->file.interpreter.empty() ||
                                                 (image.ok() && is_go_without_libc(*image)));
}

}  // namespace

// --- the program

// `start`: where its first segment lies; UINT64_MAX: as the file says. A path that is not the
// process's `name` of it goes with the process; the file is held open then.
Status UprobeProgram::add(const std::string& found, uint64_t start, const std::string& name) {
  std::string path = found;
  UniqueFd held;
  if (found != name) {
    PB_ASSIGN(held, open_foreign_file(found, kMostMappedFile));
    path = "/proc/self/fd/" + std::to_string(held.get());
  }
  PB_ASSIGN(const FileMapping bytes, FileMapping::open(path));
  auto file = ProgramFile::read(bytes.bytes());
  if (!file) return user_error(ENOEXEC, path + " is no ELF program for x86.");
  if (file->is_x32)
    return user_error(ENOEXEC, path + " is an x32 program, which uprobes are not offered for.");
  auto object = std::make_unique<UprobeObject>();
  object->path = path;
  object->name = name;
  object->file_held = std::move(held);
  const uint64_t first = file->first_address() & ~(kPage - 1);
  const uint64_t bias = start == UINT64_MAX ? 0 : start - first;
  object->module = {first + bias, (file->end_address() + bias + kPage - 1) & ~(kPage - 1), bias,
                    build_id_of(bytes.bytes()), path};
  object->file = std::move(*file);
  look_for_go(object.get(), bytes.bytes());
  objects_.push_back(std::move(object));
  return {};
}

void UprobeProgram::make_symbols() {
  if (main_object().file.is_32_bit) {
    symbols_ = std::make_unique<Symbols32>(objects_);
    return;
  }
  std::vector<RecordedModule> modules;
  for (const auto& object : objects_) modules.push_back(object->module);
  symbols_ = make_recorded_symbol_table(std::move(modules));
}

Result<std::unique_ptr<UprobeProgram>> UprobeProgram::of_process(pid_t pid) {
  const std::string proc = "/proc/" + std::to_string(pid);
  PB_ASSIGN(const std::string maps, read_file(proc + "/maps"));
  std::unique_ptr<UprobeProgram> program(new UprobeProgram());
  std::vector<std::pair<std::string, MappedFile>> files = mapped_files(maps);
  const auto is_program = [&](const auto& file) {
    return is_same_file(proc + "/exe", proc + "/map_files/" + file.second.range) ||
           is_same_file(proc + "/exe", file.first);
  };
  std::stable_partition(files.begin(), files.end(), is_program);
  for (const auto& [name, file] : files) {
    if (!file.has_code && program->objects_.size()) continue;
    const std::string path = path_of_mapped(name, proc, file);
    if (path.empty() && !program->objects_.empty()) continue;
    const Status added = program->add(path, file.start, name);
    if (!added.ok() && program->objects_.empty()) return added.error();
  }
  if (program->objects_.empty())
    return user_error(ESRCH, "process " + std::to_string(pid) + " has ended");
  program->make_symbols();
  return program;
}

Result<std::unique_ptr<UprobeProgram>> UprobeProgram::of_file(const std::string& path) {
  std::unique_ptr<UprobeProgram> program(new UprobeProgram());
  PB_TRY(program->add(path, UINT64_MAX, path));
  // Its addresses begin at 0, as the program's may: it gets a place of its own.
  const std::string linker = program->main_object().file.interpreter;
  if (!linker.empty()) (void)program->add(linker, uint64_t{1} << 40, linker);
  program->make_symbols();
  return program;
}

std::vector<std::string> UprobeProgram::paths() const {
  std::vector<std::string> list;
  for (const auto& object : objects_) list.push_back(object->path);
  return list;
}

std::string UprobeProgram::what_it_is() const {
  const UprobeObject& object = main_object();
  if (object.file.is_32_bit) return "a 32-bit program";
  if (object.is_go_without_libc) return "a Go program without libc";
  if (object.file.interpreter.find("musl") != std::string::npos) return "linked with musl";
  return object.file.interpreter.empty() ? "statically linked" : "";
}

const UprobeObject* UprobeProgram::object_at(uint64_t address) const {
  for (const auto& object : objects_)
    if (address >= object->module.start && address < object->module.end) return object.get();
  return nullptr;
}

uint64_t UprobeProgram::address_of(std::string_view path, uint64_t offset) const {
  for (const auto& object : objects_) {
    if (object->path != path && !is_same_file(object->path, std::string(path))) continue;
    const auto address = object->file.address_of(offset);
    return address ? *address + object->module.bias : 0;
  }
  return 0;
}

void UprobeProgram::move(const UprobeObject* moved, uint64_t distance) {
  if (distance == 0) return;
  for (const auto& object : objects_) {
    if (object.get() != moved) continue;
    object->module.start += distance;
    object->module.end += distance;
    object->module.bias += distance;
  }
  make_symbols();
}

// --- places

Result<UprobePlace> UprobeProgram::place_in(const UprobeObject& object, uint64_t address,
                                            bool on_return) const {
  UprobePlace place;
  place.object = &object;
  place.ip = address;
  SymbolizedAddress symbol;
  if (symbols_->symbolize(address, &symbol)) {
    place.function = symbol.name;
    place.offset = symbol.offset;
  }
  const bool is_go = object.is_go && is_go_name(place.function);
  if (is_go && on_return)
    return user_error(EOPNOTSUPP,
                      "the return of a Go function cannot be probed: Go moves its stacks, and the "
                      "return addresses with them; its entry can");
  if (is_go)
    place.site.abi = place.function.ends_with(".abi0") ? UprobeAbi::kGoOnStack : UprobeAbi::kGo;
  if (object.file.is_32_bit) place.site.abi = UprobeAbi::kI386;
  uint64_t at = address;
  const auto offset = object.file.offset_of(at - object.module.bias);
  if (!offset) return user_error(EINVAL, hex_number(address) + " is no code of " + object.path);
  place.site.file_offset = *offset;
  if (is_go && place.offset == 0) {
    uint8_t code[kMaxCheck] = {};
    Result<FileMapping> bytes = FileMapping::open(object.path);
    if (bytes.ok() && *offset < bytes->size()) {
      std::memcpy(code, bytes->data() + *offset, std::min(kMaxCheck, bytes->size() - *offset));
      const uint32_t check = go_stack_check_size(code);
      place.site.file_offset += check;
      at += check;
    }
  }
  place.site.on_return = on_return;
  place.site.address = at;
  place.site.module_start = object.module.start;
  place.site.module_end = object.module.end;
  return place;
}

Result<UprobePlace> UprobeProgram::at(uint64_t address, bool on_return) const {
  const UprobeObject* object = object_at(address);
  if (!object)
    return user_error(EINVAL, "there is no code of this program at " + hex_number(address));
  return place_in(*object, address, on_return);
}

Result<UprobePlace> UprobeProgram::find(std::string_view symbol, uint64_t offset,
                                        bool on_return) const {
  PB_ASSIGN(const std::vector<ResolvedFunction> found, symbols_->resolve(symbol));
  if (found.empty()) return user_error(EINVAL, "There is no function " + std::string(symbol) + ".");
  if (found.size() > 1)
    return user_error(
        EINVAL, std::to_string(found.size()) + " functions are called " + std::string(symbol) +
                    "; a uprobe stands at one place: write its address, " +
                    hex_number(found[0].symbol.address) + " or another, in a p: line.");
  const FunctionSymbol& function = found[0].symbol;
  if (offset && function.size && offset >= function.size && int64_t(offset) > 0)
    return user_error(EINVAL,
                      found[0].display_name + " has " + std::to_string(function.size) + " bytes.");
  if (function.is_ifunc)
    return user_error(EOPNOTSUPP, found[0].display_name +
                                      " has several implementations, of which the program chooses "
                                      "one when it starts: name that one");
  Result<UprobePlace> place = at(function.address + offset, on_return);
  if (place.ok() && offset == 0) place->function = without_blanks(found[0].display_name);
  return place;
}

Result<UprobePlace> UprobeProgram::in_file(const std::string& path, uint64_t offset,
                                           bool on_return) {
  if (const uint64_t address = address_of(path, offset)) return at(address, on_return);
  for (const auto& object : objects_)
    if (is_same_file(object->path, path))
      return user_error(EINVAL, hex_number(offset) + " is no code of " + path);
  // A library that the program loads later. Its addresses are known to nobody yet.
  PB_TRY(add(path, (uint64_t{2} + objects_.size()) << 40, path));
  make_symbols();
  const auto address = objects_.back()->file.address_of(offset);
  if (!address) return user_error(EINVAL, hex_number(offset) + " is no code of " + path);
  return place_in(*objects_.back(), *address + objects_.back()->module.bias, on_return);
}

// --- Go's stack check

namespace {

// Takes `bytes` off the front; false: something else stands there. -1 is any byte.
bool take(std::span<const uint8_t>* code, std::initializer_list<int> bytes) {
  if (bytes.size() > code->size()) return false;
  size_t i = 0;
  for (int byte : bytes)
    if (byte >= 0 && (*code)[i++] != byte)
      return false;
    else if (byte < 0)
      i++;
  *code = code->subspan(bytes.size());
  return true;
}

}  // namespace

uint32_t go_stack_check_size(std::span<const uint8_t> untrusted_code) {
  std::span<const uint8_t> code = untrusted_code;
  const bool is_small = take(&code, {0x49, 0x3b, 0x66, 0x10});  // cmp rsp, [r14+16]
  if (!is_small) {
    // lea r12, [rsp-N], for a large frame; or for a huge one mov r12, rsp; sub r12, N; jb …
    bool is_large = take(&code, {0x4c, 0x8d, 0x64, 0x24, -1}) ||
                    take(&code, {0x4c, 0x8d, 0xa4, 0x24, -1, -1, -1, -1});
    if (!is_large && take(&code, {0x49, 0x89, 0xe4}))
      is_large = take(&code, {0x49, 0x81, 0xec, -1, -1, -1, -1}) &&
                 (take(&code, {0x72, -1}) || take(&code, {0x0f, 0x82, -1, -1, -1, -1}));
    if (!is_large || !take(&code, {0x4d, 0x3b, 0x66, 0x10})) return 0;  // cmp r12, [r14+16]
  }
  const bool jumps = take(&code, {0x76, -1}) || take(&code, {0x0f, 0x86, -1, -1, -1, -1});  // jbe
  return jumps ? uint32_t(untrusted_code.size() - code.size()) : 0;
}

}  // namespace patchbay
