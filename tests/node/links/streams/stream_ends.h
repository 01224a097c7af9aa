// A sender and a receiver of streams in one process, without links.
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "node/links/socket_address.h"
#include "node/links/streams/stream_receiver.h"
#include "node/links/streams/stream_sender.h"
#include "tests/support/eventually.h"
#include "tests/support/recording_sink.h"

namespace troupe::testing {

inline detail::StreamKey key_of_test() {
  const auto secret = detail::StreamSecret::random();
  return secret.agree(secret.share(), {}).value();
}

/// What both ends report, and a stream between them.
struct StreamEnds {
  using Ended = detail::StreamSender::Ended;

  explicit StreamEnds(const detail::StreamSenderOptions& options = {},
                      const detail::StreamReceiverOptions& receiver_options = {.host = "127.0.0.1"})
      : receiver(receiver_options,
                 {.arrived =
                      [this](const NodeLife& from, Frames packet) {
                        if (const auto hook = changes.read([this] { return on_arrival; })) hook();
                        changes.change([&] { arrived.emplace_back(from.name + " " + text_of(packet.at(0))); });
                      },
                  .refused = [this](std::string_view line) { changes.change([&] { refused.emplace_back(line); }); },
                  .failed = [](const Error& why) { BOOST_ERROR(why.text()); }}),
        sender(
            options, [this](Ended end) { changes.change([&] { ended.push_back(std::move(end)); }); },
            [](const Error& why) { BOOST_ERROR(why.text()); }) {}
  ~StreamEnds() {
    sender.stop();
    receiver.stop();
  }

  /// Opens a stream of `peer` with a key of its own. Returns once it can send.
  void open(const NodeLife& peer) {
    const detail::StreamId id = detail::random_stream_id();
    const detail::StreamKey key = key_of_test();
    const auto port = receiver.expect(peer, id, key, detail::Cipher::chacha20_poly1305);
    BOOST_TEST_REQUIRE(port.ok());
    connect(peer, id, key, port.value());
  }
  void connect(const NodeLife& peer, const detail::StreamId& id, const detail::StreamKey& key, std::uint16_t port) {
    start(peer, id, key, port);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    Frames first{frame_of("begins")};
    while (!sender.send(peer.name, first) && std::chrono::steady_clock::now() < deadline) {
    }
    BOOST_TEST_REQUIRE(first.empty());
  }
  void start(const NodeLife& peer, const detail::StreamId& id, const detail::StreamKey& key, std::uint16_t port) {
    sender.open(peer, id, key, detail::Cipher::chacha20_poly1305,
                host_address(fmt::format("127.0.0.1:{}", port)).value());
  }
  void send(const NodeName& peer, std::string_view text) {
    Frames packet{frame_of(text)};
    BOOST_TEST(sender.send(peer, packet));
  }
  template <class Predicate>
  void wait(Predicate predicate) const {
    eventually(std::chrono::seconds{10}, changes, predicate,
               [this] { return fmt::format("{} arrived, {} refused", arrived.size(), refused.size()); });
  }
  [[nodiscard]] long count_of(std::string_view text) const {
    return changes.read([&] { return std::ranges::count(arrived, text); });
  }

  Changes changes;
  std::function<void()> on_arrival;  // guarded by the lock of changes, as the rest
  std::vector<std::string> arrived;  ///< "NAME text"
  std::vector<std::string> refused;
  std::vector<Ended> ended;
  detail::StreamReceiver receiver;
  detail::StreamSender sender;
};

}  // namespace troupe::testing
