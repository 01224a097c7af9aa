// A recurrent language model on two nodes: word vectors and decoder on `ps`, the LSTM between them on the trainer,
// which also has the text. Run alone it has both nodes in one process; `troupe up samples/language_model/cluster.toml`
// runs it as two.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/remote_module.h"
#include "autograd/engine.h"
#include "autograd/nn/rnn.h"
#include "autograd/ops.h"
#include "autograd/ops/loss.h"
#include "node/local_cluster.h"
#include "optim/local_optimizer.h"
#include "samples/command_line.h"
#include "samples/language_model/columns.h"
#include "samples/language_model/model.h"
#include "samples/language_model/text.h"
#include "samples/language_model/writing.h"
#include "samples/program.h"
#include "samples/saves.h"
#include "samples/weights.h"
#include "tensor/create.h"
#include "tensor/math_threads.h"

using namespace troupe;
using namespace samples;

constexpr auto table_class = module_class<WordTable, std::int64_t, std::uint64_t>;
constexpr auto decoder_class = module_class<Decoder, std::int64_t, std::uint64_t>;
constexpr std::uint64_t kTableSeed = 1;
constexpr std::uint64_t kLstmSeed = 2;
constexpr std::uint64_t kDecoderSeed = 3;
constexpr std::int64_t kColumns = 8;
constexpr std::int64_t kSteps = 16;  // gradients go back through so many words
constexpr optim::AdamOptions kRule{.lr = 5e-3};

struct Settings {
  std::string text = kDefaultText;
  std::int64_t epochs = 8;
  bool check = false;
  SaveOptions saves;
};

/// What the LSTM remembers of the text so far, without the graph that it came from. Undefined: nothing.
struct Memory {
  Variable hidden;
  Variable cell;
};

nn::Lstm make_lstm() {
  Generator generator(kLstmSeed);
  return {kWidth, kHidden, generator};
}

/// The model in two places.
class RnnModel {
 public:
  RnnModel(const Scope& scope, const NodeName& server, std::int64_t words)
      : table_(scope, server, table_class, words, kTableSeed),
        decoder_(scope, server, decoder_class, words, kDecoderSeed) {}

  /// Scores of all words as the next one, (steps, columns, all words), for words (steps, columns).
  Variable forward(const Scope& scope, const Tensor& words, Memory& memory) {
    const RnnOutputs read = lstm_.forward(table_.forward(scope, words), memory.hidden, memory.cell);
    memory = {read.hidden.detach(), read.cell.detach()};
    return decoder_.forward(scope, read.output);
  }

  [[nodiscard]] std::vector<RRef<Variable>> parameters(const Scope& scope) const {
    auto all = table_.remote_parameters(scope);
    for (auto& parameter : parameters_of(scope, lstm_)) all.push_back(std::move(parameter));
    for (auto& parameter : decoder_.remote_parameters(scope)) all.push_back(std::move(parameter));
    return all;
  }

  /// The generators of dropout are parts, too.
  void add_to(Checkpoint& checkpoint) { checkpoint.add("table", table_).add("lstm", lstm_).add("decoder", decoder_); }

  void set_mode(const Scope& scope, nn::Mode mode) const {
    table_.set_mode(scope, mode);
    decoder_.set_mode(scope, mode);
  }

 private:
  RemoteModule<WordTable> table_;
  nn::Lstm lstm_ = make_lstm();
  RemoteModule<Decoder> decoder_;
};

/// The mean of minus the logarithm of the probability of each word that follows.
Variable loss_of(const Variable& scores, const Rows& rows) {
  return cross_entropy(scores.view({rows.next.numel(), scores.size(-1)}), rows.next);
}

/// Trains on the text once, from its beginning. Returns the mean loss.
double train(const Scope& scope, RnnModel& model, const DistOptimizer& optimizer, std::span<const Rows> text) {
  Memory memory;
  double sum = 0;
  for (const Rows& rows : text) {
    const DistContext context(scope);
    const Variable loss = loss_of(model.forward(context, rows.words, memory), rows);
    backward(context, loss);
    optimizer.step(context);
    sum += loss.item();
  }
  return sum / static_cast<double>(text.size());
}

/// Returns exp(mean loss), nothing dropped out.
double perplexity(const Scope& scope, RnnModel& model, std::span<const Rows> text) {
  const NoGradGuard no_graph;
  model.set_mode(scope, nn::Mode::eval);
  Memory memory;
  double sum = 0;
  double count = 0;
  for (const Rows& rows : text) {
    const auto words = static_cast<double>(rows.next.numel());
    sum += words * loss_of(model.forward(scope, rows.words, memory), rows).item();
    count += words;
  }
  model.set_mode(scope, nn::Mode::train);
  return std::exp(sum / count);
}

