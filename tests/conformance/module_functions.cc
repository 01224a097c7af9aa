#include "tests/conformance/module_functions.h"

#include <memory>
#include <stdexcept>

#include "autograd/ops.h"
#include "tensor/ops.h"

namespace troupe::testing {

TwoLayers::TwoLayers(std::int64_t inputs, std::int64_t width, double scale, Generator& generator) : scale_(scale) {
  if (width <= 0) throw std::invalid_argument("[TwoLayers] width of " + std::to_string(width));
  first_ = add_module("first", std::make_shared<nn::Linear>(inputs, width, generator));
  norm_ = add_module("norm", std::make_shared<nn::BatchNorm1d>(width));
  second_ = add_module("second", std::make_shared<nn::Linear>(width, 1, generator));
}

Variable TwoLayers::forward(const Variable& x, const std::string& activation) {
  const Variable hidden = norm_->forward(first_->forward(x));
  return second_->forward(activation == "tanh" ? tanh(hidden) : relu(hidden)) * scale_;
}

Tensor forward_elsewhere(Scope& scope, const RemoteModule<TwoLayers>& net, const Tensor& x) {
  return net.forward(scope, x, "tanh").value();
}

double use_existing(Scope& scope, const RRef<TwoLayers>& net, const Tensor& x) {
  const RemoteModule handle(net);
  handle.train(scope);
  return sum(handle.forward(scope, x, "relu").value()).item();
}

RemoteModule<TwoLayers> make_on(Scope& scope, const std::string& place, std::int64_t width) {
  return RemoteModule(scope, place, two_layers, 3, width, 0.5, Generator(7));
}

FunctionRegistry with_module_functions(const FunctionRegistry& functions) {
  return functions.with({{"TwoLayers", two_layers},
                         {"forward_elsewhere", &forward_elsewhere},
                         {"use_existing", &use_existing},
                         {"make_on", &make_on}});
}

}  // namespace troupe::testing
