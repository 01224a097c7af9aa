// The copy of a remote value that its holders on this node share, and whether it is still the value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>

namespace troupe::detail {

/// The owner numbers its value's versions, and says once that a copy is out of date; that word may overtake the copy.
/// Thread rule: any thread may call any member.
class CachedValue {
 public:
  /// Null if there is none, or it is out of date.
  [[nodiscard]] std::shared_ptr<const void> get() const {
    std::lock_guard lock(mutex_);
    return version_ >= newest_ ? copy_ : nullptr;
  }

  /// A copy of `version` came. A later one is kept instead.
  void keep(std::shared_ptr<const void> copy, std::uint64_t version) {
    std::lock_guard lock(mutex_);
    if (version < version_) return;
    copy_.swap(copy);  // what was kept ends after the lock is released
    version_ = version;
  }

  /// Copies older than `version` are out of date.
  void changed(std::uint64_t version) {
    std::lock_guard lock(mutex_);
    newest_ = std::max(newest_, version);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const void> copy_;  // guarded by mutex_, as all below
  std::uint64_t version_ = 0;         // of the copy
  std::uint64_t newest_ = 0;          // that was heard of
};

}  // namespace troupe::detail
