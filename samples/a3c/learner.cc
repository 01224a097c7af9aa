#include "samples/a3c/learner.h"

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "optim/clip.h"
#include "optim/saved_state.h"
#include "tensor/create.h"

namespace samples {

using troupe::NamedTensors;
using troupe::Tensor;
using troupe::Variable;
using troupe::optim::clip_scale;
using troupe::optim::global_norm;
using troupe::optim::SavedState;

namespace {

constexpr double kRate = 3e-3;  // at the first lesson; none is left after the last
constexpr double kNormMax = 5;  // of a lesson: a few bad ones, found with old weights, do not spoil what was learnt
// Prefixes of names in the state.
constexpr std::string_view kWeights = "weights.";
constexpr std::string_view kOptimizer = "optimizer.";
constexpr std::string_view kStanding = "standing.";
constexpr std::string_view kPlayers = "players.";  // "players.2.1": tensor 1 of the position of player 2

}  // namespace

Learner::Learner(std::uint64_t seed, std::int64_t lessons_max)
    : lessons_max_(lessons_max),
      term_end_(lessons_max),
      net_(std::make_shared<ActorCritic>(seed)),
      optimizer_(std::make_shared<troupe::optim::LocalOptimizer>(net_->parameters(),
                                                                 troupe::optim::AdamOptions{.lr = kRate})) {}

bool Learner::is_over() const { return standing_.average > kSolved || standing_.lessons >= lessons_max_; }

Course Learner::course() const { return {net_->weights(), is_over() || standing_.lessons >= term_end_, {}}; }

Course Learner::enter(std::uint64_t player) const {
  Course course = this->course();
  if (const auto found = positions_.find(player); found != positions_.end()) course.position = found->second;
  return course;
}

Course Learner::take(const Lesson& lesson) {
  if (course().is_over) return course();  // it was on its way when the last one came
  std::vector<std::pair<Variable, Tensor>> gradients;
  for (std::size_t i = 0; const Variable& parameter : net_->parameters()) {
    gradients.emplace_back(parameter, lesson.gradients.at(i++));
  }
  optimizer_->set_lr(kRate * (1.0 - static_cast<double>(standing_.lessons) / static_cast<double>(lessons_max_)));
  optimizer_->step(gradients, {.gradient_scale = clip_scale(global_norm(gradients), kNormMax)});
  ++standing_.lessons;
  if (lesson.episode) {
    ++standing_.episodes;
    standing_.average = 0.95 * standing_.average + 0.05 * *lesson.episode;
  }
  positions_[lesson.player] = lesson.position;
  return course();
}

NamedTensors Learner::state_dict() const {
  NamedTensors state;
  const auto add = [&state](std::string_view prefix, const std::string& name, const Tensor& tensor) {
    state.emplace_back(std::string(prefix) + name, tensor);
  };
  const std::vector<Tensor> weights = net_->weights();
  for (std::size_t i = 0; i < weights.size(); ++i) add(kWeights, std::to_string(i), weights[i]);
  for (const auto& [name, tensor] : optimizer_->state_dict()) add(kOptimizer, name, tensor);
  add(kStanding, "lessons", troupe::scalar(standing_.lessons));
  add(kStanding, "episodes", troupe::scalar(standing_.episodes));
  add(kStanding, "average", troupe::scalar(standing_.average));
  for (const auto& [player, position] : positions_) {
    for (std::size_t i = 0; i < position.size(); ++i) {
      add(kPlayers, std::to_string(player) + "." + std::to_string(i), position[i]);
    }
  }
  return state;
}

void Learner::load_state_dict(const NamedTensors& state) {
  SavedState of_net(state, std::string(kWeights));
  std::vector<Tensor> weights;
  for (std::size_t i = 0; i < net_->weights().size(); ++i) weights.push_back(of_net.take(std::to_string(i)));
  of_net.finish();
  SavedState standing(state, std::string(kStanding));
  const auto lessons = standing.take_integer("lessons");
  const auto episodes = standing.take_integer("episodes");
  const auto average = standing.take_number("average");
  standing.finish();
  NamedTensors of_optimizer;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(kOptimizer)) of_optimizer.emplace_back(name.substr(kOptimizer.size()), tensor);
  }
  SavedState players(state, std::string(kPlayers));
  std::map<std::uint64_t, std::vector<Tensor>> positions;
  for (const std::string& name : players.names()) {
    std::uint64_t player = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), player);
    if (failure != std::errc() || !std::string_view(end).starts_with('.')) players.complain(name, "is of no player");
    positions[player].push_back(players.take(name));
  }
  players.finish();

  optimizer_->load_state_dict(of_optimizer);
  net_->set_weights(weights);
  standing_ = {lessons.value(), episodes.value(), average.value()};
  positions_ = std::move(positions);
}

}  // namespace samples
