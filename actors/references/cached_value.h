// The copy of a remote value that its holders on this node share, and whether it is up to date.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include "actors/calls/value_box.h"

namespace troupe::detail {

/// The owner numbers its value's versions and notifies once that a copy is out of date; the notification may overtake
/// the copy. Thread rule: any thread may call any member.
class CachedValue {
 public:
  /// Returns the copy; null if there is none, or it is out of date.
  [[nodiscard]] std::shared_ptr<const void> get() const {
    std::lock_guard lock(mutex_);
    return version_ >= newest_ ? copy_ : nullptr;
  }

  /// Stores a received copy of `version`, unless a later one is stored.
  template <class T>
  void keep(std::shared_ptr<T> copy, std::uint64_t version) {
    std::shared_ptr<const void> kept = std::move(copy);  // then the old copy: destroyed after the lock is released
    std::lock_guard lock(mutex_);
    if (version < version_) return;
    copy_.swap(kept);
    end_ = kValueEnd<std::remove_const_t<T>>;
    version_ = version;
  }

  /// A copy, which may be null, and where its destructor may run.
  struct Taken {
    std::shared_ptr<const void> copy;
    ValueEnd end;
  };

  /// Takes the copy out, also one that is out of date.
  [[nodiscard]] Taken take() {
    std::lock_guard lock(mutex_);
    return {std::exchange(copy_, nullptr), end_};
  }

  /// Records that copies older than `version` are out of date.
  void changed(std::uint64_t version) {
    std::lock_guard lock(mutex_);
    if (newest_ < version) newest_ = version;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const void> copy_;   // guarded by mutex_, as all below
  ValueEnd end_ = ValueEnd::anywhere;  // of the copy
  std::uint64_t version_ = 0;          // of the copy
  std::uint64_t newest_ = 0;           // the highest version heard of
};

}  // namespace troupe::detail
