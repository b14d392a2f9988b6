// SPDX-License-Identifier: MIT
// Unwinds from every instruction of a traced call. A child single-steps the main thread from the
// call of each function to its return. At each instruction it sends SIGUSR1, whose handler unwinds:
// the caller must be among the frames, with its stack pointer and the registers that a call keeps,
// and what follows must be what follows without tracing. tests/scripts/unwind.sh says what is
// traced.
//
//   main ── step_call ── step_NAME ── stub, probe path … ── handler      the traced thread
//   child                                                                steps, sends, compares
//
// The kernel aborts a restartable sequence of a thread that it stops. So the child forgets the
// sequence (rseq_cs = 0) before each step: nobody else writes to the rings here.
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>

#define KEEP extern "C" __attribute__((noipa))
#include <patchbay/trace_event.h>

PB_TRACE_EVENT(steps, step_made, PB_FIELDS(PB_FIELD(int, n), PB_STRING(text)));
PB_TRACE_EVENT(steps, step_numbers_made, PB_FIELDS(PB_FIELD(int, n), PB_FIELD(long, b)));
PB_TRACE_EVENT(steps, step_compared_made, PB_FIELDS(PB_FIELD(int, n), PB_STRING(text)));

namespace {

constexpr int kMaxFrames = 64;
constexpr int kMaxFindings = 4;
constexpr int kPainted = 1000;  // words of the stack below a call
constexpr uint64_t kPaint = 0x5eed5eed5eed5eed;
constexpr long kMaxSteps = 60000;  // of one call; more is a loop

struct Stack {
  int count;
  uint64_t ip[kMaxFrames];
};

// Between the thread and the child that steps it.
struct Shared {
  volatile int ready;
  volatile uint64_t call_sp;
  Stack plain;   // of step_call, from its frame on, without tracing
  Stack found;   // by _Unwind_Backtrace
  Stack listed;  // by backtrace()
  uint64_t cfa, registers[6];
  long steps, bad, deepest;
  int findings;
  char finding[kMaxFindings][400];
};
Shared* g_shared;

}  // namespace

extern "C" {
long step_call(void* function, long a, long b);
extern char step_at_call[], step_returned[], step_call_end[];
uint64_t g_call_sp;
}

// Whoever comes out of it has these in rbx, rbp, r12-r15.
__asm__(R"(
.text
.p2align 4
.globl step_call, step_at_call, step_returned, step_call_end
.type step_call, @function
step_call:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  push %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  push %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r12, 0
  push %r13
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r13, 0
  push %r14
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r14, 0
  push %r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r15, 0
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  mov %rsp, g_call_sp(%rip)
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov $0x5eed0003, %ebx
  mov $0x5eed0006, %ebp
  mov $0x5eed000c, %r12d
  mov $0x5eed000d, %r13d
  mov $0x5eed000e, %r14d
  mov $0x5eed000f, %r15d
step_at_call:
  call *%rax
step_returned:
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  pop %r15
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r15
  pop %r14
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r14
  pop %r13
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r13
  pop %r12
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r12
  pop %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbp
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  ret
  .cfi_endproc
step_call_end:
.size step_call, . - step_call

# A function whose places are known: +1 +4 +5 +9 +14.
.globl step_inside
.type step_inside, @function
step_inside:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  push %rbx
  .cfi_offset %rbx, -24
  sub $24, %rsp
  mov $0xbad, %ebx
  cmp $1, %rdi
  lea 7(%rdi), %rax
  jne 1f
  mov $3, %eax
1:
  add $24, %rsp
  pop %rbx
  .cfi_restore %rbx
  pop %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
.size step_inside, . - step_inside

# The stack is realigned: for some instructions r10 alone knows where the caller is.
.globl step_realigned
.type step_realigned, @function
step_realigned:
  .cfi_startproc
  lea 8(%rsp), %r10
  .cfi_def_cfa %r10, 0
  and $-64, %rsp
  pushq -8(%r10)
  push %rbp
  mov %rsp, %rbp
  .cfi_escape 0x10, 6, 2, 0x76, 0		/* rbp at rbp */
  push %r10
  .cfi_escape 0x0f, 3, 0x76, 0x78, 0x06		/* CFA at rbp - 8 */
  sub $0x68, %rsp
  lea 1(%rdi), %rax
  add $0x68, %rsp
  pop %r10
  .cfi_def_cfa %r10, 0
  pop %rbp
  .cfi_restore %rbp
  lea -8(%r10), %rsp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
.size step_realigned, . - step_realigned

# Too short for a jump: an int3.
.globl step_short
.type step_short, @function
.p2align 4
step_short:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  ret
  .cfi_endproc
.size step_short, . - step_short
# No room behind it.
  ret
.p2align 4
)");

