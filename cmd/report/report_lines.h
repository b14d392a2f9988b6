// SPDX-License-Identifier: MIT
//
// Items as text on standard output, in their order, made by several threads.
//
//   take() --items--> batch --full--> queue --any thread--> text --in order--> one write
//                                       `-- this thread, too, when the queue is full
//
// A batch has a copy of its records and is about a megabyte of text. There are never more than two
// of them for each thread, so memory is bounded. A recording of less than a batch needs no thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "cmd/report/report_print.h"

namespace patchbay::cmd {

class ReportLines {
 public:
  // Its own printer for a further thread, which calls this; what it needs lives in the result.
  struct Printer {
    std::shared_ptr<void> owner;
    std::unique_ptr<ReportPrinter> printer;
  };
  using MakePrinter = std::function<Printer()>;
  // `printer`: of this thread. `make_printer`: empty where there is to be no other thread.
  ReportLines(ReportPrinter* printer, MakePrinter make_printer)
      : printer_(printer), make_printer_(std::move(make_printer)) {}
  ~ReportLines();  // what was not written is dropped
  // Fails where standard output does. Throws what a thread has thrown.
  Status take(const ReportItem& item);
  Status finish();

 private:
  struct Batch {
    std::vector<ReportItem> items;  // sizes of records only, until all have come
    std::vector<uint8_t> bytes;     // of the records
    std::string text;
    bool is_begun = false, is_done = false;  // by a thread; under mutex_
  };
  static void print(Batch* batch, ReportPrinter* printer);
  Status submit();
  Status write_first(std::unique_lock<std::mutex>* lock);
  Status advance(size_t most);
  Batch* next_to_print();
  void start_threads();
  void run();

  ReportPrinter* printer_;
  MakePrinter make_printer_;
  std::unique_ptr<Batch> filling_ = std::make_unique<Batch>();
  bool is_started_ = false;
  std::vector<std::thread> threads_;

  std::mutex mutex_;
  std::condition_variable queued_, done_;
  std::deque<std::unique_ptr<Batch>> queue_;    // in order; the first ones are done or begun
  std::vector<std::unique_ptr<Batch>> spared_;  // with their memory
  bool is_over_ = false;
  std::exception_ptr failure_;  // the first of a thread
};

}  // namespace patchbay::cmd
