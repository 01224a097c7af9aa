// Checkpoints and sharded tables of nodes in one process, and in processes of their own.
#include "actors/checkpoint/checkpoint.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/module_functions.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(checkpoint_conformance, *boost::unit_test::fixture<SharedCluster>())

namespace {

constexpr EmbeddingTable kTable{.rows = 40, .width = 3, .seed = 2};

Tensor rows_of(const Node& node, const ShardedEmbedding& table) {
  return table.pull_rows(node, arange(table.table().rows));
}

/// Some steps of the table, each by rows that occur twice.
void train(const Node& node, const ShardedEmbedding& table, int steps) {
  const DistOptimizer optimizer(node, optim::SgdOptions{.lr = 0.1}, table.parameters(node));
  for (std::int64_t step = 0; step < steps; ++step) {
    const DistContext context(node);
    const Tensor indices = from_values<std::int64_t>({step, 7, 2 * step, 7, 39});
    backward(context, sum(square(table.lookup(context, indices))));
    optimizer.step(context);
  }
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(table_over_three_nodes_is_trained_saved_and_restored_as_one_over_another, OnSharedCluster) {
  const TemporaryDirectory directory;
  const ShardedEmbedding apart(trainer, {"p1", "p2", "p3"}, kTable);
  const ShardedEmbedding one(trainer, {"p4"}, kTable);
  train(trainer, apart, 3);
  train(trainer, one, 3);
  BOOST_TEST(same_bytes(rows_of(trainer, apart), rows_of(trainer, one)));
  Checkpoint().add("table", apart).save(trainer, directory.path() / "run");
  train(trainer, apart, 2);
  train(trainer, one, 2);
  const ShardedEmbedding restored(trainer, {"p2", "trainer"}, kTable);
  Checkpoint().add("table", restored).restore(trainer, directory.path() / "run");
  train(trainer, restored, 2);
  BOOST_TEST(same_bytes(rows_of(trainer, restored), rows_of(trainer, apart)));
  BOOST_TEST(same_bytes(rows_of(trainer, restored), rows_of(trainer, one)));
}

BOOST_FIXTURE_TEST_CASE(module_is_restored_on_another_node, OnSharedCluster) {
  const TemporaryDirectory directory;
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const RemoteModule net(trainer, "p1", two_layers, 3, 4, 0.5, Generator(7));
  static_cast<void>(net.forward(trainer, x, "relu"));  // changes the running statistics
  Checkpoint().add("net", net).save(trainer, directory.path() / "run");
  const RemoteModule restored(trainer, "p2", two_layers, 3, 4, 0.5, Generator(8));
  Checkpoint().add("net", restored).restore(trainer, directory.path() / "run");
  net.eval(trainer);
  restored.eval(trainer);
  BOOST_TEST(same_bytes(restored.forward(trainer, x, "relu").value(), net.forward(trainer, x, "relu").value()));
}

BOOST_FIXTURE_TEST_CASE(variable_of_68_MB_is_saved_and_restored, OnSharedCluster) {
  constexpr std::int64_t kSize = 17'000'000;
  const TemporaryDirectory directory;
  {
    const Leaf saved = trainer.remote("p1", &make_leaf, kSize, 1.25);
    Checkpoint().add("w", {{"w", saved}}).save(trainer, directory.path() / "run");
  }
  const Leaf restored = trainer.remote("p2", &make_leaf, kSize, 0.0);
  Checkpoint().add("w", {{"w", restored}}).restore(trainer, directory.path() / "run");
  BOOST_TEST(same_bytes(restored.to_here(trainer).value(), full({kSize}, 1.25)));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
