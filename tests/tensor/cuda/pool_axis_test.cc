#include "tensor/cuda/pool_axis.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "tests/tensor/cuda/pool_windows.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_pool_axis)

namespace {

using cuda::PoolAxis;
using testing::parts_of;
using testing::windows_of;

void expect_lists(const PoolAxis& axis, const kernels::PoolWindows& windows) {
  BOOST_REQUIRE(axis.count == windows.count());
  for (std::int64_t i = 0; i < axis.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    BOOST_TEST(axis.begin(i) == windows.begin[at]);
    BOOST_TEST(axis.end(i) == windows.end[at]);
    BOOST_TEST(axis.counted(i) == windows.counted[at]);
  }
}

// Checks every position of the image, and every window from its first to its last position, padding included.
void expect_windows_of_positions(const PoolAxis& axis) {
  for (std::int64_t at = 0; at < axis.size; ++at) {
    for (std::int64_t i = 0; i < axis.count; ++i) {
      const std::int64_t begin = axis.stride == 0 ? axis.begin(i) : axis.first + i * axis.stride;
      const bool has = begin <= at && at < axis.end(i);
      BOOST_TEST((axis.first_with(at) <= i && i < axis.last_with(at)) == has);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(windows_are_computed_as_they_are_listed) {
  // 5 positions, 1 of padding: windows of 3 from -1, 1 and 3.
  const PoolAxis axis(windows_of({.size = 5, .kernel = 3, .stride = 2, .padding = 1, .counts_padding = true}), 5);
  BOOST_TEST((axis.count == 3 && axis.begin(0) == 0 && axis.end(0) == 2 && axis.counted(0) == 3 && axis.begin(2) == 3 &&
              axis.end(2) == 5));
  for (std::int64_t size = 1; size < 12; ++size) {
    for (std::int64_t kernel = 1; kernel <= size; ++kernel) {
      for (std::int64_t stride = 1; stride < 5; ++stride) {
        for (std::int64_t padding = 0; padding <= kernel / 2; ++padding) {
          for (const bool partial : {false, true}) {
            for (const bool counts_padding : {false, true}) {
              const auto windows = windows_of({size, kernel, stride, padding, 1, partial, counts_padding});
              const PoolAxis plain(windows, size);
              expect_lists(plain, windows);
              expect_windows_of_positions(plain);
              const auto wide = windows_of({size, kernel, stride, padding, 2, partial});
              if (!std::ranges::equal(wide.begin, wide.end, std::less())) continue;
              expect_lists(PoolAxis(wide, size), wide);
              expect_windows_of_positions(PoolAxis(wide, size));
            }
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(parts_of_an_image_are_computed_as_they_are_listed) {
  for (std::int64_t size = 1; size < 12; ++size) {
    for (std::int64_t count = 1; count < 15; ++count) {
      const PoolAxis axis(parts_of(size, count), size);
      expect_lists(axis, parts_of(size, count));
      expect_windows_of_positions(axis);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
