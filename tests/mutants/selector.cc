// Linked into the test programs of mutants: selects the mutant of the process, and records for each test case the
// reached places and the failures.
//   TROUPE_MUTANT          the number of the mutant; 0 or not set: none
//   TROUPE_MUTANTS_REACHED the file that gets a line for each test case: "passed name microseconds numbers..." or
//                          "failed ..."
//   TROUPE_MUTANTS_KILLED  the file that gets the name of the first failing test case; the process then ends
#include "tests/mutants/selector.h"

#include <unistd.h>
#include <boost/test/execution_monitor.hpp>
#include <boost/test/results_collector.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>

namespace mutants {
namespace {

namespace ut = boost::unit_test;

constexpr std::size_t kNumbers = 1 << 14;

std::array<std::atomic<bool>, kNumbers>& reached() {
  static std::array<std::atomic<bool>, kNumbers> numbers{};
  return numbers;
}

class Watch final : public ut::test_observer {
 public:
  Watch() {
    if (const char* path = std::getenv("TROUPE_MUTANTS_REACHED")) reached_.open(path, std::ios::trunc);
    if (const char* path = std::getenv("TROUPE_MUTANTS_KILLED")) killed_.open(path, std::ios::trunc);
    ut::framework::register_observer(*this);
  }
  ~Watch() { ut::framework::deregister_observer(*this); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Runs after the results collector.
  int priority() override { return 3; }

  void assertion_result(ut::assertion_result result) override {
    if (result == ut::AR_FAILED) fail();
  }
  void exception_caught(const boost::execution_exception&) override { fail(); }
  void test_unit_aborted(const ut::test_unit&) override { fail(); }

  void test_unit_finish(const ut::test_unit& unit, unsigned long microseconds) override {
    if (unit.p_type != ut::TUT_CASE || !reached_.is_open()) return;
    reached_ << (ut::results_collector.results(unit.p_id).passed() ? "passed " : "failed ") << unit.full_name() << ' '
             << microseconds;
    for (std::size_t i = 0; i < kNumbers; ++i) {
      if (reached()[i].exchange(false, std::memory_order_relaxed)) reached_ << ' ' << i;
    }
    reached_ << std::endl;
  }

 private:
  /// Ends the process: results after the first failure are of no use and may take long.
  void fail() {
    if (!killed_.is_open()) return;
    killed_ << ut::framework::current_test_unit().full_name() << std::endl;
    _exit(1);
  }

  std::ofstream reached_;
  std::ofstream killed_;
};

}  // namespace

bool is_on(int number) noexcept {
  static const int chosen = [] {
    const char* text = std::getenv("TROUPE_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  reached()[static_cast<std::size_t>(number)].store(true, std::memory_order_relaxed);
  return number == chosen;
}

BOOST_TEST_GLOBAL_FIXTURE(Watch);

}  // namespace mutants
