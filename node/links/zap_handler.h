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
  /// Returns the user to whom a key belongs; nullopt: it is refused. Called on the handler's thread. One that throws
  /// ends the handler.
  using Rule = std::function<std::optional<NodeName>(const PublicKey&)>;
  /// Called with one line per refused key, at most five per second, on the handler's thread; may be empty.
  using Log = std::function<void(std::string_view line)>;

  /// Starts to answer, without a log. Errors: resource_exhausted (no descriptors, the context has a handler already),
  /// internal (no thread). REQUIRES: before the first `bind` of a socket with keys; `context` outlives it.
  [[nodiscard]] static Result<std::unique_ptr<ZapHandler>> open(ZmqContext& context, Rule rule);

  ~ZapHandler();
  ZapHandler(const ZapHandler&) = delete;
  ZapHandler& operator=(const ZapHandler&) = delete;

  /// Calls `on_failure` if the handler ends by itself, on its thread; at once if it has ended. Refused keys are
  /// counted, logged and told to `audit` from now on.
  void watch(std::function<void(const Error&)> on_failure, Log log, AuditSink audit = {});

  /// Ends the handler.
  void stop();

  /// Returns the number of refused keys.
  [[nodiscard]] std::uint64_t denied() const { return denied_; }

 private:
  explicit ZapHandler(Rule rule);
  void run();
  void serve();
  void answer(const Frames& message);
  void count_denied(const ZapRequest& request);
  void fail(const Error& why);

  const Rule rule_;                  ///< the handler's thread
  LineAllowance lines_;              ///< the handler's thread
  ReadySet ready_;                   ///< the handler's thread; outlives the socket
  std::optional<ZmqSocket> socket_;  ///< the handler's thread, once it runs
  detail::WakeUp wake_up_;           ///< any thread
  std::atomic<bool> stopped_ = false;
  std::atomic<std::uint64_t> denied_ = 0;

  std::mutex mutex_;
  std::optional<Error> failure_;                  ///< guarded by mutex_
  std::function<void(const Error&)> on_failure_;  ///< guarded by mutex_; called without it
  AuditSink audit_;                               ///< guarded by mutex_; called without it
  std::optional<Log> log_;                        ///< guarded by mutex_; called without it; nullopt until `watch`

  std::mutex join_mutex_;
  std::thread thread_;  ///< guarded by join_mutex_
};

}  // namespace troupe
