// Federated learning: clients keep their digits and send what they learnt, the server averages it. FedAvg: a client
// trains on all of its digits and sends weights; FedSGD: it sends one gradient. Run alone it has all nodes in one
// process, behind lines of 1 and 10 Gb/s; `troupe up samples/federated/cluster.toml` runs it as three processes, as
// fast as they reach each other.
#include <fmt/format.h>

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

#include "actors/checkpoint/checkpoint.h"
#include "actors/rref.h"
#include "node/local_cluster.h"
#include "samples/command_line.h"
#include "samples/federated/bandwidth.h"
#include "samples/federated/client.h"
#include "samples/parameter_server/glyphs.h"
#include "samples/program.h"
#include "samples/saves.h"
#include "samples/weights.h"
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
  SaveOptions saves;
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

/// A training, as far as it has come.
struct Training {
  explicit Training(const Settings& settings) : net(settings.width, kSeed) {}

  DigitMlp net;
  std::vector<double> seconds;    ///< of each round that is done
  std::vector<double> computing;  ///< of which the slowest client and the server computed
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

/// What the server does in the rounds that are not done, wherever its clients are. Calls `done()` after each.
template <class Done>
void federate(Training& training, const AskAll& ask_all, Algorithm algorithm, const Settings& settings,
              const Done& done) {
  while (std::ssize(training.seconds) < settings.rounds) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Tensor> weights = training.net.weights();
    const std::vector<Update> updates = ask_all(algorithm, weights);
    const auto answered = std::chrono::steady_clock::now();
    training.net.set_weights(merged(algorithm, weights, updates));
    training.computing.push_back(std::ranges::max(updates, {}, &Update::seconds).seconds + seconds_since(answered));
    training.seconds.push_back(seconds_since(begin));
    done();
  }
}

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

/// Returns the percentage of held-out digits that the network reads right.
double accuracy(DigitMlp& net) {
  constexpr std::int64_t kDigits = 500;
  constexpr std::uint64_t kHeldOutSeed = 2;
  std::vector<std::int64_t> rows(kDigits);
  std::iota(rows.begin(), rows.end(), 0);
  const Batch all = batch(draw_glyphs(kDigits, kHeldOutSeed), rows);
  const NoGradGuard no_graph;
  return 100 * mean(argmax(net.forward(all.images).value(), 1) == all.labels).item();
}

std::size_t bytes_of(const std::vector<Tensor>& tensors) {
  std::size_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.nbytes();
  return bytes;
}

/// A run of several trainings, a row of the table for each, as far as it has come.
struct Progress {
  explicit Progress(const Settings& settings) : training(settings) {}

  std::int64_t row = 0;  ///< that is being trained
  Training training;     ///< of this row
  double accuracy = 0;   ///< of the last FedAvg before, in percent
  double off = 0;        ///< the largest distance from the weights of one process before
  bool has_begun = false;
};

/// What the checkpoint has besides the network.
SavedNumbers numbers_of(Progress& progress, const Settings& settings, std::size_t clients) {
  SavedNumbers numbers;
  numbers.add("accuracy", progress.accuracy).add("off", progress.off);
  numbers.add_setting("--examples", settings.examples).add_setting("--rounds", settings.rounds);
  numbers.add_setting("the number of clients", static_cast<std::int64_t>(clients));
  numbers.add_setting("the number of --gigabits", std::ssize(settings.gigabits));
  return numbers;
}

void print_head(const Settings& settings, std::size_t clients) {
  const std::vector<Tensor> weights = DigitMlp(settings.width, kSeed).weights();
  fmt::print("{:.1f} million parameters, {:.1f} MB; {} clients with {} digits each; {} rounds\n",
             static_cast<double>(bytes_of(weights)) / sizeof(float) / 1e6, static_cast<double>(bytes_of(weights)) / 1e6,
             clients, settings.examples, settings.rounds);
  fmt::print("                   ---- a round takes, beside ideal: ----  computing\n");
  fmt::print("              line  on the wire   ideal      round   ideal      alone  accuracy  off from one process\n");
}

/// Trains the row of `algorithm`, and compares it with one process. `gigabits` is the speed of a client's line, per
/// second; nullopt: not limited.
template <class Done>
void train_row(const Node& server, const std::vector<NodeName>& clients, const Settings& settings, Algorithm algorithm,
               std::optional<double> gigabits, Progress& progress, const Done& done) {
  Training& apart = progress.training;
  federate(apart, ask_nodes(server, clients, settings), algorithm, settings, done);
  Training here(settings);
  federate(here, ask_here(clients.size(), settings), algorithm, settings, [] {});
  const std::vector<Tensor> weights = apart.net.weights();
  const double off = difference(weights, here.net.weights());
  progress.off = std::max(progress.off, off);
  progress.accuracy = accuracy(apart.net);
  const double wire = gigabits ? 2 * static_cast<double>(bytes_of(weights)) / (*gigabits * 1e9 / 8) : 0;
  const double seconds = median(apart.seconds);
  const double computing = median(apart.computing);
  fmt::print("{:<7} {:>10}  {:9.3f} s {:7.3f}  {:7.3f} s {:7.3f}  {:7.3f} s  {:6.1f} %  {:.1e}\n",
             algorithm == Algorithm::fed_avg ? "FedAvg" : "FedSGD",
             gigabits ? fmt::format("{} Gb/s", *gigabits) : "unlimited", seconds - computing, wire, seconds,
             computing + wire, computing, progress.accuracy, off);
  std::fflush(stdout);
}

/// Trains with both algorithms, in rows `row` and `row` + 1 of the table, unless these are done. The first call goes on
/// from the checkpoint.
void compare(const Node& server, const std::vector<NodeName>& clients, const Settings& settings,
             std::optional<double> gigabits, std::int64_t row, Progress& progress) {
  Training& training = progress.training;
  SavedNumbers numbers = numbers_of(progress, settings, clients.size());
  SavedNumbers times;
  times.add("seconds", training.seconds).add("computing", training.computing);
  Checkpoint checkpoint;
  checkpoint.add("net", training.net).add("row", progress.row).add("numbers", numbers).add("times", times);
  const auto print = [&](const char* what) {
    fmt::print("{} after round {} of row {}\n", what, training.seconds.size(), progress.row + 1);
    std::fflush(stdout);
  };
  if (!std::exchange(progress.has_begun, true) && settings.saves.restore(server, checkpoint)) print("goes on");

  for (const Algorithm algorithm : {Algorithm::fed_sgd, Algorithm::fed_avg}) {
    if (row++ < progress.row) continue;
    train_row(server, clients, settings, algorithm, gigabits, progress, [&] {
      if (settings.saves.directory.empty()) return;
      settings.saves.save(server, checkpoint);
      print("saved");
    });
    ++progress.row;
    training.net.set_weights(DigitMlp(settings.width, kSeed).weights());
    training.seconds.clear();
    training.computing.clear();
  }
}

void print_findings(const Progress& progress) {
  fmt::print("FedAvg reads {:.1f} % of new digits right; weights are those of one process within {:.1e}\n",
             progress.accuracy, progress.off);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Settings settings;
  std::size_t count = 2;
  CommandLine line("Federated learning: all nodes in this process, or one each with `troupe up cluster.toml`.");
  line.add("--width", settings.width, "of the two hidden layers", {1, 20'000});
  line.add("--examples", settings.examples, "digits of each client", {1, 60'000});
  line.add("--rounds", settings.rounds, "of training", {1, 10'000});
  line.add_positive("--gigabits", settings.gigabits, "per second, of a client's line");
  line.add("--clients", count, "when run alone", {1, 64});
  settings.saves.add_to(line, "after each round");
  if (const auto status = line.parse(argc, argv)) return *status;

  const FunctionRegistry functions{{"Client", make_client}, {"train", &Client::train}, {"gradient", &Client::gradient}};
  const NodeOptions options = NodeOptions::from_environment();
  if (options.world_size == 1) {
    std::vector<NodeName> clients;
    for (std::size_t i = 0; i < count; ++i) clients.push_back(fmt::format("client{}", i));
    std::vector<NodeName> names{"server"};
    names.insert(names.end(), clients.begin(), clients.end());
    print_head(settings, count);
    Progress progress(settings);
    for (std::size_t i = 0; i < settings.gigabits.size(); ++i) {
      LocalCluster cluster(names, functions, with_lines_of(settings.gigabits[i] * 1e9 / 8));
      compare(cluster.node("server"), clients, settings, settings.gigabits[i], 2 * static_cast<std::int64_t>(i),
              progress);
    }
    print_findings(progress);
    return 0;
  }
  Node node = Node::join(options, functions);
  if (options.role == "server") {
    const std::vector<NodeName> clients = node.role("client").names();
    print_head(settings, clients.size());
    Progress progress(settings);
    compare(node, clients, settings, std::nullopt, 0, progress);
    print_findings(progress);
  }
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }
