// The state that all copies of one RRef on a node share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>

#include "actors/references/cached_value.h"
#include "actors/source_location.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

class NodeCore;
struct ScopeState;

/// The origin of a reference: the line that made it, or the node that sent it.
using RRefOrigin = std::variant<SourceLocation, NodeName>;

/// One node's handle of one value. Destroying the last copy of the RRef notifies the owner, and destroys the copy that
/// `cached` keeps where its destructor may run: also a thread that receives may be the last to hold the handle. Holds
/// its node weakly: after the node's shutdown every use fails with shutting_down, and destruction only ends the copy.
/// Thread rule: any thread may call any member.
class RRefHandle {
 public:
  RRefHandle(std::weak_ptr<NodeCore> node, RRefId id, NodeLife owner, std::string type, RRefOrigin origin);
  ~RRefHandle();
  RRefHandle(const RRefHandle&) = delete;
  RRefHandle& operator=(const RRefHandle&) = delete;

  [[nodiscard]] const RRefId& id() const { return id_; }
  [[nodiscard]] const NodeLife& owner() const { return owner_; }
  [[nodiscard]] const std::string& type() const { return type_; }

  /// Returns "RRef<f32> trainer.17 on ps0".
  [[nodiscard]] std::string text() const;

  /// For reports: "made at main.cc:12", "received from ps0".
  [[nodiscard]] std::string origin() const;

  /// Returns the value's type, once the owner has reported it.
  [[nodiscard]] std::optional<std::string> known_type() const;
  void learned_type(std::string type);

  /// The copy that `RRef::cached` returns while the value is unchanged.
  [[nodiscard]] CachedValue& copies() { return copies_; }

  /// Returns that copy; null if there is none, or it is out of date. Throws RemoteError if there is one, but the
  /// reference is unusable: nobody reports changes to a node for which the owner is gone.
  [[nodiscard]] std::shared_ptr<const void> kept_copy(const ScopeState& through) const;

  /// Stops when the value could not be created: waits for it may end.
  [[nodiscard]] std::stop_token failure_token() const { return failed_.get_token(); }
  void creation_failed() { failed_.request_stop(); }

  /// Returns the node of this handle. Throws RemoteError{shutting_down} if it has ended.
  [[nodiscard]] std::shared_ptr<NodeCore> node() const;

  /// Returns the node of this handle; null if it has ended.
  [[nodiscard]] std::shared_ptr<NodeCore> node_if_alive() const;

  /// Returns why a program cannot use the reference for `operation` through the node `through`; nullopt if it can.
  /// Throws as node().
  [[nodiscard]] std::optional<Error> unusable(const NodeCore& through, const std::string& operation) const;

  /// Counts one more handle that this object stands for, created, received or held. REQUIRES: its HandleTable or
  /// ForkTable counts it too.
  void add_hold() { holds_.fetch_add(1, std::memory_order_relaxed); }

 private:
  const std::weak_ptr<NodeCore> node_;
  const RRefId id_;
  const NodeLife owner_;
  const std::string type_;
  const RRefOrigin origin_;
  std::stop_source failed_;
  CachedValue copies_;
  mutable std::mutex mutex_;
  std::optional<std::string> known_type_;  // guarded by mutex_
  std::atomic<std::size_t> holds_{0};
};

}  // namespace troupe::detail
