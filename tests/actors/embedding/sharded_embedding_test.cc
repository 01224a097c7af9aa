// A table over several nodes gives, bit for bit, what the same table gives on one.
#include "actors/embedding/sharded_embedding.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_throw.h"
#include "tests/support/gpu.h"

namespace troupe::testing {
namespace {

/// Looks rows up on the node that serves it.
double sum_of_rows(Scope& scope, const ShardedEmbedding& table, const Tensor& indices) {
  return sum(table.pull_rows(scope, indices)).item();
}

const EmbeddingTable kTable{.rows = 50, .width = 6, .seed = 3};

struct Owners {
  LocalCluster cluster{{"trainer", "ps0", "ps1", "ps2", "ps3", "ps4"}, {{"sum_of_rows", &sum_of_rows}}};
  Node& trainer = cluster.node("trainer");

  [[nodiscard]] ShardedEmbedding over(int owners, const EmbeddingTable& table = kTable) const {
    std::vector<NodeName> names;
    for (int i = 0; i < owners; ++i) names.push_back("ps" + std::to_string(i));
    return {trainer, names, table};
  }
  /// All rows, in order.
  [[nodiscard]] Tensor rows_of(const ShardedEmbedding& table) const {
    return table.pull_rows(trainer, arange(0, static_cast<double>(table.table().rows), 1, DType::i64));
  }
};

Tensor indices(std::initializer_list<std::int64_t> values, const Shape& shape) {
  return from_values<std::int64_t>(values, shape);
}

const Tensor kFirst = indices({7, 3, 7, 49, 0, 7, 12, 3}, {2, 4});
const Tensor kSecond = indices({3, 3, 41}, {3});
/// Different for every element of (n, width), so that no two gradients are equal.
Variable weighted(const Variable& rows) {
  const Tensor weights = arange(1, static_cast<double>(rows.numel() + 1), 1, DType::f32);
  return sum(square(rows) * (weights.view(rows.shape()) * 0.01));
}

std::vector<optim::RuleOptions> rules() {
  return {optim::SgdOptions{.lr = 0.1}, optim::SgdOptions{.lr = 0.1, .momentum = 0.9}, optim::AdagradOptions{.lr = 0.1},
          optim::SparseAdamOptions{.lr = 0.1}, optim::AdamOptions{.lr = 0.1}};
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sharded_embedding, Owners)

BOOST_AUTO_TEST_CASE(rows_are_the_same_for_any_number_of_owners) {
  const Tensor one = rows_of(over(1));
  BOOST_TEST(one.shape() == (Shape{50, 6}));
  for (const int owners : {2, 3, 5}) BOOST_TEST(same_bytes(rows_of(over(owners)), one));
  BOOST_TEST(!same_bytes(rows_of(over(2, {.rows = 50, .width = 6, .seed = 4})), one));
  const double mean = troupe::mean(one).item();
  BOOST_TEST(std::abs(mean) < 0.25);  // 300 draws: the standard deviation is 0.06
  BOOST_TEST(std::abs(troupe::mean(square(one)).item() - 1.0) < 0.35);
  const Tensor tenth = rows_of(over(3, {.rows = 50, .width = 6, .seed = 3, .deviation = 0.5}));
  BOOST_TEST(same_bytes(tenth, one * 0.5));
}

BOOST_AUTO_TEST_CASE(steps_of_every_rule_are_those_of_one_owner_bit_for_bit) {
  for (const optim::RuleOptions& rule : rules()) {
    Tensor expected;
    for (const int owners : {1, 2, 5}) {
      const ShardedEmbedding table = over(owners);
      const DistOptimizer optimizer(trainer, rule, table.parameters(trainer));
      for (int step = 0; step < 6; ++step) {
        const DistContext ctx(trainer);
        if (step % 2 == 1) {  // most owners have no row of it, and take the step all the same
          backward(ctx, weighted(table.lookup(ctx, indices({7 * step}, {1}))));
        } else {
          const Variable a = table.lookup(ctx, kFirst);
          const Variable b = table.lookup(ctx, kSecond);
          backward(ctx, weighted(a) + weighted(b) + weighted(table.lookup_bags(ctx, kFirst)));
        }
        optimizer.step(ctx);
      }
      const Tensor rows = rows_of(table);
      if (owners == 1) expected = rows;
      BOOST_TEST(same_bytes(rows, expected), optim::rule_name(rule) << " with " << owners << " owners");
    }
    BOOST_TEST(!same_bytes(expected, rows_of(over(1))));
  }
}

BOOST_AUTO_TEST_CASE(gradients_are_those_of_a_table_here) {
  const ShardedEmbedding table = over(3);
  const Variable here(rows_of(table), RequiresGrad::yes);
  const DistContext ctx(trainer);
  backward(ctx, weighted(table.lookup(ctx, kFirst)));
  const Tensor expected = backward(weighted(embedding(here, kFirst))).of(here);
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 1.0}, table.parameters(trainer));
  optimizer.step(ctx);
  BOOST_TEST(allclose(rows_of(table), here.value() - expected, 1e-6, 1e-6));
}

