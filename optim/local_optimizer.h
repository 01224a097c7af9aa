// Steps on parameters of this process, from gradients of a backward pass.
//
//   optim::LocalOptimizer optimizer(model.parameters(), optim::AdamOptions{.lr = 1e-3});
//   for (const Batch& batch : batches) {
//     Gradients gradients = backward(cross_entropy(model(batch.x), batch.classes));
//     const double scale = optim::clip_scale(optim::global_norm(gradients), 1.0);
//     optimizer.step(std::move(gradients), {.gradient_scale = scale});
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
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

  /// Steps every parameter that has a gradient in `gradients`; gradients of others are left alone. A gradient of rows
  /// steps these alone, in time that does not depend on the others once there is a second buffer, where the rule
  /// changes nothing else (Optimizer::zero_changes_nothing); else it is made a tensor. The bits are the same, but of
  /// SparseAdam, which is there to leave rows out. Throws before any value or state changes: what Optimizer::step()
  /// throws of gradients that do not fit.
  template <TensorsByParameter Gradients>
  void step(const Gradients& gradients, const StepOptions& options = {}) {
    step_found(find(gradients, GivenUp::no), options);
  }

  /// The same with gradients that are given up: a new value may be written where its gradient was, and the memory of
  /// the old one is let go, so that a parameter has no second buffer, unless its gradient is of rows. Gradients that
  /// others hold are left as they are.
  template <class Gradients>
    requires(TensorsByParameter<Gradients> && !std::is_reference_v<Gradients> && !std::is_const_v<Gradients>)
  void step(Gradients&& gradients, const StepOptions& options = {}) {
    step_found(find(gradients, GivenUp::yes), options);
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

  [[nodiscard]] double momentum(std::size_t group = 0) const { return rule(group).momentum(); }
  /// Throws as Optimizer::set_momentum().
  void set_momentum(std::size_t group, double momentum);

  /// Options and states of all groups for write_safetensors(): "groups.0.adam.lr", "groups.0.parameters.3.exp_avg".
  /// Values of parameters are not among them. Nothing is copied; later steps do not change what is returned.
  [[nodiscard]] NamedTensors state() const;

  /// Goes on from a state that was saved, with the step sizes that it had. With the same values of parameters all that
  /// follows is what would have followed there, to the bit.
  /// Throws ValueError that names what does not fit, and changes nothing: as Optimizer::load_state(), and
  /// `[load_state] unexpected: groups.2.adam.lr`.
  void load_state(const NamedTensors& state);

 private:
  enum class GivenUp : std::uint8_t { no, yes };
  struct FoundGradient {
    const void* parameter;
    Tensor gradient;
    GivenUp given_up;
    Tensor rows{};  ///< to which the gradient belongs, as in ParameterUpdate
  };
  using Found = std::vector<FoundGradient>;
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

  template <class Gradients>
  [[nodiscard]] Found find(const Gradients& gradients, GivenUp given_up) const {
    Found found;
    const auto add = [&](const void* parameter, const Tensor& gradient, long handles) {
      const bool is_ours =
          given_up == GivenUp::yes && gradient.defined() && gradient.storage().handle_count() <= handles;
      found.push_back({parameter, gradient, is_ours ? GivenUp::yes : GivenUp::no});
    };
    if constexpr (RowsByParameter<Gradients>) {
      for (const auto& parameter : gradients.leaves()) {
        if (!places_.contains(parameter.id())) continue;
        const SparseTensor rows =
            steps_by_rows(parameter.id()) ? gradients.sparse_of(parameter).coalesce() : SparseTensor();
        if (rows.defined() && are_rows(parameter.id(), rows)) {
          found.push_back({parameter.id(), rows.values(), GivenUp::no, rows.indices().select(0, 0)});
        } else {
          add(parameter.id(), gradients.of(parameter), 2);  // of the gradients, and the one that is asked here
        }
      }
    } else {
      for (const auto& [parameter, gradient] : gradients) add(parameter.id(), gradient, 1);
    }
    return found;
  }

  /// Whether the rule of a parameter that is ours takes gradients of rows.
  [[nodiscard]] bool steps_by_rows(const void* parameter) const;
  /// Whether a gradient consists of rows of its value.
  [[nodiscard]] bool are_rows(const void* parameter, const SparseTensor& gradient) const;
  void step_found(const Found& found, const StepOptions& options);
  void require_group(std::size_t number) const;

  std::vector<Group> groups_;
  std::unordered_map<const void*, Place> places_;
};

}  // namespace troupe::optim
