// SPDX-License-Identifier: MIT
// Any bytes as a kernel's record of an event with a field of each kind: ours stays within bounds.
#include <cstdlib>

#include "event/function_event.h"
#include "uprobes/uprobe_fetch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace patchbay;
  static UprobeFetch fetch = [] {
    const auto parsed =
        parse_function_event("f(int n+4, u8[100] v, string s[0][1], long l[1][2], x16 h)", nullptr);
    const EventCall call = make_function_event_call(*parsed.def, 1);
    auto program = compile_function_event(*parsed.def, call, 4000);
    auto made = split_fetch(**program, {}, {});
    UprobeFetch out = std::get<UprobeFetch>(std::move(made));
    uint32_t end = 16;
    for (KernelArgument& argument : out.arguments) {
      argument.offset = end;
      end += argument.size * (argument.count ? argument.count : 1);
    }
    out.arguments.push_back({"c", "$comm:string", 4, 0, true, 16});
    FieldRecipe comm;
    comm.kind = FieldRecipe::Kind::kComm;
    comm.value = out.arguments.size() - 1;
    comm.limit = kCommTextSize;
    comm.offset = out.fixed_size;
    out.fixed_size += 4;
    out.fields.push_back(comm);
    return out;
  }();
  std::vector<uint8_t> record(fetch.head_size);
  if (fetch.append_fields({data, size}, &record) && record.size() % 4) std::abort();
  return 0;
}
