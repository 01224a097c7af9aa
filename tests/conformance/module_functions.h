// Modules that the nodes of conformance tests make for each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/remote_module.h"
#include "actors/scope.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "autograd/nn/norm.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

/// y = activation(x * first) * second * scale, with a batch norm in between.
class TwoLayers : public nn::Module {
 public:
  /// Throws std::invalid_argument `[TwoLayers] width of 0` if `width` is not positive.
  TwoLayers(std::int64_t inputs, std::int64_t width, double scale, Generator& generator);

  [[nodiscard]] Variable forward(const Variable& x, const std::string& activation);

 private:
  double scale_;
  std::shared_ptr<nn::Linear> first_;
  std::shared_ptr<nn::BatchNorm1d> norm_;
  std::shared_ptr<nn::Linear> second_;
};

inline constexpr auto two_layers = module_class<TwoLayers, std::int64_t, std::int64_t, double, Generator>;

/// Runs the module's forward on this node: the module is anywhere.
Tensor forward_elsewhere(Scope& scope, const RemoteModule<TwoLayers>& net, const Tensor& x);

/// Makes a handle of an existing module, in train mode, and returns the sum of its output.
double use_existing(Scope& scope, const RRef<TwoLayers>& net, const Tensor& x);

RemoteModule<TwoLayers> make_on(Scope& scope, const std::string& place, std::int64_t width);

[[nodiscard]] FunctionRegistry with_module_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
