// What goes to an actor and comes back: requests, answers, deliveries.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "actors/clock.h"
#include "actors/core/node_life.h"
#include "actors/sessions/call_credit.h"
#include "actors/source_location.h"
#include "messages/all.h"
#include "messages/envelope.h"

namespace troupe::detail {

/// The actor that members of collectives tell each other things at. It needs no thread of the pool and runs no user code.
inline constexpr const char* kCollectiveActor = "collective";

/// Whether a Call to `actor` is for the collectives, not for the worker.
[[nodiscard]] inline bool is_for_collectives(std::string_view actor) { return actor.ends_with(kCollectiveActor); }

/// A request to a peer, or to this node itself.
struct Request {
  NodeName to;                   ///< the life of it that is up when the request leaves, or `life`
  std::string actor;             ///< path at the peer: "worker", "rref/trainer.17"
  std::string operation;         ///< for errors and reports: "rpc project"
  std::optional<TimePoint> due;  ///< nothing: while the peer lives
  msg::AnyMessage message;
  std::vector<std::stop_token> cancelled_by = {};  ///< the first that stops ends it with `cancelled`
  std::optional<SourceLocation> site = {};         ///< where the program made it, for reports
  std::optional<Incarnation> life = {};            ///< what it is about belongs to that life of `to`: no other may get it
  bool nested = false;                             ///< made inside a served function
  bool fails_if_unreachable = false;               ///< and does not wait until its peer is heard again, or dead
};

/// Told exactly once, on whichever thread the answer came: must not block or run user code.
using AnswerHandler = std::function<void(Result<msg::AnyMessage>)>;

/// Sends answers to nodes that asked. Thread rule: any thread may call any member; none blocks.
class AnswerSender {
 public:
  virtual ~AnswerSender() = default;
  /// Who answers.
  [[nodiscard]] virtual NodeLife life() const = 0;
  virtual void send_answer(const NodeLife& to, RequestId request, msg::AnyMessage message) = 0;
};

/// Where an answer goes. Copies answer the same request; only the first answer counts, and the requester gets
/// `internal` if the last copy goes without one.
class ReturnAddress {
 public:
  ReturnAddress() = default;
  /// `node` answers `request` of `to`.
  ReturnAddress(std::shared_ptr<AnswerSender> node, NodeLife to, RequestId request);

  void answer(msg::AnyMessage message) const;
  void fail(Error error) const;

  [[nodiscard]] const NodeLife& requester() const;
  [[nodiscard]] bool expected() const { return state_ != nullptr; }

 private:
  struct State;
  std::shared_ptr<State> state_;  // null: nobody expects an answer
};

/// A message for an actor of this node.
struct Delivery {
  NodeName from;
  Incarnation incarnation;  ///< of `from`
  msg::Envelope envelope;
  msg::AnyMessage message;
  ReturnAddress answer;
  std::optional<TimePoint> due;  ///< when the requester stops waiting; nothing: while it lives
  std::shared_ptr<CallCredit> credit = {};  ///< what a call holds of its caller's grant until it begins; null: nothing
};

}  // namespace troupe::detail
