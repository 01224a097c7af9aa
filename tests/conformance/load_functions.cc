#include "tests/conformance/load_functions.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "actors/core/node_core.h"
#include "tensor/cpu/allocator.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

std::pair<std::uint64_t, std::uint64_t> bytes_with(Scope& scope, const NodeName& peer) {
  const auto traffic = scope.state().node->traffic().counts();
  const PeerTraffic& counts = traffic.value().at(peer);
  return {counts.bytes_sent, counts.bytes_received};
}

std::uint64_t bytes_of_tensors() {
  const CachingAllocator::Statistics memory = cpu_allocator().statistics();
  return memory.bytes_live + memory.bytes_cached;
}

Tensor filled(std::int64_t size, double value) { return full({size}, value); }

std::vector<Tensor> many_tensors(std::int64_t count) {
  std::vector<Tensor> tensors;
  for (std::int64_t i = 0; i < count; ++i) tensors.push_back(ones({1}));
  return tensors;
}

std::int64_t count_elements(const Tensor& tensor) { return tensor.numel(); }

double last_element(const Tensor& tensor) { return tensor.select(0, -1).item(); }

std::int64_t count_characters(const std::string& text) { return static_cast<std::int64_t>(text.size()); }

std::int64_t count_elements_after(const Tensor& tensor, std::int32_t ms) {
  static_cast<void>(compute_for(ms));
  return tensor.numel();
}

double fetched_sum(Scope& scope, const RRef<Tensor>& tensor) { return sum(tensor.to_here(scope)).item(); }

double forwarded_sum(Scope& scope, const NodeName& other, const RRef<Tensor>& tensor) {
  return scope.rpc_sync(other, &fetched_sum, tensor);
}

std::int64_t arrive_often(Scope& scope, const RRef<Gate>& gate, std::int64_t times) {
  std::vector<Future<std::int64_t>> arrivals;
  for (std::int64_t i = 0; i < times; ++i) arrivals.push_back(gate.rpc_async(scope, &Gate::arrive));
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Future<std::int64_t>& arrival : arrivals) least = std::min(least, arrival.get());
  return least;
}

std::int64_t square_often(Scope& scope, const NodeName& other, std::int64_t times) {
  std::vector<Future<std::int64_t>> squares;
  for (std::int64_t i = 0; i < times; ++i) squares.push_back(scope.rpc_async(other, &square, i));
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < times; ++i) right += squares[static_cast<std::size_t>(i)].get() == i * i ? 1 : 0;
  return right;
}

void throw_in_router(Scope& scope) {
  detail::NodeCore& node = *scope.state().node;
  node.request({node.name(), "worker", "throw", std::nullopt, msg::CallCancelled{}},
               [](const Result<msg::AnyMessage>&) { throw std::runtime_error("thrown in the router"); });
  // A result might leave before the router throws.
  static_cast<void>(wait_until_stopped(scope));
}

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

FunctionRegistry with_load_functions(const FunctionRegistry& everywhere) {
  return everywhere.with({{"bytes_with", &bytes_with},
                          {"bytes_of_tensors", &bytes_of_tensors},
                          {"filled", &filled},
                          {"many_tensors", &many_tensors},
                          {"map_devices", &map_devices},
                          {"moved_to", &moved_to},
                          {"allocated_on", &allocated_on},
                          {"shifted", &shifted},
                          {"shifted_by", &shifted_by},
                          {"count_elements", &count_elements},
                          {"last_element", &last_element},
                          {"count_characters", &count_characters},
                          {"count_elements_after", &count_elements_after},
                          {"fetched_sum", &fetched_sum},
                          {"forwarded_sum", &forwarded_sum},
                          {"arrive_often", &arrive_often},
                          {"square_often", &square_often},
                          {"throw_in_router", &throw_in_router}});
}

}  // namespace troupe::testing
