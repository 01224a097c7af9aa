// Answers that peers have not acknowledged, and the calls that must wait for that before they start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "actors/sessions/parcel.h"
#include "messages/ids.h"

namespace troupe::detail {

/// A peer that does not acknowledge its answers slows only its own calls: a waiting call holds its caller's grant.
/// Calls wait while too many bytes of answers are unacknowledged. One large answer does not count, whatever its size:
/// otherwise a single one above the bound would stop all calls of that peer while it travels. Thread rule: any thread
/// may call any member.
class AnswerBacklog {
 public:
  using Begin = std::function<void()>;

  /// What a call may answer. Calls with small answers wait for small ones, and for large ones if these are many.
  enum class Answers : std::uint8_t { any, small };

  explicit AnswerBacklog(std::size_t bytes_max = std::size_t{256} << 20) : bytes_max_(bytes_max) {}

  /// If too many bytes are unacknowledged by `peer`, or another call of it with such answers is kept already, keeps
  /// `begin`, which starts a call of `peer`, and returns true.
  [[nodiscard]] bool keep(const NodeLife& peer, Answers answers, Begin& begin);

  void sent(const NodeLife& peer, const Parcel& answer);

  /// The peer has acknowledged `answers`, or they were taken back. Returns the calls that may start now, in order: one
  /// each time there is room.
  [[nodiscard]] std::vector<Begin> taken(const NodeLife& peer, const AnswerTotals& answers);

  /// Returns the bytes of unacknowledged answers, by peer that has any.
  [[nodiscard]] std::map<NodeLife, std::size_t> bytes() const;

  /// Forgets a life that is over. Returns the calls kept for it; their answers are no longer awaited.
  [[nodiscard]] std::vector<Begin> gone(const NodeLife& peer);

  /// Forgets all peers, as `gone`.
  [[nodiscard]] std::vector<Begin> stop();

 private:
  using Kept = std::list<Begin>;  // unlike a deque it takes no memory while it is empty
  struct Peer {
    AnswerTotals open;
    std::array<Kept, 2> kept;  // by Answers

    [[nodiscard]] bool is_idle() const { return open.empty() && kept[0].empty() && kept[1].empty(); }
  };

  [[nodiscard]] bool is_full(const AnswerTotals& open, Answers answers) const;
  void begin_some(Peer& peer, Answers answers, std::vector<Begin>& ready) const;

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::map<NodeLife, Peer> peers_;  // guarded by mutex_; only those with bytes or kept calls
};

}  // namespace troupe::detail
