// SPDX-License-Identifier: MIT
//
// What the kernel and the dynamic linker will do with a file, in their order:
//
//   fs/exec.c          may it be run, is it a regular file          no: the exec fails by itself
//   binfmt_script.c    `#!`: the interpreter in its place           5 times at most
//   binfmt_elf.c       the machine, PT_INTERP                       none: statically linked
//   commoncap.c        set-id bits, capabilities -> AT_SECURE       LD_PRELOAD would be ignored
//   ld.so              LD_PRELOAD: the agent                        must be there, and glibc's
//
// What changes between this look and the exec is met by the kernel as it is then. The worst that
// follows is a program without the agent, or a line of the dynamic linker about it.
#include <elf.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "agent/exec_environment.h"
#include "agent/exec_target.h"
#include "base/raw_syscall.h"
#include "base/raw_text.h"

namespace patchbay {
namespace {

constexpr int kMostScripts = 5;           // exec_binprm(): one more is ELOOP
constexpr size_t kScriptHead = 256;       // BINPRM_BUF_SIZE
constexpr size_t kMostOfHeaders = 65536;  // load_elf_phdrs(): of the program headers together
constexpr size_t kMostLoads = 16;
constexpr size_t kMostDynamic = 2048;                 // entries that are looked at
constexpr uint32_t kMostOfChain = 256;                // of the symbols with one hash
constexpr uint32_t kGoOwnerSize = 4;                  // "Go" with its padding
constexpr char kGoBuildInfo[] = "\xff Go buildinf:";  // as symbol/go_program.h
constexpr uint64_t kMostGoSearch = 64 * 1024;
constexpr char kGlibcLinker[] = "ld-linux-x86-64.so.2";

// What a check says of a program: null (nothing against it), why it is not followed, or this.
using Reason = const char*;
constexpr char kExecFails[] = "the exec fails by itself";
constexpr char kIsLinker[] = "the dynamic linker itself";

// --- files

// What an exec names: a path below a directory, or, with an empty path, the descriptor itself.
struct Named {
  int dirfd;
  const char* path;
  int flags;
};

class File {
 public:
  File() = default;
  File(const File&) = delete;
  ~File() {
    if (owned_) raw_syscall(SYS_close, fd_);
  }

  // FILE is open afterwards, and a regular file: nothing waits for the other end of a FIFO, and no
  // device notices.
  Reason open(const Named& name) {
    struct stat info;
    if (raw_syscall(SYS_newfstatat, name.dirfd, raw_pointer(name.path), raw_pointer(&info),
                    name.flags) != 0 ||
        !S_ISREG(info.st_mode) || !may_be_run(name))
      return kExecFails;
    fd_ = raw_syscall(SYS_openat, name.dirfd, raw_pointer(name.path), open_flags(name));
    owned_ = fd_ >= 0;
    if (fd_ == -ENOENT && (name.flags & AT_EMPTY_PATH)) open_again(name.dirfd);
    if (fd_ == -ENOENT) return kExecFails;
    if (fd_ == -EMFILE || fd_ == -ENFILE) return "no descriptor was free to look at it";
    if (fd_ < 0 || raw_syscall(SYS_fstat, fd_, raw_pointer(&info)) != 0)
      return "it may be run, but not read";
    if (!S_ISREG(info.st_mode)) return kExecFails;
    mode_ = info.st_mode, user_ = info.st_uid, group_ = info.st_gid;
    return nullptr;
  }

  long read(void* to, size_t size, uint64_t offset) const {
    return raw_syscall(SYS_pread64, fd_, raw_pointer(to), long(size), long(offset));
  }

  long fd() const { return fd_; }
  uint32_t mode() const { return mode_; }
  uint32_t user() const { return user_; }
  uint32_t group() const { return group_; }

 private:
  static long open_flags(const Named& name) {
    return O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
           ((name.flags & AT_SYMLINK_NOFOLLOW) ? O_NOFOLLOW : 0);
  }

