// Rows in which one node trains a model whose parts are on several: word vectors and decoder beside an LSTM, and
// ResNet-50 in two halves.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/pipeline.h"
#include "actors/remote_module.h"
#include "autograd/engine.h"
#include "autograd/nn/rnn.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "optim/local_optimizer.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/bench/train/models.h"
#include "tests/bench/train/row.h"

namespace troupe::bench {
namespace {

// The language model of the GPL's text.

constexpr std::int64_t kWords = 489;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kHidden = 128;
constexpr std::int64_t kColumns = 8;
constexpr std::int64_t kSteps = 16;
constexpr optim::AdamOptions kTextRule{.lr = 5e-3};
constexpr auto word_table = module_class<WordTable, std::int64_t, std::int64_t, Generator>;
constexpr auto decoder = module_class<Decoder, std::int64_t, std::int64_t, Generator>;

struct Text {
  Tensor words;
  Tensor next;

  Text() {
    Generator generator(2);
    words = randint(0, kWords, {kSteps, kColumns}, generator);
    next = randint(0, kWords, {kSteps * kColumns}, generator);
  }
};

/// The layer between the two remote modules, and what it remembers.
struct Reader {
  Generator generator{1};
  nn::Lstm lstm{kWidth, kHidden, generator};
  Variable hidden;
  Variable cell;

  Variable read(const Variable& vectors) {
    const RnnOutputs outputs = lstm.forward(vectors, hidden, cell);
    hidden = outputs.hidden.detach();
    cell = outputs.cell.detach();
    return outputs.output;
  }
};

Variable text_loss(const Variable& scores, const Text& text) {
  return cross_entropy(scores.view({kSteps * kColumns, kWords}), text.next);
}

Train text_apart(const Node& trainer) {
  const RemoteModule table(trainer, "ps", word_table, kWords, kWidth, Generator(1));
  const RemoteModule scores(trainer, "ps", decoder, kHidden, kWords, Generator(1));
  const auto reader = std::make_shared<Reader>();
  std::vector<RRef<Variable>> parameters = table.remote_parameters(trainer);
  for (auto& parameter : parameters_of(trainer, reader->lstm)) parameters.push_back(std::move(parameter));
  for (auto& parameter : scores.remote_parameters(trainer)) parameters.push_back(std::move(parameter));
  const DistOptimizer optimizer(trainer, kTextRule, parameters);
  return [&trainer, table, scores, reader, optimizer, text = Text()](std::int64_t iterations) {
    return seconds_of_times(iterations, [&] {
      const DistContext context(trainer);
      const Variable read = reader->read(table.forward(context, text.words));
      backward(context, text_loss(scores.forward(context, read), text));
      optimizer.step(context);
    });
  };
}

Train text_alone() {
  struct Model {
    Generator generator{1};
    WordTable table{kWords, kWidth, generator};
    Reader reader;
    Decoder scores{kHidden, kWords, generator};
    Text text;
    std::unique_ptr<optim::LocalOptimizer> optimizer;
  };
  const auto model = std::make_shared<Model>();
  std::vector<Variable> parameters = model->table.parameters();
  for (const Variable& parameter : model->reader.lstm.parameters()) parameters.push_back(parameter);
  for (const Variable& parameter : model->scores.parameters()) parameters.push_back(parameter);
  model->optimizer = std::make_unique<optim::LocalOptimizer>(parameters, kTextRule);
  return [model](std::int64_t iterations) {
    return seconds_of_times(iterations, [&] {
      const Variable read = model->reader.read(model->table.forward(model->text.words));
      const Variable loss = text_loss(model->scores.forward(read), model->text);
      model->optimizer->step(backward(loss, {.graph = Graph::release}));
    });
  };
}

// ResNet-50.

constexpr std::int64_t kImages = 16;
constexpr std::int64_t kImageSide = 64;
constexpr std::int64_t kClasses = 100;
constexpr optim::SgdOptions kImageRule{.lr = 0.05};
constexpr auto first_half = stage_class<FirstHalf, Generator>;
constexpr auto second_half = stage_class<SecondHalf, std::int64_t, Generator>;

struct Images {
  Tensor batch;
  Tensor labels;

  Images() {
    Generator generator(2);
    batch = randn({kImages, 3, kImageSide, kImageSide}, generator);
    labels = rand({kImages, kClasses}, generator);
  }
};

Train images_apart(const Node& master, std::int64_t splits) {
  const RemoteModule first(master, "worker0", first_half, Generator(1));
  const RemoteModule second(master, "worker1", second_half, kClasses, Generator(1));
  const Pipeline<> net(master, {first, second}, {.chunks = splits});
  const DistOptimizer optimizer(master, kImageRule, net.parameters(master));
  return [&master, net, optimizer, images = Images()](std::int64_t iterations) {
    return seconds_of_times(iterations, [&] {
      const DistContext context(master);
      backward(context, mse_loss(net.forward(context, images.batch), images.labels));
      optimizer.step(context);
    });
  };
}

Train images_alone(std::int64_t splits) {
  struct Model {
    Generator generator{1};
    FirstHalf first{generator};
    SecondHalf second{kClasses, generator};
    Images images;
    std::unique_ptr<optim::LocalOptimizer> optimizer;
  };
  const auto model = std::make_shared<Model>();
  std::vector<Variable> parameters = model->first.parameters();
  for (const Variable& parameter : model->second.parameters()) parameters.push_back(parameter);
  model->optimizer = std::make_unique<optim::LocalOptimizer>(parameters, kImageRule);
  return [model, splits](std::int64_t iterations) {
    return seconds_of_times(iterations, [&] {
      std::vector<Variable> scores;
      for (const Tensor& part : split(model->images.batch, kImages / splits, 0)) {
        scores.push_back(model->second.forward(model->first.forward(part)));
      }
      const Variable loss = mse_loss(concat(scores, 0), model->images.labels);
      model->optimizer->step(backward(loss, {.graph = Graph::release}));
    });
  };
}

}  // namespace

TrainRow language_model_row() { return {"language_model", {"trainer", "ps"}, text_apart, text_alone}; }

TrainRow pipeline_row(std::int64_t splits) {
  return {"pipeline/" + std::to_string(splits),
          {"master", "worker0", "worker1"},
          [splits](const Node& master) { return images_apart(master, splits); },
          [splits] { return images_alone(splits); },
          true};
}

FunctionRegistry with_language_model(const FunctionRegistry& functions) {
  return functions.with({{"WordTable", word_table}, {"Decoder", decoder}});
}

FunctionRegistry with_halves(const FunctionRegistry& functions) {
  return functions.with({{"FirstHalf", first_half}, {"SecondHalf", second_half}});
}

}  // namespace troupe::bench
