// Runs the bodies of the GPU kernels on the CPU and compares them with a generator's draws in sequence.
#include "tensor/cuda/random_kernels.h"

#include <vector>

#include "tensor/create.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_random_kernels)

namespace {

using kernels::RealDistribution;

constexpr std::int64_t kMany = 1001;

/// Returns a generator whose block number is about to exceed 32 bits.
Generator generator() {
  Generator result(0x1'2345'6789, 0x7'0000'0001);
  result.skip(0xFFFF'FF00);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(reals_are_the_draws_of_the_generator_one_after_the_other) {
  Tensor doubles = Tensor::empty({kMany}, DType::f64);
  Tensor floats = Tensor::empty({kMany});
  const auto draw = [&](const RealDistribution& distribution) {
    Generator a = generator();
    Generator b = generator();
    cuda::draw_reals_with(kHost, doubles, distribution, kernels::next_draws(a, kMany));
    cuda::draw_reals_with(kHost, floats, distribution, kernels::next_draws(b, kMany));
    BOOST_CHECK(a == b);
  };
  draw({RealDistribution::Kind::unit});
  Generator units = generator();
  for (const double x : std::as_const(doubles).data<double>()) BOOST_REQUIRE_EQUAL(x, units.uniform());
  draw({RealDistribution::Kind::normal});
  Generator normals = generator();
  for (const double x : std::as_const(doubles).data<double>()) BOOST_REQUIRE_EQUAL(x, normals.normal());
  expect_same(floats, doubles.to(DType::f32));
  draw({RealDistribution::Kind::uniform, -3.0, 5.0});
  Generator uniforms = generator();
  for (const double x : std::as_const(doubles).data<double>()) BOOST_REQUIRE_EQUAL(x, -3.0 + 8.0 * uniforms.uniform());
}

BOOST_AUTO_TEST_CASE(reals_have_the_bits_of_the_cpus) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, kMany}) {
      for (const RealDistribution::Kind kind :
           {RealDistribution::Kind::unit, RealDistribution::Kind::uniform, RealDistribution::Kind::normal}) {
        Tensor got = Tensor::empty({count}, dtype);
        Tensor expected = Tensor::empty({count}, dtype);
        cuda::draw_reals_with(kHost, got, {kind, 1.0, 1.5}, {3, 4, 5});
        cpu::random_kernels.draw_reals(expected, {kind, 1.0, 1.5}, {3, 4, 5});
        expect_same(got, expected);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(integers_are_the_draws_of_the_generator_unless_one_is_rejected) {
  for (const std::uint64_t range : {std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{1} << 40U}) {
    Tensor got = Tensor::empty({kMany}, DType::i64);
    Generator a = generator();
    BOOST_TEST(cuda::draw_integers_with(kHost, got, -7, range, kernels::next_draws(a, kMany)));
    Generator b = generator();
    for (const std::int64_t x : std::as_const(got).data<std::int64_t>())
      BOOST_REQUIRE_EQUAL(x, -7 + static_cast<std::int64_t>(b.below(range)));
    BOOST_CHECK(a == b);
  }
  // A quarter of all bits is rejected: 2^64 mod (3 * 2^62) = 2^62.
  constexpr std::uint64_t kWasteful = std::uint64_t{3} << 62U;
  Tensor got = Tensor::empty({100}, DType::i64);
  BOOST_TEST(!cuda::draw_integers_with(kHost, got, 0, kWasteful, {1, 2, 3}));
  BOOST_TEST(!cpu::random_kernels.draw_integers(got, 0, kWasteful, {1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(masks_of_dropout_have_the_bits_of_the_cpus) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t count : {0, 1, 3, 4, 5, 1001}) {
      Tensor got = Tensor::empty({count}, dtype);
      Tensor expected = Tensor::empty({count}, dtype);
      cuda::draw_dropout_mask_with(kHost, got, 0.3, {3, 4, 5});
      cpu::random_kernels.draw_dropout_mask(expected, 0.3, {3, 4, 5});
      expect_same(got, expected);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
