#include "actors/core/strand.h"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/bare_peer.h"
#include "tests/support/counting_new.h"
#include "tests/support/watched_end.h"

namespace troupe::testing {
namespace {

struct OnAStrand {
  /// Kept jobs hold their strand, and that the pool.
  ~OnAStrand() { static_cast<void>(std::exchange(pool->kept, {})); }

  void run(const std::string& name) {
    strand.run([this, name] { seen.push_back(name); },
               [this, name](const Error& error) { seen.push_back(name + ": " + std::string(name_of(error.code))); });
  }

  void run_all_kept() {
    for (const Job& job : std::exchange(pool->kept, {})) job.run();
  }

  std::shared_ptr<HandPool> pool = std::make_shared<HandPool>();
  detail::Strand strand{pool, "the strand"};
  std::vector<std::string> seen;
};

void expect(const std::vector<std::string>& seen, const std::vector<std::string>& wanted) {
  BOOST_TEST(seen == wanted, boost::test_tools::per_element());
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(strand, OnAStrand)

BOOST_AUTO_TEST_CASE(jobs_run_in_their_order_by_one_job_of_the_pool) {
  pool->keeps = true;
  for (const char* name : {"a", "b", "c"}) run(name);
  BOOST_TEST(pool->kept.size() == 1U);
  expect(seen, {});
  run_all_kept();
  expect(seen, {"a", "b", "c"});
  run("d");
  BOOST_TEST(pool->kept.size() == 1U);
  run_all_kept();
  expect(seen, {"a", "b", "c", "d"});
}

BOOST_AUTO_TEST_CASE(other_jobs_of_the_pool_run_between_jobs_of_a_strand_that_takes_turns) {
  pool->keeps = true;
  strand = detail::Strand(pool, "the strand", detail::PerTurn::one);
  for (const char* name : {"a", "b"}) run(name);
  BOOST_TEST(!pool->submit({.label = "other", .run = [this] { seen.emplace_back("other"); }}));
  for (std::size_t i = 0; i < pool->kept.size(); ++i) Job(pool->kept[i]).run();
  BOOST_TEST(pool->kept.size() == 3U);
  expect(seen, {"a", "other", "b"});
  for (const char* name : {"c", "d", "e"}) run(name);
  Job(pool->kept.back()).run();
  Error why;
  why.code = ErrorCode::shutting_down;
  Job(pool->kept.back()).refused(why);
  expect(seen, {"a", "other", "b", "c", "d: shutting_down", "e: shutting_down"});
}

BOOST_AUTO_TEST_CASE(a_job_given_by_a_job_comes_after_it) {
  strand.run(
      [this] {
        run("inner");
        seen.emplace_back("outer");
      },
      [](const Error&) {});
  expect(seen, {"outer", "inner"});
}

BOOST_AUTO_TEST_CASE(what_a_job_throws_is_told_and_the_next_runs) {
  pool->keeps = true;
  strand.run([] { throw std::runtime_error("no"); }, [this](const Error& error) { seen.push_back(error.message); });
  run("next");
  run_all_kept();
  BOOST_REQUIRE(seen.size() == 2U);
  BOOST_TEST(seen[0].find("no") != std::string::npos, seen[0]);
  BOOST_TEST(seen[1] == "next");
}

BOOST_AUTO_TEST_CASE(a_pool_that_refuses_is_told_to_each_job) {
  pool->keeps = true;
  for (const char* name : {"a", "b"}) run(name);
  Error why;
  why.code = ErrorCode::shutting_down;
  for (const Job& job : std::exchange(pool->kept, {})) job.refused(why);
  pool->refuses = why;
  run("c");
  expect(seen, {"a: shutting_down", "b: shutting_down", "c: shutting_down"});
}

BOOST_AUTO_TEST_CASE(a_pool_that_ends_with_a_job_of_the_strand_lets_go_what_waits) {
  pool->keeps = true;
  const auto held = std::make_shared<int>(0);
  for (int i = 0; i < 2; ++i) strand.run([held] {}, [held](const Error&) {});
  BOOST_TEST(held.use_count() == 5);
  pool->kept.clear();
  BOOST_TEST(held.use_count() == 1);
  run("afterwards");
  run_all_kept();
  expect(seen, {"afterwards"});
}

BOOST_AUTO_TEST_CASE(a_job_for_which_there_is_no_memory_ends_without_the_lock) {
  pool->keeps = true;
  run("first");
  std::list<WatchedEnd> ends;
  bool refused = false;
  while (!refused && ends.size() < 20) {  // not each needs memory
    std::function<void()> job = [held = ends.emplace_back([this] { run("at the end"); }).object()] {};
    std::function<void(const Error&)> refuse = [](const Error&) {};
    const RefusedAllocation allocation(1);
    try {
      strand.run(std::move(job), std::move(refuse));
    } catch (const std::bad_alloc&) {
      refused = true;
    }
  }
  BOOST_TEST_REQUIRE(refused);
  BOOST_TEST(ends.back().was_without_lock());
  run_all_kept();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