// --- what is traced

KEEP long step_untraced(long a, long b) { return a + b; }
KEEP long step_event(long a, long b) { return a + b; }
KEEP long step_text(long text, long b) { return text && b ? 1 : 0; }
KEEP long step_fault(long text, long b) { return text ? b : 0; }
KEEP long step_filtered(long a, long b) { return a + b; }
KEEP long step_hist(long a, long b) { return a * b; }
KEEP long step_registers(long a, long b) { return a - b; }
KEEP long step_return(long a, long b) { return a ^ b; }
KEEP long step_return_text(long a, long b) { return a ? b : 0; }
KEEP long step_limited(long a, long b) { return a | b; }
KEEP long step_whole(long text, long b) { return text ? b + 1 : 0; }
KEEP long step_whole_fault(long text, long b) { return text ? b + 2 : 0; }
KEEP long step_function(long a, long b) { return a & b; }
KEEP long step_graph(long a, long b) { return a & b; }
KEEP long step_leaf(long a, long b) { return a + 2 * b; }
KEEP long step_nested(long a, long b) { return step_leaf(a, b) + step_leaf(b, a); }
KEEP long step_profiled(long a, long b) { return a + 3 * b; }
KEEP long step_stack(long a, long b) { return a + 4 * b; }
KEEP long step_static(long a, long b) {
  PB_TRACE(step_made, int(a), "text");
  return a + b;
}
KEEP long step_numbers(long a, long b) {
  PB_TRACE(step_numbers_made, int(a), b);
  return a + b;
}
KEEP long step_filtered_static(long a, long b) {
  PB_TRACE(step_compared_made, int(a), "text");
  return a + b;
}
KEEP long step_compared(long text, long b) { return text ? b : 0; }
KEEP long step_both(long a, long b) { return a + 5 * b; }
KEEP long step_subscribed(long a, long b) { return a + 6 * b; }
KEEP long step_called(long a, long b) { return a + 7 * b; }
KEEP long step_called_lean(long a, long b) { return a + 8 * b; }
KEEP long step_subscribed_lean(long text, long b) { return text ? b + 6 : 0; }
KEEP long step_inside(long a, long b);
KEEP long step_realigned(long a, long b);
KEEP long step_short(long a, long b);
// A tail call: where returns are hooked its caller is a trampoline.
KEEP long step_tail(long a, long b) { return step_leaf(a + 1, b); }

