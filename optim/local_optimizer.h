// Optimizer steps for parameters of this process, from the gradients of a backward pass.
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
#include <utility>
#include <vector>

#include "optim/optimizer.h"
#include "optim/parameter.h"
#include "optim/rate_groups.h"
#include "optim/rule_options.h"
#include "tensor/io/named_tensors.h"

namespace troupe::optim {

/// Parameters that share one rule and one set of options.
struct ParameterGroup {
  Parameters parameters;
  RuleOptions options;
};

/// Holds the rules, states and second buffers of groups of parameters. A step replaces values: forwards that began
/// before it, and graphs that saved a value, keep the old one. Not thread-safe; other threads may read the parameters.
class LocalOptimizer final : public RateGroups {
 public:
  /// Makes an optimizer with one group. Throws as the constructor below.
  LocalOptimizer(Parameters parameters, const RuleOptions& options);

  /// For example {{.parameters = body.parameters(), .options = SgdOptions{.lr = 0.1}},
  ///              {.parameters = head.parameters(), .options = AdamOptions{}}}.
  /// Throws ValueError `[optimizer] group 1 has no parameters`, `[optimizer] parameter 2 of group 1 is given twice`, or
  /// if an option is out of range; TensorError `[optimizer] parameter 2 of group 1 is not a leaf`.
  explicit LocalOptimizer(std::vector<ParameterGroup> groups);
  ~LocalOptimizer();
  LocalOptimizer(LocalOptimizer&& other) noexcept;
  LocalOptimizer& operator=(LocalOptimizer&& other) noexcept;

  /// Steps every parameter that has a gradient in `gradients`; gradients of other Variables are ignored. A gradient of
  /// rows steps only these rows if the rule allows it (Optimizer::zero_changes_nothing); once a second buffer exists on
  /// the CPU, the time does not depend on the other rows. For other rules the gradient is made dense. Both ways give
  /// the same bits, except for SparseAdam, which leaves rows out on purpose. Throws, before any value or state changes,
  /// the errors of Optimizer::step().
  template <TensorsByParameter Gradients>
  void step(const Gradients& gradients, const StepOptions& options = {}) {
    step_found(find(gradients, GivenUp::no), options);
  }

  /// The same, but the caller gives up `gradients`: a new value may be written over its gradient. That saves the
  /// parameter's second buffer. Gradients that have other handles, and gradients of rows, are not written.
  template <class Gradients>
    requires(TensorsByParameter<Gradients> && !std::is_reference_v<Gradients> && !std::is_const_v<Gradients>)
  void step(Gradients&& gradients, const StepOptions& options = {}) {
    step_found(find(gradients, GivenUp::yes), options);
  }

  [[nodiscard]] std::size_t group_count() const noexcept override;

  /// Returns the rule of a group; it numbers parameters by their position in the group. Throws IndexError `[optimizer]
  /// no group 2 of 2`, as every function with a group argument.
  [[nodiscard]] const Optimizer& rule(std::size_t group = 0) const;

  [[nodiscard]] double lr() const { return lr(0); }
  [[nodiscard]] double lr(std::size_t group) const override { return rule(group).lr(); }
  /// Throws ValueError `[adam] lr is not a number >= 0: -0.1`.
  void set_lr(std::size_t group, double lr) override;
  /// Sets the step size of all groups.
  void set_lr(double lr);

  [[nodiscard]] double momentum() const { return momentum(0); }
  [[nodiscard]] double momentum(std::size_t group) const override { return rule(group).momentum(); }
  /// Throws as Optimizer::set_momentum().
  void set_momentum(std::size_t group, double momentum) override;

  /// Returns options and states of all groups for write_safetensors(): "groups.0.adam.lr",
  /// "groups.0.parameters.3.exp_avg". The values of parameters are not included. Nothing is copied on the CPU; later
  /// steps do not change the returned tensors.
  [[nodiscard]] NamedTensors state_dict() const;

  /// Restores a saved state, including the step sizes; a momentum that a schedule has set stays. If the parameters have
  /// the same values, all later steps give the same bits as in the saved run. On an error nothing changes. Throws
  /// ValueError that lists every mismatch, as Optimizer::load_state_dict(), or `[load_state_dict] unexpected:
  /// groups.2.adam.lr`.
  void load_state_dict(const NamedTensors& state);

 private:
  enum class GivenUp : std::uint8_t { no, yes };
  struct FoundGradient {
    const void* parameter;
    Tensor gradient;
    GivenUp given_up;
    Tensor rows{};  ///< as in ParameterUpdate
  };
  using Found = std::vector<FoundGradient>;
  struct Groups;

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
        if (!has(parameter.id())) continue;
        const SparseTensor rows =
            steps_by_rows(parameter.id()) ? gradients.sparse_of(parameter).coalesce() : SparseTensor();
        if (rows.defined() && are_rows(parameter.id(), rows)) {
          found.push_back({parameter.id(), rows.values(), GivenUp::no, rows.indices().select(0, 0)});
        } else {
          add(parameter.id(), gradients.of(parameter), 2);  // the handle in `gradients`, and the one returned here
        }
      }
    } else {
      for (const auto& [parameter, gradient] : gradients) add(parameter.id(), gradient, 1);
    }
    return found;
  }

  [[nodiscard]] bool has(const void* parameter) const;
  /// Returns whether the parameter's rule steps by rows. REQUIRES: the parameter belongs to this optimizer.
  [[nodiscard]] bool steps_by_rows(const void* parameter) const;
  /// Returns whether `gradient` consists of rows of the parameter's value. REQUIRES: as steps_by_rows().
  [[nodiscard]] bool are_rows(const void* parameter, const SparseTensor& gradient) const;
  void step_found(const Found& found, const StepOptions& options);
  void require_group(std::size_t number) const;

  std::unique_ptr<Groups> groups_;  ///< null only in an object that was moved from
};

}  // namespace troupe::optim
