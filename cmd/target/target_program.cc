// SPDX-License-Identifier: MIT
#include "cmd/target/target_program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "base/unique_fd.h"
#include "install_paths.h"
#include "symbol/elf_image.h"
#include "symbol/go_program.h"

namespace patchbay::cmd {
namespace {

constexpr int kMaxInterpreters = 4;  // as the kernel (fs/exec.c)
constexpr size_t kMaxHead = 256;     // BINPRM_BUF_SIZE: what the kernel looks at for `#!`
constexpr std::string_view kGlibcLinker = "ld-linux-x86-64.so.2";
constexpr std::string_view kAgentFile = "libpatchbay.so.0";  // libpatchbay.so is for linkers only
constexpr const char* kWhyPreload = "the agent cannot be preloaded into it";

bool is_executable_file(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

Result<std::string> search_path(const std::string& name) {
  const char* value = std::getenv("PATH");
  std::string_view rest = value ? value : "/usr/local/bin:/usr/bin:/bin";
  for (bool more = true; more;) {
    size_t end = rest.find(':');
    more = end != rest.npos;
    std::string directory(rest.substr(0, end));
    if (more) rest.remove_prefix(end + 1);
    std::string path = (directory.empty() ? "." : directory) + "/" + name;
    if (is_executable_file(path)) return path;
  }
  return user_error(ENOENT, "There is no program '" + name + "' in PATH.");
}

// Takes the next word off the line behind `#!`. Empty when there is none.
std::string take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
  std::string word(line.substr(0, line.find_first_of(" \t\r")));
  line.remove_prefix(word.size());
  return word;
}

std::string_view interpreter_line(std::string_view head) {
  return head.substr(2, head.find('\n') - 2);
}

std::string_view head_of(const FileMapping& file) {
  return {reinterpret_cast<const char*>(file.data()), std::min(file.size(), kMaxHead)};
}

const char* machine_name(unsigned machine) {
  switch (machine) {
    case EM_386:
      return "32-bit x86";
    case EM_ARM:
      return "32-bit ARM";
    case EM_AARCH64:
      return "AArch64";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "PowerPC 64";
    case EM_S390:
      return "s390";
    default:
      return "another processor";
  }
}

Error cannot(const std::string& path, const std::string& reason,
             const char* consequence = kWhyPreload) {
  return user_error(ENOEXEC, path + " " + reason + ": " + consequence + ".");
}

Status check_privileges(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return sys_error("look at " + path, errno);
  const char* ignored = "the dynamic linker does not preload the agent into it";
  if (status.st_mode & S_ISUID) return cannot(path, "is a set-user-id program", ignored);
  if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP))
    return cannot(path, "is a set-group-id program", ignored);
  if (::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    return cannot(path, "has file capabilities", ignored);
  }
  return {};
}

// The dynamic linker that a program asks for. Only glibc's loads an agent that is linked with
// glibc. Its file has many names (distributions keep it in folders of their own, with symbolic
// links); its soname is always the same.
Status check_dynamic_linker(const std::string& path, const FileMapping& file,
                            const Elf64_Phdr& segment) {
  if (segment.p_offset > file.size() || segment.p_filesz > file.size() - segment.p_offset)
    return cannot(path, "has a damaged ELF header");
  std::string linker(reinterpret_cast<const char*>(file.data()) + segment.p_offset,
                     segment.p_filesz);
  linker.resize(std::min(linker.find('\0'), linker.size()));
  if (linker.empty()) return {};
  Result<ElfFile> elf = open_elf(linker);
  if (!elf.ok() && elf.error().errno_value == ENOENT)
    return user_error(ENOENT, path + " asks for the dynamic linker " + linker +
                                  ", which is not there: it cannot be run.");
  if (elf.ok() ? elf->image.soname() == kGlibcLinker : elf.error().errno_value != ENOEXEC)
    return {};
  const bool is_musl = linker.find("musl") != linker.npos;
  return cannot(path, "is linked with " + std::string(is_musl ? "musl" : "another C library") +
                          " (its dynamic linker is " + linker + "), and the agent with glibc");
}

// One of Go's own linker has PT_INTERP where its code may lie anywhere, and no libc all the same.
Status check_go(const std::string& path, const FileMapping& file) {
  Result<ElfImage> image = ElfImage::from_file(file.bytes());
  if (!image.ok() || !is_go_without_libc(*image)) return {};
  return cannot(path, "is a Go program without libc",
                "its code runs on small stacks of Go's, where the agent has no room");
}

// Checks that the file asks for a dynamic linker (PT_INTERP). A file without one may run all the
// same (a static-pie has PT_DYNAMIC), but nobody preloads anything into it.
Status check_program_headers(const std::string& path, const FileMapping& file,
                             const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > file.size() ||
      header.e_phnum > (file.size() - header.e_phoff) / sizeof(Elf64_Phdr)) {
    return cannot(path, "has a damaged ELF header");
  }
  for (size_t i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_INTERP) continue;
    PB_TRY(check_dynamic_linker(path, file, segment));
    return check_go(path, file);
  }
  return cannot(path, "is statically linked");
}

}  // namespace

Result<ElfFile> open_elf(const std::string& path) {
  PB_ASSIGN(FileMapping bytes, FileMapping::open(path));
  Result<ElfImage> image = ElfImage::from_file(bytes.bytes());
  if (!image.ok()) return user_error(ENOEXEC, path + ": " + image.error().message());
  return ElfFile{std::move(bytes), std::move(*image)};
}

LinkedNames linked_names(const std::string& path) {
  Result<ElfFile> elf = open_elf(path);
  if (!elf.ok()) return {};
  return {elf->image.soname(), elf->image.needed_libraries()};
}

namespace {

// MemorySanitizer knows what the program has written, and nothing of what the agent has written. It
// takes each text that the agent prints for uninitialized, and ends the program.
Status check_sanitizer(const std::string& path, const FileMapping& file) {
  Result<ElfImage> image = ElfImage::from_file(file.bytes());
  if (!image.ok()) return {};
  const ElfSymbols symbols = image->dynsym();
  for (size_t i = 0; i < symbols.size(); i++) {
    if (symbols[i].st_shndx == SHN_UNDEF || !symbols.name_is(symbols[i], "__msan_init")) continue;
    return cannot(path, "is built with -fsanitize=memory",
                  "MemorySanitizer would take what the agent does for mistakes of the program, and "
                  "end it; record a build without");
  }
  return {};
}

Status check_elf(const std::string& path, const FileMapping& file) {
  Elf64_Ehdr header{};
  if (file.size() < EI_NIDENT + 4) return cannot(path, "is not a program");
  std::memcpy(&header, file.data(), std::min(file.size(), sizeof header));
  // e_machine stands at the same place in 32-bit files.
  bool little = header.e_ident[EI_DATA] == ELFDATA2LSB;
  unsigned machine = little ? header.e_machine : unsigned(__builtin_bswap16(header.e_machine));
  if (header.e_ident[EI_CLASS] == ELFCLASS32 && machine == EM_X86_64) {
    return cannot(path, "is an x32 program (64-bit processor, 32-bit pointers)");
  }
  if (machine != EM_X86_64)
    return cannot(path, std::string("is a program for ") + machine_name(machine));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || file.size() < sizeof header)
    return cannot(path, "is damaged");
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    return cannot(path, "is an object file, not a program");
  return check_program_headers(path, file, header);
}

// The ELF file that the kernel loads in the end, behind the interpreters of scripts.
Result<std::string> file_to_run(const std::string& path) {
  std::string file = path;
  for (int depth = 0; depth <= kMaxInterpreters; depth++) {
    if (::access(file.c_str(), X_OK) != 0) return sys_error("run " + file, errno);
    PB_ASSIGN(FileMapping bytes, FileMapping::open(file));
    std::string_view head = head_of(bytes);
    if (head.substr(0, 2) != "#!") {
      if (head.substr(0, 4) != "\177ELF")
        return cannot(file, "is neither an ELF program nor a script with `#!`");
      return file;
    }
    std::string_view line = interpreter_line(head);
    file = take_word(line);
    if (file.empty()) return cannot(path, "names no interpreter behind `#!`");
  }
  return cannot(path, "is a script of a script of a script …");
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  if (name.empty()) return user_error(ENOENT, "The program's name is empty.");
  if (name.find('/') == name.npos) return search_path(name);
  struct stat status;
  if (::stat(name.c_str(), &status) != 0) return sys_error("run " + name, errno);
  if (S_ISDIR(status.st_mode)) return user_error(EACCES, name + " is a directory, not a program.");
  return name;
}

Status check_program(const std::string& path) {
  PB_ASSIGN(std::string file, file_to_run(path));
  PB_ASSIGN(FileMapping bytes, FileMapping::open(file));
  PB_TRY(check_elf(file, bytes));
  PB_TRY(check_privileges(file));
  return check_sanitizer(file, bytes);
}

Result<std::string> elf_file_to_run(const std::string& path) { return file_to_run(path); }

std::string runtime_before_agent(const std::string& path, const std::string& preloaded) {
  Result<std::string> file = file_to_run(path);
  if (!file.ok()) return "";
  std::vector<std::string> names = linked_names(*file).needed;
  for (const std::string_view one : split_words(preloaded, ": ")) names.emplace_back(one);
  for (const std::string& name : names) {
    const std::string_view base = std::string_view(name).substr(name.rfind('/') + 1);
    if (base.starts_with("libasan.so") || base.starts_with("libclang_rt.asan")) return name;
  }
  return "";
}

std::vector<std::string> without_env(const std::string& path, std::vector<std::string> words) {
  Result<FileMapping> bytes = FileMapping::open(path);
  if (!bytes.ok() || head_of(*bytes).substr(0, 2) != "#!") return words;
  std::string_view line = interpreter_line(head_of(*bytes));
  std::string interpreter = take_word(line), name = take_word(line);
  if (interpreter.substr(interpreter.rfind('/') + 1) != "env" || name.empty() || name[0] == '-' ||
      name.find('=') != name.npos || !take_word(line).empty()) {
    return words;
  }
  words[0] = path;
  words.insert(words.begin(), name);
  return words;
}

Result<RecordedModule> module_of_file(const std::string& path) {
  PB_ASSIGN(const ElfFile elf, open_elf(path));
  RecordedModule module{UINT64_MAX, 0, 0, elf.image.build_id(), path};
  for (const Elf64_Phdr& segment : elf.image.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    module.start = std::min<uint64_t>(module.start, segment.p_vaddr);
    module.end = std::max<uint64_t>(module.end, segment.p_vaddr + segment.p_memsz);
  }
  if (module.start >= module.end) return user_error(ENOEXEC, path + " has nothing to load.");
  return module;
}

bool is_agent_file(std::string_view path) { return base_name(path).starts_with("libpatchbay.so"); }

std::string exe_of(pid_t pid) {
  char path[4096];
  ssize_t length = ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path, sizeof path);
  return std::string(path, length > 0 ? size_t(length) : 0);
}

Result<std::string> agent_beside(std::string_view folder_of_tool) {
  const std::string prefix(folder_of_tool.substr(0, folder_of_tool.rfind('/')));
  std::vector<std::string> folders;
  for (const std::string& name : {std::string(kInstallLibdir), std::string("lib"),
                                  std::string("lib64"), std::string("lib/x86_64-linux-gnu")}) {
    const std::string folder = name.starts_with('/') ? name : prefix + "/" + name;
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  }
  if (std::ranges::find(folders, kInstallFullLibdir) == folders.end())
    folders.emplace_back(kInstallFullLibdir);
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + std::string(kAgentFile);
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return user_error(ENOENT, "The agent " + std::string(kAgentFile) + " is in none of " +
                                join(folders, ", ") +
                                "; install it there (the package libpatchbay0 has it), or set "
                                "PATCHBAY_AGENT to its path.");
}

Result<std::string> find_agent() {
  if (const char* chosen = std::getenv("PATCHBAY_AGENT"); chosen && *chosen) {
    char real[PATH_MAX];
    if (!::realpath(chosen, real))
      return sys_error(std::string("PATCHBAY_AGENT: open ") + chosen, errno);
    return std::string(real);
  }
  char tool[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", tool, sizeof tool);
  if (length <= 0)
    return user_error(errno,
                      "This command does not know where its own file lies, since /proc is not "
                      "mounted here; mount it: mount -t proc proc /proc");
  const std::string_view file(tool, size_t(length));
  return agent_beside(file.substr(0, file.rfind('/')));
}

}  // namespace patchbay::cmd
