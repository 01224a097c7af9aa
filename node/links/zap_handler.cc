#include "node/links/zap_handler.h"

#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "actors/core/guarded.h"
namespace troupe {
namespace {

constexpr const char* kHandlerAddress = "inproc://zeromq.zap.01";  // ZeroMQ looks for the handler there
constexpr ReadySet::Key kCaller = 0;
constexpr ReadySet::Key kSocket = 1;
constexpr ZmqSocketLimits kLimits{.frame_bytes_max = 4096,
                                  .frames_max = 64,
                                  .queue_messages_max = 1000,
                                  .handshake_timeout = std::chrono::seconds{2}};

}  // namespace

Result<std::unique_ptr<ZapHandler>> ZapHandler::open(ZmqContext& context, Rule rule, Reports reports) {
  std::unique_ptr<ZapHandler> handler(new ZapHandler(std::move(rule), std::move(reports)));
  auto socket = ZmqSocket::open(context, ZmqSocket::Kind::router, kLimits);
  if (!socket) return socket.error();
  if (const auto bound = socket.value().bind(kHandlerAddress); !bound) return bound.error();
  for (const auto& watched :
       {handler->ready_.add(handler->wake_up_.descriptor(), kCaller), socket.value().tell(handler->ready_, kSocket)}) {
    if (!watched) return watched.error();
  }
  handler->socket_ = std::move(socket).value();
  try {
    handler->thread_ = std::thread([self = handler.get()] { self->run(); });
  } catch (const std::system_error&) {
    return detail::failure_of_current_exception("the ZAP handler");
  }
  return handler;
}

ZapHandler::ZapHandler(Rule rule, Reports reports) : rule_(std::move(rule)), reports_(std::move(reports)) {}

ZapHandler::~ZapHandler() { stop(); }

void ZapHandler::watch(std::function<void(const Error&)> on_failure) {
  std::optional<Error> failed;
  {
    const std::lock_guard lock(mutex_);
    failed = failure_;
    on_failure_ = on_failure;
  }
  if (failed) on_failure(*failed);
}

void ZapHandler::stop() {
  stopped_ = true;
  wake_up_.ring();
  const std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

void ZapHandler::run() {
  try {
    serve();
    socket_.reset();
  } catch (...) {
    socket_.reset();
    fail(detail::failure_of_current_exception("the ZAP handler"));
  }
}

void ZapHandler::serve() {
  while (!stopped_) {
    while (const std::optional<Frames> message = socket_->receive()) answer(*message);
    if (socket_->has_news(false)) continue;
    for (const ReadySet::Key key : ready_.wait(Duration{-1})) {
      if (key == kCaller) wake_up_.silence();
    }
  }
}

void ZapHandler::answer(const Frames& message) {
  const std::optional<ZapRequest> request = decode_zap(message);
  if (!request) return;
  const std::optional<NodeName> user = request->key ? rule_(*request->key) : std::nullopt;
  if (!user) count_denied(*request);
  (void)socket_->send(encode_zap_answer(*request, user));
}

void ZapHandler::count_denied(const ZapRequest& request) {
  if (request.key && request.key == reports_.own_test) return;
  ++denied_;
  const char* const why = request.key ? "no member has its key" : "it has no key";
  if (reports_.audit) reports_.audit({.event = AuditEvent::refused, .reason = why, .address = request.address});
  if (!reports_.log || !lines_.take(std::chrono::steady_clock::now())) return;
  reports_.log(fmt::format("refused a connection from {}: {}", request.address, why));
}

void ZapHandler::fail(const Error& why) {
  std::function<void(const Error&)> on_failure;
  {
    const std::lock_guard lock(mutex_);
    failure_ = why;
    on_failure = on_failure_;
  }
  if (on_failure) on_failure(why);
}

}  // namespace troupe
