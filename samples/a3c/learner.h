// The learner: it has the weights that all players share, and steps them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "optim/local_optimizer.h"
#include "samples/a3c/actor_critic.h"
#include "tensor/io/named_tensors.h"

namespace samples {

/// What the learner tells a player.
struct Course {
  std::vector<troupe::Tensor> weights;
  bool is_over = false;                  ///< the player stops: the course is over, or its term
  std::vector<troupe::Tensor> position;  ///< of a player that enters; empty: it begins
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

  /// The course for a player that begins, or goes on after the last of its lessons that was taken.
  [[nodiscard]] Course enter(std::uint64_t player) const;

  /// Steps along the lesson's gradients, clipped by their norm, whatever weights they were found with. After the
  /// course, and between terms, nothing changes.
  Course take(const Lesson& lesson);

  /// Begins a term of so many lessons. Without terms the course is one.
  void begin_term(std::int64_t lessons) { term_end_ = standing_.lessons + lessons; }

  [[nodiscard]] bool is_over() const;
  [[nodiscard]] Standing standing() const { return standing_; }

  /// Weights, optimizer, standing, and the positions of the players: a course that goes on is the same, bit for bit, if
  /// there is one player. Throws ValueError that names what is missing, or what the optimizer does not accept.
  [[nodiscard]] troupe::NamedTensors state_dict() const;
  void load_state_dict(const troupe::NamedTensors& state);

 private:
  std::int64_t lessons_max_;
  std::int64_t term_end_;
  std::shared_ptr<ActorCritic> net_;
  std::shared_ptr<troupe::optim::LocalOptimizer> optimizer_;
  Standing standing_;
  std::map<std::uint64_t, std::vector<troupe::Tensor>> positions_;  ///< of players, after their last lessons
};

}  // namespace samples
