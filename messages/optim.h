// The messages between a DistOptimizer and its shards, one shard per owner of parameters. Atomic steps: ShardPrepare to
// all, then ShardCommit to all or ShardAbort to all; a saved state is loaded in the same way, with ShardLoad instead of
// ShardPrepare. Hogwild steps: ShardStep to each; with bounded staleness after a ShardWait. When the optimizer's node
// dies, its shards ask each other for the outcome of open steps: ShardQuery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "messages/ids.h"
#include "messages/message_info.h"
#include "tensor/tensor.h"

namespace troupe::msg {

/// The parameters of one owner in one group, and the group's rule.
struct ShardGroup {
  std::string rule;                   ///< "sgd", "adam", ...
  std::vector<std::byte> options;     ///< the rule's options struct, encoded by an OutArchive
  std::vector<RRefId> parameters;     ///< owned by the receiver, in the order of the group's list
  std::vector<std::uint64_t> places;  ///< of each of them in the group, over all owners; ascending
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rule, options, parameters, places);
  }
};

/// Make the shard of `optimizer` on your node. Request, optimizer -> worker of the owner; answered by ShardCreated.
/// Idempotent by `optimizer`.
struct ShardCreate {
  static constexpr MessageInfo kInfo{0x0401, "ShardCreate", Kind::request, Sender::maker};
  OptimizerId optimizer;
  std::vector<ShardGroup> groups;  ///< all groups, also those without a parameter of the receiver
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, groups);
  }
};

/// Reply to ShardCreate and ShardJoin, shard -> optimizer.
struct ShardCreated {
  static constexpr MessageInfo kInfo{0x0402, "ShardCreated", Kind::reply, Sender::answerer};
  OptimizerId optimizer;
  Incarnation incarnation;  ///< of the shard's node
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, incarnation);
  }
};

/// One owner of parameters that participates in a step: a life, whose successor does not know the step.
struct StepOwner {
  NodeName name;
  Incarnation incarnation;
  friend auto operator<=>(const StepOwner&, const StepOwner&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, incarnation);
  }
};

/// The rate of one group in one step, and its momentum if a schedule sets it.
struct StepRate {
  double lr = 0.0;
  std::optional<double> momentum = {};  ///< instead of the rule's own
  friend bool operator==(const StepRate&, const StepRate&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(lr, momentum);
  }
};

/// What one step does differently, the same on all owners.
struct StepSettings {
  std::vector<StepRate> rates = {};                                 ///< of each group; empty: the rules' own
  double gradient_scale = 1.0;                                      ///< first, each element is multiplied by this
  double gradient_limit = std::numeric_limits<double>::infinity();  ///< then clamped to [-limit, limit]
  friend bool operator==(const StepSettings&, const StepSettings&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rates, gradient_scale, gradient_limit);
  }
};

/// Compute the update of `step` from the gradients of `context` into second buffers; change nothing visible.
/// Request, optimizer -> shard; answered by ShardPrepared. Idempotent by `step`.
struct ShardPrepare {
  static constexpr MessageInfo kInfo{0x0403, "ShardPrepare", Kind::request, Sender::maker};
  OptimizerId optimizer;
  StepId step;
  ContextId context;
  std::vector<StepOwner> owners;  ///< all owners in the step, including the receiver; by name
  std::uint64_t settled = 0;      ///< the optimizer knows the outcome of all its steps with a lower serial: forget them
  StepSettings settings = {};
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, step, context, owners, settled, settings);
  }
};

/// Reply to ShardPrepare and ShardLoad, shard -> optimizer: the shard can commit, and holds the update until the
/// decision arrives.
struct ShardPrepared {
  static constexpr MessageInfo kInfo{0x0404, "ShardPrepared", Kind::reply, Sender::answerer};
  StepId step;
  std::uint64_t updated = 0;  ///< parameters that had a gradient, or whose value is replaced
  template <class Archive>
  void serialize(Archive& ar) {
    ar(step, updated);
  }
};

/// Make the prepared update visible. Request, optimizer -> shard; answered by ShardStepped. Idempotent by `step`: a
/// second one is answered again and applies nothing. If it fails, the update stays prepared and the request is
/// repeated.
struct ShardCommit {
  static constexpr MessageInfo kInfo{0x0405, "ShardCommit", Kind::request, Sender::maker};
  OptimizerId optimizer;
  StepId step;
  std::uint64_t settled = 0;  ///< as in ShardPrepare
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, step, settled);
  }
};

/// Forget the prepared update. Notification, optimizer -> shard. Idempotent; after a commit of the same step it does
/// nothing, before its prepare it makes the prepare fail.
struct ShardAbort {
  static constexpr MessageInfo kInfo{0x0406, "ShardAbort", Kind::notification, Sender::maker};
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
  static constexpr MessageInfo kInfo{0x0407, "ShardStep", Kind::request, Sender::maker};
  OptimizerId optimizer;
  StepId step;
  ContextId context;
  std::uint64_t settled = 0;  ///< as in ShardPrepare
  StepSettings settings = {};
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, step, context, settled, settings);
  }
};

/// The update of `step` is visible. Reply to ShardCommit and ShardStep, shard -> optimizer.
struct ShardStepped {
  static constexpr MessageInfo kInfo{0x0408, "ShardStepped", Kind::reply, Sender::answerer};
  StepId step;
  std::uint64_t version = 0;  ///< of the parameters and their states, one more than before the step
  template <class Archive>
  void serialize(Archive& ar) {
    ar(step, version);
  }
};

