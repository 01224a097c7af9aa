#include "node/links/streams/stream_sender.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include "actors/core/guarded.h"
#include "actors/sessions/parcel.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kPendingMin = std::size_t{512} << 10;  ///< with less to write, more packets are encrypted
constexpr int kRoundsPerTurn = 16;                           ///< then other streams have theirs

}  // namespace

StreamSender::StreamSender(const StreamSenderOptions& options, std::function<void(Ended)> ended,
                           std::function<void(const Error&)> failed)
    : options_(options), ended_(std::move(ended)), failed_(std::move(failed)) {}

void StreamSender::open(const NodeLife& peer, const StreamId& id, const StreamKey& key, Cipher cipher,
                        const SocketAddress& to) {
  auto stream = OutStream::connect(to, id, key, cipher, options_.silence_max);
  if (!stream) return ended_({.peer = peer, .id = id, .why = stream.error().message, .left = {}});
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    auto lane = std::make_shared<Lane>(Lane{.peer = peer, .id = id, .queue = {}});
    std::shared_ptr<Lane>& known = lanes_[peer.name];
    if (known) known->closed = true;
    known = lane;
    fresh_.push_back({.lane = std::move(lane),
                      .stream = std::move(stream).value(),
                      .connect_by = std::chrono::steady_clock::now() + options_.connect_patience});
  }
  wake_up_.ring();
}

bool StreamSender::send(const NodeName& peer, Frames& packet) {
  bool ring = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = lanes_.find(peer);
    if (found == lanes_.end() || !found->second->open) return false;
    Lane& lane = *found->second;
    const std::size_t bytes = size_of(packet);
    if (!lane.queue.empty() && lane.bytes + bytes > options_.backlog_bytes_max) {
      ++dropped_;
      return true;
    }
    lane.queue.push_back(std::move(packet));
    lane.bytes += bytes;
    ++packets_;
    ring = std::exchange(waiting_, false);
  }
  if (ring) wake_up_.ring();
  return true;
}

void StreamSender::close(const NodeName& peer) {
  {
    const std::lock_guard lock(mutex_);
    const auto lane = lanes_.extract(peer);
    if (lane.empty()) return;
    lane.mapped()->open = false;
    lane.mapped()->closed = true;
  }
  wake_up_.ring();
}

void StreamSender::stop() {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    thread = std::move(thread_);
  }
  wake_up_.ring();
  if (thread.joinable()) thread.join();
}

bool StreamSender::is_open(const NodeName& peer) const {
  const std::lock_guard lock(mutex_);
  const auto found = lanes_.find(peer);
  return found != lanes_.end() && found->second->open;
}

std::size_t StreamSender::open_streams() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(lanes_, [](const auto& each) { return each.second->open; }));
}

std::uint64_t StreamSender::packets() const {
  const std::lock_guard lock(mutex_);
  return packets_;
}

std::uint64_t StreamSender::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void StreamSender::run() {
  try {
    while (take_orders()) poll_streams();
  } catch (...) {
    const Error why = failure_of_current_exception("the sender of streams");
    {  // nobody would send what is queued from now on
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      lanes_.clear();
      fresh_.clear();
    }
    failed_(why);
  }
  running_.clear();
}

bool StreamSender::take_orders() {
  const std::lock_guard lock(mutex_);
  if (stopped_) return false;
  std::ranges::move(fresh_, std::back_inserter(running_));
  fresh_.clear();
  std::erase_if(running_, [](const Running& each) { return each.lane->closed && !each.worn; });
  waiting_ = std::ranges::none_of(running_, [this](const Running& each) { return has_work(each); });
  return true;
}

// Of a stream whose connection takes nothing now, poll tells when it does. REQUIRES: mutex_ is held.
bool StreamSender::has_work(const Running& running) const {
  return running.lane->open && !running.lane->queue.empty() && running.stream.pending() == 0;
}

void StreamSender::poll_streams() {
  std::vector<pollfd> descriptors{{.fd = wake_up_.descriptor(), .events = POLLIN, .revents = 0}};
  std::optional<TimePoint> due;
  for (const Running& each : running_) {
    const bool waits = each.connect_by || each.stream.pending() > 0;
    // The peer writes nothing here: readable means that it has closed the connection.
    descriptors.push_back({.fd = each.stream.descriptor(),
                           .events = static_cast<short>(POLLIN | POLLRDHUP | (waits ? POLLOUT : 0)),
                           .revents = 0});
    if (each.connect_by) due = due ? std::min(*due, *each.connect_by) : each.connect_by;
  }
  bool sleeps = false;
  {
    const std::lock_guard lock(mutex_);
    sleeps = waiting_;
  }
  int timeout = sleeps ? -1 : 0;
  if (sleeps && due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - std::chrono::steady_clock::now());
    timeout = static_cast<int>(std::max<std::int64_t>(0, left.count()));
  }
  (void)::poll(descriptors.data(), descriptors.size(), timeout);
  if (descriptors.front().revents != 0) wake_up_.silence();
  const TimePoint now = std::chrono::steady_clock::now();
  std::vector<Running> kept;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (work_on(running_[i], descriptors[i + 1].revents, now) == Keep::yes) kept.push_back(std::move(running_[i]));
  }
  running_ = std::move(kept);
}

StreamSender::Keep StreamSender::work_on(Running& running, short events, TimePoint now) {
  if (running.connect_by) {
    if (events == 0 && now < *running.connect_by) return Keep::yes;
    const auto connected = events != 0 ? running.stream.connected()
                                       : make_error(ErrorCode::peer_unreachable, "it did not accept a connection");
    if (!connected) {
      end(running, connected.error().message);
      return Keep::no;
    }
    running.connect_by.reset();
    const std::lock_guard lock(mutex_);
    running.lane->open = !running.lane->closed;
  } else if ((events & (POLLIN | POLLRDHUP | POLLHUP | POLLERR)) != 0) {
    const auto written = running.stream.write();  // its error says why
    end(running, written ? "the peer closed the connection" : written.error().message);
    return Keep::no;
  }
  return pump(running);
}

StreamSender::Keep StreamSender::pump(Running& running) {
  for (int round = 0; round < kRoundsPerTurn; ++round) {
    if (running.stream.pending() < kPendingMin && !running.worn) {
      try {
        std::vector<Frames> packets = take_packets(*running.lane, kPendingMin);
        for (Frames& packet : packets) running.stream.put(std::exchange(packet, {}));
      } catch (const std::exception&) {  // out of memory, also in the form of the tensor allocator's own exception
        end(running, "no memory for a record");
        return Keep::no;
      }
    }
    const bool is_worn =
        running.stream.records() >= options_.records_max || running.stream.bytes() >= options_.bytes_max;
    if (is_worn && !running.worn) wear_out(running);
    if (running.stream.pending() == 0) return running.worn ? Keep::no : Keep::yes;
    if (const auto written = running.stream.write(); !written) {
      end(running, written.error().message);
      return Keep::no;
    }
    if (running.stream.pending() > 0) return Keep::yes;  // poll tells when it takes more
  }
  return Keep::yes;
}

std::vector<Frames> StreamSender::take_packets(Lane& lane, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  std::vector<Frames> packets;
  std::size_t taken = 0;
  while (lane.open && !lane.queue.empty() && taken < bytes) {
    const std::size_t size = size_of(lane.queue.front());
    taken += size;
    lane.bytes -= size;
    packets.push_back(std::move(lane.queue.front()));
    lane.queue.pop_front();
  }
  return packets;
}

/// Reports the end of a stream, once.
void StreamSender::end(const Running& running, std::string why) {
  Ended ended{
      .peer = running.lane->peer, .id = running.lane->id, .worn = running.worn, .why = std::move(why), .left = {}};
  {
    const std::lock_guard lock(mutex_);
    Lane& lane = *running.lane;
    if (std::exchange(lane.closed, true)) return;
    ended.was_open = std::exchange(lane.open, false);
    std::ranges::move(lane.queue, std::back_inserter(ended.left));
    lane.queue.clear();
    const auto known = lanes_.find(lane.peer.name);
    if (known != lanes_.end() && known->second == running.lane) lanes_.erase(known);
  }
  ended_(std::move(ended));
}

// What was put is still written.
void StreamSender::wear_out(Running& running) {
  running.worn = true;
  end(running, {});
}

}  // namespace troupe::detail