namespace {

using Traced = long (*)(long, long);
const struct {
  const char* name;
  Traced function;
} kFunctions[] = {
#define ROW(name) \
  { #name, step_##name }
    ROW(untraced),
    ROW(event),
    ROW(text),
    ROW(fault),
    ROW(filtered),
    ROW(hist),
    ROW(registers),
    ROW(return ),
    ROW(limited),
    ROW(whole),
    ROW(whole_fault),
    ROW(function),
    ROW(graph),
    ROW(nested),
    ROW(profiled),
    ROW(return_text),
    ROW(stack),
    ROW(static),
    ROW(inside),
    ROW(realigned),
    ROW(short),
    ROW(tail),
    ROW(both),
    ROW(compared),
    ROW(filtered_static),
    ROW(numbers),
    ROW(subscribed),
    ROW(subscribed_lean),
    ROW(called),
    ROW(called_lean),
#undef ROW
};

// --- in the traced thread

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void*) {
  static const int kKept[] = {3, 6, 12, 13, 14, 15};
  Shared* shared = g_shared;
  const uint64_t ip = _Unwind_GetIP(context);
  if (shared->found.count == kMaxFrames) return _URC_END_OF_STACK;
  if (!ip) return _URC_NO_REASON;  // behind the outermost; backtrace() leaves it out
  shared->found.ip[shared->found.count++] = ip;
  if (ip == reinterpret_cast<uint64_t>(step_returned)) {
    shared->cfa = _Unwind_GetCFA(context);
    for (int i = 0; i < 6; i++) shared->registers[i] = _Unwind_GetGR(context, kKept[i]);
  }
  return _URC_NO_REASON;
}

void unwind_here(int) {
  Shared* shared = g_shared;
  shared->found.count = 0;
  shared->cfa = 0;
  _Unwind_Backtrace(note_frame, nullptr);
  void* frames[kMaxFrames];
  shared->listed.count = backtrace(frames, kMaxFrames);
  for (int i = 0; i < shared->listed.count; i++)
    shared->listed.ip[i] = reinterpret_cast<uint64_t>(frames[i]);
}

long note_plain(long, long) {
  unwind_here(0);
  Stack* plain = &g_shared->plain;
  const Stack& found = g_shared->found;
  plain->count = 0;
  for (int i = 0; i < found.count; i++)
    if (plain->count || found.ip[i] == reinterpret_cast<uint64_t>(step_returned))
      plain->ip[plain->count++] = found.ip[i];
  return 0;
}

// Subscribers of function events that are there (patchbay/subscribe.h needs a program that is
// linked with the agent).
__attribute__((target("general-regs-only"))) void count_record(const void*, void* count) {
  *static_cast<volatile long*>(count) = *static_cast<volatile long*>(count) + 1;
}
constexpr unsigned kGeneralRegs = 1;  // PATCHBAY_SUBSCRIBE_GENERAL_REGS
void subscribe_to(const char* event, unsigned flags) {
  static long count;
  void* made;
  using Subscribe = int (*)(const char*, const char*, const char*, const char*,
                            void (*)(const void*, void*), void*, unsigned, void**);
  const auto subscribe =
      reinterpret_cast<Subscribe>(dlsym(RTLD_DEFAULT, "patchbay_subscribe_with"));
  if (subscribe)
    subscribe(nullptr, "functions", event, nullptr, count_record, &count, flags, &made);
}

// A callback at a function (patchbay/ftrace.h, likewise).
struct FtraceOps {
  void (*function)(unsigned long, unsigned long, FtraceOps*, void*);
  unsigned long flags;
  void* private_data;
  uint64_t id, reserved[4];
};
__attribute__((target("general-regs-only"))) void count_call(unsigned long, unsigned long,
                                                             FtraceOps* ops, void*) {
  ops->private_data = static_cast<char*>(ops->private_data) + 1;
}
void call_back_at(const char* function, unsigned long flags, FtraceOps* ops) {
  *ops = {count_call, flags, nullptr, 0, {}};
  const auto set_filter = reinterpret_cast<int (*)(FtraceOps*, const char*, int, int)>(
      dlsym(RTLD_DEFAULT, "patchbay_ftrace_set_filter"));
  const auto add = reinterpret_cast<int (*)(FtraceOps*)>(
      dlsym(RTLD_DEFAULT, "patchbay_register_ftrace_function"));
  if (!set_filter || !add) return;
  set_filter(ops, function, int(strlen(function)), 1);
  add(ops);
}

long arguments_of(const char* name, long* b) {
  static const char kText[] = "a text of some length";
  *b = 2;
  if (!strcmp(name, "text") || !strcmp(name, "return_text")) *b = reinterpret_cast<long>(kText);
  for (const char* with_text : {"text", "compared", "whole", "subscribed_lean"})
    if (!strcmp(name, with_text)) return reinterpret_cast<long>(kText);
  return strstr(name, "fault") ? 8 : 1;
}

// --- in the child

void describe(uint64_t ip, char* text, size_t size) {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<void*>(ip), &info) && info.dli_fname) {
    const char* file = strrchr(info.dli_fname, '/');
    const char* name = info.dli_sname ? info.dli_sname : file ? file + 1 : info.dli_fname;
    const auto base = reinterpret_cast<uint64_t>(info.dli_sname ? info.dli_saddr : info.dli_fbase);
    snprintf(text, size, "%s+0x%lx", name, long(ip - base));
  } else {
    snprintf(text, size, "stub %lx", long(ip));
  }
}

