// SPDX-License-Identifier: MIT
//
// Files in every state in which a library may be found: with symbols, stripped, with a separate
// debug file, replaced, deleted, truncated. The libraries are built here, with the compiler at
// hand.
#include "symbol/elf_module.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/file_mapping.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = R"(
extern int printf(const char *, ...);
__attribute__((noinline, used)) static int hidden_worker(int a) { return a * VERSION + 3; }
int exported_entry(int a) { return hidden_worker(a) + 1; }
void *hidden_address(void) { return (void *)hidden_worker; }
int exported_data = VERSION;
int say(void) { return printf("hello\n"); }
__asm__(".text\n"
        ".globl asm_without_type\nasm_without_type:\n.cfi_startproc\nnop\nret\n.cfi_endproc\n"
        ".cfi_startproc\n.cfi_def_cfa_offset 32\nnop\nnop\nnop\nret\n.cfi_endproc\n"
        ".type pbfn.constprop.0, @function\npbfn.constprop.0:\nret\n.size pbfn.constprop.0, 1\n"
        ".type pbfn.cold, @function\npbfn.cold:\nret\n.size pbfn.cold, 1\n");
#ifdef AT
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
__asm__(".pushsection .debug_strange\n.org " TEXT(AT) "\n.weak of_no_code\n.hidden of_no_code\n"
        "of_no_code:\n.byte 0\n.popsection\n");
#endif
)";

