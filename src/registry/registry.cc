// SPDX-License-Identifier: MIT
#include "registry/registry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/agreed.h"
#include "base/check.h"
#include "base/release.h"
#include "base/text.h"
#include "event/ftrace_events.h"
#include "registry/registry_impl.h"

namespace patchbay {

namespace {

constexpr size_t kMaxInstanceName = 255;

// Two events of a module that look the same are the same event.
std::string description_of(const LiveEvent& live) {
  EventCall call = live.call;
  call.id = 0;
  return event_key(live.module, call.system) + ":" + call.format_text();
}

}  // namespace

std::string event_key(std::string_view system, std::string_view name) {
  std::string key(system);
  key += ':';
  key += name;
  return key;
}

Status check_unread(const TraceArray& array) {
  if (!array.trace_readers && !array.snapshot_readers) return {};
  return user_error(EBUSY, "`trace` or `snapshot` is open for reading.");
}

Registry::Registry(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Registry::~Registry() = default;

Result<std::unique_ptr<Registry>> Registry::create(const RegistryOptions& options,
                                                   SymbolTable& symbols) {
  auto impl = std::make_unique<Impl>(options, symbols);
  PB_ASSIGN(auto buffer, RingBuffer::create(options.buffer));
  impl->top.buffer = std::move(buffer);
  impl->top.cpumask.assign(options.buffer.nr_cpus, true);
  impl->top.cpu_pipe_open.assign(options.buffer.nr_cpus, false);
  impl->top.options.set(TraceOption::kOverwrite, options.buffer.overwrite);
  // The top instance is where copies and trace_printk go until another one asks for them.
  impl->top.options.set(TraceOption::kTracePrintkDest, true);
  impl->top.options.set(TraceOption::kCopyTraceMarker, true);
  impl->by_id.assign(impl->next_id, nullptr);
  PB_TRY(impl->add_ftrace_events());
  return std::unique_ptr<Registry>(new Registry(std::move(impl)));
}

std::recursive_mutex& Registry::lock() { return impl_->lock; }
SymbolTable& Registry::symbols() { return impl_->symbols; }
void Registry::set_single_threaded(bool value) { impl_->single_threaded = value; }
bool Registry::single_threaded() const { return impl_->single_threaded; }
uint64_t Registry::generation() const { return impl_->generation; }
EventRequests& Registry::requests() { return impl_->requests; }
EventFilters& Registry::filters() { return impl_->filters; }
PidLists& Registry::pid_lists() { return impl_->pid_lists; }
Settings& Registry::settings() { return impl_->settings; }
Snapshots& Registry::snapshots() { return impl_->snapshots; }
Printk& Registry::printk() { return impl_->printk; }
Markers& Registry::markers() { return impl_->markers; }
ObjectLog& Registry::objects() { return impl_->objects; }

// --- events

Status Registry::Impl::add_ftrace_events() {
  const RingBuffer::OpenFile open(top.buffer.get());
  for (EventCall& call : ftrace_events()) {
    auto event = std::make_unique<LiveEvent>();
    const uint16_t id = call.id;
    event->call = std::move(call);
    event->can_enable = false;
    PB_TRY(add_event(std::move(event), id));
  }
  return {};
}

Result<LiveEvent*> Registry::add_event(std::unique_ptr<LiveEvent> event) {
  return impl_->add_event(std::move(event), 0);
}

// A forked child gives an event the number that it has in its parent.
Result<uint16_t> Registry::Impl::choose_id(const LiveEvent& event, uint32_t fixed_id) {
  if (fixed_id) return uint16_t(fixed_id);
  const uint64_t key = note_key("event", event_key(event.call.system, event.call.name));
  if (is_forked_child()) {
    const auto id = noted(key);
    if (!id) return user_error(ESRCH, "The parent of this process has no such event.");
    next_id = std::max(next_id, uint32_t(*id));
    return uint16_t(*id);
  }
  auto id = choose_free_id(event);
  if (id.ok()) note(key, *id);
  return id;
}

Result<uint16_t> Registry::Impl::choose_free_id(const LiveEvent& event) {
  if (!event.module.empty()) {
    auto gone = ids_of_gone.find(description_of(event));
    if (gone != ids_of_gone.end() && !by_id[gone->second]) return gone->second;
  }
  if (next_id > 65535) return user_error(ENOMEM, "All 65535 event ids have been given out.");
  return uint16_t(next_id);
}

Result<LiveEvent*> Registry::Impl::add_event(std::unique_ptr<LiveEvent> event, uint32_t fixed_id) {
  LiveEvent* live = event.get();
  std::string key = event_key(live->call.system, live->call.name);
  if (by_name.contains(key)) return user_error(EEXIST, "There is already an event " + key + ".");
  PB_ASSIGN(auto id, choose_id(*live, fixed_id));
  live->call.id = id;
  // An id that was given out before has its format in the log.
  bool is_new = id == next_id || fixed_id;
  if (is_new) PB_TRY(describe(*live));
  if (id == next_id) next_id++;
  if (by_id.size() < next_id) by_id.resize(next_id);
  PB_CHECK_VALUES(!by_id[id], id, next_id);
  by_id[id] = live;
  by_name[key] = live;
  events.push_back(std::move(event));
  generation++;
  return live;
}

Status Registry::Impl::describe(const LiveEvent& event) {
  uint32_t id = event.call.id;
  std::string payload(reinterpret_cast<const char*>(&id), sizeof id);
  payload += event.call.system;
  payload += '\0';
  payload += event.call.format_text();
  return top.buffer->append_meta(abi::kMetaEventFormat, payload);
}

std::vector<const EventCall*> Registry::gone_calls() const {
  std::vector<const EventCall*> calls;
  for (const auto& [id, call] : impl_->gone_calls)
    if (!impl_->by_id[id]) calls.push_back(&call);
  return calls;
}

bool Registry::in_use(const LiveEvent* event) const { return impl_->in_use(event); }

bool Registry::Impl::in_use(const LiveEvent* event) {
  if (event->references) return true;
  for (TraceArray* array : all_arrays()) {
    const EventFile* file = find_file(*array, event);
    if (file && (file->enabled || file->soft_users)) return true;
  }
  return false;
}

Status Registry::remove_event(LiveEvent* event, bool force, bool keep_call) {
  Impl& impl = *impl_;
  if (!force && impl.in_use(event))
    return user_error(EBUSY,
                      "The event " + event->call.name +
                          (event->references ? " is what event probes stand on; remove them first."
                                             : " is enabled; disable it first."));
  if (force && impl.tracer_hooks.event_goes) impl.tracer_hooks.event_goes(event);
  if (force && impl.trigger_hooks.event_goes) impl.trigger_hooks.event_goes(event);
  Impl::Files files;
  for (TraceArray* array : impl.all_arrays()) {
    auto found = array->files.find(event);
    if (found == array->files.end()) continue;
    if (force && found->second.enabled && !event->module.empty())
      impl.requests.remember(*array, *event);
    found->second.enabled = false;
    files.emplace_back(array, &found->second);
  }
  PB_TRY(impl.publish(files, true));
  impl.drop_guests(event);
  impl.forget_files(event);
  impl.by_name.erase(event_key(event->call.system, event->call.name));
  impl.by_id[event->call.id] = nullptr;
  if (!event->module.empty()) impl.ids_of_gone[description_of(*event)] = event->call.id;
  auto place = std::find_if(impl.events.begin(), impl.events.end(),
                            [&](const auto& owned) { return owned.get() == event; });
  if (keep_call) impl.gone_calls.insert_or_assign(event->call.id, event->call);
  // Open files still name it. Its description is not worth its memory any more.
  release(&event->call.fields);
  release(&event->call.common);
  release(&event->call.print_fmt);
  impl.gone_events.push_back(std::move(*place));
  impl.events.erase(place);
  impl.generation++;
  return {};
}

// Programs of event probes that stand on an event which goes away by force.
void Registry::Impl::drop_guests(LiveEvent* event) {
  if (event->programs.empty()) return;
  event->programs.clear();
  if (!event->source) return;
  [[maybe_unused]] Status ignored = event->source->update(std::span(&event, 1));
}

void Registry::Impl::forget_files(LiveEvent* event) {
  for (TraceArray* array : all_arrays()) {
    auto found = array->files.find(event);
    if (found == array->files.end()) continue;
    filters.park(&found->second);
    array->files.erase(found);
  }
}

LiveEvent* Registry::find_event(std::string_view system, std::string_view name) {
  return impl_->find_event(system, name);
}

LiveEvent* Registry::Impl::find_event(std::string_view system, std::string_view name) {
  auto found = by_name.find(event_key(system, name));
  return found == by_name.end() ? nullptr : found->second;
}

LiveEvent* Registry::find_event_by_id(uint16_t id) {
  return id < impl_->by_id.size() ? impl_->by_id[id] : nullptr;
}

bool Registry::Impl::sees(const TraceArray& array, const LiveEvent& event) const {
  const auto& only = array.systems;
  return only.empty() || std::find(only.begin(), only.end(), event.call.system) != only.end();
}

std::vector<std::string> Registry::systems(const TraceArray& array) const {
  std::set<std::string> names;
  for (const auto& event : impl_->events)
    if (impl_->sees(array, *event)) names.insert(event->call.system);
  return {names.begin(), names.end()};
}

std::vector<LiveEvent*> Registry::events_of(const TraceArray& array,
                                            std::string_view system) const {
  return impl_->events_of(array, system);
}

std::vector<LiveEvent*> Registry::Impl::events_of(const TraceArray& array,
                                                  std::string_view system) const {
  std::vector<LiveEvent*> found;
  for (const auto& event : events)
    if ((system.empty() || system == event->call.system) && sees(array, *event))
      found.push_back(event.get());
  return found;
}

// --- instances

TraceArray& Registry::top() { return impl_->top; }

TraceArray* Registry::find_array(std::string_view name) { return impl_->find_array(name); }

TraceArray* Registry::Impl::find_array(std::string_view name) {
  auto found = arrays.find(name);
  return found == arrays.end() ? nullptr : found->second.get();
}

const std::string& Registry::instance_directory() const {
  return impl_->options.instance_directory;
}

std::vector<TraceArray*> Registry::arrays() {
  std::vector<TraceArray*> all = impl_->all_arrays();
  all.erase(all.begin());
  return all;
}

std::vector<TraceArray*> Registry::Impl::all_arrays() {
  std::vector<TraceArray*> all{&top};
  for (const auto& [name, array] : arrays) all.push_back(array.get());
  return all;
}

Result<std::string> Registry::Impl::make_instance_directory(const TraceArray& array) {
  const std::string& base = options.instance_directory;
  const std::string directory = base + "/" + array.name;
  for (const std::string& path : {base, directory})
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
      return sys_error("make " + path, errno);
  return directory;
}

void Registry::Impl::remove_instance_directory(const TraceArray& array) {
  const std::string& base = options.instance_directory;
  if (base.empty()) return;
  ::rmdir((base + "/" + array.name).c_str());
  ::rmdir(base.c_str());  // stays while there are others
}

// In a forked child there is a buffer already, of the parent's making.
Status Registry::Impl::make_buffer(TraceArray* array) {
  RingBufferOptions wanted = options.buffer;
  wanted.overwrite = array->options[TraceOption::kOverwrite];
  wanted.comms = top.buffer->rings()->comms;
  wanted.path.clear();
  if (!options.instance_directory.empty()) {
    wanted.path = options.instance_directory + "/" + array->name + "/buffer";
    if (!is_forked_child()) {
      PB_ASSIGN(auto directory, make_instance_directory(*array));
      ::unlink(wanted.path.c_str());  // of an instance of that name that is gone
    }
  }
  auto buffer = RingBuffer::create(wanted);
  if (!buffer.ok()) {
    if (!is_forked_child()) remove_instance_directory(*array);
    return buffer.error();
  }
  array->buffer = std::move(*buffer);
  return {};
}

Result<TraceArray*> Registry::create_array(std::string_view name,
                                           std::vector<std::string> systems) {
  Impl& impl = *impl_;
  if (name.size() > kMaxInstanceName)
    return user_error(ENAMETOOLONG, "The name of an instance has at most " +
                                        std::to_string(kMaxInstanceName) + " bytes.");
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0\n", 3)) != name.npos)
    return user_error(EINVAL, "The name of an instance is a directory's: without /, not . or ..");
  if (find_array(name))
    return user_error(EEXIST, "There is already an instance " + std::string(name) + ".");
  auto array = std::make_unique<TraceArray>();
  array->name = name;
  array->serial = impl.next_serial++;
  array->systems = std::move(systems);
  array->options = impl.top.options;
  for (TraceOption option : {TraceOption::kEventFork, TraceOption::kFunctionFork,
                             TraceOption::kTracePrintkDest, TraceOption::kCopyTraceMarker})
    array->options.set(option, false);
  array->cpumask.assign(impl.options.buffer.nr_cpus, true);
  array->cpu_pipe_open.assign(impl.options.buffer.nr_cpus, false);
  PB_TRY(impl.make_buffer(array.get()));
  TraceArray* made = array.get();
  impl.arrays[std::string(name)] = std::move(array);
  impl.generation++;
  return made;
}

Status Registry::remove_array(std::string_view name) {
  Impl& impl = *impl_;
  auto found = impl.arrays.find(name);
  if (found == impl.arrays.end())
    return user_error(ENOENT, "There is no instance " + std::string(name) + ".");
  TraceArray& array = *found->second;
  if (array.references)
    return user_error(EBUSY, "The instance " + array.name + " is in use: a file of it is open.");
  if (impl.trigger_hooks.array_goes) impl.trigger_hooks.array_goes(array);
  if (impl.tracer_hooks.array_goes) impl.tracer_hooks.array_goes(array);
  Impl::Files files;
  for (auto& [event, file] : array.files) {
    file.enabled = false;
    files.emplace_back(&array, &file);
  }
  PB_TRY(impl.publish(files, true));
  impl.printk.retire(array);
  for (TraceOption option :
       {TraceOption::kTracePrintkDest, TraceOption::kEventFork, TraceOption::kFunctionFork})
    if (array.options[option]) PB_TRY(impl.settings.set_option(array, option, false));
  impl.requests.forget(array);
  for (RingBuffer* buffer : {array.buffer.get(), array.snapshot.get()})
    if (buffer) buffer->remove_file();
  if (!is_forked_child()) impl.remove_instance_directory(array);
  for (auto& [event, file] : array.files) impl.filters.park(&file);
  impl.snapshots.forget(array);
  std::erase_if(impl.idle_tracers, [&](const auto& idle) { return idle.first == &array; });
  impl.arrays.erase(found);
  impl.generation++;
  return {};
}

Status Registry::move_top(const std::string& path, const std::string& instance_directory,
                          uint64_t bytes) {
  Impl& impl = *impl_;
  TraceArray& top = impl.top;
  if (!impl.arrays.empty()) return user_error(EBUSY, "There are instances.");
  impl.options.buffer.path = path;
  impl.options.instance_directory = instance_directory;
  impl.gone_calls.clear();  // the records of these events go with the buffer
  const Status moved = top.buffer->move_to(path, bytes);
  impl.point_to_rings(top);
  PB_TRY(moved);
  impl.objects.forget_described();
  for (const auto& event : impl.events) PB_TRY(impl.describe(*event));
  return {};
}

Status Registry::leave_parent() {
  Impl& impl = *impl_;
  impl.options.buffer.path.clear();
  impl.options.instance_directory.clear();
  Status left;
  for (TraceArray* array : impl.all_arrays()) {
    array->snapshot.reset();
    const Status one = array->buffer->leave_parent();
    impl.point_to_rings(*array);
    if (left.ok()) left = one;
  }
  return left;
}

void Registry::abandon(TraceArray& array) {
  array.buffer->abandon();
  impl_->point_to_rings(array);
}

void Registry::close_cleanly() {
  impl_->snapshots.take_cuts();
  for (TraceArray* array : impl_->all_arrays()) {
    array->buffer->close_cleanly();
    if (array->snapshot) array->snapshot->close_cleanly();
  }
}

}  // namespace patchbay
