// SPDX-License-Identifier: MIT
//
// The tool of the tarball runs with libc 2.28 and newer, whichever it was built with. The linker
// binds a reference to the newest version of a function that it finds, so that a tool would start
// nowhere but with the libc that it was built with. It puts what stands here in the place of those
// references (--wrap, cmake/portable.cmake), those of the archives too. The agent has its own list
// (src/agent/libc_versions.cc).
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

// From here on to the oldest version. Before libc 2.34 most of them are in libpthread and libdl,
// which this tool asks for.
#define OLD_VERSION(name, version)                                                                 \
  __asm__(".symver old_" #name ", " #name "@" version "\n.pushsection .text\n.globl __wrap_" #name \
          "\n.type __wrap_" #name ", @function\n__wrap_" #name ": jmp *old_" #name                 \
          "@GOTPCREL(%rip)\n.size __wrap_" #name ", . - __wrap_" #name "\n.popsection")

OLD_VERSION(__pthread_key_create, "GLIBC_2.2.5");
OLD_VERSION(dlclose, "GLIBC_2.2.5");
OLD_VERSION(dlerror, "GLIBC_2.2.5");
OLD_VERSION(dlopen, "GLIBC_2.2.5");
OLD_VERSION(dlsym, "GLIBC_2.2.5");
OLD_VERSION(exp, "GLIBC_2.2.5");
OLD_VERSION(log, "GLIBC_2.2.5");
OLD_VERSION(log2, "GLIBC_2.2.5");
OLD_VERSION(pow, "GLIBC_2.2.5");
OLD_VERSION(pthread_attr_setstacksize, "GLIBC_2.2.5");
OLD_VERSION(pthread_cancel, "GLIBC_2.2.5");
OLD_VERSION(pthread_create, "GLIBC_2.2.5");
OLD_VERSION(pthread_detach, "GLIBC_2.2.5");
OLD_VERSION(pthread_getspecific, "GLIBC_2.2.5");
OLD_VERSION(pthread_join, "GLIBC_2.2.5");
OLD_VERSION(pthread_key_create, "GLIBC_2.2.5");
OLD_VERSION(pthread_key_delete, "GLIBC_2.2.5");
OLD_VERSION(pthread_kill, "GLIBC_2.2.5");
OLD_VERSION(pthread_mutex_trylock, "GLIBC_2.2.5");
OLD_VERSION(pthread_mutexattr_destroy, "GLIBC_2.2.5");
OLD_VERSION(pthread_mutexattr_init, "GLIBC_2.2.5");
OLD_VERSION(pthread_mutexattr_settype, "GLIBC_2.2.5");
OLD_VERSION(pthread_once, "GLIBC_2.2.5");
OLD_VERSION(pthread_rwlock_destroy, "GLIBC_2.2.5");
OLD_VERSION(pthread_rwlock_init, "GLIBC_2.2.5");
OLD_VERSION(pthread_rwlock_rdlock, "GLIBC_2.2.5");
OLD_VERSION(pthread_rwlock_tryrdlock, "GLIBC_2.2.5");
OLD_VERSION(pthread_rwlock_unlock, "GLIBC_2.2.5");
OLD_VERSION(pthread_rwlock_wrlock, "GLIBC_2.2.5");
OLD_VERSION(pthread_setspecific, "GLIBC_2.2.5");
OLD_VERSION(pthread_sigmask, "GLIBC_2.2.5");
OLD_VERSION(sem_destroy, "GLIBC_2.2.5");
OLD_VERSION(sem_init, "GLIBC_2.2.5");
OLD_VERSION(sem_post, "GLIBC_2.2.5");
OLD_VERSION(sem_wait, "GLIBC_2.2.5");
__asm__(".symver old_start_main, __libc_start_main@GLIBC_2.2.5");

using Main = int (*)(int, char**, char**);
using Constructor = void (*)(int, char**, char**);

extern "C" {
int old_start_main(Main main, int argc, char** argv, Constructor init, void (*fini)(),
                   void (*rtld_fini)(), void* stack_end);
void _init();
extern const Constructor __init_array_start[] __attribute__((visibility("hidden")));
extern const Constructor __init_array_end[] __attribute__((visibility("hidden")));
}

namespace patchbay::cmd {
namespace {

// Before libc 2.34 the program's own start file brought this function.
void run_constructors(int argc, char** argv, char** environment) {
  ::_init();
  for (const Constructor* next = __init_array_start; next != __init_array_end; next++)
    (*next)(argc, argv, environment);
}

int stat_at(int directory, const char* path, struct stat* out, int flags) {
  return int(::syscall(SYS_newfstatat, directory, path, out, flags));
}

struct Wanted {
  uintptr_t address;
  dl_find_object* out;
};

// Nonzero: this object has the address.
int take_object(dl_phdr_info* object, size_t, void* argument) {
  const auto* wanted = static_cast<const Wanted*>(argument);
  uintptr_t start = 0, end = 0, eh_frame = 0;
  for (size_t i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uintptr_t first = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) eh_frame = first;
    if (segment.p_type != PT_LOAD || wanted->address < first ||
        wanted->address - first >= segment.p_memsz)
      continue;
    start = first;
    end = first + segment.p_memsz;
  }
  if (end == 0 || eh_frame == 0) return 0;
  *wanted->out = {};
  wanted->out->dlfo_map_start = reinterpret_cast<void*>(start);
  wanted->out->dlfo_map_end = reinterpret_cast<void*>(end);
  wanted->out->dlfo_eh_frame = reinterpret_cast<void*>(eh_frame);
  return 1;
}

}  // namespace
}  // namespace patchbay::cmd

