// SPDX-License-Identifier: MIT
// Runs into its guard page, again and again, and survives it: the handler, on an alternate stack,
// wants to see its own function and all registers as they were.
// event: deep(int n)
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

// Calls itself for ever with the registers that it was given.
void deep(long n);
extern const char deep_end[];
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl deep\n"
    ".type deep, @function\n"
    "deep:\n"
    "  push %rbx\n"
    "  lea -8(%rsp), %rsp\n"
    "  nop\n"
    "  call deep\n"
    "  lea 8(%rsp), %rsp\n"
    "  pop %rbx\n"
    "  ret\n"
    ".size deep, . - deep\n"
    ".globl deep_end\n"
    "deep_end:\n");

// Fills the registers; rdi stays what it is: the distance by which the stack begins.
void begin(long distance);
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl begin\n"
    ".type begin, @function\n"
    "begin:\n"
    "  sub %rdi, %rsp\n"
    "  mov $101, %eax\n"
    "  mov $102, %ebx\n"
    "  mov $103, %ecx\n"
    "  mov $104, %edx\n"
    "  mov $105, %esi\n"
    "  mov $108, %r8d\n"
    "  mov $109, %r9d\n"
    "  mov $110, %r10d\n"
    "  mov $111, %r11d\n"
    "  mov $112, %r12d\n"
    "  mov $113, %r13d\n"
    "  mov $114, %r14d\n"
    "  mov $115, %r15d\n"
    "  call deep\n"
    "  ud2\n"
    ".size begin, . - begin\n");

static sigjmp_buf back;
static volatile long distance, recovered, elsewhere, changed;

static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)info;
  static const int which[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_R8, REG_R9,
                              REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  static const long values[] = {101, 102, 103, 104, 105, 108, 109, 110, 111, 112, 113, 114, 115};
  const greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const char* ip = (const char*)registers[REG_RIP];
  if (ip < (const char*)deep || ip >= deep_end) elsewhere++;
  for (int i = 0; i < 13; ++i) changed += registers[which[i]] != values[i];
  changed += registers[REG_RDI] != distance;
  recovered++;
  siglongjmp(back, 1);
}

static void* run(void* argument) {
  static char alternate[65536];
  const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
  sigaltstack(&stack, 0);
  // The guard page is met by each of the pushes.
  for (distance = 0; distance < 2048; distance += 8)
    if (sigsetjmp(back, 1) == 0) begin(distance);
  return argument;
}

/* With STACK_SUBSCRIBE it listens to its own event, as patchbay/subscribe.h has it. */
static volatile long records, wrong;
__attribute__((target("general-regs-only"))) static void on_record(const void* record, void* data) {
  (void)data;
  const char* bytes = *(const char* const*)record;
  records++;
  wrong += *(const long*)(bytes + 24) != distance;
}
static void subscribe(void) {
  static void* made;
  int (*write)(const char*, const char*);
  int (*subscribe_with)(const char*, const char*, const char*, const char*,
                        void (*)(const void*, void*), void*, unsigned, void**);
  *(void**)&write = dlsym(RTLD_DEFAULT, "patchbay_write");
  *(void**)&subscribe_with = dlsym(RTLD_DEFAULT, "patchbay_subscribe_with");
  if (!write || !subscribe_with || write("function_events", "deep(long n)") ||
      subscribe_with(0, "functions", "deep", 0, on_record, 0, 1, &made))
    puts("there is no subscription");
}

/* With STACK_CALLBACK it has a callback at the function, as patchbay/ftrace.h has it. */
struct ops {
  void (*function)(unsigned long, unsigned long, struct ops*, void*);
  unsigned long flags;
  void* private_data;
  uint64_t id, reserved[4];
};
__attribute__((target("general-regs-only"))) static void on_call(unsigned long ip,
                                                                 unsigned long parent,
                                                                 struct ops* ops, void* registers) {
  (void)parent;
  (void)ops;
  (void)registers;
  records++;
  wrong += ip != (unsigned long)deep;
}
static void call_back(void) {
  static struct ops ops = {.function = on_call, .flags = 1UL << 31};
  int (*set_filter)(struct ops*, const char*, int, int);
  int (*add)(struct ops*);
  *(void**)&set_filter = dlsym(RTLD_DEFAULT, "patchbay_ftrace_set_filter");
  *(void**)&add = dlsym(RTLD_DEFAULT, "patchbay_register_ftrace_function");
  if (!set_filter || !add || set_filter(&ops, "deep", 4, 1) || add(&ops))
    puts("there is no callback");
}

int main(void) {
  const int listens = getenv("STACK_SUBSCRIBE") || getenv("STACK_CALLBACK");
  if (getenv("STACK_SUBSCRIBE")) subscribe();
  if (getenv("STACK_CALLBACK")) call_back();
  const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGSEGV, &action, 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 32768);
  pthread_t thread;
  pthread_create(&thread, &attributes, run, 0);
  pthread_join(thread, 0);
  printf("stack_overflow: %ld recovered, %ld elsewhere, %ld registers changed\n", recovered,
         elsewhere, changed);
  if (listens) printf("%s, %ld wrong\n", records ? "records" : "none", wrong);
  return 0;
}
