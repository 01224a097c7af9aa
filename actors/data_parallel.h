// Data-parallel training: every member of a group has a replica of a module; backward passes leave the mean gradients.
//
//   const DataParallel net(node, gloo_collective(node, node.role("trainer")), std::make_shared<Net>(seed));
//   DistContext ctx(node);
//   backward(ctx, cross_entropy(net.forward(ctx, images), labels));
//   ctx.grad(w);                                      // the mean over all members
#pragma once

#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "actors/collective.h"
#include "actors/parallel/data_parallel_options.h"
#include "actors/scope.h"
#include "autograd/nn/module.h"

namespace troupe {

namespace detail {

class Reducer;

/// The part of DataParallel that does not depend on the module's class.
class Replica {
 public:
  Replica(const Scope& scope, std::shared_ptr<Collective> members, const nn::Module& module,
          const DataParallelOptions& options);
  void attach(const Scope& scope) const;
  void hold() const;
  void stop_holding() const;
  void join() const;

 private:
  std::shared_ptr<Reducer> reducer_;
};

}  // namespace detail

/// A replica of a module on this node, as one member of a group. A handle: copies are the same replica.
///
/// Each backward pass of a context through which `forward` was called is a round: all members have one pass per round,
/// in the same order. Its gradients of the replica's parameters are the same on all members: the sum over the members
/// divided as DataParallelOptions::divisor says, undefined for a parameter that no member has used. They travel in
/// buckets while the pass runs. A gradient stays sparse (rows of a table) if it is sparse on all members in the first
/// round that uses the parameter. Gradients of other leaves, here and on other nodes, are those of the pass alone. If
/// the pass of one member fails, the passes of all members fail, with its name, and the next round can begin. If a
/// member dies, or leaves by destroying its replica, the rounds of the others fail at once and for good. The same
/// happens if a pass ends by its deadline or is cancelled while it only waits for slower members, which have already
/// been told that it succeeded.
///
/// In a stage of a Pipeline the context is that of the pipeline's driver: a batch is one round, also with a loss.
/// A pass through several replicas is a round of each; members may call them in any order.
///
/// Nothing else may use the collective. Parameters that do not require a gradient when it is made do not take part.
/// Tensors on a GPU travel through the CPU. Source: `torch.nn.parallel.DistributedDataParallel`.
/// Thread rule: any thread may call any member. One pass at a time: a second one fails with bad_argument.
template <class M>
class DataParallel {
  static_assert(std::is_base_of_v<nn::Module, M>, "not a class of modules: derive it from nn::Module or nn::Layer");

 public:
  /// Gives the parameters and buffers of the module of rank 0 to all members; waits until every member has made its
  /// replica. Each operation of a round has the call deadline of `scope`, but does not end with `scope`, which may be
  /// that of a served function. Throws std::invalid_argument if `module` or `members` is null, no parameter requires a
  /// gradient, or members have different modules or options (the text names the first difference); RemoteError.
  DataParallel(const Scope& scope, std::shared_ptr<Collective> members, std::shared_ptr<M> module,
               const DataParallelOptions& options = {})
      : module_(std::move(module)), replica_(scope, std::move(members), checked(module_), options) {}

  /// Runs the module's forward; passes of the context of `scope` are rounds from now on. If gradients are disabled or
  /// the module is in eval mode, it only runs the forward. Throws std::logic_error if `scope` has no context.
  template <class... Args>
  auto forward(const Scope& scope, Args&&... args) const {
    if (grad_enabled() && module_->mode() == nn::Mode::train) synchronize(scope);
    Scope inner = scope;
    if constexpr (requires { module_->forward(inner, std::forward<Args>(args)...); }) {
      return module_->forward(inner, std::forward<Args>(args)...);
    } else {
      return module_->forward(std::forward<Args>(args)...);
    }
  }

  /// Makes the passes of the context of `scope` rounds, without a forward: for functions of the module that are called
  /// directly. Throws as forward.
  void synchronize(const Scope& scope) const { replica_.attach(scope); }

  /// While this object lives, passes that begin are not rounds: this node holds their gradients of the parameters,
  /// outside the context, and adds them to those of the next round that succeeds. For steps over several batches.
  class NoSync {
   public:
    explicit NoSync(detail::Replica replica) : replica_(std::move(replica)) { replica_.hold(); }
    ~NoSync() { replica_.stop_holding(); }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    detail::Replica replica_;
  };
  [[nodiscard]] NoSync no_sync() const { return NoSync(replica_); }

  /// For members that have unequal numbers of batches: takes part in the rounds of the others until every member has
  /// called it. Then all members have the parameters and buffers of a member that was active to the end. Gradients that
  /// no_sync holds here go into the first of these rounds that succeeds; if none does, they are dropped. Throws
  /// RemoteError; std::logic_error while a pass runs.
  void join() const { replica_.join(); }

  [[nodiscard]] M& module() const { return *module_; }

 private:
  static const nn::Module& checked(const std::shared_ptr<M>& module) {
    if (module == nullptr) throw std::invalid_argument("[DataParallel] the module is null");
    return *module;
  }

  std::shared_ptr<M> module_;
  detail::Replica replica_;
};

}  // namespace troupe
