#include "node/links/streams/stream_sender.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <system_error>
#include <utility>

#include "actors/core/guarded.h"
#include "actors/sessions/parcel.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kPendingMin = std::size_t{512} << 10;  ///< with less to write, more packets are encrypted
constexpr int kRoundsPerTurn = 16;                           ///< then other streams have theirs
constexpr ReadySet::Key kOrders = 0;                         ///< the wake-up; streams are numbered from 1 on

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
    if (!thread_.joinable()) {
      ready_.emplace();
      if (const auto watched = ready_->add(wake_up_.descriptor(), kOrders); !watched)
        throw std::system_error(std::make_error_code(std::errc::no_space_on_device), watched.error().message);
      thread_ = std::thread([this] { run(); });
    }
    auto lane = std::make_shared<Lane>(Lane{.peer = peer, .id = id, .key = ++last_key_, .queue = {}});
    std::shared_ptr<Lane>& known = lanes_[peer.name];
    if (known) known->closed = closed_any_ = true;
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
    if (!lane.listed) filled_.push_back(found->second);
    lane.listed = true;
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
    decltype(lanes_)::node_type lane;  // outlives the lock
    const std::lock_guard lock(mutex_);
    lane = lanes_.extract(peer);
    if (lane.empty()) return;
    lane.mapped()->open = false;
    lane.mapped()->closed = closed_any_ = true;
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
    while (take_orders()) work();
  } catch (...) {
    const Error why = failure_of_current_exception("the sender of streams");
    {                          // nobody would send what is queued from now on
      decltype(lanes_) lanes;  // outlive the lock
      decltype(fresh_) fresh;
      decltype(filled_) filled;
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      lanes.swap(lanes_);
      fresh.swap(fresh_);
      filled.swap(filled_);
    }
    failed_(why);
  }
  ready_.reset();
  running_.clear();
}

bool StreamSender::take_orders() {
  std::vector<Running> fresh;
  // What is closed ends after the lock: the frames that wait for it are others' objects, which may be many.
  std::vector<Running> never_started;
  std::vector<std::shared_ptr<Lane>> filled;
  Streams closed;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return false;
    for (Running& each : fresh_) (each.lane->closed ? never_started : fresh).push_back(std::move(each));
    fresh_.clear();
    filled.swap(filled_);
    for (const std::shared_ptr<Lane>& lane : filled) {
      to_do_.insert(lane->key);
      lane->listed = false;
    }
    for (auto at = running_.begin(); closed_any_ && at != running_.end();) {
      const auto current = at++;
      if (current->second.lane->closed && !current->second.worn) closed.insert(running_.extract(current));
    }
    closed_any_ = false;
    waiting_ = to_do_.empty();
  }
  for (const auto& [key, running] : closed) forget(key, running);
  for (Running& each : fresh) start(std::move(each));
  return true;
}

void StreamSender::start(Running fresh) {
  const ReadySet::Key key = fresh.lane->key;
  const int descriptor = fresh.stream.descriptor();
  if (const auto watched = ready_->add(descriptor, key); !watched) return end(fresh, watched.error().message);
  ready_->watch_room(descriptor, key, ReadySet::Room::watched);
  running_.emplace(key, std::move(fresh));
  connecting_.insert(key);
}

void StreamSender::close(Streams::iterator at) {
  forget(at->first, at->second);
  running_.erase(at);
}

void StreamSender::forget(ReadySet::Key key, const Running& running) {
  ready_->remove(running.stream.descriptor());
  connecting_.erase(key);
}

void StreamSender::work() {
  bool sleeps = false;
  {
    const std::lock_guard lock(mutex_);
    sleeps = waiting_;
  }
  Duration timeout{sleeps ? -1 : 0};
  if (sleeps && !connecting_.empty()) {
    const TimePoint due = *running_.at(*connecting_.begin()).connect_by;
    timeout = std::max(Duration{0}, due - std::chrono::steady_clock::now());
  }
  const std::vector<ReadySet::Event> events = ready_->wait_for_room(timeout);
  std::set<ReadySet::Key> to_do = std::exchange(to_do_, {});
  for (const ReadySet::Event& event : events) {
    to_do.erase(event.key);
    if (event.key == kOrders) {
      wake_up_.silence();
    } else if (const auto at = running_.find(event.key); at != running_.end()) {
      work_on(at, &event);
    }
  }
  const TimePoint now = std::chrono::steady_clock::now();
  while (!connecting_.empty() && now >= *running_.at(*connecting_.begin()).connect_by)
    work_on(running_.find(*connecting_.begin()), nullptr);
  for (const ReadySet::Key key : to_do) {
    const auto at = running_.find(key);
    // One whose connection takes nothing goes on once it has room.
    if (at != running_.end() && at->second.stream.pending() == 0) work_on(at, nullptr);
  }
}

/// `event` is null if its packets are to be written, or if it has not connected in time.
void StreamSender::work_on(Streams::iterator at, const ReadySet::Event* event) {
  Running& running = at->second;
  const Keep keep = running.connect_by ? connected(running, event) : written(running, event);
  if (keep == Keep::no) return close(at);
  const bool waits = running.stream.pending() > 0;
  if (std::exchange(running.waits_for_room, waits) == waits) return;
  ready_->watch_room(running.stream.descriptor(), at->first,
                     waits ? ReadySet::Room::watched : ReadySet::Room::unwatched);
}

StreamSender::Keep StreamSender::connected(Running& running, const ReadySet::Event* event) {
  const auto connected = event != nullptr ? running.stream.connected()
                                          : make_error(ErrorCode::peer_unreachable, "it did not accept a connection");
  if (!connected) {
    end(running, connected.error().message);
    return Keep::no;
  }
  running.connect_by.reset();
  connecting_.erase(running.lane->key);
  {
    const std::lock_guard lock(mutex_);
    running.lane->open = !running.lane->closed;
  }
  return pump(running);
}

StreamSender::Keep StreamSender::written(Running& running, const ReadySet::Event* event) {
  // The peer writes nothing here: readable means that it has closed the connection.
  if (event == nullptr || !event->is_readable) return pump(running);
  const auto written = running.stream.write();  // its error says why
  end(running, written ? "the peer closed the connection" : written.error().message);
  return Keep::no;
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
    if (running.stream.pending() > 0) return Keep::yes;  // goes on once it has room
  }
  to_do_.insert(running.lane->key);
  return Keep::yes;
}

std::vector<Frames> StreamSender::take_packets(Lane& lane, std::size_t bytes) {
  std::vector<Frames> packets;
  std::size_t taken = 0;
  const std::lock_guard lock(mutex_);
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
