// The messages to actors and back: requests, answers, deliveries.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "actors/sessions/call_credit.h"
#include "actors/source_location.h"
#include "messages/all.h"
#include "messages/envelope.h"
#include "messages/ids.h"

namespace troupe::detail {

/// The actor at which members of collectives exchange messages. It uses no pool thread and runs no user code.
inline constexpr const char* kCollectiveActor = "collective";

/// Returns true if a Call to `actor` is for the collectives, not for the worker.
[[nodiscard]] inline bool is_for_collectives(std::string_view actor) { return actor.ends_with(kCollectiveActor); }

/// A request to a peer, or to this node itself.
struct Request {
  NodeName to;                   ///< the life that is up when the request leaves, unless `life` is set
  std::string actor;             ///< its path at the peer: "worker", "rref/trainer.17"
  std::string operation;         ///< for errors and reports: "rpc project"
  std::optional<TimePoint> due;  ///< nullopt: while the peer lives
  msg::AnyMessage message;
  std::vector<std::stop_token> cancelled_by = {};  ///< the first that stops ends the request with `cancelled`
  std::optional<SourceLocation> site = {};         ///< the program's line, for reports
  std::optional<Incarnation> life = {};            ///< only this life of `to` may receive the request; nullopt: any
  bool nested = false;                             ///< made inside a served function
  bool fails_if_unreachable = false;               ///< otherwise waits until the peer is heard again or is dead
  bool failure_as_message = false;  ///< the handler gets the msg::Failure of a peer that read the request
};

/// The object that a request's answer goes to.
class AnswerReceiver {
 public:
  AnswerReceiver() = default;
  AnswerReceiver(const AnswerReceiver&) = delete;
  AnswerReceiver& operator=(const AnswerReceiver&) = delete;
  virtual ~AnswerReceiver() = default;

  /// Called exactly once, on the thread that receives the answer. REQUIRES: does not block and runs no user code. An
  /// error of which `execution` is `never` says that the peer has not read the request, or never got it; with
  /// `failure_as_message` that is certain.
  virtual void answered(Result<msg::AnyMessage> answer) = 0;
};

/// A receiver, or a function in the place of one. Copies are one receiver.
class AnswerHandler {
 public:
  explicit AnswerHandler(std::shared_ptr<AnswerReceiver> receiver) : receiver_(std::move(receiver)) {}

  template <class Function>
    requires std::invocable<Function&, Result<msg::AnyMessage>>
  AnswerHandler(Function function)  // NOLINT(google-explicit-constructor): a function is one
      : receiver_(std::make_shared<FunctionReceiver<Function>>(std::move(function))) {}

  void operator()(Result<msg::AnyMessage> answer) const { receiver_->answered(std::move(answer)); }

 private:
  template <class Function>
  struct FunctionReceiver final : AnswerReceiver {
    explicit FunctionReceiver(Function f) : function(std::move(f)) {}
    void answered(Result<msg::AnyMessage> answer) override { function(std::move(answer)); }
    Function function;
  };

  std::shared_ptr<AnswerReceiver> receiver_;
};

/// What to do, in this order, if an answer is never sent, as far as its node knows: because it gets no memory, or is
/// taken back. Called on any thread. REQUIRES: none of them throws.
using UndoList = std::vector<std::function<void()>>;

/// Sends answers to requesting nodes. Thread rule: any thread may call any member; none blocks.
class AnswerSender {
 public:
  virtual ~AnswerSender() = default;
  /// Returns the life of the answering node.
  [[nodiscard]] virtual NodeLife life() const = 0;
  /// An answer that gets no memory becomes a Failure; if that gets none, the node ends. Never throws.
  virtual void send_answer(const NodeLife& to, RequestId request, msg::AnyMessage message, UndoList undo) = 0;
};

/// The destination of an answer. Copies answer the same request; only the first answer counts. If the last copy is
/// destroyed without an answer, the requester gets `internal`.
class ReturnAddress {
 public:
  ReturnAddress() = default;
  /// For answers of `node` to `request` of `to`.
  ReturnAddress(std::shared_ptr<AnswerSender> node, NodeLife to, RequestId request);

  /// `undo`: beside the references in `message`, which are taken back, too.
  void answer(msg::AnyMessage message, UndoList undo = {}) const noexcept;
  void fail(Error error) const noexcept;

  [[nodiscard]] const NodeLife& requester() const;
  [[nodiscard]] bool expected() const { return state_ != nullptr; }

 private:
  struct State;
  std::shared_ptr<State> state_;  // null: no answer is expected
};

/// A message for an actor of this node.
struct Delivery {
  NodeName from;
  Incarnation incarnation;  ///< of `from`
  msg::Envelope envelope;
  msg::AnyMessage message;
  ReturnAddress answer;
  std::optional<TimePoint> due;             ///< the requester's deadline; nullopt: waits while it lives
  std::shared_ptr<CallCredit> credit = {};  ///< the part of its caller's grant it holds until it starts; null: none
};

}  // namespace troupe::detail
