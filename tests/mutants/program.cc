// mutants <seed> <count> [text]: draws `count` mutants of the glue, runs the tests with each, and reports those that no
// test detected. With a text, only mutants whose "file:line change" contains it are tried. See README.md.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/mutants/command.h"
#include "tests/mutants/reasons.h"
#include "tests/mutants/trial.h"
#include "tests/mutants/workshop.h"

namespace {

using namespace mutants;

const std::vector<std::string> kFiles{"actors/references/references.cc",       "actors/references/value_calls.cc",
                                      "actors/contexts/contexts.cc",           "actors/shards/shards.cc",
                                      "actors/membership/membership_actor.cc", "actors/core/lives.cc",
                                      "actors/core/actor_directory.h"};
const std::vector<Suite> kSuites{{"actors", "tests/actors/actors_test"},
                                 {"models", "tests/models/models_test"},
                                 {"leaving_model", "tests/models/leaving_model_test"},
                                 {"scenarios", "tests/scenarios/scenarios_test"},
                                 {"sim_scenarios", "tests/scenarios/sim_scenarios_test"},
                                 {"sim_training", "tests/scenarios/sim_training_test"},
                                 {"conformance", "tests/conformance/conformance_test"}};
constexpr double kWanted = 0.85;

void say(const std::string& what) { std::cout << "mutants: " << what << std::endl; }

/// Returns the numbers of all mutants, in the order of drawing.
std::vector<std::size_t> drawn(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  for (std::size_t left = count; left > 1; --left)
    std::swap(order[left - 1], order[random() % left]);  // equal on every platform
  return order;
}

bool fits(const Mutant& one, const Mutant& other) {
  const Range& a = one.point.range;
  const Range& b = other.point.range;
  return one.source != other.source || a.is_apart_from(b) || a.contains(b) || b.contains(a);
}

/// Draws until `count` mutants compile together. About a third of the drawn ones do not.
std::vector<int> draw(Workshop& workshop, std::uint64_t seed, std::size_t count) {
  const std::vector<Mutant>& all = workshop.mutants();
  const std::vector<std::size_t> order = drawn(all.size(), seed);
  std::vector<int> chosen;
  std::size_t refused = 0;
  bool is_enough = false;
  for (auto next = order.begin();;) {
    for (; next != order.end() && chosen.size() < count + (count + 1) / 2 && !is_enough; ++next) {
      const Mutant& one = all[*next];
      const auto fits_in = [&](int number) { return fits(one, all[static_cast<std::size_t>(number) - 1]); };
      if (std::ranges::all_of(chosen, fits_in)) chosen.push_back(one.number);
    }
    say("compiling " + std::to_string(chosen.size()) + " mutants, " + std::to_string(refused) + " did not compile");
    const std::set<int> blamed = workshop.compile({chosen.begin(), chosen.end()});
    refused += blamed.size();
    std::erase_if(chosen, [&](int number) { return blamed.contains(number); });
    is_enough = chosen.size() >= count;
    if (!blamed.empty() || (!is_enough && next != order.end())) continue;
    chosen.resize(std::min(chosen.size(), count));  // the others are compiled in but never switched on
    return chosen;
  }
}

struct Result {
  std::string place;  // "file:line change"
  const Reason* reason = nullptr;
  Verdict verdict{};
};

class Run {
 public:
  Run(Workshop& workshop, const Trial& trial, std::vector<Reason> reasons)
      : workshop_(workshop), trial_(trial), reasons_(std::move(reasons)) {}

  void try_all(const std::vector<int>& numbers, const std::string& text, std::size_t jobs) {
    std::vector<int> to_try;
    for (const int number : numbers) {
      if (describe(number).place.find(text) != std::string::npos) to_try.push_back(number);
    }
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < jobs; ++i) {
      workers.emplace_back([&] {
        for (std::size_t at = next++; at < to_try.size(); at = next++) try_one(to_try[at], to_try.size());
      });
    }
  }

