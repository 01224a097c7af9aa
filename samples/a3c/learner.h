// The learner: it has the weights that all players share, and steps them.
#pragma once

#include <cstdint>
#include <vector>

#include "optim/local_optimizer.h"
#include "samples/a3c/actor_critic.h"

namespace samples {

/// What the learner tells a player.
struct Course {
  std::vector<troupe::Tensor> weights;
  bool is_over = false;
};

/// How far the learner is.
struct Standing {
  std::int64_t lessons = 0;
  std::int64_t episodes = 0;
  double average = 0;  ///< of episodes' rewards: 0.95 times the one before and 0.05 times the last
};

/// One thread at a time.
class Learner {
 public:
  static constexpr double kSolved = 475;  ///< the average at which a course is over

  /// A course of at most `lessons_max` lessons.
  Learner(std::uint64_t seed, std::int64_t lessons_max);

  [[nodiscard]] Course course() const;

  /// Steps along the lesson's gradients, whatever weights they were found with. After the course nothing changes.
  Course take(const Lesson& lesson);

  [[nodiscard]] Standing standing() const { return standing_; }

 private:
  [[nodiscard]] bool is_over() const;

  std::int64_t lessons_max_;
  std::shared_ptr<ActorCritic> net_;
  std::shared_ptr<troupe::optim::LocalOptimizer> optimizer_;
  Standing standing_;
};

}  // namespace samples
