// SPDX-License-Identifier: MIT
// A thread that waits in one system call: cases 1 to 10 (what a stop must neither cut short nor end
// with EINTR). waits WORD [companion]: with a second thread that waits in a read.
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <pty.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "attach_case.h"

enum { kShort = 100000 };  // the timeouts here, in us
static const struct timespec kShortTime = {0, kShort * 1000};

static struct shared {
  _Atomic int word;
  sem_t semaphore;
  pthread_mutex_t lock;
  pthread_cond_t condition;
  int fd;  // where the child writes a byte
  int ipc;
  struct sockaddr_un address;
} * shared;

// --- what the child does

static void wake_word(pid_t parent) {
  (void)parent;
  atomic_store(&shared->word, 1);
  syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, 0, 0, 0);
}
static void wake_nothing(pid_t parent) { (void)parent; }
static void wake_by_signal(pid_t parent) { kill(parent, SIGUSR1); }
static void wake_by_byte(pid_t parent) {
  (void)parent;
  if (write(shared->fd, "\n", 1) != 1) _exit(1);
}

// --- 1: read

static void read_from(int fd) {
  char byte;
  pid_t child = wake_by_child(wake_by_byte);
  ready();
  if (noted("read", read(fd, &byte, 1)) != 1) wrong("read gave no byte");
  end_child(child);
}
static void wait_read(const char* unused) {
  (void)unused;
  ready();
  wait_until_told();
}
static void wait_read_socket(const char* unused) {
  (void)unused;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  shared->fd = ends[1];
  read_from(ends[0]);
}
static void wait_read_tty(const char* unused) {
  (void)unused;
  int terminal;
  if (openpty(&shared->fd, &terminal, 0, 0, 0) != 0) not_offered("openpty");
  read_from(terminal);
}

// --- 2, 3: futex, condition, semaphore, with and without timeout

static void wait_futex(const char* unused) {
  (void)unused;
  pid_t child = wake_by_child(wake_word);
  ready();
  if (noted("futex", syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, 0, 0, 0)) != 0 ||
      atomic_load(&shared->word) != 1)
    wrong("futex came back for nothing");
  end_child(child);
}
static void wait_futex_timeout(const char* unused) {
  (void)unused;
  ready();
  while (!told()) {
    long long since = now_us();
    noted("futex", syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, &kShortTime, 0, 0));
    check_time("futex", since, kShort);
  }
}
static void make_condition(void) {
  pthread_mutexattr_t lock;
  pthread_condattr_t condition;
  pthread_mutexattr_init(&lock);
  pthread_condattr_init(&condition);
  pthread_mutexattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  pthread_condattr_setclock(&condition, CLOCK_MONOTONIC);
  pthread_mutex_init(&shared->lock, &lock);
  pthread_cond_init(&shared->condition, &condition);
}
static void wake_condition(pid_t parent) {
  (void)parent;
  pthread_mutex_lock(&shared->lock);
  atomic_store(&shared->word, 1);
  pthread_cond_signal(&shared->condition);
  pthread_mutex_unlock(&shared->lock);
}
static void wait_condition(const char* unused) {
  (void)unused;
  make_condition();
  pid_t child = wake_by_child(wake_condition);
  ready();
  pthread_mutex_lock(&shared->lock);
  while (!atomic_load(&shared->word))
    note("pthread_cond_wait", pthread_cond_wait(&shared->condition, &shared->lock));
  pthread_mutex_unlock(&shared->lock);
  end_child(child);
}
static void wait_condition_timeout(const char* unused) {
  (void)unused;
  make_condition();
  ready();
  pthread_mutex_lock(&shared->lock);
  while (!told()) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += kShort * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    long long since = now_us();
    note("pthread_cond_timedwait",
         pthread_cond_timedwait(&shared->condition, &shared->lock, &until));
    check_time("pthread_cond_timedwait", since, kShort);
  }
  pthread_mutex_unlock(&shared->lock);
}
static void wake_semaphore(pid_t parent) {
  (void)parent;
  sem_post(&shared->semaphore);
}
static void wait_semaphore(const char* unused) {
  (void)unused;
  sem_init(&shared->semaphore, 1, 0);
  pid_t child = wake_by_child(wake_semaphore);
  ready();
  if (noted("sem_wait", sem_wait(&shared->semaphore)) != 0) wrong("sem_wait failed");
  end_child(child);
}

