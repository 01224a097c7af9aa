// The parameters of one optimizer on one owner, with the rules of their groups and the rules' states: computes changes
// into second buffers and makes them visible. All handles of a shared optimizer change the same ShardParameters. Plain
// rules: no CAF, no clock; one thread at a time, while no other shard of the node works. Rules SH-3, SH-4, SH-13 and
// SH-17 of PROTOCOLS.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "autograd/gradients.h"
#include "autograd/variable.h"
#include "messages/ids.h"
#include "messages/optim.h"
#include "optim/optimizer.h"
#include "optim/second_buffers.h"
#include "tensor/io/named_tensors.h"

namespace troupe::detail {

class ShardParameters {
 public:
  using MakeRule = std::function<std::unique_ptr<optim::Optimizer>()>;
  /// The most parameters of one group, over all owners.
  static constexpr std::size_t kPlacesMax = 1 << 18;

  struct Group {
    MakeRule make_rule;  ///< returns the group's rule, without states
    std::vector<Variable> parameters;
    std::vector<std::size_t> places;  ///< of each parameter in the group over all owners: the number of its state
  };
  /// A step of the rules.
  struct GradientStep {
    GradientStep(Gradients found, msg::StepSettings of_step = {})  // NOLINT(google-explicit-constructor)
        : gradients(std::move(found)), settings(std::move(of_step)) {}

    Gradients gradients;
    msg::StepSettings settings;
  };
  /// The states, and values, of a saved run, by their names in DistOptimizer::state_dict.
  struct Load {
    NamedTensors state;
  };
  using Change = std::variant<GradientStep, Load>;

  /// Counts one step that is prepared and not decided, as long as it lives.
  class Open {
   public:
    explicit Open(std::shared_ptr<std::uint64_t> count) : count_(std::move(count)) { ++*count_; }
    Open(Open&&) = default;
    Open& operator=(Open&&) = delete;
    ~Open() {
      if (count_) --*count_;
    }

   private:
    std::shared_ptr<std::uint64_t> count_;
  };

  /// Throws TensorError if a parameter is not a leaf that requires a gradient, or is given twice; ValueError if a group
  /// has not one place for each parameter, ascending and below kPlacesMax; what a MakeRule throws.
  explicit ShardParameters(std::vector<Group> groups);

  /// Computes the change of `step` into second buffers; what was prepared before is dropped. Returns the number of
  /// parameters that change. Throws TensorError, std::bad_alloc; then nothing is prepared.
  std::uint64_t prepare(const StepId& step, const Change& change);

  /// The gradient of `leaf` is final in a pass of `context`: prepares its update, for a coming step with these
  /// settings. A later step uses the updates prepared early if gradients, rates, settings and values are the same and
  /// none was written to in between; otherwise it drops them. No effect if the leaf is none of the parameters, while a
  /// step is prepared, or if the update cannot be computed: then the step computes it, and reports why.
  void prepare_early(const ContextId& context, const msg::StepSettings& settings, const Variable& leaf,
                     const Tensor& gradient) noexcept;

  /// The gradients of the context have changed, or are not final any more: drops what was prepared early.
  void drop_early(const ContextId& context);

  /// Returns the number of updates that steps took from what was prepared early.
  [[nodiscard]] std::uint64_t early_updates() const noexcept { return early_updates_; }

  /// Makes the change visible. Uses what was prepared for `step` if the values are still those that it started from.
  /// Throws as prepare(); then no value and no state has changed.
  void apply(const StepId& step, const Change& change);

  /// Drops what was prepared for the step.
  void drop(const StepId& step);

  /// Returns the number of parameters.
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

  /// Returns the number of changes so far.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  [[nodiscard]] Open open_step() const { return Open(open_steps_); }
  [[nodiscard]] std::uint64_t open_steps() const noexcept { return *open_steps_; }

  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  /// Returns the states of the rules on the CPU, by their names in DistOptimizer::state_dict: at most `count`, from
  /// number `first` on. Only these are copied. Later changes do not change the returned tensors.
  [[nodiscard]] NamedTensors state_dict(std::size_t first = 0, std::size_t count = kAll) const;
  /// Returns the number of tensors of state_dict().
  [[nodiscard]] std::size_t state_dict_size() const;

  /// Returns the values, one for each parameter, in the same way: "groups.0.parameters.3.value".
  [[nodiscard]] NamedTensors values(std::size_t first = 0, std::size_t count = kAll) const;

 private:
  struct Ruled {
    MakeRule make_rule;
    std::unique_ptr<optim::Optimizer> rule;
    double lr = 0.0;        ///< the rule's own, of steps that set none
    double momentum = 0.0;  ///< the same
    std::vector<Variable> parameters;
    std::vector<std::size_t> places;
    optim::SecondBuffers buffers;
  };
  /// What an update was computed from: a write into either memory gives it another version.
  struct Source {
    std::uint64_t value_version = 0;
    std::uint64_t gradient_version = 0;
  };
  /// The change of one group, ready in second buffers. The vectors have one entry for each update.
  struct GroupChange {
    std::vector<optim::ParameterUpdate> updates;
    std::vector<std::size_t> members;  ///< the parameter's position in Ruled::parameters
    std::vector<Source> sources;
    std::unique_ptr<optim::Optimizer> replacement = {};  ///< of a Load
  };
  struct Ready {
    StepId step;
    std::vector<GroupChange> groups;
  };
  /// Updates of a coming step; the rules have it prepared.
  struct Early {
    ContextId context;
    msg::StepSettings settings;
    std::vector<GroupChange> groups;
  };
  struct Place {
    std::size_t group = 0;
    std::size_t member = 0;
  };

  void note_places();
  [[nodiscard]] std::vector<GroupChange> compute(const GradientStep& step);
  [[nodiscard]] std::vector<GroupChange> compute(const Load& load);
  /// Takes what was prepared early for these gradients; one empty change for each group if nothing fits.
  [[nodiscard]] std::vector<GroupChange> take_early(const GradientStep& step);
  /// Adds the updates of the members that `change` does not have yet. Returns the number of those it had.
  std::size_t find_updates(Ruled& group, const Gradients& gradients, GroupChange& change);
  void set_rates(const msg::StepSettings& settings);
  void drop_ready();
  void drop_early();
  void give_back(std::size_t group, GroupChange& change);
  /// Returns whether the update `number` of `change` starts from the present value of its parameter.
  [[nodiscard]] static bool is_current(const Ruled& group, const GroupChange& change, std::size_t number);
  [[nodiscard]] bool is_current(const Ready& ready) const;
  void make_visible();

  std::vector<Ruled> groups_;
  std::unordered_map<const void*, Place> places_;
  std::uint64_t version_ = 0;
  std::uint64_t early_updates_ = 0;
  std::shared_ptr<std::uint64_t> open_steps_ = std::make_shared<std::uint64_t>(0);
  std::optional<Ready> ready_;  // at most one of these two: a rule prepares one step
  std::optional<Early> early_;
};

}  // namespace troupe::detail