class BuiltLibrary : public testing::Test {
 protected:
  void SetUp() override {
    if (run("gcc --version") || run("strip --version") || run("objcopy --version")) {
      GTEST_SKIP() << "gcc and binutils are needed to build the libraries of this test";
    }
    std::string pattern = (fs::temp_directory_path() / "patchbay-symbol-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = fs::canonical(pattern);
    std::ofstream(directory_ / "source.c") << kSource;
  }
  void TearDown() override {
    if (handle_) dlclose(handle_);
    std::error_code ignored;
    if (!directory_.empty()) fs::remove_all(directory_, ignored);
  }

  static int run(const std::string& command) {
    int status = std::system((command + " >/dev/null 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string path(const std::string& name) { return (directory_ / name).string(); }
  void build(const std::string& name, const std::string& options = "-DVERSION=5 -Wl,--build-id") {
    ASSERT_EQ(run("gcc -O1 -g -fPIC -shared -fasynchronous-unwind-tables " + options + " -o " +
                  path(name) + " " + path("source.c")),
              0);
  }
  void load(const std::string& name) {
    handle_ = dlopen(path(name).c_str(), RTLD_NOW);
    ASSERT_NE(handle_, nullptr) << dlerror();
    auto address = reinterpret_cast<uint64_t (*)()>(dlsym(handle_, "hidden_address"));
    worker_ = address();
    entry_ = uint64_t(dlsym(handle_, "exported_entry"));
  }
  Module* find(SymbolTable& table, const std::string& name) {
    for (Module* module : table.modules()) {
      if (module->name() == name) return module;
    }
    return nullptr;
  }
  static std::string at(const Module& module, uint64_t address) {
    char text[300];
    snprintf(text, sizeof text, "%s@0x%lx", module.name().c_str(),
             static_cast<unsigned long>(address - module.bias()));
    return text;
  }
  std::set<uint64_t> function_addresses(const std::string& name) {
    Result<FileMapping> file = FileMapping::open(path(name));
    Result<ElfImage> image = ElfImage::from_file(file->bytes());
    std::set<uint64_t> addresses;
    for (const FunctionSymbol& function : load_functions({&*image, nullptr, true, 0})) {
      addresses.insert(function.address);
      for (const ElfSection& section : image->sections()) {
        if (!section.name.starts_with(".plt")) continue;
        EXPECT_GE(function.address - section.address, section.size) << "a PLT stub is no function";
      }
    }
    return addresses;
  }
  std::map<std::string, uint64_t> functions_of(const std::string& name) {
    Result<FileMapping> file = FileMapping::open(path(name));
    Result<ElfImage> image = ElfImage::from_file(file->bytes());
    std::map<std::string, uint64_t> functions;
    for (const FunctionSymbol& function : load_functions({&*image, nullptr, true, 0}))
      functions.emplace(function.name, function.address);
    return functions;
  }
  // The address that a name resolves to; 0 when it does not, or to several.
  static uint64_t resolve(SymbolTable& table, const std::string& name) {
    auto result = table.resolve(name);
    return result.ok() && result->size() == 1 ? result->front().symbol.address : 0;
  }
  static SymbolSource source_of(SymbolTable& table, const std::string& name) {
    auto result = table.resolve(name);
    return result.ok() ? result->front().symbol.source : SymbolSource::kEhFrame;
  }

  fs::path directory_;
  void* handle_ = nullptr;
  uint64_t worker_ = 0, entry_ = 0;
};

TEST_F(BuiltLibrary, StaticFunctionsOfAFileAndStubsOfCalls) {
  std::ofstream(directory_ / "other-2.c")
      << "__attribute__((noinline, used)) static int hidden_worker(int a) { return a * 9; }\n"
         "int other_entry(int a) { return hidden_worker(a); }\n";
  build("libpbfix.so", "-DVERSION=5 " + path("other-2.c"));
  load("libpbfix.so");
  auto table = make_self_symbol_table();
  auto both = table->resolve("hidden_worker");
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->size(), 2u);
  EXPECT_EQ(resolve(*table, "hidden_worker@source.c"), worker_);
  EXPECT_EQ(resolve(*table, "libpbfix:hidden_worker@some/dir/source.c"), worker_);
  const uint64_t other = resolve(*table, "hidden_worker@other-2.c");
  EXPECT_NE(other, 0u);
  EXPECT_NE(other, worker_);
  EXPECT_EQ(resolve(*table, "hidden_worker@ource.c"), 0u);
  EXPECT_EQ(resolve(*table, "exported_entry@source.c"), 0u) << "no file says whose it is";
  auto* module = static_cast<ElfModule*>(find(*table, "libpbfix.so"));
  ASSERT_NE(module, nullptr);
  std::set<std::string> files;
  for (const ResolvedFunction& one : *both) files.emplace(module->file_of(one.symbol));
  EXPECT_EQ(files, (std::set<std::string>{"other-2.c", "source.c"}));
  const uint64_t stub = resolve(*table, "libpbfix:printf@plt");
  ASSERT_NE(stub, 0u);
  SymbolizedAddress where;
  ASSERT_TRUE(table->symbolize(stub + 1, &where));
  EXPECT_EQ(where.name, "printf@plt");
  EXPECT_EQ(where.start, stub);
  EXPECT_EQ(resolve(*table, "libpbfix:scanf@plt"), 0u);
}

// As link time optimization of gcc's leaves them in .debug_info: what they have is no address.
TEST_F(BuiltLibrary, LabelsOfSectionsThatAreNotLoadedAreNoFunctions) {
  build("plain.so");
  const uint64_t worker = functions_of("plain.so")["hidden_worker"];
  ASSERT_NE(worker, 0u);
  build("labelled.so", "-DVERSION=5 -DAT=" + std::to_string(worker));
  const std::map<std::string, uint64_t> functions = functions_of("labelled.so");
  EXPECT_EQ(functions.at("hidden_worker"), worker);
  EXPECT_FALSE(functions.contains("of_no_code"));
}

TEST_F(BuiltLibrary, WithSymbols) {
  build("libpbfix.so");
  auto table = make_self_symbol_table();
  EXPECT_FALSE(table->refresh());
  load("libpbfix.so");
  EXPECT_TRUE(table->refresh());
  EXPECT_FALSE(table->refresh());
  EXPECT_EQ(resolve(*table, "hidden_worker"), worker_);
  EXPECT_EQ(resolve(*table, "libpbfix:exported_entry"), entry_);
  EXPECT_EQ(source_of(*table, "hidden_worker"), SymbolSource::kSymtab);
  EXPECT_NE(resolve(*table, "asm_without_type"), 0u);
  EXPECT_NE(resolve(*table, "pbfn"), 0u) << "only a clone is left of it";
  EXPECT_EQ(resolve(*table, "pbfn"), resolve(*table, "pbfn.constprop.0"));
  EXPECT_EQ(resolve(*table, "pbfn.cold"), 0u);
  EXPECT_EQ(table->resolve("pbfn.cold").error().message(),
            "\"pbfn.cold\" in libpbfix.so is code that nobody calls, not a function");
  Module* module = find(*table, "libpbfix.so");
  ASSERT_NE(module, nullptr);
  // The part in front of the clone has no name, and a frame that no entry has.
  uint64_t part = resolve(*table, "pbfn") - 4;
  auto is_it = [&](const FunctionSymbol& f) { return f.address == part && f.is_cold_part; };
  const auto& all = module->functions();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), is_it));
  EXPECT_EQ(module->path(), path("libpbfix.so"));
  EXPECT_EQ(module->build_id().size(), 40u);
  std::string data = table->resolve("exported_data").error().message();
  EXPECT_EQ(data, "\"exported_data\" in libpbfix.so is not a function but data");
  for (const FunctionSymbol& function : module->functions()) {
    EXPECT_FALSE(function.name.starts_with("printf")) << "a PLT stub is no function";
    EXPECT_FALSE(function.name.empty() && function.source != SymbolSource::kEhFrame);
  }
  dlclose(handle_);
  handle_ = nullptr;
  EXPECT_TRUE(table->refresh());
  EXPECT_EQ(resolve(*table, "hidden_worker"), 0u);
  EXPECT_EQ(module->name(), "libpbfix.so") << "an unloaded module's object stays";
}