extern "C" {
// The C++ library counts references without locked instructions while this says that there is one
// thread. Here it never does.
char __wrap___libc_single_threaded = 0;

int __wrap___libc_start_main(Main main, int argc, char** argv, Constructor, void (*fini)(),
                             void (*rtld_fini)(), void* stack_end) {
  return old_start_main(main, argc, argv, patchbay::cmd::run_constructors, fini, rtld_fini,
                        stack_end);
}

int __wrap_stat(const char* path, struct stat* out) {
  return patchbay::cmd::stat_at(AT_FDCWD, path, out, 0);
}
int __wrap_lstat(const char* path, struct stat* out) {
  return patchbay::cmd::stat_at(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
int __wrap_fstat(int fd, struct stat* out) { return int(::syscall(SYS_fstat, fd, out)); }
int __wrap_fstatat(int directory, const char* path, struct stat* out, int flags) {
  return patchbay::cmd::stat_at(directory, path, out, flags);
}
// With 64-bit addresses they are the same functions.
int __wrap_stat64(const char*, struct stat*) __attribute__((alias("__wrap_stat")));
int __wrap_lstat64(const char*, struct stat*) __attribute__((alias("__wrap_lstat")));
int __wrap_fstat64(int, struct stat*) __attribute__((alias("__wrap_fstat")));

pid_t __wrap_gettid() { return pid_t(::syscall(SYS_gettid)); }

// Seeds of hash tables.
uint32_t __wrap_arc4random() {
  uint32_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != ssize_t(sizeof number)) {
  }
  return number;
}

// Null: the caller shows the number.
const char* __wrap_strerrorname_np(int error) {
  using Function = const char* (*)(int);
  static const auto names = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, "strerrorname_np"));
  return names ? names(error) : nullptr;
}

// The end of a wait, which the older function wants by the clock of the condition: real time.
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const timespec* end) {
  constexpr int64_t kSecond = 1000000000;
  timespec now, real;
  ::clock_gettime(clock, &now);
  ::clock_gettime(CLOCK_REALTIME, &real);
  const int64_t left = (end->tv_sec - now.tv_sec) * kSecond + (end->tv_nsec - now.tv_nsec);
  const int64_t until = real.tv_nsec + (left > 0 ? left : 0);
  const timespec then = {real.tv_sec + until / kSecond, until % kSecond};
  return ::pthread_cond_timedwait(condition, mutex, &then);
}

// Where an exception passes: what its unwinder asks about an address.
int __wrap__dl_find_object(void* address, dl_find_object* out) {
  patchbay::cmd::Wanted wanted = {reinterpret_cast<uintptr_t>(address), out};
  return ::dl_iterate_phdr(patchbay::cmd::take_object, &wanted) != 0 ? 0 : -1;
}
}
