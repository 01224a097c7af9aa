// A module of a network on another node.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/modules/module_class.h"
#include "actors/modules/parameters_of.h"
#include "actors/modules/placement.h"
#include "actors/rref.h"
#include "autograd/nn/module.h"
#include "autograd/variable.h"

namespace troupe {

/// A handle of a module that lives on one node: `net.forward(scope, x)` runs there, in turn with all other uses of it
/// (see RRef: a forward that waits gives its turn up).
/// Copies refer to the same module. Travels in arguments and results: any node may run its forward. What is not here
/// (state, hooks, further functions) is called where the module is, `net.module_rref().rpc_sync(scope, &Net::f, ...)`.
/// Source: `torch.distributed.nn.RemoteModule`. Thread rule: any thread may call any member.
template <class M>
class RemoteModule {
  static_assert(std::is_base_of_v<nn::Module, M>, "not a class of modules: derive it from nn::Module or nn::Layer");

 public:
  /// A null handle: every use throws std::logic_error.
  RemoteModule() = default;

  /// Makes a module at `place` ("ps0", "ps0/cuda:1", "rank:2/cuda:0"; without a device, on the CPU) from the
  /// constructor's arguments. Returns at once: an unknown node, a device that the node lacks and an exception of the
  /// constructor are errors of the first use. Throws std::invalid_argument if `place` is malformed, or the class is not
  /// registered on this node.
  template <class... Params, class... Args>
  RemoteModule(Through through, std::string_view place, const detail::ModuleClass<M, Params...>& /*of*/,
               Args&&... args) {
    using Wire = std::tuple<typename detail::ConstructorArgument<Params>::Wire...>;
    if constexpr (detail::CallCheck<Wire, Args...>::passes) {
      module_ = make<Params...>(through, Placement::parse(place), std::forward<Args>(args)...);
    }
  }

  /// A handle of a module that exists, on the reference's owner. Its class is registered there by a module_class.
  explicit RemoteModule(RRef<M> module) : module_(std::move(module)) {}

  /// Runs M::forward where the module is and returns its result. Tensors in the arguments are moved to the module's
  /// device. Tensors of the result are moved to the CPU if no device map takes them from there to the caller, unless
  /// forward returns a Future or is a Task. Gradients go by way of the CPU and arrive on the device of their value;
  /// through a scope without a context none comes back. Under a NoGradGuard of the calling thread the module runs under
  /// one, too: no graph is recorded on either node. (The guard does not cover what a Task runs after a wait.) Throws as
  /// Future::get.
  template <class... Args>
  auto forward(Through through, Args&&... args) const {
    return forward_async(through, std::forward<Args>(args)...).get();
  }
  template <class... Args>
  [[nodiscard]] auto forward_async(Through through, Args&&... args) const {
    if (!grad_enabled()) {
      return module_.rpc_async(through, detail::ForwardToCaller<M, false>{}, std::forward<Args>(args)...);
    }
    return module_.rpc_async(through, detail::ForwardToCaller<M, true>{}, std::forward<Args>(args)...);
  }

  /// Returns references to the parameters, for a DistOptimizer, in the order of nn::Module::parameters(). Throws
  /// RemoteError.
  [[nodiscard]] std::vector<RRef<Variable>> remote_parameters(Through through) const {
    return parameters_of(through, module_);
  }

  /// Sets the mode of the module and its parts; returns when it is set. Throws RemoteError.
  void set_mode(Through through, nn::Mode mode) const {
    const Scope outside = detail::without_context(through.scope);
    module_.rpc_sync({outside, through.site}, member_of<M>(&nn::Module::set_mode), mode);
  }
  void train(Through through) const { set_mode(through, nn::Mode::train); }
  void eval(Through through) const { set_mode(through, nn::Mode::eval); }
  [[nodiscard]] nn::Mode mode(Through through) const {
    const Scope outside = detail::without_context(through.scope);
    return module_.rpc_sync({outside, through.site}, member_of<M>(&nn::Module::mode));
  }

  /// Returns the device of the module, on its owner.
  [[nodiscard]] Device device(Through through) const {
    const Scope outside = detail::without_context(through.scope);
    return module_.rpc_sync({outside, through.site}, member_of<M>(&nn::Module::device));
  }

  [[nodiscard]] const RRef<M>& module_rref() const { return module_; }
  [[nodiscard]] const NodeName& owner() const { return module_.owner(); }

  /// Two handles are equal if they refer to the same module.
  friend bool operator==(const RemoteModule&, const RemoteModule&) = default;

  /// For calls; elsewhere it throws EncodeError or DecodeError, as for an RRef.
  template <class Archive>
  void serialize(Archive& archive) {
    archive(module_);
  }

 private:
  template <class... Params, class... Args>
  static RRef<M> make(const Through& through, const Placement& place, Args&&... args) {
    const To to = place.rank ? To(*place.rank, through.site) : To(place.node, through.site);
    return detail::without_context(through.scope)
        .remote(to, detail::MakeModule<M, Params...>{}, place.device, std::forward<Args>(args)...);
  }

  RRef<M> module_;
};

}  // namespace troupe