TEST_F(BuiltLibrary, StrippedFunctionsGoByOffset) {
  build("libpbstripped.so");
  std::set<uint64_t> with_symbols = function_addresses("libpbstripped.so");
  ASSERT_EQ(run("strip " + path("libpbstripped.so")), 0);
  std::set<uint64_t> without = function_addresses("libpbstripped.so");
  EXPECT_GE(without.size(), 5u);
  EXPECT_TRUE(
      std::includes(with_symbols.begin(), with_symbols.end(), without.begin(), without.end()))
      << "PLT stubs must not appear as nameless functions";
  load("libpbstripped.so");
  auto table = make_self_symbol_table();
  Module* module = find(*table, "libpbstripped.so");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(resolve(*table, "hidden_worker"), 0u);
  EXPECT_EQ(resolve(*table, "exported_entry"), entry_);
  EXPECT_EQ(resolve(*table, at(*module, worker_)), worker_);
  EXPECT_EQ(source_of(*table, at(*module, worker_)), SymbolSource::kEhFrame);
  EXPECT_EQ(resolve(*table, at(*module, worker_ + 1)), 0u);
  SymbolizedAddress where;
  ASSERT_TRUE(table->symbolize(worker_ + 1, &where));
  EXPECT_EQ(where.name, at(*module, worker_));
  EXPECT_EQ(where.offset, 1u);
  EXPECT_GT(where.size, 1u);
}

TEST_F(BuiltLibrary, DebugLinkIsFollowedAndChecked) {
  for (bool with_build_id : {true, false}) {
    SCOPED_TRACE(with_build_id);
    std::string name = with_build_id ? "libpblink1.so" : "libpblink2.so";
    std::string id = with_build_id ? " -Wl,--build-id" : " -Wl,--build-id=none";
    build(name, "-DVERSION=5" + id);
    std::string library = path(name), debug = path(name + ".debug");
    ASSERT_EQ(run("objcopy --only-keep-debug " + library + " " + debug), 0);
    ASSERT_EQ(run("strip " + library), 0);
    ASSERT_EQ(run("cd " + directory_.string() + " && objcopy --add-gnu-debuglink=" + name +
                  ".debug " + name),
              0);
    load(name);
    auto table = make_self_symbol_table();
    EXPECT_EQ(resolve(*table, "hidden_worker"), worker_);
    EXPECT_EQ(source_of(*table, "hidden_worker"), SymbolSource::kDebugFile);
    ASSERT_EQ(run("mkdir -p " + path(".debug") + " && mv " + debug + " " + path(".debug")), 0);
    EXPECT_EQ(resolve(*make_self_symbol_table(), "hidden_worker"), worker_);
    // Another build's debug file has other addresses in it; it must not be believed.
    build("other.so", "-DVERSION=77" + id);
    ASSERT_EQ(run("objcopy --only-keep-debug " + path("other.so") + " " +
                  path(".debug/" + name + ".debug")),
              0);
    EXPECT_EQ(resolve(*make_self_symbol_table(), "hidden_worker"), 0u);
    dlclose(handle_);
    handle_ = nullptr;
  }
}

