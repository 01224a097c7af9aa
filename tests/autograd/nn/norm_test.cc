#include "autograd/nn/norm.h"

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "autograd/checkpoint.h"
#include "tensor/compute_watcher.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_norm)

namespace {

Tensor value_of(const nn::Module& module, const std::string& name) {
  for (const auto& [path, variable] : module.named_state()) {
    if (path == name) return variable.value();
  }
  return {};
}

constexpr nn::BatchNormLayerOptions kF64{.dtype = DType::f64};

}  // namespace

BOOST_AUTO_TEST_CASE(batch_norm_takes_in_each_batch_while_training_and_uses_what_it_has_in_eval_mode) {
  nn::BatchNorm1d layer(1, kF64);
  const Variable x = from_values<double>({1.0, 3.0, 5.0, 7.0}, {4, 1});  // mean 4, variance 5, unbiased variance 20/3
  const double scale = 1.0 / std::sqrt(5.0 + 1e-5);
  expect(layer(x).value(), {-3.0 * scale, -scale, scale, 3.0 * scale}, {4, 1});
  expect(value_of(layer, "running_mean"), {0.4});                    // 0.9 * 0 + 0.1 * 4
  expect(value_of(layer, "running_var"), {0.9 + 0.1 * 20.0 / 3.0});  // 0.9 * 1 + 0.1 * 20/3
  BOOST_CHECK(same_bytes(value_of(layer, "num_batches_tracked"), scalar<std::int64_t>(1)));
  layer.eval();
  const double running = 1.0 / std::sqrt(0.9 + 2.0 / 3.0 + 1e-5);
  expect(layer(x).value(), {0.6 * running, 2.6 * running, 4.6 * running, 6.6 * running}, {4, 1});
  expect(value_of(layer, "running_mean"), {0.4});
}

BOOST_AUTO_TEST_CASE(batch_in_parts_of_any_size_is_taken_in_as_one_batch, *boost::unit_test::label("H-10")) {
  Generator generator(1);
  const Tensor x = randn({9, 2, 3}, generator, DType::f64);
  nn::BatchNorm1d whole(2, kF64);
  (void)whole(x);
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{{9}, {4, 4, 1}, {1, 3, 5}}) {
    nn::BatchNorm1d parted(2, kF64);
    for (const Tensor& part : split_with_sizes(x, sizes, 0)) {
      const nn::BatchNorm::Collecting collecting(parted);
      nn::BatchNorm1d alone(2, kF64);
      BOOST_CHECK(same_bytes(parted(part).value(), alone(part).value()));  // normalised by the part
    }
    expect(value_of(parted, "running_mean"), {0.0, 0.0});
    parted.take_in_collected();
    parted.take_in_collected();  // nothing is left
    BOOST_CHECK(allclose(value_of(parted, "running_mean"), value_of(whole, "running_mean"), 1e-12, 1e-14));
    BOOST_CHECK(allclose(value_of(parted, "running_var"), value_of(whole, "running_var"), 1e-12, 1e-14));
    BOOST_CHECK(same_bytes(value_of(parted, "num_batches_tracked"), scalar<std::int64_t>(1)));
  }
}

BOOST_AUTO_TEST_CASE(what_was_collected_is_dropped_and_replays_add_nothing) {
  nn::BatchNorm1d layer(1, kF64);
  const Variable x = from_values<double>({1.0, 3.0}, {2, 1});
  {
    const nn::BatchNorm::Collecting collecting(layer);
    (void)layer(x);
  }
  layer.drop_collected();
  layer.take_in_collected();
  expect(value_of(layer, "running_mean"), {0.0});
  (void)layer(x);  // no longer collects
  expect(value_of(layer, "running_mean"), {0.2});
}

BOOST_AUTO_TEST_CASE(the_state_of_batch_norm_has_torchs_names) {
  std::vector<std::string> names;
  const nn::BatchNorm2d layer(3);
  for (const auto& [name, variable] : layer.named_state()) names.push_back(name);
  const std::vector<std::string> expected{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());
  BOOST_CHECK_EQUAL(layer.parameters().size(), 2U);
  BOOST_CHECK(nn::BatchNorm2d(3, {.affine = nn::Affine::no}).parameters().empty());
  BOOST_CHECK(nn::BatchNorm2d(3, {.track = nn::TrackStatistics::no}).named_buffers().empty());
}

