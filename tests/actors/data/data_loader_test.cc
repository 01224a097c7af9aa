#include "actors/data/data_loader.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "node/local_cluster.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(data_loader)

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers(const Tensor& x) {
  const auto all = x.data<std::int64_t>();
  return {all.begin(), all.end()};
}

DistributedSampler sampler_of(std::int64_t examples) {
  return DistributedSampler({.examples = examples, .shuffle = Shuffle::no});
}

/// Counts the calls of a loader's function.
struct Loads {
  Changes changes;
  int count = 0;  // read and changed through `changes`

  void await(int expected) const {
    eventually(
        std::chrono::seconds(5), changes, [&] { return count == expected; },
        [&] { return std::to_string(count) + " batches"; });
  }
};

struct OneNode {
  LocalCluster cluster{{"trainer"}, {}};
  Node& trainer = cluster.node("trainer");
  std::shared_ptr<Loads> loads = std::make_shared<Loads>();

  [[nodiscard]] DataLoader<Numbers> loader(std::int64_t examples, const DataLoaderOptions& options) const {
    return {trainer, sampler_of(examples), options, [loads = loads](const Tensor& indices) {
              loads->changes.change([&] { ++loads->count; });
              return numbers(indices);
            }};
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(batches_come_in_order_epoch_by_epoch, OneNode) {
  DataLoader<Numbers> batches = loader(5, {.batch = 2});
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    batches.set_epoch(epoch);
    BOOST_TEST(batches.next().value() == (Numbers{0, 1}), boost::test_tools::per_element());
    BOOST_TEST(batches.next().value() == (Numbers{2, 3}), boost::test_tools::per_element());
    BOOST_TEST(batches.next().value() == (Numbers{4}), boost::test_tools::per_element());
    BOOST_TEST(!batches.next().has_value());
    BOOST_TEST(!batches.next().has_value());
  }
  DataLoader<Numbers> whole = loader(5, {.batch = 2, .remainder = Remainder::drop});
  int count = 0;
  while (whole.next()) ++count;
  BOOST_TEST(count == 2);
}

BOOST_FIXTURE_TEST_CASE(batches_are_made_before_they_are_asked_for_but_not_more_than_that, OneNode) {
  DataLoader<Numbers> batches = loader(100, {.batch = 1, .ahead = 3});
  loads->await(0);
  static_cast<void>(batches.next());
  loads->await(4);
  static_cast<void>(batches.next());
  loads->await(5);
}

BOOST_FIXTURE_TEST_CASE(position_does_not_count_what_was_made_ahead, OneNode) {
  DataLoader<Numbers> batches = loader(10, {.batch = 2, .ahead = 4});
  static_cast<void>(batches.next());
  static_cast<void>(batches.next());
  const NamedTensors state = batches.state();
  const Numbers third = batches.next().value();
  batches.load_state(state);
  BOOST_TEST(batches.next().value() == third, boost::test_tools::per_element());
  DataLoader<Numbers> other = loader(10, {.batch = 2});
  other.load_state(state);
  BOOST_TEST(other.next().value() == third, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(what_the_load_throws_is_thrown_with_its_batch_and_the_next_one_follows, OneNode) {
  DataLoader<Numbers> batches(trainer, sampler_of(3), {.batch = 1}, [](const Tensor& indices) {
    if (indices.item<std::int64_t>() == 1) throw std::out_of_range("no example 1");
    return numbers(indices);
  });
  BOOST_TEST(batches.next().value() == (Numbers{0}), boost::test_tools::per_element());
  expect_throw<std::out_of_range>([&] { static_cast<void>(batches.next()); }, "no example 1");
  BOOST_TEST(batches.next().value() == (Numbers{2}), boost::test_tools::per_element());
  expect_throw<ValueError>([&] { static_cast<void>(loader(3, {.batch = 0})); }, "[DataLoader] batches of 0 examples");
}

BOOST_FIXTURE_TEST_CASE(loader_that_ends_waits_for_the_batch_that_is_being_made, OneNode) {
  std::atomic<bool> running = false;
  std::atomic<bool> go_on = false;
  std::atomic<int> inside = 0;
  std::jthread release;
  {
    DataLoader<int> batches(trainer, sampler_of(10), {.batch = 1, .ahead = 5}, [&](const Tensor& indices) {
      ++inside;
      if (indices.item<std::int64_t>() == 1) {
        running = true;
        running.notify_all();
        go_on.wait(false);
      }
      --inside;
      return 0;
    });
    static_cast<void>(batches.next());
    running.wait(false);
    release = std::jthread([&] {
      std::this_thread::yield();
      go_on = true;
      go_on.notify_all();
    });
  }
  BOOST_TEST(go_on.load());
  BOOST_TEST(inside.load() == 0);
}

BOOST_FIXTURE_TEST_CASE(epoch_that_begins_drops_the_batches_that_were_made_ahead, OneNode) {
  DataLoader<Numbers> batches = loader(10, {.batch = 1, .ahead = 4});
  static_cast<void>(batches.next());
  batches.set_epoch(1);
  const int before = loads->changes.read([&] { return loads->count; });
  BOOST_TEST(batches.next().value() == (Numbers{0}), boost::test_tools::per_element());
  loads->await(before + 5);
}

BOOST_FIXTURE_TEST_CASE(loader_whose_node_stops_fails_instead_of_waiting, OneNode) {
  DataLoader<Numbers> batches = loader(10, {.batch = 1});
  static_cast<void>(batches.next());
  trainer.shutdown();
  const Error error = error_of([&] {
    while (batches.next()) {
    }
    return 0;
  });
  BOOST_TEST((error.code == ErrorCode::shutting_down), error.text());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
