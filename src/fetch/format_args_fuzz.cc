// SPDX-License-Identifier: MIT
//
// libFuzzer: any bytes as a format, and as what is in the registers and on the stack. The text has
// its size and its NUL, and no byte of it or behind it is out of bounds. Texts lie in the input or
// nowhere.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <ucontext.h>

#include "fetch/fetch_abi.h"
#include "fetch/format_args.h"
#include "hot/fault.h"

namespace {

using namespace patchbay;

void require(bool condition) {
  if (!condition) std::abort();
}

void on_fault(int number, siginfo_t*, void* context) {
  auto& ip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t fixup = fault_fixup(uint64_t(ip));
  if (fixup) {
    ip = greg_t(fixup);
    return;
  }
  signal(number, SIG_DFL);
}

// Numbers, addresses of the text, and addresses of nothing.
uint64_t word_of(uint8_t byte, const char* text, size_t size) {
  switch (byte % 4) {
    case 0:
      return byte;
    case 1:
      return reinterpret_cast<uint64_t>(text + byte % (size + 1));
    case 2:
      return uint64_t{byte} << 56 | byte;
    default:
      return byte / 4 % 2 ? 0 : ~uint64_t{0} - byte;
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kWords = 64, kCanary = 16;
  if (size < kWords) return 0;
  const std::string format(reinterpret_cast<const char*>(data) + kWords, size - kWords);
  FetchRegisters registers = {};
  alignas(16) uint64_t stack[kWords];
  for (size_t i = 0; i < kWords; i++) stack[i] = word_of(data[i], format.data(), format.size());
  for (size_t i = 0; i < 6; i++) registers.arg[i] = stack[kWords - 1 - i];
  for (size_t i = 0; i < 8; i++) registers.xmm[i][0] = stack[i] << (data[i] % 64);
  registers.reg[0] = data[0] % 10;
  registers.reg[4] = reinterpret_cast<uint64_t>(stack) - 8;
  const FormatPlaces places = {data[1] % 7u, data[2] % 9u, data[3] % 8u};
  std::vector<uint8_t> text(kFormatArgsBytes + kCanary, 0x7e);
  const uint32_t made = fetch_format_args(text.data(), reinterpret_cast<uint64_t>(format.c_str()),
                                          &registers, places);
  require(made >= 1 && made <= kFormatArgsBytes);
  require(std::memchr(text.data(), 0, text.size()) == text.data() + made - 1);
  require(std::all_of(text.begin() + kFormatArgsBytes, text.end(),
                      [](uint8_t c) { return c == 0x7e; }));
  // Out of quotes there is nothing but what can be printed.
  for (uint32_t i = 0; i + 1 < made; i++) require(text[i] >= 0x20 && text[i] != 0x7f);
  return 0;
}
