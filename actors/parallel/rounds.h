// The rounds of data-parallel training: each sums the gradients of one backward pass over all members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/collective.h"
#include "actors/parallel/bucket_plan.h"
#include "actors/parallel/data_parallel_options.h"
#include "actors/parallel/member_gradients.h"
#include "actors/scope.h"
#include "autograd/nn/module.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// What a member does in a round.
enum class Presence : std::uint8_t {
  active,  ///< it has a pass
  joined,  ///< it has no further input and only takes part so that the others can go on
};

/// The outcome of a round, equal on all members except for the devices of the gradients.
struct RoundOutcome {
  std::vector<std::size_t> active;      ///< ranks of the members that had a pass; none: all have joined
  std::vector<NodeName> failed;         ///< members whose pass failed: then no member has gradients of the round
  std::vector<LeafGradient> gradients;  ///< means, one per parameter; undefined if no member has one
  std::string cause = {};               ///< why the pass of the first of `failed` failed
};

/// The rows that all members have for one parameter, on the CPU, in the order of their ranks. Both are undefined if no
/// member has a row.
struct MemberRows {
  Tensor indices;
  Tensor values;
};

/// What the operation that ends a round tells every member.
struct RoundEnd {
  std::vector<std::size_t> active;  ///< ranks of the members that had a pass
  std::vector<std::size_t> failed;  ///< ranks of those whose pass failed
  std::vector<bool> used;           ///< for each parameter: some member has a gradient
  std::vector<bool> dense;          ///< for each open parameter of the plan: that of some member is not rows
  Tensor sum;                       ///< of the plan's last bucket, if it ends the round
};

/// What the operations of a plan, but for the bucket at its end, have given.
struct Exchanged {
  std::vector<Tensor> sums;      ///< one for each bucket
  std::vector<MemberRows> rows;  ///< one for each parameter of BucketPlan::rows
};

/// One member's end. All members perform the same rounds in the same order. The first round that succeeds makes the
/// plan, and the first one that uses a parameter puts it there: in these rounds its gradient is summed after the pass,
/// in later ones while the pass runs. A round of which an operation fails ends the collective. Not thread-safe: one
/// round at a time. Its functions wait, in wait_point.h.
class Rounds {
 public:
  /// Operations of rounds are made through `scope`: each has its deadline.
  Rounds(Scope scope, std::shared_ptr<Collective> members, nn::NamedVariables parameters, nn::NamedVariables buffers,
         DataParallelOptions options);

  /// Checks that all members have the same options, parameters and buffers, and gives them the values of rank 0, by
  /// operations of `scope`. Throws std::invalid_argument that names the first difference, on every member; RemoteError.
  void begin(const Scope& scope);

  /// Performs one round. `own` ends at some time. Throws RemoteError; std::invalid_argument that names a member and
  /// the number that it announced and cannot have.
  [[nodiscard]] RoundOutcome run(MemberGradients& own, Presence presence);

  /// Gives all members the parameters and buffers of member `rank`. Throws RemoteError.
  void broadcast_all(std::size_t rank) { broadcast_all(scope_, rank); }

  /// Ends the collective: this member cannot go on. Any thread may call it, also during a round.
  void fail(const std::string& why) { members_->fail(why); }

  [[nodiscard]] const std::vector<NodeName>& names() const { return members_->names(); }
  [[nodiscard]] const NodeName& own_name() const { return names()[members_->rank()]; }
  [[nodiscard]] const nn::NamedVariables& parameters() const { return parameters_; }
  /// Returns the lowest rank that was active in the last round in which any was; 0 before the first.
  [[nodiscard]] std::size_t leader() const { return leader_; }

 private:
  [[nodiscard]] std::vector<std::size_t> active_members(Presence presence);
  [[nodiscard]] BucketPlan agree_on_plan(MemberGradients& own);
  /// Adds the open parameters that this round has used to the plan. Returns the plan of these.
  [[nodiscard]] BucketPlan plan_first_used(const RoundEnd& end);
  [[nodiscard]] ParameterSize size_of_gradient(std::size_t number, GradientKind kind) const;
  [[nodiscard]] Exchanged exchange(const BucketPlan& plan, MemberGradients& own) const;
  /// Gives the parameters of `plan` their means.
  void settle(const BucketPlan& plan, Exchanged exchanged, double scale, RoundOutcome& round) const;
  /// Waits for the gradients of `bucket` and writes them to `flat`, zeros of as many elements.
  void collect(const Bucket& bucket, MemberGradients& own, const Tensor& flat) const;
  /// Gives the parameters of `bucket` their parts of `mean`.
  void distribute(const Bucket& bucket, const Tensor& mean, RoundOutcome& round) const;
  [[nodiscard]] MemberRows gather_rows(std::size_t number, const LeafGradient& own) const;
  /// Settles which members had a pass, which failed, and which parameters are used, and sums the bucket at the end.
  [[nodiscard]] RoundEnd agree_on_end(MemberGradients& own, Presence presence);
  [[nodiscard]] std::vector<std::size_t> marked_members(const Tensor& flags) const;
  void broadcast_all(const Scope& scope, std::size_t rank);
  void broadcast(const Scope& scope, const std::vector<Variable>& variables, std::size_t rank);

  const Scope scope_;
  const std::shared_ptr<Collective> members_;
  const nn::NamedVariables parameters_;
  const nn::NamedVariables buffers_;
  const DataParallelOptions options_;
  std::optional<BucketPlan> plan_;  // from the first round on that succeeds; equal on all members
  std::size_t leader_ = 0;
};

}  // namespace troupe::detail
