#include "tensor/cpu/parallel.h"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tensor/ops/pool.h"
#include "tests/support/counting_new.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(cpu_parallel)

std::string error_of(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& body) {
  try {
    cpu::parallel_for(count, cpu::kParallelElements, body);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "nothing";
}

BOOST_AUTO_TEST_CASE(an_exception_of_any_thread_reaches_the_caller_once_all_are_done) {
  const MathThreads threads(4);
  for (const int bad : {0, 3, 7}) {
    std::vector<int> done(8);
    BOOST_TEST(error_of(8, [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) done[static_cast<std::size_t>(i)] = 1;
                 if (begin <= bad && bad < end) throw std::runtime_error("no memory");
               }) == "no memory");
    BOOST_TEST(done == std::vector<int>(8, 1), boost::test_tools::per_element());
  }
  BOOST_TEST(error_of(8, [](std::int64_t, std::int64_t) { throw std::runtime_error("all"); }) == "all");
  BOOST_TEST(error_of(8, [](std::int64_t, std::int64_t) {}) == "nothing");
}

BOOST_AUTO_TEST_CASE(memory_that_a_kernel_cannot_get_on_several_threads_is_an_error) {
  const MathThreads threads(2);
  Generator generator(1);
  const Tensor rows = rand({4, 1 << 15}, generator), images = rand({1, 2, 256, 256}, generator);
  const std::vector<std::pair<std::string, std::function<void()>>> uses{{"sort", [&] { (void)sort(rows, 1); }},
                                                                        {"cumsum",
                                                                         [&] {
                                                                           (void)cumsum(rows.reshape({4, 256, 128}), 1);
                                                                         }},
                                                                        {"avg_pool2d",
                                                                         [&] {
                                                                           (void)avg_pool2d(images, {.kernel = {3, 3}});
                                                                         }},
                                                                        {"max_pool2d", [&] {
                                                                           (void)max_pool2d(images, {.kernel = {3, 3}});
                                                                         }}};
  for (const auto& [name, use] : uses) {
    bool happened = true;
    for (std::size_t n = 1; happened; ++n) {
      const testing::RefusedAllocation refused(n, 512);
      try {
        use();
      } catch (const std::bad_alloc&) {
      }
      happened = refused.happened();
      BOOST_TEST((happened || n > 1), name << " allocates nothing");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
