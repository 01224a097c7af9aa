#include "node/sim/processor.h"

#include <boost/test/unit_test.hpp>

#include <thread>

#include "actors/core/wait_point.h"
#include "actors/function_registry.h"
#include "node/node.h"
#include "node/sim/world.h"

namespace troupe::sim {

BOOST_AUTO_TEST_SUITE(processor)

namespace {

cpu_set_t allowed() {
  cpu_set_t set;
  BOOST_REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  return set;
}

/// Skips a test that needs two processors.
boost::test_tools::assertion_result has_two(boost::unit_test::test_unit_id /*id*/) {
  cpu_set_t set;
  boost::test_tools::assertion_result enough(::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1);
  enough.message() << "this process may use one processor only";
  return enough;
}

}  // namespace

BOOST_AUTO_TEST_CASE(thread_stays_on_one_processor_until_the_end_of_the_outermost_stay,
                     *boost::unit_test::precondition(has_two)) {
  const cpu_set_t before = allowed();
  Processor processor;
  {
    const Processor::Stay outer(processor);
    const cpu_set_t here = allowed();
    BOOST_TEST(CPU_COUNT(&here) == 1);
    { const Processor::Stay inner(processor); }
    const cpu_set_t still = allowed();
    BOOST_TEST(CPU_EQUAL(&here, &still));
  }
  const cpu_set_t after = allowed();
  BOOST_TEST(CPU_EQUAL(&before, &after));
}

BOOST_AUTO_TEST_CASE(other_threads_are_brought_there, *boost::unit_test::precondition(has_two)) {
  Processor processor;
  detail::WaitPoint go_on;
  cpu_set_t there;
  int at = Processor::kNone;
  std::thread thread([&] {
    go_on.wait_here(std::nullopt);
    there = allowed();
  });
  processor.bring(thread, at);
  BOOST_TEST(at == Processor::kNone);  // the world does not run
  const Processor::Stay stay(processor);
  processor.bring(thread, at);
  go_on.signal();
  thread.join();
  const cpu_set_t here = allowed();
  BOOST_TEST(CPU_EQUAL(&here, &there));
  BOOST_TEST(CPU_ISSET(at, &here));
}

BOOST_AUTO_TEST_CASE(functions_of_a_world_run_where_it_runs_and_its_maker_is_free_again,
                     *boost::unit_test::precondition(has_two)) {
  const cpu_set_t before = allowed();
  World world({.seed = 1}, {"a"}, FunctionRegistry{});
  const auto count = world.on("a", [](Node&) {
    const cpu_set_t here = allowed();
    return CPU_COUNT(&here);
  });
  BOOST_TEST(count.get() == 1);
  const cpu_set_t after = allowed();
  BOOST_TEST(CPU_EQUAL(&before, &after));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::sim