BOOST_AUTO_TEST_CASE(bags_are_those_of_embedding_bag) {
  const ShardedEmbedding table = over(3);
  const Variable here(rows_of(table));
  const Tensor offsets = indices({0, 2, 2}, {3});
  const Tensor flat = kFirst.view({8});
  const Tensor weights = arange(1, 9, 1, DType::f32);
  for (const BagMode mode : {BagMode::sum, BagMode::mean, BagMode::max}) {
    const EmbeddingBagOptions options{.mode = mode};
    BOOST_TEST(same_bytes(table.lookup_bags(trainer, kFirst, {}, options).value(),
                          embedding_bag(here, kFirst, {}, options).value()));
    BOOST_TEST(same_bytes(table.lookup_bags(trainer, flat, offsets, options).value(),
                          embedding_bag(here, flat, offsets, options).value()));
  }
  const EmbeddingBagOptions sums{.mode = BagMode::sum};
  BOOST_TEST(same_bytes(table.lookup_bags(trainer, flat, offsets, sums, weights).value(),
                        embedding_bag(here, flat, offsets, sums, weights).value()));
}

BOOST_AUTO_TEST_CASE(padding_row_is_zero_gets_no_gradient_and_is_left_out_of_bags) {
  const EmbeddingTable padded{.rows = 50, .width = 6, .seed = 3, .padding_row = 7};
  const ShardedEmbedding table = over(3, padded);
  BOOST_TEST(same_bytes(table.pull_rows(trainer, indices({7}, {1})), zeros({1, 6})));
  const Variable here(rows_of(table));
  BOOST_TEST(same_bytes(table.lookup_bags(trainer, kFirst).value(),
                        embedding_bag(here, kFirst, {}, {.padding_idx = 7}).value()));
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 1.0}, table.parameters(trainer));
  const DistContext ctx(trainer);
  backward(ctx, sum(table.lookup(ctx, kFirst)));
  optimizer.step(ctx);
  BOOST_TEST(same_bytes(table.pull_rows(trainer, indices({7}, {1})), zeros({1, 6})));
  BOOST_TEST(same_bytes(table.pull_rows(trainer, indices({3}, {1})), embedding(here.value(), indices({3}, {1})) - 2.0));
}

BOOST_AUTO_TEST_CASE(pushed_rows_are_pulled_and_the_last_of_equal_indices_counts) {
  for (const int owners : {1, 3}) {
    const ShardedEmbedding table = over(owners);
    const Tensor before = rows_of(table);
    const Tensor values = arange(0, 18, 1, DType::f32).view({3, 6});
    for (int i = 0; i < 3; ++i) {  // buffers are used again
      table.push_rows(trainer, indices({9, 30 + i, 9}, {3}), values);
      BOOST_TEST(same_bytes(table.pull_rows(trainer, indices({30 + i, 9}, {2})), values.slice(0, 1)));
    }
    const Tensor after = rows_of(table);
    for (std::int64_t row = 30; row < 33; ++row) BOOST_TEST(same_bytes(after[row], values[1]));
    for (std::int64_t row = 0; row < 50; ++row) {
      if (row != 9 && (row < 30 || row > 32)) BOOST_TEST(same_bytes(after[row], before[row]));
    }
  }
}

BOOST_AUTO_TEST_CASE(prefetched_rows_are_those_of_the_time_of_asking) {
  const ShardedEmbedding table = over(2);
  const DistContext ctx(trainer);
  PendingRows pending = table.prefetch(ctx, kSecond);
  const Tensor expected = table.pull_rows(trainer, kSecond);
  const Variable rows = pending.get();
  BOOST_TEST(same_bytes(rows.value(), expected));
  backward(ctx, sum(rows));
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 1.0}, table.parameters(trainer));
  optimizer.step(ctx);
  BOOST_TEST(same_bytes(table.pull_rows(trainer, indices({41}, {1})), expected.slice(0, 2) - 1.0));
}

