// SPDX-License-Identifier: MIT
#include "cmd/target/prototypes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace patchbay::cmd {
namespace {

class Folder {
 public:
  Folder() {
    std::string made = ::testing::TempDir() + "prototypes.XXXXXX";
    if (!::mkdtemp(made.data())) std::abort();
    path_ = made;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The text of `value` of the parameter `name` of a function, as its file has it.
std::string shown(const PrototypeFiles& files, const std::string& function,
                  const std::string& parameter, uint64_t value) {
  const PrototypeFiles::Entry* entry = files.find(function, "");
  if (!entry) return "no " + function;
  Result<CDeclaration> declaration = parse_c_declaration(entry->declaration);
  if (!declaration.ok()) return declaration.error().message();
  const FunctionLine made = function_line(*declaration, *entry->types, function);
  const SharedValueNames names = made.names.of(parameter);
  return names ? names->text(value, 4, true) : made.line;
}

TEST(PrototypeFiles, HaveEnumerationsOfTheirOwn) {
  const Folder folder;
  folder.write(
      "a.h",
      "enum mode { OFF, ON };\nenum both { HERE = 3 };\nint set(enum mode m, enum both b);\n");
  folder.write("b.h", "enum mode { SLOW, FAST };\nint run(enum mode m, enum both b);\n");
  folder.write("c.h", "enum wrong { A = };\nint f(enum wrong w);\nenum mode g(int n);\n");
  const PrototypeFiles files = PrototypeFiles::read_from({folder.path()});
  EXPECT_EQ(shown(files, "set", "m", 1), "ON");
  EXPECT_EQ(shown(files, "run", "m", 1), "FAST");
  EXPECT_EQ(shown(files, "run", "b", 3), "HERE");
  EXPECT_EQ(shown(files, "f", "w", 0), "f(int w)");
  ASSERT_EQ(files.problems().size(), 1u);
  EXPECT_EQ(files.problems()[0], folder.path() +
                                     "/c.h:1: A value has to stand here:\n"
                                     "enum wrong { A = };\n                 ^");
}

// Those that come with patchbay, beside the tests.
TEST(PrototypeFiles, OfPatchbayAreRight) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string folder = self.parent_path().parent_path() / "share/patchbay/prototypes";
  const PrototypeFiles files = PrototypeFiles::read_from({folder});
  EXPECT_EQ(files.problems(), std::vector<std::string>{});
  static constexpr struct {
    const char *function, *parameter;
    uint64_t value;
    const char* expected;
  } kRows[] = {
      {"open", "oflag", 0x80000, "O_RDONLY|O_CLOEXEC"},
      {"mmap", "prot", 3, "PROT_READ|PROT_WRITE"},
      {"mmap", "flags", 0x22, "MAP_PRIVATE|MAP_ANONYMOUS"},
      {"socket", "domain", 1, "AF_UNIX"},
      {"socket", "type", 0x80005, "SOCK_SEQPACKET|SOCK_CLOEXEC"},
      {"kill", "sig", 6, "SIGABRT"},
      {"kill", "sig", 17, "SIGCHLD"},
      {"lseek", "whence", 2, "SEEK_END"},
      {"openat", "fd", uint64_t(-100), "AT_FDCWD"},
      {"deflate", "flush", 4, "Z_FINISH"},
      {"sqlite3_open_v2", "flags", 6, "SQLITE_OPEN_READWRITE|SQLITE_OPEN_CREATE"},
      {"SSL_CTX_set_verify", "mode", 1, "SSL_VERIFY_PEER"},
      // Overloads by their types, and the first of them by the name alone.
      {"operator new", "", 0, "operator new(u64 arg1)"},
      {"operator delete(void*, unsigned long)", "", 0,
       "operator delete(void*, unsigned long)(x64 arg1, u64 arg2)"},
      {"std::terminate", "", 0, "std::terminate()"},
      {"getrlimit", "resource", 7, "RLIMIT_NOFILE"},
      {"printf", "", 0, "printf(string format, ...)"},
      {"__snprintf_chk", "", 0,
       "__snprintf_chk(x64 s, u64 n, int flag, u64 slen, string format, ...)"},
      {"ioctl", "request", 0x5413, "TIOCGWINSZ"},
      {"syscall", "sysno", 186, "SYS_gettid"},
  };
  for (const auto& row : kRows)
    EXPECT_EQ(shown(files, row.function, row.parameter, row.value), row.expected) << row.function;
}

// Of a file no more is read than what is asked for.
TEST(PrototypeFiles, AreSearchedForAName) {
  const Folder folder;
  folder.write("a.h",
               "// library: liba.so.1\n// int f(int in_a_comment);\nint ff(int n);\n"
               "int g(int (*f)(int)); // errno; mode_t m if n & 1\n// library: libb.so.2\n"
               "long f(long n);\nint operator new(long a);\nint operator new(int a);");
  folder.write("b.h", "typedef int h(int);\nchar f(char c); // errno\n");
  const PrototypeFiles files = PrototypeFiles::read_from({folder.path()});
  const auto declared = [&](const char* name, const char* library) {
    const PrototypeFiles::Entry* const entry = files.find(name, library);
    return entry ? entry->declaration : "none";
  };
  EXPECT_EQ(declared("f", ""), "long f(long n);");
  EXPECT_EQ(declared("f", "liba.so.1"), "long f(long n);");
  EXPECT_EQ(declared("f", "libc.so.6"), "char f(char c);");
  EXPECT_EQ(declared("g", "libb.so.2"), "none");
  EXPECT_EQ(declared("g", "liba.so.1.5"), "int g(int (*f)(int));");
  EXPECT_EQ(files.find("g", "")->rest, " mode_t m if n & 1");
  EXPECT_EQ(files.find("g", "")->failure, FailureSign::kErrno);
  EXPECT_EQ(files.find("f", "libb.so.2")->libraries,
            (std::vector<std::string>{"liba.so.1", "libb.so.2"}));
  EXPECT_EQ(declared("h", ""), "none");
  EXPECT_EQ(declared("", ""), "none");
  EXPECT_EQ(declared("operator new(int)", ""), "int operator new(int a);");
  EXPECT_EQ(declared("operator new", ""), "int operator new(long a);");
}

}  // namespace
}  // namespace patchbay::cmd
