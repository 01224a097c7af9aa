// Callbacks for tests and benchmarks of a router alone.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/sessions/router.h"

namespace troupe::detail {

/// Ignores every callback.
struct NoCallbacks : Router::Callbacks {
  void transmit(const NodeName&, LinkLane, Frames) override {}
  void deliver(const Peer&, msg::Envelope, msg::AnyMessage, std::optional<TimePoint>,
               std::shared_ptr<CallCredit>) override {}
  void came_late(const NodeLife&, msg::AnyMessage) override {}
  void refuse_unread(const NodeLife&, RequestId, Error) override {}
  void answers_taken(const NodeLife&, const AnswerTotals&) override {}
  void load_changed(const NodeName&, const PeerLoad&) override {}
  void peer_up(const Peer&) override {}
  void peer_down(const Peer&, const Error&) override {}
  void give_up(const NodeName&, const Farewell&) override {}
  void pending_changed(std::size_t) override {}
  void warn(std::string) override {}
  void cancel_soon(RequestId) override {}
  void word_lost(const NodeLife&, const msg::Outside&, Error) override {}
  std::function<void()> grant_soon(const NodeLife&) override {
    return [] {};
  }
};

}  // namespace troupe::detail
