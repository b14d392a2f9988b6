// SPDX-License-Identifier: MIT
//
// Files, names and memory of the stand-in kernel.
#include "kernel.h"

#include <sched.h>
#include <string.h>

#include <atomic>

#include "kernel_events.h"

namespace {

constexpr unsigned kGfpKernel = 0xcc0;
thread_local char memory[4096];
thread_local filename one_name;

// fprobe_entry_arg.tc takes the record behind a call for that of its return: no other thread opens
// a file in between.
std::atomic_flag opening;
class OpenScope {
 public:
  OpenScope() {
    while (opening.test_and_set(std::memory_order_acquire)) ::sched_yield();
  }
  ~OpenScope() { opening.clear(std::memory_order_release); }
};

unsigned long caller(void* address) { return reinterpret_cast<unsigned long>(address); }

}  // namespace

extern "C" {

kmem_cache names_cache = {"names_cache", 4096};
kmem_cache filp_cache = {"filp", 232};
kmem_cache task_cache = {"task_struct", 1024};
char linux_proc_banner[standin_banner_room];
char _sdata[64] = "standin";

STANDIN_FUNCTION void* kmem_cache_alloc(kmem_cache* cache, unsigned flags) {
  PB_TRACE(kmem_cache_alloc, caller(__builtin_return_address(0)), memory, cache->object_size,
           cache->object_size, flags, -1, false);
  return memory;
}
STANDIN_FUNCTION void kmem_cache_free(kmem_cache* cache, void* object) {
  PB_TRACE(kmem_cache_free, caller(__builtin_return_address(0)), object, cache->name);
}
STANDIN_FUNCTION void* __kmalloc(size_t size, unsigned flags) {
  PB_TRACE(kmalloc, caller(__builtin_return_address(0)), memory, size, (size + 63) & ~63ul, flags,
           -1);
  return memory;
}
STANDIN_FUNCTION void kfree(const void* object) {
  PB_TRACE(kfree, caller(__builtin_return_address(0)), object);
}

STANDIN_FUNCTION filename* getname_flags(const char* name, int flags) {
  asm volatile("" : : "r"(flags));
  (void)kmem_cache_alloc(&names_cache, kGfpKernel);
  one_name = {name, name, nullptr};
  return &one_name;
}
STANDIN_FUNCTION void putname(filename* name) { kmem_cache_free(&names_cache, name); }
STANDIN_FUNCTION void dput(dentry* dentry) { asm volatile("" : : "r"(dentry) : "memory"); }

STANDIN_FUNCTION int vfs_open(const path* path, file* file) {
  file->f_path = *path;
  return 0;
}
STANDIN_FUNCTION ssize_t vfs_read(file* file, char* buf, size_t count, loff_t_* pos) {
  if (count) buf[0] = file->f_path.dentry->d_name.name[0];
  const ssize_t result = file->private_data ? *file->private_data : ssize_t(count);
  if (result > 0) *pos += result;
  return result;
}
STANDIN_FUNCTION ssize_t vfs_writev(file* file, const void* vec, unsigned long count,
                                    loff_t_* pos) {
  asm volatile("" : : "r"(file), "r"(vec));
  *pos += loff_t_(count);
  return ssize_t(count);
}
STANDIN_FUNCTION void __fput(file* file) {
  dput(file->f_path.dentry);
  kmem_cache_free(&filp_cache, file);
}

STANDIN_FUNCTION long do_sys_openat2(int dfd, const char* name, open_how* how) {
  filename* copied = getname_flags(name, dfd);
  dentry entry = {{unsigned(strlen(name)), copied->name}, nullptr};
  path path = {nullptr, &entry};
  file file = {unsigned(how->flags), path, 0, nullptr};
  const task_struct* task = standin_current();
  const long result = task ? task->opens : -1;
  if (result >= 0) {
    {
      const OpenScope alone;
      vfs_open(&path, &file);
    }
    char byte;
    vfs_read(&file, &byte, 1, &file.f_pos);
    __fput(&file);
  }
  putname(copied);
  return result;
}
STANDIN_FUNCTION long do_sys_open(int dfd, const char* name, int flags, unsigned short mode) {
  open_how how = {static_cast<unsigned long>(flags), mode, 0};
  return do_sys_openat2(dfd, name, &how);
}

STANDIN_FUNCTION int do_execveat_common(int fd, filename* file, const char* const* argv,
                                        const char* const* envp, int flags) {
  asm volatile("" : : "r"(fd), "r"(argv), "r"(envp), "r"(flags));
  task_struct* task = standin_current();
  if (!task) return -1;
  const char* comm = file->comm ? file->comm : task->comm;
  PB_TRACE(task_rename, task->pid, task->comm, comm, 0);
  if (file->comm) standin_rename(task, comm);
  PB_TRACE(sched_process_exec, file->name, task->pid, task->pid);
  return 0;
}
STANDIN_FUNCTION int do_execve(filename* file, const char* const* argv, const char* const* envp) {
  return do_execveat_common(-100, file, argv, envp, 0);
}

STANDIN_FUNCTION int vfs_symlink(void* idmap, inode* dir, dentry* dentry, const char* old_name) {
  asm volatile("" : : "r"(idmap), "r"(dir), "r"(dentry), "r"(old_name));
  return 0;
}
STANDIN_FUNCTION ssize_t proc_reg_write(file* file, const char* buf, size_t count, loff_t_* pos) {
  asm volatile("" : : "r"(buf), "r"(pos));
  if (file->private_data) return *file->private_data;
  return count ? -5 : 0;
}
STANDIN_FUNCTION dentry* tracefs_create_dir(const char* name, dentry* parent) {
  asm volatile("" : : "r"(name));
  return parent;
}
STANDIN_FUNCTION eventfs_inode* eventfs_create_dir(const char* name, eventfs_inode* parent,
                                                   const void* entries, int size, void* data) {
  asm volatile("" : : "r"(name), "r"(entries), "r"(size), "r"(data));
  return parent;
}
STANDIN_FUNCTION sock* inet_csk_accept(sock* socket, void* argument) {
  asm volatile("" : : "r"(argument));
  return socket;
}
STANDIN_FUNCTION int do_mkdirat(int dfd, filename* name, unsigned short mode) {
  asm volatile("" : : "r"(dfd), "r"(name));
  return mode ? 0 : -1;
}
STANDIN_FUNCTION int security_prepare_creds(void* to, const void* from, unsigned flags) {
  asm volatile("" : : "r"(to), "r"(from));
  return flags == 0;
}
STANDIN_FUNCTION int close_fd(unsigned fd) {
  kmem_cache_free(&filp_cache, memory);
  kfree(memory);
  return fd > 1000 ? -9 : 0;
}
STANDIN_FUNCTION int sys_off_notify(void* block, unsigned long mode, void* data) {
  asm volatile("" : : "r"(block), "r"(data));
  return int(mode);
}

}  // extern "C"
