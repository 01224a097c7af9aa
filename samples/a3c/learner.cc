#include "samples/a3c/learner.h"

#include <utility>

namespace samples {

using troupe::Tensor;
using troupe::Variable;

namespace {

constexpr double kRate = 3e-3;  // at the first lesson; none is left after the last

}  // namespace

Learner::Learner(std::uint64_t seed, std::int64_t lessons_max)
    : lessons_max_(lessons_max),
      net_(std::make_shared<ActorCritic>(seed)),
      optimizer_(std::make_shared<troupe::optim::LocalOptimizer>(net_->parameters(),
                                                                 troupe::optim::AdamOptions{.lr = kRate})) {}

bool Learner::is_over() const { return standing_.average > kSolved || standing_.lessons >= lessons_max_; }

Course Learner::course() const { return {net_->weights(), is_over()}; }

Course Learner::take(const Lesson& lesson) {
  if (is_over()) return course();  // it was on its way when the last one came
  std::vector<std::pair<Variable, Tensor>> gradients;
  for (std::size_t i = 0; const Variable& parameter : net_->parameters()) {
    gradients.emplace_back(parameter, lesson.gradients.at(i++));
  }
  optimizer_->set_lr(kRate * (1.0 - static_cast<double>(standing_.lessons) / static_cast<double>(lessons_max_)));
  optimizer_->step(gradients);
  ++standing_.lessons;
  if (lesson.episode) {
    ++standing_.episodes;
    standing_.average = 0.95 * standing_.average + 0.05 * *lesson.episode;
  }
  return course();
}

}  // namespace samples
