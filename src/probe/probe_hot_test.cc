// SPDX-License-Identifier: MIT
//
// Who gets which record: thread lists, several instances at one site, static events, tasks that a
// thread plays; and a probe inside a function, where every register, the flags and the red zone are
// the program's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <patchbay/static_event_abi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/raw_syscall.h"
#include "probe/probe_compile.h"
#include "ring_buffer/ring_reader.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

template <typename T>
std::unique_ptr<T, decltype(&std::free)> make_flexible(size_t extra) {
  return {static_cast<T*>(std::calloc(1, sizeof(T) + extra)), &std::free};
}

using Record = std::vector<uint8_t>;

template <typename T>
T at(const Record& record, size_t offset) {
  T value;
  std::memcpy(&value, record.data() + offset, sizeof value);
  return value;
}

struct Instance {
  std::string directory;
  std::unique_ptr<RingBuffer> buffer;
  std::unique_ptr<RingReader> reader;

  void make(abi::CommTable* comms) {
    char name[] = "/tmp/probe_hot_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory = name;
    RingBufferOptions options;
    options.path = directory + "/buffer";
    options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
    options.comms = comms;
    auto made = RingBuffer::create(options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    buffer = std::move(*made);
    ASSERT_TRUE(buffer->enable().ok());
    reader = std::make_unique<RingReader>(buffer.get(), true);
  }
  std::vector<Record> take() {
    std::vector<Record> records;
    PageImage page;
    for (uint32_t ring = 0; ring < reader->nr_rings(); ring++)
      while (reader->next_page(ring, true, &page)) {
        EventIterator events(page.bytes, page.used);
        EventView event;
        while (events.next(&event)) records.emplace_back(event.record.begin(), event.record.end());
      }
    return records;
  }
};

class ProbeHot : public ::testing::Test {
 protected:
  void SetUp() override {
    auto* offset = static_cast<const ptrdiff_t*>(::dlsym(RTLD_DEFAULT, "__rseq_offset"));
    auto* size = static_cast<const unsigned*>(::dlsym(RTLD_DEFAULT, "__rseq_size"));
    pb_rseq_offset = offset && size && *size ? *offset : 0;
    a_.make(nullptr);
    if (HasFatalFailure()) return;
    b_.make(a_.buffer->rings()->comms);
    if (a_.buffer->header()->clock != abi::kClockTsc) pb_rseq_offset = 0;
    tid_ = uint32_t(raw_syscall(SYS_gettid));
    pb_thread = {};
    set_fetch({});
  }
  void TearDown() override {
    for (Instance* instance : {&a_, &b_}) {
      if (instance->buffer) instance->buffer->remove_file();
      ::rmdir(instance->directory.c_str());
    }
    pb_thread = {};
    pb_rseq_offset = 0;
  }

  void set_fetch(const std::vector<FetchInsn>& insns, uint16_t head = kFunctionHead) {
    fetch_ = make_flexible<FetchProgram>(insns.size() * sizeof(FetchInsn));
    uint32_t end = head;
    for (const FetchInsn& insn : insns)
      if (insn.op == FetchOp::kStore) end = insn.offset + insn.size;
    fetch_->fixed_size = end;
    fetch_->max_size = (end + 3) & ~3u;
    fetch_->nr_insns = uint16_t(insns.size());
    fetch_->head = head;
    std::copy(insns.begin(), insns.end(), fetch_->insn);
  }
  EventProgram event(const Instance& instance, uint16_t id) {
    EventProgram program{};
    program.rings = instance.buffer->rings();
    program.fetch = fetch_.get();
    program.id = id;
    program.max_size = fetch_->max_size;
    return program;
  }
  void set_site(const std::vector<const EventProgram*>& events) {
    program_ = make_flexible<SiteProgram>(events.size() * sizeof(void*));
    program_->nr_events = uint32_t(events.size());
    std::copy(events.begin(), events.end(), program_->event);
    site_ = {program_.get(), 0x4711};
    static_.program = program_.get();
  }
  void hit() {
    ProbeFrame frame{};
    frame.return_address = 0x1234;
    frame.registers.arg[0] = 77;
    probe_hit(&frame, &site_);
  }
  // A static event whose record has one s32 field.
  void static_hit(int32_t value) {
    struct {
      abi::RecordHeader header;
      int32_t value;
      int32_t pad;
    } record = {{}, value, 0};
    static_event_hit(&static_, &record, sizeof record);
  }
  static std::unique_ptr<PidSet, decltype(&std::free)> pid_set(std::vector<uint32_t> tids) {
    uint32_t slots = 1;
    while (slots <= tids.size()) slots *= 2;
    auto set = make_flexible<PidSet>(slots * sizeof(uint32_t));
    set->mask = slots - 1;
    for (uint32_t tid : tids) pid_set_add(set.get(), tid);
    return set;
  }

