// SPDX-License-Identifier: MIT
#include "tracer/function_commands.h"

#include <linux/futex.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <unordered_set>

#include "base/program_stderr.h"
#include "base/raw_syscall.h"
#include "base/shared_memory.h"
#include "base/text.h"
#include "probe/triggers/action_hot.h"
#include "registry/settings.h"
#include "registry/snapshots.h"

namespace patchbay {

namespace {

struct CommandName {
  std::string_view name;
  ActionKind kind;
};
constexpr CommandName kCommands[] = {
    {"traceon", ActionKind::kTraceOn},
    {"traceoff", ActionKind::kTraceOff},
    {"snapshot", ActionKind::kSnapshot},
    {"stacktrace", ActionKind::kStackTrace},
    {"dump", ActionKind::kDump},
    {"cpudump", ActionKind::kCpuDump},
    {"enable_event", ActionKind::kEnableEvent},
    {"disable_event", ActionKind::kDisableEvent},
};

bool is_event_command(ActionKind kind) {
  return kind == ActionKind::kEnableEvent || kind == ActionKind::kDisableEvent;
}
bool asks(ActionKind kind) {
  return kind == ActionKind::kSnapshot || kind == ActionKind::kDump || kind == ActionKind::kCpuDump;
}
std::string_view name_of(ActionKind kind) { return kCommands[size_t(kind)].name; }

// What a line says behind the pattern.
struct Spec {
  ActionKind kind = ActionKind::kTraceOn;
  bool counted = false;     // written with a count: another command than without one
  std::string_view number;  // as written
  LiveEvent* event = nullptr;
};

std::string_view next_word(std::string_view* rest) {
  const size_t colon = rest->find(':');
  const std::string_view word = rest->substr(0, colon);
  *rest = colon == rest->npos ? std::string_view() : rest->substr(colon + 1);
  return word;
}

// What the functions of one line share. It holds an event in soft mode as long as it lives.
struct Command {
  Command(Registry& r, TraceArray& a) : registry(r), array(a) {}
  Command(const Command&) = delete;
  ~Command() {
    if (event) registry.release_soft(array, event);
  }
  Registry& registry;
  TraceArray& array;
  LiveEvent* event = nullptr;
  std::string event_name;  // "sys:ev"
};

struct Entry {
  HitAction* action;
  std::shared_ptr<Command> command;
  uint64_t answered = 0;  // of HitAction.asked
};

// One command of an instance, with or without a count, and its functions.
struct Probe {
  FtraceOps ops;
  ActionKind kind;
  bool counted;
  HitAction* action;  // of the ops; says which function has which, in this process: not shared
  std::map<DynFtrace*, Entry, bool (*)(const DynFtrace*, const DynFtrace*)> entries{
      [](const DynFtrace* a, const DynFtrace* b) {
        return a->place.plan.entry < b->place.plan.entry;
      }};
};

std::atomic<uint32_t> actions_that_ask{0};

}  // namespace

void expect_questions(int by) {
  if (!pb_action_bell) pb_action_bell = agreed_shared<ActionBell>("bell");
  actions_that_ask += uint32_t(by);
}

// The kernel's kstrtoul with base 0.
Result<int64_t> parse_action_count(std::string_view text) {
  const auto bad = [&] { return user_error(EINVAL, "'" + std::string(text) + "' is no count."); };
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  uint64_t base = 10;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'x') {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
  }
  if (digits.empty()) return bad();
  uint64_t value = 0;
  for (char c : digits) {
    if (uint64_t(digit_value(c)) >= base) return bad();
    if (__builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, uint64_t(digit_value(c)), &value))
      return user_error(ERANGE, "The count " + std::string(text) + " is larger than 64 bits.");
  }
  return int64_t(value);
}

struct FunctionCommands::Impl {
  Impl(Registry& r, FtraceOpsTable& o) : registry(r), ops(o) {}

  Registry& registry;
  FtraceOpsTable& ops;
  std::list<std::unique_ptr<Probe>> probes;         // the newest first
  std::vector<std::unique_ptr<uint64_t[]>> tables;  // a thread may be looking into one: kept
  std::deque<HitAction> top_actions;                // of the probes, kept for the same reason
  std::function<std::string(std::optional<uint32_t>)> dump_text;

