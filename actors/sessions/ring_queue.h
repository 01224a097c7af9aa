// A queue that takes no memory while it is empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace troupe {

/// First in, first out, and every item by its place. A std::deque takes 600 bytes while it is empty, and allocates for
/// every second packet; this one keeps its memory until it needs an eighth of it, and at least 4 KiB. A session has
/// seventeen queues, of which most are empty for ever. Thread rule: one thread at a time.
template <class T>
class RingQueue {
  static_assert(std::is_nothrow_move_constructible_v<T>, "items move when the queue grows");
  static_assert(alignof(T) <= alignof(std::max_align_t), "operator new aligns them");

 public:
  RingQueue() = default;
  RingQueue(RingQueue&& other) noexcept
      : items_(std::exchange(other.items_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)),
        first_(std::exchange(other.first_, 0)),
        size_(std::exchange(other.size_, 0)) {}
  RingQueue& operator=(RingQueue&&) = delete;
  ~RingQueue() {
    clear();
    ::operator delete(items_);
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Returns the number of items that there is memory for.
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  // REQUIRES: the queue has that item. A reference to it is valid until the queue next takes or loses one.
  [[nodiscard]] T& operator[](std::size_t place) { return *at(place); }
  [[nodiscard]] const T& operator[](std::size_t place) const { return *at(place); }
  [[nodiscard]] T& front() { return *at(0); }
  [[nodiscard]] const T& front() const { return *at(0); }
  [[nodiscard]] T& back() { return *at(size_ - 1); }

  /// Throws std::bad_alloc; the queue and `item` are then as before.
  void push_back(T&& item) {
    if (size_ == capacity_) {
      const std::size_t capacity = std::max(kCapacityMin, 2 * capacity_);
      move_to(static_cast<T*>(::operator new(capacity * sizeof(T))), capacity);
    }
    std::construct_at(at(size_), std::move(item));
    ++size_;
  }

  /// REQUIRES: not empty.
  void pop_front() noexcept {
    std::destroy_at(at(0));
    first_ = (first_ + 1) & (capacity_ - 1);
    --size_;
    give_memory_back();
  }

  /// Removes the items for which `is_over` holds. The others keep their order.
  template <class Predicate>
  void remove_if(const Predicate& is_over) {
    std::size_t kept = 0;
    for (std::size_t place = 0; place < size_; ++place) {
      if (is_over(std::as_const(*at(place)))) continue;
      if (kept != place) *at(kept) = std::move(*at(place));
      ++kept;
    }
    while (size_ > kept) std::destroy_at(at(--size_));
    give_memory_back();
  }

  void clear() noexcept {
    while (size_ > 0) std::destroy_at(at(--size_));
    give_memory_back();
  }

 private:
  static constexpr std::size_t kCapacityMin = 4;
  static constexpr std::size_t kKeptBytes = 4096;  // kept even if the queue is empty

  [[nodiscard]] T* at(std::size_t place) const { return items_ + ((first_ + place) & (capacity_ - 1)); }

  /// Without memory for fewer items, the queue keeps what it has.
  void give_memory_back() noexcept {
    if (capacity_ * sizeof(T) <= kKeptBytes || size_ > capacity_ / 8) return;
    if (size_ == 0) return move_to(nullptr, 0);
    const std::size_t capacity = capacity_ / 4;
    if (void* memory = ::operator new(capacity * sizeof(T), std::nothrow)) move_to(static_cast<T*>(memory), capacity);
  }

  void move_to(T* items, std::size_t capacity) noexcept {
    for (std::size_t place = 0; place < size_; ++place) {
      std::construct_at(items + place, std::move(*at(place)));
      std::destroy_at(at(place));
    }
    ::operator delete(items_);
    items_ = items;
    capacity_ = capacity;
    first_ = 0;
  }

  T* items_ = nullptr;
  std::size_t capacity_ = 0;  // a power of two, or 0
  std::size_t first_ = 0;     // where items_[first_] is the front
  std::size_t size_ = 0;
};

}  // namespace troupe
