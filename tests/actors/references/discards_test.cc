#include "actors/references/discards.h"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace troupe::detail {
namespace {

/// A pool whose jobs begin when the test says so.
struct Pool {
  struct Job {
    std::function<void()> run;
    std::function<void(const Error&)> refused;
  };
  std::vector<Job> jobs;
  Discards discards{[this](auto job, auto refused) { jobs.push_back({std::move(job), std::move(refused)}); }};
  std::string destroyed;  ///< the letters of the values, in the order of their ends

  void add(char letter, std::function<void()> on_end = {}) {
    discards.add(std::shared_ptr<const void>(nullptr, [this, letter, on_end = std::move(on_end)](const void*) {
      destroyed += letter;
      if (on_end) on_end();
    }));
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(discards)

BOOST_FIXTURE_TEST_CASE(values_that_come_before_a_job_begins_are_destroyed_by_it, Pool) {
  for (const char letter : {'a', 'b', 'c'}) add(letter);
  BOOST_TEST(destroyed.empty());
  BOOST_TEST_REQUIRE(jobs.size() == 1U);
  jobs[0].run();
  BOOST_TEST(destroyed == "abc");
}

BOOST_FIXTURE_TEST_CASE(a_value_that_comes_while_a_job_runs_gets_a_job_of_its_own, Pool) {
  add('a', [this] { add('c'); });
  add('b');
  jobs[0].run();
  BOOST_TEST(destroyed == "ab");
  BOOST_TEST_REQUIRE(jobs.size() == 2U);
  jobs[1].run();
  BOOST_TEST(destroyed == "abc");
}

BOOST_FIXTURE_TEST_CASE(values_are_destroyed_where_the_pool_refuses_them, Pool) {
  add('a');
  jobs[0].refused(Error{});
  BOOST_TEST(destroyed == "a");
  add('b');
  BOOST_TEST(jobs.size() == 2U);
}

BOOST_AUTO_TEST_CASE(values_are_destroyed_here_if_there_is_no_memory_for_a_job) {
  int jobs = 0;
  Discards discards([&](const auto&, const auto&) {
    ++jobs;
    throw std::bad_alloc();
  });
  const auto value = std::make_shared<const int>(1);
  for (int i = 1; i <= 2; ++i) {
    discards.add(value);
    BOOST_TEST(jobs == i);
    BOOST_TEST(value.use_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_job_may_begin_after_the_end_of_the_node) {
  std::function<void()> job;
  const auto value = std::make_shared<const int>(1);
  {
    Discards discards([&](auto run, auto) { job = std::move(run); });
    discards.add(value);
  }
  BOOST_TEST(value.use_count() == 2);
  job();
  BOOST_TEST(value.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