// --- 4: poll, ppoll, select, pselect

static void poll_stdin(const char* call, int use_ppoll, int timeout_ms) {
  struct timespec time = {0, timeout_ms * 1000000L};
  ready();
  for (int done = 0; done == 0;) {
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    long long since = now_us();
    done = use_ppoll ? ppoll(&in, 1, timeout_ms < 0 ? 0 : &time, 0) : poll(&in, 1, timeout_ms);
    noted(call, done);
    if (done == 0 && timeout_ms < 0) wrong("%s: no time was given", call);
    if (done == 0) check_time(call, since, timeout_ms * 1000LL);
  }
}
static void wait_poll(const char* unused) {
  (void)unused;
  poll_stdin("poll", 0, -1);
}
static void wait_poll_timeout(const char* unused) {
  (void)unused;
  poll_stdin("poll", 0, kShort / 1000);
}
static void wait_ppoll(const char* unused) {
  (void)unused;
  poll_stdin("ppoll", 1, -1);
}
static void wait_ppoll_timeout(const char* unused) {
  (void)unused;
  poll_stdin("ppoll", 1, kShort / 1000);
}
static void wait_select(const char* unused) {
  (void)unused;
  fd_set set;
  FD_ZERO(&set);
  FD_SET(STDIN_FILENO, &set);
  ready();
  if (noted("select", select(1, &set, 0, 0, 0)) != 1) wrong("select");
}
static void wait_pselect_timeout(const char* unused) {
  (void)unused;
  ready();
  for (int done = 0; done == 0;) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(STDIN_FILENO, &set);
    long long since = now_us();
    done = pselect(1, &set, 0, 0, &kShortTime, 0);
    noted("pselect", done);
    if (done == 0) check_time("pselect", since, kShort);
  }
}

// The rest of the time cannot be written: this is what the kernel does not restart.
static void wait_select_constant(const char* unused) {
  (void)unused;
  struct timeval* time = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (time == MAP_FAILED) abort();
  time->tv_usec = kShort;
  if (mprotect(time, 4096, PROT_READ) != 0) abort();
  ready();
  while (!told()) {
    long long since = now_us();
    noted("select", syscall(SYS_select, 0, 0, 0, 0, time));
    check_time("select", since, kShort);
  }
}

// --- 5: sleeps. The sum of the time is kept, too.

static void wait_nanosleep(const char* unused) {
  (void)unused;
  ready();
  while (!told()) {
    long long since = now_us();
    noted("nanosleep", nanosleep(&kShortTime, 0));
    check_time("nanosleep", since, kShort);
  }
}
static void wait_clock_nanosleep(const char* unused) {
  (void)unused;
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  ready();
  while (!told()) {
    until.tv_nsec += kShort * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    note("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0));
    if (now_us() < until.tv_sec * 1000000LL + until.tv_nsec / 1000)
      wrong("clock_nanosleep came back before its time");
  }
}
// One sleep for as long as the program is watched: its rest stays in the kernel over all stops.
static void wait_long_sleep(const char* seconds) {
  long long least = atoi(seconds) * 1000000LL, since = now_us();
  struct timespec time = {atoi(seconds), 0};
  ready();
  noted("nanosleep", nanosleep(&time, 0));
  check_time("nanosleep", since, least);
  wait_until_told();
}

// --- 6: epoll

static void epoll_stdin(const char* call, int timeout_ms, int use_pwait2) {
  struct epoll_event event = {EPOLLIN, {0}};
  struct timespec time = {0, timeout_ms * 1000000L};
  int epoll = epoll_create1(0);
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0) abort();
  ready();
  for (int done = 0; done == 0;) {
    long long since = now_us();
    done = use_pwait2 ? (int)syscall(SYS_epoll_pwait2, epoll, &event, 1, &time, 0, 0)
                      : epoll_wait(epoll, &event, 1, timeout_ms);
    noted(call, done);
    if (done == 0 && timeout_ms < 0) wrong("%s: no time was given", call);
    if (done == 0) check_time(call, since, timeout_ms * 1000LL);
    if (done < 0) break;
  }
}
static void wait_epoll(const char* unused) {
  (void)unused;
  epoll_stdin("epoll_wait", -1, 0);
}
static void wait_epoll_timeout(const char* unused) {
  (void)unused;
  epoll_stdin("epoll_wait", kShort / 1000, 0);
}
static void wait_epoll_pwait2(const char* unused) {
  (void)unused;
  epoll_stdin("epoll_pwait2", kShort / 1000, 1);
}

