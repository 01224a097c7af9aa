// Observers that play at the same time and ask one agent before every push. Its network decides for each of them alone,
// or for all at once when the last has asked: that call returns a future shared by the round, so the agent needs one
// thread. Prints how long an episode takes either way; how one learns from it is in the sample `reinforcement`.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/collect.h"
#include "actors/rref.h"
#include "node/local_cluster.h"
#include "samples/command_line.h"
#include "samples/program.h"
#include "samples/reinforcement/cart_pole.h"
#include "samples/reinforcement/policy.h"

using namespace troupe;
using namespace samples;

constexpr std::uint64_t kSeed = 543;

class Agent {
 public:
  Agent(std::uint64_t observers, std::int64_t width)
      : policy_(kSeed, {.hidden = {width, width}, .dropout = 0}), states_(observers) {}

  /// One pass through the network for one observer.
  Push decide(const CartPoleState& state) { return pass({&state, 1}).front(); }

  /// One pass for all, when the last of them has asked. Completes with everybody's push.
  Future<std::vector<Push>> decide_together(Scope& scope, std::uint64_t observer, const CartPoleState& state) {
    states_.at(observer) = state;
    if (!round_) round_.emplace(scope);
    const Promise<std::vector<Push>> round = *round_;
    if (++asked_ == states_.size()) {
      asked_ = 0;
      round_.reset();
      round.complete(pass(states_));
    }
    return round.future();
  }

  /// How often states went through the network since this was asked last.
  std::int64_t take_passes() { return std::exchange(passes_, 0); }

 private:
  std::vector<Push> pass(std::span<const CartPoleState> states) {
    const NoGradGuard no_graph;
    ++passes_;
    return policy_.decide(states, generator_).pushes;
  }

  Policy policy_;
  Generator generator_{kSeed, 1};
  std::vector<CartPoleState> states_;  // by observer, of those who have asked in this round
  std::uint64_t asked_ = 0;
  std::optional<Promise<std::vector<Push>>> round_;
  std::int64_t passes_ = 0;
};

enum class Asking : std::uint8_t { alone, together };

class Observer {
 public:
  Observer(std::uint64_t number, RRef<Agent> agent)
      : number_(number), cart_pole_(Generator(kSeed, number + 2)), agent_(std::move(agent)) {}

  /// So many pushes; a new pole is set up whenever one is lost.
  void play(Scope& scope, Asking asking, std::int64_t steps) {
    for (std::int64_t step = 0; step < steps; ++step) {
      const CartPoleState& state = cart_pole_.state();
      const Push push = asking == Asking::alone
                            ? agent_.rpc_sync(scope, &Agent::decide, state)
                            : agent_.rpc_sync(scope, &Agent::decide_together, number_, state).at(number_);
      cart_pole_.step(push);
      if (cart_pole_.over()) cart_pole_.reset();
    }
  }

 private:
  std::uint64_t number_;
  CartPole cart_pole_;
  RRef<Agent> agent_;
};

constexpr auto make_agent = constructor<Agent, std::uint64_t, std::int64_t>;
constexpr auto make_observer = constructor<Observer, std::uint64_t, RRef<Agent>>;

struct Settings {
  std::vector<std::uint64_t> observers{1, 2, 4, 8};
  std::int64_t steps = 100;
  std::int64_t width = 2048;
  int repetitions = 5;
};

/// Of an episode.
struct Cost {
  std::vector<double> seconds;
  std::int64_t passes = 0;

  [[nodiscard]] double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

/// Plays episodes either way, by turns. The same agent, carts and number of pushes.
std::pair<Cost, Cost> measure(std::uint64_t observer_count, const Settings& settings) {
  const FunctionRegistry functions{{"Agent", make_agent},
                                   {"decide", &Agent::decide},
                                   {"decide_together", &Agent::decide_together},
                                   {"Observer", make_observer},
                                   {"play", &Observer::play}};
  std::vector<NodeName> names{"agent"};
  for (std::uint64_t i = 0; i < observer_count; ++i) names.push_back(fmt::format("observer{}", i));
  LocalCluster cluster(names, functions, {.pool = {.threads = 1}});
  const Node& node = cluster.node("agent");
  const auto agent = node.remote("agent", make_agent, observer_count, settings.width);
  std::vector<RRef<Observer>> observers;
  for (std::uint64_t i = 0; i < observer_count; ++i) {
    observers.push_back(node.remote(names[i + 1], make_observer, i, agent));
  }

  const auto episode = [&](Asking asking, Cost& cost) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<Future<void>> playing;
    for (const auto& observer : observers) {
      playing.push_back(observer.rpc_async(node, &Observer::play, asking, settings.steps));
    }
    wait_all(playing);
    cost.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    cost.passes = agent.local_value(node)->take_passes();
  };
  Cost alone;
  Cost together;
  for (int i = 0; i < settings.repetitions; ++i) {
    episode(Asking::alone, alone);
    episode(Asking::together, together);
  }
  return {alone, together};
}

int run(int argc, char** argv) {
  Settings settings;
  CommandLine line("Measures what it gains to decide for several observers at once.");
  line.add("--observers", settings.observers, "one table row for each number", {1, 64});
  line.add("--steps", settings.steps, "of each observer in an episode", {1, 100'000});
  line.add("--width", settings.width, "elements of both hidden layers", {1, 16'384});
  line.add("--repetitions", settings.repetitions, "episodes each way; their median counts", {1, 1'000});
  if (const auto status = line.parse(argc, argv)) return *status;

  fmt::print("An episode of {} pushes by each observer; network 4 - {} - {} - 2\n", settings.steps, settings.width,
             settings.width);
  fmt::print("             each alone          all together\n");
  fmt::print("observers    passes  seconds     passes  seconds    ratio\n");
  std::string last;
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint64_t count : settings.observers) {
    const auto [alone, together] = measure(count, settings);
    const double ratio = alone.median() / together.median();
    if (count > 1) least = std::min(least, ratio);
    last = fmt::format("{} observers: {} passes instead of {}", count, together.passes, alone.passes);
    fmt::print("{:>9} {:>9} {:>8.3f} {:>10} {:>8.3f} {:>8.2f}\n", count, alone.passes, alone.median(), together.passes,
               together.median(), ratio);
    std::fflush(stdout);
  }
  if (std::isfinite(least)) last += fmt::format("; from 2 on at least {:.2f} times as fast", least);
  fmt::print("{}\n", last);
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }
