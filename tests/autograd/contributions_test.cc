#include "autograd/contributions.h"

#include <algorithm>
#include <array>

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;
using detail::Contribution;
using detail::sum_by_slot;

// In f32 the neighbours of 1e8 are 8 apart, so 1e8 + 1 is 1e8: the sum of 1e8, -1e8 and 1 is 1 or 0, depending on the
// order.
BOOST_AUTO_TEST_SUITE(contributions)

namespace {

CreationMark mark(std::vector<std::uint32_t> path, std::uint64_t serial) {
  return {path.empty() ? nullptr : std::make_shared<const CallPath>(std::move(path)), serial};
}

Tensor f32(float value) { return scalar(value); }

/// Checks that in every order of arrival the contributions add up to exactly `expected`.
void expect_in_every_order(const std::vector<std::pair<CreationMark, float>>& contributions, float expected) {
  std::vector<std::size_t> order(contributions.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    std::vector<Contribution> arrived;
    for (std::size_t i : order) arrived.push_back({0, &contributions[i].first, 0, f32(contributions[i].second)});
    BOOST_CHECK_EQUAL(sum_by_slot(arrived, 1).front().item<float>(), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace

BOOST_AUTO_TEST_CASE(inside_a_call_the_newest_comes_first) {
  // (1e8 - 1e8) + 1
  expect_in_every_order({{mark({}, 0), 1.0F}, {mark({}, 1), -1e8F}, {mark({}, 2), 1e8F}}, 1.0F);
  // (1e8 + 1) - 1e8
  expect_in_every_order({{mark({}, 0), -1e8F}, {mark({}, 1), 1.0F}, {mark({}, 2), 1e8F}}, 0.0F);
}

BOOST_AUTO_TEST_CASE(each_call_is_summed_before_it_meets_the_others) {
  // 1e8 + (-1e8 + 1); a single sum over all would be (1e8 - 1e8) + 1 = 1
  expect_in_every_order({{mark({1}, 0), 1e8F}, {mark({0}, 5), -1e8F}, {mark({0}, 4), 1.0F}}, 0.0F);
}

BOOST_AUTO_TEST_CASE(across_calls_the_highest_path_comes_first_and_the_callers_own_part_last) {
  // ([1] + [0, 3]) + []: (1e8 - 1e8) + 1
  expect_in_every_order({{mark({}, 9), 1.0F}, {mark({0, 3}, 0), -1e8F}, {mark({1}, 0), 1e8F}}, 1.0F);
  // ([1] + [0, 3]) + [0]: (1e8 + 1) - 1e8
  expect_in_every_order({{mark({0}, 9), -1e8F}, {mark({0, 3}, 0), 1.0F}, {mark({1}, 0), 1e8F}}, 0.0F);
}

BOOST_AUTO_TEST_CASE(equal_paths_are_one_call_even_if_they_are_different_objects) {
  // One call: (1e8 - 1e8) + 1. As two calls of equal path it would be 1e8 + (-1e8 + 1) = 0 in some order of arrival.
  expect_in_every_order({{mark({2}, 2), 1e8F}, {mark({2}, 1), -1e8F}, {mark({2}, 0), 1.0F}}, 1.0F);
}

BOOST_AUTO_TEST_CASE(what_was_fed_to_roots_comes_before_everything_else) {
  const CreationMark newest = mark({9}, 99);
  // (1e8 - 1e8) + 1
  std::vector<Contribution> arrived{
      {0, &newest, 0, f32(1.0F)}, {0, nullptr, 1, f32(-1e8F)}, {0, nullptr, 0, f32(1e8F)}};
  BOOST_CHECK_EQUAL(sum_by_slot(arrived, 1).front().item<float>(), 1.0F);
}

BOOST_AUTO_TEST_CASE(edges_of_one_vertex_keep_their_order) {
  const CreationMark one = mark({}, 0);
  // (edge 0 + edge 1) + edge 2: (1e8 - 1e8) + 1
  std::vector<Contribution> arrived{{0, &one, 2, f32(1.0F)}, {0, &one, 0, f32(1e8F)}, {0, &one, 1, f32(-1e8F)}};
  BOOST_CHECK_EQUAL(sum_by_slot(arrived, 1).front().item<float>(), 1.0F);
}

BOOST_AUTO_TEST_CASE(slots_are_summed_apart_and_a_slot_without_contributions_stays_undefined) {
  const CreationMark a = mark({}, 0);
  const CreationMark b = mark({}, 1);
  const std::vector<Tensor> sums =
      sum_by_slot({{2, &a, 0, f32(1.0F)}, {0, &b, 0, f32(2.0F)}, {2, &b, 1, f32(4.0F)}}, 3);
  expect(sums[0], 2.0);
  BOOST_CHECK(!sums[1].defined());
  expect(sums[2], 5.0);
}

BOOST_AUTO_TEST_CASE(a_single_contribution_is_passed_on_and_a_sum_writes_into_no_summand_that_others_see) {
  const CreationMark a = mark({}, 0);
  const CreationMark b = mark({}, 1);
  const CreationMark c = mark({}, 2);
  const Tensor first = f32(1.0F);
  BOOST_CHECK(sum_by_slot({{0, &a, 0, first}}, 1).front().storage().same_as(first.storage()));

  const std::array<Tensor, 3> summands{f32(1.0F), f32(2.0F), f32(4.0F)};
  expect(sum_by_slot({{0, &a, 0, summands[0]}, {0, &b, 0, summands[1]}, {0, &c, 0, summands[2]}}, 1).front(), 7.0);
  expect(summands[0], 1.0);
  expect(summands[1], 2.0);
  expect(summands[2], 4.0);

  std::vector<Contribution> seen_by_nobody;
  seen_by_nobody.push_back({0, &b, 0, f32(1.0F)});
  seen_by_nobody.push_back({0, &a, 0, summands[1]});
  const auto* memory = seen_by_nobody.front().gradient.data<float>().data();
  const Tensor sum = std::move(sum_by_slot(std::move(seen_by_nobody), 1).front());
  expect(sum, 3.0);
  BOOST_CHECK_EQUAL(sum.data<float>().data(), memory);

  // The first contribution repeats an element, so its memory cannot hold the sum.
  std::vector<Contribution> repeated;
  repeated.push_back({0, &b, 0, f32(1.0F).expand({2})});
  repeated.push_back({0, &a, 0, ones({2})});
  expect(sum_by_slot(std::move(repeated), 1).front(), {2.0, 2.0});
}

BOOST_AUTO_TEST_CASE(contributions_that_come_in_order_are_one_sum_per_slot) {
  const std::array marks{mark({}, 3), mark({}, 2), mark({}, 1)};
  for (const std::uint32_t slots : {1U, 3U}) {
    const std::uint32_t last = slots - 1;
    std::vector<Contribution> arrived{{last, nullptr, 0, f32(1e8F)}};  // fed to a root
    std::vector<std::size_t> places;
    const auto add = [&](std::uint32_t slot, std::size_t from, float value) {
      detail::add_in_order(arrived, places, slots, {slot, &marks.at(from), 0, f32(value)});
    };
    add(last, 0, -1e8F);
    if (slots > 1) add(0, 0, 5.0F);
    add(last, 1, 1.0F);
    if (slots > 1) add(0, 1, 6.0F);
    add(last, 2, 1e8F);
    BOOST_TEST(arrived.size() == (slots > 1 ? 3U : 2U));
    const std::vector<Tensor> sums = sum_by_slot(std::move(arrived), slots);
    // 1e8 + ((-1e8 + 1) + 1e8)
    BOOST_TEST(sums[last].item<float>() == 1e8F);
    if (slots > 1) BOOST_TEST(sums[0].item<float>() == 11.0F);
  }
}

BOOST_AUTO_TEST_CASE(a_vertex_with_very_many_slots_costs_no_search_per_contribution) {
  constexpr std::uint32_t kSlots = 200'000;  // a search takes a minute
  const CreationMark from = mark({}, 0);
  const Tensor one = f32(1.0F);
  std::vector<Contribution> arrived;
  std::vector<std::size_t> places;
  for (int i = 0; i < 2; ++i) {
    for (std::uint32_t slot = kSlots; slot-- > 0;) detail::add_in_order(arrived, places, kSlots, {slot, &from, 0, one});
  }
  BOOST_TEST(arrived.size() == kSlots);
  BOOST_TEST(arrived.front().gradient.item() == 2.0);
}

BOOST_AUTO_TEST_CASE(rows_are_taken_out_and_summed_one_by_one_in_the_same_order) {
  const auto row = [](float value) {
    return std::make_shared<const SparseTensor>(from_values<std::int64_t>({1}, {1, 1}), from_values<float>({value}),
                                                Shape{3});
  };
  // [1], then the newest of [0] and the oldest: (1e8 + -1e8) + 1
  const std::array marks{mark({0}, 4), mark({0}, 5), mark({1}, 0), mark({0}, 6)};
  const std::array values{1.0F, -1e8F, 1e8F};
  std::array<std::size_t, 3> order{0, 1, 2};
  do {
    std::vector<Contribution> arrived{{0, &marks[3], 0, f32(7.0F)}};
    for (const std::size_t i : order) arrived.push_back({0, &marks[i], 0, Tensor(), row(values[i])});
    const auto sum = detail::take_rows(arrived);
    BOOST_TEST_REQUIRE(sum != nullptr);
    BOOST_TEST(sum->count() == 3);
    BOOST_CHECK_EQUAL(sum->coalesce().values().item<float>(), 1.0F);
    BOOST_TEST_REQUIRE(arrived.size() == 1U);
    BOOST_CHECK_EQUAL(sum_by_slot(arrived, 1).front().item<float>(), 7.0F);
  } while (std::next_permutation(order.begin(), order.end()));
  std::vector<Contribution> tensors{{0, &marks[0], 0, f32(7.0F)}};
  BOOST_TEST(detail::take_rows(tensors) == nullptr);
  BOOST_TEST(tensors.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
