#include "actors/parallel/member_gradients.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <future>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(member_gradients)

namespace {

/// `value` in row `row` of a (4, 2) table.
SparseTensor rows(std::int64_t row, double value) {
  return SparseTensor(full({1, 1}, static_cast<double>(row), DType::i64), full({1, 2}, value), {4, 2});
}

Error failure() { return {.code = ErrorCode::internal, .message = "boom"}; }

}  // namespace

BOOST_AUTO_TEST_CASE(sums_of_rows_are_rows_and_others_are_dense) {
  LeafGradient sum;
  BOOST_TEST(!sum.defined());
  sum.add({});
  BOOST_TEST(!sum.defined());
  sum.add({{}, rows(1, 2.0)});
  sum.add({{}, rows(1, 3.0)});
  BOOST_TEST(sum.rows.count() == 1);
  BOOST_TEST(!sum.dense.defined());
  BOOST_TEST(same_bytes(sum.rows.to_dense(), rows(1, 5.0).to_dense()));
  sum.add({ones({4, 2}), {}});
  BOOST_TEST(!sum.rows.defined());
  BOOST_TEST(same_bytes(sum.dense, rows(1, 5.0).to_dense() + ones({4, 2})));
  sum.add({{}, rows(0, 1.0)});
  BOOST_TEST(same_bytes(sum.dense, rows(1, 5.0).to_dense() + ones({4, 2}) + rows(0, 1.0).to_dense()));
}

BOOST_AUTO_TEST_CASE(what_is_held_is_part_of_the_gradient_and_arrivals_have_an_order) {
  MemberGradients own({{ones({2}), {}}, {}, {}});
  own.add(2, {ones({1}), {}});
  own.add(0, {full({2}, 2.0), {}});
  BOOST_TEST((own.order() == std::vector<std::size_t>{2, 0}));
  BOOST_TEST(same_bytes(own.of(0).dense, full({2}, 3.0)));
  BOOST_TEST(!own.of(1).defined());
  own.end();
  own.add(1, {ones({1}), {}});  // too late
  BOOST_TEST(!own.of(1).defined());
  BOOST_TEST(!own.tell_failure());
}

BOOST_AUTO_TEST_CASE(waits_end_with_the_gradient_or_with_the_pass) {
  MemberGradients own(std::vector<LeafGradient>(2));
  auto first = std::async(std::launch::async, [&] {
    own.wait_for(0);
    return own.has_ended();
  });
  own.add(0, {ones({1}), {}});
  BOOST_TEST(!first.get());
  auto second = std::async(std::launch::async, [&] {
    own.wait_for(1);
    own.wait_for_end();
    return own.tell_failure();
  });
  BOOST_TEST(own.fail(failure()));
  own.end();  // it has failed
  BOOST_TEST(second.get());
}

BOOST_AUTO_TEST_CASE(a_failure_after_the_end_counts_until_the_round_has_told_the_end) {
  MemberGradients early(std::vector<LeafGradient>(1));
  early.end();
  BOOST_TEST(early.fail(failure()));
  BOOST_TEST(early.tell_failure());
  BOOST_TEST(early.fail(failure()));  // the others know of a failure
  MemberGradients late(std::vector<LeafGradient>(1));
  late.end();
  BOOST_TEST(!late.tell_failure());
  BOOST_TEST(!late.fail(failure()));
  BOOST_TEST(late.failure_text().empty());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
