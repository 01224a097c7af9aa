// Updating parameters where they live: the words between a DistOptimizer and its shards, one per owner of parameters.
// Atomic steps: ShardPrepare to all, then ShardCommit to all or ShardAbort to all. Hogwild steps: ShardStep to each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "messages/ids.h"
#include "messages/word.h"

namespace troupe::msg {

/// Make the shard of `optimizer` on your node. Request, optimizer -> worker of the owner; answered by ShardCreated.
/// Idempotent by `optimizer`.
struct ShardCreate {
  static constexpr Word kWord{0x0401, "ShardCreate", Kind::request};
  OptimizerId optimizer;
  std::string rule;                ///< "sgd", "adam", ...
  std::vector<std::byte> options;  ///< the rule's options struct, encoded by an OutArchive
  std::vector<RRefId> parameters;  ///< owned by the receiver, in the order of the optimizer's list
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, rule, options, parameters);
  }
};

/// Reply to ShardCreate, shard -> optimizer.
struct ShardCreated {
  static constexpr Word kWord{0x0402, "ShardCreated", Kind::reply};
  OptimizerId optimizer;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer);
  }
};

/// Compute the update of `step` from the gradients of `context` into second buffers; change nothing that others see.
/// Request, optimizer -> shard; answered by ShardPrepared. Idempotent by `step`.
struct ShardPrepare {
  static constexpr Word kWord{0x0403, "ShardPrepare", Kind::request};
  OptimizerId optimizer;
  StepId step;
  ContextId context;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, step, context);
  }
};

/// Reply to ShardPrepare, shard -> optimizer: the shard can commit, and will hold the update until it is told.
struct ShardPrepared {
  static constexpr Word kWord{0x0404, "ShardPrepared", Kind::reply};
  StepId step;
  std::uint64_t updated = 0;  ///< parameters that had a gradient
  template <class Archive>
  void serialize(Archive& ar) {
    ar(step, updated);
  }
};

/// Make the prepared update visible. Request, optimizer -> shard; answered by ShardStepped. Idempotent by `step`: a
/// second one is answered again and applies nothing.
struct ShardCommit {
  static constexpr Word kWord{0x0405, "ShardCommit", Kind::request};
  OptimizerId optimizer;
  StepId step;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, step);
  }
};

/// Forget the prepared update. Notification, optimizer -> shard. Idempotent; after a commit of the same step it does
/// nothing, before its prepare it makes that fail.
struct ShardAbort {
  static constexpr Word kWord{0x0406, "ShardAbort", Kind::notification};
  OptimizerId optimizer;
  StepId step;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, step);
  }
};

/// Prepare and commit at once, serialised with other steps on the owner's parameters. Request, optimizer -> shard;
/// answered by ShardStepped. Idempotent by `step`.
struct ShardStep {
  static constexpr Word kWord{0x0407, "ShardStep", Kind::request};
  OptimizerId optimizer;
  StepId step;
  ContextId context;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, step, context);
  }
};

/// The update of `step` is visible. Reply to ShardCommit and ShardStep, shard -> optimizer.
struct ShardStepped {
  static constexpr Word kWord{0x0408, "ShardStepped", Kind::reply};
  StepId step;
  std::uint64_t version = 0;  ///< of the shard's parameters, one more than before the step
  template <class Archive>
  void serialize(Archive& ar) {
    ar(step, version);
  }
};

/// What became of `step`? Request, a survivor of a failed step -> shard; answered by ShardOutcome. Idempotent.
struct ShardQuery {
  static constexpr Word kWord{0x0409, "ShardQuery", Kind::request};
  OptimizerId optimizer;
  StepId step;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, step);
  }
};

/// What a shard knows of a step.
enum class StepState : std::uint8_t { unknown = 0, prepared = 1, applied = 2, aborted = 3 };

/// Reply to ShardQuery, shard -> whoever asked.
struct ShardOutcome {
  static constexpr Word kWord{0x040a, "ShardOutcome", Kind::reply};
  StepId step;
  StepState state = StepState::unknown;
  std::uint64_t version = 0;  ///< of the shard's parameters now
  template <class Archive>
  void serialize(Archive& ar) {
    ar(step, state, version);
  }
};

/// The last handle of `optimizer` is gone: end its shard. Notification, optimizer -> shard. Idempotent.
struct ShardReleased {
  static constexpr Word kWord{0x040b, "ShardReleased", Kind::notification};
  OptimizerId optimizer;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer);
  }
};

}  // namespace troupe::msg
