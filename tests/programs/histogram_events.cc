// SPDX-License-Identifier: MIT
// The events of the kernel's document on histograms, hit as it is told to, so that the document's
// tables can be made again. Each line of its input has fields separated by tabs; it says "done" for
// the line "done":
//   task PID COMM               who hits what follows, instead of this process
//   EVENT COUNT VALUE…          so many hits with these values: see `events` below
// A value of the form &FUNCTION+N is an address in one of the functions below.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../standin/kernel_events.h"

PB_TRACE_EVENT(net, netif_receive_skb,
               PB_FIELDS(PB_FIELD(void*, skbaddr), PB_FIELD(unsigned int, len), PB_STRING(name)),
               PB_PRINT("dev=%s skbaddr=%p len=%u", __get_str(name), REC->skbaddr, REC->len));
PB_TRACE_EVENT(net, netif_rx,
               PB_FIELDS(PB_FIELD(void*, skbaddr), PB_FIELD(unsigned int, len), PB_STRING(name)),
               PB_PRINT("dev=%s skbaddr=%p len=%u", __get_str(name), REC->skbaddr, REC->len));
PB_TRACE_EVENT(tcp, tcp_probe,
               PB_FIELDS(PB_FIELD(uint16_t, dport), PB_FIELD(uint32_t, snd_cwnd),
                         PB_FIELD(uint32_t, snd_wnd), PB_FIELD(uint32_t, rcv_wnd),
                         PB_FIELD(uint32_t, srtt)));
PB_TRACE_EVENT(syscalls, sys_enter_recvfrom,
               PB_FIELDS(PB_FIELD(int, __syscall_nr), PB_FIELD(unsigned long, size)));

// The agent's, when there is one in the process.
extern "C" __attribute__((weak)) void patchbay_set_current(uint32_t pid, const char* comm);

#define FUNCTION extern "C" __attribute__((noinline, used)) void
#define STAYS __asm__ volatile("" ::: "memory")  // a call before it is none that is jumped to

namespace {
struct Values {
  char* word[8];
  uint64_t number[8];
};
}  // namespace

// --- functions that the document has: call sites with room for an offset, and two stacks

#define CALL_SITE(name) \
  FUNCTION name() { __asm__ volatile(".fill 64, 1, 0x90"); }
CALL_SITE(syslog_print_all)
CALL_SITE(usb_control_msg)
CALL_SITE(seq_buf_alloc)
CALL_SITE(ext4_find_extent)
CALL_SITE(apparmor_file_alloc_security)
CALL_SITE(ext4_htree_store_dirent)

FUNCTION __netif_receive_skb_core(const Values* v) {
  PB_TRACE(netif_receive_skb, (void*)v->number[0], (unsigned)v->number[1], "lo");
  STAYS;
}
FUNCTION __netif_receive_skb(const Values* v) {
  __netif_receive_skb_core(v);
  STAYS;
}
FUNCTION netif_receive_skb_internal(const Values* v) {
  __netif_receive_skb(v);
  STAYS;
}
FUNCTION process_backlog(const Values* v) {
  netif_receive_skb_internal(v);
  STAYS;
}
FUNCTION napi_gro_receive(const Values* v) {
  netif_receive_skb_internal(v);
  STAYS;
}
FUNCTION netif_rx_internal(const Values* v) {
  PB_TRACE(netif_rx, (void*)v->number[0], (unsigned)v->number[1], "lo");
  STAYS;
}
FUNCTION netif_rx_ni(const Values* v) {
  netif_rx_internal(v);
  STAYS;
}
FUNCTION __kmalloc(const Values* v) {
  PB_TRACE(kmalloc, v->number[0], nullptr, v->number[1], v->number[2], 0xcc0ul, -1);
  STAYS;
}
FUNCTION kmemdup(const Values* v) {
  __kmalloc(v);
  STAYS;
}
FUNCTION kernel_clone(const Values* v) {
  PB_TRACE(sched_process_fork, "systemd", 1, v->word[0], (pid_t)v->number[1]);
  STAYS;
}
FUNCTION __schedule(const Values* v) {
  PB_TRACE(sched_switch, v->word[0], (pid_t)v->number[1], (int)v->number[2], (long)v->number[3],
           v->word[4], (pid_t)v->number[5], (int)v->number[6]);
  STAYS;
}
FUNCTION schedule(const Values* v) {
  __schedule(v);
  STAYS;
}
FUNCTION io_schedule(const Values* v) {
  schedule(v);
  STAYS;
}