BOOST_AUTO_TEST_CASE(a_layer_that_tracks_nothing_normalises_by_the_batch_in_every_mode) {
  nn::BatchNorm1d layer(1, {.track = nn::TrackStatistics::no, .dtype = DType::f64});
  const Variable x = from_values<double>({1.0, 3.0, 5.0, 7.0}, {2, 1, 2});
  const Tensor training = layer(x).value();
  layer.eval();
  BOOST_CHECK(same_bytes(layer(x).value(), training));
}

BOOST_AUTO_TEST_CASE(running_statistics_lose_no_batch_of_forwards_that_run_at_once) {
  constexpr int kForwards = 2000;
  nn::BatchNorm1d layer(1, {.momentum = 1e-4, .dtype = DType::f64});
  // All batches are equal, so that their order has no effect: after n of them the mean is 2 (1 - 0.9999^n).
  const Variable x = from_values<double>({1.0, 3.0}, {2, 1});
  const auto run = [&] {
    for (int i = 0; i < kForwards; ++i) (void)layer(x);
  };
  std::thread other(run);
  run();
  other.join();
  BOOST_CHECK_EQUAL(value_of(layer, "num_batches_tracked").item<std::int64_t>(), 2 * kForwards);
  BOOST_CHECK(allclose(value_of(layer, "running_mean"),
                       from_values<double>({2.0 * (1.0 - std::pow(0.9999, 2 * kForwards))}), 1e-11));
}

/// Loads other running means into a layer, once, when a kernel of its forward has run.
class LoadsMeans final : public ComputeWatcher {
 public:
  LoadsMeans(Variable running_mean, Tensor means) : running_mean_(std::move(running_mean)), means_(std::move(means)) {}
  [[nodiscard]] Time now() const override { return {}; }
  void computed(std::string_view /*kernel*/, Time /*begin*/,
                std::span<const Tensor* const> /*inputs*/) noexcept override {
    if (means_.defined()) running_mean_.set_value(std::exchange(means_, {}));
  }
  void went_back(std::string_view /*operation*/, Time /*begin*/) noexcept override {}

 private:
  const Variable running_mean_;
  Tensor means_;
};

BOOST_AUTO_TEST_CASE(statistics_that_are_loaded_during_a_forward_are_no_old_ones_where_both_are_parts_of_one_tensor) {
  const Tensor parts = from_values<double>({10.0, 20.0, 30.0});
  const std::vector<Tensor> views{parts.slice(0, 1, 3), parts.slice(0, 0, 3, 2)};  // {20, 30}, {10, 30}
  for (std::size_t i = 0; i < views.size(); ++i) {
    nn::BatchNorm1d layer(2, kF64);
    Variable running_mean;
    for (const auto& [name, buffer] : layer.named_buffers()) {
      if (name == "running_mean") running_mean = buffer;
    }
    running_mean.set_value(parts.slice(0, 0, 2));  // {10, 20}
    const ComputeWatcher::Guard guard(std::make_shared<LoadsMeans>(running_mean, views[i]));
    (void)layer(from_values<double>({0.0, 0.0, 2.0, 4.0}, {2, 2}));  // means 1 and 2
    // 0.9 * 20 + 0.1 * 1, 0.9 * 30 + 0.1 * 2; 0.9 * 10 + 0.1 * 1, 0.9 * 30 + 0.1 * 2
    expect(running_mean.value(), {i == 0 ? 18.1 : 9.1, 27.2});
  }
}

BOOST_AUTO_TEST_CASE(a_forward_that_a_checkpoint_computes_again_counts_once) {
  nn::BatchNorm1d layer(1, kF64);
  const Variable x = leaf({1.0, 3.0}, {2, 1});
  const Variable y = checkpoint([&](const Variable& in) { return layer(in); }, x);
  BOOST_CHECK(backward(sum(y * y)).of(x).defined());
  expect(value_of(layer, "running_mean"), {0.2});  // 0.1 * 2
  BOOST_CHECK_EQUAL(value_of(layer, "num_batches_tracked").item<std::int64_t>(), 1);
}

