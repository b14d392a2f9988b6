/* SPDX-License-Identifier: MIT
 *
 * The functions that the stand-in kernel has: names and prototypes of Linux 6.12, so that what
 * traces a kernel finds something to trace. They do next to nothing, but each is a function of its
 * own, and where a kernel's function has a static event inside, so has this.
 */
#ifndef STANDIN_KERNEL_H
#define STANDIN_KERNEL_H

#include <stddef.h>
#include <sys/types.h>

/* A function that a compiler neither inlines, clones nor folds with another. */
#if defined(__clang__)
#define STANDIN_FUNCTION __attribute__((noinline))
#else
#define STANDIN_FUNCTION __attribute__((noipa))
#endif

typedef long long loff_t_;

/* How a task leaves its CPU. */
enum standin_leaves {
  standin_takes_turns, /* sleeping every second time */
  standin_sleeps,
  standin_runs_on,
  standin_is_dead
};
struct task_struct {
  pid_t pid; /* 0: the idle task */
  int prio;
  int cpu;
  char comm[16];
  enum standin_leaves leaves;
  long opens; /* what opening a file comes to: a descriptor or an error */
};
struct qstr {
  unsigned len;
  const char* name;
};
struct dentry {
  struct qstr d_name;
  struct dentry* d_parent;
};
struct path {
  void* mnt;
  struct dentry* dentry;
};
struct file {
  unsigned f_flags;
  struct path f_path;
  loff_t_ f_pos;
  const ssize_t* private_data; /* what reading and writing come to; null: made up */
};
struct filename {
  const char* name;
  const char* uptr;
  const char* comm; /* of the task that executes it; null: it keeps its own */
};
struct kmem_cache {
  const char* name;
  unsigned object_size;
};
struct mutex {
  long owner;
};
struct raw_spinlock {
  int value;
};
typedef struct raw_spinlock raw_spinlock_t;
struct timer_list {
  unsigned long expires;
  void (*function)(struct timer_list*);
};
struct work_struct {
  void (*func)(struct work_struct*);
};
struct kernel_clone_args {
  unsigned long flags;
  struct task_struct* parent;
  struct task_struct* child;
};
struct open_how {
  unsigned long flags, mode, resolve;
};
struct inode;
struct sock;
struct eventfs_inode;

#ifdef __cplusplus
extern "C" {
#endif

/* The task that the calling thread plays, and the one that waits for its CPU. */
struct task_struct* standin_current(void);
void standin_play(struct task_struct* task, struct task_struct* next);
/* The task has another name from now on; the one played is played on. */
void standin_rename(struct task_struct* task, const char* comm);

/* sched.cc */
void schedule(void);
long schedule_timeout(long timeout);
void preempt_schedule(void);
void sched_tick(void);
void scheduler_tick(void);
int try_to_wake_up(struct task_struct* task, unsigned state, int flags);
int wake_up_process(struct task_struct* task);
pid_t kernel_clone(struct kernel_clone_args* args);
void do_exit(long code);
void free_task(struct task_struct* task);
void run_timers(unsigned long now);
void handle_interrupt(int irq, const char* name);
void sched_clock_tick(void);
unsigned long sched_clock(void);
unsigned long ktime_get(void);
int sched_rt_period_timer(struct timer_list* timer);
void rcu_sched_clock_irq(int user);
void rcu_read_lock(void);
void rcu_read_unlock(void);
void mutex_lock(struct mutex* lock);
void mutex_unlock(struct mutex* lock);
int mutex_trylock(struct mutex* lock);
void _raw_spin_lock(raw_spinlock_t* lock);
void _raw_spin_unlock(raw_spinlock_t* lock);
void console_lock(void);
void console_unlock(void);
void cpus_read_lock(void);
void cpus_read_unlock(void);
int locks_lock_inode_wait(struct inode* inode, void* lock);
void process_one_work(struct work_struct* work);

/* files.cc */
int do_execve(struct filename* file, const char* const* argv, const char* const* envp);
int do_execveat_common(int fd, struct filename* file, const char* const* argv,
                       const char* const* envp, int flags);
ssize_t vfs_read(struct file* file, char* buf, size_t count, loff_t_* pos);
/* A name as compilers make them for a function that they have changed. */
ssize_t vfs_writev(struct file* file, const void* vec, unsigned long count, loff_t_* pos)
    __asm__("vfs_writev.isra.0");
int vfs_open(const struct path* path, struct file* file);
long do_sys_open(int dfd, const char* filename, int flags, unsigned short mode);
long do_sys_openat2(int dfd, const char* filename, struct open_how* how);
int vfs_symlink(void* idmap, struct inode* dir, struct dentry* dentry, const char* old_name);
void dput(struct dentry* dentry);
struct filename* getname_flags(const char* name, int flags);
void putname(struct filename* name);
void __fput(struct file* file);
ssize_t proc_reg_write(struct file* file, const char* buf, size_t count, loff_t_* pos);
struct dentry* tracefs_create_dir(const char* name, struct dentry* parent);
struct eventfs_inode* eventfs_create_dir(const char* name, struct eventfs_inode* parent,
                                         const void* entries, int size, void* data);
void kfree(const void* object);
void* __kmalloc(size_t size, unsigned flags);
void* kmem_cache_alloc(struct kmem_cache* cache, unsigned flags);
void kmem_cache_free(struct kmem_cache* cache, void* object);
struct sock* inet_csk_accept(struct sock* socket, void* argument);
int do_mkdirat(int dfd, struct filename* name, unsigned short mode);
int close_fd(unsigned fd);
int security_prepare_creds(void* to, const void* from, unsigned flags);
int sys_off_notify(void* block, unsigned long mode, void* data);

extern struct kmem_cache names_cache, filp_cache, task_cache;
enum { standin_banner_room = 256 };
extern char linux_proc_banner[standin_banner_room];
extern char _sdata[];

/* name_show_a.cc, name_show_b.cc: each calls its own static name_show. */
int device_name_length(const char* name);
int driver_name_length(const char* name);

/* small.cc: calls each of the small functions once. */
unsigned long call_small_functions(unsigned long value);

#ifdef __cplusplus
}
#endif
#endif
