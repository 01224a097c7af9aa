// Answers that peers have not taken, and the calls that wait for that before they begin.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "actors/core/node_life.h"

namespace troupe::detail {

/// A peer that does not take its answers slows its own calls, and nobody else's: what waits here holds its caller's grant.
/// Thread rule: any thread may call any member.
class AnswerBacklog {
 public:
  using Begin = std::function<void()>;

  explicit AnswerBacklog(std::size_t bytes_max = std::size_t{256} << 20) : bytes_max_(bytes_max) {}

  /// Keeps `begin`, which begins a call of `peer`, if more answers wait for `peer` than may, or another call of it is kept.
  /// Returns whether it did.
  [[nodiscard]] bool keep(const NodeLife& peer, Begin& begin);

  void sent(const NodeLife& peer, std::size_t bytes);

  /// The peer has taken so much. Returns the calls that may begin now, in order: one for each time there is room.
  [[nodiscard]] std::vector<Begin> taken(const NodeLife& peer, std::size_t bytes);

  /// Of answers that have not been taken, by peer that has any.
  [[nodiscard]] std::map<NodeLife, std::size_t> bytes() const;

  /// Forgets a life that is over. Returns what it had kept: nobody waits for it.
  [[nodiscard]] std::vector<Begin> gone(const NodeLife& peer);

  /// Forgets everybody, as `gone`.
  [[nodiscard]] std::vector<Begin> stop();

 private:
  struct Peer {
    std::size_t bytes = 0;
    std::deque<Begin> kept;
  };

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::map<NodeLife, Peer> peers_;  // guarded by mutex_; those with bytes or kept calls
};

}  // namespace troupe::detail
