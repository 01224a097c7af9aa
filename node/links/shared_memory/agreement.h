// How far two nodes have come in sharing memory, and why they do not share it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "actors/clock.h"
#include "actors/link.h"

namespace troupe::detail {

/// Whether this node shares memory, or that of one GPU, with one life of a peer, or has a ring to it. Until it does,
/// messages take the socket: the reason is kept for who asks, and a failure is told once. Or whether the peer has
/// closed a block that has ended. Thread rule: one thread at a time.
class Agreement {
 public:
  /// `why`: it is not wanted, or not needed yet.
  explicit Agreement(std::string why = {}) : why_(std::move(why)) {}

  /// The peer was asked; `missing` is what it has not done yet. Ignored after a failure. Who asks the same again has
  /// waited since the first time.
  void asked(std::string missing, TimePoint now);
  /// Keeps the first reason of several.
  void failed(std::string why);
  void reached();

  [[nodiscard]] bool is_asked() const { return state_ == State::asked; }
  [[nodiscard]] bool is_reached() const { return state_ == State::reached; }
  [[nodiscard]] bool has_failed() const { return state_ == State::failed; }
  /// Empty if it is reached.
  [[nodiscard]] const std::string& why() const { return why_; }

  /// Returns true if the peer has not answered for `patience`: what it was told may be lost. Then for twice as long,
  /// and so on up to 32 times.
  [[nodiscard]] bool is_to_be_repeated(TimePoint now, Duration patience);

  /// Returns whether news() has any.
  [[nodiscard]] bool has_news(TimePoint now, Duration patience) const;
  /// Returns why() of a failure, once; nullopt if there is none, or it was returned before. A question that a peer has
  /// left open for `patience` has failed.
  [[nodiscard]] std::optional<std::string> news(TimePoint now, Duration patience);

 private:
  enum class State : std::uint8_t { idle, asked, failed, reached };
  State state_ = State::idle;
  std::string why_;
  TimePoint asked_at_{};
  static constexpr int kDoublingsMax = 5;
  TimePoint repeated_at_{};  ///< or asked first
  int repeats_ = 0;
  bool told_ = false;
};

/// Returns "shared memory + ring", or less and why. `room`: for all large tensors of a message; `below`: what takes the
/// rest.
[[nodiscard]] PeerTransport transport_of(const Agreement& memory, const Agreement& ring, const Agreement& room,
                                         const PeerTransport& below);

}  // namespace troupe::detail
