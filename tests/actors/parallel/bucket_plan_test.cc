#include "actors/parallel/bucket_plan.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(bucket_plans)

namespace {

using Numbers = std::vector<std::size_t>;

std::vector<Numbers> numbers_of(const BucketPlan& plan) {
  std::vector<Numbers> all;
  for (const Bucket& bucket : plan.buckets) all.push_back(bucket.parameters);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(buckets_are_filled_in_the_given_order_and_the_first_is_smaller) {
  const std::vector<ParameterSize> five(5, {DType::f32, 10});  // 40 bytes each
  const BucketPlan plan = plan_buckets(five, Numbers{4, 2, 0, 1, 3}, 40, 80);
  BOOST_TEST((numbers_of(plan) == std::vector<Numbers>{{4}, {2, 0}, {1, 3}}));
  BOOST_TEST(plan.buckets[1].numel == 20);
  BOOST_TEST(plan.rows.empty());
}

BOOST_AUTO_TEST_CASE(an_order_that_does_not_name_every_parameter_once_is_refused) {
  const std::vector<ParameterSize> three(3);
  for (const Numbers& order : {Numbers{0, 1}, Numbers{0, 1, 2, 0}, Numbers{0, 1, 1}, Numbers{0, 1, 3},
                               Numbers{0, 1, static_cast<std::size_t>(-1)}}) {
    BOOST_CHECK_THROW(static_cast<void>(plan_buckets(three, order, 8, 8)), std::invalid_argument);
  }
}

BOOST_AUTO_TEST_CASE(a_parameter_is_never_divided_and_the_last_bucket_need_not_be_full) {
  const std::vector<ParameterSize> sizes{{DType::f32, 1}, {DType::f32, 1'000}, {DType::f32, 1}};
  BOOST_TEST((numbers_of(plan_buckets(sizes, Numbers{0, 1, 2}, 8, 8)) == std::vector<Numbers>{{0, 1}, {2}}));
}

BOOST_AUTO_TEST_CASE(a_bucket_has_one_dtype_and_rows_are_kept_apart) {
  const std::vector<ParameterSize> sizes{{DType::f32, 4}, {DType::f64, 4}, {DType::f32, 4, GradientKind::rows},
                                         {DType::f32, 4}, {DType::f64, 4}, {DType::f32, 4, GradientKind::rows}};
  const BucketPlan plan = plan_buckets(sizes, Numbers{5, 4, 3, 2, 1, 0}, 64, 64);
  BOOST_TEST((numbers_of(plan) == std::vector<Numbers>{{4, 1}, {3, 0}}));
  BOOST_TEST((plan.buckets[0].dtype == DType::f64));
  BOOST_TEST((plan.rows == Numbers{5, 2}));
}

BOOST_AUTO_TEST_CASE(open_parameters_come_after_all_others_once_their_kind_is_known) {
  constexpr auto kUnknown = GradientKind::unknown;
  std::vector<ParameterSize> sizes{{DType::f32, 4, kUnknown}, {DType::f32, 4},           {DType::f32, 4, kUnknown},
                                   {DType::f32, 4, kUnknown}, {DType::f32, 4, kUnknown}, {DType::f32, 4, kUnknown}};
  BucketPlan plan = plan_buckets(sizes, Numbers{5, 4, 3, 2, 1, 0}, 8, 32);
  BOOST_TEST((numbers_of(plan) == std::vector<Numbers>{{1}}));
  BOOST_TEST((plan.open == Numbers{5, 4, 3, 2, 0}));
  BOOST_TEST((plan_more(plan, sizes, 32) == BucketPlan{}));
  for (const std::size_t number : {0, 2, 5}) sizes[number].kind = GradientKind::dense;
  sizes[3].kind = GradientKind::rows;
  const BucketPlan more = plan_more(plan, sizes, 32);
  BOOST_TEST((numbers_of(more) == std::vector<Numbers>{{5, 2}, {0}}));
  BOOST_TEST((more.rows == Numbers{3}));
  BOOST_TEST((numbers_of(plan) == std::vector<Numbers>{{1}, {5, 2}, {0}}));
  BOOST_TEST((plan.rows == Numbers{3}));
  BOOST_TEST((plan.open == Numbers{4}));
}

BOOST_AUTO_TEST_CASE(a_small_last_bucket_of_f32_is_summed_at_the_end) {
  const std::vector<ParameterSize> sizes{{DType::f32, 4}, {DType::f32, 2}};
  const BucketPlan plan = plan_buckets(sizes, Numbers{0, 1}, 16, 16);
  const BucketPlan moved = with_small_bucket_at_end(plan, 8);
  BOOST_TEST((numbers_of(moved) == std::vector<Numbers>{{0}}));
  BOOST_REQUIRE(moved.at_end.has_value());
  BOOST_TEST((*moved.at_end == Bucket{DType::f32, {1}, 2}));
  BOOST_TEST((with_small_bucket_at_end(plan, 7) == plan));
  const std::vector<ParameterSize> doubles{{DType::f64, 1}};
  const BucketPlan exact = plan_buckets(doubles, Numbers{0}, 16, 16);
  BOOST_TEST((with_small_bucket_at_end(exact, 16) == exact));
  BOOST_TEST((with_small_bucket_at_end({}, 16) == BucketPlan{}));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