  Result<Spec> parse(TraceArray& array, const FilterLine& line);
  Probe* find(const TraceArray& array, const Spec& spec);
  Probe* make(TraceArray& array, const Spec& spec);
  Status add(TraceArray& array, const Spec& spec, const std::vector<DynFtrace*>& functions);
  Status remove(Probe* probe, const FilterLine& line);
  Result<std::shared_ptr<Command>> prepare(TraceArray& array, const Spec& spec);
  HitAction* make_action(const Probe& probe, const Command& command, int64_t count,
                         const DynFtrace* function);
  void publish_table(Probe* probe);
  template <typename Predicate>
  size_t erase_entries(Probe* probe, Predicate goes);
  Status follow(Probe* probe);
  void drop(Probe* probe);
  void drop_gone(Probe* probe);
  void answer(Probe* probe, Entry* entry);
  void dump(std::optional<uint32_t> cpu);
};

FunctionCommands::FunctionCommands(Registry& registry, FtraceOpsTable& ops)
    : impl_(new Impl(registry, ops)) {}
FunctionCommands::~FunctionCommands() {
  while (!impl_->probes.empty()) impl_->drop(impl_->probes.front().get());
}

// --- lines

Result<Spec> FunctionCommands::Impl::parse(TraceArray& array, const FilterLine& line) {
  const auto found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                  [&](const CommandName& one) { return one.name == line.command; });
  if (found == std::end(kCommands))
    return user_error(EINVAL, "There is no command '" + line.command + "'.");
  Spec spec;
  spec.kind = found->kind;
  std::string_view rest = line.parameter;
  bool has_rest = line.has_parameter;
  if (is_event_command(spec.kind)) {
    const std::string system(next_word(&rest));
    has_rest = rest.find(':') != rest.npos;
    const std::string name(next_word(&rest));
    spec.event = registry.find_event(system, name);
    const auto& only = array.systems;
    const bool is_seen = only.empty() || std::find(only.begin(), only.end(), system) != only.end();
    if (!spec.event || !spec.event->can_enable || !is_seen)
      return user_error(EINVAL, "There is no event " + system + ":" + name + ".");
  }
  const bool once = spec.kind == ActionKind::kDump || spec.kind == ActionKind::kCpuDump;
  spec.counted = has_rest && !once;
  spec.number = next_word(&rest);
  return spec;
}

[[gnu::cold]] Status FunctionCommands::write(TraceArray& array, const FilterLine& line) {
  PB_ASSIGN(auto spec, impl_->parse(array, line));
  Probe* probe = impl_->find(array, spec);
  if (line.remove) {
    if (!probe)
      return user_error(ENODEV, "No function has the command " + line.command +
                                    (spec.counted ? " with a count." : " without a count."));
    return impl_->remove(probe, line);
  }
  if (line.pattern.empty() && !line.has_module)
    return user_error(EINVAL, "The command " + line.command + " needs functions before it.");
  return impl_->add(array, spec, matching_functions(impl_->ops.table(), line));
}

Probe* FunctionCommands::Impl::find(const TraceArray& array, const Spec& spec) {
  for (const auto& probe : probes)
    if (probe->ops.array == &array && probe->kind == spec.kind && probe->counted == spec.counted)
      return probe.get();
  return nullptr;
}

Probe* FunctionCommands::Impl::make(TraceArray& array, const Spec& spec) {
  probes.push_front(std::make_unique<Probe>());
  Probe* probe = probes.front().get();
  probe->kind = spec.kind;
  probe->counted = spec.counted;
  probe->action = &top_actions.emplace_back();
  probe->action->kind = spec.kind;
  FtraceOps& made = probe->ops;
  made.name = std::string(name_of(spec.kind)) + (spec.counted ? ":count" : "");
  made.array = &array;
  made.hidden = true;
  made.none_if_empty = true;
  made.live.kind = ConsumerKind::kAction;
  made.live.action = probe->action;
  if (spec.kind == ActionKind::kStackTrace) made.live.stack = kKernelStack;
  publish_table(probe);
  if (asks(spec.kind)) {
    expect_questions(1);
  }
  return probe;
}

// --- adding and removing

// What has to be there before the first hit.
Result<std::shared_ptr<Command>> FunctionCommands::Impl::prepare(TraceArray& array,
                                                                 const Spec& spec) {
  auto command = std::make_shared<Command>(registry, array);
  if (spec.kind == ActionKind::kSnapshot) PB_TRY(registry.snapshots().allocate(array));
  if (!spec.event) return command;
  PB_TRY(registry.hold_soft(array, spec.event));
  command->event = spec.event;
  command->event_name = spec.event->call.system + ":" + spec.event->call.name;
  return command;
}

