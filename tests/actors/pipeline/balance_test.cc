#include "actors/pipeline/balance.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "autograd/nn/activation.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/norm.h"
#include "autograd/ops.h"
#include "node/system_clock.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/support/expect_throw.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(balance)

namespace {

using boost::unit_test::label;
using Counts = std::vector<std::size_t>;
using Costs = std::vector<double>;

double largest_part(const Costs& costs, const Counts& counts) {
  double largest = 0;
  auto at = costs.begin();
  for (const std::size_t count : counts) {
    const auto end = at + static_cast<std::ptrdiff_t>(count);
    largest = std::max(largest, std::accumulate(at, end, 0.0));
    at = end;
  }
  return largest;
}

/// Tries all ways to share out `layers` layers.
double best_of_all(const Costs& costs, std::size_t parts, Counts& counts, std::size_t layers) {
  if (counts.size() + 1 == parts) {
    counts.push_back(layers);
    const double largest = largest_part(costs, counts);
    counts.pop_back();
    return largest;
  }
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t count = 1; count + (parts - counts.size() - 1) <= layers; ++count) {
    counts.push_back(count);
    best = std::min(best, best_of_all(costs, parts, counts, layers - count));
    counts.pop_back();
  }
  return best;
}

/// A layer that takes `millis` by the clock that it is given.
class SlowLayer final : public nn::Layer {
 public:
  SlowLayer(std::shared_ptr<TimePoint> now, int millis) : now_(std::move(now)), millis_(millis) {}
  [[nodiscard]] Variable forward(const Variable& x) override {
    *now_ += std::chrono::milliseconds(millis_);
    return x * 1.0;
  }

 private:
  std::shared_ptr<TimePoint> now_;
  int millis_;
};

class TestClock final : public Clock {
 public:
  explicit TestClock(std::shared_ptr<TimePoint> now) : now_(std::move(now)) {}
  [[nodiscard]] TimePoint now() const override { return *now_; }
  TimerId at(TimePoint /*due*/, std::function<void()> /*action*/) override { return {}; }
  void cancel(TimerId /*timer*/) override {}

 private:
  std::shared_ptr<TimePoint> now_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(largest_part_is_as_small_as_in_the_best_of_all_ways, *label("H-16")) {
  Generator generator(5);
  for (std::size_t layers = 1; layers <= 8; ++layers) {
    for (std::size_t parts = 1; parts <= layers; ++parts) {
      for (int round = 0; round < 10; ++round) {
        Costs costs;
        for (std::size_t i = 0; i < layers; ++i) costs.push_back(static_cast<double>(generator.below(10)));
        const Counts counts = balanced(costs, parts);
        BOOST_TEST(counts.size() == parts);
        BOOST_TEST(std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == layers);
        BOOST_TEST(std::ranges::all_of(counts, [](std::size_t count) { return count > 0; }));
        Counts none;
        BOOST_TEST(largest_part(costs, counts) == best_of_all(costs, parts, none, layers));
      }
    }
  }
  BOOST_TEST(balanced(Costs{1, 2, 3, 4, 5, 6}, 2) == (Counts{4, 2}));  // 10 and 11
}

BOOST_AUTO_TEST_CASE(costs_that_cannot_be_shared_out_are_refused) {
  const auto refuse = [](const Costs& costs, std::size_t parts, const char* why) {
    testing::expect_throw<std::invalid_argument>([&] { static_cast<void>(balanced(costs, parts)); }, why);
  };
  refuse({1, 1}, 3, "[balance] 2 layers for 3 parts");
  refuse({1, 1}, 0, "[balance] 2 layers for 0 parts");
  refuse({1, -1}, 1, "[balance] a cost of -1");
}

BOOST_AUTO_TEST_CASE(layers_are_shared_out_by_the_time_they_take, *label("H-16")) {
  const auto now = std::make_shared<TimePoint>();
  nn::Sequential layers;
  for (const int millis : {1, 2, 3, 4, 5, 6}) layers.append(std::make_shared<SlowLayer>(now, millis));
  const TestClock clock(now);
  BOOST_TEST(balance_by_time(layers, ones({2, 3}), 2, clock) == (Counts{4, 2}));
  BOOST_TEST(balance_by_time(layers, ones({2, 3}), 3, clock) == (Counts{3, 2, 1}));  // 6, 9, 6
  BOOST_TEST((*now - TimePoint() < std::chrono::seconds(3)));                        // the budget, and one run more
}

BOOST_AUTO_TEST_CASE(layers_are_shared_out_by_the_bytes_they_keep, *label("H-16")) {
  Generator generator(1);
  // Parameters and results of 2 rows, in f32: 4 * (2 * 110 + 2 * 10), 4 * (2 * 220 + 2 * 20), 4 * (2 * 21 + 2).
  const auto layers =
      nn::sequential(std::make_shared<nn::Linear>(10, 10, generator), std::make_shared<nn::Linear>(10, 20, generator),
                     std::make_shared<nn::Linear>(20, 1, generator));
  BOOST_TEST(balance_by_size(*layers, ones({2, 10}), 2) == (Counts{1, 2}));  // 960 and 2096, not 2880 and 176
  // Results of a thousand micro-batches: 80,000, 160,000 and 8,000 bytes.
  BOOST_TEST(balance_by_size(*layers, ones({2, 10}), 2, 0.0, 1000) == (Counts{1, 2}));
}

BOOST_AUTO_TEST_CASE(layers_that_were_measured_are_as_before, *label("H-16")) {
  const auto make = [] {
    Generator generator(1);
    return nn::sequential(std::make_shared<nn::Linear>(4, 4, generator), std::make_shared<nn::BatchNorm1d>(4),
                          std::make_shared<nn::Dropout>(0.5, generator), std::make_shared<nn::Linear>(4, 2, generator));
  };
  const auto measured = make();
  const auto fresh = make();
  Generator generator(2);
  const Tensor sample = randn({8, 4}, generator);
  static_cast<void>(balance_by_size(*measured, sample, 2));
  const SystemClock clock;
  static_cast<void>(balance_by_time(*measured, sample, 2, clock, std::chrono::milliseconds(1)));
  const auto state = measured->named_state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    BOOST_TEST(same_bytes(state[i].second.value(), fresh->named_state()[i].second.value()), state[i].first);
  }
  BOOST_TEST((measured->mode() == nn::Mode::train));
  BOOST_TEST(same_bytes(measured->forward(sample).value(), fresh->forward(sample).value()));  // draws the same numbers
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
