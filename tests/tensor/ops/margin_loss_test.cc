#include "tensor/ops/margin_loss.h"

#include <cmath>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_margin_loss)

namespace {

constexpr Reduction kNone = Reduction::none;
constexpr Reduction kSum = Reduction::sum;

Tensor row(std::initializer_list<double> values) { return from_values<double>(values); }

}  // namespace

BOOST_AUTO_TEST_CASE(margin_ranking_wants_one_score_above_the_other) {
  const Tensor a = row({3, 1, 2});
  const Tensor b = row({1, 2, 2});
  const Tensor target = from_values<std::int64_t>({1, 1, -1});
  expect_same(margin_ranking_loss(a, b, target, {.reduction = kNone}), row({0, 1, 0}));
  expect_same(margin_ranking_loss(a, b, target, {.margin = 0.5, .reduction = kNone}), row({0, 1.5, 0.5}));
  expect_same(margin_ranking_loss(a, b, target, {.margin = 0.5, .reduction = kSum}), scalar(2.0));
  expect_close(margin_ranking_loss(a, b, target, {.margin = 0.5}), scalar(2.0 / 3.0), 1e-15);
  BOOST_CHECK_EQUAL(margin_ranking_loss(ones({2, 1}), ones({3}), ones({3}), {.reduction = kNone}).shape(),
                    (Shape{2, 3}));
  BOOST_CHECK_EQUAL(margin_ranking_loss(ones({0}), ones({0}), ones({0}), {.reduction = kSum}).item(), 0.0);
  expect_error<ShapeError>("[margin_ranking_loss] shapes do not broadcast: (2) and (3)",
                           [] { (void)margin_ranking_loss(ones({2}), ones({3}), ones({3})); });
}

BOOST_AUTO_TEST_CASE(hinge_embedding_wants_small_or_large_distances) {
  const Tensor x = row({0.25, 0.25, 3, -1});
  const Tensor target = row({1, -1, -1, -1});
  expect_same(hinge_embedding_loss(x, target, {.reduction = kNone}), row({0.25, 0.75, 0, 2}));
  expect_same(hinge_embedding_loss(x, target, {.margin = 4.0}), scalar(2.5));  // (0.25 + 3.75 + 1 + 5) / 4
  expect_error<ShapeError>("[hinge_embedding_loss] shapes do not broadcast: (2) and (3)",
                           [] { (void)hinge_embedding_loss(ones({2}), ones({3})); });
}

BOOST_AUTO_TEST_CASE(cosine_embedding_wants_directions_to_agree_or_not) {
  const Tensor a = from_values<double>({3, 4, 1, 0, 1, 0}, {3, 2});
  const Tensor b = from_values<double>({4, 3, 1, 1, 0, 2}, {3, 2});
  const Tensor target = row({1, -1, -1});
  // 1 - 24/25; 1/sqrt(2) - 1/2; the last pair is orthogonal
  expect_close(cosine_embedding_loss(a, b, target, {.margin = 0.5, .reduction = kNone}),
               row({0.04, std::sqrt(0.5) - 0.5, 0}), 1e-11, 1e-12);
  expect_close(cosine_embedding_loss(a.select(0, 0), b.select(0, 0), scalar(1.0)), scalar(0.04), 1e-11);
  expect_close(cosine_embedding_loss(zeros({1, 2}), ones({1, 2}), ones({1})), ones({}), 1e-6);
  const std::string op = "[cosine_embedding_loss] sizes differ: ";
  expect_error<ShapeError>(op + "(2, 3), (2, 4) and target (2)", [] {
    (void)cosine_embedding_loss(ones({2, 3}), ones({2, 4}), ones({2}));
  });
  expect_error<ShapeError>(op + "(2, 3), (2, 3) and target (3)", [] {
    (void)cosine_embedding_loss(ones({2, 3}), ones({2, 3}), ones({3}));
  });
  expect_error<ShapeError>(op + "(), () and target ()",
                           [] { (void)cosine_embedding_loss(ones({}), ones({}), ones({})); });
}

BOOST_AUTO_TEST_CASE(triplet_margin_wants_the_negative_farther_away) {
  const Tensor anchor = from_values<double>({0, 0, 0, 0}, {2, 2});
  const Tensor positive = from_values<double>({3, 4, 1, 0}, {2, 2});
  const Tensor negative = from_values<double>({0, 1, 6, 8}, {2, 2});
  const TripletMarginLossOptions each{.eps = 0.0, .reduction = kNone};
  expect_same(triplet_margin_loss(anchor, positive, negative, each), row({5, 0}));  // 5 - 1 + 1, 1 - 10 + 1
  TripletMarginLossOptions other = each;
  other.p = 1.0;
  other.margin = 15.0;
  expect_same(triplet_margin_loss(anchor, positive, negative, other), row({21, 2}));  // 7 - 1 + 15, 1 - 14 + 15
  other.swap = true;  // distances from the positive: 3 + 3 is not below 1, 5 + 8 is below 14
  expect_same(triplet_margin_loss(anchor, positive, negative, other), row({21, 3}));
  // eps is added to each difference: |(1, 1)| - |(1, 1)| + 1
  expect_same(triplet_margin_loss(anchor, anchor, anchor, {.eps = 1.0}), scalar(1.0));
  expect_error<ShapeError>("[triplet_margin_loss] shapes do not broadcast: (2) and (3)",
                           [] { (void)triplet_margin_loss(ones({2}), ones({3}), ones({2})); });
  expect_error<ShapeError>("[triplet_margin_loss] no dimension to sum over",
                           [] { (void)triplet_margin_loss(ones({}), ones({}), ones({})); });
}

