// Measures what one item costs when there are many: nodes, calls in flight, bytes, references, boundaries of a pass,
// parameters. Prints one JSON line for each point of each curve, the time of one item in microseconds:
//   {"name": "scale/references/create/100000", "unit": "us", "median": 14.2, "p99": 14.2, "n": 1}
// A curve that is flat scales. The nodes are processes of this host. `--quick` measures the first points only; draw.py
// makes a picture of the lines.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "actors/debug_info.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/rref.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tests/bench/bench.h"

namespace troupe::bench {
namespace {

void nothing() {}
std::int64_t one() { return 1; }
double total_of(const Tensor& x) { return sum(x).item<double>(); }
Variable doubled(const Variable& x) { return x * 2.0; }
Variable parameter() { return Variable(ones({10}), RequiresGrad::yes); }
std::uint64_t values_here(Scope& scope) { return detail::debug_info_of(*scope.state().node).owners; }

/// The sum of all elements of variables that this node owns.
Variable total_here(Scope& scope, const std::vector<RRef<Variable>>& variables) {
  std::vector<Variable> sums;
  sums.reserve(variables.size());
  for (const RRef<Variable>& variable : variables) sums.push_back(sum(*variable.local_value(scope)));
  return sum(stack(sums, 0));
}

FunctionRegistry functions() {
  return {{"nothing", &nothing},      {"one", &one},
          {"total_of", &total_of},    {"doubled", &doubled},
          {"parameter", &parameter},  {"values_here", &values_here},
          {"total_here", &total_here}};
}

/// One run of the program.
struct Bench {
  Effort effort;
  const detail::ProcessGuard& guard;
  int serial = 0;

  [[nodiscard]] bool quick() const { return effort == Effort::quick; }

  /// Returns `low`, then `factor` times as many and so on, up to `high`; the first two alone if the run is short.
  [[nodiscard]] std::vector<std::int64_t> points(std::int64_t low, std::int64_t high, std::int64_t factor) const {
    std::vector<std::int64_t> all;
    for (std::int64_t n = low; n <= high && (!quick() || all.size() < 2); n *= factor) all.push_back(n);
    if (!quick() && all.back() != high) all.push_back(high);
    return all;
  }

  void with(const std::vector<NodeName>& nodes, const std::function<void(Node&)>& work) {
    with_nodes(first_node(nodes.front(), "ipc", serial++), nodes, functions(), guard, work);
  }

  /// Returns so many samples: more of what is short.
  [[nodiscard]] int samples_of(std::int64_t items) const { return quick() ? 1 : items < 100'000 ? 5 : 1; }
};

/// Prints a point: `seconds` are of `items` items each.
void point(const std::string& curve, std::int64_t items, std::vector<double> seconds, std::int64_t per) {
  for (double& s : seconds) s *= 1e6 / static_cast<double>(per);
  print(fmt::format("scale/{}/{}", curve, items), "us", std::move(seconds));
  std::fflush(stdout);
}

/// A call to every node, and the wait for all answers.
void nodes(Bench& bench) {
  for (const std::int64_t count : bench.points(2, 64, 2)) {
    std::vector<NodeName> names;
    for (std::int64_t i = 0; i < count; ++i) names.push_back(fmt::format("n{}", i));
    bench.with(names, [&](Node& node) {
      std::vector<double> seconds;
      for (int i = 0; i < (bench.quick() ? 2 : 101); ++i) {
        const double s = seconds_of([&] { static_cast<void>(node.group().call_all(node, &nothing)); });
        if (i > 0) seconds.push_back(s);
      }
      point("nodes/call_all", count, seconds, count);
    });
  }
}

void in_flight(Bench& bench) {
  bench.with({"client", "server"}, [&](Node& node) {
    for (const std::int64_t window : bench.points(1, 4096, 4)) {
      const std::int64_t count = bench.quick() ? 100 : std::max<std::int64_t>(10'000, 4 * window);
      std::vector<double> seconds;
      for (int i = 0; i <= bench.samples_of(count); ++i) {
        const double s = seconds_of([&] {
          std::deque<Future<void>> under_way;
          for (std::int64_t call = 0; call < count; ++call) {
            if (std::ssize(under_way) == window) {
              under_way.front().get();
              under_way.pop_front();
            }
            under_way.push_back(node.rpc_async("server", &nothing));
          }
          for (const auto& call : under_way) call.get();
        });
        if (i > 0) seconds.push_back(s);
      }
      point("in_flight/call", window, seconds, count);
    }
  });
}

/// A tensor that is written anew, sent, and read by the callee; beside it the same without sending. Per KiB.
void payload(Bench& bench) {
  bench.with({"client", "server"}, [&](Node& node) {
    double number = 0.0;
    for (const std::int64_t kib : bench.points(1, 1 << 20, 16)) {
      std::vector<double> sent;
      std::vector<double> local;
      for (int i = 0; i <= std::max(3, bench.samples_of(kib)); ++i) {
        const Shape shape{kib * 256};  // f32
        const int calls = kib < 4096 && !bench.quick() ? 100 : 1;
        const double with_call = seconds_of([&] {
          for (int call = 0; call < calls; ++call)
            static_cast<void>(node.rpc_sync("server", &total_of, full(shape, number += 1.0)));
        });
        const double without = seconds_of([&] {
          for (int call = 0; call < calls; ++call) static_cast<void>(total_of(full(shape, number += 1.0)));
        });
        if (i == 0) continue;
        sent.push_back(with_call / calls);
        local.push_back(without / calls);
      }
      point("payload/sent", kib, sent, kib);
      point("payload/local", kib, local, kib);
    }
  });
}

/// References to values of one owner: made, fetched while so many are held, released until the owner has no value more.
void references(Bench& bench) {
  constexpr std::int64_t kWave = 1000;
  for (const std::int64_t count : bench.points(1, 1'000'000, 10)) {
    bench.with({"client", "server"}, [&](Node& node) {
      std::vector<double> create;
      std::vector<double> fetch;
      std::vector<double> release;
      const auto patient = node.with({.deadline = std::chrono::minutes(10)});
      const int warm_up = count < 100'000 ? 1 : 0;  // more touches memory enough of its own
      for (int i = 0; i < bench.samples_of(count) + warm_up; ++i) {
        std::vector<RRef<std::int64_t>> all;
        all.reserve(static_cast<std::size_t>(count));
        create.push_back(seconds_of([&] {
          while (std::ssize(all) < count) {
            all.push_back(node.remote("server", &one));
            if (std::ssize(all) % kWave == 0 || std::ssize(all) == count) all.back().created(node).get();
          }
        }));
        std::mt19937_64 any;
        constexpr int kFetches = 100;
        fetch.push_back(seconds_of([&] {
                          for (int k = 0; k < kFetches; ++k) static_cast<void>(all[any() % all.size()].to_here(node));
                        }) /
                        kFetches);
        release.push_back(seconds_of([&] {
          all.clear();
          while (patient.rpc_sync("server", &values_here) > 0) {
          }
        }));
      }
      for (auto* samples : {&create, &fetch, &release}) {
        samples->erase(samples->begin(), samples->begin() + warm_up);
      }
      point("references/create", count, create, count);
      point("references/fetch", count, fetch, 1);
      point("references/release", count, release, count);
    });
  }
}

/// A chain of calls in one context: each has two boundaries, its argument's and its result's.
void boundaries(Bench& bench) {
  bench.with({"client", "server"}, [&](Node& node) {
    for (const std::int64_t count : bench.points(2, 10'000, 10)) {
      std::vector<double> forward;
      std::vector<double> back;
      for (int i = 0; i <= bench.samples_of(count); ++i) {
        DistContext context(node);
        const Variable x(ones({2}), RequiresGrad::yes);
        Variable y = x;
        const double f = seconds_of([&] {
          for (std::int64_t call = 0; call < count / 2; ++call) y = context.rpc_sync("server", &doubled, y);
        });
        const double b = seconds_of([&] { backward(context, sum(y)); });
        if (i == 0) continue;
        forward.push_back(f);
        back.push_back(b);
      }
      point("boundaries/forward", count, forward, count);
      point("boundaries/backward", count, back, count);
    }
  });
}

/// Parameters of one owner: a call that uses all, the backward pass, the step of an optimizer.
void parameters(Bench& bench) {
  for (const std::int64_t count : bench.points(1, 100'000, 10)) {
    bench.with({"client", "server"}, [&](Node& node) {
      std::vector<RRef<Variable>> all;
      for (std::int64_t i = 0; i < count; ++i) all.push_back(node.remote("server", &parameter));
      std::optional<DistOptimizer> optimizer;
      const double made = seconds_of([&] { optimizer.emplace(node, optim::SgdOptions{.lr = 0.01}, all); });
      std::vector<double> gradients;
      std::vector<double> steps;
      for (int i = 0; i <= bench.samples_of(count); ++i) {
        DistContext context(node);
        const double g = seconds_of([&] { backward(context, context.rpc_sync("server", &total_here, all)); });
        const double s = seconds_of([&] { optimizer->step(context); });
        if (i == 0) continue;
        gradients.push_back(g);
        steps.push_back(s);
      }
      point("parameters/make_optimizer", count, {made}, count);
      point("parameters/gradients", count, gradients, count);
      point("parameters/step", count, steps, count);
    });
  }
}

void measure(Effort effort, const detail::ProcessGuard& guard, const std::string& only) {
  Bench bench{effort, guard};
  const std::pair<const char*, void (*)(Bench&)> curves[] = {{"nodes", &nodes},           {"in_flight", &in_flight},
                                                             {"payload", &payload},       {"references", &references},
                                                             {"boundaries", &boundaries}, {"parameters", &parameters}};
  for (const auto& [name, curve] : curves) {
    if (only.empty() || only == name) curve(bench);
  }
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto only = std::ranges::find(arguments, "--only");
  const std::string name = only != arguments.end() && std::next(only) != arguments.end() ? *std::next(only) : "";
  return troupe::bench::run(argc, argv, troupe::bench::functions(),
                            [&](troupe::bench::Effort effort, const troupe::detail::ProcessGuard& guard) {
                              troupe::bench::measure(effort, guard, name);
                            });
}
