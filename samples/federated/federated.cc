// Federated learning: clients keep their digits and send what they learnt, the server averages it. FedAvg: a client
// trains on all of its digits and sends weights; FedSGD: it sends one gradient. Run alone it has all nodes in one
// process, behind lines of 1 and 10 Gb/s; `troupe up samples/federated/cluster.toml` runs it as three processes, as
// fast as they reach each other.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/rref.h"
#include "node/local_cluster.h"
#include "samples/federated/bandwidth.h"
#include "samples/federated/client.h"
#include "samples/parameter_server/glyphs.h"
#include "samples/program.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"

using namespace troupe;
using namespace samples;

constexpr auto make_client = constructor<Client, std::uint64_t, std::int64_t, std::int64_t>;
constexpr std::uint64_t kSeed = 1;
constexpr double kServerRate = 0.1;  // of FedSGD

enum class Algorithm : std::uint8_t { fed_avg, fed_sgd };

struct Settings {
  std::int64_t width = 4'600;  ///< of the hidden layers: 25 million parameters
  std::int64_t examples = 640;
  int rounds = 4;
  std::vector<double> gigabits{1, 10};
};

/// Gives all clients the weights and returns their answers, by client.
using AskAll = std::function<std::vector<Update>(Algorithm algorithm, const std::vector<Tensor>& weights)>;

/// The clients on other nodes.
AskAll ask_nodes(const Node& server, const std::vector<NodeName>& nodes, const Settings& settings) {
  std::vector<RRef<Client>> clients;
  for (const NodeName& node : nodes) {
    clients.push_back(server.remote(node, make_client, clients.size(), settings.width, settings.examples));
  }
  return [scope = server.with({.deadline = Deadline::while_peer_lives()}), clients](
             Algorithm algorithm, const std::vector<Tensor>& weights) {
    std::vector<Future<Update>> running;
    for (const auto& client : clients) {
      running.push_back(algorithm == Algorithm::fed_avg ? client.rpc_async(scope, &Client::train, weights)
                                                        : client.rpc_async(scope, &Client::gradient, weights));
    }
    std::vector<Update> updates;
    for (const auto& one : running) updates.push_back(one.get());
    return updates;
  };
}

/// The same clients in this process, without nodes.
AskAll ask_here(std::size_t count, const Settings& settings) {
  std::vector<Client> clients;
  for (std::size_t i = 0; i < count; ++i) clients.emplace_back(i, settings.width, settings.examples);
  return [clients](Algorithm algorithm, const std::vector<Tensor>& weights) mutable {
    const MathThreads one(1);  // as functions of nodes have
    std::vector<Update> updates;
    for (Client& client : clients) {
      updates.push_back(algorithm == Algorithm::fed_avg ? client.train(weights) : client.gradient(weights));
    }
    return updates;
  };
}

struct Outcome {
  double seconds = 0;    ///< of a round, the median
  double computing = 0;  ///< of which the slowest client and the server computed, the median
  std::vector<Tensor> weights;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// What the server makes of the clients' updates: its next weights.
std::vector<Tensor> merged(Algorithm algorithm, const std::vector<Tensor>& weights,
                           const std::vector<Update>& updates) {
  std::vector<Tensor> next;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    Tensor sum = updates.front().tensors.at(i);
    for (std::size_t client = 1; client < updates.size(); ++client) sum = sum + updates[client].tensors.at(i);
    const Tensor mean = sum / static_cast<double>(updates.size());
    next.push_back(algorithm == Algorithm::fed_avg ? mean : weights[i] - kServerRate * mean);
  }
  return next;
}

/// What the server does, wherever its clients are.
Outcome federate(const AskAll& ask_all, Algorithm algorithm, const Settings& settings) {
  Outcome outcome{.weights = DigitMlp(settings.width, kSeed).weights()};
  std::vector<double> seconds;
  std::vector<double> computing;
  for (int round = 0; round < settings.rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Update> updates = ask_all(algorithm, outcome.weights);
    const auto answered = std::chrono::steady_clock::now();
    outcome.weights = merged(algorithm, outcome.weights, updates);
    computing.push_back(std::ranges::max(updates, {}, &Update::seconds).seconds + seconds_since(answered));
    seconds.push_back(seconds_since(begin));
  }
  const auto median = [](std::vector<double> all) {
    std::ranges::sort(all);
    return all[all.size() / 2];
  };
  outcome.seconds = median(seconds);
  outcome.computing = median(computing);
  return outcome;
}

/// Returns the percentage of held-out digits that a network with these weights reads right.
double accuracy(const std::vector<Tensor>& weights, const Settings& settings) {
  constexpr std::int64_t kDigits = 500;
  constexpr std::uint64_t kHeldOutSeed = 2;
  std::vector<std::int64_t> rows(kDigits);
  std::iota(rows.begin(), rows.end(), 0);
  const Batch all = batch(draw_glyphs(kDigits, kHeldOutSeed), rows);
  const NoGradGuard no_graph;
  DigitMlp net(settings.width, kSeed);
  net.set_weights(weights);
  return 100 * mean(argmax(net.forward(all.images).value(), 1) == all.labels).item();
}

