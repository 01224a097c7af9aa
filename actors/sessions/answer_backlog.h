// Answers that peers have not acknowledged, and the calls that must wait for that before they start.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "messages/ids.h"

namespace troupe::detail {

/// A peer that does not acknowledge its answers slows only its own calls: a waiting call holds its caller's grant.
/// Thread rule: any thread may call any member.
class AnswerBacklog {
 public:
  using Begin = std::function<void()>;

  explicit AnswerBacklog(std::size_t bytes_max = std::size_t{256} << 20) : bytes_max_(bytes_max) {}

  /// If too many answer bytes wait for `peer`, or another call of it is kept already, keeps `begin`, which starts a
  /// call of `peer`, and returns true.
  [[nodiscard]] bool keep(const NodeLife& peer, Begin& begin);

  void sent(const NodeLife& peer, std::size_t bytes);

  /// The peer has acknowledged `bytes`. Returns the calls that may start now, in order: one each time there is room.
  [[nodiscard]] std::vector<Begin> taken(const NodeLife& peer, std::size_t bytes);

  /// Returns the bytes of unacknowledged answers, by peer that has any.
  [[nodiscard]] std::map<NodeLife, std::size_t> bytes() const;

  /// Forgets a life that is over. Returns the calls kept for it; their answers are no longer awaited.
  [[nodiscard]] std::vector<Begin> gone(const NodeLife& peer);

  /// Forgets all peers, as `gone`.
  [[nodiscard]] std::vector<Begin> stop();

 private:
  struct Peer {
    std::size_t bytes = 0;
    std::list<Begin> kept;  // unlike a deque it takes no memory while it is empty
  };

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::map<NodeLife, Peer> peers_;  // guarded by mutex_; only those with bytes or kept calls
};

}  // namespace troupe::detail
