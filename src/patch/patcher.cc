// SPDX-License-Identifier: MIT
//
// The transaction of docs/text_poke.md:
//
//   place  ->  verify  ->  int3 at every instruction start, sync  ->  wait for threads to leave
//          ->  tails, sync  ->  heads, sync
//
// Each phase changes an image of the touched text and writes it in spans of neighbouring pages, so
// that 50,000 sites cost a few hundred system calls.

#include "patch/patcher.h"

#include <fcntl.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "arch/x86_64/text_memory.h"
#include "base/check.h"
#include "base/raw_syscall.h"
#include "base/text.h"
#include "patch/site_layout.h"
#include "patch/site_planner.h"
#include "patch/site_table.h"
#include "patch/stub_pool.h"
#include "patch/thread_watch.h"
#include "patch/trap_gate.h"

namespace patchbay {
namespace {

// Whether some process traces this one.
bool is_traced() {
  char text[1024];
  const long fd =
      raw_syscall(SYS_openat, AT_FDCWD, raw_pointer("/proc/self/status"), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  const long n = raw_syscall(SYS_read, fd, raw_pointer(text), long(sizeof text - 1));
  raw_syscall(SYS_close, fd);
  text[n > 0 ? n : 0] = 0;
  const char* line = std::strstr(text, "\nTracerPid:");
  return line && std::strtol(line + 11, nullptr, 10) != 0;
}
constexpr uint64_t kWaitLimitUs = 50000;
// In libc no guard may stay behind, and nobody may be where a trap kills (trap_gate.h).
constexpr uint64_t kLibcWaitLimitUs = 1000000;
constexpr uint64_t kPage = 4096;

uint64_t first_byte(const Site& site) {
  return site.kind == SiteKind::kShortJump ? site.room : site.address;
}
uint64_t last_byte(const Site& site) {
  return site.address + std::max<uint64_t>(site.displaced, 1);
}

// The finished bytes of a site that runs through `stub`.
void patched_bytes(const Site& site, const StubRecord& stub, uint8_t head[kJumpSize],
                   uint8_t padding[kJumpSize]) {
  if (stub.is_key()) {
    PB_CHECK(encode_jump(site.address, stub.address, head));
  } else if (site.single || site.kind == SiteKind::kTrap || site.kind == SiteKind::kProbeTrap) {
    head[0] = site.guard;
  } else if (site.kind == SiteKind::kShortJump) {
    head[0] = 0xeb;
    head[1] = static_cast<uint8_t>(site.room - (site.address + kShortJumpSize));
    PB_CHECK(encode_jump(site.room, stub.address, padding));
  } else {
    PB_CHECK(encode_jump(site.address, stub.address, head));
  }
}

// What a site's bytes become: those of `stub`, or without one the file's.
struct NewText {
  NewText(const Site& site, const StubRecord* stub) {
    std::memcpy(bytes, site.original, kMaxDisplaced);
    std::memcpy(padding, site.padding, kJumpSize);
    if (stub) patched_bytes(site, *stub, bytes, padding);
  }
  uint8_t bytes[kMaxDisplaced], padding[kJumpSize];
};

// An image of the text around the sites of one transaction.
// Nothing may be written where an object was, since a moment ago, and something else is now. The
// dynamic linker unmaps objects under a lock that dl_iterate_phdr() holds too, so under it either
// nothing has gone since the image was read, or each span is looked for in what is still there.
// Nothing in there allocates: the program's malloc may wait for the same lock.
class TextImage {
 public:
  // `sites` sorted by address. Sites whose text cannot be read get no bytes.
  void read(const std::vector<Site*>& sites, TextMemory& memory);
  // The image's byte at `address`, which lies in a site's range; null when it could not be read.
  uint8_t* at(uint64_t address);
  bool write(TextMemory& memory);

 private:
  struct Span {
    uint64_t first, last;
    size_t offset;
    bool good;
    bool is_there = true;
  };
  struct Pass {
    TextImage* image;
    TextMemory* memory;
    bool good = true;
    bool any_gone = false;
  };
  static int note_unloads(dl_phdr_info* info, size_t, void* image);
  static int write_object(dl_phdr_info* info, size_t, void* pass);
  void write_span(Span* span, Pass* pass);
  std::vector<Span> spans_;
  std::vector<uint8_t> bytes_;
  size_t last_ = 0;
  unsigned long long unloads_ = 0;  // when it was read
};

int TextImage::note_unloads(dl_phdr_info* info, size_t, void* image) {
  static_cast<TextImage*>(image)->unloads_ = info->dlpi_subs;
  return 1;
}

void TextImage::read(const std::vector<Site*>& sites, TextMemory& memory) {
  for (const Site* site : sites) {
    const uint64_t first = first_byte(*site), last = last_byte(*site);
    if (!spans_.empty() && first < (spans_.back().last & ~(kPage - 1)) + 2 * kPage) {
      spans_.back().last = std::max(spans_.back().last, last);
    } else {
      spans_.push_back({first, last, 0, false});
    }
  }
  size_t total = 0;
  for (Span& span : spans_) {
    span.offset = total;
    total += span.last - span.first;
  }
  bytes_.resize(total);
  dl_iterate_phdr(note_unloads, this);
  for (Span& span : spans_) {
    span.good = memory.read(span.first, bytes_.data() + span.offset, span.last - span.first);
  }
}

uint8_t* TextImage::at(uint64_t address) {
  if (last_ >= spans_.size() || address < spans_[last_].first || address >= spans_[last_].last) {
    auto behind = std::upper_bound(spans_.begin(), spans_.end(), address,
                                   [](uint64_t a, const Span& span) { return a < span.first; });
    PB_CHECK_VALUES(behind != spans_.begin(), address, spans_.size());
    last_ = static_cast<size_t>(behind - spans_.begin()) - 1;
  }
  const Span& span = spans_[last_];
  return span.good ? bytes_.data() + span.offset + (address - span.first) : nullptr;
}

void TextImage::write_span(Span* span, Pass* pass) {
  if (!span->good) return;
  const uint8_t* bytes = bytes_.data() + span->offset;
  if (!pass->memory->write(span->first, bytes, span->last - span->first))
    span->good = pass->good = false;
}

int TextImage::write_object(dl_phdr_info* info, size_t, void* data) {
  Pass* pass = static_cast<Pass*>(data);
  TextImage* image = pass->image;
  if (info->dlpi_subs == image->unloads_) {
    for (Span& span : image->spans_) image->write_span(&span, pass);
    return 1;
  }
  if (!pass->any_gone)
    for (Span& span : image->spans_) span.is_there = false;
  pass->any_gone = true;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const Elf64_Phdr& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t start = info->dlpi_addr + segment.p_vaddr, end = start + segment.p_memsz;
    for (Span& span : image->spans_) {
      if (span.first < start || span.last > end) continue;
      span.is_there = true;
      image->write_span(&span, pass);
    }
  }
  return 0;
}

bool TextImage::write(TextMemory& memory) {
  Pass pass{this, &memory};
  dl_iterate_phdr(write_object, &pass);
  for (Span& span : spans_) {
    if (span.is_there) continue;
    span.good = pass.good = false;
  }
  return pass.good;
}

class LivePatcher : public Patcher {
 public:
  SitePlan plan(Module& module, const FunctionSymbol& function) override {
    return planner_.plan(module, function);
  }
  void set_stand_ins(std::vector<StandIn> list) override {
    planner_.set_stand_ins(std::move(list));
  }
  void set_optimization(bool on) override { planner_.set_optimization(on); }
  bool optimization() const override { return planner_.optimization(); }
  const char* return_refusal(Module& module, const FunctionSymbol& function) override {
    return planner_.return_refusal(module, function);
  }
  Result<EntryHook> make_hook(Module& module, const FunctionSymbol& function,
                              uint64_t target) override;
  Status write_hook(Module& module, const FunctionSymbol& function, uint64_t target) override;
  SitePlan plan_key(uint64_t address, uint64_t target) override {
    return patchbay::plan_key(address, target);
  }
  SitePlan plan_insn(Module& module, uint64_t address) override {
    return planner_.plan_insn(module, address);
  }
  SiteKind active_kind(uint64_t patch_address) const override;
  Result<PatchReport> apply(std::span<const SiteChange> changes, bool single_threaded) override;
  uint64_t patched_sites() const override { return patched_; }
  uint64_t finish_pending() override {
    if (!pending_.empty()) (void)apply({}, false);
    return pending_.size();
  }
  std::vector<uint64_t> unmapped(uint64_t start, uint64_t end) override;
  void set_unused(std::vector<std::pair<uint64_t, uint64_t>> ranges) override {
    unused_ = std::move(ranges);
  }
  void drop_caches() override;
  uint64_t follow_tracer() override;