// Of a function, or of all that a line means: then it is null.
HitAction* FunctionCommands::Impl::make_action(const Probe& probe, const Command& command,
                                               int64_t count, const DynFtrace* function) {
  bool fresh = false;
  auto* action = agreed_shared<HitAction>(
      "command", function ? hex_number(function->place.plan.entry) : std::string(), &fresh);
  if (!fresh) return action;
  action->kind = probe.kind;
  action->count = probe.kind == ActionKind::kDump ? 1 : count;
  action->limited = probe.counted || probe.kind == ActionKind::kDump;
  if (command.event) {
    action->limited = count != -1;
    action->soft = registry.file(command.array, command.event)->soft;
  }
  if (asks(probe.kind)) action->stops = registry.top().buffer->rings_word();
  return action;
}

Status FunctionCommands::Impl::add(TraceArray& array, const Spec& spec,
                                   const std::vector<DynFtrace*>& functions) {
  int64_t count = -1;
  if (spec.counted && (!spec.number.empty() || spec.event)) {
    PB_ASSIGN(auto parsed, parse_action_count(spec.number));
    count = parsed;
  }
  if (functions.empty())
    return user_error(EINVAL, "No function fits: see available_filter_functions.");
  Probe* probe = find(array, spec);
  std::vector<DynFtrace*> fresh;
  for (DynFtrace* function : functions)
    if (!probe || !probe->entries.contains(function)) fresh.push_back(function);
  if (fresh.empty())
    return user_error(
        EINVAL, "The functions have the command " + std::string(name_of(spec.kind)) + " already.");
  PB_ASSIGN(auto command, prepare(array, spec));
  if (!probe) probe = make(array, spec);
  HitAction* shared =
      spec.counted && !spec.event ? nullptr : make_action(*probe, *command, count, nullptr);
  if (spec.kind == ActionKind::kDump) shared = nullptr;
  for (DynFtrace* function : fresh) {
    HitAction* own = shared ? shared : make_action(*probe, *command, count, function);
    probe->entries.insert({function, Entry{own, command}});
  }
  Status status = follow(probe);
  if (status.ok()) return {};
  for (DynFtrace* function : fresh) probe->entries.erase(function);
  publish_table(probe);
  if (probe->entries.empty()) drop(probe);
  return status;
}

Status FunctionCommands::Impl::remove(Probe* probe, const FilterLine& line) {
  drop_gone(probe);
  const bool all = (line.pattern.empty() || line.pattern == "*") && !line.has_module;
  std::unordered_set<DynFtrace*> meant;
  if (!all) {
    for (DynFtrace* function : matching_functions(ops.table(), line)) meant.insert(function);
  }
  const size_t removed =
      erase_entries(probe, [&](const auto& one) { return all || meant.contains(one.first); });
  if (!removed)
    return user_error(EINVAL, "None of these functions has the command " + line.command + ".");
  if (!probe->entries.empty()) return follow(probe);
  drop(probe);
  return {};
}

// The table first, so that a hit finds its action; then the sites.
Status FunctionCommands::Impl::follow(Probe* probe) {
  publish_table(probe);
  FtraceHash filter;
  for (const auto& [function, entry] : probe->entries) filter.functions.insert(function);
  if (probe->ops.registered) return ops.set_hashes(&probe->ops, std::move(filter), {});
  probe->ops.filter = std::move(filter);
  return ops.add(&probe->ops);
}

void FunctionCommands::Impl::publish_table(Probe* probe) {
  uint32_t slots = 4;
  while (slots < 2 * probe->entries.size()) slots *= 2;
  const size_t bytes = sizeof(ActionTable) + slots * sizeof(ActionTable::Slot);
  tables.push_back(std::make_unique<uint64_t[]>((bytes + 7) / 8));
  auto* table = reinterpret_cast<ActionTable*>(tables.back().get());
  table->mask = slots - 1;
  for (const auto& [function, entry] : probe->entries)
    add_action(table, function->place.plan.entry, entry.action);
  __atomic_store_n(&probe->action->by_function, table, __ATOMIC_RELEASE);  // pairs with action_run
}

// Forked children keep the table that they were born with, so what goes says so itself as well.
template <typename Predicate>
size_t FunctionCommands::Impl::erase_entries(Probe* probe, Predicate goes) {
  std::unordered_set<HitAction*> gone;
  const size_t erased = std::erase_if(probe->entries, [&](const auto& one) {
    if (!goes(one)) return false;
    gone.insert(one.second.action);
    return true;
  });
  for (const auto& [function, entry] : probe->entries) gone.erase(entry.action);
  for (HitAction* action : gone) __atomic_store_n(&action->off, 1, __ATOMIC_RELAXED);
  return erased;
}

