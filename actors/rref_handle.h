// What all copies of one RRef on a node share.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "actors/node_life.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

class NodeCore;

/// One node's handle of one value. When the last copy of the RRef goes, the owner is told. Holds its node weakly: after
/// the node's shutdown every use fails with shutting_down and destruction is silent. Any thread may call any member.
class RRefHandle {
 public:
  RRefHandle(std::weak_ptr<NodeCore> node, RRefId id, NodeLife owner, std::string type);
  ~RRefHandle();
  RRefHandle(const RRefHandle&) = delete;
  RRefHandle& operator=(const RRefHandle&) = delete;

  [[nodiscard]] const RRefId& id() const { return id_; }
  [[nodiscard]] const NodeLife& owner() const { return owner_; }
  [[nodiscard]] const std::string& type() const { return type_; }

  /// The node this handle lives on. Throws RemoteError{shutting_down} if it has ended.
  [[nodiscard]] std::shared_ptr<NodeCore> node() const;

  /// Likewise; null if it has ended.
  [[nodiscard]] std::shared_ptr<NodeCore> node_if_alive() const;

  /// This handle stands for one more handle that was created, received or held.
  void add_hold() { holds_.fetch_add(1, std::memory_order_relaxed); }

 private:
  const std::weak_ptr<NodeCore> node_;
  const RRefId id_;
  const NodeLife owner_;
  const std::string type_;
  std::atomic<std::size_t> holds_{0};
};

}  // namespace troupe::detail
