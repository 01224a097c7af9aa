// Asynchronous advantage actor-critic: players on other nodes balance poles, each with the weights that it last heard
// of, and send the learner what they learnt. Run alone it has all nodes in one process; `troupe up
// samples/a3c/cluster.toml` runs it as four.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "node/local_cluster.h"
#include "samples/a3c/school.h"
#include "samples/command_line.h"
#include "samples/program.h"
#include "tensor/ops.h"

using namespace troupe;
using namespace samples;

struct Settings {
  CourseSettings course;
  std::uint64_t seeds = 1;
  std::size_t players = 3;
  bool check = false;
};

/// Learns once for each seed.
void learn_all(const Node& node, const std::vector<NodeName>& players, const Settings& settings) {
  std::uint64_t solved = 0;
  const std::uint64_t first = settings.course.seed;
  for (CourseSettings course = settings.course; course.seed < first + settings.seeds; ++course.seed) {
    const Standing end = learn(node, players, course).standing;
    const bool is_solved = end.average > Learner::kSolved;
    if (is_solved) ++solved;
    fmt::print("seed {}: {} after {} lessons of {} players, {} episodes: average reward {:.2f}\n", course.seed,
               is_solved ? "solved" : "not solved", end.lessons, players.size(), end.episodes, end.average);
    std::fflush(stdout);
  }
  fmt::print("{} of {} seeds reached an average reward of {}\n", solved, settings.seeds, Learner::kSolved);
  std::fflush(stdout);
}

/// One player learns the same wherever its learner is.
void check(const Node& node, const NodeName& player, const Settings& settings) {
  const Graduation apart = learn(node, {player}, settings.course);
  const Graduation here = learn_here(settings.course.seed, settings.course.lessons_max);
  double off = 0;
  for (std::size_t i = 0; i < here.weights.size(); ++i) {
    off = std::max(off, max(abs(apart.weights.at(i) - here.weights[i])).item());
  }
  fmt::print("{} lessons of one player, average reward {:.2f}\n", apart.standing.lessons, apart.standing.average);
  fmt::print("weights are those of one process within {:.1e}\n", off);
  std::fflush(stdout);
}

void lead(const Node& node, const std::vector<NodeName>& players, const Settings& settings) {
  if (settings.check) check(node, players.front(), settings);
  else learn_all(node, players, settings);
}

int run(int argc, char** argv) {
  Settings settings;
  CommandLine line("Learns to balance a pole: all nodes in this process, or one each with `troupe up cluster.toml`.");
  line.add("--seed", settings.course.seed, "of the networks, the carts and the draws");
  line.add("--seeds", settings.seeds, "so many, one after the other", {1, 1'000});
  line.add("--lessons", settings.course.lessons_max, "at most so many", {1, 10'000'000});
  line.add("--players", settings.players, "when run alone", {1, 64});
  line.add_flag("--check", settings.check, "one player only; compares the weights with those of one process");
  settings.course.saves.add_to(line, fmt::format("after every {} lessons", kTerm));
  line.excludes("--checkpoint", "--seeds");
  if (const auto status = line.parse(argc, argv)) return *status;

  const NodeOptions options = NodeOptions::from_environment();
  if (options.world_size == 1) {
    std::vector<NodeName> names{"learner"};
    for (std::size_t i = 0; i < settings.players; ++i) names.push_back(fmt::format("player{}", i));
    LocalCluster cluster(names, school_functions());
    lead(cluster.node("learner"), {names.begin() + 1, names.end()}, settings);
    return 0;
  }
  Node node = Node::join(options, school_functions());
  if (options.role == "learner") lead(node, node.role("player").names(), settings);
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }
