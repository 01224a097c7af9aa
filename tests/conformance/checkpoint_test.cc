// Checkpoints and sharded tables of nodes in one process, and in processes of their own.
#include "actors/checkpoint/checkpoint.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "autograd/ops.h"
#include "tensor/cpu/allocator.h"
#include "tensor/create.h"
#include "tensor/io/file_system.h"
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

/// The disk. Notes the most memory that tensors have in this process during a write.
class MeasuredFiles final : public FileSystem {
 public:
  [[nodiscard]] std::size_t most_bytes() const { return *most_; }

  [[nodiscard]] std::unique_ptr<OutputFile> create(const std::string& file) override {
    return std::make_unique<File>(disk()->create(file), most_);
  }
  void rename(const std::string& from, const std::string& to) override { disk()->rename(from, to); }
  void remove(const std::string& file) override { disk()->remove(file); }
  std::string read(const std::string& file, std::size_t size_max) override { return disk()->read(file, size_max); }
  bool make_directory(const std::string& directory) override { return disk()->make_directory(directory); }
  std::unique_ptr<DirectoryLock> lock_directory(const std::string& directory) override {
    return disk()->lock_directory(directory);
  }
  void sync_directory(const std::string& directory) override { disk()->sync_directory(directory); }
  [[nodiscard]] std::vector<std::string> names_in(const std::string& directory) override {
    return disk()->names_in(directory);
  }

 private:
  class File final : public OutputFile {
   public:
    File(std::unique_ptr<OutputFile> file, std::shared_ptr<std::size_t> most)
        : file_(std::move(file)), most_(std::move(most)) {}
    void write(std::span<const std::byte> bytes) override {
      *most_ = std::max(*most_, cpu_allocator().statistics().bytes_live);
      file_->write(bytes);
    }
    void finish() override { file_->finish(); }

   private:
    std::unique_ptr<OutputFile> file_;
    std::shared_ptr<std::size_t> most_;
  };
  std::shared_ptr<std::size_t> most_ = std::make_shared<std::size_t>(0);
};

/// Parameters over some owners, and an optimizer that has stepped them: each has two states of its size.
struct Stepped {
  static constexpr std::size_t kParameters = 4;
  static constexpr std::int64_t kSize = 1 << 20;

  Stepped(const Node& trainer, const std::vector<NodeName>& owners)
      : parameters(made(trainer, owners)), optimizer(trainer, optim::AdamOptions{}, parameters) {}

  static std::vector<Leaf> made(const Node& trainer, const std::vector<NodeName>& owners) {
    std::vector<Leaf> leaves;
    for (std::size_t i = 0; i < kParameters; ++i)
      leaves.push_back(trainer.remote(owners[i % owners.size()], &make_leaf, kSize, 1.0 + static_cast<double>(i)));
    return leaves;
  }
  void step(const Node& trainer) const {
    const DistContext context(trainer);
    Variable loss(scalar(0.0F));
    for (const Leaf& leaf : parameters) loss = loss + sum(square(leaf.to_here(context)));
    backward(context, loss);
    optimizer.step(context);
  }

  std::vector<Leaf> parameters;
  DistOptimizer optimizer;
};

}  // namespace

// The states have 32 MiB.
BOOST_FIXTURE_TEST_CASE(state_of_an_optimizer_is_saved_through_memory_that_does_not_grow_with_it, OnSharedCluster) {
  constexpr std::size_t kChunk = 1 << 18;
  const TemporaryDirectory directory;
  for (const std::vector<NodeName>& owners : {std::vector<NodeName>{"p1"}, {"p1", "p2", "p3", "p4"}}) {
    const std::filesystem::path run = directory.path() / std::to_string(owners.size());
    const Stepped training(trainer, owners);
    training.step(trainer);
    const auto files = std::make_shared<MeasuredFiles>();
    const std::size_t before = cpu_allocator().statistics().bytes_live;
    Checkpoint({.files = files, .chunk_bytes = kChunk}).add("optimizer", training.optimizer).save(trainer, run);
    // Gradients that end during the save make room; four chunks, and that which is written, are here.
    BOOST_TEST(files->most_bytes() < before + 16 * kChunk);

    const Stepped restored(trainer, {"p2", "trainer"});
    Checkpoint().add("optimizer", restored.optimizer).restore(trainer, run);
    const NamedTensors state = restored.optimizer.state_dict(trainer);
    const NamedTensors expected = training.optimizer.state_dict(trainer);
    BOOST_TEST_REQUIRE(state.size() == expected.size());
    for (std::size_t i = 0; i < state.size(); ++i) {
      BOOST_TEST(state[i].first == expected[i].first);
      BOOST_TEST(same_bytes(state[i].second, expected[i].second), expected[i].first);
    }
  }
}

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
