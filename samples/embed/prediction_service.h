// A service of its own, with its own threads and its own protocol, that asks a network on another node.
//
//   POST /predict {"points": [[x, y], ...]}   200 {"chances": [...]}: how likely each point belongs to the upper moon
//   GET  /health                              200 {"model": "up"}, or why not as below
//   GET  /debug                               200 what the node counts, one "key: value" per line
//
// What went wrong is {"error": "..."}: 400 the request makes no sense, 503 the model node is not there, 504 it did not
// answer in time, 500 the rest.
#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <thread>

#include "node/node.h"
#include "samples/embed/remote_net.h"

namespace samples {

struct ServiceOptions {
  int port = 0;                              ///< of 127.0.0.1; 0 = any free one
  int threads = 16;                          ///< of the HTTP server; a connection that is kept open holds one
  std::chrono::milliseconds deadline{2000};  ///< of one request's question to the model node
};

/// Runs from its constructor to its destructor, which waits for requests that are under way.
class PredictionService {
 public:
  /// `node` must outlive the service. Throws std::runtime_error if the port cannot be had.
  PredictionService(const troupe::Node& node, const ServiceOptions& options);
  ~PredictionService();
  PredictionService(const PredictionService&) = delete;
  PredictionService& operator=(const PredictionService&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  void predict(const httplib::Request& request, httplib::Response& response);
  void health(httplib::Response& response) const;

  const troupe::Node& node_;
  const troupe::Scope asking_;
  RemoteNet net_;
  httplib::Server server_;
  int port_ = 0;
  std::thread listener_;
};

}  // namespace samples
