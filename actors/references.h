// All remote references of one node: the handles its programs hold, and the values it owns for others.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/call_encoder.h"
#include "actors/node_core.h"
#include "actors/value_box.h"
#include "messages/ids.h"
#include "messages/payload.h"

namespace troupe::detail {

/// What all copies of one RRef on this node share: one handle, whose end the owner is told. Holds its node weakly: after
/// the node's shutdown every use is shutting_down and destruction is silent.
class RRefHandle;

/// Thread rule: any thread may call any member; none blocks.
class References {
 public:
  explicit References(NodeCore& node);
  ~References();
  References(const References&) = delete;
  References& operator=(const References&) = delete;

  /// One more handle of the value travels to node `to`; this node's own is kept until the owner knows the new one.
  [[nodiscard]] msg::RRefHandout hand_out(const std::shared_ptr<RRefHandle>& handle, const NodeName& to);

  /// The message with `handout` never left.
  void take_back(const msg::RRefHandout& handout);

  /// A handle arrived from node `from`. All handles of one value on this node are one.
  [[nodiscard]] std::shared_ptr<RRefHandle> received(const msg::RRefHandout& handout, const NodeName& from);

  /// A handle for a value that node `owner` is about to make, at our request.
  [[nodiscard]] std::shared_ptr<RRefHandle> created(const RRefId& rref, const ForkId& fork, const NodeName& owner,
                                                    std::string type);

  /// Makes this node the owner of `value`.
  [[nodiscard]] std::shared_ptr<RRefHandle> own(ValueBox value, std::string type);

  /// Tells `done` the value of `rref`, which this node owns, once it exists: for shards and contexts. On any thread.
  void value_of(const RRefId& rref, std::function<void(Result<ValueBox>)> done);

  /// RemoteCall, ValueCall and everything named RRef.
  void handle(Delivery delivery);

  void peer_down(const Peer& peer, const Error& why);

  /// Fails everything that waits, drops the values (on the pool), ends the actors.
  void stop(const Error& why);

  [[nodiscard]] std::size_t owned_values() const;
  [[nodiscard]] std::size_t handles() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe::detail