BOOST_AUTO_TEST_CASE(soft_margin_is_the_loss_of_a_logistic_regression) {
  const Tensor x = row({std::log(3.0), std::log(3.0), 0});
  // log(1 + 1/3), log(1 + 3), log(2)
  expect_close(soft_margin_loss(x, row({1, -1, 1}), kNone), row({std::log(4.0 / 3.0), std::log(4.0), std::log(2.0)}),
               1e-14);
  expect_same(soft_margin_loss(from_values<float>({-1000, 1000}), ones({2}), kNone), from_values<float>({1000, 0}));
  expect_error<ShapeError>("[soft_margin_loss] shapes differ: (2) and (3)",
                           [] { (void)soft_margin_loss(ones({2}), ones({3})); });
}

BOOST_AUTO_TEST_CASE(multi_margin_wants_the_right_score_above_all_others) {
  const Tensor x = from_values<double>({1, 3, 2.5, 0, 0, 0}, {2, 3});
  const Tensor target = from_values<std::int64_t>({1, 0});
  // 1 - 3 + 1 and 1 - 3 + 2.5; twice 1 - 0 + 0; over 3 classes
  expect_close(multi_margin_loss(x, target, {.reduction = kNone}), row({0.5 / 3.0, 2.0 / 3.0}), 1e-15);
  expect_close(multi_margin_loss(x, target, {.p = 2, .margin = 2.0, .reduction = kNone}), row({2.25 / 3.0, 8.0 / 3.0}),
               1e-15);
  expect_close(multi_margin_loss(x, target, {.weight = row({10, 2, 0}), .reduction = kSum}), scalar(21.0 / 3.0), 1e-15);
  expect_close(multi_margin_loss(x.select(0, 0), from_values<std::int32_t>({1}, Shape{})), scalar(0.5 / 3.0), 1e-15);
  const Tensor one = from_values<std::int64_t>({1});
  expect_close(multi_margin_loss(x.select(0, 0), one), scalar(0.5 / 3.0), 1e-15);
  expect_close(multi_margin_loss(x.select(0, 0), one, {.reduction = kNone}), row({0.5 / 3.0}), 1e-15);
  const std::string op = "[multi_margin_loss] ";
  const auto fails = [](const Shape& scores, const Tensor& target_in, const MultiMarginLossOptions& options = {}) {
    (void)multi_margin_loss(ones(scores), target_in, options);
  };
  const Tensor two = from_values<std::int64_t>({0, 2});
  expect_error<ShapeError>(op + "targets do not fit: (3, 4) and (2)", [&] { fails({3, 4}, two); });
  expect_error<ShapeError>(op + "targets do not fit: (2) and (2)", [&] { fails({2}, two); });
  expect_error<ShapeError>(op + "targets do not fit: (2, 0) and (2)", [&] { fails({2, 0}, two); });
  expect_error<IndexError>(op + "index out of range: 2 of 2", [&] { fails({2, 2}, two); });
  expect_error<DTypeError>(op + "index is f32, not i64 or i32", [&] { fails({2, 3}, ones({2})); });
  expect_error<ValueError>(op + "p is 3, not 1 or 2", [&] { fails({2, 3}, two, {.p = 3}); });
  expect_error<ShapeError>(op + "weight does not fit: (2) for 3 classes", [&] {
    fails({2, 3}, two, {.weight = ones({2})});
  });
}

BOOST_AUTO_TEST_CASE(margins_take_any_layout_and_16_bits) {
  Generator g(1);
  const Tensor x = randn({4, 6}, g);
  const Tensor y = randn({4, 6}, g);
  const Tensor target = sign(randn({4, 6}, g));
  const auto turned = [](const Tensor& a) { return a.transpose().contiguous().transpose(); };
  expect_same(margin_ranking_loss(turned(x), y, target), margin_ranking_loss(x, y, target));
  expect_same(hinge_embedding_loss(turned(x), target), hinge_embedding_loss(x, target));
  expect_same(soft_margin_loss(turned(x), turned(target)), soft_margin_loss(x, target));
  expect_same(triplet_margin_loss(turned(x), y, target), triplet_margin_loss(x, y, target));
  expect_same(cosine_embedding_loss(turned(x), y, ones({4})), cosine_embedding_loss(x, y, ones({4})));
  const Tensor half = x.to(DType::f16);
  BOOST_CHECK(hinge_embedding_loss(half, target.to(DType::f16)).dtype() == DType::f16);
  BOOST_CHECK(multi_margin_loss(half, zeros({4}, DType::i64)).dtype() == DType::f16);
}

BOOST_AUTO_TEST_SUITE_END()
