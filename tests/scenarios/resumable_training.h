// A training over any number of nodes that can be saved, and restored on other nodes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "actors/data/data_loader.h"
#include "actors/dist_optimizer.h"
#include "actors/embedding/sharded_embedding.h"
#include "actors/function_registry.h"
#include "actors/remote_module.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "autograd/nn/norm.h"
#include "optim/lr_scheduler.h"

namespace troupe::testing {

/// A layer with running statistics and a generator.
class DropoutTower final : public nn::Module {
 public:
  DropoutTower(std::int64_t inputs, std::int64_t outputs, std::int64_t seed);
  [[nodiscard]] Variable forward(const Variable& x);

 private:
  std::shared_ptr<nn::Linear> linear_;
  std::shared_ptr<nn::BatchNorm1d> norm_;
  std::shared_ptr<nn::Dropout> dropout_;
};

/// The registry of every node of such a training.
[[nodiscard]] FunctionRegistry resumable_training_functions();

/// Rows of a table on all nodes go through a tower on the first node and one on the last. Equal numbers of steps give
/// equal bits, whichever nodes there are. Not thread-safe.
class ResumableTraining {
 public:
  /// `driver`: outlives the training.
  ResumableTraining(const Scope& driver, const std::vector<NodeName>& nodes);

  void train(int steps);
  /// Takes all messages between nodes of one step apart, so that a test may end them at any.
  void step();

  void save(const std::filesystem::path& directory) const { parts_.save(driver_, directory); }
  void restore(const std::filesystem::path& directory) const { parts_.restore(driver_, directory); }

  [[nodiscard]] std::int64_t steps() const { return steps_; }

  /// Returns a hash of the values of all parameters and of what the next step draws.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  Scope driver_;
  ShardedEmbedding table_;
  RemoteModule<DropoutTower> first_;
  RemoteModule<DropoutTower> last_;
  DistOptimizer optimizer_;
  optim::LrScheduler scheduler_;
  DataLoader<Tensor> batches_;  ///< of rows, some of them made ahead
  Generator noise_;
  std::int64_t steps_ = 0;
  Checkpoint parts_;
};

}  // namespace troupe::testing
