#include "tests/conformance/device_functions.h"

#include "actors/core/node_core.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe::testing {

void map_devices(Scope& scope, const NodeName& other, const DeviceMap& map) {
  scope.state().node->device_maps().add(other, map);
}

Tensor moved_to(const Tensor& x, Device device) { return x.to(device); }

std::int64_t allocated_on(Device device, std::int64_t bytes) {
  return Tensor::empty({bytes}, DType::u8, device).numel();
}

Tensor shifted(const Tensor& x, const Tensor& shift, std::int32_t times) {
  Tensor y = x;
  for (std::int32_t i = 0; i < times; ++i) y = matmul(y, shift);
  return y;
}

Tensor shift_of(std::int64_t columns) {
  const Tensor rows = eye(columns);
  return concat({rows.slice(0, 1), rows.slice(0, 0, 1)});
}

Tensor shifted_by(Scope& scope, const NodeName& other, const Tensor& x, const Tensor& shift, std::int32_t times) {
  return shifted(scope.rpc_sync(other, &shifted, x, shift, times), shift, times);
}

FunctionRegistry with_device_functions(const FunctionRegistry& registry) {
  return registry.with({{"map_devices", &map_devices},
                        {"moved_to", &moved_to},
                        {"allocated_on", &allocated_on},
                        {"shifted", &shifted},
                        {"shifted_by", &shifted_by}});
}

}  // namespace troupe::testing
