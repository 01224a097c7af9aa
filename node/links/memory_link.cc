#include "node/links/memory_link.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include "actors/core/guarded.h"
#include "node/links/peer_error.h"

namespace troupe {
namespace {

struct Up {
  Peer peer;
};
struct Arrived {
  NodeName from;
  Incarnation incarnation;
  Frames frames;
};
struct Down {
  NodeName peer;
  Incarnation incarnation;
  Error why;
};
struct ConnectFailed {
  std::string address;
  Error why;
};
using Event = std::variant<Up, Arrived, Down, ConnectFailed>;

struct Deliver {
  LinkSink& sink;
  void operator()(Up& event) const { sink.on_link_up(event.peer); }
  void operator()(Arrived& event) const { sink.on_frames(event.from, event.incarnation, std::move(event.frames)); }
  void operator()(Down& event) const { sink.on_link_down(event.peer, event.incarnation, event.why); }
  void operator()(ConnectFailed& event) const { sink.on_connect_failed(event.address, event.why); }
};

}  // namespace

/// One link as the hub sees it. Every field but `self` is guarded by the hub's mutex.
struct MemoryLink::Endpoint {
  explicit Endpoint(Peer who) : self(std::move(who)) {}

  const Peer self;
  LinkSink* sink = nullptr;  ///< null before start and after stop
  bool stopped = false;
  std::set<Endpoint*> peers;  ///< up with; symmetric; those in it are registered in the hub
  std::deque<Event> inbox;
  std::optional<std::thread::id> draining;  ///< the thread that calls the sink
};

/// All endpoints of one hub behind one mutex, held only to move events, never while a sink is called.
struct MemoryHub::State {
  using Endpoint = MemoryLink::Endpoint;
  using Shared = std::shared_ptr<Endpoint>;

  std::mutex mutex;
  std::condition_variable drained;
  std::map<std::string, Shared, std::less<>> listening;  ///< by address; guarded by mutex

  /// Calls the sink of `to` with its queued events, unless another call to it is running: that one continues with them.
  void drain(const Shared& to) {
    std::unique_lock lock(mutex);
    if (to->draining) return;
    to->draining = std::this_thread::get_id();
    while (to->sink != nullptr && !to->inbox.empty()) {
      Event event = std::move(to->inbox.front());
      to->inbox.pop_front();
      LinkSink& sink = *to->sink;
      lock.unlock();
      try {
        std::visit(Deliver{sink}, event);
      } catch (...) {  // concerns the receiver, not the sender whose thread this is
        sink.on_link_failed(detail::failure_of_current_exception("the link"));
      }
      lock.lock();
    }
    to->draining.reset();
    drained.notify_all();
  }

  [[nodiscard]] Shared find(Endpoint* endpoint) {  // requires mutex
    return listening.find(endpoint->self.address)->second;
  }

  [[nodiscard]] Shared peer_named(const Endpoint& of, const NodeName& name) {  // requires mutex
    for (Endpoint* peer : of.peers) {
      if (peer->self.name == name) return find(peer);
    }
    return nullptr;
  }

  void part(Endpoint& left, Endpoint& right, const Error& for_left, const Error& for_right) {  // requires mutex
    left.peers.erase(&right);
    right.peers.erase(&left);
    left.inbox.push_back(Down{right.self.name, right.self.incarnation, for_left});
    right.inbox.push_back(Down{left.self.name, left.self.incarnation, for_right});
  }
};

MemoryHub::MemoryHub() : state_(std::make_shared<State>()) {}
MemoryHub::~MemoryHub() = default;

MemoryLink::MemoryLink(MemoryHub& hub, NodeName name, Incarnation incarnation)
    : hub_(hub.state_),
      self_(std::make_shared<Endpoint>(Peer{.name = name, .incarnation = incarnation, .address = "memory://" + name})) {
  const std::lock_guard lock(hub_->mutex);
  hub_->listening.try_emplace(self_->self.address, self_);
}

MemoryLink::~MemoryLink() { stop(); }

void MemoryLink::start(LinkSink& sink) {
  {
    const std::lock_guard lock(hub_->mutex);
    if (self_->stopped) return;
    self_->sink = &sink;
  }
  hub_->drain(self_);
}

std::string MemoryLink::address() const { return self_->self.address; }

void MemoryLink::connect(std::string_view address) {
  std::shared_ptr<Endpoint> peer;
  {
    const std::lock_guard lock(hub_->mutex);
    if (self_->stopped) return;
    const auto found = hub_->listening.find(address);
    const auto fail = [&](ErrorCode code, std::string message) {
      self_->inbox.push_back(ConnectFailed{std::string(address), Error{.code = code,
                                                                       .message = std::move(message),
                                                                       .endpoint = std::string(address),
                                                                       .execution = Execution::never}});
    };
    if (const auto mine = hub_->listening.find(self_->self.address);
        mine == hub_->listening.end() || mine->second != self_ || (found != hub_->listening.end() && found == mine)) {
      fail(ErrorCode::name_in_use, "another node is up under the name " + self_->self.name);
    } else if (found == hub_->listening.end()) {
      fail(ErrorCode::peer_unreachable, "no node listens at " + std::string(address));
    } else if (self_->peers.insert(found->second.get()).second) {
      peer = found->second;
      peer->peers.insert(self_.get());
      peer->inbox.push_back(Up{self_->self});
      self_->inbox.push_back(Up{peer->self});
    }
  }
  hub_->drain(self_);
  if (peer) hub_->drain(peer);
}

void MemoryLink::send(const NodeName& to, LinkLane /*lane*/, Frames packet) {
  std::shared_ptr<Endpoint> peer;
  Event arrived = Arrived{self_->self.name, self_->self.incarnation, std::move(packet)};  // outlives the lock
  {
    const std::lock_guard lock(hub_->mutex);
    peer = hub_->peer_named(*self_, to);
    if (!peer) return;
    peer->inbox.push_back(std::move(arrived));
  }
  hub_->drain(peer);
}

void MemoryLink::disconnect(const NodeName& to, const Farewell& farewell) {
  std::shared_ptr<Endpoint> peer;
  {
    const std::lock_guard lock(hub_->mutex);
    peer = hub_->peer_named(*self_, to);
    if (!peer || peer->self.incarnation != farewell.life.value_or(peer->self.incarnation)) return;
    hub_->part(*self_, *peer, detail::peer_error(peer->self, ErrorCode::cancelled, "disconnected by this node"),
               detail::peer_error(self_->self, farewell.code, farewell.message));
  }
  hub_->drain(self_);
  hub_->drain(peer);
}

void MemoryLink::stop() {
  std::deque<Event> dropped;  // destroyed after the lock: frames may own anything
  std::vector<std::shared_ptr<Endpoint>> left;
  {
    std::unique_lock lock(hub_->mutex);
    if (!self_->stopped) {
      self_->stopped = true;
      self_->sink = nullptr;
      const Error closed = detail::peer_error(self_->self, ErrorCode::peer_down, "connection closed");
      while (!self_->peers.empty()) {
        left.push_back(hub_->find(*self_->peers.begin()));
        hub_->part(*self_, *left.back(), closed, closed);
      }
      if (const auto mine = hub_->listening.find(self_->self.address);
          mine != hub_->listening.end() && mine->second == self_) {
        hub_->listening.erase(mine);
      }
    }
    hub_->drained.wait(lock, [&] { return !self_->draining || self_->draining == std::this_thread::get_id(); });
    dropped.swap(self_->inbox);
  }
  for (const auto& peer : left) hub_->drain(peer);
}

}  // namespace troupe
