// Runs the tests as a mutant: those that reach what it changes, the fast ones first, until one fails.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/mutants/workshop.h"

namespace mutants {

/// A test case as it went without any mutant.
struct TestCase {
  std::string suite;
  std::string name;
  std::chrono::microseconds took{};
  std::set<int> reached;  ///< numbers of mutants
};

struct Verdict {
  bool is_killed = false;
  std::size_t cases = 0;  ///< that reach it
  std::string by;         ///< the first test that failed, or how else it was noticed
  std::chrono::milliseconds took{};
};

class Trial {
 public:
  /// `programs` by the name of their suite. Runs all tests without a mutant. Throws std::runtime_error if
  /// they do not come to an end.
  Trial(std::filesystem::path work, std::map<std::string, std::filesystem::path> programs);

  [[nodiscard]] Verdict judge(int mutant) const;

  /// Those that passed without a mutant. Only they are tried with one.
  [[nodiscard]] const std::vector<TestCase>& cases() const { return cases_; }
  [[nodiscard]] const std::vector<TestCase>& failed() const { return failed_; }

 private:
  using Batch = std::vector<const TestCase*>;

  void run_suite(const std::string& suite);
  [[nodiscard]] std::vector<Batch> batches_for(int mutant) const;
  [[nodiscard]] std::string run_batch(const Batch& batch, int mutant) const;

  const std::filesystem::path work_;
  const std::map<std::string, std::filesystem::path> programs_;
  std::vector<TestCase> cases_;  // the fast ones first
  std::vector<TestCase> failed_;
};

}  // namespace mutants
