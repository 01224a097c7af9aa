#include "tests/mutants/trial.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/mutants/command.h"

namespace mutants {
namespace {

using namespace std::chrono_literals;

/// Faster tests run in one process with the others of their suite.
constexpr std::chrono::microseconds kFast = 200ms;

/// The factor on a test's normal time, and the addition for a machine with other load.
constexpr int kPatience = 5;
constexpr std::chrono::milliseconds kGrace = 15s;

/// Boost.Test's exit status if it cannot begin.
constexpr int kNothingRan = 200;

std::vector<std::pair<std::string, std::string>> environment(int mutant) {
  return {{"TROUPE_MUTANT", std::to_string(mutant)}, {"OMP_WAIT_POLICY", "passive"}};
}

}  // namespace

Trial::Trial(std::filesystem::path work, std::map<std::string, std::filesystem::path> programs)
    : work_(std::move(work)), programs_(std::move(programs)) {
  for (const auto& [suite, program] : programs_) run_suite(suite);
  std::ranges::stable_sort(cases_, {}, &TestCase::took);
}

void Trial::run_suite(const std::string& suite) {
  const std::filesystem::path reached = work_ / (suite + ".reached");
  const std::filesystem::path output = work_ / (suite + ".output");
  Command command{{programs_.at(suite).string(), "--report_level=short"}, work_, output, environment(0), 600s};
  command.environment.emplace_back("TROUPE_MUTANTS_REACHED", reached.string());
  const Ended ended = run(command);
  if (ended.signal != 0 || ended.timed_out)
    throw std::runtime_error(suite + " does not end without a mutant: see " + output.string());
  std::istringstream in(contents_of(reached));
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string end;
    TestCase test;
    test.suite = suite;
    std::int64_t microseconds = 0;
    words >> end >> test.name >> microseconds;
    test.took = std::chrono::microseconds(microseconds);
    for (int number = 0; words >> number;) test.reached.insert(number);
    (end == "passed" ? cases_ : failed_).push_back(std::move(test));
  }
}

std::vector<Trial::Batch> Trial::batches_for(int mutant) const {
  std::map<std::string, Batch> fast;
  std::vector<Batch> slow;
  for (const TestCase& test : cases_) {
    if (!test.reached.contains(mutant)) continue;
    if (test.took < kFast) {
      fast[test.suite].push_back(&test);
    } else {
      slow.push_back({&test});
    }
  }
  std::vector<Batch> batches;
  for (auto& [suite, batch] : fast) batches.push_back(std::move(batch));
  std::ranges::move(slow, std::back_inserter(batches));
  return batches;
}

Verdict Trial::judge(int mutant) const {
  Verdict verdict;
  const auto begun = std::chrono::steady_clock::now();
  for (const Batch& batch : batches_for(mutant)) {
    verdict.cases += batch.size();
    if (!verdict.is_killed) verdict.by = run_batch(batch, mutant);
    verdict.is_killed = !verdict.by.empty();
  }
  verdict.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
  return verdict;
}

/// Returns how the batch detected the mutant; empty if it did not.
std::string Trial::run_batch(const Batch& batch, int mutant) const {
  const std::string& suite = batch.front()->suite;
  const std::string name = std::to_string(mutant);
  Command command{{programs_.at(suite).string(), "--report_level=no", "--catch_system_errors=no"},
                  work_,
                  work_ / (name + ".output"),
                  environment(mutant)};
  const std::filesystem::path killed = work_ / (name + ".killed");
  command.environment.emplace_back("TROUPE_MUTANTS_KILLED", killed.string());
  std::chrono::microseconds took{};
  for (const TestCase* test : batch) {
    command.words.push_back("--run_test=" + test->name);
    took += test->took;
  }
  command.limit = std::chrono::duration_cast<std::chrono::milliseconds>(took) * kPatience + kGrace;
  const Ended ended = run(command);
  const std::string test = contents_of(killed);
  if (!test.empty()) return suite + ": " + test.substr(0, test.find('\n'));
  if (ended.timed_out) return suite + ": does not end";
  if (ended.status == kNothingRan) throw std::runtime_error(suite + " does not begin: see " + command.output.string());
  if (ended.signal != 0) return suite + ": " + strsignal(ended.signal);
  return ended.status == 0 ? "" : suite + ": exit " + std::to_string(ended.status);
}

}  // namespace mutants
