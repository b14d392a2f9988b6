// SPDX-License-Identifier: MIT
//
// What programs of probe events fetch, run over registers and memory of this program. The signal
// handler does what the agent's does.
#include <sys/prctl.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "event/probe_event_testing.h"
#include "hot/fixup_testing.h"

namespace patchbay {
namespace {

struct Memory {
  uint64_t words[8] = {0x1122334455667788, 0xfffffffffffffff0, 3, 4, 5, 6, 7, 8};
  char text[8] = "hello";
  const char* texts[3] = {"one", nullptr, "three"};
  const uint64_t* pointer = words;
};

class ProbeFetch : public ::testing::Test {
 protected:
  ProbeFetch() {
    for (uint64_t i = 0; i < kNrRegisters; i++) registers_.reg[i] = 0x100 + i;
    for (uint64_t i = 0; i < 16; i++) registers_.xmm[i][0] = 0x200 + i;
    for (uint64_t i = 0; i < 6; i++) registers_.arg[i] = 0x300 + i;
    registers_.reg[0] = address_of(memory_.words);
    registers_.reg[3] = address_of(memory_.text);
    registers_.reg[4] = address_of(stack_);
    registers_.reg[5] = address_of(memory_.texts);
    world_.symbols["words"] = address_of(memory_.words);
    world_.data = address_of(&memory_);
  }

  static uint64_t address_of(const void* object) { return reinterpret_cast<uint64_t>(object); }

  ProbeDefinition parse(std::string_view line) {
    const size_t place = line.find(" /");
    const ProbeFile file =
        place != line.npos ? ProbeFile::kUprobeEvents : ProbeFile::kDynamicEvents;
    ProbeParse parsed = parse_probe_event(line, file, world_);
    if (parsed.error) ADD_FAILURE() << line << ": " << parsed.error->text;
    return parsed.definition ? *parsed.definition : ProbeDefinition{};
  }

  void run(std::string_view line) { run(line, {.max_record = 4080}); }
  void run(std::string_view line, const ProbeCompileContext& context,
           const uint8_t* source = nullptr) {
    ProbeDefinition definition = parse(line);
    call_ = make_probe_event_call(&definition);
    auto program = compile_probe_event(definition, call_, context);
    ASSERT_TRUE(program.ok()) << program.error().message();
    program_ = std::move(*program);
    record_.assign(program_->max_size + 16, 0xee);
    const uint32_t size = fetch_run(program_.get(), &registers_, source, record_.data());
    ASSERT_LE(size, program_->max_size) << line;
    ASSERT_EQ(size % 4, 0u);
    for (size_t i = program_->max_size; i < record_.size(); i++) ASSERT_EQ(record_[i], 0xee);
  }

  const EventField& field(std::string_view name) const {
    const EventField* found = call_.find(name);
    if (!found) std::abort();
    return *found;
  }
  uint64_t value(std::string_view name, uint32_t element = 0, uint32_t size = 0) const {
    const EventField& place = field(name);
    uint64_t number = 0;
    if (!size) size = place.array_len ? place.size / place.array_len : place.size;
    std::memcpy(&number, &record_[place.offset + element * size], size);
    return number;
  }
  // "(fault)" for a text of length 0, as it is shown.
  std::string text(std::string_view name, uint32_t element = 0) const {
    const auto loc = uint32_t(value(name, element, 4));
    if (!(loc >> 16)) return "(fault)";
    return std::string(reinterpret_cast<const char*>(&record_[loc & 0xffff]), (loc >> 16) - 1);
  }

