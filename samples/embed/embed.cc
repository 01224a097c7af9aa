// An HTTP service that hosts a node: `troupe up samples/embed/cluster.toml` runs it beside a model node until SIGTERM.
// Run alone it has both nodes in one process, asks itself over HTTP and ends.
#include <fmt/format.h>
#include <httplib.h>
#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "node/local_cluster.h"
#include "node/node.h"
#include "samples/command_line.h"
#include "samples/embed/moons.h"
#include "samples/embed/prediction_service.h"
#include "samples/program.h"
#include "tensor/create.h"
#include "tensor/ops.h"

using namespace troupe;
using namespace samples;
using nlohmann::json;

/// The signals that end the service. Blocked in every thread, so that main can wait for them.
sigset_t ends() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

/// The service's answer for one point.
float ask(httplib::Client& client, const Tensor& point) {
  const json question{{"points", {point.data<float>()}}};
  const auto answer = client.Post("/predict", question.dump(), "application/json");
  if (!answer) throw std::runtime_error("POST /predict: " + httplib::to_string(answer.error()));
  if (answer->status != 200)
    throw std::runtime_error(fmt::format("POST /predict: {}: {}", answer->status, answer->body));
  return json::parse(answer->body).at("chances").at(0).get<float>();
}

/// Asks the service for `count` points, one by one, and compares with the truth and with an equal network here.
void check(int port, int count) {
  const Moons moons = draw_moons(count, 2);
  const MoonNet same(1);
  httplib::Client client("127.0.0.1", port);
  client.set_keep_alive(true);
  client.set_tcp_nodelay(true);
  int equal = 0;
  int right = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor point = index_select(moons.points, 0, from_values<std::int64_t>({i}));
    const float chance = ask(client, point);
    if (chance == same.chances(point).item()) ++equal;
    if ((chance > 0.5F) == (moons.upper.data<std::int64_t>()[static_cast<std::size_t>(i)] == 1)) ++right;
  }
  fmt::print("{} answers over HTTP, {} of them as computed here; {:.1f} % of the points found right\n", count, equal,
             100.0 * right / count);
}

void serve(const Node& node, const ServiceOptions& options, int requests) {
  const PredictionService service(node, options);
  if (requests > 0) return check(service.port(), requests);
  std::cout << "listening on http://127.0.0.1:" << service.port() << std::endl;
  const sigset_t set = ends();
  int signal = 0;
  sigwait(&set, &signal);
}

int run(int argc, char** argv) {
  ServiceOptions service;
  std::optional<int> requests;
  CommandLine line("An HTTP service that asks a network on another node; `troupe up cluster.toml` starts both.");
  line.add("--port", service.port, "of 127.0.0.1; 0 = any free one", {0, 65'535});
  line.add("--threads", service.threads, "of the HTTP server", {1, 1'000});
  line.add("--requests", requests, "make so many to itself and end; 0 = serve until SIGTERM", {0, 1'000'000});
  if (const auto status = line.parse(argc, argv)) return *status;

  const sigset_t set = ends();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before there are threads: each inherits it
  const NodeOptions options = NodeOptions::from_environment();
  if (options.world_size == 1) {
    LocalCluster cluster({"service", kModelNode}, model_functions());
    serve(cluster.node("service"), service, requests.value_or(1000));
    return 0;
  }
  Node node = Node::join(options, model_functions());
  serve(node, service, requests.value_or(0));
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }
