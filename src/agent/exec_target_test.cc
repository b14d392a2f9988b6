// SPDX-License-Identifier: MIT
//
// Each row is a real file, and the judge is the kernel with its dynamic linker: what is said of an
// exec is compared with what the exec does when LD_PRELOAD names a library that is not there. The
// dynamic linker that listens to it complains.
#include "agent/exec_target.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/testing.h"

namespace patchbay {
namespace {

constexpr uid_t kNobody = 65534;
constexpr char kTrue[] = "/bin/true";

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

enum class Outcome : uint8_t { kFails, kListens, kIsDeaf };
std::ostream& operator<<(std::ostream& out, Outcome outcome) {
  const char* const names[] = {"the exec fails", "LD_PRELOAD counts", "LD_PRELOAD is ignored"};
  return out << names[size_t(outcome)];
}

struct Seen {
  bool follow;
  char reason[96];
  char runtime_first[kMostOfRuntime];
  int open_descriptors;  // more than before
  int errno_after;
  bool exec_failed;
  Outcome outcome;
};

int count_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 256; fd++) count += ::fcntl(fd, F_GETFD) >= 0;
  return count;
}

class ExecTargetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/patchbay.exec_target.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    dir_ = name;
    ASSERT_EQ(::chmod(name, 0755), 0);
    agent_ = make("agent.so", "not looked into", 0644);
    shared_ = static_cast<Seen*>(
        ::mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  void TearDown() override {
    ::munmap(shared_, sizeof(Seen));
    ASSERT_EQ(std::system(("rm -rf " + dir_).c_str()), 0);
  }

  std::string make(const std::string& name, const std::string& bytes, mode_t mode = 0755) {
    const std::string path = dir_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }

  // In a child: decides, and then does it. `prepare` makes the child what it has to be.
  Seen try_exec(int dirfd, const std::string& path, int flags,
                const std::function<void()>& prepare = nothing) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    *shared_ = {};
    const pid_t child = ::fork();
    if (child == 0) {
      prepare();
      decide(dirfd, path, flags);
      ::dup2(ends[1], STDERR_FILENO);
      char preload[] = "LD_PRELOAD=/nonexistent/patchbay_test.so";
      char* const argv[] = {const_cast<char*>(path.c_str()), nullptr};
      char* const envp[] = {preload, nullptr};
      ::execveat(dirfd, path.c_str(), argv, envp, flags);
      shared_->exec_failed = true;
      ::_exit(0);
    }
    ::close(ends[1]);
    std::string said;
    char part[512];
    for (ssize_t count; (count = ::read(ends[0], part, sizeof part)) > 0;)
      said.append(part, size_t(count));
    ::close(ends[0]);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    shared_->outcome = shared_->exec_failed                                      ? Outcome::kFails
                       : said.find("/nonexistent/patchbay_test.so") != said.npos ? Outcome::kListens
                                                                                 : Outcome::kIsDeaf;
    EXPECT_EQ(shared_->open_descriptors, 0) << path;
    EXPECT_EQ(shared_->errno_after, 77) << path;
    return *shared_;
  }

  void decide(int dirfd, const std::string& path, int flags) {
    const int before = count_descriptors();
    errno = 77;
    const ExecDecision decision = decide_exec(dirfd, path.c_str(), flags, agent_.c_str());
    shared_->errno_after = errno;
    shared_->open_descriptors = count_descriptors() - before;
    shared_->follow = decision.follow;
    ::strcpy(shared_->reason, decision.reason ? decision.reason : "");
    ::strcpy(shared_->runtime_first, decision.runtime_first);
  }

  using Prepare = std::function<void()>;
  static void nothing() {}
  void expect_followed(const std::string& path, const Prepare& prepare = nothing) {
    const Seen seen = try_exec(AT_FDCWD, path, 0, prepare);
    EXPECT_TRUE(seen.follow) << path << ": " << seen.reason;
    EXPECT_EQ(seen.outcome, Outcome::kListens) << path;
  }
  void expect_failing(const std::string& path, const Prepare& prepare = nothing) {
    const Seen seen = try_exec(AT_FDCWD, path, 0, prepare);
    EXPECT_FALSE(seen.follow) << path;
    EXPECT_STREQ(seen.reason, "") << path;
    EXPECT_EQ(seen.outcome, Outcome::kFails) << path;
  }
  void expect_refused(const std::string& path, const char* reason,
                      const Prepare& prepare = nothing) {
    EXPECT_EQ(expect_reason(path, reason, prepare), Outcome::kIsDeaf) << path;
  }
  // What becomes of the exec depends on this machine, or is no question of LD_PRELOAD.
  Outcome expect_reason(const std::string& path, const char* reason,
                        const Prepare& prepare = nothing) {
    const Seen seen = try_exec(AT_FDCWD, path, 0, prepare);
    EXPECT_FALSE(seen.follow) << path;
    EXPECT_STREQ(seen.reason, reason) << path;
    return seen.outcome;
  }

  std::string dir_, agent_;
  Seen* shared_ = nullptr;
};

// --- an ELF file's parts, to be changed

Elf64_Ehdr& header_of(std::string& file) { return *reinterpret_cast<Elf64_Ehdr*>(file.data()); }

Elf64_Phdr& segment_of(std::string& file, uint32_t type) {
  auto* segment = reinterpret_cast<Elf64_Phdr*>(file.data() + header_of(file).e_phoff);
  while (segment->p_type != type) segment++;
  return *segment;
}

std::string with_linker(const std::string& linker) {
  std::string file = read_file(kTrue);
  Elf64_Phdr& segment = segment_of(file, PT_INTERP);
  segment.p_offset = file.size(), segment.p_filesz = segment.p_memsz = linker.size() + 1;
  return file + linker + '\0';
}

std::string linker_of(std::string file) {
  return file.c_str() + segment_of(file, PT_INTERP).p_offset;
}

void replace(std::string& file, const std::string& old, const std::string& by) {
  ASSERT_EQ(old.size(), by.size());
  const size_t at = file.find(old);
  ASSERT_NE(at, file.npos);
  file.replace(at, old.size(), by);
}

// False: there is no such compiler here, or it has no such libraries.
bool compile(const std::string& command, const std::string& out) {
  const std::string source = out + ".c";
  std::ofstream(source) << "int main(void) { return 0; }\n";
  return std::system((command + " " + source + " -o " + out + " >/dev/null 2>&1").c_str()) == 0;
}

void become_nobody() {
  if (::setresgid(kNobody, kNobody, kNobody) || ::setresuid(kNobody, kNobody, kNobody)) ::_exit(9);
}

// --- rows

TEST_F(ExecTargetTest, ProgramsThatTakeTheAgent) {
  const std::string true_bytes = read_file(kTrue), linker = linker_of(true_bytes);
  expect_followed(kTrue);
  expect_followed(make("copy", true_bytes));
  expect_followed(make("other_linker", with_linker(make("my_ld.so", read_file(linker)))));
  ASSERT_EQ(::symlink(kTrue, (dir_ + "/link").c_str()), 0);
  expect_followed(dir_ + "/link");
  expect_followed(make("script", "#!/bin/true\n"));
  expect_followed(make("blanks", "#! \t /bin/true \t an argument\n"));
  expect_followed(make("no_newline", "#!/bin/true"));
  expect_followed(make("with_nul", std::string("#!/bin/true\0x\n", 14)));
  expect_followed(make("long_argument", "#!/bin/true " + std::string(500, 'x')));
  if (compile("cc -no-pie", dir_ + "/no_pie")) expect_followed(dir_ + "/no_pie");
}