// Each signal that the mask of epoll_pwait() lets through ends the call: a child sends the next one
// when the last one has been seen.
static void count_signal(int number);
static volatile sig_atomic_t handled;
static void wait_epoll_signals(const char* unused) {
  (void)unused;
  struct epoll_event event = {EPOLLIN, {0}};
  sigset_t none, usr1;
  sigemptyset(&none);
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr1, 0);
  signal(SIGUSR1, count_signal);
  int epoll = epoll_create1(0);
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0) abort();
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int sent = 0;; usleep(1000)) {
      if (atomic_load(&shared->word) != sent) continue;
      sent++;
      kill(parent, SIGUSR1);
    }
  }
  ready();
  for (int seen = 0;;) {
    int done = epoll_pwait(epoll, &event, 1, -1, &none);
    if (done > 0) break;
    if (noted("epoll_pwait", done) == 0 || errno != EINTR || handled != seen + 1)
      wrong("%d signals, %d were seen: %s", (int)handled, seen, strerrorname_np(errno));
    atomic_store(&shared->word, seen = handled);
  }
  kill(child, SIGKILL);
  waitpid(child, 0, 0);
}

// --- 7: io_getevents; io_uring: a read of stdin is under way, and the thread waits for its end

static void wait_io_getevents(const char* unused) {
  (void)unused;
  unsigned long context = 0;
  char event[64];
  if (syscall(SYS_io_setup, 4, &context) != 0) not_offered("io_setup");
  ready();
  while (!told()) {
    struct timespec time = kShortTime;
    long long since = now_us();
    if (noted("io_getevents", syscall(SYS_io_getevents, context, 1, 1, event, &time)) != 0)
      wrong("io_getevents: %s", strerrorname_np(errno));
    check_time("io_getevents", since, kShort);
  }
}
static void wait_io_uring(const char* unused) {
  (void)unused;
  struct io_uring_params params;
  memset(&params, 0, sizeof params);
  int ring = (int)syscall(SYS_io_uring_setup, 4, &params);
  if (ring < 0) not_offered("io_uring");
  size_t size = params.sq_off.array + params.sq_entries * 4 + 4096;
  char* queue = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
  struct io_uring_sqe* entry =
      mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
  if (queue == MAP_FAILED || entry == MAP_FAILED) abort();
  char byte = 0;
  memset(entry, 0, sizeof *entry);
  entry->opcode = IORING_OP_READ;
  entry->fd = STDIN_FILENO;
  entry->addr = (unsigned long)&byte;
  entry->len = 1;
  *(unsigned*)(queue + params.sq_off.array) = 0;
  __atomic_store_n((unsigned*)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, 0, 0) != 1) wrong("nothing was submitted");
  ready();
  if (noted("io_uring_enter",
            syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, 0, 0)) < 0)
    wrong("io_uring_enter: %s", strerrorname_np(errno));
  if (byte != '\n') wrong("the byte has not come");
}

// --- 8: signals