TEST_F(BuiltLibrary, ReplacedOrDeletedFileIsNotBelieved) {
  for (bool with_build_id : {true, false}) {
    SCOPED_TRACE(with_build_id);
    std::string name = with_build_id ? "libpbold1.so" : "libpbold2.so";
    std::string id = with_build_id ? " -Wl,--build-id" : " -Wl,--build-id=none";
    build(name, "-DVERSION=5" + id);
    load(name);
    build("new.so", "-DVERSION=7777777 -O3 -DMORE='\"x\"' -Wl,-z,max-page-size=65536" + id);
    fs::rename(path("new.so"), path(name));
    auto table = make_self_symbol_table();
    EXPECT_EQ(resolve(*table, "exported_entry"), entry_) << "from memory";
    EXPECT_EQ(resolve(*table, "hidden_worker"), 0u);
    EXPECT_EQ(table->address_of("exported_data"), uint64_t(dlsym(handle_, "exported_data")));
    fs::remove(path(name));
    table = make_self_symbol_table();
    EXPECT_EQ(resolve(*table, "exported_entry"), entry_);
    Module* module = find(*table, name);
    ASSERT_NE(module, nullptr) << "the name of a deleted file";
    EXPECT_EQ(resolve(*table, at(*module, worker_)), worker_)
        << "the unwind table is in memory too";
    EXPECT_EQ(module->original_code(entry_, 4).size(), 4u);
    table->drop_caches();
    EXPECT_EQ(resolve(*table, at(*module, worker_)), worker_);
    dlclose(handle_);
    handle_ = nullptr;
  }
}

TEST_F(BuiltLibrary, RecordedModulesNeedTheSameBuildId) {
  build("libpbrec.so");
  load("libpbrec.so");
  auto self = make_self_symbol_table();
  Module* module = find(*self, "libpbrec.so");
  ASSERT_NE(module, nullptr);
  RecordedModule recorded{module->start(), module->end(), module->bias(), module->build_id(),
                          module->path()};
  auto table = make_recorded_symbol_table({recorded});
  EXPECT_EQ(resolve(*table, "hidden_worker"), worker_);
  SymbolizedAddress where;
  ASSERT_TRUE(table->symbolize(worker_, &where));
  EXPECT_EQ(where.name, "hidden_worker");
  EXPECT_EQ(table->modules()[0]->text_ranges(), module->text_ranges());
  recorded.build_id[0] = recorded.build_id[0] == '0' ? '1' : '0';
  table = make_recorded_symbol_table({recorded});
  EXPECT_EQ(resolve(*table, "hidden_worker"), 0u);
  EXPECT_FALSE(table->symbolize(worker_, &where));
  EXPECT_TRUE(table->modules()[0]->original_code(worker_, 4).empty());
}

TEST(ElfImage, NeededLibraries) {
  Result<FileMapping> bytes = FileMapping::open("/proc/self/exe");
  ASSERT_TRUE(bytes.ok());
  Result<ElfImage> image = ElfImage::from_file(bytes->bytes());
  ASSERT_TRUE(image.ok());
  const std::vector<std::string> needed = image->needed_libraries();
  EXPECT_NE(std::find(needed.begin(), needed.end(), "libc.so.6"), needed.end());
}

// Every kind of damage ends in fewer symbols, never in a crash (under the sanitizers as well).
TEST_F(BuiltLibrary, TruncatedAndDamagedFiles) {
  build("libpbcut.so");
  std::ifstream file(path("libpbcut.so"), std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(file)), {});
  ASSERT_GT(whole.size(), 4096u);
  auto count_in = [](std::string bytes) -> size_t {
    Bytes view(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    Result<ElfImage> image = ElfImage::from_file(view);
    if (!image.ok()) return 0;
    image->build_id();
    image->soname();
    image->needed_libraries();
    return load_functions({&*image, &*image, true, 0}).size();
  };
  size_t all = count_in(whole);
  EXPECT_GT(all, 5u);
  for (size_t length = 0; length < whole.size(); length += length < 4096 ? 1 : 97) {
    EXPECT_LE(count_in(whole.substr(0, length)), all);
  }
  unsigned random = 1;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (int change = 0; change < 4; ++change) {
      random = random * 1103515245 + 12345;
      size_t limit = change < 2 ? 1024 : damaged.size();  // the headers are the tender part
      damaged[(random >> 8) % limit] = char(random >> 24);
    }
    count_in(damaged);
  }
}

