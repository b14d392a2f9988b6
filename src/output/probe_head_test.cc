// SPDX-License-Identifier: MIT
// Lines of probe events: records and format files as a 6.12 kernel made them, with the
// texts that it printed for them.
#include "output/probe_head.h"

#include <gtest/gtest.h>

#include "output/event_text.h"

namespace patchbay {
namespace {

constexpr uint64_t kRead = 0xffffffffb7e58070, kSyscall = 0xffffffffb86e0f70;
constexpr char kKallsyms[] =
    "ffffffffb7a93e80 t arch_rethook_trampoline\nffffffffb7a93ee0 t next1\n"
    "ffffffffb7e58070 t ksys_read\nffffffffb7e58160 t next2\n"
    "ffffffffb86e0f70 t do_syscall_64\nffffffffb86e1120 t next3\n";

constexpr char kHead[] =
    "ID: 1496\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
constexpr char kEntry[] = "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n";
constexpr char kReturn[] =
    "\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n";

std::string bytes_of(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string header() { return std::string("\xd8\x05\0\0", 4) + bytes_of(int32_t{157}); }
std::string data_loc(uint32_t offset, uint32_t length) { return bytes_of(offset | length << 16); }

EventCall event(std::string name, std::string fields, std::string print_fmt,
                ProbeHead head = ProbeHead::kByFields, std::string source = {}) {
  auto call = parse_format(
      "kprobes", "name: " + name + "\n" + kHead + fields + "\nprint fmt: " + print_fmt + "\n");
  EXPECT_TRUE(call.ok());
  if (!call.ok()) return {};
  call->head = head;
  call->shown_source = std::move(source);
  return *call;
}

struct Options {
  bool sym_offset = false, sym_addr = false;
};

class ProbeText : public ::testing::Test {
 protected:
  std::string text(const EventCall& call, const std::string& record, Options options = {}) {
    return print(call, record, options, &EventText::append);
  }
  std::string fields(const EventCall& call, const std::string& record) {
    return print(call, record, {}, &EventText::append_fields);
  }
  std::string json(const EventCall& call, const std::string& record) {
    return print(call, record, {}, &EventText::append_json);
  }
  std::string raw(const EventCall& call, const std::string& record) {
    return print(call, record, {}, &EventText::append_raw);
  }

 private:
  using Printer = void (EventText::*)(std::string*, std::span<const uint8_t>, TextContext*) const;
  std::string print(const EventCall& call, const std::string& record, Options options,
                    Printer printer) {
    AddressNames names = AddressNames::from_kallsyms(kKallsyms);
    AddressText addresses(&names, false);
    TextContext context;
    context.addresses = &addresses;
    context.sym_offset = options.sym_offset;
    context.sym_addr = options.sym_addr;
    EventText event_text(call);
    std::string out;
    (event_text.*printer)(&out, {reinterpret_cast<const uint8_t*>(record.data()), record.size()},
                          &context);
    return out;
  }
};

std::string entry_record() { return header() + bytes_of(kRead + 4); }
std::string return_record() { return header() + bytes_of(kRead + 4) + bytes_of(kSyscall + 0x87); }

TEST_F(ProbeText, PlacesOfEachKind) {
  EventCall k1 = event("k1", kEntry, R"~("(%lx)", REC->__probe_ip)~");
  EXPECT_EQ(text(k1, entry_record()), "k1: (ksys_read+0x4/0xf0)");
  EventCall r2 =
      event("r2", kReturn, R"~("(%lx <- %lx)", REC->__probe_func, REC->__probe_ret_ip)~");
  EXPECT_EQ(text(r2, return_record()), "r2: (do_syscall_64+0x87/0x1b0 <- ksys_read)");
  k1.head = r2.head = ProbeHead::kNumbers;
  EXPECT_EQ(text(k1, entry_record()), "k1: (0xffffffffb7e58074)");
  EXPECT_EQ(text(r2, return_record()), "r2: (0xffffffffb86e0ff7 <- 0xffffffffb7e58074)");
  EventCall e2 = event("e2", "", "\"\"", ProbeHead::kSource, "syscalls.sys_enter_umask");
  EXPECT_EQ(text(e2, header()), "e2: (syscalls.sys_enter_umask)");
}

TEST_F(ProbeText, OptionsOfAddresses) {
  EventCall k1 = event("k1", kEntry, R"~("(%lx)", REC->__probe_ip)~");
  EventCall r2 =
      event("r2", kReturn, R"~("(%lx <- %lx)", REC->__probe_func, REC->__probe_ret_ip)~");
  EXPECT_EQ(text(k1, entry_record(), {.sym_offset = true}), "k1: (ksys_read+0x4/0xf0)");
  EXPECT_EQ(text(r2, return_record(), {.sym_offset = true}),
            "r2: (do_syscall_64+0x87/0x1b0 <- ksys_read)");
  EXPECT_EQ(text(k1, entry_record(), {.sym_addr = true}),
            "k1: (ksys_read+0x4/0xf0 <ffffffffb7e58074>)");
  EXPECT_EQ(text(r2, return_record(), {.sym_addr = true}),
            "r2: (do_syscall_64+0x87/0x1b0 <ffffffffb86e0ff7> <- ksys_read <ffffffffb7e58074>)");
}

EventCall k2() {
  return event(
      "k2",
      std::string(kEntry) +
          "\tfield:u32 fd;\toffset:16;\tsize:4;\tsigned:0;\n"
          "\tfield:u64 buf;\toffset:20;\tsize:8;\tsigned:0;\n"
          "\tfield:u8 c;\toffset:28;\tsize:1;\tsigned:0;\n"
          "\tfield:u8 cs[];\toffset:29;\tsize:4;\tsigned:0;\n"
          "\tfield:u64 ip;\toffset:33;\tsize:8;\tsigned:0;\n"
          "\tfield:u64 st;\toffset:41;\tsize:8;\tsigned:0;\n"
          "\tfield:u64 bad;\toffset:49;\tsize:8;\tsigned:0;\n",
      R"~("(%lx) fd=%u buf=0x%Lx c='%c' cs={'%c','%c','%c','%c'} ip=%pS st=%pS bad=%pS", )~"
      R"~(REC->__probe_ip, REC->fd, REC->buf, REC->c, REC->cs[0], REC->cs[1], )~"
      R"~(REC->cs[2], REC->cs[3], REC->ip, REC->st, REC->bad)~");
}

std::string k2_record() {
  return entry_record() + bytes_of(uint32_t{3}) + bytes_of(uint64_t{0x296b6200}) + "abcde" +
         bytes_of(kRead + 5) + bytes_of(uint64_t{0xffffffffb7a93e80}) + bytes_of(uint64_t{3}) +
         std::string(3, '\0');
}

TEST_F(ProbeText, NumbersCharactersAndSymbols) {
  EXPECT_EQ(text(k2(), k2_record()),
            "k2: (ksys_read+0x4/0xf0) fd=3 buf=0x296b6200 c='a' cs={'b','c','d','e'} "
            "ip=ksys_read+0x5/0xf0 st=arch_rethook_trampoline+0x0/0x60 bad=0x3");
}

EventCall k3() {
  return event(
      "k3",
      std::string(kEntry) +
          "\tfield:__data_loc char[] bs;\toffset:16;\tsize:4;\tsigned:1;\n"
          "\tfield:u32 n;\toffset:20;\tsize:4;\tsigned:0;\n"
          "\tfield:__data_loc char[] cm;\toffset:24;\tsize:4;\tsigned:1;\n"
          "\tfield:u8 a8[];\toffset:28;\tsize:3;\tsigned:0;\n"
          "\tfield:s16 as[];\toffset:31;\tsize:4;\tsigned:1;\n"
          "\tfield:u64 im;\toffset:35;\tsize:8;\tsigned:0;\n"
          "\tfield:__data_loc char[] is;\toffset:43;\tsize:4;\tsigned:1;\n",
      R"~("(%lx) bs=\"%s\" n=%u cm=\"%s\" a8={0x%x,0x%x,0x%x} as={%d,%d} im=0x%Lx )~"
      R"~(is=\"%s\"", REC->__probe_ip, __get_str(bs), REC->n, __get_str(cm), REC->a8[0], )~"
      R"~(REC->a8[1], REC->a8[2], REC->as[0], REC->as[1], REC->im, __get_str(is))~");
}

std::string k3_record(std::string is) {
  return entry_record() + data_loc(47, 0) + bytes_of(uint32_t{0}) + data_loc(47, 5) +
         "\x80\x3e\xa9" + bytes_of(int16_t{16000}) + bytes_of(int16_t{-18519}) +
         bytes_of(uint64_t{5}) + is + std::string("head\0hello\0", 11) + std::string(2, '\0');
}

TEST_F(ProbeText, TextsThatCouldNotBeRead) {
  EXPECT_EQ(text(k3(), k3_record(data_loc(52, 6))),
            "k3: (ksys_read+0x4/0xf0) bs=(fault) n=0 cm=\"head\" a8={0x80,0x3e,0xa9} "
            "as={16000,-18519} im=0x5 is=\"hello\"");
  // The last one: nothing but its quote comes behind it. An empty text is none that faulted.
  EXPECT_TRUE(text(k3(), k3_record(data_loc(52, 0))).ends_with("im=0x5 is=(fault)"));
  EXPECT_TRUE(text(k3(), k3_record(data_loc(51, 1))).ends_with("im=0x5 is=\"\""));
}

EventCall k4() {
  return event("k4",
               std::string(kEntry) +
                   "\tfield:__data_loc char[] ss;\toffset:16;\tsize:4;\tsigned:1;\n"
                   "\tfield:s8 s8;\toffset:20;\tsize:1;\tsigned:1;\n"
                   "\tfield:s64 s64;\toffset:21;\tsize:8;\tsigned:1;\n"
                   "\tfield:u64 u64;\toffset:29;\tsize:8;\tsigned:0;\n"
                   "\tfield:u32 bf;\toffset:37;\tsize:4;\tsigned:0;\n"
                   "\tfield:__data_loc char[][2] sa;\toffset:41;\tsize:8;\tsigned:1;\n"
                   "\tfield:u64 sya[];\toffset:49;\tsize:16;\tsigned:0;\n",
               R"~("(%lx) ss=\"%s\" s8=%d s64=%Ld u64=%Lu bf=%u sa={\"%s\",\"%s\"} )~"
               R"~(sya={%pS,%pS}", REC->__probe_ip, __get_str(ss), REC->s8, REC->s64, REC->u64, )~"
               R"~(REC->bf, __get_str(sa[0]), __get_str(sa[1]), REC->sya[0], REC->sya[1])~");
}

std::string k4_record(std::string texts) {
  return entry_record() + data_loc(65, 16) + char(-3) + bytes_of(int64_t{-1024}) +
         bytes_of(uint64_t{1} << 63) + bytes_of(uint32_t{3}) + texts +
         bytes_of(uint64_t{0xffffffffb7a93e80}) + bytes_of(uint64_t{0}) +
         std::string("main+0x10/0x200\0one\0two\0", 24) + std::string(3, '\0');
}

TEST_F(ProbeText, ArraysOfTextsAndSymbols) {
  const std::string
      head =
          "k4: (ksys_read+0x4/0xf0) ss=\"main+0x10/0x200\" s8=-3 s64=-1024 u64=9223372036854775808 "
          "bf=3 ",
      tail = " sya={arch_rethook_trampoline+0x0/0x60,0x0}";
  struct {
    std::string texts, want;
  } cases[] = {
      {data_loc(81, 4) + data_loc(85, 4), "sa={\"one\",\"two\"}"},
      {data_loc(81, 4) + data_loc(85, 0), "sa={\"one\",(fault)}"},
      {data_loc(81, 0) + data_loc(81, 4), "sa={(fault),\"one\"}"},
      {data_loc(81, 0) + data_loc(81, 0), "sa={(fault),(fault)}"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(text(k4(), k4_record(c.texts)), head + c.want + tail) << c.want;
}

TEST_F(ProbeText, EventProbesNameTheirSource) {
  EventCall e1 = event("e1",
                       "\tfield:u8 m;\toffset:8;\tsize:1;\tsigned:0;\n"
                       "\tfield:__data_loc char[] comm;\toffset:9;\tsize:4;\tsigned:1;\n",
                       R"~(" m=0x%x comm=\"%s\"", REC->m, __get_str(comm))~", ProbeHead::kSource,
                       "syscalls.sys_enter_umask");
  std::string record =
      header() + '\0' + data_loc(13, 3) + std::string("sh\0", 3) + std::string(4, '\0');
  EXPECT_EQ(text(e1, record), "e1: (syscalls.sys_enter_umask) m=0x0 comm=\"sh\"");
  EXPECT_EQ(fields(e1, record), "e1: m=(0) comm=sh");
  EventCall e2 = event("e2", "", "\"\"", ProbeHead::kSource, "syscalls.sys_enter_umask");
  EXPECT_EQ(fields(e2, header()), "e2:No fields found");
}

TEST_F(ProbeText, OtherOptions) {
  EXPECT_EQ(fields(k2(), k2_record()),
            "k2: __probe_ip=0xffffffffb7e58074 (-1209696140) fd=0x3 (3) buf=0x296b6200 "
            "(694903296) c='a'(97) cs=0x65646362 (1701077858) ip=0xffffffffb7e58075 (-1209696139) "
            "st=0xffffffffb7a93e80 (-1213645184) bad=0x3 (3)");
  EXPECT_EQ(raw(k2(), k2_record()), "type: 1496");
  // Of a string array the kernel, too, shows the first.
  std::string texts = data_loc(81, 4) + data_loc(85, 4);
  EXPECT_NE(fields(k4(), k4_record(texts)).find(" sa=one sya="), std::string::npos);
  EXPECT_EQ(json(k4(), k4_record(texts)),
            ",\"function\":\"ksys_read+0x4/0xf0\",\"fields\":{\"ss\":\"main+0x10/0x200\",\"s8\":-3,"
            "\"s64\":-1024,\"u64\":9223372036854775808,\"bf\":3,\"sa\":[\"one\",\"two\"],"
            "\"sya\":[18446744072495906432,0]}");
}

TEST_F(ProbeText, RecordsThatAreTooShort) {
  EventCall r1 =
      event("r1", std::string(kReturn) + "\tfield:s32 rv;\toffset:24;\tsize:4;\tsigned:1;\n",
            R"~("(%lx <- %lx) rv=%d", REC->__probe_func, REC->__probe_ret_ip, REC->rv)~");
  std::string record = return_record() + bytes_of(int32_t{-9});
  EXPECT_EQ(text(r1, record), "r1: (do_syscall_64+0x87/0x1b0 <- ksys_read) rv=-9");
  for (size_t size = 0; size < 24; size++)
    EXPECT_EQ(text(r1, record.substr(0, size)), "r1: (cut) rv=0") << size;
  for (size_t size = 16; size < 90; size++) text(k4(), k4_record(data_loc(81, 4)).substr(0, size));
}

TEST_F(ProbeText, ForeignFormatsThatOnlyBeginLikeAProbe) {
  // Shown by their fields, or with what their print fmt says behind the place.
  EventCall odd = event("odd", kEntry, R"~("(%lx", REC->__probe_ip)~");
  EXPECT_EQ(text(odd, entry_record()), "odd: (ksys_read+0x4/0xf0)(ffffffffb7e58074");
  odd.print_fmt = "nonsense";
  EXPECT_EQ(text(odd, entry_record()), "odd: (ksys_read+0x4/0xf0)");
  EventCall plain = event("plain", "\tfield:u32 __probe_ip;\toffset:8;\tsize:4;\tsigned:0;\n",
                          R"~("(%x)", REC->__probe_ip)~");
  EXPECT_EQ(text(plain, entry_record()), "plain: (b7e58074)");
}

TEST_F(ProbeText, WordsOfStringArraysAreChecked) {
  for (const char* bad : {"sa[2]", "sa[", "sa[]", "sa[0", "sa[x]", "sa[99999999999999999999]"}) {
    EventCall call = k4();
    call.print_fmt = std::string("\"(%lx) sa=%s\", REC->__probe_ip, __get_str(") + bad + ")";
    // The fields are shown instead.
    EXPECT_NE(text(call, k4_record(data_loc(81, 4) + data_loc(85, 4))).find(" bf=3 sa=one,two "),
              std::string::npos)
        << bad;
  }
}

}  // namespace
}  // namespace patchbay