  // The kernel before 5.8 has no faccessat2(); its faccessat() asks for the real user, who is the
  // effective one wherever LD_PRELOAD counts, and knows no empty path.
  static bool may_be_run(const Named& name) {
    const int flags = (name.flags & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)) | AT_EACCESS;
    long answer = raw_syscall(SYS_faccessat2, name.dirfd, raw_pointer(name.path), X_OK, flags);
    if (answer == -ENOSYS || answer == -EPERM)
      answer = raw_syscall(SYS_faccessat, name.dirfd, raw_pointer(name.path), X_OK);
    return answer == 0 || (answer == -ENOENT && (name.flags & AT_EMPTY_PATH));
  }

  // The file of a descriptor that may be open for other things than reading (O_PATH). Where there
  // is no /proc the descriptor itself has to do.
  void open_again(int fd) {
    const RawDescriptorPath path(fd);
    fd_ = raw_syscall(SYS_openat, AT_FDCWD, raw_pointer(path.text()),
                      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    owned_ = fd_ >= 0;
    if (!owned_ && fd_ != -EACCES) fd_ = fd;
  }

  long fd_ = -EBADF;
  bool owned_ = false;
  uint32_t mode_ = 0, user_ = 0, group_ = 0;
};

// --- bytes of a file

class Window {
 public:
  explicit Window(const File& file) : file_(file) {}
  Window(const Window&) = delete;

  // `size` bytes at `offset`, until the next call. Null: the file has no so many.
  const char* at(uint64_t offset, size_t size) {
    if (size > sizeof bytes_ || offset > INT64_MAX - sizeof bytes_) return nullptr;
    if (offset < start_ || offset - start_ > filled_ || size > filled_ - (offset - start_))
      fill(offset);
    return size <= filled_ - (offset - start_) ? bytes_ + (offset - start_) : nullptr;
  }

  template <typename T>
  bool load(uint64_t offset, T* value) {
    const char* bytes = at(offset, sizeof(T));
    if (bytes) __builtin_memcpy(value, bytes, sizeof(T));
    return bytes != nullptr;
  }

  // The text at `offset` with its NUL. Null: there is none, or it is longer than a window.
  const char* text(uint64_t offset) {
    if (const char* text = at(offset, 1); text && is_ended(text)) return text;
    if (offset > INT64_MAX - sizeof bytes_) return nullptr;
    fill(offset);
    return filled_ && is_ended(bytes_) ? bytes_ : nullptr;
  }

 private:
  void fill(uint64_t offset) {
    const long count = file_.read(bytes_, sizeof bytes_, offset);
    start_ = offset;
    filled_ = count > 0 ? size_t(count) : 0;
  }

  bool is_ended(const char* text) const {
    while (text < bytes_ + filled_)
      if (!*text++) return true;
    return false;
  }

  const File& file_;
  uint64_t start_ = 0;
  size_t filled_ = 0;
  char bytes_[1024];
};

const char* base_name(const char* path) {
  const char* base = path;
  for (; *path; path++)
    if (*path == '/') base = path + 1;
  return base;
}

// --- `#!`

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// load_script() of fs/binfmt_script.c: the path behind `#!` into `path`, which has kScriptHead
// bytes. A carriage return belongs to it. False: the kernel takes this for no script.
bool find_interpreter(const char (&head)[kScriptHead], char* path) {
  size_t end = 2;
  while (end < kScriptHead && head[end] != '\n') end++;
  const bool is_cut = end == kScriptHead;
  if (is_cut) end--;
  size_t name = 2;
  while (name < end && is_blank(head[name])) name++;
  size_t stop = name;
  while (stop < end && !is_blank(head[stop]) && head[stop]) stop++;
  // What goes on behind the head is the beginning of a path, and not run.
  if (name == stop || (is_cut && stop == end)) return false;
  for (size_t i = name; i < stop; i++) *path++ = head[i];
  *path = '\0';
  return true;
}

// fs/exec.c: for a file that begins with these the kernel asks for no other format (binfmt_misc has
// been asked before, and nobody can know what for).
bool is_text(const char* head, size_t size) {
  for (size_t i = 0; i < 4 && i < size; i++)
    if (head[i] != '\t' && head[i] != '\n' && (head[i] < 0x20 || head[i] > 0x7e)) return false;
  return true;
}

// --- ELF

struct Load {
  uint64_t start, size, offset;
};

// The segments and the dynamic section of one file. The windows are its own, as names are read
// while the section is gone through.
class Elf {
 public:
  explicit Elf(const File& file) : bytes_(file), names_(file) {}

