// Runs the tests with one mutant: those that reach its place, the fastest first, until one fails.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/mutants/workshop.h"

namespace mutants {

/// The result of a test case without a mutant.
struct TestCase {
  std::string suite;
  std::string name;
  std::chrono::microseconds took{};
  std::set<int> reached;  ///< numbers of the mutants whose places it reached
};

struct Verdict {
  bool is_killed = false;
  std::size_t cases = 0;  ///< number of test cases that reach it
  std::string by;         ///< the first test that failed, or another way of detection
  std::chrono::milliseconds took{};
};

class Trial {
 public:
  /// `programs` by the name of their suite. Runs all tests without a mutant. Throws std::runtime_error if they do not
  /// end.
  Trial(std::filesystem::path work, std::map<std::string, std::filesystem::path> programs);

  [[nodiscard]] Verdict judge(int mutant) const;

  /// Returns the cases that passed without a mutant. Only these are run with one.
  [[nodiscard]] const std::vector<TestCase>& cases() const { return cases_; }
  [[nodiscard]] const std::vector<TestCase>& failed() const { return failed_; }

 private:
  using Batch = std::vector<const TestCase*>;

  void run_suite(const std::string& suite);
  [[nodiscard]] std::vector<Batch> batches_for(int mutant) const;
  [[nodiscard]] std::string run_batch(const Batch& batch, int mutant) const;

  const std::filesystem::path work_;
  const std::map<std::string, std::filesystem::path> programs_;
  std::vector<TestCase> cases_;  // the fastest first
  std::vector<TestCase> failed_;
};

}  // namespace mutants
