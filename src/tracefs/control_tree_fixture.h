// SPDX-License-Identifier: MIT
//
// A whole control tree over a real Registry in a temporary directory, with events that nothing
// patches: for the tests and the fuzzer.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "hot/rseq_testing.h"
#include "patch/patcher.h"
#include "registry/events/function_events.h"
#include "registry/registry.h"
#include "ring_buffer/ring_write_hot.h"
#include "tracefs/root.h"

namespace patchbay::tracefs {

// Takes every change of programs, or refuses it.
class FakeSource : public EventSource {
 public:
  Status update(std::span<LiveEvent* const> changed) override {
    updates++;
    events += changed.size();
    return refuse ? user_error(EPERM, "refused") : Status();
  }
  uint32_t updates = 0;
  size_t events = 0;
  bool refuse = false;
};

class ControlTree {
 public:
  static constexpr uint32_t kCpus = 2;

  explicit ControlTree(bool all_cpus = false) {
    pb_rseq_offset = test::rseq_offset();
    char name[] = "/tmp/patchbay-tree-XXXXXX";
    directory_ = ::mkdtemp(name) ? name : "";
    PB_CHECK(!directory_.empty());
    RegistryOptions options;
    options.buffer.path = directory_ + "/buffer";
    options.buffer.nr_cpus = all_cpus ? uint32_t(::sysconf(_SC_NPROCESSORS_CONF)) : kCpus;
    options.instance_directory = directory_ + "/instances";
    auto made = Registry::create(options, *symbols);
    PB_CHECK(made.ok());
    registry = std::move(*made);
    sites = std::make_unique<ProbeSites>(*patcher);
    functions = std::make_unique<FunctionEvents>(*registry, *patcher, *sites);
    probes = std::make_unique<ProbeEvents>(*registry, *patcher, *sites);
    synthetic = std::make_unique<SyntheticEvents>(*registry);
    tracers = std::make_unique<Tracers>(*registry, *patcher, *sites);
    triggers = std::make_unique<EventTriggers>(*registry, *synthetic);
    context = std::make_unique<TreeContext>(TreeContext{
        *registry, *functions, *probes, *synthetic, *sites, *symbols, *tracers, *triggers, {}});
    root = make_root(*context);
  }
  ~ControlTree() {
    root.reset();
    triggers.reset();
    tracers.reset();
    probes.reset();
    synthetic.reset();
    functions.reset();
    registry.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  LiveEvent* add_event(const std::string& system, const std::string& name) {
    auto event = std::make_unique<LiveEvent>();
    event->call.system = system;
    event->call.name = name;
    event->call.common = common_fields();
    event->call.fields = {{"char", "comm", 8, 16, false, 16, {}},
                          {"int", "pid", 24, 4, true, 0, {}}};
    event->call.print_fmt = "\"comm=%s pid=%d\", REC->comm, REC->pid";
    event->source = &source;
    event->max_size = 28;
    auto added = registry->add_event(std::move(event));
    PB_CHECK(added.ok());
    return *added;
  }

  // An open file, or null and the errno.
  std::unique_ptr<File> open(std::string_view path, uint32_t flags, int* error = nullptr) {
    Result<Node> node = lookup(*root, path);
    Status status = node.ok() ? Status() : node.error();
    if (status.ok() && !node->file) status = user_error(EISDIR, "");
    if (status.ok()) status = node->file->open(flags);
    if (error) *error = status.ok() ? 0 : status.error().errno_value;
    return status.ok() ? std::move(node->file) : nullptr;
  }

  // open, write, close: the bytes taken, or -errno.
  long write(std::string_view path, std::string_view bytes, uint32_t flags = O_WRONLY) {
    int error = 0;
    std::unique_ptr<File> file = open(path, flags, &error);
    if (!file) return -error;
    Result<size_t> taken = file->write_as(bytes, Caller{});
    return taken.ok() ? long(*taken) : -long(taken.error().errno_value);
  }

  // What cat shows; ends with "-errno" when reading fails (EAGAIN: nothing more now).
  std::string read(std::string_view path) {
    int error = 0;
    std::unique_ptr<File> file = open(path, O_RDONLY, &error);
    return file ? read_all(*file) : std::to_string(-error);
  }
  static std::string read_all(File& file, size_t piece = 4096) {
    std::string text;
    for (;;) {
      Result<std::string> part = file.read_next(piece, ReadMode::kAny);
      if (!part.ok()) return text + std::to_string(-part.error().errno_value);
      if (part->empty()) return text;
      text += *part;
    }
  }

  Status change_directory(std::string_view path, bool make) {
    size_t slash = path.rfind('/');
    std::string_view parent = slash == path.npos ? "" : path.substr(0, slash);
    std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
    PB_ASSIGN(Node node, lookup(*root, parent));
    return make ? node.directory->make_directory(name) : node.directory->remove_directory(name);
  }
  int mkdir(std::string_view path) { return error_of(change_directory(path, true)); }
  int rmdir(std::string_view path) { return error_of(change_directory(path, false)); }
  static int error_of(const Status& status) { return status.ok() ? 0 : status.error().errno_value; }

  std::unique_ptr<SymbolTable> symbols = make_self_symbol_table();
  std::unique_ptr<Patcher> patcher = make_patcher();
  FakeSource source;
  std::unique_ptr<Registry> registry;
  std::unique_ptr<ProbeSites> sites;
  std::unique_ptr<FunctionEvents> functions;
  std::unique_ptr<ProbeEvents> probes;
  std::unique_ptr<SyntheticEvents> synthetic;
  std::unique_ptr<Tracers> tracers;
  std::unique_ptr<EventTriggers> triggers;
  std::unique_ptr<TreeContext> context;
  std::unique_ptr<Directory> root;

 private:
  std::string directory_;
};

}  // namespace patchbay::tracefs