  /// Prints the results. Returns whether they are good enough.
  [[nodiscard]] bool report(std::uint64_t seed) const {
    const auto count = [this](auto which) { return static_cast<std::size_t>(std::ranges::count_if(results_, which)); };
    const std::size_t killed = count([](const Result& one) { return one.verdict.is_killed; });
    const std::size_t equivalent = count(is_equivalent);
    const std::size_t survived = results_.size() - killed - equivalent;
    const std::size_t unexplained =
        count([](const Result& one) { return !one.verdict.is_killed && one.reason == nullptr; });
    print("equivalent", is_equivalent);
    print("survived", [](const Result& one) { return !one.verdict.is_killed && !is_equivalent(one); });
    const double share =
        killed + survived == 0 ? 1.0 : static_cast<double>(killed) / static_cast<double>(killed + survived);
    std::ostringstream line;
    line << "seed " << seed << ", " << results_.size() << " mutants: " << killed << " killed, " << equivalent
         << " equivalent, " << survived << " survived (" << unexplained << " without a reason); killed " << std::fixed
         << std::setprecision(1) << 100 * share << " % of " << killed + survived;
    say(line.str());
    return share >= kWanted && unexplained == 0;
  }

 private:
  static bool is_equivalent(const Result& one) {
    return !one.verdict.is_killed && one.reason != nullptr && one.reason->is_equivalent;
  }

  [[nodiscard]] Result describe(int number) const {
    const Mutant& mutant = workshop_.mutants()[static_cast<std::size_t>(number) - 1];
    const Source& source = workshop_.source(mutant.source);
    const std::string change = std::string(name_of(mutant.point.change)) + " " + mutant.point.what;
    return {source.path() + ":" + std::to_string(mutant.point.line) + " " + change,
            find_reason(reasons_, source.path(), line_of(source, mutant.point.line), change)};
  }

  void try_one(int number, std::size_t count) {
    Result result = describe(number);
    result.verdict = trial_.judge(number);
    const std::lock_guard lock(mutex_);
    results_.push_back(result);
    std::cout << std::setw(4) << results_.size() << "/" << count
              << (result.verdict.is_killed ? " killed    " : " survived  ") << result.place << "\n          " << number
              << ", " << result.verdict.cases << " tests reach it, " << result.verdict.took.count() << " ms"
              << (result.verdict.is_killed ? ", " + result.verdict.by : "") << std::endl;
  }

  template <class Which>
  void print(const char* title, Which which) const {
    for (const Result& one : results_) {
      if (!which(one)) continue;
      std::cout << title << ": " << one.place << (one.verdict.cases == 0 ? " (no test reaches it)" : "") << "\n";
      if (one.reason != nullptr) std::cout << "    " << one.reason->text << "\n";
    }
  }

  Workshop& workshop_;
  const Trial& trial_;
  const std::vector<Reason> reasons_;
  std::mutex mutex_;
  std::vector<Result> results_;  // guarded by mutex_ during the trials
};

bool run_mutants(std::uint64_t seed, std::size_t count, const std::string& text) {
  const std::filesystem::path tree = TROUPE_SOURCE_DIR;
  const std::filesystem::path work = tree / "build/mutants";
  const std::filesystem::path build = TROUPE_BUILD_DIR;
  const std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
  Workshop workshop({tree, build, work, build / MUTANT_SELECTOR}, kFiles, jobs);
  const std::vector<Reason> reasons = reasons_of(contents_of(tree / "tests/mutants/reasons"));
  say("seed " + std::to_string(seed) + ", " + std::to_string(count) + " of " +
      std::to_string(workshop.mutants().size()) + " places");
  const std::vector<int> chosen = draw(workshop, seed, count);
  std::map<std::string, std::filesystem::path> programs;
  for (const Suite& suite : kSuites) programs.emplace(suite.name, workshop.link(suite));
  say("running the tests without a mutant");
  const Trial trial(work, programs);
  for (const TestCase& test : trial.failed())
    say("not tried, fails without a mutant: " + test.suite + ": " + test.name);
  say(std::to_string(trial.cases().size()) + " tests pass");
  Run run(workshop, trial, reasons);
  run.try_all(chosen, text, jobs);
  return run.report(seed);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::uint64_t seed = argc > 1 ? std::stoull(argv[1]) : 1;
    const std::size_t count = argc > 2 ? std::stoull(argv[2]) : 200;
    return run_mutants(seed, count, argc > 3 ? argv[3] : "") ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "mutants: " << error.what() << "\n";
    return 2;
  }
}