  TestWorld world_;
  Memory memory_;
  uint64_t stack_[8] = {10, 11, 12, 13, 14, 15, 16, 17};
  FetchRegisters registers_ = {};
  EventCall call_;
  FetchProgramPtr program_;
  std::vector<uint8_t> record_;
  test::FaultFixups fixups_;
};

TEST_F(ProbeFetch, WordsOfTheFirstPatches) {
  run("p main a0 a5 ra n=a1:u8");
  EXPECT_EQ(value("arg1"), 0x300u);
  EXPECT_EQ(value("arg2"), 0x305u);
  EXPECT_EQ(value("arg3"), 10u) << "the word at the top of the stack";
  EXPECT_EQ(value("n"), 1u);
  run("r main rv ra a2");
  EXPECT_EQ(value("arg1"), registers_.reg[0]);
  EXPECT_EQ(value("arg2"), 0x100u + kIpRegister);
}

TEST_F(ProbeFetch, FloatsAreTheirBits) {
  run("p main %xmm2:double %xmm3:float");
  EXPECT_EQ(field("arg1").type, "double");
  EXPECT_EQ(value("arg1"), 0x202u);
  EXPECT_EQ(field("arg2").size, 4u);
}

TEST_F(ProbeFetch, TextsEndWithTheirArray) {
  run("p main+4 +0(%bx):string/3 +0(%bx):string/8 +0(%bx):string/500 +0(%bx):string");
  EXPECT_EQ(text("arg1"), "hel");
  EXPECT_EQ(text("arg2"), "hello");
  EXPECT_EQ(text("arg3"), "hello");
  EXPECT_EQ(text("arg4"), "hello");
}

TEST_F(ProbeFetch, RegistersStackAndArguments) {
  run("p main+4 %cx %r15 %flags %xmm15 %cs %ss %orig_ax:s32 $stack $stack0 $stack3:u8 %cx:u8");
  EXPECT_EQ(value("arg1"), 0x101u);
  EXPECT_EQ(value("arg2"), 0x10fu);
  EXPECT_EQ(value("arg3"), 0x110u);
  EXPECT_EQ(value("arg4"), 0x20fu);
  EXPECT_EQ(value("arg5"), 0x33u);
  EXPECT_EQ(value("arg6"), 0x2bu);
  EXPECT_EQ(value("arg7"), 0xffffffffu);
  EXPECT_EQ(value("arg8"), address_of(stack_));
  EXPECT_EQ(value("arg9"), 10u);
  EXPECT_EQ(value("arg10"), 13u);
  EXPECT_EQ(value("arg11"), 1u);
  EXPECT_EQ(program_->uses_xmm, 1);
  EXPECT_EQ(program_->uses_reg, 1);
  EXPECT_EQ(program_->head, RecordHead::kProbe);
  run("p main $arg1 $arg6 $arg7 $arg8:u8 %ip");
  EXPECT_EQ(value("arg1"), 0x300u);
  EXPECT_EQ(value("arg2"), 0x305u);
  EXPECT_EQ(value("arg3"), 11u) << "behind the return address";
  EXPECT_EQ(value("arg4"), 12u);
  EXPECT_EQ(value("arg5"), 0x111u);
  run("p main %ip", {.ip = 0x1234, .max_record = 4080});
  EXPECT_EQ(value("arg1"), 0x1234u);
}

TEST_F(ProbeFetch, ReturnsSeeTheArgumentsOfTheEntry) {
  run("r main $retval $arg1 %di %ip", {.ip = 0x1234, .max_record = 4080});
  EXPECT_EQ(value("arg1"), registers_.reg[0]);
  EXPECT_EQ(value("arg2"), 0x300u);
  EXPECT_EQ(value("arg3"), 0x107u);
  EXPECT_EQ(value("arg4"), 0x111u);
  EXPECT_EQ(program_->head, RecordHead::kReturn);
  run("f main%return $retval:u8 $arg6");
  EXPECT_EQ(value("arg1"), registers_.reg[0] & 0xff);
  EXPECT_EQ(value("arg2"), 0x305u);
}

TEST_F(ProbeFetch, ALongDoubleThatIsReturned) {
  const long double value = 2.0L / 3;
  long double after = 0;
  run("r main $retval:u8 $retval:float80 $retval:u8");
  asm volatile("fldt %0" : : "m"(value));
  (void)fetch_run(program_.get(), &registers_, nullptr, record_.data());
  asm volatile("fstpt %0" : "=m"(after));
  EXPECT_EQ(after, value);
  EXPECT_EQ(field("arg2").type, "float80");
  EXPECT_EQ(field("arg2").size, 16u);
  EXPECT_EQ(std::memcmp(record_.data() + field("arg2").offset, &value, 10), 0);
  EXPECT_EQ(this->value("arg3"), registers_.reg[0] & 0xff);
  EXPECT_FALSE(program_->scalar_only);
}

// A program is made in one thread and run in others.
TEST_F(ProbeFetch, ErrnoIsThatOfTheThread) {
  run("r main $errno e=$errno:u8 s=$errno:s64 $retval");
  EXPECT_EQ(field("arg1").type, "s32");
  EXPECT_EQ(field("arg1").size, 4u);
  const auto in_thread = [&](int error) {
    errno = error;
    (void)fetch_run(program_.get(), &registers_, nullptr, record_.data());
  };
  in_thread(ENOENT);
  EXPECT_EQ(value("arg1"), uint64_t{ENOENT});
  std::thread(in_thread, 0x1234).join();
  EXPECT_EQ(value("arg1"), 0x1234u);
  EXPECT_EQ(value("e"), 0x34u);
  std::thread(in_thread, -5).join();
  EXPECT_EQ(value("arg1"), 0xfffffffbu);
  EXPECT_EQ(value("s"), ~uint64_t{0} - 4);
  EXPECT_EQ(value("arg4"), registers_.reg[0]);
}

TEST_F(ProbeFetch, MemoryOfAllTypes) {
  run("p main+1 +0(%ax):u8 +0(%ax):x16 +0(%ax):s32 +0(%ax) +8(%ax):s8 -8(%ax):u64[2] "
      "+4(+0(%bp)):char +0(%ax):u16[4] @words:u32 @words+8 +8(@words)");
  EXPECT_EQ(value("arg1"), 0x88u);
  EXPECT_EQ(value("arg2"), 0x7788u);
  EXPECT_EQ(value("arg3"), 0x55667788u);
  EXPECT_EQ(value("arg4"), memory_.words[0]);
  EXPECT_EQ(value("arg5"), 0xf0u);
  EXPECT_EQ(value("arg6", 1), memory_.words[0]);
  EXPECT_EQ(value("arg8", 0), 0x7788u);
  EXPECT_EQ(value("arg8", 3), 0x1122u);
  EXPECT_EQ(value("arg9"), 0x55667788u);
  EXPECT_EQ(value("arg10"), memory_.words[1]);
}

TEST_F(ProbeFetch, NestedLoads) {
  const uint64_t second[] = {address_of(memory_.words), 99};
  const uint64_t first[] = {0, address_of(second)};
  registers_.reg[2] = address_of(first);
  run("p main+1 +8(+8(%dx)) +16(+0(+8(%dx))) -8(+u8(%dx)):u8[1]");
  EXPECT_EQ(value("arg1"), 99u);
  EXPECT_EQ(value("arg2"), 3u);
}

TEST_F(ProbeFetch, Bitfields) {
  run("p main+1 a=+0(%ax):b4@4/8 b=+0(%ax):b8@4/16 c=%cx:b5@0/32 d=+0(%ax):b60@4/64 "
      "e=+0(%ax):b4@4/16[4] f=\\0xff:b1@7/8 g=%ax:b64@0/64 "
      "h=+0(%ax):sb4@4/8 i=\\0x17:sb4@1/64");
  EXPECT_EQ(value("a"), 8u);
  EXPECT_EQ(value("b"), 0x78u);
  EXPECT_EQ(value("c"), 1u);
  EXPECT_EQ(value("d"), memory_.words[0] >> 4);
  EXPECT_EQ(value("e", 0), 8u);
  EXPECT_EQ(value("e", 1), 6u);
  EXPECT_EQ(value("e", 3), 2u);
  EXPECT_EQ(value("f"), 1u);
  EXPECT_EQ(value("g"), registers_.reg[0]);
  EXPECT_EQ(int8_t(value("h")), -8);
  EXPECT_EQ(int64_t(value("i")), -5);
}

TEST_F(ProbeFetch, Texts) {
  ASSERT_EQ(prctl(PR_SET_NAME, "probe-test"), 0);
  run("p main+1 a=+0(%bx):string b=+0(+0(%bp)):ustring c=+0(%bp):string[3] d=$comm "
      "e=\\\"const\" f=\\\"\" g=+0(%cx):string h=\\0:string");
  EXPECT_EQ(text("a"), "hello");
  EXPECT_EQ(text("b"), "one");
  EXPECT_EQ(text("c", 0), "one");
  EXPECT_EQ(text("c", 1), "(fault)");
  EXPECT_EQ(text("c", 2), "three");
  EXPECT_EQ(text("d"), "probe-test");
  EXPECT_EQ(text("e"), "const");
  EXPECT_EQ(text("f"), "");
  EXPECT_EQ(text("g"), "(fault)");
  EXPECT_EQ(text("h"), "(fault)");
}

TEST_F(ProbeFetch, SymbolNames) {
  const SymbolNames::Entry entry = {address_of(memory_.words), 64, 0};
  const SymbolNames names = {&entry, 1, "words"};
  memory_.words[7] = address_of(&memory_.words[2]);
  run("p main+1 a=%ax:symstr b=+56(%ax):symstr c=+56(%ax):symbol d=%cx:symstr",
      {.names = &names, .max_record = 4080});
  EXPECT_EQ(text("a"), "words+0x0/0x40");
  EXPECT_EQ(text("b"), "words+0x10/0x40");
  EXPECT_EQ(value("c"), memory_.words[7]);
  EXPECT_EQ(text("d"), "0x101");
  run("p main+1 a=%cx:symstr");
  EXPECT_EQ(text("a"), "0x101");
}

TEST_F(ProbeFetch, FaultsAreZero) {
  run("p main+1 a=+0(%cx) b=+0(%cx):u8[3] c=+0(+0(%cx)):u16 d=+0(%cx):b4@0/8 e=+0(%cx):string[2]");
  EXPECT_EQ(value("a"), 0u);
  EXPECT_EQ(value("b", 2), 0u);
  EXPECT_EQ(value("c"), 0u);
  EXPECT_EQ(value("d"), 0u);
  EXPECT_EQ(text("e", 0), "(fault)");
  EXPECT_EQ(text("e", 1), "(fault)");
}

TEST_F(ProbeFetch, SymbolsAndFilesAreLookedUpAgain) {
  ProbeDefinition definition = parse("p main+1 a=@words");
  ProbeDefinition uprobe = parse("p /bin/sh:1 a=@+8");
  call_ = make_probe_event_call(&definition);
  auto imm = [this](const ProbeDefinition& one, ProbeWorld* world) {
    auto program = compile_probe_event(one, call_, {.max_record = 4080, .world = world});
    return (*program)->insn[0].imm;
  };
  TestWorld other;
  other.symbols["words"] = 0x9000;
  other.data = 0xa000;
  EXPECT_EQ(imm(definition, nullptr), address_of(memory_.words));
  EXPECT_EQ(imm(definition, &other), 0x9000u);
  EXPECT_EQ(imm(uprobe, nullptr), address_of(&memory_) + 8);
  EXPECT_EQ(imm(uprobe, &other), 0xa008u);
}

struct __attribute__((packed)) ExecRecord {
  uint64_t head = 0;
  uint32_t filename = 33 | 5u << 16;
  int32_t pid = -7;
  char comm[16] = "a-name";
  int8_t nice = -3;
  char text[7] = "/bin";
};

TEST_F(ProbeFetch, FieldsOfTheSourceEvent) {
  const ExecRecord record;
  const auto* source = reinterpret_cast<const uint8_t*>(&record);
  ProbeCompileContext context = {.source = world_.find_event("sched", "sched_process_exec"),
                                 .max_record = 4080};
  run("e sched.sched_process_exec a=$filename:string b=$comm:string c=$pid d=$nice:s32 "
      "e=+1($filename):u8[3] f=$filename:string[2] g=\\5 h=\\\"x\":string",
      context, source);
  EXPECT_EQ(program_->head, RecordHead::kEvent);
  EXPECT_EQ(text("a"), "/bin");
  EXPECT_EQ(text("b"), "a-name");
  EXPECT_EQ(value("c"), uint64_t(-7));
  EXPECT_EQ(value("d"), 0xfffffffdu);
  EXPECT_EQ(value("e", 0), uint64_t('b'));
  EXPECT_EQ(value("e", 2), uint64_t('n'));
  EXPECT_EQ(text("f", 0), "/bin");
  EXPECT_EQ(text("f", 1), "(fault)");
  EXPECT_EQ(value("g"), 5u);
  EXPECT_EQ(text("h"), "x");
  run("t sched_process_exec $arg2:s32 f=+0($arg1):string $comm", context, source);
  EXPECT_EQ(value("arg1"), uint32_t(-7));
  EXPECT_EQ(text("f"), "/bin");
  EXPECT_EQ(program_->head, RecordHead::kProbe);
  run("t sched_process_exec $arg2:s32");
  EXPECT_EQ(value("arg1"), 0u) << "the event is not there yet";
}

TEST_F(ProbeFetch, PointerFieldsAndNamesAsNumbers) {
  uint64_t record[4] = {0, 5, 0x22, address_of(memory_.text)};
  const auto* source = reinterpret_cast<const uint8_t*>(record);
  ProbeCompileContext context = {.source = world_.find_event("syscalls", "sys_enter_openat"),
                                 .max_record = 4080};
  run("e syscalls.sys_enter_openat a=$filename:string b=+1($filename):u8 c=$dfd $comm", context,
      source);
  EXPECT_EQ(text("a"), "hello");
  EXPECT_EQ(value("b"), uint64_t('e'));
  EXPECT_EQ(value("c"), 0x22u);
  EXPECT_EQ(value("arg4"), 0u) << "a name as a number: there is no address to show";
}

TEST_F(ProbeFetch, WhatTheFastPathMayRelyOn) {
  struct Row {
    std::string_view line;
    bool scalar_only, uses_reg;
  };
  const Row kRows[] = {
      {"p main", true, false},
      {"p main %di %si:u32 $arg3", true, false},
      {"p main %ax", true, true},
      {"p main+1 %di", true, true},
      {"p main $stack", true, true},
      {"p main %flags", false, true},
      {"p main %xmm0", false, false},
      {"p main %xmm8", false, true},
      {"p main $stack1", false, true},
      {"p main +0(%di):u8", false, false},
      {"p main \\5", false, false},
      {"p main $comm", false, false},
      {"p main %di:b1@0/8", false, false},
      {"f main $arg1:s16", true, false},
      {"p main a=%di b=%di c=%di d=%di e=%di f=%di g=%di h=%di i=%di j=%di k=%di l=%di m=%di",
       false, false},
  };
  for (const Row& row : kRows) {
    run(row.line);
    EXPECT_EQ(bool(program_->scalar_only), row.scalar_only) << row.line;
    EXPECT_EQ(bool(program_->uses_reg), row.uses_reg) << row.line;
    EXPECT_FALSE(program_->has_gaps) << row.line;
  }
  run("p /bin/sh:1 %di");
  EXPECT_TRUE(program_->uses_reg);
  run("p /bin/sh:1 %di", {.max_record = 4080, .at_entry = true});
  EXPECT_FALSE(program_->uses_reg);
}

TEST_F(ProbeFetch, SizesAndRefusals) {
  run("p main %di:u8");
  EXPECT_EQ(program_->fixed_size, 17u);
  EXPECT_EQ(program_->max_size, 20u);
  run("p main +0(%di):string");
  EXPECT_EQ(program_->max_size, 20 + kMaxProbeString);
  run("p main c=$comm s=%di:symstr");
  EXPECT_EQ(program_->max_size, 24 + kCommTextSize + kSymbolTextSize);
  std::string many = "p main";
  for (int i = 0; i < 3; i++) many += " a" + std::to_string(i) + "=+0(%di):string[20]";
  run(many);
  EXPECT_LE(program_->max_size, 4080u);
  EXPECT_GT(program_->max_size, 4080u - 4 * 60) << "the room is shared out";
  auto error_of = [this](std::string_view line, uint32_t max_record) {
    ProbeDefinition definition = parse(line);
    const EventCall call = make_probe_event_call(&definition);
    auto program = compile_probe_event(definition, call, {.max_record = max_record});
    return program.ok() ? 0 : program.error().errno_value;
  };
  EXPECT_EQ(error_of("p main +0(%di):u64[64]", 528), 0);
  EXPECT_EQ(error_of("p main +0(%di):u64[64]", 524), E2BIG);
  EXPECT_EQ(error_of("p main +0(%di):string[64]", 1000), E2BIG);
  EXPECT_EQ(error_of("p main %di:symstr", 100), E2BIG);
  std::string symbols = "p main";
  for (int i = 0; i < 20; i++) symbols += " a" + std::to_string(i) + "=%di:symstr";
  EXPECT_EQ(error_of(symbols, 4080), E2BIG);
  EXPECT_EQ(error_of(symbols, 65000), 0);
}

}  // namespace
}  // namespace patchbay
