// SPDX-License-Identifier: MIT
#include "cmd/target/target_symbols.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "cmd/target/target_program.h"
#include "ring_buffer/buffer_file.h"
#include "symbol/elf_module.h"
#include "symbol/symbol.h"
#include "trace_dat/metadata.h"

namespace patchbay::cmd {
namespace {

enum class Agent : uint8_t { kIsThere, kIsLeftOut };

Result<std::unique_ptr<SymbolTable>> symbols_of(serve::Client& client, Agent agent) {
  PB_ASSIGN(UniqueFd fd, client.open_buffer());
  PB_ASSIGN(std::unique_ptr<BufferFile> buffer, BufferFile::from_fd(std::move(fd), false));
  PB_ASSIGN(RecordedMeta meta, read_recorded_meta(*buffer));
  if (agent == Agent::kIsLeftOut)  // nobody means a function of ours
    std::erase_if(meta.modules, [](const RecordedModule& one) { return is_agent_file(one.path); });
  return make_recorded_symbol_table(std::move(meta.modules));
}

std::string place_of(const ResolvedFunction& one) {
  return one.module->name() + "@" + hex_number(one.symbol.address - one.module->bias());
}

// From the one that a person reads best to the one that means no other function.
std::array<std::string, 4> names_of(const ResolvedFunction& one) {
  const std::string symbol(one.symbol.name);
  const std::string file(elf(one.module)->file_of(one.symbol));
  const std::string place = place_of(one);
  return {one.display_name, demangle(symbol, true),
          file.empty() || symbol.starts_with("_Z") ? place : symbol + "@" + file, place};
}

}  // namespace

std::map<uint64_t, std::string> namesakes_of(serve::Client& client, const std::string& name) {
  std::map<uint64_t, std::string> named;
  Result<std::unique_ptr<SymbolTable>> symbols = symbols_of(client, Agent::kIsLeftOut);
  if (!symbols.ok()) return named;
  Result<std::vector<ResolvedFunction>> found = (*symbols)->resolve(name);
  if (!found.ok() || found->size() < 2) return named;
  std::vector<std::array<std::string, 4>> all;
  for (const ResolvedFunction& one : *found) all.push_back(names_of(one));
  for (size_t i = 0; i < all.size(); i++) {
    const auto is_sole = [&](size_t form) {
      return std::count_if(all.begin(), all.end(),
                           [&](const auto& other) { return other[form] == all[i][form]; }) == 1;
    };
    size_t form = 0;
    while (form + 1 < all[i].size() && !is_sole(form)) form++;
    named.emplace((*found)[i].symbol.address, all[i][form]);
  }
  return named;
}

std::string place_in_process(serve::Client& client, const std::string& name) {
  Result<std::unique_ptr<SymbolTable>> symbols = symbols_of(client, Agent::kIsLeftOut);
  if (!symbols.ok()) return "";
  Result<std::vector<ResolvedFunction>> found = (*symbols)->resolve(name);
  return found.ok() && found->size() == 1 ? place_of(found->front()) : "";
}

Result<std::string> target_kallsyms(serve::Client& client) {
  PB_ASSIGN(std::unique_ptr<SymbolTable> symbols, symbols_of(client, Agent::kIsThere));
  std::vector<uint64_t> addresses;
  for (Module* module : symbols->modules()) {
    for (const FunctionSymbol& function : module->functions()) {
      addresses.push_back(function.address);
    }
  }
  return kallsyms_text(symbols.get(), addresses);
}

}  // namespace patchbay::cmd
