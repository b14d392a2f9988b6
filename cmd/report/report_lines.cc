// SPDX-License-Identifier: MIT
#include "cmd/report/report_lines.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace patchbay::cmd {
namespace {

constexpr size_t kItems = 8192, kBytes = 1 << 19;  // of a batch
constexpr int kMostThreads = 4;                    // beside this one, which reads and writes

size_t nr_cpus() {
  cpu_set_t allowed;
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? size_t(CPU_COUNT(&allowed)) : 1;
}

}  // namespace

ReportLines::~ReportLines() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  queued_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReportLines::print(Batch* batch, ReportPrinter* printer) {
  const uint8_t* at = batch->bytes.data();
  for (ReportItem& item : batch->items) {
    item.record = {at, item.record.size()};
    at += item.record.size();
    item.behind = {at, item.behind.size()};
    at += item.behind.size();
    printer->print(&batch->text, item);
  }
  batch->items.clear();
  batch->bytes.clear();
}

// The first batch that nobody has begun.
ReportLines::Batch* ReportLines::next_to_print() {
  for (const auto& batch : queue_)
    if (!std::exchange(batch->is_begun, true)) return batch.get();
  return nullptr;
}

void ReportLines::run() {
  Printer own;
  std::unique_lock lock(mutex_);
  for (;;) {
    Batch* batch = nullptr;
    queued_.wait(lock, [&] { return is_over_ || (batch = next_to_print()) != nullptr; });
    if (!batch) return;
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (!own.printer) own = make_printer_();
      print(batch, own.printer.get());
    } catch (...) {
      failure = std::current_exception();  // no memory
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    batch->is_done = true;
    done_.notify_one();
  }
}

// Where no thread can be had this one does it all.
void ReportLines::start_threads() {
  is_started_ = true;
  if (!make_printer_) return;
  const size_t wanted = std::min<size_t>(nr_cpus() - 1, kMostThreads);
  try {
    while (threads_.size() < wanted) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
  }
}

Status ReportLines::write_first(std::unique_lock<std::mutex>* lock) {
  std::unique_ptr<Batch> batch = std::move(queue_.front());
  queue_.pop_front();
  lock->unlock();
  const bool is_written = write_out(&batch->text);
  const int error = errno;
  lock->lock();
  batch->is_begun = batch->is_done = false;
  spared_.push_back(std::move(batch));
  return is_written ? Status{} : Status(sys_error("write to standard output", error));
}

// Until there are `most` batches left, or fewer.
Status ReportLines::advance(size_t most) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (failure_) std::rethrow_exception(failure_);
    while (!queue_.empty() && queue_.front()->is_done) PB_TRY(write_first(&lock));
    if (queue_.size() <= most) return {};
    if (Batch* batch = next_to_print()) {
      lock.unlock();
      print(batch, printer_);
      lock.lock();
      batch->is_done = true;
    } else {
      done_.wait(lock, [this] { return queue_.front()->is_done || failure_; });
    }
  }
}

Status ReportLines::submit() {
  if (!is_started_) start_threads();
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(filling_));
    if (!spared_.empty()) {
      filling_ = std::move(spared_.back());
      spared_.pop_back();
    }
  }
  if (!filling_) filling_ = std::make_unique<Batch>();
  queued_.notify_one();
  return advance(2 * threads_.size());
}

Status ReportLines::take(const ReportItem& item) {
  filling_->items.push_back(item);
  std::vector<uint8_t>& bytes = filling_->bytes;
  bytes.insert(bytes.end(), item.record.begin(), item.record.end());
  bytes.insert(bytes.end(), item.behind.begin(), item.behind.end());
  const bool is_full = filling_->items.size() >= kItems || bytes.size() >= kBytes;
  return is_full ? submit() : Status{};
}

Status ReportLines::finish() {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(filling_));
  }
  filling_ = std::make_unique<Batch>();
  queued_.notify_one();
  return advance(0);
}

}  // namespace patchbay::cmd
