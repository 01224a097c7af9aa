// A saved state on its way to its owner: received in chunks, then made the present state at once. A plain class.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/scope.h"
#include "tensor/io/checkpoint_files.h"
#include "tensor/io/named_tensors.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// One thread at a time: the functions of a referenced value take turns.
class StagedState {
 public:
  /// Makes `state` the present one; all of it, or nothing if it throws.
  using Load = std::function<void(const Scope&, const NamedTensors& state)>;

  /// Allocates memory for the tensors of `plans`. REQUIRES: they were compared with the present state.
  StagedState(const std::vector<TensorPlan>& plans, Load load);

  /// Sets the bytes of tensor number `tensor` from byte `first` on. Throws IndexError as StateSnapshot::read.
  void write(std::uint64_t tensor, std::uint64_t first, const Tensor& bytes);

  /// Throws std::logic_error unless as many bytes were written as the tensors have; what Load throws.
  void load(Scope& scope);

 private:
  NamedTensors state_;
  std::uint64_t missing_ = 0;  ///< bytes
  Load load_;
};

[[nodiscard]] std::vector<TensorPlan> plans_of(const NamedTensors& state);

/// Throws ValueError that lists every difference, `[op] missing: a; unexpected: b; c is f32 (2), not f32 (3)`, unless
/// `plans` are those of `wanted`, in any order.
void check_plans(const char* op, const std::vector<TensorPlan>& wanted, const std::vector<TensorPlan>& plans);

}  // namespace troupe::detail
