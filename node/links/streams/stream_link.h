// A link that sends large messages over TCP connections of its own, encrypted where the link below has keys.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "actors/clock.h"
#include "actors/link.h"
#include "node/audit/audit_entry.h"
#include "node/keys/key_ring.h"
#include "node/links/line_allowance.h"
#include "node/links/streams/stream_control.h"
#include "node/links/streams/stream_receiver.h"
#include "node/links/streams/stream_sender.h"

namespace troupe {

struct StreamLinkOptions {
  NodeName name;
  Incarnation incarnation;
  bool has_streams = true;           ///< false: opens and accepts none, and says so to peers that ask
  std::optional<KeyRing> keys = {};  ///< the link below has them; then streams are encrypted, never otherwise
  detail::StreamReceiverOptions receiver;
  detail::StreamSenderOptions sender = {};
  Duration answer_patience = std::chrono::seconds{5};  ///< for a peer to accept a stream
  Duration retry_min = std::chrono::seconds{1};        ///< after a failure, doubled with each further one
  Duration retry_max = std::chrono::minutes{1};
  Duration open_gap = std::chrono::milliseconds{100};   ///< streams that a peer opens faster than this are refused
  std::function<void(std::string_view line)> log = {};  ///< as of a ZmqLink: any thread
  AuditSink audit = {};                                 ///< told of refused streams, on any thread
};

/// A link over another one, which carries all that is small or urgent, and all while a stream is not open. The first
/// bulk packet to a peer opens a stream to it; see README.md beside this file. Thread rule: as Link.
class StreamLink final : public Link, private LinkSink {
 public:
  /// `inner` listens at an address "tcp://...".
  StreamLink(std::unique_ptr<Link> inner, StreamLinkOptions options);
  ~StreamLink() override;
  StreamLink(const StreamLink&) = delete;
  StreamLink& operator=(const StreamLink&) = delete;

  void start(LinkSink& sink) override;
  [[nodiscard]] std::string address() const override { return inner_->address(); }
  [[nodiscard]] bool guards_bytes() const override { return inner_->guards_bytes(); }
  void connect(std::string_view address) override { inner_->connect(address); }
  void connect_to(const NodeName& name, std::string_view address) override { inner_->connect_to(name, address); }
  void send(const NodeName& to, LinkLane lane, Frames packet) override;
  void disconnect(const NodeName& peer, const Farewell& farewell) override { inner_->disconnect(peer, farewell); }
  void stop() override;

  [[nodiscard]] std::optional<StreamUse> streams() const override;
  [[nodiscard]] std::map<NodeName, PeerTransport> transports() const override;

 private:
  /// The ring's way to this link, which it may outlive.
  struct KeysWatch {
    std::mutex mutex;
    StreamLink* link = nullptr;  ///< guarded by mutex; null once the link has stopped
  };

  /// One life of a peer that is up, and the stream to it.
  struct Other {
    enum class State { closed, asked, opened };
    Peer peer;
    std::optional<PublicKey> key = {};  ///< of its streams, with keys
    State state = State::closed;
    detail::StreamId id{};                            ///< unless closed
    std::optional<detail::StreamSecret> secret = {};  ///< while asked
    TimePoint answer_by{};                            ///< while asked
    TimePoint retry_at{};                             ///< while closed
    Duration retry_gap{0};                            ///< after the last failure
    TimePoint opened_at{};                            ///< while opened
    std::string last_why = {};                        ///< of the last failure that was logged
    std::string why_none = {};                        ///< there was no stream, the last time
    std::optional<TimePoint> last_opened_here = {};   ///< when the peer last opened one to this node
  };

  void on_link_up(const Peer& peer) override;
  void on_frames(const NodeName& from, Incarnation incarnation, Frames frames) override;
  void on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) override;
  void on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) override;
  void on_link_failed(const Error& why) override;
  void on_connect_failed(std::string_view address, const Error& why) override;

  void follow_keys();
  void open_stream(const NodeName& to);
  void say(const NodeName& to, const detail::StreamControl& control);
  void obey(const NodeName& from, Incarnation incarnation, const detail::StreamControl& control);
  void accept_stream(const Peer& from, const detail::StreamControl& open);
  [[nodiscard]] Result<detail::StreamControl> answer_to(const Peer& from, const detail::StreamControl& open);
  void connect_stream(const Peer& to, const detail::StreamSecret& secret, const detail::StreamControl& accept);
  [[nodiscard]] Result<Unit> connect_with(const Peer& to, const detail::StreamSecret& secret,
                                          const detail::StreamControl& accept);
  void stream_ended(detail::StreamSender::Ended ended);
  void put_off(Other& other, TimePoint now) const;
  [[nodiscard]] detail::CipherSet ciphers() const;
  [[nodiscard]] Result<detail::StreamTerms> terms_with(const Peer& peer, bool opens) const;
  [[nodiscard]] bool has_keys_of(const detail::StreamTerms& terms, const Peer& peer, bool opens) const;
  [[nodiscard]] bool is_news(const NodeName& peer, const std::string& why);
  void log(std::string_view line);
  void refuse(std::string_view line);

  const StreamLinkOptions options_;
  const std::unique_ptr<Link> inner_;
  LinkSink* sink_ = nullptr;  ///< set by start

  mutable std::mutex mutex_;
  std::map<NodeName, Other> others_;  ///< guarded by mutex_
  std::optional<PublicKey> own_key_;  ///< of all streams, with keys; guarded by mutex_
  LineAllowance lines_;               ///< guarded by mutex_
  std::uint64_t refused_ = 0;         ///< guarded by mutex_

  detail::StreamReceiver receiver_;
  detail::StreamSender sender_;
  const std::shared_ptr<KeysWatch> keys_watch_ = std::make_shared<KeysWatch>();
};

}  // namespace troupe