static void count_signal(int number) {
  (void)number;
  handled++;
}
static sigset_t block_usr1(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, 0);
  return set;
}
static void wait_sigwaitinfo(const char* unused) {
  (void)unused;
  sigset_t set = block_usr1();
  pid_t child = wake_by_child(wake_by_signal);
  ready();
  if (noted("sigwaitinfo", sigwaitinfo(&set, 0)) != SIGUSR1) wrong("another signal");
  end_child(child);
}
static void wait_sigtimedwait(const char* unused) {
  (void)unused;
  sigset_t set = block_usr1();
  ready();
  while (!told()) {
    long long since = now_us();
    noted("sigtimedwait", sigtimedwait(&set, 0, &kShortTime));
    check_time("sigtimedwait", since, kShort);
  }
}
// EINTR is what sigsuspend() answers, once.
static void wait_sigsuspend(const char* unused) {
  (void)unused;
  sigset_t none;
  sigemptyset(&none);
  signal(SIGUSR1, count_signal);
  block_usr1();
  pid_t child = wake_by_child(wake_by_signal);
  ready();
  noted("sigsuspend", sigsuspend(&none));
  if (handled != 1) wrong("sigsuspend came back with %d signals handled", (int)handled);
  end_child(child);
}
static void wait_pause(const char* unused) {
  (void)unused;
  signal(SIGUSR1, count_signal);
  pid_t child = wake_by_child(wake_by_signal);
  ready();
  noted("pause", pause());
  if (handled != 1) wrong("pause came back with %d signals handled", (int)handled);
  end_child(child);
}
static void wait_signalfd(const char* unused) {
  (void)unused;
  sigset_t set = block_usr1();
  struct signalfd_siginfo info;
  int fd = signalfd(-1, &set, 0);
  pid_t child = wake_by_child(wake_by_signal);
  ready();
  if (noted("read of a signalfd", read(fd, &info, sizeof info)) != sizeof info ||
      info.ssi_signo != SIGUSR1)
    wrong("not the signal");
  end_child(child);
}

// --- 9: semop, messages, sockets with and without a timeout

static void wake_semop(pid_t parent) {
  (void)parent;
  struct sembuf give = {0, 1, 0};
  semop(shared->ipc, &give, 1);
}
static void wait_semop(const char* unused) {
  (void)unused;
  struct sembuf take = {0, -1, 0};
  shared->ipc = semget(IPC_PRIVATE, 1, 0600);
  if (shared->ipc < 0) not_offered("semget");
  pid_t child = wake_by_child(wake_semop);
  ready();
  noted("semop", semop(shared->ipc, &take, 1));
  end_child(child);
  semctl(shared->ipc, 0, IPC_RMID);
}
static void wait_semtimedop(const char* unused) {
  (void)unused;
  struct sembuf take = {0, -1, 0};
  shared->ipc = semget(IPC_PRIVATE, 1, 0600);
  if (shared->ipc < 0) not_offered("semget");
  ready();
  while (!told()) {
    long long since = now_us();
    noted("semtimedop", semtimedop(shared->ipc, &take, 1, &kShortTime));
    check_time("semtimedop", since, kShort);
  }
  semctl(shared->ipc, 0, IPC_RMID);
}
struct message {
  long type;
  char text[8];
};
static void wake_message(pid_t parent) {
  (void)parent;
  struct message message = {1, "hello"};
  msgsnd(shared->ipc, &message, sizeof message.text, 0);
}
static void wait_msgrcv(const char* unused) {
  (void)unused;
  struct message message;
  shared->ipc = msgget(IPC_PRIVATE, 0600);
  if (shared->ipc < 0) not_offered("msgget");
  pid_t child = wake_by_child(wake_message);
  ready();
  if (noted("msgrcv", msgrcv(shared->ipc, &message, sizeof message.text, 0, 0)) < 0)
    wrong("msgrcv failed");
  end_child(child);
  msgctl(shared->ipc, IPC_RMID, 0);
}
static void wait_recv(const char* unused) {
  (void)unused;
  int ends[2];
  char byte;
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) abort();
  shared->fd = ends[1];
  pid_t child = wake_by_child(wake_by_byte);
  ready();
  if (noted("recv", recv(ends[0], &byte, 1, 0)) != 1) wrong("recv gave no byte");
  end_child(child);
}
static void wait_recv_timeo(const char* unused) {
  (void)unused;
  int ends[2];
  char byte;
  struct timeval time = {0, kShort};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ready();
  while (!told()) {
    long long since = now_us();
    noted("recv", recv(ends[0], &byte, 1, 0));
    check_time("recv", since, kShort);
  }
}
// A name of the kernel's choice in the abstract namespace.
static int listener(void) {
  socklen_t size = sizeof shared->address;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  shared->address.sun_family = AF_UNIX;
  if (bind(fd, (struct sockaddr*)&shared->address, sizeof(sa_family_t)) != 0 ||
      getsockname(fd, (struct sockaddr*)&shared->address, &size) != 0 || listen(fd, 4) != 0)
    abort();
  shared->fd = (int)size;
  return fd;
}
static void wake_by_connect(pid_t parent) {
  (void)parent;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr*)&shared->address, (socklen_t)shared->fd) != 0) _exit(1);
}
static void wait_accept(const char* unused) {
  (void)unused;
  int fd = listener();
  pid_t child = wake_by_child(wake_by_connect);
  ready();
  if (noted("accept", accept(fd, 0, 0)) < 0) wrong("accept failed");
  end_child(child);
}
static void wait_accept_timeo(const char* unused) {
  (void)unused;
  struct timeval time = {0, kShort};
  int fd = listener();
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ready();
  while (!told()) {
    long long since = now_us();
    noted("accept", accept(fd, 0, 0));
    check_time("accept", since, kShort);
  }
}

