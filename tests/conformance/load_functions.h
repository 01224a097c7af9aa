// Functions of the conformance tests that make many calls at once, carry values large enough to observe in transfer, or
// compute on GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "actors/function_registry.h"
#include "actors/rref.h"
#include "actors/scope.h"
#include "messages/device_map.h"
#include "tensor/tensor.h"
#include "tests/conformance/async_functions.h"

namespace troupe::testing {

/// Returns the bytes that this node sent to `peer` and received from it since they connected.
std::pair<std::uint64_t, std::uint64_t> bytes_with(Scope& scope, const NodeName& peer);

/// Returns the bytes of this process that tensors use, and those cached for later tensors.
std::uint64_t bytes_of_tensors();

Tensor filled(std::int64_t size, double value);
/// Returns `count` tensors of one element, each in memory of its own.
std::vector<Tensor> many_tensors(std::int64_t count);

/// Returns the number of elements of `tensor`, and of characters of `text`.
std::int64_t count_elements(const Tensor& tensor);
double last_element(const Tensor& tensor);
std::int64_t count_characters(const std::string& text);
/// As above after `ms`, during which the function holds its arguments and its thread.
std::int64_t count_elements_after(const Tensor& tensor, std::int32_t ms);

/// Fetches the tensor and returns the sum of its elements.
double fetched_sum(Scope& scope, const RRef<Tensor>& tensor);

/// Returns the result of fetched_sum on `other`.
double forwarded_sum(Scope& scope, const NodeName& other, const RRef<Tensor>& tensor);

/// Arrives `times` times at once. Returns the least number that an arrival got.
std::int64_t arrive_often(Scope& scope, const RRef<Gate>& gate, std::int64_t times);

/// Makes `other` square all numbers below `times`, at once. Returns the number of correct squares.
std::int64_t square_often(Scope& scope, const NodeName& other, std::int64_t times);

/// Makes this node's router fail with an exception, which ends its process: the call gets no result.
void throw_in_router(Scope& scope);

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

/// Returns `everywhere` with all of these functions added.
[[nodiscard]] FunctionRegistry with_load_functions(const FunctionRegistry& everywhere);

}  // namespace troupe::testing