TEST_F(ExecTargetTest, ExecsThatFailByThemselves) {
  expect_failing(dir_ + "/nothing");
  expect_failing("");
  expect_failing(dir_);
  expect_failing("/dev/null");
  expect_failing(make("text", "echo hello\n"));
  expect_failing(make("empty", ""));
  expect_failing(make("short", "#"));
  expect_failing(make("no_name", "#! \t \n"));
  expect_failing(make("no_name_no_newline", "#!"));
  expect_failing(make("carriage_return", "#!/bin/true\r\n"));
  expect_failing(make("no_interpreter", "#!/nonexistent/interpreter\n"));
  expect_failing(make("folder", "#!/tmp\n"));
  expect_failing(make("cut", "#!/" + std::string(300, 'x') + "\n"));
  expect_failing(make("all_blank", "#!" + std::string(300, ' ') + "/bin/true\n"));
  expect_failing(make("no_linker", with_linker("/nonexistent/ld-linux-x86-64.so.2")));
  expect_failing(make("empty_linker", with_linker("")));
  expect_failing(make("text_linker", with_linker(make("text_ld", "echo"))));
  ASSERT_EQ(::mkfifo((dir_ + "/fifo").c_str(), 0755), 0);
  expect_failing(dir_ + "/fifo");  // and does not wait for a writer
  expect_failing(make("fifo_script", "#!" + dir_ + "/fifo\n"));
  ASSERT_EQ(::symlink("loop", (dir_ + "/loop").c_str()), 0);
  expect_failing(dir_ + "/loop");
}

// As deep as the kernel goes.
TEST_F(ExecTargetTest, ScriptsOfScripts) {
  std::string path = kTrue;
  for (int depth = 1; depth <= 7; depth++) {
    path = make("script" + std::to_string(depth), "#!" + path + "\n");
    if (depth <= 5)
      expect_followed(path);
    else
      expect_failing(path);
  }
  path = dir_ + "/self";
  expect_failing(make("self", "#!" + path + "\n"));
}

TEST_F(ExecTargetTest, NotExecutable) {
  expect_failing(make("mode", read_file(kTrue), 0644));
  expect_failing(make("script_mode", "#!/bin/true\n", 0644));
  expect_failing(make("interpreter_mode", "#!" + dir_ + "/mode\n"));
  if (::geteuid() != 0) GTEST_SKIP() << "the rest needs root";
  expect_failing(make("not_for_others", read_file(kTrue), 0744), become_nobody);
  expect_reason(make("not_readable", read_file(kTrue), 0711), "it may be run, but not read",
                become_nobody);
}

TEST_F(ExecTargetTest, DamagedHeaders) {
  const std::string good = read_file(kTrue);
  const auto damaged = [&](const char* name, const std::function<void(std::string&)>& damage) {
    std::string bytes = good;
    damage(bytes);
    expect_failing(make(name, bytes));
  };
  damaged("object", [](std::string& file) { header_of(file).e_type = ET_REL; });
  damaged("core", [](std::string& file) { header_of(file).e_type = ET_CORE; });
  damaged("entry_size", [](std::string& file) { header_of(file).e_phentsize = 32; });
  damaged("no_segments", [](std::string& file) { header_of(file).e_phnum = 0; });
  damaged("many_segments", [](std::string& file) { header_of(file).e_phnum = 0xffff; });
  damaged("far_segments", [](std::string& file) { header_of(file).e_phoff = INT64_MAX - 100; });
  damaged("negative", [](std::string& file) { header_of(file).e_phoff = ~0ull - 8; });
  damaged("cut_off", [](std::string& file) { file.resize(200); });
  damaged("header_cut", [](std::string& file) { file.resize(20); });
  damaged("linker_far",
          [](std::string& file) { segment_of(file, PT_INTERP).p_offset = uint64_t(1) << 62; });
  damaged("linker_negative",
          [](std::string& file) { segment_of(file, PT_INTERP).p_offset = ~0ull - 4; });
  damaged("linker_no_end", [](std::string& file) { segment_of(file, PT_INTERP).p_filesz = 4; });
  damaged("linker_one_byte", [](std::string& file) { segment_of(file, PT_INTERP).p_filesz = 1; });
  damaged("linker_large", [](std::string& file) { segment_of(file, PT_INTERP).p_filesz = 5000; });
}

// The dynamic section is the dynamic linker's: the kernel runs the program all the same.
TEST_F(ExecTargetTest, DamagedDynamicSections) {
  for (const uint64_t offset : {uint64_t(1) << 62, ~uint64_t(0) - 4, uint64_t(3)}) {
    std::string bytes = read_file(kTrue);
    segment_of(bytes, PT_DYNAMIC).p_offset = offset;
    expect_followed(make("dynamic", bytes));
  }
}

TEST_F(ExecTargetTest, OtherMachines) {
  std::string bytes = read_file(kTrue);
  header_of(bytes).e_machine = EM_AARCH64;
  expect_reason(make("aarch64", bytes), "a program for another machine");
  header_of(bytes).e_machine = EM_X86_64, header_of(bytes).e_ident[EI_CLASS] = ELFCLASS32;
  expect_reason(make("x32", bytes), "a program for another machine");
  header_of(bytes).e_machine = EM_386;
  expect_reason(make("i386", bytes), "a program for another machine");
  header_of(bytes).e_machine = EM_S390 << 8;
  header_of(bytes).e_ident[EI_CLASS] = ELFCLASS64, header_of(bytes).e_ident[EI_DATA] = ELFDATA2MSB;
  expect_reason(make("s390x", bytes), "a program for another machine");
  expect_reason(make("wasm", std::string("\0asm\1\0\0\0", 8)), "not an ELF program");
  expect_reason(make("dos", std::string("MZ\x90\0", 4)), "not an ELF program");
}

TEST_F(ExecTargetTest, StaticPrograms) {
  std::string bytes = read_file(kTrue);
  segment_of(bytes, PT_INTERP).p_type = PT_NULL;
  expect_refused(make("no_interp", bytes), "statically linked");
  expect_refused(make("script", "#!" + dir_ + "/no_interp\n"), "statically linked");
  expect_refused(linker_of(read_file(kTrue)), "the dynamic linker itself");
  if (compile("cc -static", dir_ + "/static"))
    expect_refused(dir_ + "/static", "statically linked");
  if (compile("cc -static-pie", dir_ + "/static_pie"))
    expect_refused(dir_ + "/static_pie", "statically linked");
}

// Go's own linker asks for a dynamic linker where code may lie anywhere.
TEST_F(ExecTargetTest, GoProgramsWithoutLibc) {
  constexpr char kReason[] = "a Go program without libc";
  std::string bytes = read_file(kTrue);
  const Elf64_Phdr data = segment_of(bytes, PT_DYNAMIC);
  const Elf64_Phdr first = segment_of(bytes, PT_LOAD);
  std::string_view says("\xff Go buildinf:\x08\x02", 16);
  const size_t place = (first.p_filesz - 64) & ~size_t{15};  // behind what it needs there
  bytes.replace(place, says.size(), says);
  expect_followed(make("needs_libc", bytes));  // Go with C
  for (size_t at = data.p_offset; at < data.p_offset + data.p_filesz; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, &bytes[at], sizeof entry);
    if (entry.d_tag == DT_NEEDED) entry.d_tag = 0x60000000;  // nobody's
    std::memcpy(&bytes[at], &entry, sizeof entry);
  }
  expect_reason(make("needs_nothing", bytes), kReason);
  bytes[place] = 'x';
  expect_followed(make("no_go", bytes));
  const std::string text = "package main\nfunc main() {}\n";
  const std::string source = make("go.go", text), built = dir_ + "/go_pie";
  const std::string go = "cd " + dir_ +
                         " && CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=mod "
                         "GOCACHE=" +
                         dir_ + "/cache go build -buildmode=pie ";
  for (const char* flags : {"", "-ldflags='-s -w'", "-ldflags='-s -w -buildid='"})
    if (std::system((go + flags + " -o " + built + " " + source + " 2>/dev/null").c_str()) == 0)
      expect_reason(built, kReason);
}

// `ld.so PROGRAM`, with the words in the place of a path.
TEST_F(ExecTargetTest, TheDynamicLinkerAsAProgram) {
  const std::string linker = linker_of(read_file(kTrue));
  const std::string text = make("text", "echo\n"), script = make("script", "#!/bin/true\n");
  const std::string no_execution = make("no_execution", read_file(kTrue), 0644);
  const char* itself = "the dynamic linker itself";
  const struct {
    std::vector<std::string> words;
    const char* reason;  // null: it is followed
  } rows[] = {
      {{"ld.so", kTrue}, nullptr},
      {{"ld.so", kTrue, "--list"}, nullptr},
      {{"ld.so", "--library-path", "/lib", "--inhibit-cache", "--argv0", "--list", kTrue}, nullptr},
      {{"ld.so", "--list", kTrue}, itself},
      {{"ld.so", "--verify", kTrue}, itself},
      {{"ld.so", "--library-path"}, itself},
      {{"ld.so", "--preload", "/x.so"}, itself},
      {{"ld.so"}, itself},
      {{}, itself},
      {{"ld.so", "true"}, itself},
      {{"ld.so", "/nonexistent/program"}, itself},
      {{"ld.so", text}, itself},
      {{"ld.so", script}, itself},
      {{"ld.so", no_execution}, itself},
      {{"ld.so", linker}, itself},
  };
  for (const auto& row : rows) {
    std::vector<char*> words;
    for (const std::string& word : row.words) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const ExecDecision decision =
        decide_exec(AT_FDCWD, linker.c_str(), 0, agent_.c_str(), words.data());
    EXPECT_EQ(decision.follow, !row.reason) << row.words.size();
    EXPECT_STREQ(decision.reason ? decision.reason : "", row.reason ? row.reason : "");
  }
}

TEST_F(ExecTargetTest, OtherLibraries) {
  const std::string glibc = read_file(linker_of(read_file(kTrue)));
  std::string bytes = glibc;
  replace(bytes, std::string("ld-linux-x86-64.so.2\0", 21),
          std::string("ld-uclibc.so.1\0.....\0", 21));
  expect_reason(make("other", with_linker(make("ld-linux-x86-64.so.2", bytes))),
                "linked with another C library");
  bytes = glibc;
  replace(bytes, "ld-linux-x86-64.so.2", "libc.musl-x86_64.so1");
  expect_reason(make("musl_by_soname", with_linker(make("ld64.so", bytes))), "linked with musl");
  expect_reason(make("musl_by_name", with_linker(make("ld-musl-x86_64.so.1", bytes))),
                "linked with musl");
  const std::string deep = dir_ + "/" + std::string(200, 'd');
  ASSERT_EQ(::mkdir(deep.c_str(), 0755), 0);
  const std::string far = make(std::string(200, 'd') + "/" + std::string(60, 'l'), glibc);
  expect_reason(make("far", with_linker(far)), "the path of its dynamic linker is very long");
  if (compile("musl-gcc", dir_ + "/musl") && ::access("/lib/ld-musl-x86_64.so.1", X_OK) == 0)
    expect_reason(dir_ + "/musl", "linked with musl");
}

TEST_F(ExecTargetTest, Sanitizers) {
  const auto runtime = [&](const std::string& path) {
    const Seen seen = try_exec(AT_FDCWD, path, 0, nothing);
    EXPECT_TRUE(seen.follow) << path << ": " << seen.reason;
    return std::string(seen.runtime_first);
  };
  EXPECT_EQ(runtime(kTrue), "");
  if (compile("gcc -fsanitize=address", dir_ + "/asan")) {
    EXPECT_TRUE(runtime(dir_ + "/asan").starts_with("libasan.so."));
    EXPECT_EQ(runtime(make("script", "#!" + dir_ + "/asan\n")), runtime(dir_ + "/asan"));
  }
  if (compile("clang -fsanitize=address -shared-libasan", dir_ + "/clang_asan")) {
    EXPECT_TRUE(runtime(dir_ + "/clang_asan").starts_with("libclang_rt.asan"));
  }
  if (compile("clang -fsanitize=address", dir_ + "/static_asan")) {
    EXPECT_EQ(runtime(dir_ + "/static_asan"), "");
  }
  if (compile("clang -fsanitize=memory", dir_ + "/msan"))
    expect_reason(dir_ + "/msan", "built with -fsanitize=memory");
  // Many needed libraries before the one that counts, and many symbols in the table.
  const std::string lib = dir_ + "/libasan.so.99";
  if (compile("cc -shared -fPIC -Wl,-soname,libasan.so.99", lib) &&
      compile("cc -rdynamic -Wl,--no-as-needed -lm -ldl -lpthread " + lib, dir_ + "/needs")) {
    EXPECT_EQ(runtime(dir_ + "/needs"), "libasan.so.99");
  }
}

TEST_F(ExecTargetTest, DescriptorsAndFolders) {
  const int folder = ::open(dir_.c_str(), O_PATH | O_DIRECTORY);
  make("prog", read_file(kTrue));
  ASSERT_EQ(::symlink("prog", (dir_ + "/link").c_str()), 0);
  const auto expect = [&](int dirfd, const char* path, int flags, bool follow, Outcome outcome) {
    const Seen seen = try_exec(dirfd, path, flags, nothing);
    EXPECT_EQ(seen.follow, follow) << path << " " << flags << ": " << seen.reason;
    EXPECT_STREQ(seen.reason, "");
    EXPECT_EQ(seen.outcome, outcome) << path << " " << flags;
  };
  expect(folder, "prog", 0, true, Outcome::kListens);
  expect(folder, "link", 0, true, Outcome::kListens);
  expect(folder, "link", AT_SYMLINK_NOFOLLOW, false, Outcome::kFails);
  expect(folder, "prog", AT_SYMLINK_NOFOLLOW, true, Outcome::kListens);
  expect(folder, "", AT_EMPTY_PATH, false, Outcome::kFails);
  expect(folder, "prog", 0x40000000, false, Outcome::kFails);
  expect(-1, "prog", 0, false, Outcome::kFails);
  expect(-1, "/bin/true", 0, true, Outcome::kListens);
  for (const int mode : {O_RDONLY, O_PATH}) {
    const int prog = ::open((dir_ + "/prog").c_str(), mode);
    expect(prog, "", AT_EMPTY_PATH, true, Outcome::kListens);
    expect(prog, "", 0, false, Outcome::kFails);
    const std::string path = "/proc/self/fd/" + std::to_string(prog);
    expect(AT_FDCWD, path.c_str(), 0, true, Outcome::kListens);
    ::close(prog);
  }
  const int memory = ::memfd_create("prog", MFD_CLOEXEC);
  const std::string bytes = read_file(kTrue);
  ASSERT_EQ(::write(memory, bytes.data(), bytes.size()), ssize_t(bytes.size()));
  expect(memory, "", AT_EMPTY_PATH, true, Outcome::kListens);
  ::close(memory);
  ::close(folder);
}

TEST_F(ExecTargetTest, BadPointersAndNoDescriptors) {
  const char* bad = reinterpret_cast<const char*>(16);
  EXPECT_FALSE(decide_exec(AT_FDCWD, bad, 0, agent_.c_str()).follow);
  EXPECT_EQ(decide_exec(AT_FDCWD, bad, 0, agent_.c_str()).reason, nullptr);
  EXPECT_FALSE(decide_exec(AT_FDCWD, nullptr, AT_EMPTY_PATH, agent_.c_str()).follow);
  const int program = ::open(kTrue, O_RDONLY);
  EXPECT_FALSE(decide_exec(program, nullptr, AT_EMPTY_PATH, agent_.c_str()).follow);
  EXPECT_EQ(decide_exec(program, nullptr, AT_EMPTY_PATH, agent_.c_str()).reason, nullptr);
  ::close(program);
  EXPECT_STREQ(decide_exec(AT_FDCWD, linker_of(read_file(kTrue)).c_str(), 0, agent_.c_str(),
                           reinterpret_cast<char* const*>(16))
                   .reason,
               "the dynamic linker itself");
  EXPECT_EQ(test::status_of_child([this] {
              const rlimit none = {0, 0};
              ::setrlimit(RLIMIT_NOFILE, &none);
              const ExecDecision decision = decide_exec(AT_FDCWD, kTrue, 0, agent_.c_str());
              return decision.follow || !decision.reason ||
                     std::strcmp(decision.reason, "no descriptor was free to look at it") != 0;
            }),
            0);
}

