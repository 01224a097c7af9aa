// Steps on parameters of this process, from gradients of a backward pass.
//
//   optim::LocalOptimizer optimizer(model.parameters(), optim::AdamOptions{.lr = 1e-3});
//   for (const Batch& batch : batches) {
//     const Gradients gradients = backward(cross_entropy(model(batch.x), batch.classes));
//     optimizer.step(gradients, {.gradient_scale = optim::clip_scale(optim::global_norm(gradients), 1.0)});
//   }
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "optim/optimizer.h"
#include "optim/parameter.h"
#include "optim/rule_options.h"
#include "optim/second_buffers.h"
#include "tensor/io/named_tensors.h"

namespace troupe::optim {

/// Parameters that are stepped by one rule with one set of options.
struct ParameterGroup {
  Parameters parameters;
  RuleOptions options;
};

/// Rules, their states and the second buffers of parameters. A step replaces values, so forwards that began before it,
/// and graphs that saved a value, keep the old ones. Not safe for several threads at once; others may read the
/// parameters.
class LocalOptimizer {
 public:
  LocalOptimizer(Parameters parameters, const RuleOptions& options);

  /// For example {{.parameters = body.parameters(), .options = SgdOptions{.lr = 0.1}},
  ///              {.parameters = head.parameters(), .options = AdamOptions{}}}.
  /// Throws ValueError `[optimizer] group 1 has no parameters`, `[optimizer] parameter 2 of group 1 is given twice`, or
  /// if an option is out of range; TensorError `[optimizer] parameter 2 of group 1 is not a leaf`.
  explicit LocalOptimizer(std::vector<ParameterGroup> groups);

  /// Steps every parameter that has a gradient in `gradients`; gradients of others are left alone.
  /// Throws before any value or state changes: what Optimizer::step() throws of gradients that do not fit.
  template <TensorsByParameter Gradients>
  void step(const Gradients& gradients, const StepOptions& options = {}) {
    Found found;
    for (const auto& [parameter, gradient] : gradients) found.emplace_back(parameter.id(), gradient);
    step_found(found, options);
  }

  [[nodiscard]] std::size_t group_count() const noexcept { return groups_.size(); }

  /// The rule of a group, with the states of its parameters by their place in it.
  /// Throws IndexError `[optimizer] no group 2 of 2`, as every function that takes a group.
  [[nodiscard]] const Optimizer& rule(std::size_t group = 0) const;

  [[nodiscard]] double lr(std::size_t group = 0) const { return rule(group).lr(); }
  /// Throws ValueError `[adam] lr is not a number >= 0: -0.1`.
  void set_lr(std::size_t group, double lr);
  /// Of all groups.
  void set_lr(double lr);

  /// Options and states of all groups for write_safetensors(): "groups.0.adam.lr", "groups.0.parameters.3.exp_avg".
  /// Values of parameters are not among them. Nothing is copied; later steps do not change what is returned.
  [[nodiscard]] NamedTensors state() const;

  /// Goes on from a state that was saved, with the step sizes that it had. With the same values of parameters all that
  /// follows is what would have followed there, to the bit.
  /// Throws ValueError that names what does not fit, and changes nothing: as Optimizer::load_state(), and
  /// `[load_state] unexpected: groups.2.adam.lr`.
  void load_state(const NamedTensors& state);

 private:
  using Found = std::vector<std::pair<const void*, Tensor>>;
  struct Group {
    std::vector<Parameter> parameters;
    RuleOptions options;
    std::unique_ptr<Optimizer> rule;
    SecondBuffers buffers;
  };
  struct Place {
    std::size_t group = 0;
    std::size_t index = 0;
  };

  void step_found(const Found& found, const StepOptions& options);
  void require_group(std::size_t number) const;

  std::vector<Group> groups_;
  std::unordered_map<const void*, Place> places_;
};

}  // namespace troupe::optim
