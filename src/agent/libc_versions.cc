// SPDX-License-Identifier: MIT
//
// The agent is built with one libc and loaded by others. The linker binds a reference to the newest
// version of a function that it finds, and so would shut out every older libc, also where the
// function has only moved from libpthread or libdl into libc. The linker puts what stands here in
// the place of those references (--wrap, cmake/targets.cmake), the C++ library's too: each goes on
// to the oldest version. Before libc 2.34 libpthread and libdl have them,
// which a program without threads does not bring. So these references are weak: where they lead
// nowhere the agent's first constructor loads the two, and binds them (own_imports.cc). A root
// directory may have neither. There a call answers 0 and does nothing, so that the constructors of
// the C++ library get to their end, and the agent does not begin (libc_is_complete()). The same way
// stands what libm has, which a process may be without.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/raw_syscall.h"

// A jump: dlsym(RTLD_NEXT) goes by who has called it.
#define OLD_VERSION(name, version) OLD_NAME(name, name, version)
#define OLD_NAME(name, old_name, version)                                                          \
  __asm__(".symver old_" #name ", " #old_name "@" version "\n.weak old_" #name                     \
          "\n.pushsection .text\n.globl __wrap_" #name "\n.hidden __wrap_" #name                   \
          "\n.type __wrap_" #name ", @function"                                                    \
          "\n__wrap_" #name ": movq old_" #name "@GOTPCREL(%rip), %rax"                            \
          "\ntestq %rax, %rax\njz 1f\njmp *%rax\n1: ret"                                           \
          "\n.size __wrap_" #name ", . - __wrap_" #name "\n.popsection")

OLD_VERSION(__pthread_key_create, "GLIBC_2.2.5");
OLD_VERSION(dladdr, "GLIBC_2.2.5");
OLD_VERSION(dlclose, "GLIBC_2.2.5");
OLD_VERSION(dlopen, "GLIBC_2.2.5");
OLD_VERSION(dlsym, "GLIBC_2.2.5");
OLD_VERSION(dladdr1, "GLIBC_2.3.3");
OLD_VERSION(dlvsym, "GLIBC_2.2.5");
OLD_VERSION(pthread_attr_getstack, "GLIBC_2.2.5");
OLD_VERSION(pthread_attr_setstacksize, "GLIBC_2.2.5");
OLD_VERSION(pthread_getattr_np, "GLIBC_2.2.5");
OLD_VERSION(pthread_key_create, "GLIBC_2.2.5");
OLD_VERSION(pthread_mutex_consistent, "GLIBC_2.12");
OLD_VERSION(pthread_mutex_trylock, "GLIBC_2.2.5");
OLD_VERSION(pthread_mutexattr_destroy, "GLIBC_2.2.5");
OLD_VERSION(pthread_mutexattr_init, "GLIBC_2.2.5");
OLD_VERSION(pthread_mutexattr_setpshared, "GLIBC_2.2.5");
OLD_VERSION(pthread_mutexattr_setrobust, "GLIBC_2.12");
OLD_VERSION(pthread_once, "GLIBC_2.2.5");
OLD_VERSION(pthread_setspecific, "GLIBC_2.2.5");
// What glibc 2.38 makes of these by its headers: they take 0b101, too.
OLD_NAME(__isoc23_strtol, strtol, "GLIBC_2.2.5");
OLD_NAME(__isoc23_strtoll, strtoll, "GLIBC_2.2.5");
OLD_NAME(__isoc23_strtoul, strtoul, "GLIBC_2.2.5");
OLD_NAME(__isoc23_strtoull, strtoull, "GLIBC_2.2.5");

namespace patchbay {
namespace {

// As libc does it: what the kernel answers, or -1 and errno.
int answer(long result) {
  if (result >= 0) return int(result);
  errno = int(-result);
  return -1;
}

int stat_at(int directory, const char* path, struct stat* out, int flags) {
  return answer(raw_syscall(SYS_newfstatat, directory, raw_pointer(path), raw_pointer(out), flags));
}

}  // namespace
}  // namespace patchbay

extern "C" {
// The C++ library counts references without locked instructions while this says that there is one
// thread. Here it never does.
char __wrap___libc_single_threaded = 0;

int __wrap_stat(const char* path, struct stat* out) {
  return patchbay::stat_at(AT_FDCWD, path, out, 0);
}
int __wrap_lstat(const char* path, struct stat* out) {
  return patchbay::stat_at(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
int __wrap_fstat(int fd, struct stat* out) {
  return patchbay::answer(patchbay::raw_syscall(SYS_fstat, fd, patchbay::raw_pointer(out)));
}
// clang calls it for the number of buckets of a hash table, and a process may have no libm.
double __wrap_ceil(double value) {
  constexpr double kNoFraction = 1ll << 52;  // from here on each double is whole
  if (!(value < kNoFraction && value > -kNoFraction)) return value;
  const double whole = double(int64_t(value));
  return whole < value ? whole + 1 : whole;
}
pid_t __wrap_gettid() { return pid_t(patchbay::raw_syscall(SYS_gettid)); }
}