TEST_F(ExecTargetTest, TheAgentItself) {
  const std::string there = agent_;
  agent_ = dir_ + "/nowhere/agent.so";
  expect_reason(kTrue, "the agent is not in its root directory");
  agent_ = there + "/agent.so";
  expect_reason(kTrue, "the agent is not in its root directory");
  agent_ = dir_;
  expect_reason(kTrue, "its user cannot read the agent");
  agent_ = there;
  if (::geteuid() != 0) GTEST_SKIP() << "the rest needs root";
  ASSERT_EQ(::chmod(agent_.c_str(), 0600), 0);
  expect_followed(kTrue);
  expect_reason(kTrue, "its user cannot read the agent", become_nobody);
  // A root directory of its own that has all but the agent.
  if (compile("cc -static", dir_ + "/static")) {
    expect_refused("/static", "statically linked", [this] {
      if (::chroot(dir_.c_str()) != 0 || ::chdir("/") != 0) ::_exit(9);
    });
  }
}

// --- rights

class ExecRights : public ExecTargetTest {
 protected:
  void SetUp() override {
    ExecTargetTest::SetUp();
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const std::string bytes = read_file(kTrue);
    for (const uid_t owner : {0u, 1u, kNobody}) {
      const std::string suffix = std::to_string(owner);
      for (const mode_t mode : {04755u, 02755u, 02745u, 06755u}) {
        char octal[8];
        std::snprintf(octal, sizeof octal, "%o", mode);
        const std::string path = make(octal + ("_" + suffix), bytes);
        ASSERT_EQ(::chown(path.c_str(), owner, owner), 0);
        ASSERT_EQ(::chmod(path.c_str(), mode), 0);
      }
    }
  }
  std::string file(const char* name) const { return dir_ + "/" + name; }
};

TEST_F(ExecRights, SetIdBits) {
  const char* set_user = "a set-user-id program";
  const char* set_group = "a set-group-id program";
  expect_refused(file("4755_1"), set_user);
  expect_refused(file("2755_1"), set_group);
  expect_refused(file("6755_1"), set_user);
  expect_followed(file("2745_1"));  // no execution for the group: it asks for locks of files
  expect_followed(file("4755_0"));  // root that becomes root
  expect_followed(file("2755_0"));
  expect_refused(file("4755_0"), set_user, become_nobody);
  expect_refused(file("2755_0"), set_group, become_nobody);
  expect_followed(file("4755_65534"), become_nobody);
  expect_followed(file("6755_65534"), become_nobody);
  const std::string script = make("script", "#!/bin/true\n", 06755);
  ASSERT_EQ(::chown(script.c_str(), 1, 1), 0);
  ASSERT_EQ(::chmod(script.c_str(), 06755), 0);
  expect_followed(script);  // bits of scripts say nothing
  expect_refused(make("of_set_id", "#!" + file("4755_1") + "\n"), set_user);
}

TEST_F(ExecRights, NoNewPrivileges) {
  const auto no_new = [] { ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); };
  expect_followed(file("4755_1"), no_new);
  expect_followed(file("2755_1"), no_new);
  expect_followed(file("4755_0"), [&] { no_new(), become_nobody(); });
}

