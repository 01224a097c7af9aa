// How long a request may take.
#pragma once

#include <chrono>
#include <optional>

#include "actors/clock.h"

namespace troupe {

inline constexpr std::chrono::seconds kDefaultDeadline{60};

/// The time limit of a request. Travels as remaining time; nested calls inherit the earlier of their own and their
/// caller's.
class Deadline {
 public:
  /// The default: 60 s.
  Deadline() : after_(Duration(kDefaultDeadline)) {}

  /// A deadline `after` the call is made. Zero or less has already passed. A value that Duration cannot hold, or the
  /// largest that it can, means no limit: while_peer_lives().
  template <class Rep, class Period>
  Deadline(std::chrono::duration<Rep, Period> after) {
    using Exact = std::chrono::duration<long double, Duration::period>;
    if (Exact(after) >= Exact(Duration::max())) return;
    after_ = Exact(after) <= Exact(Duration::zero()) ? Duration::zero() : std::chrono::duration_cast<Duration>(after);
  }

  /// No time limit, but the request fails when its peer dies, the caller cancels, or either node shuts down.
  [[nodiscard]] static Deadline while_peer_lives() {
    Deadline deadline;
    deadline.after_.reset();
    return deadline;
  }

  /// Returns the time allowed; nullopt for while_peer_lives().
  [[nodiscard]] std::optional<Duration> after() const { return after_; }

 private:
  std::optional<Duration> after_;
};

}  // namespace troupe
