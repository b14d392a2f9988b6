// SPDX-License-Identifier: MIT
#include "codegen/code_template.h"

#include <string>
#include <vector>

#include "codegen/call_code.h"
#include "codegen/callback_code.h"
#include "codegen/hist_code.h"
#include "codegen/probe_emitter.h"
#include "filter/filter_insn.h"
#include "filter/filter_jit.h"
#include "hot/rseq.h"
#include "probe/hit_counter.h"
#include "probe/returns/call_data.h"
#include "probe/triggers/trigger_hot.h"

namespace patchbay {
namespace {

struct Known {
  std::string key;
  CodeTemplatePtr made;
};
constexpr size_t kMaxTemplates = 64;

// The filter as far as it decides the code.
void add_tests(const FilterProgram& filter, const FetchProgram& fetch, std::string* key) {
  for (const RegisterTest& test : filter_register_tests(filter, fetch)) {
    const FilterInsn& insn = *test.insn;
    const uint64_t words[] = {uint64_t(test.source),
                              test.add,
                              insn.value,
                              insn.end,
                              uint64_t(insn.on_true) << 32 | insn.on_false,
                              uint64_t(insn.test) << 32 | uint64_t(insn.op) << 16 |
                                  uint64_t{insn.size} << 8 | uint64_t{insn.is_signed} << 1 |
                                  uint64_t{insn.invert}};
    key->append(reinterpret_cast<const char*>(words), sizeof words);
    if (!test.is_text()) continue;
    const uint32_t kind[] = {uint32_t(insn.match), insn.data_size, uint32_t(test.offsets.size())};
    key->append(reinterpret_cast<const char*>(kind), sizeof kind);
    key->append(reinterpret_cast<const char*>(insn.data), insn.data_size);
    key->append(reinterpret_cast<const char*>(test.offsets.data()), 4 * test.offsets.size());
  }
  key->push_back('|');
}

// The same for one that is tested on a record.
void add_numbers(const FilterProgram& filter, std::string* key) {
  for (const FilterInsn* insn = filter.insns; insn != filter.insns + filter.nr_insns; insn++) {
    const uint64_t words[] = {insn->value, insn->end,
                              uint64_t(insn->on_true) << 32 | insn->on_false,
                              uint64_t{insn->offset} << 32 | uint64_t{insn->size} << 16 |
                                  uint64_t(insn->test) << 8 | uint64_t(insn->op),
                              uint64_t{insn->is_signed} << 1 | uint64_t{insn->invert}};
    key->append(reinterpret_cast<const char*>(words), sizeof words);
  }
  key->append(reinterpret_cast<const char*>(&filter.min_size), sizeof filter.min_size);
}

void write_key(const ProbeCode& code, std::string* key) {
  key->clear();
  auto add = [key](const void* bytes, size_t size) {
    key->append(static_cast<const char*>(bytes), size);
  };
  const bool kind[] = {
      code.uses_xmm,      code.flags_live,      code.inside,   code.fast,
      code.hooks_return,  code.site_has_events, code.filtered, code.event.counts != nullptr,
      code.at_return,     code.shared,          code.gated,    code.soft,
      code.hook_uses_xmm, code.mirrored,        code.hist,     code.takes,
      code.calls};
  add(kind, sizeof kind);
  if (code.gated) add_tests(*code.event.event->triggers->gate, *code.event.fetch, key);
  if (code.filtered && code.at_return)
    add_numbers(*code.event.event->filter, key);
  else if (code.filtered)
    add_tests(*code.event.event->filter, *code.event.fetch, key);
  if (!code.fast && !code.filtered && !code.gated && !code.mirrored && !code.soft) return;
  add(&pb_rseq_offset, sizeof pb_rseq_offset);
  add(&pb_locked_row, sizeof pb_locked_row);
  if (code.hist) {
    const std::vector<uint64_t> words = hist_code_words(hist_code(code.event));
    add(words.data(), words.size() * sizeof words[0]);
  }
  if (code.calls) {
    const std::vector<uint64_t> words = callback_code_words(callback_code(code.event));
    add(words.data(), words.size() * sizeof words[0]);
  }
  if (!code.fast) return;
  const FetchProgram& fetch = *code.event.fetch;
  add(&fetch.head, sizeof fetch.head);
  add(&fetch.fixed_size, sizeof fetch.fixed_size);
  add(fetch.insn, fetch.nr_insns * sizeof(FetchInsn));
  if (code.at_return) *key += {code.event.ip != 0, is_taken_size_open(fetch)};
  if (code.takes || fetch.at_entry) add(&pb_call_data, sizeof pb_call_data);
}

}  // namespace

// A full cache starts again. Never freed: exit handlers and threads may run to the very end of the
// process.
CodeTemplatePtr find_template(const ProbeCode& code) {
  static auto& cache = *new std::vector<Known>;
  static auto& key = *new std::string;
  static size_t last = 0;  // the one that was found last: neighbours mostly want the same
  write_key(code, &key);
  if (last < cache.size() && cache[last].key == key) return cache[last].made;
  for (last = 0; last < cache.size(); last++)
    if (cache[last].key == key) return cache[last].made;
  auto made = std::make_shared<CodeTemplate>();
  if (!generate_probe(code, &made->code, &made->stack_shape)) return nullptr;
  if (cache.size() == kMaxTemplates) cache.clear();
  last = cache.size();
  cache.push_back({key, made});
  return made;
}

}  // namespace patchbay
