#include "samples/parameter_server/served.h"

#include <map>
#include <mutex>

#include "actors/core/node_core.h"
#include "actors/core/node_life.h"

namespace samples {
namespace {

DigitNet make_net(std::uint64_t seed) { return DigitNet(seed); }

/// A served function has no state of its own: what each node of the process keeps for its own stands here. Any thread.
class NetOfEachNode {
 public:
  troupe::RRef<DigitNet> of(troupe::Scope& scope) {
    constexpr std::uint64_t kSeed = 1;
    const std::lock_guard lock(mutex_);
    auto& net = nets_[{scope.node_name(), scope.state().node->incarnation()}];
    if (!net.defined()) net = scope.remote(scope.node_name(), &make_net, kSeed);
    return net;
  }

 private:
  std::mutex mutex_;
  std::map<troupe::NodeLife, troupe::RRef<DigitNet>> nets_;  // guarded by mutex_
};

}  // namespace

troupe::RRef<DigitNet> shared_net(troupe::Scope& scope) {
  static NetOfEachNode nets;
  return nets.of(scope);
}

troupe::FunctionRegistry server_functions() {
  return {{"make_net", &make_net},
          {"shared_net", &shared_net},
          {"parameters", &parameters_of<DigitNet>},
          {"forward", &DigitNet::forward},
          {"classify", &DigitNet::classify}};
}

}  // namespace samples
