// SPDX-License-Identifier: MIT
//
// libFuzzer: any bytes as the argument texts of two sites of one probe (a newline between them).
// Each site's program stores within the record, reads registers that there are, and the event's
// format can be read back.
#include <cstdlib>

#include "event/sdt_event.h"

namespace {

using namespace patchbay;

void require(bool condition) {
  if (!condition) std::abort();
}

std::vector<SdtArgument> arguments_of(std::string_view text) {
  std::vector<SdtArgument> arguments = parse_sdt_arguments(text);
  resolve_sdt_symbols(
      [](std::string_view symbol) { return uint64_t(symbol.size() % 3 ? 4096 : 0); }, &arguments);
  return arguments;
}

void check_site(const std::vector<SdtArgument>& arguments, const EventCall& call) {
  auto program = compile_sdt_site(arguments, call);
  require(program.ok());
  for (int i = 0; i < (*program)->nr_insns; i++) {
    const FetchInsn& insn = (*program)->insn[i];
    const bool stores = insn.op == FetchOp::kStore || insn.op == FetchOp::kLoad;
    require(!stores || (insn.offset >= record_head_size(RecordHead::kProbe) &&
                        insn.offset + insn.size <= (*program)->fixed_size));
    if (insn.op == FetchOp::kReg || insn.op == FetchOp::kAddReg) require(insn.index < 16);
    if (insn.op == FetchOp::kXmm) require(insn.index < 16);
  }
  require((*program)->fixed_size <= (*program)->max_size && (*program)->max_size <= 160);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\n');
  std::vector<std::vector<SdtArgument>> sites = {arguments_of(text.substr(0, end))};
  if (end != text.npos) sites.push_back(arguments_of(text.substr(end + 1)));
  EventCall call = make_sdt_event_call("provider", "name", sites);
  for (const auto& site : sites) check_site(site, call);
  call.id = 600;
  auto read = parse_format(call.system, call.format_text());
  require(read.ok() && read->format_text() == call.format_text());
  return 0;
}
