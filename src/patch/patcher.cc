// SPDX-License-Identifier: MIT
//
// The transaction of docs/text_poke.md:
//
//   verify  ->  int3 at every instruction start, sync  ->  wait for threads to leave
//           ->  tails, sync  ->  heads, sync
//
// Each phase changes an image of the touched text and writes it in spans of neighbouring pages, so
// that 50,000 sites cost a few hundred system calls.

#include "patch/patcher.h"

#include <algorithm>
#include <cstring>

#include "arch/x86_64/text_memory.h"
#include "base/check.h"
#include "base/hex_bytes.h"
#include "base/hex_number.h"
#include "patch/site_planner.h"
#include "patch/site_table.h"
#include "patch/stub_pool.h"
#include "patch/thread_watch.h"

namespace patchbay {
namespace {

constexpr uint8_t kInt3 = 0xcc;
constexpr uint64_t kJumpSize = 5;
constexpr uint64_t kShortJumpSize = 2;
constexpr uint64_t kWaitLimitUs = 50000;
constexpr uint64_t kPage = 4096;

uint64_t first_byte(const Site& site) {
  return site.kind == SiteKind::kShortJump ? site.entry - kJumpSize : site.address;
}
uint64_t last_byte(const Site& site) {
  return site.address + std::max<uint64_t>(site.displaced, 1);
}

// The finished bytes of a site that runs through `stub`.
// (A key's record is no stub: its address is where the program's own code goes on.)
void patched_bytes(const Site& site, const StubRecord& stub, uint8_t head[kJumpSize],
                   uint8_t padding[kJumpSize]) {
  if (site.kind == SiteKind::kTrap || site.kind == SiteKind::kProbeTrap) {
    head[0] = kInt3;
  } else if (site.kind == SiteKind::kShortJump) {
    const uint64_t room = site.entry - kJumpSize;
    head[0] = 0xeb;
    head[1] = static_cast<uint8_t>(room - (site.address + kShortJumpSize));
    PB_CHECK(encode_jump(room, stub.address, padding));
  } else {
    PB_CHECK(encode_jump(site.address, stub.address, head));
  }
}

// An image of the text around the sites of one transaction.
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
  };
  std::vector<Span> spans_;
  std::vector<uint8_t> bytes_;
  size_t last_ = 0;
};

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

bool TextImage::write(TextMemory& memory) {
  bool good = true;
  for (Span& span : spans_) {
    if (!span.good) continue;
    if (!memory.write(span.first, bytes_.data() + span.offset, span.last - span.first)) {
      span.good = good = false;
    }
  }
  return good;
}

constexpr size_t kNoChange = SIZE_MAX;  // a pending site that no change asked for

class LivePatcher : public Patcher {
 public:
  SitePlan plan(Module& module, const FunctionSymbol& function) override {
    return planner_.plan(module, function);
  }
  SitePlan plan_key(uint64_t address, uint64_t target) override {
    return patchbay::plan_key(address, target);
  }
  SitePlan plan_probe(Module& module, uint64_t address) override {
    return planner_.plan_probe(module, address);
  }
  Result<PatchReport> apply(std::span<const SiteChange> changes, bool single_threaded) override;
  uint64_t patched_sites() const override { return patched_; }
  uint64_t finish_pending() override {
    if (!pending_.empty()) (void)apply({}, false);
    return pending_.size();
  }

 private:
  struct Work {
    Site* site;
    size_t change;       // index of the SiteChange, or kNoChange
    StubRecord* stub;    // null: restore
    bool needs_wait;     // some thread may stand in bytes that change
    bool stays_guarded;  // it could not be proven that none does
  };

  void collect(std::span<const SiteChange> changes, PatchReport* report);
  void verify_all(std::span<const SiteChange> changes, PatchReport* report);
  void build_stubs(std::span<const SiteChange> changes, PatchReport* report);
  void publish_traps();
  void write_guards();
  void write_tails();
  void write_heads();
  void wait_for_threads(PatchReport* report);
  void run_phases(bool single_threaded, TextMemory& memory, PatchReport* report);
  void drop_unwritable(PatchReport* report);
  void settle();
  void refuse(const Work& work, std::string reason, PatchReport* report);
  void forget(Site* site);
  void drop_refused();

