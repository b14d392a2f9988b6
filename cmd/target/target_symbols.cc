// SPDX-License-Identifier: MIT
#include "cmd/target/target_symbols.h"

#include "ring_buffer/buffer_file.h"
#include "symbol/symbol.h"
#include "trace_dat/metadata.h"

namespace patchbay::cmd {

Result<std::string> target_kallsyms(serve::Client& client) {
  PB_ASSIGN(UniqueFd fd, client.open_buffer());
  PB_ASSIGN(std::unique_ptr<BufferFile> buffer, BufferFile::from_fd(std::move(fd), false));
  PB_ASSIGN(RecordedMeta meta, read_recorded_meta(*buffer));
  std::unique_ptr<SymbolTable> symbols = make_recorded_symbol_table(std::move(meta.modules));
  std::vector<uint64_t> addresses;
  for (Module* module : symbols->modules()) {
    for (const FunctionSymbol& function : module->functions()) {
      addresses.push_back(function.address);
    }
  }
  return kallsyms_text(symbols.get(), addresses);
}

}  // namespace patchbay::cmd
