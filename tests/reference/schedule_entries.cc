#include "optim/local_optimizer.h"
#include "optim/lr_cycles.h"
#include "optim/lr_schedule.h"
#include "optim/lr_scheduler.h"
#include "optim/reduce_lr_on_plateau.h"
#include "tensor/create.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

Tensor as_computed(const Case& c, const std::vector<double>& rates) {
  return from_values<double>(rates, {static_cast<std::int64_t>(rates.size())}).to(c.dtype());
}

/// Maps a base rate to the rates of as many steps as are expected.
Entry schedule(std::function<optim::LrSchedule(const Case&)> make) {
  return [make](const Case& c) -> Computed {
    const optim::LrSchedule made = make(c);
    std::vector<double> rates;
    for (std::int64_t step = 0; step < c.find("out0").numel(); ++step) rates.push_back(made(c.tensor(0).item(), step));
    return as_computed(c, rates);
  };
}

Computed plateau(const Case& c) {
  optim::PlateauOptions options{.factor = c.number("factor"), .patience = c.integer("patience")};
  if (c.has("mode") && c.text("mode") == "max") options.mode = optim::PlateauMode::max;
  if (c.has("threshold_mode") && c.text("threshold_mode") == "abs") options.threshold_mode = optim::Threshold::abs;
  if (c.has("cooldown")) options.cooldown = c.integer("cooldown");
  options.threshold = c.number_or("threshold", options.threshold);
  options.min_lr = c.number_or("min_lr", options.min_lr);
  options.eps = c.number_or("eps", options.eps);
  optim::LocalOptimizer optimizer(std::vector<Variable>{Variable(zeros({1}), RequiresGrad::yes)},
                                  optim::SgdOptions{.lr = c.tensor(0).item()});
  optim::ReduceLrOnPlateau scheduler(optimizer, options);
  std::vector<double> rates;
  for (std::int64_t i = 0; i < c.tensor(1).numel(); ++i) {
    scheduler.step(c.tensor(1).select(0, i).item());
    rates.push_back(optimizer.lr());
  }
  return as_computed(c, rates);
}

/// Returns the rates and then the momenta that an optimizer of momentum 0.9 gets in as many steps as are expected.
template <class Cycle>
std::vector<Variable> told(const Case& c, const Cycle& cycle) {
  optim::LocalOptimizer optimizer(std::vector<Variable>{Variable(zeros({1}), RequiresGrad::yes)},
                                  optim::SgdOptions{.lr = c.tensor(0).item(), .momentum = 0.9});
  optim::LrScheduler scheduler(optimizer, cycle.lr(), cycle.momentum());
  std::vector<double> rates;
  std::vector<double> momenta;
  for (std::int64_t step = 0; step < c.find("out0").numel(); ++step, scheduler.step()) {
    rates.push_back(optimizer.lr());
    momenta.push_back(optimizer.momentum());
  }
  return {Variable(as_computed(c, rates)), Variable(as_computed(c, momenta))};
}

Computed one_cycle(const Case& c) {
  optim::OneCycleOptions options{.max_lr = c.number("max_lr"), .total_steps = c.integer("total_steps")};
  options.pct_start = c.number_or("pct_start", options.pct_start);
  options.div_factor = c.number_or("div_factor", options.div_factor);
  options.final_div_factor = c.number_or("final_div_factor", options.final_div_factor);
  options.base_momentum = c.number_or("base_momentum", options.base_momentum);
  options.max_momentum = c.number_or("max_momentum", options.max_momentum);
  if (c.has("anneal_strategy")) options.anneal = optim::Anneal::linear;
  if (c.has("three_phase")) options.three_phase = c.flag("three_phase");
  return told(c, optim::OneCycle(options));
}

Computed cyclic(const Case& c) {
  optim::CyclicOptions options{
      .base_lr = c.number("base_lr"), .max_lr = c.number("max_lr"), .step_size_up = c.integer("step_size_up")};
  if (c.has("step_size_down")) options.step_size_down = c.integer("step_size_down");
  if (c.has("mode"))
    options.mode = c.text("mode") == "exp_range" ? optim::CyclicMode::exp_range : optim::CyclicMode::triangular2;
  options.gamma = c.number_or("gamma", options.gamma);
  options.base_momentum = c.number_or("base_momentum", options.base_momentum);
  return told(c, optim::Cyclic(options));
}

}  // namespace

Entries schedule_entries() {
  using optim::LrSchedule;
  return {
      {"StepLR", schedule([](const Case& c) -> LrSchedule {
         return optim::StepLr({.step_size = c.integer("step_size"), .gamma = c.number("gamma")});
       })},
      {"MultiStepLR", schedule([](const Case& c) -> LrSchedule {
         return optim::MultiStepLr({.milestones = c.integers("milestones"), .gamma = c.number("gamma")});
       })},
      {"ExponentialLR",
       schedule([](const Case& c) -> LrSchedule { return optim::ExponentialLr({.gamma = c.number("gamma")}); })},
      {"CosineAnnealingLR", schedule([](const Case& c) -> LrSchedule {
         return optim::CosineAnnealingLr({.t_max = c.integer("t_max"), .eta_min = c.number("eta_min")});
       })},
      {"LinearLR", schedule([](const Case& c) -> LrSchedule {
         return optim::LinearLr({.start_factor = c.number("start_factor"),
                                 .end_factor = c.number("end_factor"),
                                 .total_iters = c.integer("total_iters")});
       })},
      {"ChainedLR", schedule([](const Case&) -> LrSchedule {
         return optim::ChainedLr({optim::LinearLr({.start_factor = 0.1, .total_iters = 4}),
                                  optim::ExponentialLr({.gamma = 0.9}), optim::CosineAnnealingLr({.t_max = 30})});
       })},
      {"SequentialLR", schedule([](const Case&) -> LrSchedule {
         return optim::SequentialLr({optim::LinearLr({.start_factor = 0.1, .total_iters = 4}),
                                     optim::ExponentialLr({.gamma = 0.9}), optim::CosineAnnealingLr({.t_max = 10})},
                                    {4, 11});
       })},
      {"ConstantLR", schedule([](const Case& c) -> LrSchedule {
         return optim::ConstantLr({.factor = c.number("factor"), .total_iters = c.integer("total_iters")});
       })},
      {"PolynomialLR", schedule([](const Case& c) -> LrSchedule {
         return optim::PolynomialLr({.total_iters = c.integer("total_iters"), .power = c.number("power")});
       })},
      {"CosineAnnealingWarmRestarts", schedule([](const Case& c) -> LrSchedule {
         return optim::CosineAnnealingWarmRestarts(
             {.t_0 = c.integer("t_0"), .t_mult = c.integer("t_mult"), .eta_min = c.number("eta_min")});
       })},
      {"OneCycleLR", one_cycle},
      {"CyclicLR", cyclic},
      {"ReduceLROnPlateau", plateau},
  };
}

}  // namespace troupe::reference
