#include "samples/embed/remote_net.h"

namespace samples {

using namespace troupe;

namespace {

constexpr std::uint64_t kSeed = 1;

void nothing() {}

}  // namespace

FunctionRegistry model_functions() {
  return {{"MoonNet", constructor<MoonNet, std::uint64_t>}, {"chances", &MoonNet::chances}, {"nothing", &nothing}};
}

Tensor RemoteNet::chances(const Scope& scope, const Tensor& points) {
  for (bool again = false;; again = true) {
    const Reference net = current();
    try {
      return net.rpc_sync(scope, &MoonNet::chances, points);
    } catch (const RemoteError& error) {
      if (error.code() == ErrorCode::timeout) throw;  // it may be busy, or still learning
      forget(net);
      // The model node may have begun another life since the last request: that one will have to say so itself.
      if (again || error.code() != ErrorCode::owner_died) throw;
    }
  }
}

void RemoteNet::check(const Scope& scope) const { scope.rpc_sync(kModelNode, &nothing); }

RemoteNet::Reference RemoteNet::current() {
  const std::lock_guard lock(mutex_);
  if (!net_.defined()) net_ = home_.remote(kModelNode, constructor<MoonNet, std::uint64_t>, kSeed);
  return net_;
}

void RemoteNet::forget(const Reference& net) {
  const std::lock_guard lock(mutex_);
  if (net_ == net) net_ = {};
}

}  // namespace samples
