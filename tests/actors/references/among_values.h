// A node among bare peers that create, hold and use each other's values.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/core/node_core.h"
#include "actors/references/references.h"
#include "actors/rref.h"
#include "tests/actors/bare_peer.h"
#include "tests/actors/references/tally.h"

namespace troupe::testing {

using Asked = std::shared_ptr<std::optional<Result<msg::AnyMessage>>>;

struct AmongValues : AmongBarePeers {
  explicit AmongValues(FunctionRegistry functions = {}, const PeerLimits& limits = {})
      : AmongBarePeers(0, std::move(functions), limits) {
    for (BarePeer* each : {p1.get(), p2.get()}) hears_all(*each);
  }

  /// What the peer takes has in it what rides on other messages, or goes 20 ms later.
  void hears_all(BarePeer& peer) {
    peer.before_taking = [this] { clock->advance(std::chrono::milliseconds(20)); };
  }

  [[nodiscard]] detail::References& references() { return core().references(); }

  /// Ends the peer's life, which is the router's first step when a peer goes down.
  void is_over(const BarePeer& peer) { core().lives().end(peer.life(), gone(peer)); }

  static Error gone(const BarePeer& peer) {
    Error why;
    why.code = ErrorCode::peer_down;
    why.peer = peer.self().name;
    why.incarnation = peer.self().incarnation;
    return why;
  }

  /// Returns a handle of value `serial` of p1, as p2 passes it on.
  msg::RRefHandout of_p1(std::uint64_t serial, std::uint64_t fork) {
    return {{"p1", 1, serial}, {"p2", 2, fork}, "p1", p1->self().incarnation, "p2", "i64"};
  }

  std::shared_ptr<detail::RRefHandle> received(std::uint64_t serial = 5, std::uint64_t fork = 9) {
    return received(of_p1(serial, fork), "p2");
  }
  std::shared_ptr<detail::RRefHandle> received(const msg::RRefHandout& handout, const NodeName& from) {
    return references().received({&handout, 1}, from).front();
  }

  /// Returns a handle that p1 has confirmed.
  std::shared_ptr<detail::RRefHandle> confirmed() {
    auto handle = received();
    p1->say("m", "references", msg::RRefForkAck{{{handle->id(), {"p2", 2, 9}}}});
    static_cast<void>(p1->take<msg::RRefForked>());
    return handle;
  }

  std::shared_ptr<detail::RRefHandle> own(std::int64_t value = 7) {
    return references().own(detail::ValueBox::of(value), "i64", SourceLocation::current());
  }

  std::unique_ptr<BarePeer> p1 = peer("p1", 1);
  std::unique_ptr<BarePeer> p2 = peer("p2", 2);
};

/// Returns "waits", "ok" or the error.
inline std::string outcome(const Asked& asked) {
  if (!*asked) return "waits";
  return (*asked)->ok() ? "ok" : std::string(name_of((*asked)->error().code));
}

inline Asked fetch(BarePeer& peer, const RRefId& rref, msg::Wanted wanted = msg::Wanted::value) {
  return peer.ask("m", "rref/" + rref.text(), msg::RRefFetch{{rref}, wanted, {}});
}

}  // namespace troupe::testing
