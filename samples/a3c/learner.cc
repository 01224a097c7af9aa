#include "samples/a3c/learner.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/create.h"
#include "tensor/error.h"

namespace samples {

using troupe::NamedTensors;
using troupe::Tensor;
using troupe::Variable;

namespace {

constexpr double kRate = 3e-3;  // at the first lesson; none is left after the last
constexpr std::string_view kOptimizer = "optimizer.";
constexpr std::string_view kPlayers = "players.";  // "players.2.1": tensor 1 of the position of player 2

const Tensor& at(const NamedTensors& state, const std::string& wanted) {
  for (const auto& [name, tensor] : state) {
    if (name == wanted) return tensor;
  }
  throw troupe::ValueError("[a3c] missing: " + wanted);
}

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
  optimizer_->step(gradients);
  ++standing_.lessons;
  if (lesson.episode) {
    ++standing_.episodes;
    standing_.average = 0.95 * standing_.average + 0.05 * *lesson.episode;
  }
  positions_[lesson.player] = lesson.position;
  return course();
}

NamedTensors Learner::state() const {
  NamedTensors state;
  const std::vector<Tensor> weights = net_->weights();
  for (std::size_t i = 0; i < weights.size(); ++i) state.emplace_back("weights." + std::to_string(i), weights[i]);
  for (const auto& [name, tensor] : optimizer_->state()) state.emplace_back(std::string(kOptimizer) + name, tensor);
  state.emplace_back("lessons", troupe::from_values<std::int64_t>({standing_.lessons, standing_.episodes}));
  state.emplace_back("average", troupe::from_values<double>({standing_.average}));
  for (const auto& [player, position] : positions_) {
    const std::string prefix = std::string(kPlayers) + std::to_string(player) + ".";
    for (std::size_t i = 0; i < position.size(); ++i) state.emplace_back(prefix + std::to_string(i), position[i]);
  }
  return state;
}

void Learner::load_state(const NamedTensors& state) {
  std::vector<Tensor> weights;
  for (std::size_t i = 0; i < net_->weights().size(); ++i) weights.push_back(at(state, "weights." + std::to_string(i)));
  const Tensor lessons = at(state, "lessons");
  const Tensor average = at(state, "average");
  NamedTensors of_optimizer;
  std::map<std::uint64_t, std::map<std::string, Tensor>> positions;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(kOptimizer)) of_optimizer.emplace_back(name.substr(kOptimizer.size()), tensor);
    if (!name.starts_with(kPlayers)) continue;
    const std::size_t dot = name.rfind('.');
    positions[std::stoull(name.substr(kPlayers.size(), dot - kPlayers.size()))][name.substr(dot)] = tensor;
  }
  optimizer_->load_state(of_optimizer);
  net_->set_weights(weights);
  standing_ = {lessons[0].item<std::int64_t>(), lessons[1].item<std::int64_t>(), average.item<double>()};
  positions_.clear();
  for (const auto& [player, tensors] : positions) {
    for (const auto& [name, tensor] : tensors) positions_[player].push_back(tensor);
  }
}

}  // namespace samples
