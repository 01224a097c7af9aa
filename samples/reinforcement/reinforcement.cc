// REINFORCE (Williams, 1992) with calls in both directions: the agent asks its observers to play an episode, and each
// of them asks the agent before every push. Run alone it has all nodes in one process;
// `troupe up samples/reinforcement/cluster.toml` runs it as three.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "actors/collect.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/remote_module.h"
#include "actors/rref.h"
#include "node/local_cluster.h"
#include "samples/command_line.h"
#include "samples/program.h"
#include "samples/reinforcement/agent.h"
#include "samples/reinforcement/cart_pole.h"
#include "samples/saves.h"

using namespace troupe;
using namespace samples;

constexpr double kSolved = 475;
constexpr std::size_t kShown = 10;  // every tenth episode is shown, and saved

/// Has a cart and a pole of its own.
class Observer {
 public:
  /// `episodes` were played before: their beginnings are drawn again.
  Observer(std::uint64_t number, std::uint64_t seed, RRef<Agent> agent, std::uint64_t episodes)
      : number_(number), cart_pole_(Generator(seed, 2 * number + 1)), agent_(std::move(agent)) {
    for (std::uint64_t i = 0; i < episodes; ++i) cart_pole_.reset();
  }

  void run_episode(Scope& scope) {
    cart_pole_.reset();
    while (!cart_pole_.over()) {
      const Push push = agent_.rpc_sync(scope, &Agent::select_action, number_, cart_pole_.state());
      agent_.rpc_sync(scope, &Agent::report_reward, number_, cart_pole_.step(push));
    }
  }

 private:
  std::uint64_t number_;
  CartPole cart_pole_;
  RRef<Agent> agent_;
};

constexpr auto make_agent = constructor<Agent, std::uint64_t, std::uint64_t>;
constexpr auto make_observer = constructor<Observer, std::uint64_t, std::uint64_t, RRef<Agent>, std::uint64_t>;

struct Settings {
  std::uint64_t seed = 1;
  std::size_t episodes = 1500;
  SaveOptions saves;
};

/// The mean reward of each tenth of all episodes, as a bar.
void print_curve(std::span<const double> rewards) {
  const std::size_t tenth = (rewards.size() + 9) / 10;
  for (std::size_t first = 0; first < rewards.size(); first += tenth) {
    const auto part = rewards.subspan(first, std::min(tenth, rewards.size() - first));
    const double mean = std::reduce(part.begin(), part.end()) / static_cast<double>(part.size());
    const std::string bar(static_cast<std::size_t>(mean / 10), '#');
    fmt::print("{:>5} - {:<5} {:<50} {:.0f}\n", first + 1, first + part.size(), bar, mean);
  }
}

void train(Node& node, const std::vector<NodeName>& observer_nodes, const Settings& settings) {
  const auto agent = node.remote(node.name(), make_agent, settings.seed, observer_nodes.size());
  DistOptimizer optimizer(node, optim::AdamOptions{.lr = 0.01}, parameters_of(node, agent.local_value(node)->policy()));
  std::vector<double> rewards;
  double average = 0;
  SavedNumbers numbers;
  numbers.add("rewards", rewards).add("average", average);
  numbers.add_setting("--seed", static_cast<std::int64_t>(settings.seed));
  Checkpoint checkpoint;
  Agent& parts = *agent.local_value(node);  // lives as long as the reference
  checkpoint.add("policy", parts.policy()).add("draws", parts);
  checkpoint.add("optimizer", optimizer).add("numbers", numbers);
  if (settings.saves.restore(node, checkpoint)) fmt::print("goes on after episode {}\n", rewards.size());

  std::vector<RRef<Observer>> observers;
  for (const NodeName& name : observer_nodes) {
    observers.push_back(node.remote(name, make_observer, observers.size(), settings.seed, agent, rewards.size()));
  }
  while (average <= kSolved && rewards.size() < settings.episodes) {
    std::vector<Future<void>> running;
    for (const auto& observer : observers) running.push_back(observer.rpc_async(node, &Observer::run_episode));
    wait_all(running);

    const LocalValue<Agent> mine = agent.local_value(node);
    rewards.push_back(mine->reward());
    average = 0.05 * rewards.back() + 0.95 * average;
    DistContext ctx(node);
    backward(ctx, mine->take_loss());
    optimizer.step(ctx);

    if (rewards.size() % kShown == 0) {
      settings.saves.save(node, checkpoint);
      fmt::print("Episode {}\tLast reward: {:.2f}\tAverage reward: {:.2f}\n", rewards.size(), rewards.back(), average);
      std::fflush(stdout);
    }
  }
  print_curve(rewards);
  const char* outcome = average > kSolved ? "Solved" : "Not solved";
  fmt::print("{} after {} episodes: average reward {:.2f}\n", outcome, rewards.size(), average);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Settings settings;
  std::size_t observers = 2;
  CommandLine line("Learns to balance a pole: all nodes in this process, or one each with `troupe up cluster.toml`.");
  line.add("--seed", settings.seed, "of the network, the carts and the draws");
  line.add("--episodes", settings.episodes, "at most so many", {1, 100'000});
  line.add("--observers", observers, "nodes with a cart, when run alone", {1, 64});
  settings.saves.add_to(line, fmt::format("after every {} episodes", kShown));
  if (const auto status = line.parse(argc, argv)) return *status;

  const FunctionRegistry functions{{"Agent", make_agent},
                                   {"select_action", &Agent::select_action},
                                   {"report_reward", &Agent::report_reward},
                                   {"Observer", make_observer},
                                   {"run_episode", &Observer::run_episode}};
  const NodeOptions options = NodeOptions::from_environment();
  if (options.world_size == 1) {
    std::vector<NodeName> names{"agent"};
    for (std::size_t i = 0; i < observers; ++i) names.push_back(fmt::format("observer{}", i));
    LocalCluster cluster(names, functions);
    train(cluster.node("agent"), {names.begin() + 1, names.end()}, settings);
  } else {
    Node node = Node::join(options, functions);
    if (options.role == "agent") train(node, node.role("observer").names(), settings);
    node.serve();
    node.shutdown();
  }
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }
