// SPDX-License-Identifier: MIT
//
// Objects that stay where they are, in pages of their own. What the functions of a large program
// take is many megabytes: in the program's heap they would lie between blocks of the program's, so
// that nothing around them could go back to the system when they go, or before.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "base/leak_checker.h"

namespace patchbay {

template <typename T>
class PagedList {
  static constexpr size_t kBlock = 64 << 10;  // takes memory as it is used
  static constexpr size_t kEach = kBlock / sizeof(T);

 public:
  PagedList() = default;
  PagedList(const PagedList&) = delete;
  PagedList& operator=(const PagedList&) = delete;
  ~PagedList() { clear(); }

  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ == blocks_.size() * kEach) add_block();
    T* made = new (at(size_)) T(std::forward<Arguments>(arguments)...);
    size_++;
    return *made;
  }
  size_t size() const { return size_; }
  void clear() {
    for (size_t i = 0; i < size_; i++) at(i)->~T();
    for (T* block : blocks_)
      has_leak_checker() ? ::operator delete(block) : void(::munmap(block, kBlock));
    std::vector<T*>().swap(blocks_);
    size_ = 0;
  }

  template <typename List, typename Object>
  class Iterator {
   public:
    Iterator(List* list, size_t index) : list_(list), index_(index) {}
    Object& operator*() const { return *list_->at(index_); }
    Iterator& operator++() { return index_++, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    List* list_;
    size_t index_;
  };
  auto begin() { return Iterator<PagedList, T>(this, 0); }
  auto end() { return Iterator<PagedList, T>(this, size_); }
  auto begin() const { return Iterator<const PagedList, const T>(this, 0); }
  auto end() const { return Iterator<const PagedList, const T>(this, size_); }

 private:
  T* at(size_t index) const { return blocks_[index / kEach] + index % kEach; }
  void add_block() {
    if (blocks_.size() == blocks_.capacity()) blocks_.reserve(2 * blocks_.size() + 1);
    void* const made = has_leak_checker()
                           ? ::operator new(kBlock)
                           : ::mmap(nullptr, kBlock, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc();
    blocks_.push_back(static_cast<T*>(made));
  }

  std::vector<T*> blocks_;
  size_t size_ = 0;
};

}  // namespace patchbay
