// SPDX-License-Identifier: MIT
//
// A program may export functions with the names of libc's: a malloc() that no two threads may call,
// a close() that counts, a pthread_create() that takes a lock. The dynamic linker binds the agent's
// references to them, too, and the program would see calls that it has not made. So the first
// constructor of the agent binds its references anew, to what libc itself has:
//
//   agent: call close@plt --> its word in .got --X--> close of the program
//                                    |
//                                    +-------------> close@GLIBC_2.2.5 of libc.so.6
//
//   _r_debug: the list of loaded objects --> libc.so.6, ld.so (before glibc 2.34 libpthread, libdl)
//   each one's DT_GNU_HASH, names and versions: what a relocation of ours asks for
//
// No function is called for that. Functions that the agent exports itself (sigaction(), fork()) and
// that the program exports as well are ours again. What is data stays where it is: `environ` and
// `stderr` are the program's. A program with a sanitizer is left alone: the runtime has taken these
// functions over on purpose, and has to see what is allocated and which threads there are.
#include "agent/own_imports.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "agent/arrival.h"
#include "base/leak_checker.h"
#include "base/raw_syscall.h"
#include "base/raw_text.h"

extern "C" {
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));
void __tsan_init() __attribute__((weak, visibility("default")));
}

namespace patchbay {
namespace {

constexpr uint16_t kVersionNumber = 0x7fff, kHiddenVersion = 0x8000;
constinit bool g_are_bound = false, g_is_complete = true, g_program_has_malloc = false;

// The dynamic section of one object. The dynamic linker has relocated some of its addresses.
struct Tables {
  Tables(const Elf64_Dyn* entry, uint64_t base) {
    for (; entry->d_tag != DT_NULL; entry++) {
      const uint64_t value = entry->d_un.d_val, at = value < base ? base + value : value;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols = reinterpret_cast<const Elf64_Sym*>(at);
          break;
        case DT_STRTAB:
          strings = reinterpret_cast<const char*>(at);
          break;
        case DT_GNU_HASH:
          hash = reinterpret_cast<const uint32_t*>(at);
          break;
        case DT_VERSYM:
          versions = reinterpret_cast<const uint16_t*>(at);
          break;
        case DT_VERDEF:
          definitions = at;
          break;
        case DT_VERNEED:
          needs = at;
          break;
        case DT_SONAME:
          soname = value;
          break;
        case DT_JMPREL:
          jumps = reinterpret_cast<const Elf64_Rela*>(at);
          break;
        case DT_PLTRELSZ:
          jump_count = value / sizeof(Elf64_Rela);
          break;
        case DT_RELA:
          others = reinterpret_cast<const Elf64_Rela*>(at);
          break;
        case DT_RELASZ:
          other_count = value / sizeof(Elf64_Rela);
          break;
        case DT_RELACOUNT:
          relative_count = value;
          break;  // they come first
        default:
          break;
      }
    }
  }

  const char* name_of(const Elf64_Sym& symbol) const { return strings + symbol.st_name; }

  const Elf64_Sym* symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* hash = nullptr;
  const uint16_t* versions = nullptr;
  uint64_t definitions = 0, needs = 0, soname = 0;
  const Elf64_Rela *jumps = nullptr, *others = nullptr;
  size_t jump_count = 0, other_count = 0, relative_count = 0;
};

// --- versions

// Of what an object needs (DT_VERNEED). Null: none.
const char* needed_version(const Tables& own, uint16_t number) {
  for (uint64_t at = own.needs; at;) {
    const auto* need = reinterpret_cast<const Elf64_Verneed*>(at);
    const auto* one = reinterpret_cast<const Elf64_Vernaux*>(at + need->vn_aux);
    for (int i = 0; i < need->vn_cnt; i++) {
      if (one->vna_other == number) return own.strings + one->vna_name;
      one = reinterpret_cast<const Elf64_Vernaux*>(reinterpret_cast<uint64_t>(one) + one->vna_next);
    }
    at = need->vn_next ? at + need->vn_next : 0;
  }
  return nullptr;
}

// Of what an object has (DT_VERDEF).
bool is_version(const Tables& tables, uint16_t number, const char* wanted) {
  for (uint64_t at = tables.definitions; at;) {
    const auto* one = reinterpret_cast<const Elf64_Verdef*>(at);
    const auto* name = reinterpret_cast<const Elf64_Verdaux*>(at + one->vd_aux);
    if (one->vd_ndx == number) return raw_is_same(tables.strings + name->vda_name, wanted);
    at = one->vd_next ? at + one->vd_next : 0;
  }
  return false;
}

// --- libc's functions

// `version` null: the one that a new program would get.
bool is_wanted(const Tables& tables, uint32_t index, const char* name, const char* version) {
  const Elf64_Sym& symbol = tables.symbols[index];
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) return false;
  if (!raw_is_same(tables.name_of(symbol), name)) return false;
  const uint16_t number = tables.versions ? tables.versions[index] : 0;
  if (!version) return !(number & kHiddenVersion);
  return is_version(tables, number & kVersionNumber, version);
}