/// Reads `tokens` and goes on from them by `count` words, drawn with the model's probabilities.
std::string generate(const Scope& scope, RnnModel& model, const Corpus& corpus, std::span<const std::int64_t> tokens,
                     int count) {
  const NoGradGuard no_graph;
  model.set_mode(scope, nn::Mode::eval);
  Generator random(4);
  Memory memory;
  std::vector<std::string> words;
  Tensor next = from_values<std::int64_t>(tokens, {std::ssize(tokens), 1});
  for (int i = 0; i < count; ++i) {
    const Tensor scores = model.forward(scope, next, memory).value();
    const std::int64_t word = draw(scores.select(0, -1).select(0, 0), Corpus::kUnknown, random);
    words.push_back(corpus.vocabulary[static_cast<std::size_t>(word)]);
    next = from_values<std::int64_t>({word}, {1, 1});
  }
  model.set_mode(scope, nn::Mode::train);
  return written(words);
}

/// The same training in this process, without nodes. Returns the weights.
std::vector<Tensor> train_here(const Settings& settings, std::span<const Rows> text, std::int64_t words) {
  WordTable table(words, kTableSeed);
  nn::Lstm lstm = make_lstm();
  Decoder decoder(words, kDecoderSeed);
  std::vector<Variable> parameters = table.parameters();
  for (const Variable& parameter : lstm.parameters()) parameters.push_back(parameter);
  for (const Variable& parameter : decoder.parameters()) parameters.push_back(parameter);
  optim::LocalOptimizer optimizer(parameters, kRule);
  for (std::int64_t epoch = 0; epoch < settings.epochs; ++epoch) {
    Memory memory;
    for (const Rows& rows : text) {
      const RnnOutputs read = lstm.forward(table.forward(rows.words), memory.hidden, memory.cell);
      memory = {read.hidden.detach(), read.cell.detach()};
      optimizer.step(backward(loss_of(decoder.forward(read.output), rows)));
    }
  }
  std::vector<Tensor> weights;
  for (const Variable& parameter : parameters) weights.push_back(parameter.value());
  return weights;
}

void learn(const Node& node, const NodeName& server, const Settings& settings) {
  const Corpus corpus = read_corpus(settings.text);
  const auto words = static_cast<std::int64_t>(corpus.vocabulary.size());
  const std::vector<Rows> text = folded(corpus.train, kColumns, kSteps);
  const std::vector<Rows> held_out = folded(corpus.held_out, 1, 100);
  fmt::print("{} words to learn from, {} held out, {} different ones\n", corpus.train.size(), corpus.held_out.size(),
             words);

  RnnModel model(node, server, words);
  const std::vector<RRef<Variable>> parameters = model.parameters(node);
  DistOptimizer optimizer(node, kRule, parameters);
  std::int64_t epoch = 0;  // so many are done; each begins at the text's beginning, with an empty memory
  SavedNumbers of_text;
  of_text.add_setting("words of --text", std::ssize(corpus.train));
  Checkpoint checkpoint;
  model.add_to(checkpoint);
  checkpoint.add("optimizer", optimizer).add("epoch", epoch).add("text", of_text);
  if (settings.saves.restore(node, checkpoint)) fmt::print("goes on after epoch {}\n", epoch);
  while (epoch < settings.epochs) {
    const auto begin = std::chrono::steady_clock::now();
    const double loss = train(node, model, optimizer, text);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    ++epoch;
    settings.saves.save(node, checkpoint);
    fmt::print("epoch {}/{}: perplexity {:.1f}, of held-out words {:.1f}; {:.0f} words/s\n", epoch, settings.epochs,
               std::exp(loss), perplexity(node, model, held_out),
               static_cast<double>(corpus.train.size()) / seconds.count());
    std::fflush(stdout);
  }
  fmt::print("it writes: {}\n", generate(node, model, corpus, corpus.held_out, 24));
  fmt::print("perplexity: {:.1f} (word frequencies alone: {:.1f})\n", perplexity(node, model, held_out),
             word_frequency_perplexity(corpus));
  if (!settings.check) return;
  std::vector<Tensor> weights;
  for (const auto& parameter : parameters) weights.push_back(parameter.to_here(node).value());
  fmt::print("weights are those of one process within {:.1e}\n",
             difference(weights, train_here(settings, text, words)));
}

int run(int argc, char** argv) {
  Settings settings;
  CommandLine line("Trains a language model: both nodes in this process, or one each with `troupe up cluster.toml`.");
  line.add("--text", settings.text, "what to learn from");
  line.add("--epochs", settings.epochs, "passes over the text", {1, 1'000});
  line.add_flag("--check", settings.check, "compares the weights with those of one process");
  settings.saves.add_to(line, "after each epoch");
  if (const auto status = line.parse(argc, argv)) return *status;

  const FunctionRegistry functions{{"WordTable", table_class}, {"Decoder", decoder_class}};
  const NodeOptions options = NodeOptions::from_environment();
  const MathThreads one(1);  // layers of this size gain nothing from more
  if (options.world_size == 1) {
    LocalCluster cluster({"trainer", "ps"}, functions);
    learn(cluster.node("trainer"), "ps", settings);
    return 0;
  }
  Node node = Node::join(options, functions);
  if (options.role == "trainer") learn(node, "ps", settings);
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }
