#include "tensor/math_threads.h"

#include <thread>

#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(math_threads)

BOOST_AUTO_TEST_CASE(guards_nest_and_restore) {
  const int before = MathThreads::current();
  {
    const MathThreads outer(3);
    BOOST_CHECK_EQUAL(MathThreads::current(), 3);
    {
      const MathThreads inner(1);
      BOOST_CHECK_EQUAL(MathThreads::current(), 1);
    }
    BOOST_CHECK_EQUAL(MathThreads::current(), 3);
    const MathThreads none(0);
    BOOST_CHECK_EQUAL(MathThreads::current(), 1);
  }
  BOOST_CHECK_EQUAL(MathThreads::current(), before);
}

BOOST_AUTO_TEST_CASE(a_guard_concerns_its_own_thread_only) {
  const int before = MathThreads::current();
  int elsewhere = 0;
  const MathThreads guard(before + 5);
  std::jthread([&elsewhere] { elsewhere = MathThreads::current(); }).join();
  BOOST_CHECK_EQUAL(elsewhere, before);
}

BOOST_AUTO_TEST_SUITE_END()