/// The state of a step at a shard.
enum class StepState : std::uint8_t { unknown = 0, prepared = 1, applied = 2, aborted = 3 };

/// What is the outcome of `step`? Request, shard -> the shard of another owner of the step; answered by ShardOutcome,
/// perhaps later: rules SH-8 to SH-11. From any other sender `own` is `unknown`, and the answer is sent at once.
/// Idempotent.
struct ShardQuery {
  static constexpr MessageInfo kInfo{0x0409, "ShardQuery", Kind::request, Sender::knower};
  OptimizerId optimizer;
  StepId step;
  StepState own = StepState::unknown;  ///< the step's state at the sender
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, step, own);
  }
};

/// Reply to ShardQuery, shard -> requester.
struct ShardOutcome {
  static constexpr MessageInfo kInfo{0x040a, "ShardOutcome", Kind::reply, Sender::answerer};
  StepId step;
  StepState state = StepState::unknown;
  std::uint64_t version = 0;  ///< of the shard's parameters now
  template <class Archive>
  void serialize(Archive& ar) {
    ar(step, state, version);
  }
};

/// The last handle of `optimizer` is gone: end its shard as soon as no other owner needs the outcome of a step.
/// Notification, optimizer -> shard. Idempotent.
struct ShardReleased {
  static constexpr MessageInfo kInfo{0x040b, "ShardReleased", Kind::notification, Sender::maker};
  OptimizerId optimizer;
  std::uint64_t settled = 0;  ///< as in ShardPrepare
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, settled);
  }
};

/// The most tensors of a ShardLoad or ShardSaved: a longer state takes several.
inline constexpr std::size_t kStatesPerMessage = 8'192;

/// Replace the state of the rules, and the values of the parameters that are named. Changes nothing visible before the
/// ShardCommit of `step`. Request, optimizer -> shard; answered by ShardPrepared. Parts that are not the last are kept
/// and answered at once. Idempotent by `step`.
struct ShardLoad {
  static constexpr MessageInfo kInfo{0x040c, "ShardLoad", Kind::request, Sender::maker};
  OptimizerId optimizer;
  StepId step;
  std::vector<StepOwner> owners;   ///< as in ShardPrepare
  std::uint64_t settled = 0;       ///< as in ShardPrepare
  std::vector<std::string> names;  ///< of the receiver's states: "groups.0.parameters.3.exp_avg"; see DistOptimizer
  std::vector<Tensor> tensors;     ///< one for each name
  std::uint64_t first = 0;         ///< the number of tensors in the parts before this one
  bool is_last = true;             ///< no other part follows
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, step, owners, settled, names, tensors, first, is_last);
  }
};

/// What is the version of your parameters and rules, and, if it is `version` and no step is open, their state? Request,
/// optimizer -> shard; answered by ShardSaved. Idempotent.
struct ShardSave {
  static constexpr MessageInfo kInfo{0x040d, "ShardSave", Kind::request, Sender::maker};
  OptimizerId optimizer;
  std::optional<std::uint64_t> version = {};  ///< nullopt: the state is not wanted
  bool values = false;                        ///< the values of the parameters are wanted, too
  std::uint64_t first = 0;                    ///< the number of the first tensor wanted
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, version, values, first);
  }
};

/// Reply to ShardSave, shard -> optimizer.
struct ShardSaved {
  static constexpr MessageInfo kInfo{0x040e, "ShardSaved", Kind::reply, Sender::answerer};
  std::uint64_t version = 0;       ///< changes with every step and load of any trainer
  std::uint64_t open = 0;          ///< steps that are prepared and not decided
  std::vector<std::string> names;  ///< as in ShardLoad; empty if the state is not given
  std::vector<Tensor> tensors;     ///< one for each name
  std::uint64_t all = 0;           ///< the number of tensors of the whole state
  template <class Archive>
  void serialize(Archive& ar) {
    ar(version, open, names, tensors, all);
  }
};

/// `optimizer` of the sender's node steps the parameters and states of `of`, too. Request, optimizer -> worker of the
/// owner; answered by ShardCreated. Idempotent by `optimizer`.
struct ShardJoin {
  static constexpr MessageInfo kInfo{0x040f, "ShardJoin", Kind::request, Sender::maker};
  OptimizerId optimizer;
  OptimizerId of;  ///< any optimizer that has a shard of these parameters
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, of);
  }
};

/// Answer when this trainer has taken at most `staleness` steps more than the slowest other one. Request, optimizer ->
/// the shard that counts steps; answered by ShardReady. Idempotent.
struct ShardWait {
  static constexpr MessageInfo kInfo{0x0410, "ShardWait", Kind::request, Sender::maker};
  OptimizerId optimizer;
  std::uint64_t staleness = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(optimizer, staleness);
  }
};

/// Reply to ShardWait, shard -> optimizer.
struct ShardReady {
  static constexpr MessageInfo kInfo{0x0411, "ShardReady", Kind::reply, Sender::answerer};
  std::uint64_t clock = 0;    ///< the steps of this trainer
  std::uint64_t slowest = 0;  ///< those of the slowest trainer
  template <class Archive>
  void serialize(Archive& ar) {
    ar(clock, slowest);
  }
};

}  // namespace troupe::msg
