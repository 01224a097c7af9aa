#include "autograd/anomaly.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <thread>

#include "autograd/boundary.h"
#include "autograd/checkpoint.h"
#include "autograd/custom_op.h"
#include "autograd/ops/nn.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(anomaly)

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Returns the text of the exception that `action` throws.
template <class Exception, class Action>
std::string text_of(Action action) {
  try {
    action();
  } catch (const Exception& e) {
    return e.what();
  }
  return "nothing";
}

void expect_begins(const std::string& text, const std::string& beginning) {
  BOOST_CHECK_MESSAGE(text.starts_with(beginning), text << "\ndoes not begin with\n" << beginning);
}

/// Returns "; made as operation 17" for the operation that made `x`.
std::string made_at(const Variable& x) {
  return "; made as operation " + std::to_string(x.gradient_edge().fn->mark().serial);
}

/// The gradient of sqrt is 1 / (2 * 0) = inf for the second element.
Variable root_of_zero(const Variable& x) { return sqrt(x * leaf({1.0, 0.0, 1.0})); }

}  // namespace

BOOST_AUTO_TEST_CASE(forward_names_the_operation_its_element_and_its_number) {
  const Variable x = leaf({1.0, -1.0, 4.0});
  const AnomalyGuard guard;
  const Variable y = x * 2.0;
  const std::uint64_t next = y.gradient_edge().fn->mark().serial + 1;
  BOOST_CHECK_EQUAL(text_of<AnomalyError>([&] { (void)log(y); }),
                    "[anomaly] log: result 0: f64 (3) has nan at element 1; made as operation " + std::to_string(next));
  expect_begins(text_of<AnomalyError>([&] { (void)(leaf({-2.0}) / (leaf({1.0}) * 0.0)); }),
                "[anomaly] div: result 0: f64 (1) has -inf at element 0; m");
}

BOOST_AUTO_TEST_CASE(labels_and_calls_say_where_it_was) {
  std::atomic<std::uint64_t> serials{40};
  const CallPathGuard call(std::make_shared<const CallPath>(std::vector<std::uint32_t>{0, 2}), serials);
  const Variable x = leaf({0.0});
  const AnomalyGuard guard;
  const LabelGuard encoder("encoder");
  {
    const LabelGuard norm("norm");
    BOOST_CHECK_EQUAL(
        text_of<AnomalyError>([&] { (void)log(x); }),
        "[anomaly] log: result 0: f64 (1) has -inf at element 0; made as operation 41 of call 0.2 in encoder/norm");
  }
  BOOST_CHECK_EQUAL(
      text_of<AnomalyError>([&] { (void)log(x); }),
      "[anomaly] log: result 0: f64 (1) has -inf at element 0; made as operation 42 of call 0.2 in encoder");
}

BOOST_AUTO_TEST_CASE(infinities_are_allowed_on_request_and_everything_is_without_a_guard) {
  const Variable x = leaf({0.0, -1.0});
  {
    const AnomalyGuard outer;
    const AnomalyGuard guard(Anomaly::nan);
    BOOST_CHECK(std::isinf(log(slice(x, 0, 0, 1)).value().item()));
    BOOST_CHECK_THROW((void)log(x), AnomalyError);
  }
  BOOST_CHECK(std::isnan(log(x).value().data<double>()[1]));
  const AnomalyGuard guard;
  BOOST_CHECK_THROW((void)log(slice(x, 0, 0, 1)), AnomalyError);
}

BOOST_AUTO_TEST_CASE(backward_names_the_forward_operation_on_whatever_thread_the_pass_runs) {
  const Variable x = leaf({1.0, 2.0, 3.0});
  Variable y;
  {
    const AnomalyGuard guard;
    const LabelGuard label("head");
    y = root_of_zero(x);
  }
  const std::string expected =
      "[backward] sqrt: gradient of input 0: f64 (3) has inf at element 1" + made_at(y) + " in head";
  BOOST_CHECK_EQUAL(text_of<BackwardError>([&] { (void)backward(sum(y)); }), expected);
  std::thread([&] { BOOST_CHECK_EQUAL(text_of<BackwardError>([&] { (void)backward(sum(y)); }), expected); }).join();
}