  // load_elf_binary()'s checks; `header` is the first of the file, with zeros behind its end.
  Reason read(const char* head) {
    Elf64_Ehdr header;
    __builtin_memcpy(&header, head, sizeof header);
    if (header.e_machine == EM_NONE) return kExecFails;
    const bool is_little = header.e_ident[EI_DATA] == ELFDATA2LSB;
    const bool is_ours = header.e_machine == EM_X86_64 && is_little;
    if (!is_ours || header.e_ident[EI_CLASS] != ELFCLASS64)
      return "a program for another machine";  // its numbers stand in other places
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return kExecFails;
    const size_t size = header.e_phnum * sizeof(Elf64_Phdr);
    if (header.e_phentsize != sizeof(Elf64_Phdr) || !size || size > kMostOfHeaders)
      return kExecFails;
    for (size_t i = 0; i < header.e_phnum; i++) {
      Elf64_Phdr segment;
      if (header.e_phoff > INT64_MAX || !bytes_.load(header.e_phoff + i * sizeof segment, &segment))
        return kExecFails;
      take(segment);
    }
    return nullptr;
  }

  // PT_INTERP, as the kernel wants it. `path` has kMostOfPath bytes.
  static constexpr size_t kMostOfPath = 256;
  bool has_linker() const { return has_linker_; }
  Reason linker(char* path) {
    constexpr size_t kMostOfKernel = 4096;
    if (linker_.p_filesz < 2 || linker_.p_filesz > kMostOfKernel) return kExecFails;
    char last;
    if (linker_.p_offset > INT64_MAX ||
        !bytes_.load(linker_.p_offset + linker_.p_filesz - 1, &last) || last)
      return kExecFails;
    const char* text = bytes_.text(linker_.p_offset);
    if (!text || !raw_copy(path, kMostOfPath, text))
      return "the path of its dynamic linker is very long";
    return nullptr;
  }

  // Of Go's own linker, without C: it asks for a dynamic linker where its code may lie anywhere,
  // but needs no library, and its code runs on stacks that have no room for the agent. By the note
  // of its build, or by what it says of it, at a multiple of 16 near the start of a segment.
  bool is_go_without_libc() {
    bool needs_some = false;
    each_dynamic([&](const Elf64_Dyn& entry) { return !(needs_some |= entry.d_tag == DT_NEEDED); });
    if (needs_some) return false;
    const Elf64_Nhdr* const note = reinterpret_cast<const Elf64_Nhdr*>(
        notes_ ? names_.at(notes_, sizeof(Elf64_Nhdr) + kGoOwnerSize) : nullptr);
    if (note && note->n_namesz == kGoOwnerSize &&
        raw_is_same(reinterpret_cast<const char*>(note + 1), "Go"))
      return true;
    for (size_t i = 0; i < load_count_; i++)
      for (uint64_t at = 0; at < loads_[i].size && at < kMostGoSearch; at += 16) {
        const char* const text = bytes_.at(loads_[i].offset + at, sizeof kGoBuildInfo - 1);
        if (!text) break;
        if (raw_starts_with(text, kGoBuildInfo)) return true;
      }
    return false;
  }

  // Goes through the dynamic section for where things are. Without one everything below is null.
  void read_dynamic() {
    each_dynamic([this](const Elf64_Dyn& entry) {
      if (entry.d_tag == DT_STRTAB) strings_ = entry.d_un.d_ptr;
      if (entry.d_tag == DT_SYMTAB) symbols_ = entry.d_un.d_ptr;
      if (entry.d_tag == DT_GNU_HASH) hash_ = entry.d_un.d_ptr;
      if (entry.d_tag == DT_SONAME) soname_ = entry.d_un.d_val, has_soname_ = true;
      return true;
    });
  }
  // Null: it has none.
  const char* soname() { return has_soname_ ? name(soname_) : nullptr; }

  // visit(name) -> go on?
  template <typename Visit>
  void each_needed(const Visit& visit) {
    each_dynamic([&](const Elf64_Dyn& entry) {
      if (entry.d_tag != DT_NEEDED) return true;
      const char* needed = name(entry.d_un.d_val);
      return !needed || visit(needed);
    });
  }

