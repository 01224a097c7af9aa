// Counts what one operation costs all nodes together: counts do not depend on the speed of the machine. JSON lines:
//   {"name": "count/mallocs/none", "unit": "mallocs", "median": 120, "p99": 121, "n": 15}
// A row that cannot be had on this host gives {"name": ..., "skipped": "valgrind is not installed"}. `--only text`: the
// rows whose names contain it. `--quick` samples one group of processes, and skips rows that take long. `--bounds FILE`
// samples as little, the rows that the file names, and fails if a median is above its bound there.
#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/bench.h"
#include "tests/bench/counts/counted_rows.h"

namespace troupe::bench {
namespace {

constexpr Sampling kQuick{1, 3};

double median_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples.at(samples.size() / 2);
}

/// Prints the row. Returns its median; nullopt if it cannot be counted here.
std::optional<double> count(const CountedRow& row, const Sampling& sampling) {
  try {
    const std::vector<double> samples = samples_of(row, sampling);
    print(row.name, unit_of(row.counter), samples);
    return median_of(samples);
  } catch (const CannotCount& why) {
    fmt::print("{{\"name\": \"{}\", \"skipped\": \"{}\"}}\n", row.name, why.what());
    return std::nullopt;
  }
}

void count_all(Effort effort, const std::string& only) {
  for (const CountedRow& row : counted_rows()) {
    if (row.name.find(only) == std::string::npos) continue;
    const bool slow = row.counter == Counter::instructions || row.counter == Counter::syscalls_per_second ||
                      row.work.operation == "400MB";
    if (slow && effort == Effort::quick) continue;
    count(row, slow ? Sampling{.groups = 3, .samples = 3} : effort == Effort::quick ? kQuick : Sampling{});
  }
}

/// Reads lines "<row> <bound>"; those that begin with # are comments.
std::map<std::string, double> read_bounds(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("cannot read " + path);
  std::map<std::string, double> bounds;
  for (std::string name; file >> name;) {
    double bound = 0;
    if (name.front() == '#') std::getline(file, name);
    else if (file >> bound) bounds.emplace(name, bound);
    else throw std::invalid_argument(path + ": no number follows " + name);
  }
  return bounds;
}

/// Counts the row up to three times, until it is within its bound: other load adds to counts at times, a change always.
bool is_within(const CountedRow& row, double bound) {
  for (int i = 0; i < 3; ++i) {
    const std::optional<double> median = count(row, kQuick);
    if (!median || *median <= bound) return true;
  }
  return false;
}

void hold_bounds(const std::string& path) {
  std::map<std::string, double> bounds = read_bounds(path);
  std::string above;
  for (const CountedRow& row : counted_rows()) {
    const auto bound = bounds.extract(row.name);
    if (bound.empty() || is_within(row, bound.mapped())) continue;
    above += fmt::format("\n  {} {}", row.name, bound.mapped());
  }
  if (!bounds.empty()) throw std::invalid_argument(path + ": no row " + bounds.begin()->first);
  if (!above.empty()) throw std::runtime_error("counted three times, and above the bounds of " + path + above);
}

int run_counts(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 4 && arguments[0] == "--workload") {
    return run_workload({arguments[1], arguments[2], std::stoul(arguments[3])});
  }
  signal(SIGPIPE, SIG_IGN);  // a workload that has ended is reported by what reads from it
  const auto value_of = [&](const char* option) -> std::string {
    const auto at = std::find(arguments.begin(), arguments.end(), option);
    return at == arguments.end() || at + 1 == arguments.end() ? "" : *(at + 1);
  };
  return run(argc, argv, counted_functions(), [&](Effort effort, const detail::ProcessGuard&) {
    if (const std::string bounds = value_of("--bounds"); !bounds.empty()) hold_bounds(bounds);
    else count_all(effort, value_of("--only"));
  });
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) { return troupe::bench::run_counts(argc, argv); }
