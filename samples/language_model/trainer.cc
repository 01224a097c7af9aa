// The trainer: has the text and the layers between word vectors and decoder, which live on the server.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "autograd/ops/nn.h"
#include "node/node.h"
#include "samples/language_model/evaluate.h"
#include "samples/language_model/model.h"
#include "samples/language_model/served.h"
#include "samples/language_model/text.h"
#include "samples/language_model/windows.h"
#include "samples/program.h"
#include "tensor/create.h"

using namespace troupe;
using namespace samples;

constexpr std::int64_t kBatch = 64;

/// Trains on every example once, in random order. Returns the mean loss.
double train(const Node& node, LanguageModel& model, const DistOptimizer& optimizer, const Windows& text,
             Generator& random) {
  const Tensor order = permutation(text.count(), random);
  double sum = 0;
  std::int64_t steps = 0;
  for (std::int64_t first = 0; first < text.count(); first += kBatch) {
    const Windows batch = text.at(order.slice(0, first, first + kBatch));
    DistContext ctx(node);
    const Variable loss = cross_entropy(model.forward(ctx, batch.words), batch.next);
    backward(ctx, loss);
    optimizer.step(ctx);
    sum += loss.item();
    ++steps;
  }
  return sum / static_cast<double>(steps);
}

/// Everything between the first and the last word to the other nodes; keeps no reference.
void learn(Node& node, const std::string& file, int epochs) {
  const Corpus corpus = read_corpus(file);
  const auto words = static_cast<std::int64_t>(corpus.vocabulary.size());
  const Windows train_text = windows_of(corpus.train, LanguageModel::kContext);
  // The first held-out words follow the last ones of the other part.
  std::vector<std::int64_t> tokens(corpus.train.end() - LanguageModel::kContext, corpus.train.end());
  tokens.insert(tokens.end(), corpus.held_out.begin(), corpus.held_out.end());
  const Windows held_out = windows_of(tokens, LanguageModel::kContext);
  fmt::print("{} tokens to learn from, {} held out, {} different words\n", corpus.train.size(), corpus.held_out.size(),
             words);

  Generator random(1);
  LanguageModel model(node, words, random);
  const DistOptimizer optimizer(node, optim::SgdOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-3},
                                model.all_parameters(node));
  double reached = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const double loss = train(node, model, optimizer, train_text, random);
    reached = perplexity(node, model, held_out);
    std::cout << fmt::format("epoch {}/{}: loss {:.3f}, held-out perplexity {:.1f}", epoch, epochs, loss, reached)
              << std::endl;
  }
  fmt::print("it writes: {}\n", generate(node, model, corpus, tokens, 24, random));
  fmt::print("perplexity: {:.1f} (word frequencies alone: {:.1f})\n", reached, word_frequency_perplexity(corpus));
}

int run(int argc, char** argv) {
  std::string file = kDefaultText;
  int epochs = 15;
  CLI::App app("Trains the language model; `troupe up cluster.toml` starts it.");
  app.add_option("--text", file, "what to learn from")->capture_default_str();
  app.add_option("--epochs", epochs, "passes over the text")->check(CLI::Range(1, 1'000))->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  Node node = Node::join(NodeOptions::from_environment(), server_functions());
  learn(node, file, epochs);
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }
