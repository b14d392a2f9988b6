// SPDX-License-Identifier: MIT
#include "attach/target_process.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace patchbay::attach {
namespace {

class Process {
 public:
  explicit Process(const std::function<void()>& run) : pid_(::fork()) {
    if (pid_ == 0) {
      run();
      ::_exit(0);
    }
    ::usleep(50000);
  }
  ~Process() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

std::string refusal(pid_t pid, const std::string& proc = "/proc") {
  const Status status = may_attach(pid, proc);
  return status.ok() ? "" : status.error().message();
}

void expect_refused(pid_t pid, const std::string& part, const std::string& proc = "/proc") {
  const std::string said = refusal(pid, proc);
  EXPECT_NE(said.find(part), std::string::npos) << said;
}

TEST(MayAttach, AProcessThatWaits) {
  Process process([] { ::pause(); });
  EXPECT_EQ(refusal(process.pid()), "");
}

TEST(MayAttach, ItselfNobodyAndTheKernelAreRefused) {
  expect_refused(::getpid(), "is this one");
  expect_refused(0x3fffff, "there is no process");
  if (::access("/proc/2/status", R_OK) != 0) GTEST_SKIP() << "no thread of the kernel is seen here";
  std::string name;
  std::ifstream("/proc/2/comm") >> name;
  if (name == "kthreadd") expect_refused(2, "is a thread of the kernel");
}

TEST(MayAttach, AZombieIsRefused) {
  Process process([] {});
  expect_refused(process.pid(), "has ended");
}

TEST(MayAttach, AProcessWithoutItsFirstThreadIsRefused) {
  Process process([] {
    pthread_t thread;
    ::pthread_create(
        &thread, nullptr, [](void*) -> void* { return ::pause(), nullptr; }, nullptr);
    ::syscall(SYS_exit, 0);  // as pthread_exit(), of this thread alone
  });
  const std::string status = "/proc/" + std::to_string(process.pid()) + "/status";
  const auto has_ended = [&] {
    std::ifstream file(status);
    return std::string(std::istreambuf_iterator<char>(file), {}).find("State:\tZ") !=
           std::string::npos;
  };
  for (int i = 0; i < 2000 && !has_ended(); i++) ::usleep(10000);
  expect_refused(process.pid(), "goes on without its first thread");
}

TEST(MayAttach, AStoppedOneIsRefused) {
  Process process([] { ::raise(SIGSTOP); });
  expect_refused(process.pid(), "kill -CONT");
}

TEST(MayAttach, ATracedOneIsRefused) {
  Process process([] { ::pause(); });
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, process.pid(), 0, 0), 0);
  expect_refused(process.pid(), "is traced by process " + std::to_string(::getpid()));
}

// A /proc of our own says what this machine does not have.
class MadeUpProc : public testing::Test {
 protected:
  MadeUpProc() {
    char name[] = "/tmp/patchbay-proc.XXXXXX";
    root_ = ::mkdtemp(name);
    std::filesystem::create_directories(root_ + "/77");
    std::filesystem::create_directories(root_ + "/sys/kernel/yama");
    write("77/stat", "77 (a) b) S 1 77 77 0 -1 4194560 1 2 3");
    write("77/status", "Name:\ta) b\nState:\tS (sleeping)\nTracerPid:\t0\nSeccomp:\t0\n");
  }
  ~MadeUpProc() override { std::filesystem::remove_all(root_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ + "/" + name) << text;
  }
  // An ELF header, and one program header of PT_INTERP when there is a name.
  void write_program(uint8_t bits, uint8_t machine, const std::string& interpreter) const {
    std::string file(64 + 56, '\0');
    file.replace(0, 4,
                 "\x7f"
                 "ELF");
    file[4] = char(bits);
    file[5] = file[6] = 1;
    file[16] = 3;
    file[18] = char(machine);
    file[32] = 64;
    file[54] = 56;
    file[56] = interpreter.empty() ? 0 : 1;
    file[52] = 64;
    file[64] = 3;
    file[64 + 8] = 120;
    file[64 + 32] = char(interpreter.size() + 1);
    write("77/exe", file + interpreter + '\0');
  }
  std::string root_;
};