  Instance a_, b_;
  std::unique_ptr<FetchProgram, decltype(&std::free)> fetch_{nullptr, &std::free};
  std::unique_ptr<SiteProgram, decltype(&std::free)> program_{nullptr, &std::free};
  CallSite site_{};
  patchbay_event static_{};
  uint32_t tid_ = 0;
};

TEST_F(ProbeHot, SeveralInstancesShareOneRecord) {
  set_fetch({{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kStore, 0, 8, 0, 24, 0}});
  EventProgram first = event(a_, 600), second = event(b_, 600), third = event(b_, 601);
  set_site({&first, &second, &third});
  hit();
  auto in_a = a_.take(), in_b = b_.take();
  ASSERT_EQ(in_a.size(), 1u);
  ASSERT_EQ(in_b.size(), 2u);
  EXPECT_EQ(in_a[0], in_b[0]);
  EXPECT_EQ(at<uint16_t>(in_b[0], 0), 600);
  EXPECT_EQ(at<uint16_t>(in_b[1], 0), 601);
  EXPECT_EQ(at<uint32_t>(in_a[0], 4), tid_);
  EXPECT_EQ(at<uint64_t>(in_a[0], 8), 0x1234u);
  EXPECT_EQ(at<uint64_t>(in_a[0], 16), 0x4711u);
  EXPECT_EQ(at<uint64_t>(in_a[0], 24), 77u);
  EXPECT_EQ(a_.buffer->rings()->comms->used, 1u);  // one comm for all instances
  first.rings = RingBuffer::dead_rings();
  hit();
  EXPECT_TRUE(a_.take().empty());
  EXPECT_EQ(b_.take().size(), 2u);
}

TEST_F(ProbeHot, ListsOfThreadsDecide) {
  EventProgram wanted = event(a_, 600), unwanted = event(b_, 600);
  set_site({&wanted, &unwanted});
  auto mine = pid_set({tid_, 1, 2}), others = pid_set({1, 2, 3, 4, 5, 6, 7});
  wanted.pids = mine.get();
  unwanted.pids = others.get();
  hit();
  EXPECT_EQ(a_.take().size(), 1u);
  EXPECT_EQ(b_.take().size(), 0u);
  wanted.notrace_pids = mine.get();
  unwanted.pids = nullptr;
  unwanted.notrace_pids = others.get();
  hit();
  EXPECT_EQ(a_.take().size(), 0u);
  EXPECT_EQ(b_.take().size(), 1u);
}

TEST_F(ProbeHot, PidSetsFindWhatIsInThem) {
  std::vector<uint32_t> tids;
  for (uint32_t i = 0; i < 1000; i++) tids.push_back(1 + i * 977);
  auto set = pid_set(tids);
  for (uint32_t tid : tids) {
    EXPECT_TRUE(pid_set_has(set.get(), tid));
    EXPECT_FALSE(pid_set_has(set.get(), tid + 1));
  }
  EXPECT_FALSE(pid_set_has(pid_set({}).get(), 1));
}

TEST_F(ProbeHot, StaticEventsGetTheirHeader) {
  EventProgram program = event(a_, 700);
  set_site({&program});
  static_hit(5);  // meets the thread
  static_hit(6);
  auto records = a_.take();
  ASSERT_EQ(records.size(), 2u);
  for (const Record& record : records) {
    EXPECT_EQ(at<uint32_t>(record, 0), 700u);
    EXPECT_EQ(at<uint32_t>(record, 4), tid_);
  }
  EXPECT_EQ(at<int32_t>(records[1], 8), 6);
  static_.program = nullptr;
  static_hit(7);
  static_.program = program_.get();
  program.rings = RingBuffer::dead_rings();
  static_hit(8);
  EXPECT_TRUE(a_.take().empty());
}

TEST_F(ProbeHot, StaticEventsOfSeveralInstancesAndWithFieldsThatNameThreads) {
  EventProgram first = event(a_, 700), second = event(b_, 701);
  set_site({&first, &second});
  auto five = pid_set({5});
  second.pids = five.get();
  second.pid_field[0] = 8;
  static_hit(5);
  static_hit(6);
  EXPECT_EQ(a_.take().size(), 2u);
  EXPECT_EQ(b_.take().size(), 1u);  // the first: its field is in the list, the thread is not
  auto both = pid_set({5, tid_});
  second.pids = nullptr;
  second.notrace_pids = both.get();
  static_hit(5);
  static_hit(6);
  auto records = b_.take();
  ASSERT_EQ(records.size(), 1u);  // the second: not all of its threads are in the list
  EXPECT_EQ(at<int32_t>(records[0], 8), 6);
}

TEST_F(ProbeHot, AThreadMayPlayATask) {
  EventProgram program = event(a_, 700);
  set_site({&program});
  auto only = pid_set({4242});
  program.pids = only.get();
  static_hit(1);
  pb_thread.task_id = 4242;
  pb_thread.fast_tid = 0;
  static_hit(2);
  static_hit(3);
  hit();
  pb_thread.task_id = 0;
  pb_thread.fast_tid = 0;
  static_hit(4);
  auto records = a_.take();
  ASSERT_EQ(records.size(), 3u);
  for (const Record& record : records) EXPECT_EQ(at<uint32_t>(record, 4), 4242u);
  EXPECT_EQ(a_.buffer->rings()->comms->used, 1u);  // the thread's own
}

TEST_F(ProbeHot, AgentCodeIsCountedNotRecorded) {
  EventProgram program = event(a_, 700);
  set_site({&program});
  static_hit(1);
  pb_thread.in_agent = 1;
  pb_thread.fast_tid = 0;
  static_hit(2);
  hit();
  pb_thread.in_agent = 0;
  static_hit(3);
  EXPECT_EQ(a_.take().size(), 2u);
  EXPECT_EQ(a_.buffer->header()->recursion, 2u);
}

TEST_F(ProbeHot, ThreadsWithoutRseqUseTheirOwnRing) {
  EventProgram program = event(a_, 700);
  set_site({&program});
  pb_thread.no_rseq = 1;
  static_hit(1);
  hit();
  EXPECT_EQ(pb_thread.fast_tid, 0u);
  EXPECT_EQ(a_.buffer->counts(a_.buffer->rings()->nr_cpus).entries, 2u);
  a_.buffer->set_record_comms(false);
  pb_thread.known = 0;
  static_hit(2);
  EXPECT_EQ(a_.buffer->rings()->comms->used, 1u);
  a_.buffer->set_record_comms(true);
  static_hit(3);
  EXPECT_EQ(a_.buffer->rings()->comms->used, 2u);
}

// Loads all registers but rsp from `in` and the flags, calls `code`, stores them all to `out`, and
// the stack pointer that the code had at its start to out[4].
extern "C" void call_with_all(const uint64_t* in, uint64_t* out, const void* code);
__asm__(R"(
	.text
	.globl call_with_all
	.type call_with_all, @function
call_with_all:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	push %rsi
	push %rdx
	mov %rdi, %rax
	lea -8(%rsp), %rcx		/* inside the code, behind the call */
	mov %rcx, 32(%rsi)
	mov 8(%rax), %rcx
	mov 16(%rax), %rdx
	mov 24(%rax), %rbx
	mov 40(%rax), %rbp
	mov 48(%rax), %rsi
	mov 56(%rax), %rdi
	mov 64(%rax), %r8
	mov 72(%rax), %r9
	mov 80(%rax), %r10
	mov 88(%rax), %r11
	mov 96(%rax), %r12
	mov 104(%rax), %r13
	mov 112(%rax), %r14
	mov 120(%rax), %r15
	pushq 128(%rax)
	popfq
	mov 0(%rax), %rax
	call *(%rsp)
	push %rcx
	mov 16(%rsp), %rcx
	mov %rax, 0(%rcx)
	pop 8(%rcx)
	mov %rdx, 16(%rcx)
	mov %rbx, 24(%rcx)
	mov %rbp, 40(%rcx)
	mov %rsi, 48(%rcx)
	mov %rdi, 56(%rcx)
	mov %r8, 64(%rcx)
	mov %r9, 72(%rcx)
	mov %r10, 80(%rcx)
	mov %r11, 88(%rcx)
	mov %r12, 96(%rcx)
	mov %r13, 104(%rcx)
	mov %r14, 112(%rcx)
	mov %r15, 120(%rcx)
	pushfq
	pop 128(%rcx)
	cld
	add $16, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.size call_with_all, . - call_with_all
)");

// Code that has data in its red zone, with a probe in its middle:
//   mov %rax, -8(%rsp); mov %rcx, -128(%rsp); <probe>; mov -8(%rsp), %rax; mov -128(%rsp), %rcx;
//   ret
std::vector<uint8_t> code_around(const ProbeCode& probe, uint64_t address) {
  std::vector<uint8_t> code = {0x48, 0x89, 0x44, 0x24, 0xf8, 0x48, 0x89, 0x4c,
                               0x24, 0x80, 0x48, 0x8d, 0x64, 0x24, 0x80};  // lea -128(%rsp), %rsp
  uint8_t prologue[512];
  size_t size = emit_probe(probe, prologue, sizeof prologue, address + code.size());
  EXPECT_GT(size, 0u);
  code.insert(code.end(), prologue, prologue + size);
  const uint8_t rest[] = {0x48, 0x8d, 0xa4, 0x24, 0x80, 0,    0,    0,     // lea 128(%rsp), %rsp
                          0x48, 0x8b, 0x44, 0x24, 0xf8, 0x48, 0x8b, 0x4c,  //
                          0x24, 0x80, 0xc3};
  code.insert(code.end(), rest, rest + sizeof rest);
  return code;
}

TEST_F(ProbeHot, InsideAFunctionEverythingIsTheProgramsAndCanBeRead) {
  std::vector<FetchInsn> insns;
  for (uint8_t reg = 0; reg < 16; reg++) {
    insns.push_back({FetchOp::kReg, reg, 0, 0, 0, 0});
    insns.push_back({FetchOp::kStore, 0, 8, 0, kProbeHead + 8u * reg, 0});
  }
  insns.push_back({FetchOp::kReg, 0, 0, 0, 0, 0});  // 16(%rax,%rcx,4)
  insns.push_back({FetchOp::kAddReg, 1, 4, 0, 0, 0});
  insns.push_back({FetchOp::kAdd, 0, 0, 0, 0, 16});
  insns.push_back({FetchOp::kStore, 0, 8, 0, kProbeHead + 128, 0});
  set_fetch(insns, kProbeHead);
  EventProgram program = event(a_, 800);
  set_site({&program});
  EXPECT_FALSE(has_fast_path(program));
  auto* code = static_cast<uint8_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(code, MAP_FAILED);
  for (bool xmm : {false, true}) {
    ProbeCode probe{};
    probe.site = &site_;
    probe.uses_xmm = xmm;
    probe.inside = true;
    auto bytes = code_around(probe, reinterpret_cast<uint64_t>(code));
    std::memcpy(code, bytes.data(), bytes.size());
    uint64_t in[17], out[17] = {};
    for (uint64_t i = 0; i < 16; i++) in[i] = 0x0101010101010101 * (i + 1);
    in[16] = 0x8d5 | 2 | 0x400;  // OF SF ZF AF PF CF, and the direction flag
    call_with_all(in, out, code);
    in[4] = out[4];
    for (int i = 0; i < 16; i++) EXPECT_EQ(in[i], out[i]) << "register " << i;
    EXPECT_EQ(in[16], out[16] & 0xcd7);
    auto records = a_.take();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(at<uint64_t>(records[0], 8), site_.ip);
    for (size_t i = 0; i < 16; i++) EXPECT_EQ(at<uint64_t>(records[0], 16 + 8 * i), in[i]) << i;
    EXPECT_EQ(at<uint64_t>(records[0], 144), in[0] + 4 * in[1] + 16);
  }
  ::munmap(code, 4096);
}

}  // namespace
}  // namespace patchbay
