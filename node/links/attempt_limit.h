// How many connections a node makes at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "node/links/ready_set.h"

namespace troupe {

/// Limits how many attempts to connect a node makes at the same time. A handshake costs both sides processor time, with
/// keys about a millisecond. If all nodes of a cluster began all their attempts at once, none would end within ZeroMQ's
/// limit (handshake_timeout), and all would begin anew for ever.
///
/// An attempt holds one of kPlaces places until it is answered or over. Others wait in the order in which they asked.
/// An attempt that is not answered within `patience()` continues without its place, so that hosts that are silent do
/// not keep others waiting. The patience follows the time that answers take, as TCP's retransmission timeout does
/// (RFC 6298): on a busy machine it grows.
///
/// Thread rule: the link's thread only.
class AttemptLimit {
 public:
  using Key = ReadySet::Key;

  /// Attempts of an earlier rank never wait for those of a later one.
  enum class Rank {
    restores,  ///< a connection that was cut: the peer's lease runs
    answers,   ///< the peer has connected to this node, and waits for it to connect back
    first,
    repeats,  ///< an attempt that was not answered
  };

  static constexpr std::size_t kPlaces = 16;

  /// No attempt keeps its place for longer than `longest`.
  explicit AttemptLimit(Duration longest);

  /// Ends an earlier attempt of `key` and asks for a place for a new one. Returns whether it may begin now; if not,
  /// `admit` returns it later.
  [[nodiscard]] bool ask(Key key, Rank rank, TimePoint now);

  /// If the attempt waits, it waits as one of `rank` from now on, unless its own is earlier.
  void hurry(Key key, Rank rank);

  /// The attempt was answered. Does nothing if it is over.
  void answered(Key key, TimePoint now);

  /// The attempt is over, or asks for no place any more. Does nothing if there is none.
  void over(Key key);

  /// Returns the attempts that waited and may begin now.
  [[nodiscard]] std::vector<Key> admit(TimePoint now);

  /// Returns when `admit` is next needed, if nothing else happens before.
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] Duration patience() const;

 private:
  struct Attempt {
    TimePoint began;
    bool holds_place = true;
  };
  using Turn = std::pair<Rank, std::uint64_t>;

  void begin(Key key, TimePoint now);
  void wait(Key key, Rank rank);
  void take_places_back(TimePoint now);

  const Duration longest_;
  std::optional<Duration> answers_take_;  ///< smoothed
  std::map<Key, Attempt> under_way_;
  std::size_t places_held_ = 0;
  std::map<Turn, Key> waiting_;
  std::map<Key, Turn> turns_;  ///< of all in waiting_
  std::uint64_t asked_ = 0;
};

}  // namespace troupe