BOOST_AUTO_TEST_CASE(a_pass_under_a_guard_checks_what_was_recorded_before) {
  const Variable x = leaf({1.0, 2.0, 3.0});
  const Variable y = root_of_zero(x);
  const Variable loss = sum(y);
  BOOST_CHECK(std::isnan(backward(loss).of(x).data<double>()[1]));  // inf * 0, and no guard is active
  const AnomalyGuard guard;
  BOOST_CHECK_EQUAL(text_of<BackwardError>([&] { (void)backward(loss); }),
                    "[backward] sqrt: gradient of input 0: f64 (3) has inf at element 1" + made_at(y));
  const AnomalyGuard only_nan(Anomaly::nan);
  const std::string text = text_of<BackwardError>([&] { (void)backward(loss); });
  expect_begins(text, "[backward] mul: gradient of input 0: f64 (3) has nan at element 1");
}

BOOST_AUTO_TEST_CASE(a_gradient_that_was_wrong_when_it_came_is_not_blamed_on_the_operation) {
  const Variable x = leaf({1.0, 2.0});
  const std::array<Variable, 1> root{x * 3.0};
  const std::array<Tensor, 1> start{from_values<double>({kInf, kNan})};
  const AnomalyGuard guard;
  BOOST_CHECK_EQUAL(text_of<BackwardError>([&] { (void)backward(root, start); }),
                    "[backward] mul: got a gradient: f64 (2) has inf at element 0" + made_at(root[0]));
}

BOOST_AUTO_TEST_CASE(a_hook_that_gives_a_wrong_gradient_is_named) {
  const Variable x = leaf({1.0, 2.0});
  const Variable y = exp(x);
  y.register_hook([](const Tensor& gradient) { return mul(gradient, kNan); });
  const AnomalyGuard guard;
  BOOST_CHECK_EQUAL(text_of<BackwardError>([&] { (void)backward(sum(y)); }),
                    "[backward] hook on exp: gave a gradient: f64 (2) has nan at element 0" + made_at(y));
}

BOOST_AUTO_TEST_CASE(of_several_results_the_wrong_one_is_named_and_16_bits_and_views_are_seen) {
  const Variable x(from_values<float>({1.0F, 60000.0F}).to(DType::f16), RequiresGrad::yes);
  const AnomalyGuard guard;
  expect_begins(text_of<AnomalyError>([&] { (void)(x * 2.0); }),
                "[anomaly] mul: result 0: f16 (2) has inf at element 1; m");
  const Tensor wrong = from_values<double>({1.0, 2.0, kNan, 4.0}, {2, 2});
  const auto two = [&](const Variable& in) {
    return custom_op("two", std::vector<Tensor>{arange(2), wrong.transpose()}, {in},
                     [](std::vector<Tensor>, std::span<const Edge>) { return std::vector<Tensor>(1); });
  };
  expect_begins(text_of<AnomalyError>([&] { (void)two(leaf(1.0)); }),
                "[anomaly] two: result 1: f64 (2, 2) has nan at element 1; made");
  BOOST_CHECK((Variable(zeros({0, 3}), RequiresGrad::yes) * 2.0).requires_grad());
}

BOOST_AUTO_TEST_CASE(a_received_value_is_checked_too) {
  const AnomalyGuard guard;
  expect_begins(text_of<AnomalyError>([] { (void)RecvFn::variable(RecvFn::make(1), 0, scalar(kNan)); }),
                "[anomaly] recv: result 0: f64 () has nan at element");
}

BOOST_AUTO_TEST_CASE(the_operation_inside_a_checkpoint_is_found) {
  const Variable x = leaf({1.0, -1.0, 0.0});
  const AnomalyGuard guard;
  const LabelGuard label("block");
  int calls = 0;
  const auto wrong_forward = [&](const Variable& in) {
    ++calls;
    const LabelGuard inner("inner");
    return log(in * 1.0) + 1.0;
  };
  const std::string text = text_of<AnomalyError>([&] { (void)checkpoint(wrong_forward, x); });
  expect_begins(text, "[anomaly] log: result 0: f64 (3) has nan at element 1; m");
  BOOST_CHECK(text.ends_with(" in block/inner"));
  BOOST_CHECK_EQUAL(calls, 2);

  const Variable y = sum(checkpoint([](const Variable& in) { return root_of_zero(in) * 2.0; }, leaf({1.0, 2.0, 3.0})));
  std::thread([&] {
    expect_begins(text_of<BackwardError>([&] { (void)backward(y); }),
                  "[backward] checkpoint: [backward] sqrt: gradient of input 0: f64 (3) has inf at element 1");
  }).join();
}

BOOST_AUTO_TEST_SUITE_END()
