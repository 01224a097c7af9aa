// Decides which keys get into the sockets of one ZeroMQ context.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "messages/error.h"
#include "messages/ids.h"
#include "node/audit/audit_entry.h"
#include "node/keys/key_pair.h"
#include "node/links/line_allowance.h"
#include "node/links/ready_set.h"
#include "node/links/wake_up.h"
#include "node/links/zap_request.h"
#include "node/links/zmq_link_socket.h"

namespace troupe {

/// One thread that answers ZAP requests. Thread rule: any thread may call any member.
///
/// It denies all keys once it has ended: ZeroMQ then refuses connections or lets them in without a user, and messages
/// without a user are dropped (zmq_listener).
class ZapHandler {
 public:
  /// Returns the user to whom a key belongs; nullopt: the key is refused. Called on the handler's thread. An exception
  /// ends the handler.
  using Rule = std::function<std::optional<NodeName>(const PublicKey&)>;
  /// Where refused keys are reported, on the handler's thread. All may be empty.
  struct Reports {
    std::function<void(std::string_view line)> log = {};  ///< one line per refused key, at most five per second
    AuditSink audit = {};
    std::optional<PublicKey> own_test = {};  ///< the node refuses this key on purpose: neither counted nor reported
  };

  /// Starts to answer. Errors: resource_exhausted (no descriptors, the context has a handler already), internal (no
  /// thread). REQUIRES: before the first `bind` of a socket with keys; `context` outlives it.
  [[nodiscard]] static Result<std::unique_ptr<ZapHandler>> open(ZmqContext& context, Rule rule, Reports reports);

  ~ZapHandler();
  ZapHandler(const ZapHandler&) = delete;
  ZapHandler& operator=(const ZapHandler&) = delete;

  /// Calls `on_failure` if the handler ends by itself, on its thread; at once if it has ended.
  void watch(std::function<void(const Error&)> on_failure);

  /// Ends the handler.
  void stop();

  /// Returns the number of refused keys.
  [[nodiscard]] std::uint64_t denied() const { return denied_; }

 private:
  ZapHandler(Rule rule, Reports reports);
  void run();
  void serve();
  void answer(const Frames& message);
  void count_denied(const ZapRequest& request);
  void fail(const Error& why);

  const Rule rule_;                  ///< the handler's thread
  const Reports reports_;            ///< the handler's thread
  LineAllowance lines_;              ///< the handler's thread
  ReadySet ready_;                   ///< the handler's thread; outlives the socket
  std::optional<ZmqSocket> socket_;  ///< the handler's thread, once it runs
  detail::WakeUp wake_up_;           ///< any thread
  std::atomic<bool> stopped_ = false;
  std::atomic<std::uint64_t> denied_ = 0;

  std::mutex mutex_;
  std::optional<Error> failure_;                  ///< guarded by mutex_
  std::function<void(const Error&)> on_failure_;  ///< guarded by mutex_; called without it

  std::mutex join_mutex_;
  std::thread thread_;  ///< guarded by join_mutex_
};

}  // namespace troupe