 private:
  // A site whose text changes.
  struct Work {
    Site* site;
    StubRecord* stub = nullptr;  // null: restore
    Site* absorbed_by = nullptr;
    bool changed = false;        // another stub than now; else only what is pending
    bool needs_wait = false;     // some thread may stand in bytes that change
    bool stays_guarded = false;  // it could not be proven that none does
  };
  // A site that a change names. Of several changes of one site the last one counts.
  struct Touched {
    Site* site;
    size_t change;
  };

  void note_change(const SiteChange& change, size_t index, PatchReport* report);
  void collect(std::span<const SiteChange> changes, PatchReport* report);
  void place(const SiteChange& change, Touched* touched, PatchReport* report);
  void add_work(Site* site, bool changed, Site* absorbed_by = nullptr);
  void verify_all(std::span<const SiteChange> changes, PatchReport* report);
  bool recover(const Work& work, std::span<const SiteChange> changes);
  StubRecord* make_stub(Site* site, std::string* reason);
  void build_stubs(PatchReport* report);
  void publish_traps();
  void write_absorbed(TextMemory& memory);
  void write_guards();
  void write_tails();
  void write_heads();
  bool writes_in_libc() const;
  void wait_for_threads(uint64_t limit_us, PatchReport* report);
  void run_phases(bool single_threaded, TextMemory& memory, PatchReport* report);
  void drop_unwritable(PatchReport* report);
  void settle();
  void settle_work(const Work& work);
  void commit(Site* site);
  void refuse_change(const Touched& touched, std::string reason, PatchReport* report);
  void refuse(const Work& work, const std::string& reason, PatchReport* report);
  void forget(Site* site);
  void drop_refused();
  bool nobody_is_there() const;

