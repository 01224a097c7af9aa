#include "tensor/storage.h"

#include <array>
#include <future>
#include <memory>
#include <span>
#include <thread>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(storage)

namespace {

float first_of(const FrozenBytes& frozen) { return *reinterpret_cast<const float*>(frozen.bytes().data()); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_write_while_frozen_goes_to_a_fresh_block_that_all_views_see) {
  Tensor x = from_values<float>({1, 2, 3, 4}, {2, 2});
  const Tensor alias = x;
  const Tensor view = x.transpose();
  const std::byte* const before = x.bytes();
  const FrozenBytes frozen = x.freeze();

  x.mutable_data<float>()[0] = 9;

  BOOST_CHECK(x.bytes() != before);
  BOOST_CHECK_EQUAL(first_of(frozen), 1.0F);
  expect_same(alias, from_values<float>({9, 2, 3, 4}, {2, 2}));
  expect_same(view, from_values<float>({9, 3, 2, 4}, {2, 2}));
  BOOST_CHECK(!x.storage().frozen());  // the fresh block has no reader
}

BOOST_AUTO_TEST_CASE(a_write_without_readers_stays_in_place) {
  Tensor x = from_values<float>({1, 2});
  const std::byte* const before = x.bytes();
  { const FrozenBytes frozen = x.freeze(); }
  x.fill(5);
  BOOST_CHECK(x.bytes() == before);
}

BOOST_AUTO_TEST_CASE(the_block_thaws_when_the_last_reader_of_several_is_gone) {
  Tensor x = zeros({3});
  FrozenBytes first = x.freeze();
  FrozenBytes second = x.freeze();
  std::shared_ptr<const void> owner = second.owner();
  first = {};
  second = {};
  BOOST_CHECK(x.storage().frozen());
  owner.reset();
  BOOST_CHECK(!x.storage().frozen());
}

BOOST_AUTO_TEST_CASE(each_reader_keeps_the_bytes_of_its_own_moment) {
  Tensor x = zeros({1});
  const FrozenBytes at_zero = x.freeze();
  x.fill(1);
  const FrozenBytes at_one = x.freeze();
  x.fill(2);
  BOOST_CHECK_EQUAL(first_of(at_zero), 0.0F);
  BOOST_CHECK_EQUAL(first_of(at_one), 1.0F);
  BOOST_CHECK_EQUAL(x.item<float>(), 2.0F);
}

BOOST_AUTO_TEST_CASE(frozen_bytes_outlive_their_tensor) {
  FrozenBytes frozen;
  {
    const Tensor x = from_values<float>({7, 8});
    frozen = x.freeze();
  }
  BOOST_CHECK_EQUAL(frozen.bytes().size(), 8U);
  BOOST_CHECK_EQUAL(first_of(frozen), 7.0F);
}

BOOST_AUTO_TEST_CASE(a_reader_released_by_another_thread_thaws_the_block) {
  Tensor x = zeros({1000});
  FrozenBytes frozen = x.freeze();
  std::promise<float> seen;
  std::jthread reader([&seen, token = std::move(frozen)]() mutable {
    const float value = first_of(token);
    token = {};
    seen.set_value(value);
  });
  BOOST_CHECK_EQUAL(seen.get_future().get(), 0.0F);
  BOOST_CHECK(!x.storage().frozen());
}

BOOST_AUTO_TEST_CASE(readers_on_other_threads_never_see_a_write) {
  Tensor x = zeros({64}, DType::i64);
  for (std::int64_t round = 0; round < 200; ++round) {
    std::jthread reader([round, token = x.freeze()] {
      const auto* const values = reinterpret_cast<const std::int64_t*>(token.bytes().data());
      std::int64_t different = 0;
      for (int i = 0; i < 64; ++i) different += values[i] != round;
      if (different != 0) throw std::logic_error("a frozen block changed");
    });
    x.fill(static_cast<double>(round + 1));
  }
  BOOST_CHECK_EQUAL(x.select(0, 63).item<std::int64_t>(), 200);
}

BOOST_AUTO_TEST_CASE(in_place_operations_respect_readers) {
  Tensor x = from_values<float>({1, 2});
  const FrozenBytes frozen = x.freeze();
  axpby_into(x, 1.0, x, 10.0, x);  // 1 + 10 * 1, 2 + 10 * 2
  expect_same(x, from_values<float>({11, 22}));
  BOOST_CHECK_EQUAL(first_of(frozen), 1.0F);
}

BOOST_AUTO_TEST_CASE(the_version_counts_writes_through_any_view) {
  Tensor x = zeros({2, 2});
  const std::uint64_t before = x.version();
  Tensor row = x.select(0, 1);
  row.fill(3);
  BOOST_CHECK_EQUAL(x.version(), before + 1);
  (void)x.data<float>();
  (void)x.freeze();
  BOOST_CHECK_EQUAL(x.version(), before + 1);
  (void)x.mutable_data<float>();
  BOOST_CHECK_EQUAL(row.version(), before + 2);
}

BOOST_AUTO_TEST_CASE(a_frozen_view_covers_first_to_last_element) {
  const Tensor x = arange(12).reshape({3, 4});
  BOOST_CHECK_EQUAL(x.slice(0, 1, 3).freeze().bytes().size(), 64U);   // 8 elements of 8 bytes
  const FrozenBytes column = x.slice(0, 0, 2).select(1, 1).freeze();  // elements 1 and 5: from 1 to 5
  BOOST_CHECK_EQUAL(column.bytes().size(), 40U);
  BOOST_CHECK_EQUAL(*reinterpret_cast<const std::int64_t*>(column.bytes().data()), 1);
  BOOST_CHECK_EQUAL(zeros({0, 3}).freeze().bytes().size(), 0U);
}

BOOST_AUTO_TEST_CASE(adopted_memory_is_read_where_it_lies_and_never_written) {
  const auto kept = std::make_shared<const std::array<float, 3>>(std::array<float, 3>{1, 2, 3});
  const FrozenBytes foreign(kept, std::as_bytes(std::span(*kept)));
  Tensor x = Tensor::from_storage(Storage::adopt(foreign), {3}, {1}, 0, DType::f32);
  const Tensor tail = x.slice(0, 1);
  BOOST_CHECK(x.bytes() == foreign.bytes().data());
  BOOST_CHECK(x.storage().frozen());

  x.fill(7);

  expect_same(x, from_values<float>({7, 7, 7}));
  expect_same(tail, from_values<float>({7, 7}));
  BOOST_CHECK_EQUAL((*kept)[0], 1.0F);
  BOOST_CHECK(!x.storage().frozen());
  const std::byte* const own = x.bytes();
  x.fill(8);  // a second write reuses the memory
  BOOST_CHECK(x.bytes() == own);
}

BOOST_AUTO_TEST_CASE(adopted_memory_is_kept_until_its_last_reader_is_gone) {
  auto kept = std::make_shared<std::array<float, 3>>(std::array<float, 3>{1, 2, 3});
  const std::weak_ptr<std::array<float, 3>> watch = kept;
  Storage storage = Storage::adopt({kept, std::as_bytes(std::span(*kept))});
  kept.reset();
  FrozenBytes frozen = storage.freeze();
  storage = {};
  BOOST_CHECK(!watch.expired());
  BOOST_CHECK_EQUAL(first_of(frozen), 1.0F);
  frozen = {};
  BOOST_CHECK(watch.expired());
  expect_error<ValueError>("[adopt] nobody keeps these bytes", [] { (void)Storage::adopt({}); });
}

BOOST_AUTO_TEST_CASE(bytes_that_are_adopted_again_and_again_keep_their_owner) {
  const auto kept = std::make_shared<const std::array<float, 3>>(std::array<float, 3>{1, 2, 3});
  const Storage unreached = Storage::allocate(12);
  const Storage reached = Storage::allocate(12);
  reached.expose();
  for (const bool is_exposed : {false, true}) {
    const auto adopted = [is_exposed](const Storage& from) {
      Storage to = Storage::adopt(from.freeze());
      if (is_exposed) to.expose();
      return to;
    };
    for (const Storage& first : {unreached, reached, Storage::adopt({kept, std::as_bytes(std::span(*kept))})}) {
      Storage x = adopted(adopted(first));
      const FrozenBytes twice = x.freeze();
      for (int hop = 0; hop < 3; ++hop) {
        x = adopted(x);
        const FrozenBytes again = x.freeze();
        BOOST_TEST(again.bytes().data() == first.data());
        BOOST_TEST(again.owner() == twice.owner());
        BOOST_TEST(again.derived() == twice.derived());
        BOOST_TEST(again.derived() != nullptr);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_write_leaves_bytes_that_were_adopted_twice_as_they_were) {
  Tensor x = from_values<float>({1, 2, 3});
  Tensor y = Tensor::from_storage(Storage::adopt(x.freeze()), {3}, {1}, 0, DType::f32);
  Tensor z = Tensor::from_storage(Storage::adopt(y.freeze()), {3}, {1}, 0, DType::f32);
  y.fill(7);
  x.fill(8);
  expect_same(z, from_values<float>({1, 2, 3}));
  const std::byte* const before = z.bytes();
  x = {};
  z.fill(9);
  BOOST_CHECK(z.bytes() != before);
  expect_same(y, from_values<float>({7, 7, 7}));
}

BOOST_AUTO_TEST_CASE(an_undefined_storage_is_empty) {
  const Storage none;
  BOOST_CHECK(!none.defined());
  BOOST_CHECK_EQUAL(none.size(), 0U);
  BOOST_CHECK(none.freeze().bytes().empty());
  BOOST_CHECK(!none.frozen());
}

BOOST_AUTO_TEST_SUITE_END()
