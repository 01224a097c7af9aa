#include "optim/clip.h"
#include "optim/rule_options.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/ops/global_norm.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

/// Replaces an option by the case's value, if it has one.
void read(const Case& c, const char* name, double& option) { option = c.number_or(name, option); }
void read(const Case& c, const char* name, bool& option) { option = c.has(name) ? c.flag(name) : option; }

/// As above, for options that torch takes as a pair.
void read(const Case& c, const char* name, double& first, double& second) {
  if (!c.has(name)) return;
  const std::vector<double> pair = c.numbers(name);
  first = pair.at(0);
  second = pair.at(1);
}

/// Maps two parameters and a list of gradients for each to their values after every step.
template <class Options>
Entry rule(void (*read_others)(const Case&, Options&)) {
  return [read_others](const Case& c) -> Computed {
    Options options;
    read(c, "lr", options.lr);
    read(c, "maximize", options.maximize);
    if constexpr (requires { options.weight_decay; }) read(c, "weight_decay", options.weight_decay);
    if constexpr (requires { options.eps; }) read(c, "eps", options.eps);
    if constexpr (requires { options.momentum; }) read(c, "momentum", options.momentum);
    if constexpr (requires { options.amsgrad; }) read(c, "amsgrad", options.amsgrad);
    if constexpr (requires { options.beta1; }) read(c, "betas", options.beta1, options.beta2);
    read_others(c, options);
    const std::unique_ptr<optim::Optimizer> made = optim::make_rule(options);
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

/// Returns the gradients that a step uses: plain SGD with rate 1 and `maximize` adds them to parameters of 0.
std::vector<Variable> seen_by_step(const Case& c, const optim::StepOptions& options) {
  std::vector<optim::ParameterUpdate> updates;
  for (std::size_t i = 0; i < c.inputs().size(); ++i) {
    const Tensor gradient = c.tensor(i);
    updates.push_back({i, zeros_like(gradient), gradient, zeros_like(gradient)});
  }
  optim::Sgd({.lr = 1.0, .maximize = true}).step(updates, options);
  std::vector<Variable> seen;
  for (const optim::ParameterUpdate& update : updates) seen.emplace_back(update.next);
  return seen;
}

Computed clip_grad_norm(const Case& c) {
  const std::vector<Tensor> gradients{c.tensor(0), c.tensor(1)};
  const double norm = global_norm(gradients, c.number("norm_type"));
  std::vector<Variable> results = seen_by_step(c, {.gradient_scale = optim::clip_scale(norm, c.number("max_norm"))});
  results.insert(results.begin(), Variable(full({}, norm, c.dtype())));
  return results;
}

}  // namespace

Entries optimizer_entries() {
  return {
      {"clip_grad_norm", clip_grad_norm},
      {"clip_grad_value",
       [](const Case& c) -> Computed { return seen_by_step(c, {.gradient_limit = c.number("clip_value")}); }},
      {"Sgd", rule<optim::SgdOptions>([](const Case& c, optim::SgdOptions& options) {
         read(c, "dampening", options.dampening);
         read(c, "nesterov", options.nesterov);
       })},
      {"Adam", rule<optim::AdamOptions>([](const Case&, optim::AdamOptions&) {})},
      {"AdamW", rule<optim::AdamWOptions>([](const Case&, optim::AdamWOptions&) {})},
      {"Adagrad", rule<optim::AdagradOptions>([](const Case& c, optim::AdagradOptions& options) {
         read(c, "lr_decay", options.lr_decay);
         read(c, "initial_accumulator_value", options.initial_accumulator_value);
       })},
      {"Adadelta", rule<optim::AdadeltaOptions>(
                       [](const Case& c, optim::AdadeltaOptions& options) { read(c, "rho", options.rho); })},
      {"RMSprop", rule<optim::RMSpropOptions>([](const Case& c, optim::RMSpropOptions& options) {
         read(c, "alpha", options.alpha);
         read(c, "centered", options.centered);
       })},
      {"Adamax", rule<optim::AdamaxOptions>([](const Case&, optim::AdamaxOptions&) {})},
      {"NAdam", rule<optim::NAdamOptions>([](const Case& c, optim::NAdamOptions& options) {
         read(c, "momentum_decay", options.momentum_decay);
       })},
      {"RAdam", rule<optim::RAdamOptions>([](const Case&, optim::RAdamOptions&) {})},
      {"Asgd", rule<optim::AsgdOptions>([](const Case& c, optim::AsgdOptions& options) {
         read(c, "lambd", options.lambda);
         read(c, "alpha", options.alpha);
         read(c, "t0", options.t0);
       })},
      {"SparseAdam", rule<optim::SparseAdamOptions>([](const Case&, optim::SparseAdamOptions&) {})},
      {"Rprop", rule<optim::RpropOptions>([](const Case& c, optim::RpropOptions& options) {
         read(c, "etas", options.eta_minus, options.eta_plus);
         read(c, "step_sizes", options.step_size_min, options.step_size_max);
       })},
  };
}

}  // namespace troupe::reference