// Null: as it has to be.
const char* what_is_wrong(const Shared& shared) {
  static char text[80];
  const Stack& plain = shared.plain;
  for (const Stack* stack : {&shared.found, &shared.listed}) {
    int at = 0;
    while (at < stack->count && stack->ip[at] != plain.ip[0]) at++;
    if (at == stack->count)
      return stack == &shared.found ? "no caller" : "no caller in backtrace()";
    if (stack->count - at != plain.count ||
        !std::equal(plain.ip, plain.ip + plain.count, stack->ip + at))
      return "other frames behind the caller";
  }
  // What the frame of the caller says of the frame below it: where that one's return address was.
  if (shared.cfa != shared.call_sp) {
    snprintf(text, sizeof text, "the caller's stack pointer is off by %ld",
             long(shared.cfa - shared.call_sp));
    return text;
  }
  static const uint64_t kNumbers[] = {3, 6, 12, 13, 14, 15};
  for (int i = 0; i < 6; i++)
    if (shared.registers[i] != 0x5eed0000 + kNumbers[i]) return "a register is not the caller's";
  return nullptr;
}

void note_finding(Shared* shared, const char* what, uint64_t ip) {
  shared->bad++;
  static uint64_t last;
  if (shared->findings == kMaxFindings || ip - last < 16) return;
  last = ip;
  char place[120], frame[120];
  describe(ip, place, sizeof place);
  char* text = shared->finding[shared->findings++];
  int at = snprintf(text, sizeof shared->finding[0], "%s at %s;", what, place);
  for (int i = 0; i < shared->found.count && at < 300; i++) {
    describe(shared->found.ip[i], frame, sizeof frame);
    at += snprintf(text + at, sizeof shared->finding[0] - size_t(at), " %s", frame);
  }
}

class Stepper {
 public:
  Stepper(pid_t thread, uint64_t rseq, Shared* shared)
      : thread_(thread), rseq_(rseq), shared_(shared) {}

  // False: ptrace is not permitted.
  bool begin() {
    if (ptrace(PTRACE_SEIZE, thread_, nullptr, PTRACE_O_TRACESYSGOOD)) return false;
    shared_->ready = 1;
    return true;
  }
  void run() {
    for (int signal = stop(); signal >= 0;) {
      if (signal == SIGUSR2) {
        step_call_through();
        signal = 0;
      }
      signal = go_on(PTRACE_CONT, signal);
    }
  }

 private:
  // The signal that stops it, SIGTRAP | 0x80 for a system call, 0 for an event; -1: it has ended.
  int go_on(int how, int signal) {
    return ptrace(__ptrace_request(how), thread_, nullptr, signal) ? -1 : stop();
  }
  int stop() {
    int status = 0;
    if (waitpid(thread_, &status, __WALL) != thread_ || !WIFSTOPPED(status)) return -1;
    return status >> 16 ? 0 : WSTOPSIG(status);
  }
  void forget_sequence() {
    uint64_t zero = 0;
    iovec local = {&zero, 8}, remote = {reinterpret_cast<void*>(rseq_ + 8), 8};
    process_vm_writev(thread_, &local, 1, &remote, 1, 0);
  }
  user_regs_struct registers() {
    user_regs_struct all = {};
    ptrace(PTRACE_GETREGS, thread_, nullptr, &all);
    return all;
  }
  bool is_step() {
    siginfo_t info = {};
    ptrace(PTRACE_GETSIGINFO, thread_, nullptr, &info);
    return info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT || info.si_code == SI_USER;
  }

