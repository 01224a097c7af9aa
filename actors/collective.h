// Operations that all members of a group carry out together on tensors: sums over data-parallel trainers and their like.
//
//   const auto trainers = gloo_collective(node, node.role("trainer"));   // node/gloo_collective.h; every trainer says it
//   const Tensor mean = trainers->all_reduce(scope, gradient, ReduceOp::mean);
//
// An interface; how bytes travel is its implementation's business. Every member carries out the same operations in the same
// order, on tensors of the same shape and dtype. Each waits, through wait_point.h, until its part in it is done, the
// scope's deadline or stop, or the end of a member. An operation that fails breaks the collective: this one and all later
// ones fail on every member, at once, with the first cause; what is left is to form another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "actors/future.h"
#include "actors/scope.h"
#include "messages/ids.h"
#include "tensor/tensor.h"

namespace troupe {

/// How the elements of all members become one.
enum class ReduceOp : std::uint8_t {
  sum,
  mean,  ///< of floating dtypes
  min,
  max,
  prod,
};

/// "sum"
[[nodiscard]] std::string_view name_of(ReduceOp op);

/// One member's end of a collective. Ends with its last owner: operations that still need this member then fail on the
/// others, and it never waits for them.
///
/// Tensors are on the CPU, of any layout; arguments are only read, results are new and contiguous. Reductions take every
/// dtype but boolean; their order is that of the implementation, the same on every run, and all members get the same bits.
/// f16 and bf16 are reduced, and travel, as f32; the result is rounded once.
///
/// All operations throw RemoteError: timeout, naming the operation and whom it waited for; peer_down, naming the member
/// that died; shutting_down; cancelled, if the scope stopped or a member has left; bad_argument, naming both operations, if
/// members differ in operation, dtype or shape (each part says what its sender does, so this needs no exchange of its own),
/// or if the tensor is not one that the operation takes.
///
/// Thread rule: any thread may call any member. Operations run one after the other, in the order in which they were called.
class Collective {
 public:
  virtual ~Collective() = default;

  /// The members by rank.
  [[nodiscard]] virtual const std::vector<NodeName>& names() const = 0;
  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] std::size_t size() const { return names().size(); }

  /// Returns the elements of all members' `value`, combined, to every member.
  [[nodiscard]] virtual Tensor all_reduce(const Scope& scope, const Tensor& value, ReduceOp op = ReduceOp::sum) = 0;

  /// The same, carried out on the pool. `value` must not be written before the future is done. Cancelling the future
  /// changes nothing but that nobody hears of the result.
  [[nodiscard]] virtual Future<Tensor> all_reduce_async(const Scope& scope, const Tensor& value, ReduceOp op = ReduceOp::sum) = 0;

  /// Returns the same to member `to` alone; an undefined tensor elsewhere.
  [[nodiscard]] virtual Tensor reduce(const Scope& scope, const NodeName& to, const Tensor& value, ReduceOp op = ReduceOp::sum) = 0;

  /// Returns the `value` of member `from`. What the others pass says only which shape and dtype they expect.
  [[nodiscard]] virtual Tensor broadcast(const Scope& scope, const NodeName& from, const Tensor& value) = 0;

  /// Returns everybody's `value`, by rank: views of one tensor.
  [[nodiscard]] virtual std::vector<Tensor> all_gather(const Scope& scope, const Tensor& value) = 0;

  /// Returns when all members are here.
  virtual void barrier(const Scope& scope) = 0;

 protected:
  Collective() = default;
  Collective(const Collective&) = default;
  Collective& operator=(const Collective&) = default;
};

}  // namespace troupe
