#include "optim/adam.h"
#include "optim/sgd.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

using Make = std::function<std::unique_ptr<optim::Optimizer>(const Case&)>;

/// Two parameters and a list of gradients for each -> their values after every step.
Entry rule(const Make& make) {
  return [make](const Case& c) -> Computed {
    const std::unique_ptr<optim::Optimizer> made = make(c);
    constexpr std::size_t kParameters = 2;
    std::vector<Tensor> current{c.tensor(0).clone(), c.tensor(1).clone()};
    std::vector<std::vector<Tensor>> values(kParameters);
    for (std::int64_t step = 0; step < c.tensor(kParameters).size(0); ++step) {
      std::vector<optim::ParameterUpdate> updates;
      for (std::size_t i = 0; i < kParameters; ++i) {
        const Tensor gradient = c.tensor(kParameters + i).select(0, step);
        updates.push_back({i, current[i], gradient, empty(current[i].shape(), c.dtype())});
      }
      made->step(updates);
      for (std::size_t i = 0; i < kParameters; ++i) values[i].push_back(current[i] = updates[i].next);
    }
    return std::vector<Variable>{stack(values[0]), stack(values[1])};
  };
}

}  // namespace

Entries optimizer_entries() {
  return {
      {"Sgd", rule([](const Case& c) {
         return std::make_unique<optim::Sgd>(optim::SgdOptions{.lr = c.number("lr"),
                                                               .momentum = c.number_or("momentum", 0.0),
                                                               .dampening = c.number_or("dampening", 0.0),
                                                               .weight_decay = c.number_or("weight_decay", 0.0),
                                                               .nesterov = c.has("nesterov") && c.flag("nesterov")});
       })},
      {"Adam", rule([](const Case& c) {
         optim::AdamOptions options{.lr = c.number("lr")};
         options.eps = c.number_or("eps", options.eps);
         options.weight_decay = c.number_or("weight_decay", options.weight_decay);
         if (c.has("betas")) {
           const std::vector<double> betas = c.numbers("betas");
           options.beta1 = betas.at(0);
           options.beta2 = betas.at(1);
         }
         return std::make_unique<optim::Adam>(options);
       })},
  };
}

}  // namespace troupe::reference
