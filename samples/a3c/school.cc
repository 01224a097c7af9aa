#include "samples/a3c/school.h"

#include "actors/collect.h"
#include "actors/rref.h"
#include "samples/a3c/player.h"

namespace samples {

using namespace troupe;

namespace {

constexpr auto make_learner = constructor<Learner, std::uint64_t, std::int64_t>;

/// Runs on every player's node: plays, sends what it learnt, and goes on with the weights that come back.
void play_on(Scope& scope, const RRef<Learner>& learner, std::uint64_t seed, std::uint64_t number) {
  Player player(seed, number);
  Course course = learner.rpc_sync(scope, &Learner::course);
  while (!course.is_over) course = learner.rpc_sync(scope, &Learner::take, player.play(course.weights));
}

}  // namespace

FunctionRegistry school_functions() {
  return {{"Learner", make_learner}, {"course", &Learner::course}, {"take", &Learner::take}, {"play_on", &play_on}};
}

Graduation learn(const Node& node, const std::vector<NodeName>& players, std::uint64_t seed, std::int64_t lessons_max) {
  const Scope whole_course = node.with({.deadline = Deadline::while_peer_lives()});
  const RRef<Learner> learner = node.remote(node.name(), make_learner, seed, lessons_max);
  std::vector<Future<void>> playing;
  for (const NodeName& player : players) {
    playing.push_back(whole_course.rpc_async(player, &play_on, learner, seed, playing.size()));
  }
  wait_all(playing);
  const LocalValue<Learner> mine = learner.local_value(node);
  return {mine->standing(), mine->course().weights};
}

Graduation learn_here(std::uint64_t seed, std::int64_t lessons_max) {
  Learner learner(seed, lessons_max);
  Player player(seed, 0);
  Course course = learner.course();
  while (!course.is_over) course = learner.take(player.play(course.weights));
  return {learner.standing(), course.weights};
}

}  // namespace samples
