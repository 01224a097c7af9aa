// Functions that compute on GPUs, for the rows of device maps.
#pragma once

#include <cstdint>

#include "actors/function_registry.h"
#include "actors/scope.h"
#include "messages/device_map.h"
#include "tensor/tensor.h"

namespace troupe::testing {

/// Adds to the map from this node's devices to those of `other`.
void map_devices(Scope& scope, const NodeName& other, const DeviceMap& map);

Tensor moved_to(const Tensor& x, Device device);

/// Returns the size of a new tensor of `bytes` bytes on `device`.
std::int64_t allocated_on(Device device, std::int64_t bytes);

/// Returns x, moved `times` columns to the right, around the end. Computed by as many products of matrices: on a GPU
/// they are under way when this returns. `shift`: shift_of the columns of x, on its device.
Tensor shifted(const Tensor& x, const Tensor& shift, std::int32_t times);

/// Returns the matrix whose product with another one moves that one's `columns` columns to the right by one.
Tensor shift_of(std::int64_t columns);

/// As shifted, computed by `other`, and shifted here as often again.
Tensor shifted_by(Scope& scope, const NodeName& other, const Tensor& x, const Tensor& shift, std::int32_t times);

/// Returns `registry` with these functions.
[[nodiscard]] FunctionRegistry with_device_functions(const FunctionRegistry& registry);

}  // namespace troupe::testing
