// The network on the model node, as somebody else's program sees it.
#pragma once

#include <mutex>

#include "actors/function_registry.h"
#include "actors/rref.h"
#include "actors/scope.h"
#include "samples/embed/moon_net.h"
#include "tensor/tensor.h"

namespace samples {

/// The node that owns the network.
inline constexpr const char* kModelNode = "model";

/// Functions of the model node; who calls them needs the registry, too.
[[nodiscard]] troupe::FunctionRegistry model_functions();

/// One network on the model node, made when it is first asked, and anew in each further life of that node.
/// Thread rule: any thread may call any member.
class RemoteNet {
 public:
  explicit RemoteNet(const troupe::Scope& home) : home_(home) {}

  /// As MoonNet::chances, within the deadline of `scope`. Throws RemoteError: peer_down, at once, if the model node is
  /// not there; timeout.
  [[nodiscard]] troupe::Tensor chances(const troupe::Scope& scope, const troupe::Tensor& points);

  /// Throws as chances if the model node does not answer.
  void check(const troupe::Scope& scope) const;

 private:
  using Reference = troupe::RRef<MoonNet>;

  [[nodiscard]] Reference current();
  void forget(const Reference& net);

  const troupe::Scope home_;  ///< what the network is made through: no one request's deadline is its own
  std::mutex mutex_;
  Reference net_;  ///< guarded by mutex_; null until it is needed and after it failed
};

}  // namespace samples
