#include "samples/a3c/school.h"

#include <fmt/format.h>

#include <cstdio>

#include "actors/checkpoint/checkpoint.h"
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
  Course course = learner.rpc_sync(scope, &Learner::enter, number);
  player.go_on_from(course.position);
  while (!course.is_over) course = learner.rpc_sync(scope, &Learner::take, player.play(course.weights));
}

/// Plays to the end of the course, or of a term of it.
void play(const Scope& whole_course, const std::vector<NodeName>& players, const RRef<Learner>& learner,
          std::uint64_t seed) {
  std::vector<Future<void>> playing;
  for (const NodeName& player : players) {
    playing.push_back(whole_course.rpc_async(player, &play_on, learner, seed, playing.size()));
  }
  wait_all(playing);
}

}  // namespace

FunctionRegistry school_functions() {
  return {{"Learner", make_learner}, {"enter", &Learner::enter}, {"take", &Learner::take}, {"play_on", &play_on}};
}

Graduation learn(const Node& node, const std::vector<NodeName>& players, const CourseSettings& settings) {
  const Scope whole_course = node.with({.deadline = Deadline::while_peer_lives()});
  const RRef<Learner> learner = node.remote(node.name(), make_learner, settings.seed, settings.lessons_max);
  SavedNumbers numbers;
  numbers.add_setting("--seed", static_cast<std::int64_t>(settings.seed))
      .add_setting("--lessons", settings.lessons_max);
  Checkpoint checkpoint;
  checkpoint.add("learner", *learner.local_value(node)).add("settings", numbers);
  const auto standing = [&] { return learner.local_value(node)->standing(); };
  if (settings.saves.restore(node, checkpoint)) fmt::print("goes on after lesson {}\n", standing().lessons);

  const bool has_terms = !settings.saves.directory.empty();
  while (!learner.local_value(node)->is_over()) {
    learner.local_value(node)->begin_term(has_terms ? kTerm : settings.lessons_max);
    play(whole_course, players, learner, settings.seed);
    if (!has_terms) continue;
    settings.saves.save(node, checkpoint);  // nobody plays now
    fmt::print("saved after lesson {}: average reward {:.2f}\n", standing().lessons, standing().average);
    std::fflush(stdout);
  }
  return {standing(), learner.local_value(node)->course().weights};
}

Graduation learn_here(std::uint64_t seed, std::int64_t lessons_max) {
  Learner learner(seed, lessons_max);
  Player player(seed, 0);
  Course course = learner.course();
  while (!course.is_over) course = learner.take(player.play(course.weights));
  return {learner.standing(), course.weights};
}

}  // namespace samples
