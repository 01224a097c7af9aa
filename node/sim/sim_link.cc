#include "node/sim/sim_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "actors/core/wait_point.h"
#include "actors/sessions/session_header.h"
#include "node/links/peer_error.h"

namespace troupe::sim {
namespace {

/// A message's number if it carries data, and its description for the trace.
struct Kind {
  bool data = false;
  std::string text;
};

Kind kind_of(const Frames& frames) {
  const auto header = frames.empty() ? Result<SessionHeader>(Error{}) : decode_session_header(frames.front().bytes);
  if (!header) return {false, "bytes"};
  switch (header.value().kind) {
    case SessionKind::data:
      return {true, fmt::format("data {}/{}", static_cast<int>(header.value().lane), header.value().number)};
    case SessionKind::ack: return {false, fmt::format("ack {}", header.value().ack)};
    case SessionKind::probe: return {false, "probe"};
    case SessionKind::goodbye: return {false, "goodbye"};
  }
  return {false, "bytes"};
}

}  // namespace

/// A message in transit.
struct SimNetwork::Message {
  Message(std::shared_ptr<SimNetwork> n, std::shared_ptr<Connection> c, std::size_t f, std::uint64_t i, bool d,
          Frames m)
      : network(std::move(n)), connection(std::move(c)), from(f), number(i), data(d), frames(std::move(m)) {}
  ~Message() { network->counts_.lost += data && !arrived; }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  const std::shared_ptr<SimNetwork> network;
  const std::shared_ptr<Connection> connection;
  const std::size_t from;  // which of the connection's ends sent it
  const std::uint64_t number;
  const bool data;
  Frames frames;
  bool arrived = false;
};

std::shared_ptr<SimNetwork::Connection> SimNetwork::find(const NodeName& a, const NodeName& b) const {
  const auto found = connections_.find(std::minmax(a, b));
  return found == connections_.end() ? nullptr : found->second;
}

void SimNetwork::connect(const End& end, const std::string& address) {
  schedule_->at(schedule_->now() + schedule_->choices().around(faults_.delay_mean), end->self.name,
                "connect " + address, [self = shared_from_this(), end, address] { self->open(end, address); });
}

void SimNetwork::open(const End& end, const std::string& address) {
  if (end->closed || end->sink == nullptr) return;
  const auto found = listening_.find(address);
  if (found == listening_.end() || found->second->sink == nullptr) {
    Error error{.code = ErrorCode::peer_unreachable,
                .message = "no node listens at " + address,
                .endpoint = address,
                .execution = Execution::never};
    return end->sink->on_connect_failed(address, error);
  }
  const End peer = found->second;
  if (peer == end || find(end->self.name, peer->self.name)) return;
  auto connection = std::make_shared<Connection>();
  connection->ends = {end, peer};
  connections_.emplace(std::minmax(end->self.name, peer->self.name), connection);
  for (const auto& [one, other] : {std::pair{end, peer}, std::pair{peer, end}}) {
    one->detector.watch(other->self.name, other->self.incarnation, other->lease, schedule_->now());
    one->watched.insert_or_assign(other->self.name, connection);
    beat_at(schedule_->now(), one);
    one->sink->on_link_up(other->self);
  }
}

void SimNetwork::beat_at(TimePoint due, const End& end) {
  if (end->beat) schedule_->cancel(*end->beat);
  end->beat = schedule_->at(due, end->self.name, "pulse", [self = shared_from_this(), end] { self->beat(end); });
}

void SimNetwork::beat(const End& end) {
  end->beat.reset();
  if (end->closed) return;
  const FailureDetector::Verdicts verdicts = end->detector.tick(schedule_->now());
  for (const FailureDetector::Heartbeat& heartbeat : verdicts.heartbeats) send_beat(end, heartbeat);
  if (verdicts.next) beat_at(*verdicts.next, end);
  for (const FailureDetector::Event& event : verdicts.events) tell(end, event);
}

void SimNetwork::send_beat(const End& end, const FailureDetector::Heartbeat& heartbeat) {
  const auto connection = find(end->self.name, heartbeat.peer);
  if (!connection || is_lost(end->self.name, heartbeat.peer)) return;
  const std::size_t from = connection->ends[0] == end ? 0 : 1;
  schedule_->at(
      schedule_->now() + schedule_->choices().around(faults_.delay_mean), heartbeat.peer,
      "heartbeat from " + end->self.name, [self = shared_from_this(), connection, from, said = heartbeat.said] {
        const End& receiver = connection->ends[1 - from];
        if (!connection->from[from].open || receiver->sink == nullptr) return;
        const Peer& sender = connection->ends[from]->self;
        const auto event = receiver->detector.heard(sender.name, sender.incarnation, said, self->schedule_->now());
        if (event) tell(receiver, *event);
      });
}

/// The end `by` watches the other one no longer, unless they have another connection since: of its next life, or anew.
void SimNetwork::forget(const std::shared_ptr<Connection>& connection, std::size_t by) {
  Endpoint& end = *connection->ends[by];
  const NodeName& peer = connection->ends[1 - by]->self.name;
  const auto watched = end.watched.find(peer);
  if (watched == end.watched.end() || watched->second.lock() != connection) return;
  end.watched.erase(watched);
  end.detector.forget(peer);
}

void SimNetwork::tell(const End& end, const FailureDetector::Event& event) {
  if (end->sink != nullptr) end->sink->on_reach(event.peer, event.incarnation, event.change, event.silence);
}

bool SimNetwork::is_lost(const NodeName& from, const NodeName& to) {
  return cuts_.contains({from, to}) || schedule_->choices().chance(faults_.drop);
}

void SimNetwork::send(const End& end, const NodeName& to, LinkLane lane, Frames frames) {
  const auto connection = find(end->self.name, to);
  if (end->closed || !connection) return;
  const std::size_t from = connection->ends[0] == end ? 0 : 1;
  Direction& direction = connection->from[from];
  const Kind kind = kind_of(frames);
  const std::uint64_t number = ++direction.sent;
  Choices& choices = schedule_->choices();
  counts_.sent += kind.data;
  if (is_lost(end->self.name, to)) {
    counts_.dropped += kind.data;
    schedule_->remark(end->self.name, fmt::format("{} to {} is dropped", kind.text, to));
    return;
  }
  const int copies = choices.chance(faults_.duplicate) ? 2 : 1;
  if (copies == 2) counts_.duplicated += kind.data;
  for (int copy = 0; copy < copies; ++copy) {
    TimePoint due = schedule_->now() + choices.around(faults_.delay_mean);
    TimePoint& due_last = direction.due_last[static_cast<std::size_t>(lane)];
    if (!choices.chance(faults_.reorder)) due = due_last = std::max(due, due_last + Duration(1));
    direction.due_max = std::max(direction.due_max, due);
    auto message = std::make_shared<Message>(shared_from_this(), connection, from, number, kind.data, frames);
    schedule_->at(due, to, fmt::format("{} from {}", kind.text, end->self.name),
                  [message = std::move(message)] { message->network->arrive(*message); });
  }
}

void SimNetwork::arrive(Message& message) {
  Direction& direction = message.connection->from[message.from];
  Endpoint& receiver = *message.connection->ends[1 - message.from];
  if (!direction.open || receiver.sink == nullptr) return;
  message.arrived = true;
  counts_.arrived += message.data;
  counts_.reordered += message.data && message.number < direction.arrived_last;
  direction.arrived_last = std::max(direction.arrived_last, message.number);
  const Peer& sender = message.connection->ends[message.from]->self;
  receiver.sink->on_frames(sender.name, sender.incarnation, std::move(message.frames));
}

void SimNetwork::close(const std::shared_ptr<Connection>& connection, std::size_t by, Closing closing,
                       const Error& why) {
  const End& closer = connection->ends[by];
  const End& other = connection->ends[1 - by];
  connection->from[1 - by].open = false;
  connections_.erase(std::minmax(closer->self.name, other->self.name));
  forget(connection, by);
  if (closing == Closing::none) return;
  if (const auto cut = cuts_.find({closer->self.name, other->self.name}); cut != cuts_.end()) {
    cut->second.push_back([this, connection, by, why] { tell_closed(connection, by, Closing::cut, why); });
    return;
  }
  tell_closed(connection, by, closing, why);
}

void SimNetwork::heal(const NodeName& from, const NodeName& to) {
  const auto healed = cuts_.extract({from, to});
  if (healed.empty()) return;
  for (const auto& action : healed.mapped()) action();
}

void SimNetwork::tell_closed(const std::shared_ptr<Connection>& connection, std::size_t by, Closing closing,
                             const Error& why) {
  const End& closer = connection->ends[by];
  const End& other = connection->ends[1 - by];
  TimePoint due = schedule_->now() + schedule_->choices().around(faults_.delay_mean);
  if (closing == Closing::after_all) due = std::max(due, connection->from[by].due_max + Duration(1));
  schedule_->at(due, other->self.name, "close from " + closer->self.name, [connection, by, why] {
    connection->from[by].open = false;
    forget(connection, 1 - by);
    if (LinkSink* sink = connection->ends[1 - by]->sink) {
      const Peer& gone = connection->ends[by]->self;
      sink->on_link_down(gone.name, gone.incarnation, why);
    }
  });
}

void SimNetwork::disconnect(const End& end, const NodeName& from, const Farewell& farewell) {
  const auto connection = find(end->self.name, from);
  if (end->closed || !connection) return;
  const std::size_t by = connection->ends[0] == end ? 0 : 1;
  const Peer peer = connection->ends[1 - by]->self;
  if (farewell.life.value_or(peer.incarnation) != peer.incarnation) return;
  close(connection, by, Closing::after_all, detail::peer_error(end->self, farewell.code, farewell.message));
  schedule_->at(schedule_->now(), end->self.name, "close to " + from, [end, peer] {
    if (end->sink == nullptr) return;
    end->sink->on_link_down(peer.name, peer.incarnation,
                            detail::peer_error(peer, ErrorCode::cancelled, "disconnected by this node"));
  });
}

void SimNetwork::close_all(const End& end, Closing closing) {
  end->closed = true;
  end->sink = nullptr;
  const Error why = detail::peer_error(end->self, ErrorCode::peer_down, "connection closed");
  std::vector<std::shared_ptr<Connection>> open;
  for (const auto& [pair, connection] : connections_) {
    if (connection->ends[0] == end || connection->ends[1] == end) open.push_back(connection);
  }
  for (const auto& connection : open) close(connection, connection->ends[0] == end ? 0 : 1, closing, why);
  if (const auto mine = listening_.find(end->self.address); mine != listening_.end() && mine->second == end) {
    listening_.erase(mine);
  }
}

SimLink::SimLink(std::shared_ptr<SimNetwork> network, NodeName name, Incarnation incarnation,
                 FailureDetectorOptions silence)
    : network_(std::move(network)),
      end_(std::make_shared<SimNetwork::Endpoint>(
          Peer{.name = name, .incarnation = incarnation, .address = "sim://" + name}, silence)) {
  network_->listening_.insert_or_assign(end_->self.address, end_);
}

SimLink::~SimLink() { stop(); }

namespace {

/// Sees the waits of threads without a hook. A thread that the world knows has one: such a thread would wait in real
/// time, also for virtual times, while the function that started it has the baton.
class WaitOfStranger final : public detail::WaitingWork {
 public:
  explicit WaitOfStranger(std::shared_ptr<Schedule> schedule) : schedule_(std::move(schedule)) {}

 private:
  std::optional<bool> work_until(detail::WaitPoint& /*point*/, std::optional<TimePoint> /*due*/) override {
    schedule_->require_baton("wait for a future");
    return std::nullopt;
  }
  std::optional<bool> work_while_idle(detail::WaitPoint& /*point*/) override { return std::nullopt; }

  const std::shared_ptr<Schedule> schedule_;
};

}  // namespace

std::shared_ptr<detail::WaitingWork> SimLink::receiving() const {
  return std::make_shared<WaitOfStranger>(network_->schedule_);
}

void SimLink::connect(std::string_view address) { network_->connect(end_, std::string(address)); }

void SimLink::send(const NodeName& to, LinkLane lane, Frames packet) {
  network_->send(end_, to, lane, std::move(packet));
}

void SimLink::disconnect(const NodeName& peer, const Farewell& farewell) { network_->disconnect(end_, peer, farewell); }

void SimLink::stop() {
  if (!end_->closed) network_->close_all(end_, SimNetwork::Closing::after_all);
}

void SimLink::kill(Death death) {
  network_->close_all(end_, death == Death::closed ? SimNetwork::Closing::cut : SimNetwork::Closing::none);
}

}  // namespace troupe::sim
