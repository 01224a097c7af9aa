// What a thread computes is told to its watcher, by its name and with its inputs.
#include "tensor/compute_watcher.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tensor/create.h"
#include "tensor/format.h"
#include "tensor/ops.h"
#include "tensor/ops/attention.h"
#include "tensor/ops/ctc_loss.h"
#include "tensor/ops/nn.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(compute_watcher)

namespace {

class Watcher final : public ComputeWatcher {
 public:
  [[nodiscard]] Time now() const override { return Time(std::chrono::nanoseconds(1)); }
  void computed(std::string_view kernel, Time, std::span<const Tensor* const> inputs) noexcept override {
    seen.emplace_back(kernel);
    for (const Tensor* input : inputs) {
      if (input->defined()) seen.back() += " " + to_string(input->shape());
    }
  }
  void went_back(std::string_view operation, Time) noexcept override { seen.emplace_back(operation); }

  std::vector<std::string> seen;
};

/// Returns what `compute` is seen to compute.
std::vector<std::string> seen_of(const auto& compute) {
  const auto watcher = std::make_shared<Watcher>();
  const ComputeWatcher::Guard guard(watcher);
  compute();
  return watcher->seen;
}

using Seen = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(kernels_are_told_by_what_they_compute) {
  const Tensor x = ones({2, 3});
  BOOST_TEST((seen_of([&] { static_cast<void>(exp(x)); }) == Seen{"exp (2, 3)"}));
  BOOST_TEST((seen_of([&] { static_cast<void>(maximum(x, x)); }) == Seen{"maximum (2, 3) (2, 3)"}));
  BOOST_TEST((seen_of([&] { static_cast<void>(x > 1.0); }).back().starts_with("l")));
  BOOST_TEST((seen_of([&] { static_cast<void>(prod(x)); }) == Seen{"prod (2, 3)"}));
  BOOST_TEST((seen_of([&] { static_cast<void>(matmul(x, ones({3, 4}))); }).back() == "matmul (2, 3) (3, 4)"));
}

// Unwatched, all but the first of these would wait and run together at the next access to the result.
BOOST_AUTO_TEST_CASE(arithmetic_on_large_dead_tensors_is_told_operation_by_operation) {
  const Tensor x = full({1 << 19}, 3.0);
  const Tensor unwatched = 1.0 - (x + 1.0) * x;
  Tensor y;
  const auto seen = seen_of([&] { y = 1.0 - (x + 1.0) * x; });
  for (const char* kernel : {"add", "mul", "sub"}) {
    BOOST_TEST(std::ranges::count_if(seen, [&](const std::string& each) { return each.starts_with(kernel); }) == 1,
               kernel);
  }
  BOOST_TEST(y.data<float>()[0] == -11.0F);  // 1 - (3 + 1) * 3
  BOOST_TEST(same_bytes(y, unwatched));
}

BOOST_AUTO_TEST_CASE(kernels_of_the_cpu_alone_are_told_too) {
  const Tensor q = ones({1, 2, 4});
  const auto attends = [&] { static_cast<void>(scaled_dot_product_attention(q, q, q)); };
  BOOST_TEST((seen_of(attends).back() == "attention (1, 2, 4) (1, 2, 4) (1, 2, 4)"));
  const auto loses = [] {
    static_cast<void>(
        ctc_loss(zeros({3, 1, 2}), full({1, 1}, 1, DType::i64), full({1}, 3, DType::i64), full({1}, 1, DType::i64)));
  };
  bool has_ctc = false;
  for (const std::string& kernel : seen_of(loses)) has_ctc = has_ctc || kernel == "ctc (3, 1, 2)";
  BOOST_TEST(has_ctc);
}

BOOST_AUTO_TEST_CASE(inputs_that_are_left_out_are_undefined) {
  const Tensor image = ones({1, 1, 3, 3});
  const auto convolves = [&] { static_cast<void>(conv2d(image, ones({1, 1, 2, 2}))); };
  BOOST_TEST((seen_of(convolves).back() == "convolve (1, 1, 3, 3) (1, 1, 2, 2)"));
}

BOOST_AUTO_TEST_CASE(a_watcher_is_that_of_one_thread_and_of_the_innermost_guard) {
  const Tensor x = ones({2});
  const auto outer = std::make_shared<Watcher>();
  const ComputeWatcher::Guard guard(outer);
  BOOST_TEST(seen_of([&] { static_cast<void>(exp(x)); }).size() == 1U);
  {
    const ComputeWatcher::Guard none(nullptr);
    static_cast<void>(exp(x));
  }
  std::thread([&] { static_cast<void>(exp(x)); }).join();
  BOOST_TEST(outer->seen.empty());
  static_cast<void>(exp(x));
  BOOST_TEST(outer->seen.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_kernel_that_throws_is_told) {
  const Tensor x = ones({2});
  const auto throws = [&] {
    try {
      const std::vector<const Tensor*> inputs{&x};
      const WatchedKernel watched("throws", inputs);
      throw 1;
    } catch (int) {
    }
  };
  BOOST_TEST((seen_of(throws) == Seen{"throws (2)"}));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