BOOST_AUTO_TEST_CASE(layer_and_group_norm_start_without_scale_and_shift) {
  nn::LayerNorm layer(Shape{2}, {.dtype = DType::f64});
  const double scale = 1.0 / std::sqrt(1.0 + 1e-5);
  expect(layer(from_values<double>({1.0, 3.0, 6.0, 4.0}, {2, 2})).value(), {-scale, scale, scale, -scale}, {2, 2});
  nn::GroupNorm group(1, 2, {.dtype = DType::f64});
  expect(group(from_values<double>({1.0, 3.0, 6.0, 4.0}, {2, 2})).value(), {-scale, scale, scale, -scale}, {2, 2});
  BOOST_CHECK(nn::LayerNorm(Shape{2, 3}).weight().shape() == (Shape{2, 3}));
  BOOST_CHECK(nn::LayerNorm(4, {.affine = nn::Affine::no}).parameters().empty());
}

BOOST_AUTO_TEST_CASE(instance_norm_takes_each_channel_of_each_example_in_every_mode) {
  nn::InstanceNorm1d line(2);
  const Tensor x = from_values<double>({1.0, 3.0, 6.0, 4.0, 0.0, 20.0, 5.0, 5.0}, {2, 2, 2});
  const double scale = 1.0 / std::sqrt(1.0 + 1e-5);
  const double wide = 10.0 / std::sqrt(100.0 + 1e-5);
  for (const nn::Mode mode : {nn::Mode::train, nn::Mode::eval}) {
    line.set_mode(mode);
    expect(line(x).value(), {-scale, scale, scale, -scale, -wide, wide, 0.0, 0.0}, {2, 2, 2});
  }
  BOOST_CHECK(line.parameters().empty());
  nn::InstanceNorm2d image(2, {.affine = nn::Affine::yes, .dtype = DType::f64});
  BOOST_CHECK_EQUAL(image.parameters().size(), 2U);
  image.parameters()[1].set_value(from_values<double>({1.0, 2.0}));
  expect(image(x.view({2, 2, 1, 2})).value(),
         {1 - scale, 1 + scale, 2 + scale, 2 - scale, 1 - wide, 1 + wide, 2.0, 2.0}, {2, 2, 1, 2});
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_refused) {
  expect_throw<ValueError>([] { nn::InstanceNorm1d(0); }, "[InstanceNorm1d] channels below 1: 0");
  expect_throw<ShapeError>(
      [] {
        (void)nn::InstanceNorm1d(6)(ones({2, 4, 3}));
      },
      "[InstanceNorm1d] not of 3 dimensions, with 6 channels: (2, 4, 3)");
  expect_throw<ShapeError>(
      [] {
        (void)nn::InstanceNorm2d(4)(ones({2, 4, 3}));
      },
      "[InstanceNorm2d] not of 4 dimensions, with 4 channels: (2, 4, 3)");
  expect_throw<ValueError>([] { nn::BatchNorm2d(0); }, "[BatchNorm2d] channels below 1: 0");
  expect_throw<ShapeError>(
      [] {
        (void)nn::BatchNorm2d(3)(ones({3, 4}));
      },
      "[BatchNorm2d] not (n, channels, h, w): (3, 4)");
  expect_throw<ShapeError>([] { (void)nn::BatchNorm1d(3)(ones({4})); },
                           "[BatchNorm1d] not (n, channels) or (n, channels, l): (4)");
  expect_throw<ValueError>([] { nn::GroupNorm(4, 6); }, "[GroupNorm] 6 channels in 4 groups");
  expect_throw<ShapeError>([] { (void)nn::GroupNorm(2, 6)(ones({2, 4})); }, "[GroupNorm] not (n, 6, ...): (2, 4)");
}

BOOST_AUTO_TEST_SUITE_END()
