// SPDX-License-Identifier: MIT
//
// Who gets which record: thread lists, several instances at one site, static events, tasks that a
// thread plays; and a probe inside a function, where every register, the flags and the red zone are
// the program's.
#include <gtest/gtest.h>
#include <patchbay/static_event_abi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/raw_syscall.h"
#include "codegen/probe_compile.h"
#include "filter/filter.h"
#include "hot/rseq_testing.h"
#include "hot/thread_block_testing.h"
#include "probe/hit_counter.h"
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
  using FetchPtr = std::unique_ptr<FetchProgram, decltype(&std::free)>;
  static constexpr uint64_t kIp = 0x4711;
  void SetUp() override {
    pb_rseq_offset = test::rseq_offset();
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

  void set_fetch(const std::vector<FetchInsn>& insns, RecordHead head = RecordHead::kFunction) {
    fetch_ = make_fetch(insns, head);
  }
  static FetchPtr make_fetch(const std::vector<FetchInsn>& insns, RecordHead head) {
    FetchPtr fetch = make_flexible<FetchProgram>(insns.size() * sizeof(FetchInsn));
    uint32_t end = record_head_size(head);
    fetch->scalar_only = 1;
    for (const FetchInsn& insn : insns) {
      const bool is_start = insn.op == FetchOp::kArg || insn.op == FetchOp::kReg;
      fetch->uses_reg |= insn.op == FetchOp::kReg || insn.op == FetchOp::kAddReg;
      fetch->uses_xmm |= insn.op == FetchOp::kXmm;
      if (insn.op == FetchOp::kStore) {
        end = insn.offset + insn.size;
      } else if (!is_start && insn.op != FetchOp::kAdd) {
        fetch->scalar_only = 0;
      }
    }
    fetch->fixed_size = end;
    fetch->max_size = (end + 3) & ~3u;
    fetch->nr_insns = uint16_t(insns.size());
    fetch->head = head;
    std::copy(insns.begin(), insns.end(), fetch->insn);
    return fetch;
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
    std::vector<SiteEvent> list;
    for (const EventProgram* program : events)
      list.push_back({program, fetch_.get(), kIp, nullptr});
    set_site(list);
  }
  void set_site(const std::vector<SiteEvent>& events) {
    program_ = make_flexible<SiteProgram>(events.size() * sizeof(SiteEvent));
    program_->nr_events = uint32_t(events.size());
    for (const SiteEvent& event : events) {
      const uint32_t size = event.fetch ? event.fetch->max_size : 16;
      program_->max_record = std::max({program_->max_record, size, event.event->max_size});
    }
    std::copy(events.begin(), events.end(), program_->event);
    site_ = {program_.get(), nullptr, 0x4700};
    static_.program = program_.get();
  }
  void hit() {
    ProbeFrame frame{};
    frame.return_address = 0x1234;
    frame.registers.arg[0] = 77;
    frame.registers.reg[3] = 33;
    probe_hit(&frame, &site_, &frame.return_address);
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
  FetchPtr fetch_{nullptr, &std::free};
  std::unique_ptr<SiteProgram, decltype(&std::free)> program_{nullptr, &std::free};
  CallSite site_{};
  patchbay_event static_{};
  uint32_t tid_ = 0;
};

TEST_F(ProbeHot, SeveralInstancesShareOneRecord) {
  set_fetch({{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kStore, 0, 8, 0, 24, 0}});
  EventProgram first = event(a_, 600), second = event(b_, 600), third = event(b_, 601);
  set_site(std::vector<const EventProgram*>{&first, &second, &third});
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
  set_site(std::vector<const EventProgram*>{&wanted, &unwanted});
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
  set_site(std::vector{&std::as_const(program)});
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
  set_site(std::vector<const EventProgram*>{&first, &second});
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
  set_site(std::vector{&std::as_const(program)});
  auto only = pid_set({4242});
  program.pids = only.get();
  static_hit(1);
  {
    const test::Playing player(4242, "player");
    pb_thread.fast_tid = 0;
    static_hit(2);
    static_hit(3);
    hit();
  }
  pb_thread.fast_tid = 0;
  static_hit(4);
  auto records = a_.take();
  ASSERT_EQ(records.size(), 3u);
  for (const Record& record : records) EXPECT_EQ(at<uint32_t>(record, 4), 4242u);
  EXPECT_EQ(a_.buffer->rings()->comms->used, 1u);  // the thread's own
}

TEST_F(ProbeHot, AgentCodeIsCountedNotRecorded) {
  EventProgram program = event(a_, 700);
  set_site(std::vector{&std::as_const(program)});
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
  set_site(std::vector{&std::as_const(program)});
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
	pushq $2		/* neither DF nor AC is for the test */
	popfq
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
  std::vector<uint8_t> code = {0x48, 0x89, 0x44, 0x24, 0xf8, 0x48, 0x89, 0x4c, 0x24, 0x80};
  uint8_t prologue[1024];
  size_t size = emit_probe(probe, prologue, sizeof prologue, address + code.size());
  EXPECT_GT(size, 0u);
  code.insert(code.end(), prologue, prologue + size);
  const uint8_t rest[] = {0x48, 0x8b, 0x44, 0x24, 0xf8, 0x48, 0x8b, 0x4c, 0x24, 0x80, 0xc3};
  code.insert(code.end(), rest, rest + sizeof rest);
  return code;
}

// A probe inside a function, in code of its own.
class ProbeInside : public ProbeHot {
 protected:
  void SetUp() override {
    ProbeHot::SetUp();
    code_ = static_cast<uint8_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(code_, MAP_FAILED);
  }
  void TearDown() override {
    leave_code();
    ::munmap(code_, 4096);
    ProbeHot::TearDown();
  }
  // The kernel looks at what the thread's rseq_cs points to: that must not be the code any more
  // when other bytes come there. (Stubs are never written twice.)
  static void leave_code() { count_hit(new_hit_counter()); }
  void put(const ProbeCode& probe) {
    leave_code();
    auto bytes = code_around(probe, reinterpret_cast<uint64_t>(code_));
    std::memcpy(code_, bytes.data(), bytes.size());
  }
  // Random registers and flags go through; what the code changed is a failure. Returns them, with
  // the stack pointer that the probe saw.
  std::array<uint64_t, 17> pass(uint64_t flags) {
    std::array<uint64_t, 17> in, out = {};
    for (uint64_t& value : in) value = random_();
    in[16] = flags | 2;
    call_with_all(in.data(), out.data(), code_);
    in[4] = out[4];
    for (size_t i = 0; i < 16; i++) EXPECT_EQ(in[i], out[i]) << "register " << i;
    EXPECT_EQ(in[16], out[16] & 0x40cd7) << std::hex << flags;
    return in;
  }
  // Random vector registers go through a probe whose record has them all, on stacks of any
  // alignment.
  void pass_vectors() {
    alignas(16) uint64_t in[16][2], out[16][2];
    for (auto& pair : in)
      for (uint64_t& value : pair) value = random_();
    uint32_t control = 0x1f80 | 0x6000, control_after = 0, usual = 0x1f80;  // another rounding
    for (uint64_t shift = 0; shift < 16; shift++) {
      __asm__ volatile(
          "ldmxcsr %[control]\n"
          "mov %%rsp, %%r12\n"
          "sub $512, %%rsp\n"
          "and $-64, %%rsp\n"
          "sub %[shift], %%rsp\n"
          ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
          "movups 16*\\n(%[in]), %%xmm\\n\n"
          ".endr\n"
          "call *%[code]\n"
          ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
          "movups %%xmm\\n, 16*\\n(%[out])\n"
          ".endr\n"
          "mov %%r12, %%rsp\n"
          "stmxcsr %[after]\n"
          "ldmxcsr %[usual]\n"
          : [after] "=m"(control_after)
          : [control] "m"(control), [usual] "m"(usual), [shift] "r"(shift), [in] "r"(in),
            [out] "r"(out), [code] "r"(code_)
          : "r12", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
            "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
      EXPECT_EQ(std::memcmp(in, out, sizeof in), 0) << shift;
      EXPECT_EQ(control_after, control);
      auto records = a_.take();
      ASSERT_EQ(records.size(), 1u);
      for (size_t i = 0; i < 16; i++)
        EXPECT_EQ(at<uint64_t>(records[0], 16 + 8 * i), in[i][0]) << i;
    }
  }
  // Twelve general registers at most are fields of one fast record.
  static std::vector<FetchInsn> fields_of(const std::vector<uint8_t>& registers) {
    std::vector<FetchInsn> insns;
    uint32_t offset = record_head_size(RecordHead::kProbe);
    for (uint8_t reg : registers) {
      insns.push_back({FetchOp::kReg, reg, 0, 0, 0, 0});
      insns.push_back({FetchOp::kStore, 0, 8, 0, offset, 0});
      offset += 8;
    }
    return insns;
  }
  static constexpr uint64_t kArithmetic = 0x8d5;  // OF SF ZF AF PF CF
  static constexpr uint64_t kDirection = 0x400;
  uint8_t* code_ = nullptr;
  std::mt19937_64 random_{20261121};
};

TEST_F(ProbeInside, EverythingIsTheProgramsAndCanBeRead) {
  std::vector<uint8_t> all(kNrRegisters);
  for (uint8_t reg = 0; reg < kNrRegisters; reg++) all[reg] = reg;
  std::vector<FetchInsn> insns = fields_of(all);
  insns.push_back({FetchOp::kReg, 0, 0, 0, 0, 0});  // 16(%rax,%rcx,4)
  insns.push_back({FetchOp::kAddReg, 1, 4, 0, 0, 0});
  insns.push_back({FetchOp::kAdd, 0, 0, 0, 0, 16});
  insns.push_back({FetchOp::kStore, 0, 8, 0, 16 + 8 * kNrRegisters, 0});
  set_fetch(insns, RecordHead::kProbe);
  EventProgram program = event(a_, 800);
  set_site(std::vector{&std::as_const(program)});
  for (bool xmm : {false, true}) {
    fetch_->uses_xmm = xmm;
    ProbeCode code = probe_code(&site_, program_.get(), nullptr, true, true);
    EXPECT_FALSE(code.fast);
    EXPECT_EQ(code.uses_xmm, xmm);
    put(code);
    for (uint64_t flags : {kArithmetic, kArithmetic | kDirection, uint64_t{0}, uint64_t{0x801}}) {
      auto in = pass(flags);
      auto records = a_.take();
      ASSERT_EQ(records.size(), 1u);
      EXPECT_EQ(at<uint64_t>(records[0], 8), kIp);
      for (size_t i = 0; i < 16; i++) EXPECT_EQ(at<uint64_t>(records[0], 16 + 8 * i), in[i]) << i;
      EXPECT_EQ(at<uint64_t>(records[0], 16 + 8 * kFlagsRegister) & 0x40cd7, flags | 2);
      EXPECT_EQ(at<uint64_t>(records[0], 16 + 8 * kIpRegister), site_.address);
      EXPECT_EQ(at<uint64_t>(records[0], 16 + 8 * kNrRegisters), in[0] + 4 * in[1] + 16);
    }
  }
}

TEST_F(ProbeInside, TheFastPathRecordsWhatTheGeneralOneDoes) {
  if (!pb_rseq_offset) GTEST_SKIP() << "there is no fast path";
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  uint64_t hits = 0;
  for (const std::vector<uint8_t>& registers :
       {std::vector<uint8_t>{}, {0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}) {
    set_fetch(fields_of(registers), RecordHead::kProbe);
    EventProgram program = event(a_, 800);
    set_site({{&program, fetch_.get(), kIp, &counts}});
    for (bool live : {true, false}) {
      ProbeCode code = probe_code(&site_, program_.get(), nullptr, live, true);
      ASSERT_TRUE(code.fast && code.inside);
      put(code);
      for (int i = 0; i < 256; i++) {
        uint64_t flags = live ? random_() & (kArithmetic | kDirection) : 0;
        std::array<uint64_t, 17> in;
        if (live) {
          in = pass(flags);
        } else {
          std::array<uint64_t, 17> out;
          for (uint64_t& value : in) value = random_();
          in[16] = 2;
          call_with_all(in.data(), out.data(), code_);
          in[4] = out[4];
          ASSERT_TRUE(std::equal(in.begin(), in.end() - 1, out.begin()));
        }
        auto records = a_.take();
        ASSERT_EQ(records.size(), 1u);
        EXPECT_EQ(at<uint64_t>(records[0], 0), uint64_t{tid_} << 32 | 800);
        EXPECT_EQ(at<uint64_t>(records[0], 8), kIp);
        for (size_t field = 0; field < registers.size(); field++)
          ASSERT_EQ(at<uint64_t>(records[0], 16 + 8 * field), in[registers[field]]);
      }
      EXPECT_EQ(read_hit_counter(counts.hits), hits += 256);
    }
  }
}

TEST_F(ProbeInside, AlignmentChecksAreNotForUs) {
  set_fetch(fields_of({0, 3}), RecordHead::kProbe);
  EventProgram program = event(a_, 800);
  set_site({{&program, fetch_.get(), kIp, nullptr}});
  ProbeCode code = probe_code(&site_, program_.get(), nullptr, true, true);
  for (bool fast : {false, true}) {
    code.fast = fast && code.fast;
    put(code);
    for (int i = 0; i < 3; i++) pass(0x40000 | kDirection | 1);  // AC
  }
  EXPECT_EQ(a_.take().size(), 6u);
}

// The stack may have any alignment, and the highest vector registers are read; also where the stub
// was made for programs that read none.
TEST_F(ProbeInside, AnyStackAndAllVectorRegisters) {
  std::vector<FetchInsn> insns;
  for (uint8_t i = 0; i < 16; i++) {
    insns.push_back({FetchOp::kXmm, i, 0, 0, 0, 0});
    insns.push_back({FetchOp::kStore, 0, 8, 0, 16 + 8u * i, 0});
  }
  set_fetch(insns, RecordHead::kProbe);
  EventProgram program = event(a_, 800);
  set_site(std::vector{&std::as_const(program)});
  ProbeCode code = probe_code(&site_, program_.get(), nullptr, true, true);
  code.fast = false;
  for (bool saves : {true, false}) {
    code.uses_xmm = saves;
    put(code);
    pass_vectors();
  }
}

TEST_F(ProbeInside, AFilterOnRegistersIsTestedFirst) {
  if (!pb_rseq_offset) GTEST_SKIP() << "there is no fast path";
  set_fetch(fields_of({0, 11, 3}), RecordHead::kProbe);
  EventProgram program = event(a_, 800);
  FilterContext context;
  context.field = [](std::string_view name) -> std::optional<FilterField> {
    const uint32_t offset = name == "ax" ? 16 : name == "r11" ? 24 : 32;
    return FilterField{FilterField::Kind::kNumber, offset, 8, false};
  };
  FilterResult filter =
      compile_filter("ax & 1 && (r11 > 0x8000000000000000 || bx > 0x8000000000000000)", context);
  ASSERT_TRUE(filter.program);
  program.filter = filter.program.get();
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  set_site({{&program, fetch_.get(), kIp, &counts}});
  uint64_t passed = 0;
  for (bool fast : {true, false}) {
    ProbeCode code = probe_code(&site_, program_.get(), nullptr, true, true);
    ASSERT_TRUE(code.filtered && code.fast);
    code.fast = fast;
    put(code);
    for (int i = 0; i < 500; i++) {
      auto in = pass(random_() & kArithmetic);
      const uint64_t half = uint64_t{1} << 63;
      const bool wanted = (in[0] & 1) && (in[11] > half || in[3] > half);
      ASSERT_EQ(a_.take().size(), wanted ? 1u : 0u);
      passed += wanted;
    }
  }
  EXPECT_GT(passed, 200u);
  EXPECT_LT(passed, 600u);
  EXPECT_EQ(read_hit_counter(counts.hits), 1000u);
}

TEST_F(ProbeHot, EachEventOfAPlaceHasItsOwnFetchAndIp) {
  set_fetch({{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kStore, 0, 8, 0, 24, 0}});
  FetchPtr other = make_fetch({{FetchOp::kReg, 3, 0, 0, 0, 0}, {FetchOp::kStore, 0, 4, 0, 16, 0}},
                              RecordHead::kProbe);
  EventProgram function = event(a_, 600), probe = event(a_, 601), elsewhere = event(b_, 601);
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  set_site({{&function, fetch_.get(), 0x10, nullptr},
            {&probe, other.get(), 0x20, &counts},
            {&elsewhere, other.get(), 0x30, nullptr}});
  hit();
  auto in_a = a_.take(), in_b = b_.take();
  ASSERT_EQ(in_a.size(), 2u);
  ASSERT_EQ(in_b.size(), 1u);
  EXPECT_EQ(at<uint64_t>(in_a[0], 8), 0x1234u);
  EXPECT_EQ(at<uint64_t>(in_a[0], 16), 0x10u);
  EXPECT_EQ(at<uint64_t>(in_a[0], 24), 77u);
  EXPECT_EQ(at<uint64_t>(in_a[1], 8), 0x20u);
  EXPECT_EQ(at<uint32_t>(in_a[1], 16), 33u);
  EXPECT_EQ(at<uint64_t>(in_b[0], 8), 0x30u);
  EXPECT_EQ(in_a[1].size(), 20u);
  EXPECT_EQ(read_hit_counter(counts.hits), 1u);
}

TEST_F(ProbeHot, FiltersAreOfTheInstance) {
  set_fetch({{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kStore, 0, 8, 0, 24, 0}});
  FilterContext context;
  context.field = [](std::string_view) -> std::optional<FilterField> {
    return FilterField{FilterField::Kind::kNumber, 24, 8, false};
  };
  FilterResult yes = compile_filter("a == 77", context), no = compile_filter("a != 77", context);
  ASSERT_TRUE(yes.program && no.program);
  EventProgram first = event(a_, 600), second = event(b_, 600);
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  set_site({{&first, fetch_.get(), kIp, &counts}, {&second, fetch_.get(), kIp, nullptr}});
  first.filter = no.program.get();
  second.filter = yes.program.get();
  hit();
  EXPECT_EQ(a_.take().size(), 0u);
  EXPECT_EQ(b_.take().size(), 1u);
  EXPECT_EQ(read_hit_counter(counts.hits), 1u);
}

// An event probe's record is made of the record of the event that it is attached to.
TEST_F(ProbeHot, EventProbesReadTheRecordOfTheirEvent) {
  set_fetch({{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kStore, 0, 8, 0, 24, 0}});
  auto derive = [](uint32_t offset, uint8_t size) {
    return make_fetch({{FetchOp::kField, 0, size, 0, 0, offset},
                       {FetchOp::kAdd, 0, 0, 0, 0, 1},
                       {FetchOp::kStore, 0, 8, 0, 8, 0}},
                      RecordHead::kEvent);
  };
  FetchPtr of_function = derive(24, 8), of_static = derive(8, 4);
  EventProgram source = event(a_, 600), probe = event(b_, 900);
  probe.from_record = 1;
  probe.fetch = of_function.get();
  probe.max_size = 16;
  set_site({{&source, fetch_.get(), kIp, nullptr}, {&probe, fetch_.get(), kIp, nullptr}});
  hit();
  EXPECT_EQ(a_.take().size(), 1u);
  auto records = b_.take();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(at<uint64_t>(records[0], 0), uint64_t{tid_} << 32 | 900);
  EXPECT_EQ(at<uint64_t>(records[0], 8), 78u);
  EXPECT_EQ(records[0].size(), 16u);

  FilterContext context;
  context.field = [](std::string_view name) -> std::optional<FilterField> {
    if (name == "source") return FilterField{FilterField::Kind::kNumber, 8, 4, true};
    return FilterField{FilterField::Kind::kNumber, 8, 8, false};
  };
  FilterResult if_source = compile_filter("source >= 5", context);
  FilterResult filter = compile_filter("derived != 7", context);
  ASSERT_TRUE(if_source.program && filter.program);
  probe.fetch = of_static.get();
  probe.source_filter = if_source.program.get();
  probe.filter = filter.program.get();
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  set_site({{&source, nullptr, 0, nullptr}, {&probe, nullptr, 0, &counts}});
  for (int32_t value : {4, 5, 6}) static_hit(value);  // 4: no source; 6: 7 is not wanted
  EXPECT_EQ(a_.take().size(), 3u);
  records = b_.take();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(at<uint64_t>(records[0], 8), 6u);
  EXPECT_EQ(read_hit_counter(counts.hits), 3u);

  // A probe on a static event says where that is.
  FetchPtr with_ip = make_fetch(
      {{FetchOp::kField, 0, 4, 0, 0, 8}, {FetchOp::kStore, 0, 8, 0, 16, 0}}, RecordHead::kProbe);
  probe.fetch = with_ip.get();
  probe.max_size = 24;
  probe.source_filter = probe.filter = nullptr;
  set_site({{&probe, nullptr, kIp, nullptr}});
  static_hit(9);
  records = b_.take();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(at<uint64_t>(records[0], 8), kIp);
  EXPECT_EQ(at<uint64_t>(records[0], 16), 9u);
}

TEST_F(ProbeHot, HitsOfAgentCodeAreNoMisses) {
  EventProgram program = event(a_, 700);
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  set_site({{&program, fetch_.get(), kIp, &counts}});
  pb_thread.in_agent = 1;
  hit();
  static_hit(1);
  pb_thread.in_agent = 0;
  hit();
  EXPECT_EQ(counts.missed, 0u);
  EXPECT_EQ(read_hit_counter(counts.hits), 1u);
}

}  // namespace
}  // namespace patchbay
