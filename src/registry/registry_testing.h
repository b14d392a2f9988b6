// SPDX-License-Identifier: MIT
// For tests: a registry over a directory of its own, a source of events that patches nothing, and
// what a reader finds in a buffer.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "probe/probe_hot.h"
#include "registry/registry.h"
#include "ring_buffer/ring_reader.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay::test {

// What it was told last, per event, is what its threads would run.
class FakeSource : public EventSource {
 public:
  Status update(std::span<LiveEvent* const> changed) override {
    updates++;
    if (always_refuse || (refuse > 0 && --refuse == 0)) return user_error(EIO, "could not patch");
    for (LiveEvent* event : changed) running[event->call.name] = event->programs;
    events += changed.size();
    return {};
  }
  std::map<std::string, std::vector<const EventProgram*>> running;
  int updates = 0;
  size_t events = 0;
  bool always_refuse = false;
  int refuse = 0;  // the n-th update from now on fails
};

class RegistryTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    symbols_ = make_self_symbol_table();
    RegistryOptions options;
    options.buffer.path = directory_ + "/buffer";
    options.buffer.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
    options.buffer.bytes_per_cpu = 64 * 1024;
    options.instance_directory = directory_ + "/instances";
    options.marker_ip = 0x1234;
    auto made = Registry::create(options, *symbols_);
    ASSERT_TRUE(made.ok()) << made.error().message();
    registry_ = std::move(*made);
  }
  void TearDown() override {
    registry_.reset();
    std::filesystem::remove_all(directory_);
  }

  TraceArray& top() { return registry_->top(); }

  // system:name with the fields int a, char text[16], __data_loc char[] name.
  LiveEvent* add(const std::string& system, const std::string& name, FakeSource* source,
                 const std::string& module = "") {
    auto event = std::make_unique<LiveEvent>();
    event->call.system = system;
    event->call.name = name;
    event->call.common = common_fields();
    event->call.fields = {{"int", "a", 8, 4, true, 0, {}},
                          {"char", "text", 12, 16, false, 16, {}},
                          {"__data_loc char[]", "name", 28, 4, false, 0, {}}};
    event->call.print_fmt = "\"a=%d\", REC->a";
    event->source = source;
    event->module = module;
    event->max_size = 64;
    auto added = registry_->add_event(std::move(event));
    EXPECT_TRUE(added.ok());
    return added.ok() ? *added : nullptr;
  }
  Status enable(TraceArray& array, LiveEvent* event, bool on = true) {
    return registry_->set_enabled(array, std::span(&event, 1), on);
  }
  // As a traced thread would.
  static int record(const EventProgram* program, int a) {
    const Record record = {{program->id, 0, 0, 7}, a};
    return ring_publish(&program->rings, reinterpret_cast<const uint8_t*>(&record), sizeof record);
  }
  // As a hit does, that may have begun before the program was replaced.
  static int record_late(const EventProgram* program, int a) {
    const Record record = {{program->id, 0, 0, 7}, a};
    return publish_record(program, reinterpret_cast<const uint8_t*>(&record), sizeof record);
  }
  struct Record {
    abi::RecordHeader header;
    int a;
  };
  // All records of a buffer, oldest first within a ring.
  static std::vector<std::string> records(RingBuffer* buffer) {
    std::vector<std::string> found;
    RingReader reader(buffer, false);
    PageImage page;
    for (uint32_t ring = 0; ring < reader.nr_rings(); ring++)
      while (reader.next_page(ring, true, &page)) {
        EventIterator events(page.bytes, page.used);
        for (EventView event; events.next(&event);)
          found.emplace_back(event.record.begin(), event.record.end());
      }
    return found;
  }

  std::string directory_ = "/tmp/pb-registry-XXXXXX";
  std::unique_ptr<SymbolTable> symbols_;
  std::unique_ptr<Registry> registry_;
};

// With one source of all its events.
class OneSourceTest : public RegistryTest {
 protected:
  FakeSource source_;
  const EventProgram* running(const std::string& name, size_t n = 0) {
    const auto& programs = source_.running[name];
    return n < programs.size() ? programs[n] : nullptr;
  }
};

inline int error_of(const Status& status) { return status.ok() ? 0 : status.error().errno_value; }

}  // namespace patchbay::test