// connect() waits while nobody accepts: the queue has room for one.
static struct sockaddr_un* full_listener(int* fd) {
  *fd = listener();
  if (listen(*fd, 0) != 0) abort();
  int first = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(first, (struct sockaddr*)&shared->address, (socklen_t)shared->fd) != 0) abort();
  shared->ipc = *fd;
  return &shared->address;
}
static void wake_by_accept(pid_t parent) {
  (void)parent;
  if (accept(shared->ipc, 0, 0) < 0 || accept(shared->ipc, 0, 0) < 0) _exit(1);
}
static void wait_connect(const char* unused) {
  (void)unused;
  int fd, own = socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un* address = full_listener(&fd);
  pid_t child = wake_by_child(wake_by_accept);
  ready();
  if (noted("connect", connect(own, (struct sockaddr*)address, (socklen_t)shared->fd)) != 0)
    wrong("connect failed");
  end_child(child);
}
static void wait_connect_timeo(const char* unused) {
  (void)unused;
  struct timeval time = {0, kShort};
  int fd, own = socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un* address = full_listener(&fd);
  setsockopt(own, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  ready();
  while (!told()) {
    long long since = now_us();
    noted("connect", connect(own, (struct sockaddr*)address, (socklen_t)shared->fd));
    check_time("connect", since, kShort);
  }
}
// A socket that takes no byte any more, with a timeout.
static int full_socket(void) {
  static char block[4096];
  int pair[2];
  struct timeval time = {0, kShort};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) abort();
  while (send(pair[0], block, sizeof block, MSG_DONTWAIT) > 0) {
  }
  while (send(pair[0], block, 1, MSG_DONTWAIT) > 0) {
  }
  setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  return pair[0];
}
enum sender { kSend, kWritev, kSendmmsg, kSendfile, kPwritev2 };
static long send_by(enum sender sender, int fd, int file) {
  struct iovec part = {"byte", 4};
  struct mmsghdr message;
  memset(&message, 0, sizeof message);
  message.msg_hdr.msg_iov = &part;
  message.msg_hdr.msg_iovlen = 1;
  switch (sender) {
    case kWritev:
      return writev(fd, &part, 1);
    case kSendmmsg:
      return sendmmsg(fd, &message, 1, 0);
    case kSendfile:
      return sendfile(fd, file, 0, 4);
    case kPwritev2:
      return pwritev2(fd, &part, 1, -1, 0);
    default:
      return send(fd, "byte", 4, 0);
  }
}
static void send_to_full_socket(const char* call, enum sender sender) {
  int fd = full_socket(), file = memfd_create("bytes", 0);
  if (write(file, "bytes", 5) != 5) abort();
  ready();
  while (!told()) {
    long long since = now_us();
    lseek(file, 0, SEEK_SET);
    if (noted(call, send_by(sender, fd, file)) >= 0) wrong("%s has sent something", call);
    check_time(call, since, kShort);
  }
}
static void wait_send_timeo(const char* unused) {
  (void)unused;
  send_to_full_socket("send", kSend);
}
static void wait_writev_timeo(const char* unused) {
  (void)unused;
  send_to_full_socket("writev", kWritev);
}
static void wait_sendmmsg_timeo(const char* unused) {
  (void)unused;
  send_to_full_socket("sendmmsg", kSendmmsg);
}
static void wait_sendfile_timeo(const char* unused) {
  (void)unused;
  send_to_full_socket("sendfile", kSendfile);
}
static void wait_pwritev2_timeo(const char* unused) {
  (void)unused;
  send_to_full_socket("pwritev2", kPwritev2);
}
static void wait_recvmmsg(const char* unused) {
  (void)unused;
  char byte;
  int pair[2];
  struct iovec part = {&byte, 1};
  struct mmsghdr message;
  memset(&message, 0, sizeof message);
  message.msg_hdr.msg_iov = &part;
  message.msg_hdr.msg_iovlen = 1;
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) abort();
  shared->fd = pair[1];
  pid_t child = wake_by_child(wake_by_byte);
  ready();
  if (noted("recvmmsg", recvmmsg(pair[0], &message, 1, 0, 0)) != 1) wrong("no message");
  end_child(child);
}
static void wake_message_room(pid_t parent) {
  (void)parent;
  struct message message;
  if (msgrcv(shared->ipc, &message, sizeof message.text, 0, 0) < 0) _exit(1);
}
static void wait_msgsnd(const char* unused) {
  (void)unused;
  struct message message = {1, "hello"};
  shared->ipc = msgget(IPC_PRIVATE, 0600);
  if (shared->ipc < 0) not_offered("msgget");
  while (msgsnd(shared->ipc, &message, sizeof message.text, IPC_NOWAIT) == 0) {
  }
  pid_t child = wake_by_child(wake_message_room);
  ready();
  if (noted("msgsnd", msgsnd(shared->ipc, &message, sizeof message.text, 0)) != 0)
    wrong("msgsnd failed");
  end_child(child);
  msgctl(shared->ipc, IPC_RMID, 0);
}