BOOST_AUTO_TEST_CASE(handle_travels_and_is_the_same_table_everywhere) {
  const ShardedEmbedding table = over(2);
  const double expected = sum(table.pull_rows(trainer, kFirst)).item();
  BOOST_TEST(trainer.rpc_sync("ps4", &sum_of_rows, table, kFirst) == expected);
  trainer.publish("items", table);
  const ShardedEmbedding found =
      cluster.node("ps3").find<ShardedEmbedding>("trainer", "items").to_here(cluster.node("ps3"));
  table.push_rows(trainer, indices({3}, {1}), ones({1, 6}));
  BOOST_TEST(same_bytes(found.pull_rows(cluster.node("ps3"), indices({3}, {1})), ones({1, 6})));
  BOOST_TEST((found.owners() == std::vector<NodeName>{"ps0", "ps1"}));
}

BOOST_AUTO_TEST_CASE(table_of_fewer_rows_than_owners_works) {
  const ShardedEmbedding table = over(5, {.rows = 2, .width = 3, .seed = 1});
  const Tensor before = rows_of(table);
  const DistOptimizer optimizer(trainer, optim::AdagradOptions{}, table.parameters(trainer));
  const DistContext ctx(trainer);
  backward(ctx, sum(table.lookup(ctx, indices({1}, {1}))));
  optimizer.step(ctx);
  BOOST_TEST(same_bytes(rows_of(table)[0], before[0]));
  BOOST_TEST(!same_bytes(rows_of(table)[1], before[1]));
  BOOST_TEST(table.pull_rows(trainer, indices({}, {0})).shape() == (Shape{0, 3}));
  BOOST_TEST(table.lookup(trainer, indices({}, {0, 2})).shape() == (Shape{0, 2, 3}));
}

BOOST_AUTO_TEST_CASE(tables_of_other_dtypes_round_the_same_draws) {
  const EmbeddingTable f64{.rows = 50, .width = 6, .seed = 3, .dtype = DType::f64};
  const EmbeddingTable bf16{.rows = 50, .width = 6, .seed = 3, .dtype = DType::bf16};
  const Tensor f32 = rows_of(over(2));
  BOOST_TEST(same_bytes(rows_of(over(3, f64)).to(DType::f32), f32));
  BOOST_TEST(same_bytes(rows_of(over(2, bf16)), f32.to(DType::bf16)));
}

BOOST_AUTO_TEST_CASE(batch_on_a_gpu_has_the_results_of_one_on_the_cpu,
                     *boost::unit_test::label("needs_gpu") * boost::unit_test::precondition(NeedsGpus{1})) {
  const ShardedEmbedding table = over(2);
  const auto there = [](const Tensor& x) { return x.to(Device::cuda()); };
  const Tensor flat = kFirst.view({8});
  const Tensor offsets = indices({0, 2, 2}, {3});
  const Variable weights(arange(1, 9, 1, DType::f32), RequiresGrad::yes);
  const Variable weights_there(there(weights.value()), RequiresGrad::yes);
  const EmbeddingBagOptions sums{.mode = BagMode::sum};
  BOOST_TEST(same_bytes(table.lookup(trainer, there(flat)).value(), table.lookup(trainer, flat).value()));
  const Variable here_bags = table.lookup_bags(trainer, flat, offsets, sums, weights);
  const Variable bags = table.lookup_bags(trainer, there(flat), there(offsets), sums, weights_there);
  BOOST_TEST(same_bytes(bags.value(), here_bags.value()));
  const Tensor gradient = backward(weighted(bags)).of(weights_there);
  BOOST_TEST((gradient.device() == Device::cuda()));
  BOOST_TEST(same_bytes(gradient.to(Device::cpu()), backward(weighted(here_bags)).of(weights)));
  const Tensor values = arange(0, 18, 1, DType::f32).view({3, 6});
  table.push_rows(trainer, there(indices({9, 30, 31}, {3})), there(values));
  BOOST_TEST(same_bytes(table.pull_rows(trainer, there(indices({9, 30, 31}, {3}))), values));
}

