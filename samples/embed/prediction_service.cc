#include "samples/embed/prediction_service.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cmath>
#include <latch>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "messages/error.h"
#include "tensor/create.h"

namespace samples {

using namespace troupe;
using nlohmann::json;

namespace {

constexpr std::size_t kBodyMax = 1 << 20;
constexpr std::size_t kRequestsPerConnection = 1'000'000;
constexpr int kIdleSeconds = 1;     // until a connection that asks nothing gives its thread back
constexpr int kNewcomersMax = 128;  // that wait for a thread
constexpr const char* kHost = "127.0.0.1";
constexpr const char* kExpected = R"(expected {"points": [[x, y], ...]})";

/// Throws std::invalid_argument or a json::exception that says what is wrong with `body`.
Tensor points_in(const std::string& body) {
  const json request = json::parse(body);
  const auto points = request.find("points");
  if (!request.is_object() || points == request.end() || !points->is_array() || points->empty())
    throw std::invalid_argument(kExpected);
  std::vector<float> values;
  for (const json& point : *points) {
    if (!point.is_array() || point.size() != 2) throw std::invalid_argument(kExpected);
    for (const json& coordinate : point) {
      if (!coordinate.is_number()) throw std::invalid_argument(kExpected);
      values.push_back(coordinate.get<float>());
      if (!std::isfinite(values.back()))
        throw std::invalid_argument(fmt::format("not a number that f32 has: {}", coordinate.dump()));
    }
  }
  return from_values<float>(values, {static_cast<std::int64_t>(points->size()), 2});
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::timeout: return 504;
    case ErrorCode::peer_down:
    case ErrorCode::peer_unreachable:
    case ErrorCode::peer_restarted:
    case ErrorCode::owner_died:
    case ErrorCode::not_joined:
    case ErrorCode::resource_exhausted:
    case ErrorCode::shutting_down: return 503;
    default: return 500;
  }
}

/// What is wrong with a request is said with its own bytes: invalid UTF-8 is replaced.
void answer(httplib::Response& response, int status, const json& body) {
  response.status = status;
  response.set_content(body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", "application/json");
}

void refuse(httplib::Response& response, int status, const char* why) { answer(response, status, {{"error", why}}); }

}  // namespace

PredictionService::PredictionService(const Node& node, const ServiceOptions& options)
    : node_(node), asking_(node.with({.deadline = options.deadline})), net_(node) {
  using httplib::Request;
  using httplib::Response;
  server_.Post("/predict", [this](const Request& request, Response& response) { predict(request, response); });
  server_.Get("/health", [this](const Request&, Response& response) { health(response); });
  server_.Get("/debug", [this](const Request&, Response& response) {
    response.set_content(node_.debug_info().text(), "text/plain");
  });
  server_.set_payload_max_length(kBodyMax);
  server_.set_keep_alive_max_count(kRequestsPerConnection);
  server_.set_keep_alive_timeout(kIdleSeconds);
  server_.set_tcp_nodelay(true);
  int listening = -1;
  server_.set_socket_options([&listening](int socket) {  // unlike httplib's own: nobody else gets the port, too
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    listening = socket;
  });
  std::latch running(1);  // a server that does not run yet cannot be stopped
  server_.new_task_queue = [&running, threads = options.threads] {
    auto* const queue = new httplib::ThreadPool(static_cast<std::size_t>(threads));  // the server deletes it
    running.count_down();
    return queue;
  };
  const bool any = options.port == 0;
  if (any) port_ = server_.bind_to_any_port(kHost);
  else if (server_.bind_to_port(kHost, options.port)) port_ = options.port;
  if (port_ <= 0) throw std::runtime_error(fmt::format("cannot listen on port {} of {}", options.port, kHost));
  // Debian's httplib queues five newcomers. The sixth of a burst is let in a second later, when its request may be lost
  // to kIdleSeconds.
  ::listen(listening, kNewcomersMax);
  listener_ = std::thread([this] { server_.listen_after_bind(); });
  running.wait();
}

PredictionService::~PredictionService() {
  server_.stop();
  listener_.join();
}

void PredictionService::predict(const httplib::Request& request, httplib::Response& response) try {
  const Tensor chances = net_.chances(asking_, points_in(request.body));
  answer(response, 200, {{"chances", chances.data<float>()}});
} catch (const RemoteError& error) {
  refuse(response, status_of(error.code()), error.what());
} catch (const std::invalid_argument& error) {
  refuse(response, 400, error.what());
} catch (const json::exception& error) {
  refuse(response, 400, error.what());
}

void PredictionService::health(httplib::Response& response) const try {
  net_.check(asking_);
  answer(response, 200, {{"model", "up"}});
} catch (const RemoteError& error) {
  refuse(response, status_of(error.code()), error.what());
}

}  // namespace samples