// --- 9: locks of files, a FIFO

// The child has the lock until it is told; it says so by `word`.
static void hold_file_lock(int posix) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int file = open(shared->address.sun_path, O_RDWR);
  if (file < 0 || (posix ? fcntl(file, F_SETLK, &all) : flock(file, LOCK_EX)) != 0) _exit(1);
  atomic_store(&shared->word, 1);
}
static pid_t child_with_lock(int posix) {
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    hold_file_lock(posix);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
    }
    _exit(7);
  }
  while (!atomic_load(&shared->word)) usleep(1000);
  return child;
}
static void lock_file(const char* call, int posix) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  strcpy(shared->address.sun_path, "/tmp/attach-waits.XXXXXX");
  int file = mkstemp(shared->address.sun_path);
  if (file < 0) not_offered("mkstemp");
  pid_t child = child_with_lock(posix);
  unlink(shared->address.sun_path);
  ready();
  if (noted(call, posix ? fcntl(file, F_SETLKW, &all) : flock(file, LOCK_EX)) != 0)
    wrong("%s failed", call);
  end_child(child);
}
static void wait_flock(const char* unused) {
  (void)unused;
  lock_file("flock", 0);
}
static void wait_setlkw(const char* unused) {
  (void)unused;
  lock_file("fcntl", 1);
}
static void wake_by_open(pid_t parent) {
  (void)parent;
  if (open(shared->address.sun_path, O_WRONLY) < 0) _exit(1);
}
static void wait_fifo(const char* unused) {
  (void)unused;
  snprintf(shared->address.sun_path, sizeof shared->address.sun_path, "/tmp/attach-fifo.%d",
           (int)getpid());
  if (mkfifo(shared->address.sun_path, 0600) != 0) not_offered("mkfifo");
  pid_t child = wake_by_child(wake_by_open);
  ready();
  if (noted("open", open(shared->address.sun_path, O_RDONLY)) < 0) wrong("open failed");
  unlink(shared->address.sun_path);
  end_child(child);
}