TEST_F(MadeUpProc, ProgramsThatCannotTakeTheAgent) {
  write_program(2, 62, "/lib64/ld-linux-x86-64.so.2");
  EXPECT_EQ(refusal(77, root_), "");
  write_program(2, 62, "");  // also a static-pie
  expect_refused(77, "is a static program", root_);
  write("77/maps", "7f00-7f01 r-xp 00000000 08:01 5 /lib/libc.so.6\n");  // ld.so PROGRAM
  EXPECT_EQ(refusal(77, root_), "");
  write("77/maps", "");
  write_program(2, 62, "/lib/ld-musl-x86_64.so.1");
  expect_refused(77, "runs with musl", root_);
  write_program(1, 3, "/lib/ld-linux.so.2");
  expect_refused(77, "is not a 64-bit x86 program", root_);
  write_program(2, 183, "/lib/ld-linux-aarch64.so.1");
  expect_refused(77, "is not a 64-bit x86 program", root_);
  write_program(1, 62, "/libx32/ld-linux-x32.so.2");
  expect_refused(77, "is an x32 program", root_);
  write("77/exe", "#!/bin/sh\n");
  expect_refused(77, "does not run an ELF program", root_);
}

TEST_F(MadeUpProc, StatesThatForbidIt) {
  write_program(2, 62, "/lib64/ld-linux-x86-64.so.2");
  write("77/status", "Name:\ta\nState:\tS (sleeping)\nTracerPid:\t5\nSeccomp:\t0\n");
  expect_refused(77, "is traced by process 5", root_);
  write("77/status", "Name:\ta\nState:\tS (sleeping)\nTracerPid:\t0\nSeccomp:\t1\n");
  expect_refused(77, "strict mode of seccomp", root_);
  // A thread of it may have its own.
  write("77/status", "Name:\ta\nTgid:\t77\nState:\tS (sleeping)\nTracerPid:\t0\nSeccomp:\t0\n");
  std::filesystem::create_directories(root_ + "/77/task/78");
  write("77/task/78/status", "Name:\tb\nState:\tS\nTracerPid:\t0\nSeccomp:\t1\n");
  expect_refused(77, "strict mode of seccomp", root_);
  std::filesystem::create_directories(root_ + "/5");
  write("5/comm", "gdb\n");
  write("77/task/78/status", "Name:\tb\nState:\tS\nTracerPid:\t5\nSeccomp:\t0\n");
  expect_refused(77, "is traced by process 5 (gdb): end that", root_);
  write("77/status", "Name:\ta\nTgid:\t70\nState:\tS (sleeping)\nTracerPid:\t0\n");
  expect_refused(77, "77 is a thread of process 70", root_);
  write("77/stat", "77 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0");
  expect_refused(77, "is a thread of the kernel", root_);
}

TEST_F(MadeUpProc, TheInitOfTheMachineButNotThatOfAContainer) {
  std::filesystem::rename(root_ + "/77", root_ + "/1");
  std::filesystem::create_directories(root_ + "/self/ns");
  std::filesystem::create_symlink("pid:[4026531836]", root_ + "/self/ns/pid");
  expect_refused(1, "is the init of this machine", root_);
  std::filesystem::remove(root_ + "/self/ns/pid");
  std::filesystem::create_symlink("pid:[4026532000]", root_ + "/self/ns/pid");
  expect_refused(1, "has ended", root_);  // it has no program here
}

TEST_F(MadeUpProc, Sanitizers) {
  write_program(2, 62, "/lib64/ld-linux-x86-64.so.2");
  write("77/maps", "7f00-7f01 r-xp 00000000 08:01 5 /lib/libtsan.so.2\n");
  expect_refused(77, "is built with -fsanitize=thread", root_);
  write("77/maps", "7f00-7f01 r-xp 00000000 08:01 5 /lib/libasan.so.8\n");
  EXPECT_EQ(refusal(77, root_), "");
}

