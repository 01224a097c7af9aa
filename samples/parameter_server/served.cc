#include "samples/parameter_server/served.h"

#include <map>
#include <mutex>

#include "messages/ids.h"

namespace samples {
namespace {

DigitNet make_net(std::uint64_t seed) { return DigitNet(seed); }

/// A served function has no state of its own: what each node of the process keeps for its own stands here. Any thread.
class NetOfEachNode {
 public:
  troupe::RRef<DigitNet> of(troupe::Scope& scope) {
    constexpr std::uint64_t kSeed = 1;
    const troupe::NodeLife node = scope.node_life();
    {
      const std::lock_guard lock(mutex_);
      if (const auto net = nets_.find(node); net != nets_.end()) return net->second;
    }
    const auto made = scope.remote(node.name, &make_net, kSeed);
    const std::lock_guard lock(mutex_);
    return nets_.try_emplace(node, made).first->second;  // another call may have been first
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
