// A node among bare peers, and its contexts.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "tests/actors/bare_peer.h"

namespace troupe::testing {

/// The node m, and its peers p1 and p2.
struct AmongContexts : AmongBarePeers {
  explicit AmongContexts(const PeerLimits& limits = {}) : AmongBarePeers(0, {}, limits) {}

  [[nodiscard]] detail::Contexts& contexts() { return core().contexts(); }

  /// Ends the peer's life, which is the router's first step.
  void is_over(const BarePeer& peer) {
    Error why;
    why.code = ErrorCode::peer_down;
    why.peer = peer.self().name;
    why.incarnation = peer.self().incarnation;
    core().lives().end(peer.life(), why);
  }

  /// Returns the outcome of a request to a context: "gradients", or the error.
  template <class T>
  std::string outcome(const Future<T>& future) {
    const auto result = future.get_for(Duration::zero());
    if (!result) return "waits";
    return result->ok() ? "gradients" : std::string(name_of(result->error().code)) + " " + result->error().message;
  }
  std::string gradients(const ContextId& id) { return outcome(contexts().gradients(id)); }

  Future<void> pass(const ContextId& id, detail::PassPlan plan) {
    const Promise<void> done(core().future_home());
    contexts().backward(id, std::move(plan), {}, done);
    return done.future();
  }

  /// Returns the participants besides this node: "p1 p2".
  std::string peers_of(const ContextId& id) {
    detail::Query<OpenContext> query(core().future_home());
    contexts().list(query.slot());
    std::string names;
    for (const OpenContext& context : query.wait(Duration::zero()).answers) {
      if (context.context != id.text()) continue;
      for (const NodeName& name : context.peers) names += (names.empty() ? "" : " ") + name;
    }
    return names;
  }

  std::unique_ptr<BarePeer> p1 = peer("p1", 1);
  std::unique_ptr<BarePeer> p2 = peer("p2", 2);
};

/// Returns the id of context `serial` of p1.
inline ContextId of_p1(std::uint64_t serial) { return {"p1", 1, serial}; }

}  // namespace troupe::testing
