// Operations that all members of a group perform together on tensors, for example sums over data-parallel trainers.
//
//   const auto trainers = gloo_collective(node, node.role("trainer"));   // node/gloo_collective.h; on every trainer
//   const Tensor mean = trainers->all_reduce(scope, gradient, ReduceOp::mean);
//
// An interface; the implementation chooses how bytes travel. REQUIRES: every member calls the same operations in the
// same order, on tensors of the same shape and dtype. A call waits, through wait_point.h, until this member's part is
// done, the scope's deadline passes or its stop token stops, or a member ends. A failed operation breaks the
// collective: it and all later operations fail on every member, immediately, with the first cause. To continue, form a
// new collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "actors/future.h"
#include "actors/scope.h"
#include "messages/ids.h"
#include "tensor/tensor.h"

namespace troupe {

/// How the elements of all members are combined.
enum class ReduceOp : std::uint8_t {
  sum,
  mean,  ///< of floating dtypes
  min,
  max,
  prod,
};

/// Returns the name of `op`: "sum".
[[nodiscard]] std::string_view name_of(ReduceOp op);

/// One member's end of a collective. Destroying the last owner makes the others' operations that still need this member
/// fail; the destructor does not wait for them.
///
/// Tensors are on the CPU, of any layout. Arguments are only read; results are new and contiguous. Reductions accept
/// every dtype but boolean. The implementation fixes their order: it is the same in every run, and all members get the
/// same bits. f16 and bf16 travel and are reduced as f32; the result is rounded once.
///
/// All operations throw RemoteError: timeout, naming the operation and the members it waited for; peer_down, naming the
/// member that died; shutting_down; cancelled, if the scope stopped or a member has left; resource_exhausted, if a
/// member has no memory for the result; bad_argument, if the operation does not accept the tensor, or, naming both
/// operations, if members differ in operation, dtype or shape (every part names its sender's operation, so the check
/// costs no extra message). They throw TensorError for an undefined tensor and std::invalid_argument for a name that is
/// no member's; that does not break the collective: the operation has not begun, and the others still wait for it.
///
/// Thread rule: any thread may call any member. Operations run one after the other, in the order of the calls.
class Collective {
 public:
  virtual ~Collective() = default;

  /// Returns the names of the members, by rank.
  [[nodiscard]] virtual const std::vector<NodeName>& names() const = 0;
  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] std::size_t size() const { return names().size(); }

  /// Returns the combined elements of all members' `value`, to every member.
  [[nodiscard]] virtual Tensor all_reduce(const Scope& scope, const Tensor& value, ReduceOp op = ReduceOp::sum) = 0;

  /// As all_reduce, but runs on the pool. For every operation that ends with _async: REQUIRES: `value` is not written
  /// to before the future is done. Cancelling the future only discards its result; the operation continues.
  [[nodiscard]] virtual Future<Tensor> all_reduce_async(const Scope& scope, const Tensor& value,
                                                        ReduceOp op = ReduceOp::sum) = 0;

  /// As all_reduce, but only member `to` gets the result; the others get an undefined tensor.
  [[nodiscard]] virtual Tensor reduce(const Scope& scope, const NodeName& to, const Tensor& value,
                                      ReduceOp op = ReduceOp::sum) = 0;
  /// As reduce, on the pool.
  [[nodiscard]] virtual Future<Tensor> reduce_async(const Scope& scope, const NodeName& to, const Tensor& value,
                                                    ReduceOp op = ReduceOp::sum) = 0;

  /// Returns the `value` of member `from`. The `value` of the others gives only the shape and dtype that they expect.
  [[nodiscard]] virtual Tensor broadcast(const Scope& scope, const NodeName& from, const Tensor& value) = 0;
  /// As broadcast, on the pool.
  [[nodiscard]] virtual Future<Tensor> broadcast_async(const Scope& scope, const NodeName& from,
                                                       const Tensor& value) = 0;

  /// Returns the `value` of every member, by rank: views of one tensor.
  [[nodiscard]] virtual std::vector<Tensor> all_gather(const Scope& scope, const Tensor& value) = 0;
  /// As all_gather, on the pool.
  [[nodiscard]] virtual Future<std::vector<Tensor>> all_gather_async(const Scope& scope, const Tensor& value) = 0;

  /// Returns when all members have called it.
  virtual void barrier(const Scope& scope) = 0;

  /// Breaks the collective: operations of all members fail with code cancelled and this member's `why`.
  virtual void fail(const std::string& why) = 0;

 protected:
  Collective() = default;
  Collective(const Collective&) = default;
  Collective& operator=(const Collective&) = default;
};

}  // namespace troupe
