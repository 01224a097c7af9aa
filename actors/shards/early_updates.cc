#include "actors/shards/early_updates.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <utility>

#include "actors/calls/scope_state.h"
#include "actors/contexts/contexts.h"
#include "actors/contexts/gradient_reducer.h"
#include "actors/core/node_core.h"
#include "actors/shards/shards.h"

namespace troupe::detail {
namespace {

/// Shows the gradients of one context to one shard. Reduces nothing.
class EarlyUpdates final : public GradientReducer {
 public:
  EarlyUpdates(const std::shared_ptr<NodeCore>& node, OptimizerId optimizer, ContextId context,
               msg::StepSettings settings)
      : node_(node), optimizer_(std::move(optimizer)), context_(std::move(context)), settings_(std::move(settings)) {}

  void begin(const PassId& /*pass*/) override {
    if (passes_.fetch_add(1) > 0) drop();
  }

  void found(const PassId& /*pass*/, const Variable& leaf, const Tensor& gradient, const SparseTensor& rows) override {
    if (passes_.load() > 1 || rows.defined() || !gradient.defined()) return;
    if (const auto node = node_.lock()) node->shards().prepare_early(optimizer_, context_, settings_, leaf, gradient);
  }

  void finish(const PassId& /*pass*/, Gradients gradients, Done done) override { done(std::move(gradients)); }

  void fail(const PassId& /*pass*/, const Error& /*why*/) override { drop(); }

 private:
  void drop() const {
    if (const auto node = node_.lock()) node->shards().drop_early(optimizer_, context_);
  }

  const std::weak_ptr<NodeCore> node_;
  const OptimizerId optimizer_;
  const ContextId context_;
  const msg::StepSettings settings_;
  std::atomic<int> passes_{0};  // that have begun
};

}  // namespace

void prepare_in_pass(Scope& scope, const OptimizerId& optimizer, const msg::StepSettings& settings) {
  const std::shared_ptr<NodeCore>& node = scope.state().node;
  const auto& context = scope.state().context;
  if (!context) throw std::logic_error("[DistOptimizer] the call has no autograd context");
  if (scope.caller() != optimizer.creator) {
    throw RemoteError(node->error(ErrorCode::protocol_violation, node->name(), "overlap",
                                  "optimizer " + optimizer.text() + " is not of " + scope.caller()));
  }
  if (!node->shards().shared_by(optimizer)) {
    throw RemoteError(node->error(ErrorCode::step_not_applied, node->name(), "overlap",
                                  "optimizer " + optimizer.text() + " has no shard on " + node->name()));
  }
  node->contexts().attach(*context, std::make_shared<EarlyUpdates>(node, optimizer, *context, settings));
}

}  // namespace troupe::detail
