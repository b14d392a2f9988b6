// SPDX-License-Identifier: MIT
#include "tracefs/root.h"

#include <charconv>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

using DirectoryPtr = std::unique_ptr<Directory>;

// A directory whose entries are a table. An entry may answer null: then it is absent now.
class TableDirectory : public Directory {
 public:
  struct Entry {
    const char* name;
    std::function<FilePtr()> file;  // exactly one of file, directory
    std::function<DirectoryPtr()> directory;
  };
  explicit TableDirectory(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (const Entry& entry : entries_) {
      if (entry.file && entry.file()) names.push_back(entry.name);
      if (entry.directory && entry.directory()) names.push_back(std::string(entry.name) + "/");
    }
    return names;
  }
  FilePtr file(std::string_view name) override {
    for (const Entry& entry : entries_) {
      if (entry.file && name == entry.name) return entry.file();
    }
    return nullptr;
  }
  DirectoryPtr directory(std::string_view name) override {
    for (const Entry& entry : entries_) {
      if (entry.directory && name == entry.name) return entry.directory();
    }
    return nullptr;
  }

 private:
  std::vector<Entry> entries_;
};
using Entries = std::vector<TableDirectory::Entry>;

DirectoryPtr make_table(Entries entries) {
  return std::make_unique<TableDirectory>(std::move(entries));
}

// events/functions/NAME
DirectoryPtr make_event_directory(const TreeContext& context, std::string event) {
  return make_table(Entries{
      {"enable", [&context, event] { return make_event_enable(context, event); }, {}},
      {"format", [&context, event] { return make_event_format(context, event); }, {}},
      {"id", [&context, event] { return make_event_id(context, event); }, {}},
  });
}

// events/functions: one directory an event.
class FunctionsDirectory : public Directory {
 public:
  explicit FunctionsDirectory(const TreeContext& context) : context_(context) {}
  std::vector<std::string> list() override {
    std::vector<std::string> names{"enable"};
    for (const std::string& event : context_.events.event_names()) names.push_back(event + "/");
    return names;
  }
  FilePtr file(std::string_view name) override {
    return name == "enable" ? make_events_enable(context_) : nullptr;
  }
  DirectoryPtr directory(std::string_view name) override {
    if (!context_.events.find(name)) return nullptr;
    return make_event_directory(context_, std::string(name));
  }

 private:
  const TreeContext& context_;
};

// events/functions is there as long as the system has an event, as in the kernel.
DirectoryPtr make_functions(const TreeContext& context) {
  if (context.events.event_names().empty()) return nullptr;
  return std::make_unique<FunctionsDirectory>(context);
}

DirectoryPtr make_events(const TreeContext& context) {
  return make_table(Entries{
      {"enable", [&context] { return make_events_enable(context); }, {}},
      {"functions", {}, [&context] { return make_functions(context); }},
      {"header_event", [&context] { return make_header_event(context); }, {}},
      {"header_page", [&context] { return make_header_page(context); }, {}},
  });
}

// per_cpu: cpu0 … cpuN-1.
class PerCpuDirectory : public Directory {
 public:
  explicit PerCpuDirectory(const TreeContext& context) : context_(context) {}
  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (uint32_t cpu = 0; cpu < context_.buffer.rings()->nr_cpus; cpu++) {
      names.push_back("cpu" + std::to_string(cpu) + "/");
    }
    return names;
  }
  FilePtr file(std::string_view) override { return nullptr; }
  DirectoryPtr directory(std::string_view name) override {
    uint32_t cpu = 0;
    if (name.substr(0, 3) != "cpu" || !parse_cpu(name.substr(3), &cpu)) return nullptr;
    const TreeContext& context = context_;
    return make_table(Entries{{"stats", [&context, cpu] { return make_stats(context, cpu); }, {}}});
  }

 private:
  // Only the number as it is listed: no sign, no leading zero.
  bool parse_cpu(std::string_view text, uint32_t* cpu) const {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *cpu);
    return error == std::errc() && std::to_string(*cpu) == text &&
           *cpu < context_.buffer.rings()->nr_cpus;
  }
  const TreeContext& context_;
};

DirectoryPtr make_debug(const TreeContext& context) {
  return make_table(Entries{
      {"call_sites", [&context] { return make_call_sites(context); }, {}},
      {"counters", [&context] { return make_counters(context); }, {}},
      {"no_rseq_stats",
       [&context] { return make_stats(context, context.buffer.rings()->nr_cpus); },
       {}},
      {"refused_functions", [&context] { return make_refused_functions(context); }, {}},
      {"status", [&context] { return make_status(context); }, {}},
  });
}

}  // namespace

DirectoryPtr make_root(const TreeContext& context) {
  return make_table(Entries{
      {"README", [&context] { return make_readme(context); }, {}},
      {"available_events", [&context] { return make_available_events(context); }, {}},
      {"available_filter_functions",
       [&context] { return make_available_filter_functions(context); },
       {}},
      {"buffer_size_kb", [&context] { return make_buffer_size_kb(context); }, {}},
      {"buffer_total_size_kb", [&context] { return make_buffer_total_size_kb(context); }, {}},
      {"debug", {}, [&context] { return make_debug(context); }},
      {"events", {}, [&context] { return make_events(context); }},
      {"function_events", [&context] { return make_function_events(context); }, {}},
      {"per_cpu", {}, [&context] { return std::make_unique<PerCpuDirectory>(context); }},
      {"saved_cmdlines", [&context] { return make_saved_cmdlines(context); }, {}},
      {"set_event", [&context] { return make_set_event(context); }, {}},
      {"tracing_on", [&context] { return make_tracing_on(context); }, {}},
  });
}

}  // namespace patchbay::tracefs