  SitePlanner planner_;
  StubPool stubs_;
  std::vector<Work> work_;  // of the running transaction, sorted by address
  std::vector<Site*> pending_;
  TextImage image_;
  uint64_t patched_ = 0;
};

void LivePatcher::refuse(const Work& work, std::string reason, PatchReport* report) {
  work.site->in_transaction = false;
  if (work.change == kNoChange) {
    pending_.push_back(work.site);
    return;
  }
  report->applied--;
  report->refused++;
  report->refusals.emplace_back(work.change, std::move(reason));
}

void LivePatcher::drop_refused() {
  std::erase_if(work_, [](const Work& work) { return !work.site->in_transaction; });
}

void describe_site(const SitePlan& plan, Site* site) {
  site->entry = plan.entry;
  site->kind = plan.kind;
  site->displaced = static_cast<uint8_t>(plan.displaced);
  site->boundary_count = plan.boundary_count;
  std::copy_n(plan.boundary.begin(), kMaxBoundaries, site->boundary);
  std::copy_n(plan.original.begin(), kMaxDisplaced, site->original);
  std::copy_n(plan.padding.begin(), kJumpSize, site->padding);
  site->stubs = nullptr;
  if (plan.kind == SiteKind::kShortJump) site_set_alias(site, plan.entry - kJumpSize);
}

bool same_code(const SitePlan& plan, const Site& site) {
  return site.boundary_count != 0 && plan.kind == site.kind &&
         std::memcmp(plan.original.data(), site.original, plan.displaced) == 0;
}

// A static event's nop can also be the first instruction of a function that is traced as such: who
// comes first has the place. Empty: the change may go on.
std::string taken(const SitePlan& plan, const Site& site) {
  if (site.state == SiteState::kOriginal || site.kind == plan.kind) return {};
  if (site.kind == SiteKind::kKey) return "a static event that is enabled has its nop there";
  if (plan.kind == SiteKind::kKey) return "the function that begins with this nop is being traced";
  return {};
}

// Which sites have something to do. Of several changes of one site the last one counts.
void LivePatcher::collect(std::span<const SiteChange> changes, PatchReport* report) {
  work_.clear();
  work_.reserve(changes.size() + pending_.size());
  for (size_t i = 0; i < changes.size(); i++) {
    const SitePlan& plan = changes[i].plan;
    if (plan.kind == SiteKind::kRefused || plan.boundary_count == 0) {
      report->refused++;
      report->refusals.emplace_back(
          i, plan.reason.empty() ? "refused when it was planned" : plan.reason);
      continue;
    }
    report->applied++;
    const bool restore = !changes[i].prologue;
    Site* site = restore ? site_find(plan.patch_address) : site_find_or_add(plan.patch_address);
    if (!site) continue;  // never patched: nothing to restore
    if (std::string reason = taken(plan, *site); !reason.empty()) {
      report->applied--;
      report->refused++;
      report->refusals.emplace_back(i, hex_number(plan.patch_address) + ": " + reason);
      continue;
    }
    if (site->in_transaction) {
      auto same = std::find_if(work_.begin(), work_.end(),
                               [site](const Work& work) { return work.site == site; });
      same->change = i;
      continue;
    }
    if (restore && site->state == SiteState::kOriginal) continue;
    if (site->state == SiteState::kOriginal && !same_code(plan, *site)) describe_site(plan, site);
    site->in_transaction = true;
    work_.push_back({site, i, nullptr, false, false});
  }
  for (Site* site : pending_) {
    if (site->in_transaction) continue;
    StubRecord* stub = site->state == SiteState::kPending ? site->current : nullptr;
    site->in_transaction = true;
    work_.push_back({site, kNoChange, stub, false, false});
  }
  pending_.clear();
  std::sort(work_.begin(), work_.end(),
            [](const Work& a, const Work& b) { return a.site->address < b.site->address; });
}