  // By the GNU hash table.
  bool has_symbol(const char* wanted) {
    uint32_t hash = 5381;
    for (const char* c = wanted; *c; c++) hash = hash * 33 + uint8_t(*c);
    struct {
      uint32_t buckets, first, words, shift;
    } table;
    uint64_t place = 0, word = 0;
    uint32_t index = 0, other = 0;
    if (!hash_ || !place_of(hash_, &place) || !names_.load(place, &table)) return false;
    if (!table.buckets || !table.words) return false;
    place += sizeof table;
    if (!names_.load(place + hash / 64 % table.words * sizeof word, &word)) return false;
    if (!(word >> hash % 64 & word >> (hash >> (table.shift & 31)) % 64 & 1)) return false;
    place += uint64_t(table.words) * sizeof word;
    if (!names_.load(place + hash % table.buckets * sizeof index, &index)) return false;
    place += uint64_t(table.buckets) * sizeof index;
    for (uint32_t i = 0; i < kMostOfChain && index >= table.first; i++, index++) {
      if (!names_.load(place + uint64_t(index - table.first) * sizeof other, &other)) return false;
      if ((other | 1) == (hash | 1) && symbol_is(index, wanted)) return true;
      if (other & 1) return false;
    }
    return false;
  }

 private:
  void take(const Elf64_Phdr& segment) {
    if (segment.p_type == PT_INTERP && !has_linker_) linker_ = segment, has_linker_ = true;
    if (segment.p_type == PT_NOTE && !notes_) notes_ = segment.p_offset;
    if (segment.p_type == PT_DYNAMIC) {
      dynamic_ = segment.p_offset;
      entries_ = segment.p_filesz / sizeof(Elf64_Dyn);
      if (entries_ > kMostDynamic) entries_ = kMostDynamic;
    }
    if (segment.p_type == PT_LOAD && load_count_ < kMostLoads)
      loads_[load_count_++] = {segment.p_vaddr, segment.p_filesz, segment.p_offset};
  }

  // visit(entry) -> go on?
  template <typename Visit>
  void each_dynamic(const Visit& visit) {
    if (dynamic_ > INT64_MAX) return;
    for (size_t i = 0; i < entries_; i++) {
      Elf64_Dyn entry;
      if (!bytes_.load(dynamic_ + i * sizeof entry, &entry) || entry.d_tag == DT_NULL) return;
      if (!visit(entry)) return;
    }
  }

  // Where in the file an address of it is.
  bool place_of(uint64_t address, uint64_t* place) const {
    for (size_t i = 0; i < load_count_; i++) {
      const Load& load = loads_[i];
      if (address < load.start || address - load.start >= load.size) continue;
      return !__builtin_add_overflow(load.offset, address - load.start, place);
    }
    return false;
  }

  const char* name(uint64_t offset) {
    uint64_t address = 0, place = 0;
    if (!strings_ || __builtin_add_overflow(strings_, offset, &address)) return nullptr;
    return place_of(address, &place) ? names_.text(place) : nullptr;
  }

  bool symbol_is(uint32_t index, const char* wanted) {
    uint64_t place = 0;
    Elf64_Sym symbol;
    if (!symbols_ || !place_of(symbols_, &place)) return false;
    if (!bytes_.load(place + uint64_t(index) * sizeof symbol, &symbol)) return false;
    if (symbol.st_shndx == SHN_UNDEF) return false;
    const char* found = name(symbol.st_name);
    return found && raw_is_same(found, wanted);
  }