TEST(ElfImage, RefusesWhatIsNotElf) {
  const uint8_t text[] = "#!/bin/sh\necho hello, this is a script and not an ELF file at all......";
  EXPECT_FALSE(ElfImage::from_file(text).ok());
  EXPECT_FALSE(ElfImage::from_file({}).ok());
  uint8_t header[64] = {0x7f, 'E', 'L', 'F', 1 /* 32-bit */, 1, 1};
  EXPECT_EQ(ElfImage::from_file(header).error().message(), "not an ELF file for x86-64");
}

TEST(BuildId, OfNotes) {
  const uint8_t notes[] = {
      4, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 'G', 'N', 'U', 0, 9,    9,    9, 9,  // another note
      4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 1, 0   // the build-id
  };
  EXPECT_EQ(build_id_of_notes(notes, 4), "abcd01");
  EXPECT_EQ(build_id_of_notes(Bytes(notes).first(30), 4), "");
  const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                          3,    0,    0,    0,    'G',  'N',  'U',  0};
  EXPECT_EQ(build_id_of_notes(huge, 4), "");
}

}  // namespace
// What was there and comes back is the same Module; what may have come back unseen is another.
TEST_F(BuiltLibrary, ComesAndGoes) {
  build("again.so");
  std::unique_ptr<SymbolTable> table = make_self_symbol_table();
  std::vector<std::string> unloaded;
  table->set_unload_hook([&](const Module& module) { unloaded.push_back(module.name()); });
  load("again.so");
  EXPECT_TRUE(table->refresh());
  const uint64_t changes = table->changes();
  EXPECT_FALSE(table->refresh());
  EXPECT_EQ(table->changes(), changes);
  Module* const first = find(*table, "again.so");
  ASSERT_NE(first, nullptr);
  const uint64_t entry = entry_;
  SymbolizedAddress name;
  ASSERT_TRUE(table->symbolize(entry, &name));  // opens files, which would take the free place
  const uint64_t variable = uint64_t(dlsym(handle_, "exported_data"));
  ASSERT_TRUE(table->symbolize(variable, &name));
  EXPECT_EQ(name.name, "exported_data");
  dlclose(handle_);
  EXPECT_TRUE(table->refresh());
  EXPECT_EQ(find(*table, "again.so"), nullptr);
  EXPECT_EQ(unloaded, std::vector<std::string>{"again.so"});
  EXPECT_TRUE(table->symbolize(entry, &name)) << "what is gone keeps its names";
  EXPECT_EQ(name.name, "exported_entry");
  EXPECT_FALSE(table->symbolize(variable, &name)) << "other memory may be there now";
  load("again.so");
  if (entry_ != entry) GTEST_SKIP() << "loaded to another address";
  EXPECT_TRUE(table->refresh());
  EXPECT_EQ(find(*table, "again.so"), first);
  dlclose(handle_);
  load("again.so");
  EXPECT_TRUE(table->refresh()) << "went and came between two looks";
  Module* const other = find(*table, "again.so");
  EXPECT_NE(other, nullptr);
  EXPECT_NE(other, first);
  EXPECT_EQ(unloaded.size(), 1u) << "it may be there all the time";
  dlclose(handle_);
  handle_ = nullptr;
  table->refresh();
  build("again.so", "-DVERSION=6 -Wl,--build-id");
  load("again.so");
  EXPECT_TRUE(table->refresh());
  EXPECT_NE(find(*table, "again.so"), first) << "another file of this name";
  EXPECT_NE(find(*table, "again.so"), other);
  EXPECT_TRUE(table->symbolize(entry_, &name));
  dlclose(handle_);
  handle_ = nullptr;
  table->refresh();
  // Cut short, as by cp of another one over it: who looks at it later must not fault.
  ASSERT_EQ(truncate(path("again.so").c_str(), 100), 0);
  EXPECT_TRUE(table->symbolize(entry_, &name));
}

}  // namespace patchbay
