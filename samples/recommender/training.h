// The training of the recommender: tables of users and items on servers, and trainers that look their rows up.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "actors/dist_optimizer.h"
#include "actors/embedding/sharded_embedding.h"
#include "actors/function_registry.h"
#include "actors/scope.h"
#include "samples/recommender/clicks.h"
#include "tensor/tensor.h"

namespace samples {

inline constexpr std::int64_t kUsers = 400;
inline constexpr std::int64_t kItems = 200;

struct RecommenderSettings {
  std::vector<troupe::NodeName> servers;
  std::vector<troupe::NodeName> trainers;
  std::int64_t seed = 1;  ///< of the clicks and the first values
  std::int64_t examples = 60'000;
  std::uint64_t staleness = 4;  ///< a trainer waits while it is more steps ahead of the slowest one
};

/// Functions of all nodes.
[[nodiscard]] troupe::FunctionRegistry recommender_functions();

/// The master's side. Its tables and their optimizer, whose state is row by row beside the tables, are on the servers;
/// all trainers share the optimizer. With one trainer an epoch is, bit for bit, one of train_here(). Not thread-safe.
class Recommender {
 public:
  /// `master` outlives it.
  Recommender(const troupe::Scope& master, RecommenderSettings settings);

  /// All of the training, restored onto any number of servers.
  void add_to(troupe::Checkpoint& checkpoint);

  /// Each trainer trains with its share of the examples, all at the same time. Returns the mean loss.
  double train_epoch();
  [[nodiscard]] std::int64_t epochs() const { return epoch_; }

  /// Returns the AUC of the users' scores for the items of `clicks`.
  [[nodiscard]] double area_under_curve_of(const Clicks& clicks) const;

  /// Returns all rows of users and of items.
  [[nodiscard]] std::vector<troupe::Tensor> rows() const;

 private:
  troupe::Scope master_;
  RecommenderSettings settings_;
  troupe::ShardedEmbedding users_;
  troupe::ShardedEmbedding items_;
  troupe::DistOptimizer optimizer_;
  std::int64_t epoch_ = 0;  // so many are done
};

/// Trains for so many epochs in this process, without nodes, from the rows before the first one. Returns the rows of
/// users and of items.
[[nodiscard]] std::vector<troupe::Tensor> train_here(const RecommenderSettings& settings, std::int64_t epochs,
                                                     const std::vector<troupe::Tensor>& first_rows);

}  // namespace samples
