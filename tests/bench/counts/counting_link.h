// A link that counts the messages which it sends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "actors/link.h"
#include "actors/sessions/session_header.h"

namespace troupe::bench {

/// Counts each packet that carries a message or the begin of one, not acknowledgements and probes.
class CountingLink final : public Link {
 public:
  /// REQUIRES: `messages` outlives the link.
  CountingLink(std::unique_ptr<Link> inner, std::atomic<std::int64_t>& messages)
      : inner_(std::move(inner)), messages_(messages) {}

  void start(LinkSink& sink) override { inner_->start(sink); }
  [[nodiscard]] std::string address() const override { return inner_->address(); }
  [[nodiscard]] bool guards_bytes() const override { return inner_->guards_bytes(); }
  [[nodiscard]] bool shares_memory() const override { return inner_->shares_memory(); }
  [[nodiscard]] std::shared_ptr<detail::WaitingWork> receiving() const override { return inner_->receiving(); }
  void connect(std::string_view address) override { inner_->connect(address); }
  void send(const NodeName& to, LinkLane lane, Frames packet) override {
    const auto header = decode_session_header(packet.at(0).bytes);
    const bool begins = header.value().part == Part::whole || header.value().part == Part::first;
    if (header.value().kind == SessionKind::data && begins) ++messages_;
    inner_->send(to, lane, std::move(packet));
  }
  void disconnect(const NodeName& peer, const Farewell& farewell) override { inner_->disconnect(peer, farewell); }
  void stop() override { inner_->stop(); }

 private:
  std::unique_ptr<Link> inner_;
  std::atomic<std::int64_t>& messages_;
};

}  // namespace troupe::bench
