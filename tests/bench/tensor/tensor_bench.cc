// Measures operations, layers, update rules and training steps, on the CPU and, where there is one, on a GPU. One JSON
// line each:
//   {"name": "sgemm/512", "unit": "us", "median": 1404, "p99": 1422, "n": 15}
// `--quick` runs each row once, except large ones. `--only <text>` selects rows whose name contains the text. `--serve`
// reads lines "<name> <times>" and answers each with the seconds that this took, or "<name> - " with the kind of
// recording; side_by_side.py thus compares it with peer.py. Uses OMP_NUM_THREADS threads.
#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tensor/device.h"
#include "tests/bench/figures.h"
#include "tests/bench/tensor/row.h"

namespace troupe::bench {
namespace {

constexpr int kRepetitions = 15;
constexpr double kRepetitionSeconds = 0.05;  // minimum: below it, the clock and the scheduler dominate

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (auto part : {elementwise_rows, order_rows, product_rows, layer_rows, training_rows, gpu_rows}) {
    for (Row& row : part()) rows.push_back(std::move(row));
  }
  return rows;
}

/// A GPU works on when the last operation has returned: its rows end when it has ended.
double seconds_of_times(const Work& work, long times) {
  return seconds_of([&] {
    for (long i = 0; i < times; ++i) work();
    if (gpu_count() > 0) synchronize(Device::cuda());
  });
}

void measure(const Row& row, bool quick) {
  const Work work = row.prepare();
  const double first = seconds_of(work);
  if (quick) return print(row.name, "us", {1e6 * first});
  long times = 1;
  while (seconds_of_times(work, times) < kRepetitionSeconds) times *= 2;
  std::vector<double> samples;
  for (int i = 0; i < kRepetitions; ++i)
    samples.push_back(1e6 * seconds_of_times(work, times) / static_cast<double>(times));
  print(row.name, "us", std::move(samples));
}

/// Keeps the operands of the last requested row, as its peer does.
void serve(const std::vector<Row>& rows) {
  for (const Row& row : rows) fmt::print("{} ", row.name);
  fmt::print("\n");
  std::fflush(stdout);
  const Row* current = nullptr;
  Work work;
  for (std::string name, times; std::cin >> name >> times;) {
    if (current == nullptr || current->name != name) {
      const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
      if (found == rows.end()) throw std::invalid_argument("no row " + name);
      work = nullptr;  // releases its operands before the next ones are created
      current = &*found;
      work = current->prepare();
    }
    if (times == "-") fmt::print("{}\n", current->autograd);
    else fmt::print("{:.9f}\n", seconds_of_times(work, std::stol(times)));
    std::fflush(stdout);
  }
}

int run_rows(const std::vector<std::string>& arguments) {
  const auto flag = [&](const char* name) { return std::find(arguments.begin(), arguments.end(), name); };
  const bool quick = flag("--quick") != arguments.end();
  const auto only = flag("--only");
  const std::string part = only == arguments.end() || only + 1 == arguments.end() ? "" : *(only + 1);
  std::vector<Row> rows = all_rows();
  std::erase_if(rows, [&](const Row& row) { return (quick && row.large) || row.name.find(part) == std::string::npos; });
  if (flag("--serve") != arguments.end()) {
    serve(rows);
    return 0;
  }
  for (const Row& row : rows) measure(row, quick);
  return 0;
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) {
  try {
    return troupe::bench::run_rows({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "tensor: {}\n", error.what());
    return 1;
  }
}
