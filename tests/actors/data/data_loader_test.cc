#include "actors/data/data_loader.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "actors/core/wait_point.h"
#include "node/local_cluster.h"
#include "tests/support/counting_new.h"
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

/// Returns the number of examples whose batches the loader has returned.
std::int64_t given_out(const DataLoader<Numbers>& batches) {
  for (const auto& [name, number] : batches.state_dict()) {
    if (name == "given_out") return number.item<std::int64_t>();
  }
  return -1;
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
  const NamedTensors state = batches.state_dict();
  const Numbers third = batches.next().value();
  batches.load_state_dict(state);
  BOOST_TEST(batches.next().value() == third, boost::test_tools::per_element());
  DataLoader<Numbers> other = loader(10, {.batch = 2});
  other.load_state_dict(state);
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

BOOST_FIXTURE_TEST_CASE(no_batch_is_lost_by_a_call_that_gets_no_memory, OneNode) {
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    DataLoader<Numbers> batches = loader(6, {.batch = 2});
    bool is_over = false;
    for (std::size_t refusals = 1; !is_over; refusals = 0) {
      const std::int64_t place = given_out(batches);
      BOOST_TEST_CONTEXT("allocation " << n << ", " << place << " examples given out") {
        try {
          std::optional<Numbers> batch;
          {
            const RefusedAllocation refused(n, 0, refusals);
            batch = batches.next();
            if (refusals > 0) is_refused = refused.happened();
          }
          is_over = !batch;
          if (batch) BOOST_TEST((*batch == Numbers{place, place + 1}));
        } catch (const std::bad_alloc&) {
          BOOST_TEST(given_out(batches) == place);
        } catch (const RemoteError& error) {  // the pool has refused this batch
          BOOST_TEST((error.error().code == ErrorCode::resource_exhausted));
          BOOST_TEST(given_out(batches) == place + 2);
        }
      }
    }
    BOOST_TEST(given_out(batches) == 6);
  }
}

BOOST_FIXTURE_TEST_CASE(call_whose_wait_is_ended_by_an_exception_leaves_its_batch_to_the_next_one, OneNode) {
  /// As that of a function which is cancelled while it waits.
  struct Cancelled final : detail::BlockingHook {
    bool wait(detail::WaitPoint& /*point*/, std::optional<TimePoint> /*due*/) override {
      throw std::runtime_error("cancelled");
    }
  };
  std::atomic<bool> go_on = false;
  DataLoader<Numbers> batches(trainer, sampler_of(2), {.batch = 1}, [&](const Tensor& indices) {
    go_on.wait(false);
    return numbers(indices);
  });
  {
    Cancelled hook;
    const detail::BlockingHook::Guard guard(hook);
    expect_throw<std::runtime_error>([&] { static_cast<void>(batches.next()); }, "cancelled");
  }
  go_on = true;
  go_on.notify_all();
  BOOST_TEST(given_out(batches) == 0);
  BOOST_TEST((batches.next() == Numbers{0}));
  BOOST_TEST((batches.next() == Numbers{1}));
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

BOOST_FIXTURE_TEST_CASE(epoch_that_begins_without_memory_begins_as_a_whole_or_not_at_all, OneNode) {
  bool is_begun = false;
  for (std::size_t n = 1; !is_begun; ++n) {
    DataLoader<Numbers> batches = loader(10, {.batch = 2});
    static_cast<void>(batches.next());
    try {
      const RefusedAllocation refused(n);
      batches.set_epoch(1);
      is_begun = !refused.happened();
    } catch (const std::bad_alloc&) {
      BOOST_TEST(batches.epoch() == 0);
    }
    BOOST_TEST_CONTEXT("allocation " << n) {
      BOOST_TEST(given_out(batches) == (batches.epoch() == 1 ? 0 : 2));
      BOOST_TEST((batches.next() == (batches.epoch() == 1 ? Numbers{0, 1} : Numbers{2, 3})));
    }
  }
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