// --- 10: a child

static void wait_wait4(const char* unused) {
  (void)unused;
  pid_t child = wake_by_child(wake_nothing);
  ready();
  end_child(child);
}
static void wait_waitid(const char* unused) {
  (void)unused;
  siginfo_t info;
  pid_t child = wake_by_child(wake_nothing);
  ready();
  if (noted("waitid", waitid(P_PID, (id_t)child, &info, WEXITED)) != 0 || info.si_status != 7)
    wrong("waitid");
}

static const struct word kWords[] = {
    {"read", wait_read},
    {"read-socket", wait_read_socket},
    {"read-tty", wait_read_tty},
    {"futex", wait_futex},
    {"futex-timeout", wait_futex_timeout},
    {"condition", wait_condition},
    {"condition-timeout", wait_condition_timeout},
    {"semaphore", wait_semaphore},
    {"poll", wait_poll},
    {"poll-timeout", wait_poll_timeout},
    {"ppoll", wait_ppoll},
    {"ppoll-timeout", wait_ppoll_timeout},
    {"select", wait_select},
    {"pselect-timeout", wait_pselect_timeout},
    {"select-constant", wait_select_constant},
    {"nanosleep", wait_nanosleep},
    {"clock_nanosleep", wait_clock_nanosleep},
    {"long-sleep", wait_long_sleep},
    {"epoll", wait_epoll},
    {"epoll-timeout", wait_epoll_timeout},
    {"epoll_pwait2", wait_epoll_pwait2},
    {"epoll-signals", wait_epoll_signals},
    {"io_getevents", wait_io_getevents},
    {"io_uring", wait_io_uring},
    {"sigwaitinfo", wait_sigwaitinfo},
    {"sigtimedwait", wait_sigtimedwait},
    {"sigsuspend", wait_sigsuspend},
    {"pause", wait_pause},
    {"signalfd", wait_signalfd},
    {"semop", wait_semop},
    {"semtimedop", wait_semtimedop},
    {"msgrcv", wait_msgrcv},
    {"recv", wait_recv},
    {"recv-timeo", wait_recv_timeo},
    {"accept", wait_accept},
    {"accept-timeo", wait_accept_timeo},
    {"connect", wait_connect},
    {"connect-timeo", wait_connect_timeo},
    {"send-timeo", wait_send_timeo},
    {"writev-timeo", wait_writev_timeo},
    {"sendmmsg-timeo", wait_sendmmsg_timeo},
    {"sendfile-timeo", wait_sendfile_timeo},
    {"pwritev2-timeo", wait_pwritev2_timeo},
    {"recvmmsg", wait_recvmmsg},
    {"msgsnd", wait_msgsnd},
    {"flock", wait_flock},
    {"setlkw", wait_setlkw},
    {"fifo", wait_fifo},
    {"wait4", wait_wait4},
    {"waitid", wait_waitid},
    {0, 0},
};

static int ends[2];
static _Atomic int has_company;
static void* keep_company(void* unused) {
  (void)unused;
  char byte;
  atomic_store(&has_company, 1);
  noted("read of the companion", read(ends[0], &byte, 1));
  wrong("the companion was woken");
  return 0;
}

int main(int argc, char** argv) {
  shared = shared_memory(sizeof *shared);
  pthread_t thread;
  if (argc > 2 && strcmp(argv[argc - 1], "companion") == 0) {
    if (pipe(ends) != 0 || pthread_create(&thread, 0, keep_company, 0) != 0) abort();
    while (!atomic_load(&has_company)) usleep(1000);
  }
  return run_word(kWords, argc, argv);
}