// What must stand at the site now: the file's bytes, or what we left there.
void expected_bytes(const Site& site, uint8_t bytes[kMaxDisplaced], uint8_t padding[kJumpSize]) {
  std::memcpy(bytes, site.original, kMaxDisplaced);
  std::memcpy(padding, site.padding, kJumpSize);
  if (site.state == SiteState::kPatched || site.state == SiteState::kLeaving) {
    patched_bytes(site, *site.current, bytes, padding);
  }
  if (site.state == SiteState::kLeaving) bytes[0] = padding[0] = kInt3;
  if (site.state != SiteState::kPending) return;
  for (uint8_t i = 0; i < site.boundary_count; i++) bytes[site.boundary[i]] = kInt3;
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
  if (std::memcmp(live, expected, site.displaced) != 0) {
    return unexpected(site.address, expected, live, site.displaced);
  }
  if (site.kind != SiteKind::kShortJump) return {};
  const uint8_t* room = image->at(first_byte(site));
  if (std::memcmp(room, padding, kJumpSize) == 0) return {};
  return unexpected(first_byte(site), padding, room, kJumpSize);
}

// The module was unloaded and loaded again: what we had written is gone.
bool is_reloaded(const SitePlan& plan, const Site& site, TextImage* image) {
  const uint8_t* live = image->at(site.address);
  return live && site.state != SiteState::kOriginal &&
         std::memcmp(live, plan.original.data(), plan.displaced) == 0;
}

// The module was unloaded: what was to be restored went with it.
void LivePatcher::forget(Site* site) {
  site->in_transaction = false;
  if (site->state == SiteState::kOriginal) return;
  site->state = SiteState::kOriginal;
  site->current = nullptr;
  site->trap.store(0, std::memory_order_release);
  patched_--;
}

void LivePatcher::verify_all(std::span<const SiteChange> changes, PatchReport* report) {
  for (const Work& work : work_) {
    std::string reason = verify_site(*work.site, &image_);
    if (reason.empty()) continue;
    const bool restore = work.change != kNoChange && !changes[work.change].prologue;
    if (restore && !image_.at(work.site->address)) {
      forget(work.site);
      continue;
    }
    if (work.change != kNoChange && is_reloaded(changes[work.change].plan, *work.site, &image_)) {
      work.site->state = SiteState::kOriginal;
      work.site->current = nullptr;
      work.site->trap.store(0, std::memory_order_release);
      patched_--;
      describe_site(changes[work.change].plan, work.site);
      reason = verify_site(*work.site, &image_);
      if (reason.empty()) continue;
    }
    refuse(work, std::move(reason), report);
  }
  drop_refused();
}

void LivePatcher::build_stubs(std::span<const SiteChange> changes, PatchReport* report) {
  stubs_.expect(work_.size());
  for (Work& work : work_) {
    if (work.change == kNoChange || !changes[work.change].prologue) continue;
    const StubPrologue& prologue = changes[work.change].prologue;
    Site* site = work.site;
    if (site->kind == SiteKind::kKey) {
      work.stub = key_record(site, changes[work.change].plan.target);
      continue;
    }
    work.stub = stubs_.find_parked(*site, prologue);
    if (work.stub) continue;
    std::string reason;
    work.stub = stubs_.build(*site, prologue, &reason);
    if (!work.stub) {
      refuse(work, hex_number(site->address) + ": " + reason, report);
      continue;
    }
    work.stub->older = site->stubs;
    site->stubs = work.stub;
  }
  drop_refused();
}

// From here on a trap at any of the sites finds its way.
void LivePatcher::publish_traps() {
  for (Work& work : work_) {
    Site* site = work.site;
    const StubRecord* stub = work.stub ? work.stub : site->current;
    const uintptr_t leaving = work.stub || !stub ? 0 : 1;
    site->trap.store(reinterpret_cast<uintptr_t>(stub) | leaving, std::memory_order_release);
    const bool unguarded =
        site->state == SiteState::kOriginal || site->state == SiteState::kPending;
    work.needs_wait = work.stub ? unguarded && site->boundary_count > 1
                                : site->kind == SiteKind::kShortJump && !unguarded;
  }
}

bool jumps_to_padding(const Site& site) {
  return site.kind == SiteKind::kShortJump &&
         (site.state == SiteState::kPatched || site.state == SiteState::kLeaving);
}