const Elf64_Sym* find_function(const Tables& tables, const char* name, const char* version) {
  uint32_t wanted = 5381;
  for (const char* c = name; *c; c++) wanted = wanted * 33 + uint8_t(*c);
  const uint32_t bucket_count = tables.hash[0], first = tables.hash[1], words = tables.hash[2];
  const uint32_t* const buckets = tables.hash + 4 + size_t(words) * 2;
  const uint32_t* const chain = buckets + bucket_count;
  uint32_t index = bucket_count ? buckets[wanted % bucket_count] : 0;
  if (index < first) return nullptr;
  for (;; index++) {
    const uint32_t here = chain[index - first];
    if ((here | 1) == (wanted | 1) && is_wanted(tables, index, name, version))
      return &tables.symbols[index];
    if (here & 1) return nullptr;
  }
}

uint64_t address_of(const Elf64_Sym& symbol, uint64_t base) {
  const uint64_t address = base + symbol.st_value;
  if (ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC) return address;
  return reinterpret_cast<uint64_t (*)()>(address)();  // libc's choice for this processor
}

bool is_of_libc(const char* soname) {
  for (const char* one :
       {"libc.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2", "librt.so.1"})
    if (raw_is_same(soname, one)) return true;
  return false;
}

// visit(base, tables) -> go on?
template <typename Visit>
void each_object_of_libc(const Visit& visit) {
  for (const link_map* object = _r_debug.r_map; object; object = object->l_next) {
    if (!object->l_ld) continue;
    const Tables tables(object->l_ld, object->l_addr);
    if (!tables.soname || !tables.strings || !tables.hash || !tables.symbols) continue;
    if (is_of_libc(tables.strings + tables.soname) && !visit(object->l_addr, tables)) return;
  }
}

// 0: it has none.
uint64_t function_of_libc(const char* name, const char* version) {
  uint64_t address = 0;
  each_object_of_libc([&](uint64_t base, const Tables& tables) {
    const Elf64_Sym* const found = find_function(tables, name, version);
    if (found) address = address_of(*found, base);
    return !found;
  });
  return address;
}

bool is_in_object(uint64_t base, uint64_t address) {
  const auto* head = reinterpret_cast<const Elf64_Ehdr*>(base);
  const auto* segment = reinterpret_cast<const Elf64_Phdr*>(base + head->e_phoff);
  for (int i = 0; i < head->e_phnum; i++, segment++)
    if (segment->p_type == PT_LOAD && address - base - segment->p_vaddr < segment->p_memsz)
      return true;
  return false;
}

bool is_in_libc(uint64_t address) {
  bool is_in = false;
  each_object_of_libc([&](uint64_t base, const Tables&) {
    is_in = is_in_object(base, address);
    return !is_in;
  });
  return is_in;
}

// --- the agent's words

// A function that the agent exports. Where the program's own is in the place of ours, ours comes
// back; an agent that came late is behind libc in every order, and calls libc's.
uint64_t own_or_libcs(const char* name, uint64_t own, uint64_t bound) {
  if (bound == own || raw_starts_with(name, "patchbay_")) return bound;
  const uint64_t of_libc = function_of_libc(name, nullptr);
  if (!of_libc || bound == of_libc) return bound;
  return is_loaded_late() ? of_libc : own;
}

void bind(const Tables& tables, uint64_t base, const Elf64_Rela& relocation) {
  const uint64_t type = ELF64_R_TYPE(relocation.r_info), index = ELF64_R_SYM(relocation.r_info);
  const bool is_address = type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
                          (type == R_X86_64_64 && relocation.r_addend == 0);
  auto& word = *reinterpret_cast<uint64_t*>(base + relocation.r_offset);
  if (!is_address || index == 0) return;
  const Elf64_Sym& symbol = tables.symbols[index];
  const char* const name = tables.name_of(symbol);
  uint64_t wanted = 0;
  if (symbol.st_shndx == SHN_UNDEF) {
    const uint16_t number = tables.versions ? tables.versions[index] & kVersionNumber : 0;
    wanted = function_of_libc(name, needed_version(tables, number));
    if (raw_is_same(name, "malloc")) g_program_has_malloc = !is_in_libc(word);
  } else if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) {
    wanted = own_or_libcs(name, base + symbol.st_value, word);
  }
  if (wanted && wanted != word) word = wanted;
}

// What the dynamic linker has not found, and bind() neither. Other weak symbols have no version.
bool leads_nowhere(const Tables& tables, uint64_t base, const Elf64_Rela& relocation) {
  const uint64_t index = ELF64_R_SYM(relocation.r_info);
  return index && tables.symbols[index].st_shndx == SHN_UNDEF && tables.versions &&
         needed_version(tables, tables.versions[index] & kVersionNumber) &&
         *reinterpret_cast<const uint64_t*>(base + relocation.r_offset) == 0;
}

class WritableRelocated {
 public:
  explicit WritableRelocated(uint64_t base) {
    const auto* segment = reinterpret_cast<const Elf64_Phdr*>(base + __ehdr_start.e_phoff);
    for (int i = 0; i < __ehdr_start.e_phnum; i++, segment++) {
      if (segment->p_type != PT_GNU_RELRO) continue;
      start_ = (base + segment->p_vaddr) & ~(kPage - 1);
      size_ = ((base + segment->p_vaddr + segment->p_memsz) & ~(kPage - 1)) - start_;
    }
    is_writable_ = protect(PROT_READ | PROT_WRITE);
  }
  ~WritableRelocated() {
    if (is_writable_) (void)protect(PROT_READ);
  }
  WritableRelocated(const WritableRelocated&) = delete;
  WritableRelocated& operator=(const WritableRelocated&) = delete;
  bool is_writable() const { return is_writable_; }

 private:
  static constexpr uint64_t kPage = 4096;
  bool protect(int how) const {
    return raw_syscall(SYS_mprotect, long(start_), long(size_), how) == 0;
  }
  uint64_t start_ = 0, size_ = 0;
  bool is_writable_ = false;
};

// Before glibc 2.34 functions that the agent needs are in two more libraries (libc_versions.cc). A
// program that has not brought them gets them here.
void load_libraries_of_old_libc() {
  if (function_of_libc("pthread_setspecific", "GLIBC_2.2.5") &&
      function_of_libc("dlsym", "GLIBC_2.2.5"))
    return;
  const auto load = reinterpret_cast<void* (*)(const char*, int)>(
      function_of_libc("__libc_dlopen_mode", "GLIBC_PRIVATE"));
  constexpr int kOfLibc = int(0x80000000);  // __RTLD_DLOPEN
  for (const char* library : {"libpthread.so.0", "libdl.so.2"})
    if (load) load(library, kOfLibc | RTLD_NOW | RTLD_GLOBAL);
}

template <typename Visit>
void each_word(const Tables& tables, const Visit& visit) {
  for (size_t i = 0; i < tables.jump_count; i++) visit(tables.jumps[i]);
  for (size_t i = tables.relative_count; i < tables.other_count; i++) visit(tables.others[i]);
}

void bind_all(const Tables& tables, uint64_t base) {
  if (has_leak_checker() || &__tsan_init != nullptr) return;
  const WritableRelocated relocated(base);
  if (!relocated.is_writable()) return;
  each_word(tables, [&](const Elf64_Rela& one) { bind(tables, base, one); });
}

// Before all other constructors of ours.
__attribute__((constructor(101))) void bind_imports() {
  load_libraries_of_old_libc();
  g_are_bound = true;
  const auto base = reinterpret_cast<uint64_t>(&__ehdr_start);
  const Tables tables(_DYNAMIC, base);
  bind_all(tables, base);
  each_word(tables, [&](const Elf64_Rela& one) {
    if (leads_nowhere(tables, base, one)) g_is_complete = false;
  });
}

}  // namespace

bool imports_are_bound() { return g_are_bound; }
bool program_has_malloc() { return g_program_has_malloc; }
bool libc_is_complete() { return g_is_complete; }

void* function_of_libc(const char* name) {
  return reinterpret_cast<void*>(function_of_libc(name, nullptr));
}

void* newest_version(void* function, const char* name) {
  void* newest = function;
  each_object_of_libc([&](uint64_t base, const Tables& tables) {
    if (!is_in_object(base, reinterpret_cast<uint64_t>(function))) return true;
    if (const Elf64_Sym* found = find_function(tables, name, nullptr))
      newest = reinterpret_cast<void*>(address_of(*found, base));
    return false;
  });
  return newest;
}

}  // namespace patchbay
