#include "optim/second_buffers.h"

#include <boost/test/unit_test.hpp>

#include <cstring>

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
  taken_apart(read);  // no buffer was given yet
  buffers.give(0, read);
  taken_apart(read);
  buffers.give(0, ones({3}).slice(0, 0, 2));  // a view of a larger tensor
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

BOOST_AUTO_TEST_CASE(memory_catches_up_with_the_rows_that_changed_and_no_others) {
  SecondBuffers buffers(1);
  Tensor last = from_values<float>({1, 2, 3, 4}, {4, 1});
  const Tensor following = from_values<float>({1, 7, 8, 4}, {4, 1});
  auto* const memory = const_cast<std::byte*>(last.bytes());
  Tensor rows = from_values<std::int64_t>({1, 2});
  buffers.give(0, std::move(last), following, rows);
  rows.fill(3.0);
  const float mark = 50;
  std::memcpy(memory, &mark, sizeof mark);  // beyond the tensor: the version counter does not change
  const Tensor next = buffers.take_equal(0, following, from_values<std::int64_t>({0, 2}));
  BOOST_TEST(next.bytes() == memory);
  BOOST_TEST(same_bytes(next, from_values<float>({50, 7, 3, 4}, {4, 1})));
}

BOOST_AUTO_TEST_CASE(memory_is_made_equal_whatever_happened_to_it) {
  const Tensor rows = from_values<std::int64_t>({1});
  const Tensor none = Tensor::empty({0}, DType::i64);
  const auto equal_after = [&](const auto& happens) {
    SecondBuffers buffers(1);
    Tensor last = from_values<float>({1, 2, 3}, {3, 1});
    Tensor following = from_values<float>({1, 7, 3}, {3, 1});
    buffers.give(0, last, following, rows);
    happens(buffers, last, following);
    last = {};
    const Tensor next = buffers.take_equal(0, following, none);
    BOOST_TEST(same_bytes(next, following));
    BOOST_TEST(!next.storage().same_as(following.storage()));
  };
  equal_after([](SecondBuffers&, Tensor&, Tensor&) {});
  equal_after([](SecondBuffers&, Tensor& last, Tensor&) { last.fill(9.0); });
  equal_after([](SecondBuffers&, Tensor&, Tensor& following) { following.fill(9.0); });
  equal_after([](SecondBuffers&, Tensor&, Tensor& following) { following = from_values<float>({4, 5, 6}, {3, 1}); });
  equal_after([](SecondBuffers&, Tensor&, Tensor& following) { following = ones({4, 1}); });
  equal_after([](SecondBuffers& buffers, Tensor& last, Tensor&) { buffers.give(0, last); });
  equal_after([](SecondBuffers& buffers, Tensor&, Tensor&) { buffers.give(0, {}); });
  SecondBuffers empty(1);
  BOOST_TEST(same_bytes(empty.take_equal(0, ones({2}), rows), ones({2})));
  // A buffer that another handle reads is not written to.
  SecondBuffers buffers(1);
  const Tensor held = ones({2, 1});
  const Tensor following = from_values<float>({1, 5}, {2, 1});
  buffers.give(0, held, following, rows);
  BOOST_TEST(same_bytes(buffers.take_equal(0, following, none), following));
  BOOST_TEST(same_bytes(held, ones({2, 1})));
}

BOOST_AUTO_TEST_SUITE_END()