void LivePatcher::write_guards() {
  for (const Work& work : work_) {
    const Site& site = *work.site;
    uint8_t* text = image_.at(site.address);
    text[0] = kInt3;
    if (work.needs_wait && work.stub) {
      for (uint8_t i = 1; i < site.boundary_count; i++) text[site.boundary[i]] = kInt3;
    }
    if (jumps_to_padding(site)) *image_.at(first_byte(site)) = kInt3;
  }
}

// Everything but the first byte of each instruction that a thread may reach.
void LivePatcher::write_tails() {
  for (const Work& work : work_) {
    const Site& site = *work.site;
    uint8_t* text = image_.at(site.address);
    if (work.stays_guarded || !text) continue;
    uint8_t bytes[kMaxDisplaced], padding[kJumpSize];
    std::memcpy(bytes, site.original, kMaxDisplaced);
    std::memcpy(padding, site.padding, kJumpSize);
    if (work.stub) patched_bytes(site, *work.stub, bytes, padding);
    std::memcpy(text + 1, bytes + 1, site.displaced - 1u);
    if (site.kind != SiteKind::kShortJump) continue;
    // Padding that nothing jumps to yet can be written whole.
    const size_t kept = jumps_to_padding(site) ? 1 : 0;
    std::memcpy(image_.at(first_byte(site)) + kept, padding + kept, kJumpSize - kept);
  }
}

void LivePatcher::write_heads() {
  for (const Work& work : work_) {
    const Site& site = *work.site;
    uint8_t* text = image_.at(site.address);
    if (work.stays_guarded || !text) continue;
    uint8_t bytes[kMaxDisplaced], padding[kJumpSize];
    std::memcpy(bytes, site.original, kMaxDisplaced);
    std::memcpy(padding, site.padding, kJumpSize);
    if (work.stub) patched_bytes(site, *work.stub, bytes, padding);
    text[0] = bytes[0];
    if (site.kind == SiteKind::kShortJump) *image_.at(first_byte(site)) = padding[0];
  }
}

void LivePatcher::wait_for_threads(PatchReport* report) {
  bool any = false;
  for (const Work& work : work_) {
    work.site->watched = work.needs_wait;
    any |= work.needs_wait;
  }
  if (!any) return;
  ThreadWatch watch;
  watch.start();
  const bool all = watch.wait(kWaitLimitUs);
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
    if (image_.at(work.site->address)) continue;
    Site* site = work.site;
    site->trap.store(reinterpret_cast<uintptr_t>(site->current), std::memory_order_release);
    refuse(work, hex_number(site->address) + ": the system does not let its text be written",
           report);
  }
  drop_refused();
}

void LivePatcher::run_phases(bool single_threaded, TextMemory& memory, PatchReport* report) {
  publish_traps();
  if (!single_threaded) {
    write_guards();
    if (!image_.write(memory)) drop_unwritable(report);
    sync_all_cores();
    wait_for_threads(report);
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
}

void LivePatcher::settle() {
  const auto counts = [](const Site& site) {
    return site.state == SiteState::kPatched || site.state == SiteState::kPending;
  };
  for (const Work& work : work_) {
    Site* site = work.site;
    const bool counted = counts(*site);
    site->in_transaction = false;
    if (work.stub) {
      site->current = work.stub;
      site->state = work.stays_guarded ? SiteState::kPending : SiteState::kPatched;
    } else if (work.stays_guarded) {
      site->state = SiteState::kLeaving;
    } else {
      site->current = nullptr;
      site->state = SiteState::kOriginal;
      site->trap.store(0, std::memory_order_release);
    }
    if (work.stays_guarded) pending_.push_back(site);
    patched_ += counts(*site);
    patched_ -= counted;
  }
  work_.clear();
}

Result<PatchReport> LivePatcher::apply(std::span<const SiteChange> changes, bool single_threaded) {
  PatchReport report;
  collect(changes, &report);
  if (work_.empty()) return report;
  TextMemory memory;
  image_ = TextImage();
  std::vector<Site*> sites;
  sites.reserve(work_.size());
  for (const Work& work : work_) sites.push_back(work.site);
  image_.read(sites, memory);
  verify_all(changes, &report);
  build_stubs(changes, &report);
  if (!stubs_.flush(memory)) {
    for (const Work& work : work_) refuse(work, "stubs could not be written", &report);
    drop_refused();
    return report;
  }
  run_phases(single_threaded, memory, &report);
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
