// SPDX-License-Identifier: MIT
// What tests of hits of histograms share: a record with each kind of field, histograms while they
// are described, rings that synthetic events go to.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "hist/definition/hist_compile.h"
#include "hist/hist_program.h"
#include "hist/hist_table.h"
#include "hot/fault.h"
#include "hot/rseq_testing.h"
#include "hot/thread_block_testing.h"
#include "probe/triggers/hist_hot.h"
#include "ring_buffer/ring_reader.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

// A record, and the fields that its event has.
struct __attribute__((packed)) Record {
  uint64_t header = uint64_t{42} << 32 | 7;
  int8_t s8 = -8;
  uint8_t u8 = 250;
  int16_t s16 = -1600;
  int32_t s32 = -320000;
  uint32_t u32 = 4000000000;
  uint32_t key = 5;
  int64_t s64 = -64;
  uint64_t u64 = 640;
  char fixed[12] = "eleven char";
  uint32_t loc = 0, rel = 0, stack = 0;
  const char* pointer = nullptr;
  uint8_t dynamic[512] = {0};

  uint32_t used = 0;
  uint32_t put(const void* data, size_t size) {
    const auto at = uint32_t(offsetof(Record, dynamic)) + used;
    std::memcpy(dynamic + used, data, size);
    used += uint32_t(size);
    return uint32_t(size) << 16 | at;
  }
  void set_texts(const std::string& text) {
    loc = put(text.c_str(), text.size() + 1);
    rel = put(text.c_str(), text.size() + 1) - uint32_t(offsetof(Record, rel) + 4);
  }
  uint32_t size() const { return (uint32_t(offsetof(Record, dynamic)) + used + 3) & ~3u; }
};

#define FIELD(type, name, sign, array)                                                             \
  {                                                                                                \
    type, #name, uint32_t(offsetof(Record, name)), uint32_t(sizeof(Record::name)), sign, array, {} \
  }
const EventField kFields[] = {
    {"int", "common_pid", 4, 4, true, 0, {}},
    FIELD("s8", s8, true, 0),
    FIELD("u8", u8, false, 0),
    FIELD("short", s16, true, 0),
    FIELD("int", s32, true, 0),
    FIELD("u32", u32, false, 0),
    FIELD("u32", key, false, 0),
    FIELD("s64", s64, true, 0),
    FIELD("u64", u64, false, 0),
    FIELD("char", fixed, true, 12),
    FIELD("__data_loc char[]", loc, false, 0),
    {"__data_loc char[]", "counted", uint32_t(offsetof(Record, loc)), 4, false, 0, {}, true},
    FIELD("__rel_loc char[]", rel, false, 0),
    FIELD("__data_loc unsigned long[]", stack, false, 0),
    FIELD("const char *", pointer, false, 0),
};
#undef FIELD

inline const EventField* find(const std::string& name) {
  for (const EventField& field : kFields)
    if (field.name == name) return &field;
  return nullptr;
}

using FieldPtr = std::unique_ptr<HistField>;

inline FieldPtr field(const std::string& name, uint32_t flags = 0) {
  auto made = std::make_unique<HistField>();
  made->field = find(name);
  made->flags = flags;
  made->is_signed = made->field && made->field->is_signed;
  if (made->field && made->field->type.find("char") != std::string::npos)
    made->flags |= kHistString;
  return made;
}
inline FieldPtr generic(uint32_t flags) {
  auto made = std::make_unique<HistField>();
  made->flags = flags;
  return made;
}
inline FieldPtr constant(uint64_t value) {
  FieldPtr made = generic(kHistConst);
  made->constant = value;
  return made;
}
inline FieldPtr expression(HistOperator op, FieldPtr left, FieldPtr right = nullptr) {
  FieldPtr made = generic(kHistExpr);
  made->op = op;
  made->operands[0] = std::move(left);
  made->operands[1] = std::move(right);
  return made;
}

// A histogram while it is described.
struct Hist : HistData {
  Hist() {
    map_bits = kMinHistBits;
    clock = "mono";
    values.push_back(generic(kHistHitcount));
  }
  ~Hist() {
    if (table && !owner) retire_hist_table(table);
  }
  Hist& key(FieldPtr one) {
    one->flags |= kHistKey;
    keys.push_back(std::move(one));
    return *this;
  }
  Hist& value(FieldPtr one) {
    values.push_back(std::move(one));
    return *this;
  }
  HistField* variable(FieldPtr value) {
    FieldPtr made = generic(kHistVar | (value ? value->flags : 0));
    made->var_data = this;
    made->var_index = uint32_t(variables.size());
    made->operands[0] = std::move(value);
    variables.push_back(std::move(made));
    return variables.back().get();
  }
  HistField* refer(HistField* variable, bool read_once = false) {
    FieldPtr made = generic(kHistVarRef);
    made->var_data = variable->var_data;
    made->var_index = variable->var_index;
    made->ref_index = uint32_t(var_refs.size());
    made->read_once = read_once;
    var_refs.push_back(std::move(made));
    return var_refs.back().get();
  }
  static FieldPtr copy(const HistField* ref) {
    FieldPtr made = generic(kHistVarRef);
    made->ref_index = ref->ref_index;
    return made;
  }
  HistActionData* action(HistHandler handler, HistActionKind kind, HistField* tracked = nullptr) {
    auto made = std::make_unique<HistActionData>();
    made->handler = handler;
    made->kind = kind;
    made->track_ref = tracked;
    if (tracked) made->track_var = variable(nullptr);
    actions.push_back(std::move(made));
    return actions.back().get();
  }
  void compile() {
    Status status = compile_hist(this);
    ASSERT_TRUE(status.ok()) << status.error().message();
  }
  std::vector<HistEntry> read() { return read_hist_table(table, &totals); }
  uint64_t read_variable(uint32_t index, uint32_t entry = 0) {
    uint64_t value = 0;
    return read_hist_variable(table, entry, index, &value) ? value : 0;
  }
  bool is_set(uint32_t index, uint32_t entry = 0) {
    uint64_t value;
    return read_hist_variable(table, entry, index, &value);
  }
  std::string text(uint32_t index, uint32_t entry = 0) {
    const uint32_t offset = hist_variable_text(*program, index);
    return reinterpret_cast<const char*>(hist_text_at(table, entry, offset));
  }

