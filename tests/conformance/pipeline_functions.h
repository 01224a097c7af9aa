// Stages of pipelines, as modules that the nodes of conformance tests make for each other.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "actors/data_parallel.h"
#include "actors/pipeline.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/norm.h"
#include "autograd/nn/sequential.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

/// y = dropout(tanh(norm(x w + b))). Counts its forwards, and what is live.
class DenseStage final : public nn::Module {
 public:
  /// `norm`: with a batch norm; `drops`: the probability of dropout.
  DenseStage(std::int64_t inputs, std::int64_t outputs, bool norm, double drops, std::uint64_t seed);

  [[nodiscard]] Variable forward(const Variable& x);

  /// Returns how often forward ran, how often a backward pass repeated it, and how many results at most waited for
  /// their gradient at a time.
  [[nodiscard]] std::tuple<std::int64_t, std::int64_t, std::int64_t> counts() const {
    return {forwards_, replays_, most_live_};
  }

 private:
  std::shared_ptr<nn::Linear> linear_;
  std::shared_ptr<nn::BatchNorm1d> norm_;  // or null
  std::shared_ptr<nn::Dropout> dropout_;
  std::atomic<std::int64_t> forwards_{0};
  std::atomic<std::int64_t> replays_{0};
  std::shared_ptr<std::atomic<std::int64_t>> live_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::atomic<std::int64_t> most_live_{0};
};

/// What a FaultyStage does at one of its forwards.
enum class Fault : std::uint8_t {
  none,
  throws,             ///< in forward
  throws_backward,    ///< in the backward pass
  holds,              ///< waits in forward until its node dies or the call is late, then throws
  writes,             ///< multiplies its input in place
  writes_saved,       ///< writes to what its operations have saved
  gives_no_gradient,  ///< returns a constant
  gives_matrix,       ///< one more dimension, so that the loss has rows
};

/// y = x * weight, with a fault at forward `at` of micro-batches.
class FaultyStage final : public nn::Module {
 public:
  FaultyStage(std::int64_t width, Fault fault, std::int64_t at);
  [[nodiscard]] Variable forward(Scope& scope, const Variable& x);

 private:
  const Fault fault_;
  const std::int64_t at_;
  std::int64_t next_ = 0;
  Variable weight_;
};

/// Returns x times a weight, and twice x for a later stage.
class ForkStage final : public nn::Module {
 public:
  explicit ForkStage(std::int64_t width);
  [[nodiscard]] std::tuple<Variable, Variable> forward(const Variable& x);

 private:
  Variable weight_;
};

/// Returns (x times a weight) plus what an earlier stage left.
class MergeStage final : public nn::Module {
 public:
  explicit MergeStage(std::int64_t width);
  [[nodiscard]] Variable forward(const Variable& x, const Variable& skipped);

 private:
  Variable weight_;
};

/// Values of many kinds, to the next stage.
class ManyGiver final : public nn::Module {
 public:
  [[nodiscard]] std::tuple<Variable, bool, std::int64_t, std::optional<Variable>, std::string, Variable> forward(
      std::int64_t a, const Variable& b, bool c, const std::optional<Variable>& d);
};
class ManyTaker final : public nn::Module {
 public:
  [[nodiscard]] std::tuple<Variable, Tensor, std::string, Variable> forward(const Variable& a, bool b, std::int64_t c,
                                                                            const std::optional<Variable>& d,
                                                                            const std::string& e, const Variable& f);
};

/// y = tanh(x w + b), and a layer that is not used.
class HalfUsed final : public nn::Module {
 public:
  HalfUsed(std::int64_t inputs, std::int64_t outputs, std::uint64_t seed);
  [[nodiscard]] Variable forward(const Variable& x);

 private:
  std::shared_ptr<nn::Linear> used_;
  std::shared_ptr<nn::Linear> unused_;
};

/// Consecutive layers of a network of five, whose values are the same wherever they are made.
class LayerShare final : public nn::Module {
 public:
  static constexpr std::int64_t kLayers = 5;

  LayerShare(std::int64_t first, std::int64_t count);
  /// (n, 5) -> (n, 3) through all layers.
  [[nodiscard]] Variable forward(const Variable& x) { return layers_->forward(x); }
  [[nodiscard]] const nn::Sequential& layers() const { return *layers_; }

 private:
  std::shared_ptr<nn::Sequential> layers_;
};

/// A HalfUsed, as a member of a group of replicas or alone.
class ReplicaStage final : public nn::Module {
 public:
  ReplicaStage(std::int64_t inputs, std::int64_t outputs, std::uint64_t seed);
  ReplicaStage(const Scope& scope, const std::vector<NodeName>& members, std::int64_t inputs, std::int64_t outputs,
               std::uint64_t seed);
  [[nodiscard]] Variable forward(const Variable& x);
  void synchronize(const Scope& scope);
  void freeze_all() { freeze(); }
  /// Returns how many sums over the members this one has taken part in.
  [[nodiscard]] std::int64_t sums() const { return *sums_; }

 private:
  std::shared_ptr<HalfUsed> net_;
  std::shared_ptr<std::atomic<std::int64_t>> sums_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::optional<DataParallel<HalfUsed>> replica_;
};
/// Alone if there are no members.
ReplicaStage make_replica_stage(Scope& scope, const std::vector<NodeName>& members, std::int64_t inputs,
                                std::int64_t outputs, std::uint64_t seed);

inline constexpr auto dense_stage = stage_class<DenseStage, std::int64_t, std::int64_t, bool, double, std::uint64_t>;
inline constexpr auto faulty_stage = stage_class<FaultyStage, std::int64_t, Fault, std::int64_t>;
inline constexpr auto fork_stage = stage_class<ForkStage, std::int64_t>;
inline constexpr auto merge_stage = stage_class<MergeStage, std::int64_t>;
inline constexpr auto many_giver = stage_class<ManyGiver>;
inline constexpr auto many_taker = stage_class<ManyTaker>;
inline constexpr auto layer_share = stage_class<LayerShare, std::int64_t, std::int64_t>;
inline constexpr auto replica_stage = stage_class<ReplicaStage, std::int64_t, std::int64_t, std::uint64_t>;

// Loss functions of pipelines.
Variable squared_error(const Variable& result, const Tensor& target);
Variable sum_of_squares(const Variable& result, const Tensor& target);
Variable sum_of_result(const Variable& result);
Variable rows_of_result(const Variable& result);
Variable constant_loss(const Variable& result);

/// Returns a buffer of the module: "norm.running_mean".
Tensor buffer_of(Scope& scope, const RRef<DenseStage>& stage, const std::string& name);

/// The step of one driver of a pipeline of ReplicaStages.
struct ReplicaStep {
  Tensor x = {};
  Tensor y = {};
  bool by_loss = false;  ///< a pass for each micro-batch
  Schedule schedule = Schedule::one_f_one_b;
  Recompute recompute = Recompute::never;
  bool fails_first = false;  ///< a call of `loss` that throws comes before
  template <class Archive>
  void serialize(Archive& archive) {
    archive(x, y, by_loss, schedule, recompute, fails_first);
  }
};
/// Performs the step; this node is the driver. Returns the gradients of all parameters; empty ones where there are
/// none.
std::vector<Tensor> replica_step(Scope& scope, const std::vector<RRef<ReplicaStage>>& stages, const ReplicaStep& step);

/// Repeats steps by `loss` until one fails. Returns its error.
std::string replica_steps_until_failure(Scope& scope, const std::vector<RRef<ReplicaStage>>& stages, const Tensor& x);

[[nodiscard]] FunctionRegistry with_pipeline_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
