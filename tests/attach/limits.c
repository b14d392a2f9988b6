// SPDX-License-Identifier: MIT
// Processes that lack something: cases 41 to 46, 48, 50 to 52. Each makes itself small, waits until
// it is told, and then looks whether it still has what it had. limits WORD [ARGUMENT].
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "attach_case.h"

enum { kNobody = 65534, kSoSmall = 64 };

static void limit(int what, rlim_t value) {
  struct rlimit limits = {value, value};
  if (setrlimit((enum __rlimit_resource)what, &limits) != 0) not_offered("setrlimit");
}
static void* return_argument(void* argument) { return argument; }
// What a program may do at any time, and whether it works: the same before and after.
static void use_everything(void) {
  pthread_t thread;
  int pair[2];
  if (note("pthread_create", pthread_create(&thread, 0, return_argument, 0)) == 0)
    pthread_join(thread, 0);
  if (noted("pipe", pipe(pair)) == 0) close(pair[0]), close(pair[1]);
  void* block = malloc(100000);
  note("malloc", block ? 0 : errno);
  free(block);
}
static void wait_between(void) {
  use_everything();
  ready();
  wait_until_told();
  use_everything();
}

// --- 41: no descriptor is left
static void limit_nofile(const char* unused) {
  (void)unused;
  limit(RLIMIT_NOFILE, kSoSmall);
  while (dup(STDIN_FILENO) >= 0) {}
  note("dup", errno);
  wait_between();
  if (noted("dup", dup(STDIN_FILENO)) >= 0) wrong("there is room for a descriptor");
  for (int fd = 3; fd < kSoSmall; fd++)
    if (close(fd) != 0) wrong("descriptor %d is gone", fd);
}

// --- 42: hardly any address space is left
static void limit_as(const char* megabytes) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%lu", &pages) != 1) abort();
  fclose(file);
  limit(RLIMIT_AS, pages * 4096 + strtoul(megabytes, 0, 10) * 1048576);
  wait_between();
}

// --- 43: no thread is left; root has no such limit
static void become_nobody(void) {
  if (setgroups(0, 0) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
      setresuid(kNobody, kNobody, kNobody) != 0)
    not_offered("setresuid");
}
static void limit_nproc(const char* unused) {
  (void)unused;
  limit(RLIMIT_NPROC, 0);
  become_nobody();
  prctl(PR_SET_DUMPABLE, 1);
  wait_between();
}

// --- 45: no thread-local data for libraries that come late
static void limit_tls(const char* unused) {
  (void)unused;
  char path[8192] = "";
  if (readlink("/proc/self/exe", path, 4096) < 0) abort();
  strcat(dirname(path), "/tls_so.so");
  void* library = dlopen(path, RTLD_NOW);
  char* (*address)(void) = library ? (char* (*)(void))dlsym(library, "tls_address") : 0;
  if (!address) not_offered(dlerror());
  memset(address(), 0x77, 1600);
  wait_between();
  for (int i = 0; i < 1600; i++)
    if (address()[i] != 0x77) return wrong("thread-local data was written to");
}

// --- 46: a folder as root, without /proc, and a root that nobody can write to
static void limit_chroot(const char* folder) {
  if (chroot(folder) != 0 || chdir("/") != 0) not_offered("chroot");
  wait_between();
}
static void limit_read_only(const char* unused) {
  (void)unused;
  if (unshare(CLONE_NEWNS) != 0 || mount(0, "/", 0, MS_REC | MS_PRIVATE, 0) != 0 ||
      mount(0, "/", 0, MS_REMOUNT | MS_BIND | MS_RDONLY, 0) != 0 ||
      mount("none", "/tmp", "tmpfs", MS_RDONLY, 0) != 0)
    not_offered("a read-only root");
  wait_between();
}

// --- 48, 50: another user's; one that was root and may not be looked at
static void limit_user(const char* unused) {
  (void)unused;
  become_nobody();
  prctl(PR_SET_DUMPABLE, 1);
  wait_between();
}
static void limit_setuid(const char* unused) {
  (void)unused;
  become_nobody();
  if (prctl(PR_GET_DUMPABLE) == 1) prctl(PR_SET_DUMPABLE, 0);
  wait_between();
  if (prctl(PR_GET_DUMPABLE) == 1) wrong("it can be dumped");
}

// --- 51: filters of system calls
static void limit_strict(const char* unused) {
  (void)unused;
  static const char text[] = "ready\n";
  char byte;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(kNoSuchThing);
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  (void)!read(STDIN_FILENO, &byte, 1);
  (void)!write(STDOUT_FILENO, "strict\n", 7);
  syscall(SYS_exit, 0);
}
// What opens a file, and makes a memory file or a pair of sockets, gets `action`.
static void filter(unsigned action) {
  struct sock_filter code[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
                               {BPF_JMP | BPF_JEQ | BPF_K, 3, 0, SYS_memfd_create},
                               {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SYS_socketpair},
                               {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_openat},
                               {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
                               {BPF_RET | BPF_K, 0, 0, action}};
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) not_offered("seccomp");
}
static void limit_filter_kill(const char* unused) {
  (void)unused;
  filter(SECCOMP_RET_KILL_PROCESS);
  wait_between();
}
static void limit_filter_errno(const char* unused) {
  (void)unused;
  filter(SECCOMP_RET_ERRNO | EPERM);
  wait_between();
}

// --- 52: memory that can be written to never becomes code
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
static void limit_mdwe(const char* unused) {
  (void)unused;
  if (prctl(PR_SET_MDWE, 1, 0, 0, 0) != 0) not_offered("PR_SET_MDWE");
  wait_between();
}

static const struct word kWords[] = {
    {"nofile", limit_nofile},
    {"as", limit_as},
    {"nproc", limit_nproc},
    {"tls", limit_tls},
    {"chroot", limit_chroot},
    {"read-only", limit_read_only},
    {"user", limit_user},
    {"setuid", limit_setuid},
    {"strict", limit_strict},
    {"filter-kill", limit_filter_kill},
    {"filter-errno", limit_filter_errno},
    {"mdwe", limit_mdwe},
    {0, 0},
};

int main(int argc, char** argv) { return run_word(kWords, argc, argv); }