TEST_F(ExecRights, NosuidMount) {
  const auto mounted = [this](unsigned long flags) {
    return [this, flags] {
      if (::unshare(CLONE_NEWNS) || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
          ::mount(dir_.c_str(), dir_.c_str(), nullptr, MS_BIND, nullptr) ||
          ::mount(nullptr, dir_.c_str(), nullptr, MS_REMOUNT | MS_BIND | flags, nullptr))
        ::_exit(9);
    };
  };
  if (const pid_t child = ::fork(); child == 0) {
    mounted(MS_NOSUID)();
    ::_exit(0);
  } else {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) GTEST_SKIP() << "nothing may be mounted here";
  }
  expect_followed(file("4755_1"), mounted(MS_NOSUID));
  expect_followed(file("2755_1"), mounted(MS_NOSUID));
  expect_failing(file("2745_1"), mounted(MS_NOEXEC));
}

TEST_F(ExecRights, OtherRightsThanTheUsers) {
  const char* other = "the process has other rights than its user";
  expect_refused(kTrue, other, [] { (void)!::setresuid(0, kNobody, 0); });
  expect_refused(kTrue, other, [] { (void)!::setresuid(kNobody, 0, 0); });
  expect_refused(kTrue, other, [] { (void)!::setresgid(0, kNobody, 0); });
  expect_followed(kTrue, [] { (void)!::setresuid(kNobody, kNobody, 0); });
  expect_followed(kTrue, become_nobody);
  // The bit makes the effective user the real one again.
  expect_followed(file("4755_65534"), [] {
    ::prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
    become_nobody();
  });
}

TEST_F(ExecRights, FileCapabilities) {
  // struct vfs_cap_data, revision 2, effective: CAP_NET_BIND_SERVICE.
  const uint32_t capability[5] = {0x02000001, 1 << 10, 0, 0, 0};
  const std::string path = make("capable", read_file(kTrue));
  if (::setxattr(path.c_str(), "security.capability", capability, sizeof capability, 0) != 0)
    GTEST_SKIP() << "no file capabilities here: " << std::strerror(errno);
  expect_refused(path, "a program with file capabilities", become_nobody);
  expect_refused(make("script", "#!" + path + "\n"), "a program with file capabilities",
                 become_nobody);
  expect_followed(path);  // root has them all
}

// --- where it runs

struct OnStack {
  const char *path, *agent;
  ucontext_t caller, context;
  bool follow;
} g_on_stack;

void decide_on_stack() {
  g_on_stack.follow = decide_exec(AT_FDCWD, g_on_stack.path, 0, g_on_stack.agent).follow;
}

// The child of posix_spawn() has 32 KB for all that is done there.
TEST_F(ExecTargetTest, OnASmallStack) {
  const std::string script = make("script", "#!/bin/true\n");
  static uint8_t stack[32768];
  std::memset(stack, 0xa5, sizeof stack);
  g_on_stack.path = script.c_str(), g_on_stack.agent = agent_.c_str();
  ASSERT_EQ(::getcontext(&g_on_stack.context), 0);
  g_on_stack.context.uc_stack = {stack, 0, sizeof stack};
  g_on_stack.context.uc_link = &g_on_stack.caller;
  ::makecontext(&g_on_stack.context, decide_on_stack, 0);
  ASSERT_EQ(::swapcontext(&g_on_stack.caller, &g_on_stack.context), 0);
  size_t untouched = 0;
  while (untouched < sizeof stack && stack[untouched] == 0xa5) untouched++;
  EXPECT_TRUE(g_on_stack.follow);
  EXPECT_LT(sizeof stack - untouched, 6u * 1024);
  RecordProperty("stack", int(sizeof stack - untouched));
}

// A file that is cut while it is looked at: whatever is said, it ends.
TEST_F(ExecTargetTest, AFileThatShrinks) {
  const std::string bytes = read_file(kTrue), path = make("shrinks", bytes);
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) {
      (void)!::truncate(path.c_str(), 700);
      const int fd = ::open(path.c_str(), O_WRONLY);
      (void)!::write(fd, bytes.data(), bytes.size());
      ::close(fd);
    }
  }
  int followed = 0;
  for (int i = 0; i < 2000; i++)
    followed += decide_exec(AT_FDCWD, path.c_str(), 0, agent_.c_str()).follow;
  EXPECT_GT(followed, 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace patchbay
