// SPDX-License-Identifier: MIT
//
// Requests of a hostile client against the whole tree: the decoder, lookup, and every file's read
// and write. The tree is the real one, over a real (small) buffer file, real function events, and a
// program of two functions that are never really patched.
//
// Input: messages, each behind a byte that says how long it is (in units of 2) or, when it is 255,
// that a new client begins.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "registry/function_events.h"
#include "serve/session.h"
#include "tracefs/root.h"

namespace patchbay {
namespace {

// Plans everything as a sled and patches nothing.
class IdlePatcher : public Patcher {
 public:
  SitePlan plan(Module&, const FunctionSymbol& function) override {
    SitePlan plan;
    plan.kind = SiteKind::kSled;
    plan.entry = plan.patch_address = function.address;
    plan.displaced = 5;
    return plan;
  }
  Result<PatchReport> apply(std::span<const SiteChange> changes, bool) override {
    PatchReport report;
    report.applied = changes.size();
    return report;
  }
  uint64_t patched_sites() const override { return 0; }
  uint64_t finish_pending() override { return 0; }
};

class TinyModule : public Module {
 public:
  const std::string& path() const override { return path_; }
  const std::string& name() const override { return name_; }
  const std::string& build_id() const override { return build_id_; }
  uint64_t start() const override { return 0x1000; }
  uint64_t end() const override { return 0x3000; }
  uint64_t bias() const override { return 0; }
  const std::vector<FunctionSymbol>& functions() override { return functions_; }
  std::string_view original_code(uint64_t, size_t) override { return {}; }
  const std::vector<std::pair<uint64_t, uint64_t>>& text_ranges() const override { return ranges_; }

 private:
  static FunctionSymbol symbol(uint64_t address, const char* name) {
    FunctionSymbol result;
    result.address = address;
    result.size = 16;
    result.name = name;
    return result;
  }
  std::string path_ = "/bin/tiny", name_ = "tiny", build_id_ = "00";
  std::vector<FunctionSymbol> functions_{symbol(0x1000, "f"), symbol(0x1010, "g")};
  std::vector<std::pair<uint64_t, uint64_t>> ranges_{{0x1000, 0x3000}};
};

class TinyTable : public SymbolTable {
 public:
  bool refresh() override { return false; }
  std::vector<Module*> modules() override { return {&module_}; }
  Result<std::vector<ResolvedFunction>> resolve(std::string_view spec) override {
    for (const FunctionSymbol& symbol : module_.functions()) {
      if (symbol.name == spec)
        return std::vector<ResolvedFunction>{{&module_, symbol, std::string(spec)}};
    }
    return user_error(EINVAL, "There is no such function.");
  }
  bool symbolize(uint64_t, SymbolizedAddress*) override { return false; }
  uint64_t address_of(std::string_view symbol) override { return symbol == "v" ? 0x2000 : 0; }
  void drop_caches() override {}

 private:
  TinyModule module_;
};

struct World {
  World() {
    std::string directory = P_tmpdir "/pb-fuzz-XXXXXX";
    PB_CHECK(::mkdtemp(directory.data()) != nullptr);
    RingBufferOptions options;
    options.path = directory + "/buffer";
    options.nr_cpus = 2;
    options.bytes_per_cpu = 16384;
    auto made = RingBuffer::create(options);
    PB_CHECK(made.ok());
    buffer = std::move(*made);
    ::unlink(options.path.c_str());
    ::rmdir(directory.c_str());
  }
  TinyTable symbols;
  IdlePatcher patcher;
  std::unique_ptr<RingBuffer> buffer;
};

void run(World& world, std::string_view input) {
  FunctionEvents events(world.symbols, world.patcher, *world.buffer);
  tracefs::TreeContext context{
      events, world.symbols, *world.buffer, {}, {}, [] { return std::string("on: 1\n"); }};
  std::unique_ptr<tracefs::Directory> root = tracefs::make_root(context);
  serve::SessionHooks hooks;
  auto session = std::make_unique<serve::Session>(*root, hooks);
  while (!input.empty()) {
    size_t length = static_cast<unsigned char>(input[0]);
    input.remove_prefix(1);
    if (length == 255) {
      session = std::make_unique<serve::Session>(*root, hooks);
      continue;
    }
    std::string_view message = input.substr(0, length * 2);
    input.remove_prefix(message.size());
    serve::SessionReply reply = session->handle(message);
    PB_CHECK(reply.message.size() <= serve::kMaxMessage);
    PB_CHECK(reply.message.empty() || reply.message.size() >= sizeof(serve::Reply));
  }
  session.reset();
  (void)events.set_all_enabled(false);
}

}  // namespace
}  // namespace patchbay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A new world now and then: the meta log of a buffer only grows.
  static std::unique_ptr<patchbay::World> world;
  static unsigned runs = 0;
  if (runs++ % 1024 == 0) world = std::make_unique<patchbay::World>();
  patchbay::run(*world, std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
