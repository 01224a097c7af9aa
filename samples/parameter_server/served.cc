#include "samples/parameter_server/served.h"

namespace samples {
namespace {

DigitNet make_net(std::uint64_t seed) { return DigitNet(seed); }

}  // namespace

troupe::RRef<DigitNet> shared_net(troupe::Scope& scope) {
  constexpr std::uint64_t kSeed = 1;
  static const troupe::RRef<DigitNet> net = scope.remote(scope.node_name(), &make_net, kSeed);
  return net;
}

troupe::FunctionRegistry server_functions() {
  return {{"make_net", &make_net},
          {"shared_net", &shared_net},
          {"parameters", &parameters_of<DigitNet>},
          {"forward", &DigitNet::forward},
          {"classify", &DigitNet::classify}};
}

}  // namespace samples