  void step_call_through() {
    bool inside = false;
    uint64_t before = 0;
    for (int signal = 0;;) {
      forget_sequence();
      signal = go_on(PTRACE_SINGLESTEP, signal);
      if (signal < 0) return;
      if (signal == SIGTRAP && is_step()) signal = 0;
      const user_regs_struct now = registers();
      if (now.rip == reinterpret_cast<uint64_t>(step_returned)) return;
      if (before == reinterpret_cast<uint64_t>(step_at_call)) inside = true;
      before = now.rip;
      if (!inside || signal) continue;
      if (++shared_->steps == kMaxSteps) return;
      if (!unwind()) return;
      if (const char* what = what_is_wrong(*shared_)) note_finding(shared_, what, now.rip);
    }
  }
  // Through the handler and its return.
  bool unwind() {
    forget_sequence();
    bool returning = false;
    for (int signal = SIGUSR1;;) {
      signal = go_on(PTRACE_SYSCALL, signal);
      if (signal < 0) return false;
      if (signal != (SIGTRAP | 0x80)) continue;
      signal = 0;
      if (returning) return true;
      returning = registers().orig_rax == SYS_rt_sigreturn;
    }
  }

  const pid_t thread_;
  const uint64_t rseq_;
  Shared* shared_;
};

void report(const char* name) {
  const Shared& shared = *g_shared;
  if (shared.steps == kMaxSteps) printf("%s: does not end\n", name);
  printf("%s: %s\n", name, shared.bad || !shared.steps ? "BAD" : "good");
  fprintf(stderr, "%s: %ld steps, %ld bad, %ld bytes of stack\n", name, shared.steps, shared.bad,
          shared.deepest);
  for (int i = 0; i < shared.findings; i++) fprintf(stderr, "  %s\n", shared.finding[i]);
}

// Not optimized: all calls come from one place, so that their frames are the same.
__attribute__((noinline, optimize("O0"))) void step(const char* name, Traced function) {
  Shared* shared = g_shared;
  long b = 0;
  const long a = arguments_of(name, &b);
  // As it is, then until all that is done once is done, then with the stack painted, then stepped.
  for (int i = 0; i < 4; i++) {
    shared->call_sp = g_call_sp;
    shared->steps = shared->bad = shared->findings = 0;
    auto* const top = reinterpret_cast<volatile uint64_t*>(g_call_sp);
    if (i == 2)
      for (int word = 1; word < kPainted; word++) top[-word] = kPaint;
    if (i == 3) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR2);
    step_call(reinterpret_cast<void*>(i == 0 ? note_plain : function), a, b);
    if (i != 2) continue;
    int deepest = kPainted - 1;
    while (deepest > 0 && top[-deepest] == kPaint) deepest--;
    shared->deepest = 8L * deepest;
  }
  report(name);
}

}  // namespace

// unwind_steps NAME… ; waits for a line on stdin before it begins.
int main(int argc, char** argv) {
  g_shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  struct sigaction action = {};
  action.sa_handler = unwind_here;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  signal(SIGUSR2, SIG_IGN);
  if (getenv("STEP_GATE")) getchar();
  subscribe_to("step_subscribed", 0);
  subscribe_to("step_subscribed_lean", kGeneralRegs);
  static FtraceOps any, lean;
  call_back_at("step_called", 0, &any);
  call_back_at("step_called_lean", 1UL << 31, &lean);  // PATCHBAY_OPS_FL_GENERAL_REGS
  const auto storage = reinterpret_cast<uint64_t>(__builtin_thread_pointer());
  const uint64_t rseq = storage + uint64_t(__rseq_offset);
  const pid_t thread = getpid();
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  const pid_t child = fork();
  if (child == 0) {
    Stepper stepper(thread, rseq, g_shared);
    if (!stepper.begin()) _exit(77);
    stepper.run();
    _exit(0);
  }
  while (!g_shared->ready) {
    if (waitpid(child, nullptr, WNOHANG) == child) {
      printf("ptrace is not permitted\n");
      return 77;
    }
    usleep(1000);
  }
  for (const auto& one : kFunctions) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; i++) wanted = wanted || !strcmp(argv[i], one.name);
    if (wanted) step(one.name, one.function);
  }
  if (getenv("STEP_GATE")) {
    fflush(stdout);
    getchar();
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return 0;
}