// What a user without rights is told. The answers depend on who asks: a child becomes nobody.
TEST_F(MadeUpProc, OtherUsersAndYama) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  ::chmod(root_.c_str(), 0755);
  ASSERT_EQ(::chown((root_ + "/77").c_str(), 65534, 65534), 0);
  write_program(2, 62, "/lib64/ld-linux-x86-64.so.2");
  const std::string status = "Name:\ta\nState:\tS\nTracerPid:\t0\nSeccomp:\t0\nUid:\t";
  std::string more;
  const auto as_nobody = [&](const std::string& uid, const std::string& yama, const char* part) {
    write("77/status", status + uid + "\t" + uid + "\t" + uid + "\t" + uid + "\n" + more);
    write("sys/kernel/yama/ptrace_scope", yama + "\n");
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0)
        ::_exit(2);
      const std::string said = refusal(77, root_);
      ::_exit(*part ? said.find(part) == said.npos : !said.empty());
    }
    int ended = -1;
    ::waitpid(child, &ended, 0);
    EXPECT_EQ(ended, 0) << part;
  };
  as_nobody("0", "0", "is another user's");
  as_nobody("65534", "0", "");
  as_nobody("65534", "1", "PR_SET_PTRACER");
  as_nobody("65534", "2", "CAP_SYS_PTRACE");
  as_nobody("65534", "3", "until the next boot");
  more = "Gid:\t65534\t0\t0\t0\n";
  as_nobody("65534", "0", "another user or group");
  more = "Gid:\t65534\t65534\t65534\t65534\nCapPrm:\t0000000000000400\n";
  as_nobody("65534", "0", "has capabilities");
  more = "";
  std::filesystem::create_directories(root_ + "/77/ns");
  std::filesystem::create_symlink("user:[1]", root_ + "/77/ns/user");
  as_nobody("65534", "0", "is in another user namespace");
  std::filesystem::remove_all(root_ + "/77/ns");
  ASSERT_EQ(::chown((root_ + "/77").c_str(), 0, 0), 0);
  as_nobody("65534", "0", "is not dumpable");
  // Root, and who has the capability, may all that but the last.
  write("sys/kernel/yama/ptrace_scope", "2\n");
  EXPECT_EQ(refusal(77, root_), "");
  write("sys/kernel/yama/ptrace_scope", "3\n");
  expect_refused(77, "until the next boot", root_);
}

TEST(TargetLibc, HasTheFunctionsOfTheProcess) {
  Process process([] { ::pause(); });
  auto libc = TargetLibc::find(process.pid());
  ASSERT_TRUE(libc.ok()) << libc.error().message();
  // The child is our fork: its libc is where ours is. A sanitizer stands in front with functions of
  // its own.
  void* const ours = ::dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(ours, nullptr);
  for (const char* name : {"pthread_create", "getppid"})
    EXPECT_EQ(libc->function(name), reinterpret_cast<uint64_t>(::dlsym(ours, name))) << name;
  ::dlclose(ours);
  EXPECT_EQ(libc->function("no such function"), 0u);
  const auto* code = reinterpret_cast<const uint8_t*>(libc->syscall_instruction());
  EXPECT_EQ(code[0], 0x0f);
  EXPECT_EQ(code[1], 0x05);
  EXPECT_TRUE(libc->has_code(libc->syscall_instruction()));
}

TEST(SystemCall, TheTextOfTheKernel) {
  long number = 0;
  uint64_t pc = 0;
  EXPECT_TRUE(parse_syscall("0 0x3 0x7f 0x1 0x0 0x0 0x0 0x7ffd12 0x7f55aa\n", &number, &pc));
  EXPECT_EQ(number, 0);
  EXPECT_EQ(pc, 0x7f55aau);
  EXPECT_FALSE(parse_syscall("running\n", &number, &pc));
  EXPECT_FALSE(parse_syscall("-1 0x7ffd12 0x7f55aa\n", &number, &pc));
  EXPECT_FALSE(parse_syscall("", &number, &pc));
  EXPECT_TRUE(is_harmless_wait(SYS_epoll_wait));
  EXPECT_FALSE(is_harmless_wait(SYS_futex));
  EXPECT_FALSE(is_harmless_wait(SYS_mmap));
}

}  // namespace
}  // namespace patchbay::attach