BOOST_AUTO_TEST_CASE(rows_that_a_device_map_brings_to_a_gpu_are_used_with_those_of_the_cpu,
                     *boost::unit_test::label("needs_gpu") * boost::unit_test::precondition(NeedsGpus{1})) {
  const ShardedEmbedding table = over(2);
  const Tensor flat = kFirst.view({8});  // 7, 3, 7, 49, 0, 7, 12, 3: rows of both owners
  const Tensor offsets = indices({0, 2, 2}, {3});
  const Tensor rows = table.lookup(trainer, flat).value();
  const Tensor bags = table.lookup_bags(trainer, flat, offsets).value();
  const auto gradients = [&] {
    const DistContext ctx(trainer);
    backward(ctx, weighted(table.lookup(ctx, flat)));
    DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.1}, table.parameters(trainer));
    optimizer.step(ctx);
    return rows_of(table);
  };
  const Tensor values = rows_of(table);
  const Tensor want = gradients();
  table.push_rows(trainer, arange(0, 50, 1, DType::i64), values);
  trainer.set_device_map("ps1", {{Device::cuda(), Device::cpu()}});
  BOOST_TEST(same_bytes(table.pull_rows(trainer, flat), rows));
  BOOST_TEST(same_bytes(table.lookup(trainer, flat).value(), rows));
  BOOST_TEST(same_bytes(table.lookup_bags(trainer, flat, offsets).value(), bags));
  BOOST_TEST(same_bytes(gradients(), want));
}

BOOST_AUTO_TEST_CASE(misuse_is_named) {
  expect_throw<ValueError>([&] { static_cast<void>(over(2, {.rows = 0, .width = 8})); },
                           "[ShardedEmbedding] sizes below 1: 0 x 8");
  expect_throw<IndexError>([&] { static_cast<void>(over(2, {.rows = 5, .width = 8, .padding_row = 5})); },
                           "[ShardedEmbedding] padding row out of range: 5 of 5");
  expect_throw<DTypeError>([&] { static_cast<void>(over(2, {.rows = 5, .width = 8, .dtype = DType::i64})); },
                           "[ShardedEmbedding] not a floating dtype: i64");
  expect_throw<std::invalid_argument>([&] { static_cast<void>(over(0)); }, "[ShardedEmbedding] no owners");
  expect_throw<std::invalid_argument>(
      [&] {
        ShardedEmbedding(trainer, {"ps0", "ps0"}, kTable);
      },
      "[ShardedEmbedding] an owner is given twice");
  BOOST_TEST(error_of([&] { ShardedEmbedding(trainer, {"ps0", "nobody"}, kTable); }).peer == "nobody");
  BOOST_CHECK_THROW(static_cast<void>(ShardedEmbedding().lookup(trainer, kFirst)), std::logic_error);
  const ShardedEmbedding table = over(2);
  expect_throw<IndexError>([&] { static_cast<void>(table.lookup(trainer, indices({50}, {1}))); },
                           "[ShardedEmbedding] index out of range: 50 of 50");
  expect_throw<ShapeError>(
      [&] {
        table.push_rows(trainer, kSecond, ones({3, 5}));
      },
      "[ShardedEmbedding] values are (3, 5), not (3, 6)");
  expect_throw<DTypeError>(
      [&] {
        table.push_rows(trainer, kSecond, ones({3, 6}, DType::f64));
      },
      "[ShardedEmbedding] values are f64, not f32");
  // A peer that asks an owner for a row of another one.
  const auto& shards = table.shards();
  const std::int64_t owner = detail::owner_of(3, 2);
  const Error error = error_of([&] {
    return shards[static_cast<std::size_t>(1 - owner)].rpc_sync(trainer, &detail::EmbeddingShard::pull,
                                                                indices({3}, {1}));
  });
  BOOST_TEST(error.message == "[ShardedEmbedding] row 3 is not one of owner " + std::to_string(1 - owner));
}

BOOST_AUTO_TEST_CASE(owner_that_dies_fails_lookups_with_its_name) {
  const ShardedEmbedding table = over(3);
  cluster.kill("ps1");
  BOOST_TEST(error_of([&] { return table.lookup(trainer, kFirst); }).peer == "ps1");
  const DistContext ctx(trainer);
  BOOST_TEST(error_of([&] { return table.lookup(ctx, kFirst); }).peer == "ps1");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