void FunctionCommands::Impl::drop(Probe* probe) {
  __atomic_store_n(&probe->action->off, 1, __ATOMIC_RELAXED);
  erase_entries(probe, [](const auto&) { return true; });
  publish_table(probe);
  ops.remove(&probe->ops);
  if (asks(probe->kind)) expect_questions(-1);
  probes.remove_if([&](const auto& one) { return one.get() == probe; });
}

// Functions of objects that were unloaded have left the filter by themselves.
void FunctionCommands::Impl::drop_gone(Probe* probe) {
  std::erase_if(probe->entries, [](const auto& one) { return one.first->gone; });
}

bool FunctionCommands::any() const { return !impl_->probes.empty(); }

void FunctionCommands::clear(TraceArray& array) {
  for (auto at = impl_->probes.begin(); at != impl_->probes.end();) {
    Probe* probe = (at++)->get();
    if (probe->ops.array == &array) impl_->drop(probe);
  }
}

void FunctionCommands::event_gone(const LiveEvent* event) {
  for (auto at = impl_->probes.begin(); at != impl_->probes.end();) {
    Probe* probe = (at++)->get();
    const size_t erased = impl_->erase_entries(
        probe, [&](const auto& one) { return one.second.command->event == event; });
    if (!erased) continue;
    if (probe->entries.empty())
      impl_->drop(probe);
    else
      (void)impl_->follow(probe);  // nobody waits for an answer
  }
}

// --- listing

std::string FunctionCommands::show(const TraceArray& array) {
  std::string text;
  for (const auto& probe : impl_->probes) {
    if (probe->ops.array != &array) continue;
    impl_->drop_gone(probe.get());
    for (const auto& [function, entry] : probe->entries) {
      text += function->name;
      text += ":";
      text += name_of(probe->kind);
      if (entry.command->event) text += ":" + entry.command->event_name;
      const int64_t count = __atomic_load_n(&entry.action->count, __ATOMIC_RELAXED);
      const bool limited = entry.action->limited;
      text += limited ? ":count=" + std::to_string(count) + "\n" : ":unlimited\n";
    }
  }
  return text;
}

// --- what hits have asked for

void FunctionCommands::set_dump_text(std::function<std::string(std::optional<uint32_t>)> text) {
  impl_->dump_text = std::move(text);
}

void FunctionCommands::run_asked() {
  for (const auto& probe : impl_->probes)
    if (asks(probe->kind))
      for (auto& [function, entry] : probe->entries) impl_->answer(probe.get(), &entry);
}

void FunctionCommands::Impl::answer(Probe* probe, Entry* entry) {
  const uint64_t asked = __atomic_load_n(&entry->action->asked, __ATOMIC_ACQUIRE);
  if (asked == entry->answered) return;
  entry->answered = asked;
  if (probe->kind == ActionKind::kSnapshot) return take_asked_snapshot(registry, *probe->ops.array);
  if (probe->kind == ActionKind::kDump) return dump({});
  dump(uint32_t(__atomic_load_n(&entry->action->cpu, __ATOMIC_RELAXED)));
}

void take_asked_snapshot(Registry& registry, TraceArray& array) {
  if (array.snapshot && registry.snapshots().write(array, {}, 1).ok()) return;
  registry.snapshots().refuse(array);
}

void FunctionCommands::Impl::dump(std::optional<uint32_t> cpu) {
  (void)registry.settings().set_tracing_on(registry.top(), false);
  if (!dump_text) return;
  const std::string lines = dump_text(cpu);
  std::string text = "Dumping ftrace buffer:\n";
  constexpr std::string_view kRule = "---------------------------------\n";
  if (lines.empty())
    text += "   (ftrace buffer empty)\n";
  else
    text.append(kRule).append(lines).append(kRule);
  write_to_program_stderr(text);
}

bool actions_may_ask() { return actions_that_ask.load(std::memory_order_acquire) != 0; }

bool wait_for_actions(int milliseconds) {
  static uint32_t seen = 0;
  ActionBell* bell = pb_action_bell;
  if (!bell) return false;
  const auto look = [&] {
    const uint32_t asked = __atomic_load_n(&bell->asked, __ATOMIC_SEQ_CST);
    return asked != std::exchange(seen, asked);
  };
  if (look()) return true;
  if (milliseconds == 0) return false;
  __atomic_store_n(&bell->sleeps, 1, __ATOMIC_SEQ_CST);
  const timespec timeout = {milliseconds / 1000, long(milliseconds % 1000) * 1000000};
  raw_syscall(SYS_futex, long(&bell->asked), FUTEX_WAIT, seen, long(&timeout));
  __atomic_store_n(&bell->sleeps, 0, __ATOMIC_SEQ_CST);
  return look();
}

}  // namespace patchbay
