// SPDX-License-Identifier: MIT
//
// Set-up for tests of generated code: one event at a place whose code stands in a page of its own,
// followed by `ret`, and is called with all registers given. The records are read from a buffer.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/testing.h"
#include "codegen/probe_compile.h"
#include "event/function_event.h"
#include "filter/filter.h"
#include "hot/fault.h"
#include "hot/rseq_testing.h"
#include "patch/patcher.h"
#include "probe/hit_counter.h"
#include "probe/triggers/action_hot.h"
#include "probe/triggers/trigger_hot.h"
#include "ring_buffer/buffer_file.h"
#include "ring_buffer/ring_buffer.h"

namespace patchbay {

struct Registers {  // rdi rsi rdx rcx r8 r9 rax r10 r11 rbx rbp r12 r13 r14 r15
  uint64_t r[15];
};

// Loads all registers from `in`, calls `code`, stores all registers to `out`.
extern "C" void call_with_registers(const Registers* in, Registers* out, const void* code)
    __attribute__((visibility("hidden")));
__asm__(R"(
	.text
	.weak call_with_registers
	.hidden call_with_registers
	.type call_with_registers, @function
call_with_registers:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	sub $8, %rsp			/* the stack is aligned, as at any call */
	push %rsi
	push %rdx
	mov %rdi, %rax
	push 48(%rax)
	mov 8(%rax), %rsi
	mov 16(%rax), %rdx
	mov 24(%rax), %rcx
	mov 32(%rax), %r8
	mov 40(%rax), %r9
	mov 56(%rax), %r10
	mov 64(%rax), %r11
	mov 72(%rax), %rbx
	mov 80(%rax), %rbp
	mov 88(%rax), %r12
	mov 96(%rax), %r13
	mov 104(%rax), %r14
	mov 112(%rax), %r15
	mov 0(%rax), %rdi
	pop %rax
	call *(%rsp)
	push %rax
	mov 16(%rsp), %rax
	mov %rdi, 0(%rax)
	mov %rsi, 8(%rax)
	mov %rdx, 16(%rax)
	mov %rcx, 24(%rax)
	mov %r8, 32(%rax)
	mov %r9, 40(%rax)
	mov %r10, 56(%rax)
	mov %r11, 64(%rax)
	mov %rbx, 72(%rax)
	mov %rbp, 80(%rax)
	mov %r12, 88(%rax)
	mov %r13, 96(%rax)
	mov %r14, 104(%rax)
	mov %r15, 112(%rax)
	pop 48(%rax)
	add $24, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.size call_with_registers, . - call_with_registers
)");

// Faults of loads, as the agent's handler takes them: the table, and the abort labels of generated
// code. While one of these is there.
class FaultHandlers {
 public:
  inline static std::atomic<uint64_t> loads_faulted{0}, code_left{0};

  // `code`: where generated code may be.
  FaultHandlers(const uint8_t* code, size_t size) {
    code_ = code;
    size_ = size;
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGSEGV, &action, &old_segv_);
    ::sigaction(SIGBUS, &action, &old_bus_);
  }
  FaultHandlers(const FaultHandlers&) = delete;
  FaultHandlers& operator=(const FaultHandlers&) = delete;
  ~FaultHandlers() {
    ::sigaction(SIGSEGV, &old_segv_, nullptr);
    ::sigaction(SIGBUS, &old_bus_, nullptr);
  }

 private:
  static void on_fault(int, siginfo_t*, void* context) {
    auto& ip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    const auto* at = reinterpret_cast<const uint8_t*>(ip);
    if (const uint64_t fixup = fault_fixup(uint64_t(ip))) {
      ip = greg_t(fixup);
      loads_faulted++;
    } else if (uint64_t(at - code_) < size_ && is_load_abort(at)) {
      code_left++;
    } else {
      std::abort();
    }
  }

  inline static const uint8_t* code_;
  inline static size_t size_;
  struct sigaction old_segv_ = {}, old_bus_ = {};
};

class ProbeCompileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pb_rseq_offset = test::rseq_offset();
    if (!pb_rseq_offset) GTEST_SKIP() << "this libc or kernel has no rseq: there is no fast path";
    char directory[] = "/tmp/probe_compile_test.XXXXXX";
    ASSERT_NE(::mkdtemp(directory), nullptr);
    directory_ = directory;
    RingBufferOptions options;
    options.path = directory_ + "/buffer";
    options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
    auto buffer = RingBuffer::create(options);
    ASSERT_TRUE(buffer.ok()) << buffer.error().message();
    buffer_ = std::move(*buffer);
    if (buffer_->header()->clock != abi::kClockTsc)
      GTEST_SKIP() << "no invariant TSC: there is no fast path";
    ASSERT_TRUE(buffer_->enable().ok());
    auto file = BufferFile::open(options.path, false);
    ASSERT_TRUE(file.ok()) << file.error().message();
    file_ = std::move(*file);
    code_ = static_cast<uint8_t*>(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(code_, MAP_FAILED);
  }
  void TearDown() override {
    pb_rseq_offset = 0;
    if (!directory_.empty()) {
      ::unlink((directory_ + "/buffer").c_str());
      ::rmdir(directory_.c_str());
    }
  }

  void define(const char* line) {
    auto parsed = parse_function_event(line, [](std::string_view) { return uint64_t{0}; });
    ASSERT_TRUE(parsed.def) << line;
    call_ = make_function_event_call(*parsed.def, 600);
    auto fetch = compile_function_event(*parsed.def, call_, 4072);
    ASSERT_TRUE(fetch.ok()) << fetch.error().message();
    fetch_ = std::move(*fetch);
    event_ = {};
    event_.rings = buffer_->rings();
    event_.fetch = fetch_.get();
    event_.id = 600;
    event_.max_size = fetch_->max_size;
    program_ = reinterpret_cast<SiteProgram*>(program_bytes_);
    program_->nr_events = 1;
    program_->max_record = event_.max_size;
    set_place(fetch_.get(), nullptr);
    site_ = {program_, nullptr, 0x123456789abc};
  }
  // Where a hit meets the end of a stack, the number that is loaded in front of the first call has
  // to be the place (named_site(), probe/stack_touch.cc).
  void expect_site_is_named(const uint8_t* code, size_t size) const {
    for (size_t i = 0; i + 10 < size; i++) {
      if (code[i] != 0x48 || code[i + 1] != 0xb8 || code[i + 10] != 0xff) continue;
      uint64_t named;
      std::memcpy(&named, code + i + 2, sizeof named);
      EXPECT_EQ(named, reinterpret_cast<uint64_t>(&site_));
      return;
    }
    ADD_FAILURE() << "the code names no place";
  }
  void set_place(const FetchProgram* fetch, ProbeCounts* counts) {
    program_->event[0] = {&event_, fetch, 0x123456789abc, counts};
  }

  // Emits, calls once, and returns the records that appeared.
  std::vector<std::vector<uint8_t>> hit(bool fast, const Registers& in, Registers* out) {
    ProbeCode code = probe_code(&site_, program_, nullptr, false, false);
    EXPECT_EQ(code.filtered, event_.filter && filter_fits_);
    if (!fast) code.fast = false;
    EXPECT_EQ(code.fast, fast);
    return call(code, in, out);
  }
  std::vector<std::vector<uint8_t>> call(const ProbeCode& code, const Registers& in,
                                         Registers* out) {
    // What the thread's rseq_cs points to must not be this code when other bytes come there.
    count_hit(new_hit_counter());
    size_t size = emit_probe(code, code_, kMax, reinterpret_cast<uint64_t>(code_));
    EXPECT_GT(size, 0u);
    code_[size] = 0xc3;
    const FetchProgram* fetch = program_->event[0].fetch;
    if (general_fetch_) program_->event[0].fetch = general_fetch_;
    call_with_registers(&in, out, code_);
    program_->event[0].fetch = fetch;
    std::vector<std::vector<uint8_t>> records;
    PageImage page;
    for (uint32_t ring = 0; ring < file_->nr_rings(); ring++)
      while (file_->next_page(ring, true, &page)) {
        EventIterator it(page.bytes, page.used);
        EventView view;
        while (it.next(&view)) records.emplace_back(view.record.begin(), view.record.end());
      }
    return records;
  }

  // The only field of the only record.
  uint32_t way(const Registers& in) {
    Registers out;
    const auto records = hit(true, in, &out);
    EXPECT_EQ(std::memcmp(&in, &out, sizeof in), 0);
    uint32_t value = 0;
    if (records.size() == 1) std::memcpy(&value, &records[0][call_.fields.back().offset], 4);
    return value;
  }

  FilterProgramPtr make_filter(const std::string& text) {
    FilterContext context;
    context.field = [this](std::string_view name) -> std::optional<FilterField> {
      for (const EventField& field : call_.fields)
        if (field.name == name) {
          const bool is_text = field.type.starts_with("__data_loc");
          const auto kind = is_text ? FilterField::Kind::kDataLoc : FilterField::Kind::kNumber;
          return FilterField{kind, field.offset, field.size, field.is_signed};
        }
      return std::nullopt;
    };
    FilterResult result = compile_filter(text, context);
    EXPECT_TRUE(result.program) << text << ": " << result.error->text;
    return std::move(result.program);
  }
  void set_filter(const std::string& text) {
    filter_ = make_filter(text);
    event_.filter = filter_.get();
  }
  // Triggers that do nothing, but say that they were asked: their action's `off` is looked at.
  void set_triggers(const std::vector<std::string>& filters) {
    gates_.clear();
    trigger_bytes_.assign(sizeof(TriggerProgram) / 8 + filters.size() * sizeof(Trigger) / 8, 0);
    auto* program = reinterpret_cast<TriggerProgram*>(trigger_bytes_.data());
    for (const std::string& text : filters) {
      Trigger& trigger = program->trigger[program->nr_triggers++];
      if (!text.empty()) gates_.push_back(make_filter(text));
      trigger.filter = text.empty() ? nullptr : gates_.back().get();
      trigger.action = &counting_;
    }
    const bool all = gates_.size() == filters.size() && !gates_.empty();
    std::vector<const FilterProgram*> list;
    for (const FilterProgramPtr& one : gates_) list.push_back(one.get());
    gate_ = any_filter(list);
    program->gate = all ? gate_.get() : nullptr;
    counting_.kind = ActionKind::kDisableEvent;
    counting_.of_trigger = true;
    counting_.soft = &switched_;
    event_.triggers = program;
    event_.has_soft = 1;
    event_.soft = &soft_;
  }

  static constexpr size_t kMax = kMaxPrologue;
  static constexpr uint32_t kFastWay = 1, kGeneralWay = 2;
  const FetchProgram* general_fetch_ = nullptr;  // what the general way runs, if it is another one
  FilterProgramPtr filter_;
  std::vector<FilterProgramPtr> gates_;
  FilterProgramPtr gate_;
  std::vector<uint64_t> trigger_bytes_;
  HitAction counting_{};
  uint32_t soft_ = 0, switched_ = 0;
  std::string directory_;
  std::unique_ptr<RingBuffer> buffer_;
  std::unique_ptr<BufferFile> file_;
  uint8_t* code_ = nullptr;
  EventCall call_;
  FetchProgramPtr fetch_;
  EventProgram event_{};
  bool filter_fits_ = true;
  alignas(SiteProgram) uint8_t program_bytes_[sizeof(SiteProgram) + sizeof(SiteEvent)];
  SiteProgram* program_ = nullptr;
  CallSite site_{};
};

}  // namespace patchbay