  SitePlanner planner_;
  uint8_t guard_ = kTrapInt3;  // of this transaction
  bool tracer_is_known_ = false;
  StubPool stubs_;
  std::vector<std::unique_ptr<Site>> hooked_;  // of make_hook(): in no table
  std::vector<Touched> touched_;
  std::vector<Site*> moved_;  // sites that get another host without being named by a change
  std::vector<Work> work_;    // of the running transaction, sorted by address
  std::vector<Site*> pending_;
  TextImage image_;
  std::vector<std::pair<uint64_t, uint64_t>> unused_;
  uint64_t patched_ = 0;
};

Site* owner_of(Site* site) { return site->next_host ? site->next_host : site; }

void describe_site(const SitePlan& plan, Site* site) {
  const bool same_bytes =
      site->displaced && std::memcmp(plan.original.data(), site->original,
                                     std::min<size_t>(plan.displaced, site->displaced)) == 0;
  site->entry = plan.entry;
  site->kind = plan.kind;
  site->single = false;
  site->no_trap = plan.no_trap;
  site->displaced = static_cast<uint8_t>(plan.displaced);
  site->boundary_count = plan.boundary_count;
  site->runs_anywhere = plan.runs_anywhere;
  std::copy_n(plan.boundary.begin(), kMaxBoundaries, site->boundary);
  std::copy_n(plan.original.begin(), kMaxDisplaced, site->original);
  std::copy_n(plan.padding.begin(), kJumpSize, site->padding);
  if (!same_bytes) site->stubs = nullptr;  // other code: nobody comes out of them any more
  if (plan.kind != SiteKind::kShortJump) return;
  site->room = plan.target;
  if (!site_find(site->room)) site_set_alias(site, site->room);
}

bool same_code(const SitePlan& plan, const Site& site) {
  return site.boundary_count != 0 && plan.kind == site.kind && plan.displaced == site.displaced &&
         std::memcmp(plan.original.data(), site.original, plan.displaced) == 0;
}

bool is_key_nop(const uint8_t* original, uint64_t displaced, uint8_t boundary_count) {
  return displaced == kJumpSize && boundary_count == 1 &&
         std::memcmp(original, "\x0f\x1f\x44\x00\x00", kJumpSize) == 0;
}

// A static event's nop can also be an instruction that has a probe, the first one of a function
// most often: then both have the place (site_table.h). Empty: the change may go on.
std::string taken(const SitePlan& plan, const Site& site) {
  if (site.address != plan.patch_address) return "a function's jump uses these unused bytes";
  const bool both = plan.kind == SiteKind::kKey ? site.next_probe : site.next_key;
  if (!both) return {};
  if (is_key_nop(plan.original.data(), plan.displaced, plan.boundary_count) &&
      is_key_nop(site.original, site.displaced, site.boundary_count))
    return {};
  return "a static event and a probe do not agree about the instruction there";
}

// A probe comes to a place that is only a key so far, or goes from one that is one still.
void take_kind(const SitePlan& plan, Site* site) {
  site->kind = plan.kind;
  site->entry = plan.entry;
  site->no_trap = plan.no_trap;
}
void settle_kind(Site* site) {
  if (site->key && !site->probe) site->kind = SiteKind::kKey;
}

void LivePatcher::refuse_change(const Touched& touched, std::string reason, PatchReport* report) {
  Site* site = touched.site;
  site->next_on = site->on;
  site->next_probe = site->probe;
  site->next_key = site->key;
  site->next_prologue = nullptr;
  settle_kind(site);
  if (!site->on) site->next_host = nullptr;
  report->applied--;
  report->refused++;
  report->refusals.emplace_back(touched.change, std::move(reason));
}

// Nothing changes for the sites that run in this stub, and those that were to move there.
void LivePatcher::refuse(const Work& work, const std::string& reason, PatchReport* report) {
  Site* site = work.site;
  site->in_transaction = false;
  if (site->state == SiteState::kPending || site->state == SiteState::kLeaving)
    pending_.push_back(site);
  for (const Touched& touched : touched_) {
    if (touched.site->touched && owner_of(touched.site) == site) {
      touched.site->touched = false;
      refuse_change(touched, reason, report);
    }
  }
  for (Site* moved : moved_) {
    if (moved->next_host == site) moved->next_host = moved->host;
  }
  for (Work& other : work_) {
    if (other.absorbed_by != site) continue;
    other.site->in_transaction = false;
    other.site->next_host = nullptr;
    other.site->next_text = true;
  }
  site->next_text = site->state != SiteState::kOriginal;
}

void LivePatcher::drop_refused() {
  std::erase_if(work_, [](const Work& work) { return !work.site->in_transaction; });
  std::erase_if(touched_, [](const Touched& touched) { return !touched.site->touched; });
}

void LivePatcher::note_change(const SiteChange& change, size_t index, PatchReport* report) {
  const SitePlan& plan = change.plan;
  if (plan.kind == SiteKind::kRefused || plan.boundary_count == 0) {
    report->refused++;
    report->refusals.emplace_back(
        index, plan.reason.empty() ? "refused when it was planned" : plan.reason);
    return;
  }
  report->applied++;
  const bool on = static_cast<bool>(change.prologue);
  Site* site = on ? site_find_or_add(plan.patch_address) : site_find(plan.patch_address);
  if (!site) return;  // never patched: nothing to restore
  if (std::string reason = taken(plan, *site); !reason.empty()) {
    report->applied--;
    report->refused++;
    report->refusals.emplace_back(index, hex_number(plan.patch_address) + ": " + reason);
    return;
  }
  if (!on && !site->on && !site->touched) return;
  if (plan.kind == SiteKind::kKey) {
    site->next_key = on;
    site->target = plan.target;
  } else {
    site->next_probe = on;
    site->next_prologue = on ? &change.prologue : nullptr;
    const bool has_place = site->next_text || site->next_host;
    if (on && has_place && site->kind == SiteKind::kKey) take_kind(plan, site);
  }
  site->next_on = site->next_probe || site->next_key;
  if (site->touched) {
    auto same = std::find_if(touched_.begin(), touched_.end(),
                             [site](const Touched& touched) { return touched.site == site; });
    same->change = index;
    return;
  }
  site->touched = true;
  touched_.push_back({site, index});
}

void LivePatcher::add_work(Site* site, bool changed, Site* absorbed_by) {
  if (!site->in_transaction) {
    site->in_transaction = true;
    work_.push_back({site, nullptr, absorbed_by, changed});
    return;
  }
  if (!changed) return;
  auto same = std::find_if(work_.rbegin(), work_.rend(),
                           [site](const Work& work) { return work.site == site; });
  same->changed = true;
  if (absorbed_by) same->absorbed_by = absorbed_by;
}

// Gives a site that is to be switched on its text or its host.
void LivePatcher::place(const SiteChange& change, Touched* touched, PatchReport* report) {
  Site* site = touched->site;
  if (!same_code(change.plan, *site)) describe_site(change.plan, site);
  site->single = false;
  Placement placement = place_site(*site);
  if (placement.refusal) {
    std::string reason = hex_number(site->address) + ": " + placement.refusal;
    if (site->no_trap) reason += std::string("; ") + site->no_trap;
    site->touched = false;
    refuse_change(*touched, std::move(reason), report);
    return;
  }
  site->next_host = placement.host;
  site->next_text = !placement.host;
  if (placement.host && !placement.host->next_text) {  // one that is off
    placement.host->single = false;
    placement.host->next_text = true;
  }
  site->single = !placement.host && placement.single && site->kind != SiteKind::kKey;
  for (Site* absorbed : placement.absorbs) {
    if (absorbed->next_text) add_work(absorbed, true, site);
    absorbed->next_text = false;
    absorbed->next_host = site;
    moved_.push_back(absorbed);
  }
}

// They mostly come in order.
template <typename List>
void sort_by_address(List* list) {
  const auto is_before = [](const auto& a, const auto& b) {
    return a.site->address < b.site->address;
  };
  if (!std::is_sorted(list->begin(), list->end(), is_before))
    std::sort(list->begin(), list->end(), is_before);
}

// Which sites have something to do.
void LivePatcher::collect(std::span<const SiteChange> changes, PatchReport* report) {
  work_.clear();
  touched_.clear();
  moved_.clear();
  touched_.reserve(changes.size());
  work_.reserve(changes.size() + pending_.size());
  for (size_t i = 0; i < changes.size(); i++) {
    constexpr size_t kAhead = 8;
    if (i + kAhead < changes.size()) site_fetch_ahead(changes[i + kAhead].plan.patch_address);
    note_change(changes[i], i, report);
  }
  sort_by_address(&touched_);
  for (Touched& touched : touched_) {
    Site* site = touched.site;
    if (site->next_on && !site->next_text && !site->next_host)
      place(changes[touched.change], &touched, report);
  }
  drop_refused();
  for (const Touched& touched : touched_) {
    Site* owner = owner_of(touched.site);
    if (owner->next_text) add_work(owner, true);
  }
  if (unused_.empty()) {
    for (Site* site : pending_) add_work(site, false);
    pending_.clear();
  }
  sort_by_address(&work_);
}

// What must stand at the site now: the file's bytes, or what we left there.
void own_bytes(const Site& site, uint8_t bytes[kMaxDisplaced], uint8_t padding[kJumpSize]) {
  std::memcpy(bytes, site.original, kMaxDisplaced);
  std::memcpy(padding, site.padding, kJumpSize);
  if (site.state == SiteState::kPatched || site.state == SiteState::kLeaving) {
    patched_bytes(site, *site.current, bytes, padding);
  }
  if (site.state == SiteState::kLeaving) bytes[0] = padding[0] = site.guard;
  if (site.state != SiteState::kPending) return;
  for (uint8_t i = 0; i < site_count(site); i++) bytes[site.boundary[i]] = site.guard;
}

// The same with what sites inside have written.
void expected_bytes(const Site& site, uint8_t bytes[kMaxDisplaced], uint8_t padding[kJumpSize]) {
  own_bytes(site, bytes, padding);
  const Around around(site.address);
  for (uint8_t i = 1; i < site_size(site); i++) {
    const Site* inner = around.at(i);
    if (!inner || inner->state == SiteState::kOriginal) continue;
    uint8_t theirs[kMaxDisplaced], unused[kJumpSize];
    own_bytes(*inner, theirs, unused);
    std::copy_n(theirs, std::min<size_t>(site_size(*inner), kMaxDisplaced - i), bytes + i);
  }
}

std::string unexpected(uint64_t address, const uint8_t* expected, const uint8_t* live,
                       size_t size) {
  return hex_number(address) + ": unexpected bytes: expected " + hex_bytes(expected, size) +
         ", found " + hex_bytes(live, size);
}

// Empty: as it must be.
std::string verify_site(const Site& site, TextImage* image) {
  const uint8_t* live = image->at(site.address);
  if (!live) return hex_number(site.address) + ": the code is not mapped";
  uint8_t expected[kMaxDisplaced], padding[kJumpSize];
  expected_bytes(site, expected, padding);
  if (std::memcmp(live, expected, site_size(site)) != 0) {
    return unexpected(site.address, expected, live, site_size(site));
  }
  if (site.kind != SiteKind::kShortJump || site.single) return {};
  const uint8_t* room = image->at(first_byte(site));
  if (std::memcmp(room, padding, kJumpSize) == 0) return {};
  return unexpected(first_byte(site), padding, room, kJumpSize);
}

void drop_text(Site* site) {
  site->state = SiteState::kOriginal;
  site->current = nullptr;
  site->trap.store(0, std::memory_order_release);
}

// The module was unloaded: what was to be restored went with it.
void LivePatcher::forget(Site* site) {
  const auto off = [this](Site* gone) {
    patched_ -= gone->on;
    gone->on = gone->next_on = gone->touched = false;
    gone->probe = gone->next_probe = gone->key = gone->next_key = false;
    gone->host = gone->next_host = nullptr;
    gone->next_prologue = nullptr;
    gone->prologue = nullptr;
  };
  site->in_transaction = false;
  visit_inner(*site, [&](uint8_t, Site* inner) { off(inner); });
  off(site);
  drop_text(site);
  site->next_text = false;
}

// jmp *0(%rip); .quad target
size_t emit_far_jump(uint8_t* out, uint64_t target) {
  static constexpr uint8_t kJump[] = {0xff, 0x25, 0, 0, 0, 0};
  std::memcpy(out, kJump, sizeof kJump);
  std::memcpy(out + sizeof kJump, &target, sizeof target);
  return sizeof kJump + sizeof target;
}

// The stub has the far jump where others have a prologue, and nothing comes out of that into the
// displaced instructions behind it: they are entered by calls of `original`.
Result<EntryHook> LivePatcher::make_hook(Module& module, const FunctionSymbol& function,
                                         uint64_t target) {
  const SitePlan plan = planner_.plan_hook(module, function);
  if (plan.kind != SiteKind::kJump && plan.kind != SiteKind::kSled)
    return user_error(ENOTSUP, plan.reason);
  Site* site = hooked_.emplace_back(std::make_unique<Site>()).get();
  site->address = plan.patch_address;
  describe_site(plan, site);
  StubPrologue prologue;
  static_cast<std::function<size_t(uint8_t*, size_t, uint64_t)>&>(prologue) =
      [target](uint8_t* out, size_t, uint64_t) { return emit_far_jump(out, target); };
  StubParts parts;
  parts.site = site;
  parts.prologue[0] = &prologue;
  std::string reason;
  StubRecord* stub = stubs_.build(parts, &reason);
  TextMemory memory;
  if (!stub || !stubs_.flush(memory))
    return user_error(ENOMEM, stub ? "the memory of its stub cannot be written" : reason);
  EntryHook hook;
  hook.address = plan.patch_address;
  hook.displaced = plan.displaced;
  std::copy_n(plan.original.begin(), kJumpSize, hook.old_bytes.begin());
  hook.original = stub->address + stub->body;
  if (!encode_jump(hook.address, stub->address, hook.new_bytes.data()))
    return user_error(ENOTSUP, "its stub is out of reach");
  return hook;
}

Status LivePatcher::write_hook(Module& module, const FunctionSymbol& function, uint64_t target) {
  SiteChange change{planner_.plan_hook(module, function), {}};
  if (change.plan.kind != SiteKind::kJump && change.plan.kind != SiteKind::kSled)
    return user_error(ENOTSUP, change.plan.reason);
  static_cast<std::function<size_t(uint8_t*, size_t, uint64_t)>&>(change.prologue) =
      [target](uint8_t* out, size_t, uint64_t) { return emit_far_jump(out, target); };
  PB_ASSIGN(const PatchReport report, apply({&change, 1}, false));
  if (!report.refusals.empty()) return user_error(ENOTSUP, report.refusals.front().second);
  return {};
}

std::vector<uint64_t> LivePatcher::unmapped(uint64_t start, uint64_t end) {
  std::vector<uint64_t> were_on;
  for (Site* site : sites_between(start, end)) {
    if (site->on) were_on.push_back(site->address);
    if (!site->on && site->state == SiteState::kOriginal && !site->next_text) continue;
    std::erase(pending_, site);
    forget(site);
  }
  return were_on;
}

// All that the running transaction changes lies where no thread is.
bool LivePatcher::nobody_is_there() const {
  return !unused_.empty() && std::all_of(work_.begin(), work_.end(), [&](const Work& work) {
    return std::any_of(unused_.begin(), unused_.end(), [&](const auto& range) {
      return work.site->address >= range.first && work.site->address < range.second;
    });
  });
}

// The text is not what we left because the module was unloaded, or unloaded and loaded again. True:
// the transaction goes on (without the site, or with the bytes that are there now).
bool LivePatcher::recover(const Work& work, std::span<const SiteChange> changes) {
  Site* site = work.site;
  const uint8_t* live = image_.at(site->address);
  const SiteChange* change = nullptr;
  bool wanted = false;
  for (const Touched& touched : touched_) {
    if (owner_of(touched.site) != site) continue;
    wanted |= touched.site->next_on;
    if (touched.site == site) change = &changes[touched.change];
  }
  if (!live && !wanted) {
    forget(site);
    return true;
  }
  if (!live || site->state == SiteState::kOriginal || work.absorbed_by) return false;
  if (change && change->prologue &&
      std::memcmp(live, change->plan.original.data(), change->plan.displaced) == 0) {
    drop_text(site);
    if (!same_code(change->plan, *site)) describe_site(change->plan, site);
  } else if (std::memcmp(live, site->original, site_size(*site)) == 0) {
    drop_text(site);
  }
  return verify_site(*site, &image_).empty();
}

void LivePatcher::verify_all(std::span<const SiteChange> changes, PatchReport* report) {
  for (const Work& work : work_) {
    if (!work.site->in_transaction) continue;
    const std::string reason = verify_site(*work.site, &image_);
    if (!reason.empty() && !recover(work, changes)) {
      if (work.absorbed_by) {
        auto host = std::find_if(work_.begin(), work_.end(),
                                 [&](const Work& other) { return other.site == work.absorbed_by; });
        refuse(*host, reason, report);
      } else {
        refuse(work, reason, report);
      }
    }
  }
  drop_refused();
}

// The stub of a site and all that it is host of; null without a reason: nobody wants one.
StubRecord* LivePatcher::make_stub(Site* site, std::string* reason) {
  StubParts parts{site, {}};
  bool any = false;
  const auto add = [&](uint8_t i, Site* wanted) {
    if (wanted->next_probe)
      parts.prologue[i] = wanted->next_prologue ? wanted->next_prologue : &wanted->prologue;
    if (wanted->next_key) parts.key[i] = wanted->target;
    any |= wanted->next_on;
  };
  add(0, site);
  visit_inner(*site, add);
  if (!any) return nullptr;
  if (site->next_key && !site->next_probe) return key_record(site, site->target);
  if (StubRecord* parked = stubs_.find_parked(parts)) return parked;
  StubRecord* stub = stubs_.build(parts, reason);
  if (!stub) return nullptr;
  stub->older = site->stubs;
  site->stubs = stub;
  return stub;
}

void LivePatcher::build_stubs(PatchReport* report) {
  stubs_.expect(work_.size());
  for (size_t i = 0; i < work_.size(); i++) {
    constexpr size_t kAhead = 8;
    if (i + kAhead < work_.size())
      if (const StubPrologue* next = work_[i + kAhead].site->next_prologue)
        for (const void* read : next->reads) __builtin_prefetch(read);
    Work& work = work_[i];
    if (work.absorbed_by || !work.site->in_transaction) continue;
    if (!work.changed) {
      work.stub = work.site->state == SiteState::kPending ? work.site->current : nullptr;
      continue;
    }
    std::string reason;
    work.stub = make_stub(work.site, &reason);
    if (!reason.empty()) refuse(work, hex_number(work.site->address) + ": " + reason, report);
  }
  drop_refused();
}

// From here on a trap at any of the sites finds its way.
void LivePatcher::publish_traps() {
  for (Work& work : work_) {
    if (work.absorbed_by) continue;
    Site* site = work.site;
    const StubRecord* stub = work.stub ? work.stub : site->current;
    const uintptr_t leaving = work.stub || !stub ? 0 : 1;
    site->trap.store(reinterpret_cast<uintptr_t>(stub) | leaving, std::memory_order_release);
    const bool unguarded =
        site->state == SiteState::kOriginal || site->state == SiteState::kPending;
    work.needs_wait = work.stub ? unguarded && site_count(*site) > 1
                                : site->kind == SiteKind::kShortJump && !site->single && !unguarded;
  }
}

bool jumps_to_padding(const Site& site) {
  return site.kind == SiteKind::kShortJump && !site.single &&
         (site.state == SiteState::kPatched || site.state == SiteState::kLeaving);
}

// Jumps that a new host takes over become an int3 to their own stub: the host's guards may lie in
// their tails, and its stub may end there.
void LivePatcher::write_absorbed(TextMemory& memory) {
  const auto write_each = [&](auto change) {
    bool any = false;
    for (const Work& work : work_) {
      uint8_t* text = work.absorbed_by ? image_.at(work.site->address) : nullptr;
      if (text) change(*work.site, text);
      any |= text != nullptr;
    }
    if (!any) return;
    image_.write(memory);
    sync_all_cores();
  };
  write_each([this](const Site&, uint8_t* text) { text[0] = guard_; });
  write_each([](const Site& site, uint8_t* text) {
    std::memcpy(text + 1, site.original + 1, site_size(site) - 1u);
  });
}

void LivePatcher::write_guards() {
  for (const Work& work : work_) {
    const Site& site = *work.site;
    uint8_t* text = image_.at(site.address);
    if (!text) continue;
    text[0] = guard_;
    if (work.needs_wait && work.stub) {
      for (uint8_t i = 1; i < site_count(site); i++) text[site.boundary[i]] = guard_;
    }
    if (jumps_to_padding(site)) *image_.at(first_byte(site)) = guard_;
  }
}

// Everything but the first byte of each instruction that a thread may reach.
void LivePatcher::write_tails() {
  for (const Work& work : work_) {
    const Site& site = *work.site;
    uint8_t* text = image_.at(site.address);
    if (work.stays_guarded || work.absorbed_by || !text) continue;
    const NewText made(site, work.stub);
    std::memcpy(text + 1, made.bytes + 1, site_size(site) - 1u);
    if (site.kind != SiteKind::kShortJump || site.single) continue;
    // Padding that nothing jumps to yet can be written whole.
    const size_t kept = jumps_to_padding(site) ? 1 : 0;
    std::memcpy(image_.at(first_byte(site)) + kept, made.padding + kept, kJumpSize - kept);
  }
}

void LivePatcher::write_heads() {
  for (const Work& work : work_) {
    const Site& site = *work.site;
    uint8_t* text = image_.at(site.address);
    if (work.stays_guarded || work.absorbed_by || !text) continue;
    const NewText made(site, work.stub);
    text[0] = made.bytes[0];
    if (site.kind == SiteKind::kShortJump && !site.single)
      *image_.at(first_byte(site)) = made.padding[0];
  }
}

void LivePatcher::wait_for_threads(uint64_t limit_us, PatchReport* report) {
  bool any = false;
  for (const Work& work : work_) {
    work.site->watched = work.needs_wait;
    any |= work.needs_wait;
  }
  if (!any) return;
  ThreadWatch watch;
  watch.start();
  const bool all = watch.wait(limit_us);
  report->waited_us += watch.waited_us();
  for (Work& work : work_) {
    work.site->watched = false;
    if (!work.needs_wait || all) continue;
    const auto& occupied = watch.occupied();
    work.stays_guarded = watch.unknown_place() || std::find(occupied.begin(), occupied.end(),
                                                            work.site->address) != occupied.end();
  }
}

// A span whose first write failed: nothing was changed there.
void LivePatcher::drop_unwritable(PatchReport* report) {
  for (const Work& work : work_) {
    if (image_.at(work.site->address) || !work.site->in_transaction || work.absorbed_by) continue;
    Site* site = work.site;
    site->trap.store(reinterpret_cast<uintptr_t>(site->current), std::memory_order_release);
    refuse(work, hex_number(site->address) + ": the system does not let its text be written",
           report);
  }
  drop_refused();
}

bool LivePatcher::writes_in_libc() const {
  return std::any_of(work_.begin(), work_.end(),
                     [](const Work& work) { return work.site->no_trap != nullptr; });
}

void LivePatcher::run_phases(bool single_threaded, TextMemory& memory, PatchReport* report) {
  const bool gated = !single_threaded && writes_in_libc();
  guard_ = is_traced() ? kTrapHalt : kTrapInt3;
  for (const Work& work : work_)
    if (image_.at(work.site->address)) work.site->guard = guard_;
  if (gated) trap_gate_shut(kLibcWaitLimitUs);
  write_absorbed(memory);
  publish_traps();
  if (!single_threaded) {
    write_guards();
    if (!image_.write(memory)) drop_unwritable(report);
    sync_all_cores();
    wait_for_threads(gated ? kLibcWaitLimitUs : kWaitLimitUs, report);
    write_tails();
    image_.write(memory);
    sync_all_cores();
    write_heads();
    image_.write(memory);
  } else {
    write_tails();
    write_heads();
    if (!image_.write(memory)) drop_unwritable(report);
  }
  sync_all_cores();
  if (gated) trap_gate_open();
}

void LivePatcher::settle_work(const Work& work) {
  Site* site = work.site;
  site->in_transaction = false;
  if (work.absorbed_by) {
    // Its own stub goes on answering for it while the host only has its guards.
    site->state = SiteState::kOriginal;
    site->current = nullptr;
    if (work.absorbed_by->state != SiteState::kPending)
      site->trap.store(0, std::memory_order_release);
  } else if (work.stub) {
    site->current = work.stub;
    site->state = work.stays_guarded ? SiteState::kPending : SiteState::kPatched;
  } else if (work.stays_guarded) {
    site->state = SiteState::kLeaving;
  } else {
    drop_text(site);
  }
  site->next_text = site->state != SiteState::kOriginal;
  if (work.stays_guarded) pending_.push_back(site);
}

void LivePatcher::commit(Site* site) {
  patched_ += site->next_on;
  PB_CHECK_VALUES(patched_ >= site->on, patched_, site->address);
  patched_ -= site->on;
  site->on = site->next_on;
  site->probe = site->next_probe;
  site->key = site->next_key;
  if (!site->on) {
    if (site->next_host) site->trap.store(0, std::memory_order_release);
    site->next_host = nullptr;
  }
  if (!site->probe) {
    site->prologue = nullptr;
  } else if (site->next_prologue) {
    site->prologue = *site->next_prologue;
  }
  settle_kind(site);
  site->host = site->next_host;
  site->next_prologue = nullptr;
  site->touched = false;
}

void LivePatcher::settle() {
  // Hosts come before what they take over: addresses grow.
  PB_CHECK(std::is_sorted(work_.begin(), work_.end(), [](const Work& a, const Work& b) {
    return a.site->address < b.site->address;
  }));
  for (const Work& work : work_) settle_work(work);
  for (const Touched& touched : touched_) commit(touched.site);
  for (Site* site : moved_) commit(site);
  work_.clear();
  touched_.clear();
  moved_.clear();
}

SiteKind LivePatcher::active_kind(uint64_t patch_address) const {
  const Site* site = site_at(patch_address);
  if (!site || !site->on) return SiteKind::kRefused;
  if (site->key && !site->probe) return SiteKind::kKey;
  const Site* text = site->host ? site->host : site;
  const bool is_entry =
      !site->host && site->kind != SiteKind::kProbeTrap && site->kind != SiteKind::kProbeJump;
  if (text->single || text->state == SiteState::kPending)
    return is_entry ? SiteKind::kTrap : SiteKind::kProbeTrap;
  return site->host ? SiteKind::kProbeJump : site->kind;
}

void LivePatcher::drop_caches() {
  planner_.drop_caches();
  touched_.shrink_to_fit();
  moved_.shrink_to_fit();
  work_.shrink_to_fit();
}

uint64_t LivePatcher::follow_tracer() {
  if (!is_traced()) {
    tracer_is_known_ = false;
    return 0;
  }
  uint64_t places = 0;
  std::vector<Site*> due;
  visit_sites([&](Site* site) {
    const bool is_trap =
        site->single || site->kind == SiteKind::kTrap || site->kind == SiteKind::kProbeTrap;
    if (!is_trap || site->state != SiteState::kPatched) return;
    places++;
    if (site->guard == kTrapInt3) due.push_back(site);
  });
  TextMemory memory;
  for (Site* site : due) {
    uint8_t byte = 0;
    if (!memory.read(site->address, &byte, 1) || byte != kTrapInt3) continue;
    if (memory.write(site->address, &kTrapHalt, 1)) site->guard = kTrapHalt;
  }
  if (!due.empty()) sync_all_cores();
  return places && !std::exchange(tracer_is_known_, true) ? places : 0;
}

Result<PatchReport> LivePatcher::apply(std::span<const SiteChange> changes, bool single_threaded) {
  PatchReport report;
  PB_CHECK(work_.empty() && touched_.empty() && moved_.empty());  // the last one is settled
  collect(changes, &report);
  if (work_.empty()) {
    settle();
    return report;
  }
  TextMemory memory;
  image_ = TextImage();
  std::vector<Site*> sites;
  sites.reserve(work_.size());
  for (const Work& work : work_) sites.push_back(work.site);
  image_.read(sites, memory);
  verify_all(changes, &report);
  build_stubs(&report);
  if (!stubs_.flush(memory)) {
    for (const Work& work : work_) {
      if (!work.absorbed_by) refuse(work, "stubs could not be written", &report);
    }
    drop_refused();
    settle();
    return report;
  }
  run_phases(single_threaded || nobody_is_there(), memory, &report);
  settle();
  image_ = TextImage();
  return report;
}

}  // namespace

const char* site_kind_name(SiteKind kind) {
  switch (kind) {
    case SiteKind::kSled:
      return "sled";
    case SiteKind::kJump:
      return "jump";
    case SiteKind::kShortJump:
      return "short-jump";
    case SiteKind::kTrap:
      return "int3";
    case SiteKind::kKey:
      return "key";
    case SiteKind::kProbeTrap:
      return "probe-int3";
    case SiteKind::kProbeJump:
      return "probe-jump";
    case SiteKind::kRefused:
      break;
  }
  return "refused";
}

std::unique_ptr<Patcher> make_patcher() { return std::make_unique<LivePatcher>(); }

}  // namespace patchbay