  Window bytes_, names_;
  Elf64_Phdr linker_;
  bool has_linker_ = false, has_soname_ = false;
  Load loads_[kMostLoads];
  size_t load_count_ = 0, entries_ = 0;
  uint64_t notes_ = 0;
  uint64_t dynamic_ = 0, strings_ = 0, symbols_ = 0, hash_ = 0, soname_ = 0;
};

// --- checks

// Its name says little: distributions keep it in folders of their own, and on some a link of
// glibc's name leads to musl. What the dynamic linker calls itself is always the same.
__attribute__((noinline)) Reason check_linker(const char* path) {
  File file;
  if (Reason why = file.open({AT_FDCWD, path, 0})) return why;
  char head[sizeof(Elf64_Ehdr)];
  Elf elf(file);
  const long count = file.read(head, sizeof head, 0);
  if (count != long(sizeof head) || !raw_starts_with(head, ELFMAG)) return kExecFails;
  if (Reason why = elf.read(head)) return why;
  elf.read_dynamic();
  const char* soname = elf.soname();
  if (soname && raw_is_same(soname, kGlibcLinker)) return nullptr;
  if (raw_contains(path, "musl") || (soname && raw_contains(soname, "musl")))
    return "linked with musl";
  return "linked with another C library";
}

// Set-id bits count for nothing on such a file system, and for a process that may gain no rights.
bool gives_rights(const File& file) {
  struct statfs of_mount;
  const bool is_nosuid = raw_syscall(SYS_fstatfs, file.fd(), raw_pointer(&of_mount)) == 0 &&
                         (of_mount.f_flags & ST_NOSUID);
  return !is_nosuid && raw_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS) != 1;
}

// Whether the kernel will tell the dynamic linker to trust nobody (AT_SECURE), by
// cap_bprm_creds_from_file() of security/commoncap.c. Root that runs a program of root's with a
// set-user-id bit, or one with capabilities, gains nothing.
Reason check_rights(const File& file) {
  uint32_t users[3] = {}, groups[3] = {};  // real, effective, saved
  raw_syscall(SYS_getresuid, raw_pointer(&users[0]), raw_pointer(&users[1]),
              raw_pointer(&users[2]));
  raw_syscall(SYS_getresgid, raw_pointer(&groups[0]), raw_pointer(&groups[1]),
              raw_pointer(&groups[2]));
  bool set_user = file.mode() & S_ISUID;
  bool set_group = (file.mode() & S_ISGID) && (file.mode() & S_IXGRP);
  if ((set_user || set_group) && !gives_rights(file)) set_user = set_group = false;
  if (set_user && (file.user() != users[0] || file.user() != users[1]))
    return "a set-user-id program";
  if (set_group && (file.group() != groups[0] || file.group() != groups[1]))
    return "a set-group-id program";
  if (users[0] != users[1] || groups[0] != groups[1])
    return "the process has other rights than its user";
  const bool has_capabilities =
      users[0] != 0 &&
      raw_syscall(SYS_fgetxattr, file.fd(), raw_pointer("security.capability"), 0, 0) > 0;
  struct statfs of_mount;
  if (has_capabilities && !(raw_syscall(SYS_fstatfs, file.fd(), raw_pointer(&of_mount)) == 0 &&
                            (of_mount.f_flags & ST_NOSUID)))
    return "a program with file capabilities";
  return nullptr;
}

// The dynamic linker would write a line where it cannot have the agent.
Reason check_agent(const char* path) {
  struct stat info;
  const long answer =
      raw_syscall(SYS_newfstatat, AT_FDCWD, raw_pointer(path), raw_pointer(&info), 0);
  if (answer == -ENOENT || answer == -ENOTDIR) return "the agent is not in its root directory";
  if (answer != 0 || !S_ISREG(info.st_mode) ||
      raw_syscall(SYS_faccessat, AT_FDCWD, raw_pointer(path), R_OK) != 0)
    return "its user cannot read the agent";
  return nullptr;
}

// As runtime_before_agent() and check_sanitizer() of cmd/target/target_program.cc.
Reason check_sanitizers(Elf* elf, char (&runtime_first)[kMostOfRuntime]) {
  elf->read_dynamic();
  if (elf->has_symbol("__msan_init")) return "built with -fsanitize=memory";
  Reason why = nullptr;
  elf->each_needed([&](const char* name) {
    const char* base = base_name(name);
    if (!raw_starts_with(base, "libasan.so") && !raw_starts_with(base, "libclang_rt.asan"))
      return true;
    if (raw_contains(name, ":") || raw_contains(name, " ") ||
        !raw_copy(runtime_first, sizeof runtime_first, name)) {
      runtime_first[0] = '\0';
      why = "LD_PRELOAD cannot hold the path of its AddressSanitizer";
    }
    return false;
  });
  return why;
}

// `path` takes the path of its dynamic linker. Its windows and those of check_linker() are never
// on the stack together.
__attribute__((noinline)) Reason check_elf(const File& file, const char* head, char* linker,
                                           char (&runtime_first)[kMostOfRuntime]) {
  Elf elf(file);
  if (Reason why = elf.read(head)) return why;
  if (!elf.has_linker()) {
    elf.read_dynamic();
    const char* soname = elf.soname();
    return soname && raw_is_same(soname, kGlibcLinker) ? kIsLinker : "statically linked";
  }
  if (Reason why = elf.linker(linker)) return why;
  if (elf.is_go_without_libc()) return "a Go program without libc";
  return check_sanitizers(&elf, runtime_first);
}

struct Look {
  char head[kScriptHead];
  char path[kScriptHead];  // the next interpreter; the dynamic linker
  bool is_script;
};
static_assert(Elf::kMostOfPath <= kScriptHead);

__attribute__((noinline)) Reason look_at(const Named& name, Look* look, ExecDecision* decision) {
  File file;
  look->is_script = false;
  if (Reason why = file.open(name)) return why;
  const long count = file.read(look->head, sizeof look->head, 0);
  if (count < 0) return "it may be run, but not read";
  for (size_t i = size_t(count); i < sizeof look->head; i++) look->head[i] = '\0';
  if (look->head[0] == '#' && look->head[1] == '!') {
    look->is_script = find_interpreter(look->head, look->path);
    return look->is_script ? nullptr : kExecFails;
  }
  if (!raw_starts_with(look->head, ELFMAG))
    return is_text(look->head, size_t(count)) ? kExecFails : "not an ELF program";
  if (Reason why = check_elf(file, look->head, look->path, decision->runtime_first)) return why;
  return check_rights(file);
}

// ld.so [OPTION...] PROGRAM [WORD...]: the program. Null where it is none that we find: without a
// slash it is looked for among libraries, and with `--list` nothing runs.
const char* program_of_linker(char* const* words) {
  constexpr const char* kWithValue[] = {
      "--library-path",         "--inhibit-rpath",    "--audit", "--preload", "--argv0",
      "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"};
  if (!exec_list_is_readable(words) || !words || !*words) return nullptr;
  for (words++; *words && raw_starts_with(*words, "--"); words++) {
    bool has_value = false;
    for (const char* option : kWithValue) has_value |= raw_is_same(*words, option);
    if (!has_value && !raw_is_same(*words, "--inhibit-cache")) return nullptr;
    if (has_value && !*++words) return nullptr;
  }
  return *words && raw_contains(*words, "/") ? *words : nullptr;
}

Reason look_behind_linker(char* const* words, Look* look, ExecDecision* decision) {
  const char* program = program_of_linker(words);
  const Reason why = program ? look_at({AT_FDCWD, program, 0}, look, decision) : kIsLinker;
  return why == kExecFails || look->is_script ? kIsLinker : why;
}

Reason look_through(const Named& name, const char* agent_path, char* const* words,
                    ExecDecision* decision) {
  Look look;
  Reason why = look_at(name, &look, decision);
  if (why == kIsLinker) why = look_behind_linker(words, &look, decision);
  for (int scripts = 1; !why && look.is_script; scripts++) {
    if (scripts > kMostScripts) return kExecFails;
    char path[kScriptHead];
    raw_copy(path, sizeof path, look.path);
    why = look_at({AT_FDCWD, path, 0}, &look, decision);
  }
  if (!why) why = check_linker(look.path);
  return why ? why : check_agent(agent_path);
}

}  // namespace

ExecDecision decide_exec(int dirfd, const char* path, int flags, const char* agent_path,
                         char* const* words) noexcept {
  ExecDecision decision;
  constexpr int kKnown = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
  // A null path is EFAULT for an exec, though newer kernels take it for the descriptor elsewhere.
  const Reason why = !path || (flags & ~kKnown)
                         ? kExecFails
                         : look_through({dirfd, path, flags}, agent_path, words, &decision);
  decision.follow = !why;
  if (why) decision.runtime_first[0] = '\0';
  decision.reason = why == kExecFails ? nullptr : why;
  return decision;
}

}  // namespace patchbay