namespace {

void exec(const Values* v) {
  PB_TRACE(sched_process_exec, v->word[0], (pid_t)v->number[1], (pid_t)v->number[1]);
}
void exit_of(const Values* v) {
  PB_TRACE(sched_process_exit, v->word[0], (pid_t)v->number[1], 120);
}
void waking(const Values* v) {
  PB_TRACE(sched_waking, v->word[0], (pid_t)v->number[1], (int)v->number[2], 0);
}
void wakeup_new(const Values* v) {
  PB_TRACE(sched_wakeup_new, v->word[0], (pid_t)v->number[1], (int)v->number[2], 0);
}
void read_enters(const Values* v) { PB_TRACE(sys_enter_read, 0, 3, 0ul, v->number[0]); }
void call_enters(const Values* v) {
  const unsigned long args[6] = {};
  PB_TRACE(sys_enter, (long)v->number[0], args);
}
void recvfrom_enters(const Values* v) { PB_TRACE(sys_enter_recvfrom, 45, v->number[0]); }
void tcp(const Values* v) {
  PB_TRACE(tcp_probe, (uint16_t)v->number[0], (uint32_t)v->number[1], (uint32_t)v->number[2],
           (uint32_t)v->number[4], (uint32_t)v->number[3]);
}

constexpr struct {
  const char* name;
  void (*hit)(const Values*);
} events[] = {
    {"kmalloc", __kmalloc},         // CALL_SITE BYTES_REQ BYTES_ALLOC
    {"kmemdup", kmemdup},           // the same, one function deeper
    {"skb", napi_gro_receive},      // SKBADDR LEN
    {"skb2", process_backlog},      // the same from elsewhere
    {"rx", netif_rx_ni},            // SKBADDR LEN
    {"fork", kernel_clone},         // CHILD_COMM CHILD_PID
    {"exec", exec},                 // FILENAME PID
    {"exit", exit_of},              // COMM PID
    {"waking", waking},             // COMM PID PRIO
    {"wakeup_new", wakeup_new},     // COMM PID PRIO
    {"switch", schedule},           // PREV_COMM PID PRIO STATE NEXT_COMM PID PRIO
    {"io_switch", io_schedule},     // the same, one function deeper
    {"read", read_enters},          // COUNT
    {"syscall", call_enters},       // ID
    {"recvfrom", recvfrom_enters},  // SIZE
    {"tcp", tcp},                   // DPORT SND_CWND SND_WND SRTT RCV_WND
};

constexpr struct {
  const char* name;
  void (*function)();
} call_sites[] = {{"syslog_print_all", syslog_print_all},
                  {"usb_control_msg", usb_control_msg},
                  {"seq_buf_alloc", seq_buf_alloc},
                  {"ext4_find_extent", ext4_find_extent},
                  {"apparmor_file_alloc_security", apparmor_file_alloc_security},
                  {"ext4_htree_store_dirent", ext4_htree_store_dirent}};

uint64_t number_of(const char* word) {
  if (*word != '&') return strtoull(word, nullptr, 0);
  const size_t length = strcspn(++word, "+");
  for (const auto& site : call_sites)
    if (strlen(site.name) == length && memcmp(site.name, word, length) == 0)
      return uint64_t(site.function) + (word[length] ? strtoull(word + length, nullptr, 0) : 0);
  return 0;
}

// False: there is no such event.
bool hit(const char* name, uint64_t count, const Values& values) {
  for (const auto& event : events) {
    if (strcmp(event.name, name) != 0) continue;
    while (count--) event.hit(&values);
    return true;
  }
  return false;
}

}  // namespace

int main() {
  static char line[1024];
  while (fgets(line, sizeof line, stdin)) {
    char empty[] = "";
    Values values;
    for (auto& word : values.word) word = empty;
    line[strcspn(line, "\n")] = 0;
    const char* name = strtok(line, "\t");
    if (!name) continue;
    const char* second = strtok(nullptr, "\t");
    for (auto& word : values.word)
      if (char* next = strtok(nullptr, "\t")) word = next;
    for (int i = 0; i < 8; ++i) values.number[i] = number_of(values.word[i]);
    const uint64_t count = second ? strtoull(second, nullptr, 0) : 0;
    if (strcmp(name, "done") == 0) {
      puts("done");
      fflush(stdout);
    } else if (strcmp(name, "task") == 0) {
      if (patchbay_set_current) patchbay_set_current(uint32_t(count), values.word[0]);
    } else if (!hit(name, count, values)) {
      fprintf(stderr, "there is no event %s\n", name);
      return 1;
    }
  }
  return 0;
}
