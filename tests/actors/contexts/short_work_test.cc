#include "actors/contexts/short_work.h"

#include <boost/test/unit_test.hpp>

#include <new>
#include <string>
#include <thread>

#include "actors/executor.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/math_threads.h"

namespace troupe::detail {

BOOST_AUTO_TEST_SUITE(short_work)

BOOST_AUTO_TEST_CASE(work_is_short_until_its_sum_reaches_the_bound) {
  const Variable middle(ones({20, 20}), RequiresGrad::yes);
  ShortWork work;
  BOOST_TEST(work.is_short());
  for (const bool is_short : {true, true, false}) {
    work.add(*sum(middle).gradient_edge().fn);
    BOOST_TEST(work.is_short() == is_short);
  }
}

BOOST_AUTO_TEST_CASE(short_job_runs_on_this_thread_with_one_math_thread_and_what_it_throws_is_told) {
  ElasticPool pool({.threads = 1});
  const MathThreads two(2);
  std::thread::id ran;
  int math_threads = 0;
  pool.run_short({"job", [&] {
                    ran = std::this_thread::get_id();
                    math_threads = MathThreads::current();
                  }});
  BOOST_TEST((ran == std::this_thread::get_id()));
  BOOST_TEST(math_threads == 1);
  BOOST_TEST(MathThreads::current() == 2);
  std::string told;
  pool.run_short(
      {.label = "job", .run = [] { throw std::bad_alloc(); }, .refused = [&](const Error& why) { told = why.text(); }});
  BOOST_TEST(told == "job: resource_exhausted: out of memory");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
