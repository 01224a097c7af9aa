#include "actors/data/distributed_sampler.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(distributed_sampler)

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers(const Tensor& x) {
  const auto all = x.data<std::int64_t>();
  return {all.begin(), all.end()};
}

/// What rank `rank` of `ranks` takes in an epoch.
Numbers epoch_of(const SamplerOptions& options, std::int64_t epoch = 0) {
  DistributedSampler sampler(options);
  sampler.set_epoch(epoch);
  return numbers(sampler.next(sampler.remaining()));
}

/// What all ranks take, in the order in which they are dealt.
Numbers dealt(SamplerOptions options, std::int64_t epoch = 0) {
  std::vector<Numbers> ranks;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) ranks.push_back(epoch_of(options, epoch));
  Numbers all;
  for (std::size_t i = 0; i < ranks.front().size(); ++i) {
    for (const Numbers& rank : ranks) all.push_back(rank.at(i));
  }
  return all;
}

Numbers sorted(Numbers all) {
  std::ranges::sort(all);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_take_every_nth_example_and_are_padded_from_the_beginning) {
  // As torch: DistributedSampler(range(7), num_replicas=3, shuffle=False) gives [0, 3, 6], [1, 4, 0], [2, 5, 1].
  const SamplerOptions options{.examples = 7, .ranks = 3, .shuffle = Shuffle::no};
  BOOST_TEST(dealt(options) == (Numbers{0, 1, 2, 3, 4, 5, 6, 0, 1}), boost::test_tools::per_element());
  // Fewer examples than ranks: they repeat.
  BOOST_TEST(dealt({.examples = 2, .ranks = 5, .shuffle = Shuffle::no}) == (Numbers{0, 1, 0, 1, 0}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ranks_drop_the_last_examples_instead) {
  // As torch: drop_last=True gives [0, 3], [1, 4], [2, 5].
  const SamplerOptions options{.examples = 7, .ranks = 3, .shuffle = Shuffle::no, .remainder = Remainder::drop};
  BOOST_TEST(dealt(options) == (Numbers{0, 1, 2, 3, 4, 5}), boost::test_tools::per_element());
  BOOST_TEST(dealt({.examples = 2, .ranks = 5, .remainder = Remainder::drop}).empty());
}

BOOST_AUTO_TEST_CASE(every_epoch_has_an_order_of_its_own_that_does_not_depend_on_the_ranks) {
  const SamplerOptions one{.examples = 12, .seed = 5};
  const Numbers order = dealt(one);
  BOOST_TEST(sorted(order) == dealt({.examples = 12, .shuffle = Shuffle::no}), boost::test_tools::per_element());
  BOOST_TEST(order != sorted(order), boost::test_tools::per_element());
  BOOST_TEST(dealt({.examples = 12, .ranks = 4, .seed = 5}) == order, boost::test_tools::per_element());
  BOOST_TEST((dealt(one, 1) != order));
  BOOST_TEST((dealt({.examples = 12, .seed = 6}) != order));
  BOOST_TEST((dealt(one, 1) == dealt(one, 1)));
}

BOOST_AUTO_TEST_CASE(batches_go_on_to_the_end_of_the_epoch) {
  DistributedSampler sampler({.examples = 5, .shuffle = Shuffle::no});
  BOOST_TEST(numbers(sampler.next(2)) == (Numbers{0, 1}), boost::test_tools::per_element());
  BOOST_TEST(sampler.remaining() == 3);
  BOOST_TEST(numbers(sampler.next(4)) == (Numbers{2, 3, 4}), boost::test_tools::per_element());
  BOOST_TEST(sampler.next(4).numel() == 0);
  DistributedSampler none({.examples = 0, .ranks = 2});
  BOOST_TEST(none.next(3).numel() == 0);
}

BOOST_AUTO_TEST_CASE(restored_position_goes_on_where_it_was_saved_on_any_number_of_ranks) {
  const SamplerOptions saved{.examples = 23, .ranks = 2, .seed = 9};
  DistributedSampler sampler(saved);
  sampler.set_epoch(3);
  static_cast<void>(sampler.next(4));  // 8 examples of both ranks
  const NamedTensors state = sampler.state_dict();
  DistributedSampler same(saved);
  same.load_state_dict(state);
  BOOST_TEST(same.epoch() == 3);
  static_cast<void>(same.next(2));
  static_cast<void>(sampler.next(2));
  BOOST_TEST(same.state_dict()[1].second.item<std::int64_t>() == 12);
  BOOST_TEST(sampler.state_dict()[1].second.item<std::int64_t>() == 12);
  BOOST_TEST(numbers(same.next(100)) == numbers(sampler.next(100)), boost::test_tools::per_element());

  const Numbers order = dealt({.examples = 23, .seed = 9}, 3);
  for (const std::int64_t ranks : {1, 3, 5}) {
    std::vector<Numbers> rest;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      DistributedSampler other({.examples = 23, .ranks = ranks, .rank = rank, .seed = 9});
      other.load_state_dict(state);
      rest.push_back(numbers(other.next(100)));
    }
    // 15 examples are left, a multiple of each of these numbers of ranks.
    for (std::size_t i = 0; i < 15; ++i) {
      const auto of = static_cast<std::size_t>(ranks);
      BOOST_TEST(rest[i % of].at(i / of) == order[8 + i]);
    }
    BOOST_TEST(rest[0].size() == 15U / static_cast<std::size_t>(ranks));
  }
}

BOOST_AUTO_TEST_CASE(state_of_something_else_is_refused_and_nothing_changes) {
  DistributedSampler sampler({.examples = 5, .seed = 1});
  static_cast<void>(sampler.next(2));
  const DistributedSampler other({.examples = 7, .seed = 1});
  const DistributedSampler reseeded({.examples = 5, .seed = 2});
  expect_throw<ValueError>([&] { sampler.load_state_dict(other.state_dict()); },
                           "[load_state_dict] examples is 7, not 5");
  expect_throw<ValueError>([&] { sampler.load_state_dict(reseeded.state_dict()); },
                           "[load_state_dict] seed is 2, not 1");
  expect_throw<ValueError>([&] { sampler.load_state_dict({}); }, "[load_state_dict] missing: epoch");
  NamedTensors state = sampler.state_dict();
  state[1].second = from_values<std::int64_t>({-1}, {});
  expect_throw<ValueError>([&] { sampler.load_state_dict(state); }, "[load_state_dict] epoch 0, -1 examples given out");
  state[1].second = zeros({2});
  expect_throw<ValueError>([&] { sampler.load_state_dict(state); }, "[load_state_dict] given_out is not a number");
  BOOST_TEST(sampler.remaining() == 3);
}

BOOST_AUTO_TEST_CASE(state_of_another_order_is_refused_and_one_that_does_not_say_its_order_is_taken) {
  const DistributedSampler shuffled({.examples = 5, .seed = 1});
  DistributedSampler in_order({.examples = 5, .seed = 1, .shuffle = Shuffle::no});
  expect_throw<ValueError>([&] { in_order.load_state_dict(shuffled.state_dict()); },
                           "[load_state_dict] shuffle is 1, not 0");
  static_cast<void>(in_order.next(2));
  NamedTensors state = in_order.state_dict();
  DistributedSampler same({.examples = 5, .seed = 1, .shuffle = Shuffle::no});
  same.load_state_dict(state);
  BOOST_TEST(same.remaining() == 3);
  BOOST_REQUIRE(state.back().first == "shuffle");
  state.pop_back();  // as it was once written
  DistributedSampler from_old({.examples = 5, .seed = 1, .shuffle = Shuffle::no});
  from_old.load_state_dict(state);
  BOOST_TEST(from_old.remaining() == 3);
  state.emplace_back("momentum", zeros({}));
  expect_throw<ValueError>([&] { from_old.load_state_dict(state); }, "[load_state_dict] the state of something else");
}

BOOST_AUTO_TEST_CASE(misuse_is_named) {
  expect_throw<ValueError>([] { DistributedSampler({.examples = -1}); }, "[DistributedSampler] -1 examples");
  expect_throw<ValueError>([] { DistributedSampler({.examples = 1, .ranks = 2, .rank = 2}); },
                           "[DistributedSampler] rank 2 of 2");
  DistributedSampler sampler({.examples = 1});
  expect_throw<ValueError>([&] { sampler.set_epoch(-1); }, "[DistributedSampler] epoch -1");
  expect_throw<ValueError>([&] { static_cast<void>(sampler.next(-1)); }, "[DistributedSampler] -1 examples");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
