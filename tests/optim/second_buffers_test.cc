#include "optim/second_buffers.h"

#include <boost/test/unit_test.hpp>

#include "tensor/create.h"

using namespace troupe;
using optim::SecondBuffers;

BOOST_AUTO_TEST_SUITE(second_buffers)

BOOST_AUTO_TEST_CASE(memory_that_nobody_reads_any_more_is_used_again) {
  SecondBuffers buffers(2);
  Tensor last = ones({3, 2});
  const std::byte* const memory = last.bytes();
  buffers.give(1, std::move(last));
  BOOST_TEST(buffers.take(1, ones({3, 2})).bytes() == memory);
}

BOOST_AUTO_TEST_CASE(memory_that_someone_reads_is_left_alone) {
  SecondBuffers buffers(1);
  const Tensor read = ones({3});
  const auto taken_apart = [&](const Tensor& current) {
    const Tensor next = buffers.take(0, current);
    BOOST_TEST(!next.storage().same_as(read.storage()));
    BOOST_TEST(next.shape() == current.shape());
    BOOST_TEST((next.dtype() == current.dtype()));
    BOOST_TEST(next.is_contiguous());
    BOOST_TEST(next.storage().size() == next.nbytes());
  };
  taken_apart(read);  // nothing was given yet
  buffers.give(0, read);
  taken_apart(read);
  buffers.give(0, ones({3}).slice(0, 0, 2));  // a view of more
  taken_apart(ones({2}));
  buffers.give(0, ones({3}));
  taken_apart(ones({4}));
  buffers.give(0, ones({3}));
  taken_apart(ones({3}, DType::f64));
}

BOOST_AUTO_TEST_CASE(memory_that_a_message_reads_is_left_alone) {
  SecondBuffers buffers(1);
  Tensor last = ones({3});
  const FrozenBytes sent = last.freeze();
  buffers.give(0, std::move(last));
  Tensor next = buffers.take(0, ones({3}));
  BOOST_TEST(next.bytes() != sent.bytes().data());
  BOOST_TEST(!next.storage().frozen());
}

BOOST_AUTO_TEST_SUITE_END()
