#include "optim/lr_schedule.h"
#include "optim/reduce_lr_on_plateau.h"
#include "tensor/create.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

Tensor as_computed(const Case& c, const std::vector<double>& rates) {
  return from_values<double>(rates, {static_cast<std::int64_t>(rates.size())}).to(c.dtype());
}

/// A base rate -> the rates of as many steps as are expected.
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
      {"ReduceLROnPlateau", plateau},
  };
}

}  // namespace troupe::reference
