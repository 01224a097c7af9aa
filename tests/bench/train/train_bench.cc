// Measures iterations of training over several processes, and of the same training in one. JSON lines:
//   {"name": "train/language_model/apart", "unit": "iterations/s", "median": 410, "p99": 455, "n": 9}
// `--quick` has few iterations, and none of rows whose iterations take long. `--rows` prints the rows' names.
// `--row <name> [--alone]` makes the model, prints "ready", reads lines "<iterations>" and answers each with the
// seconds that they took; side_by_side.py thus compares it with peer.py.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "node/node.h"
#include "tests/bench/bench.h"
#include "tests/bench/train/row.h"

namespace troupe::bench {
namespace {

constexpr int kRepetitions = 9;
constexpr double kRepetitionSeconds = 0.5;  // minimum: below it, the clock and the scheduler dominate

std::vector<TrainRow> all_rows() {
  return {mnist_row(), parameter_server_row(), language_model_row(), hybrid_row(), pipeline_row(1), pipeline_row(4)};
}

FunctionRegistry functions() { return with_halves(with_language_model(with_trainers({}))); }

/// Calls `work` with the row's training over one process for each of its nodes; this process is the first one.
void train_on_nodes(const TrainRow& row, int serial, const detail::ProcessGuard& guard,
                    const std::function<void(const Train&)>& work) {
  with_nodes(first_node(row.nodes.front(), "ipc", serial), row.nodes, functions(), guard,
             [&](Node& driver) { work(row.apart(driver)); });
}

void measure(const std::string& name, const Train& train, Effort effort) {
  const auto rate = [&](std::int64_t count) { return static_cast<double>(count) / train(count); };
  if (effort == Effort::quick) return print(name, "iterations/s", {rate(3)});
  std::int64_t count = 1;
  while (train(count) < kRepetitionSeconds) count *= 2;
  std::vector<double> samples;
  for (int i = 0; i < kRepetitions; ++i) samples.push_back(rate(count));
  print(name, "iterations/s", std::move(samples));
}

void measure_all(Effort effort, const detail::ProcessGuard& guard) {
  int serial = 0;
  for (const TrainRow& row : all_rows()) {
    if (row.large && effort == Effort::quick) continue;
    train_on_nodes(row, serial++, guard,
                   [&](const Train& train) { measure("train/" + row.name + "/apart", train, effort); });
    measure("train/" + row.name + "/alone", row.alone(), effort);
  }
}

void serve_row(const std::string& name, bool alone, const detail::ProcessGuard& guard) {
  for (const TrainRow& row : all_rows()) {
    if (row.name != name) continue;
    if (alone) answer(row.alone());
    else train_on_nodes(row, 0, guard, answer);
    return;
  }
  throw std::invalid_argument("no row " + name);
}

int run_train(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto has = [&](const char* flag) {
    return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
  };
  if (has("--rows")) {
    for (const TrainRow& row : all_rows()) fmt::print("{}\n", row.name);
    return 0;
  }
  const auto row = std::find(arguments.begin(), arguments.end(), "--row");
  return run(argc, argv, functions(), [&](Effort effort, const detail::ProcessGuard& guard) {
    if (row == arguments.end()) return measure_all(effort, guard);
    if (row + 1 == arguments.end()) throw std::invalid_argument("--row without a name");
    serve_row(*(row + 1), has("--alone"), guard);
  });
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) { return troupe::bench::run_train(argc, argv); }
