#include "tensor/cuda/pinned.h"

#include <algorithm>

#include "tensor/create.h"
#include "tensor/cuda/memory.h"
#include "tensor/cuda/stream.h"
#include "tensor/ops/arithmetic.h"
#include "tests/support/gpu.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(cuda_pinned, *boost::unit_test::precondition(testing::NeedsGpus{1}))

BOOST_AUTO_TEST_CASE(bytes_go_to_the_gpu_and_back_without_waiting_in_between) {
  constexpr std::size_t kSize = 1 << 20;
  const cuda::PinnedMemory from(kSize);
  const cuda::PinnedMemory to(kSize);
  for (std::size_t i = 0; i < kSize; ++i) from.bytes()[i] = static_cast<std::byte>(i * 7);
  std::byte* const there = cuda::allocate(0, kSize);
  const cuda::Event sent = from.copy_to(0, there, kSize);
  const cuda::Event back = to.copy_from(0, there, kSize);
  cuda::deallocate(0, there);  // in stream order: after both copies
  back.synchronize();
  BOOST_TEST(sent.done());
  BOOST_TEST(back.done());
  BOOST_TEST(std::ranges::equal(from.bytes(), to.bytes()));
}

BOOST_AUTO_TEST_CASE(a_moment_that_has_not_come_is_no_error_of_the_next_launch) {
  constexpr std::size_t kSize = std::size_t{256} << 20;
  const cuda::PinnedMemory from(kSize);
  const Tensor x = ones({2}).to(Device::cuda(0));
  std::byte* const there = cuda::allocate(0, kSize);
  const cuda::Event sent = from.copy_to(0, there, kSize);
  BOOST_TEST(!sent.done());  // it takes milliseconds
  BOOST_CHECK_NO_THROW(static_cast<void>(add(x, x)));
  sent.synchronize();
  cuda::deallocate(0, there);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