  HistTotals totals;
};

// Of texts behind bad pointers.
inline void continue_after_fault(int, siginfo_t*, void* raw) {
  greg_t& rip = static_cast<ucontext_t*>(raw)->uc_mcontext.gregs[REG_RIP];
  const uint64_t target = fault_fixup(uint64_t(rip));
  if (!target) std::abort();
  rip = greg_t(target);
}

class HistHot : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_sigaction = continue_after_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGSEGV, &action, &before_);
    pb_rseq_offset = test::rseq_offset();
    pb_thread = {};
  }
  void TearDown() override {
    ::sigaction(SIGSEGV, &before_, nullptr);
    pb_rseq_offset = 0;
    pb_thread = {};
  }
  // Called from caller(), by frame pointers.
  static void hit(const Hist& hist, const Record& record) {
    alignas(16) const uint64_t frames[4] = {reinterpret_cast<uint64_t>(frames + 2), caller(), 0, 0};
    const auto sp = reinterpret_cast<uint64_t>(frames);
    const StackStart start = {here(), sp, sp, false};
    const TriggerHit at = {nullptr, &start, 42};
    hist_update(hist.program, at, reinterpret_cast<const uint8_t*>(&record), record.size());
  }
  static uint64_t here() { return reinterpret_cast<uint64_t>(&hit); }
  static uint64_t caller() { return reinterpret_cast<uint64_t>(&std::abort); }
  // The number that a field or expression is, as a key.
  static uint64_t number(FieldPtr what, const Record& record = {}) {
    Hist hist;
    hist.key(std::move(what)).compile();
    hit(hist, record);
    const auto entries = hist.read();
    return entries.size() == 1 ? *reinterpret_cast<const uint64_t*>(entries[0].key) : 0xdead;
  }

 private:
  struct sigaction before_ = {};
};

class HistTrace : public HistHot {
 protected:
  struct Instance {
    std::string directory = "/tmp/hist_hot_test.XXXXXX";
    std::unique_ptr<RingBuffer> buffer;
    std::unique_ptr<RingReader> reader;
    EventProgram program = {};

    void make(abi::CommTable* comms) {
      ASSERT_NE(::mkdtemp(directory.data()), nullptr);
      RingBufferOptions options;
      options.path = directory + "/buffer";
      options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
      options.comms = comms;
      auto made = RingBuffer::create(options);
      ASSERT_TRUE(made.ok()) << made.error().message();
      buffer = std::move(*made);
      ASSERT_TRUE(buffer->enable().ok());
      reader = std::make_unique<RingReader>(buffer.get(), true);
      program.rings = buffer->rings();
      program.id = 77;
    }
    std::vector<std::string> take() {
      std::vector<std::string> records;
      PageImage page;
      for (uint32_t ring = 0; ring < reader->nr_rings(); ring++)
        while (reader->next_page(ring, true, &page)) {
          EventIterator events(page.bytes, page.used);
          for (EventView event; events.next(&event);)
            records.emplace_back(event.record.begin(), event.record.end());
        }
      return records;
    }
    ~Instance() {
      if (buffer) buffer->remove_file();
      ::rmdir(directory.c_str());
    }
  };
  void SetUp() override {
    HistHot::SetUp();
    a_.make(nullptr);
    if (HasFatalFailure()) return;
    b_.make(a_.buffer->rings()->comms);
    synthetic_.call.system = "synthetic";
    synthetic_.call.name = "pair";
    synthetic_.data = &target_;
    wanted_by({&a_, &b_});
  }
  void wanted_by(std::vector<Instance*> instances) {
    program_bytes_.assign(sizeof(SiteProgram) + instances.size() * sizeof(SiteEvent), 0);
    auto* program = reinterpret_cast<SiteProgram*>(program_bytes_.data());
    program->nr_events = uint32_t(instances.size());
    for (size_t i = 0; i < instances.size(); i++) program->event[i].event = &instances[i]->program;
    target_.program = program;
  }
  void set_fields(std::vector<EventField> fields) { synthetic_.call.fields = std::move(fields); }
  // keys=key, a variable for each of `values`, and onmatch().trace() of all of them.
  void trace(Hist* hist, std::vector<FieldPtr> values) {
    hist->key(field("key"));
    HistActionData* action = hist->action(HistHandler::kMatch, HistActionKind::kTrace);
    action->synthetic = &synthetic_;
    for (FieldPtr& value : values) {
      HistField* variable = hist->variable(std::move(value));
      action->params.push_back(hist->refer(variable));
    }
    hist->compile();
  }
  template <typename T>
  static T at(const std::string& record, size_t offset) {
    T value;
    std::memcpy(&value, record.data() + offset, sizeof value);
    return value;
  }
  static std::string behind(const std::string& record, size_t location) {
    const uint32_t word = at<uint32_t>(record, location);
    return record.substr(word & 0xffff, word >> 16);
  }

  Instance a_, b_;
  LiveEvent synthetic_;
  SyntheticTarget target_ = {};
  std::vector<char> program_bytes_;
};

}  // namespace
}  // namespace patchbay
