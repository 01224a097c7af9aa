// A DistOptimizer for trainers on other nodes.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/rref.h"
#include "actors/shards/step_options.h"
#include "messages/ids.h"

namespace troupe {

namespace detail {

class OptimizerDriver;

/// Keeps the shards of an optimizer until a node that got a SharedOptimizer has joined them.
class OptimizerAnchor {
 public:
  explicit OptimizerAnchor(std::shared_ptr<const OptimizerDriver> driver) : driver_(std::move(driver)) {}

 private:
  std::shared_ptr<const OptimizerDriver> driver_;
};

/// What another node needs to step the shards of an optimizer.
struct SharedOptimizerParts {
  OptimizerId of;  ///< the handle that was shared
  Stepping stepping;
  std::vector<DistParameterGroup> groups;
  std::vector<std::pair<double, std::optional<double>>> rates;  ///< of each group; with the momentum that was set
  RRef<OptimizerAnchor> anchor;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(of, stepping, groups, rates, anchor);
  }
};

}  // namespace detail

/// Travels in arguments, results and containers, as an RRef does. On the other node:
///
///   void train(Scope& scope, const SharedOptimizer& shared) {
///     const DistOptimizer optimizer(scope, shared);   // steps the same parameters, with the same state
///     ...
///   }
///
/// While one lives, on any node or in a message, it keeps the optimizer alive from which it was made, unless that
/// optimizer's node ends. A default-constructed one is null. Thread rule: any thread may call any member.
class SharedOptimizer {
 public:
  SharedOptimizer() = default;
  explicit SharedOptimizer(detail::SharedOptimizerParts parts);

  [[nodiscard]] bool defined() const noexcept { return !parts_.groups.empty(); }
  [[nodiscard]] const detail::SharedOptimizerParts& parts() const noexcept { return parts_; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar(parts_);
  }

 private:
  detail::SharedOptimizerParts parts_;
};

}  // namespace troupe