/// The largest difference of two lists of weights, relative to the largest weight.
double difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double off = 0;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    off = std::max(off, max(abs(a[i] - b[i])).item());
    largest = std::max(largest, max(abs(b[i])).item());
  }
  return off / largest;
}

std::size_t bytes_of(const std::vector<Tensor>& tensors) {
  std::size_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.nbytes();
  return bytes;
}

/// What a run of several trainings has found.
struct Findings {
  double accuracy = 0;  ///< of the last FedAvg, in percent
  double off = 0;       ///< the largest distance from the weights of one process
};

void print_head(const Settings& settings, std::size_t clients) {
  const std::vector<Tensor> weights = DigitMlp(settings.width, kSeed).weights();
  fmt::print("{:.1f} million parameters, {:.1f} MB; {} clients with {} digits each; {} rounds\n",
             static_cast<double>(bytes_of(weights)) / sizeof(float) / 1e6, static_cast<double>(bytes_of(weights)) / 1e6,
             clients, settings.examples, settings.rounds);
  fmt::print("                   ---- a round takes, beside ideal: ----  computing\n");
  fmt::print("              line  on the wire   ideal      round   ideal      alone  accuracy  off from one process\n");
}

/// Trains with both algorithms and prints a line for each. `gigabits` is the speed of a client's line, per second;
/// nullopt: not limited.
Findings compare(const Node& server, const std::vector<NodeName>& clients, const Settings& settings,
                 std::optional<double> gigabits) {
  Findings findings;
  for (const Algorithm algorithm : {Algorithm::fed_sgd, Algorithm::fed_avg}) {
    const Outcome apart = federate(ask_nodes(server, clients, settings), algorithm, settings);
    const Outcome here = federate(ask_here(clients.size(), settings), algorithm, settings);
    const double off = difference(apart.weights, here.weights);
    findings.off = std::max(findings.off, off);
    findings.accuracy = accuracy(apart.weights, settings);
    const double wire = gigabits ? 2 * static_cast<double>(bytes_of(apart.weights)) / (*gigabits * 1e9 / 8) : 0;
    fmt::print("{:<7} {:>10}  {:9.3f} s {:7.3f}  {:7.3f} s {:7.3f}  {:7.3f} s  {:6.1f} %  {:.1e}\n",
               algorithm == Algorithm::fed_avg ? "FedAvg" : "FedSGD",
               gigabits ? fmt::format("{} Gb/s", *gigabits) : "unlimited", apart.seconds - apart.computing, wire,
               apart.seconds, apart.computing + wire, apart.computing, findings.accuracy, off);
    std::fflush(stdout);
  }
  return findings;
}

void print_findings(const Findings& findings) {
  fmt::print("FedAvg reads {:.1f} % of new digits right; weights are those of one process within {:.1e}\n",
             findings.accuracy, findings.off);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Settings settings;
  std::size_t count = 2;
  CLI::App app("Federated learning: all nodes in this process, or one each with `troupe up cluster.toml`.");
  app.add_option("--width", settings.width, "of the two hidden layers")
      ->check(CLI::Range(1, 20'000))
      ->capture_default_str();
  app.add_option("--examples", settings.examples, "digits of each client")
      ->check(CLI::Range(1, 60'000))
      ->capture_default_str();
  app.add_option("--rounds", settings.rounds)->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_option("--gigabits", settings.gigabits, "per second, of a client's line")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--clients", count, "when run alone")->check(CLI::Range(1, 64))->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const FunctionRegistry functions{{"Client", make_client}, {"train", &Client::train}, {"gradient", &Client::gradient}};
  const NodeOptions options = NodeOptions::from_environment();
  if (options.world_size == 1) {
    std::vector<NodeName> clients;
    for (std::size_t i = 0; i < count; ++i) clients.push_back(fmt::format("client{}", i));
    std::vector<NodeName> names{"server"};
    names.insert(names.end(), clients.begin(), clients.end());
    print_head(settings, count);
    Findings all;
    for (const double gigabits : settings.gigabits) {
      LocalCluster cluster(names, functions, with_lines_of(gigabits * 1e9 / 8));
      const Findings found = compare(cluster.node("server"), clients, settings, gigabits);
      all = {found.accuracy, std::max(all.off, found.off)};
    }
    print_findings(all);
    return 0;
  }
  Node node = Node::join(options, functions);
  if (options.role == "server") {
    const std::vector<NodeName> clients = node.role("client").names();
    print_head(settings, clients.size());
    print_findings(compare(node, clients, settings, std::nullopt));
  }
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }
