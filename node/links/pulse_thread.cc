#include "node/links/pulse_thread.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "actors/core/guarded.h"

namespace troupe {
namespace {

// Bounds a turn, so that a flood of foreign datagrams does not delay this node's beats.
constexpr std::size_t kDatagramsPerTurn = 4096;
constexpr std::size_t kDatagramsPerInbox = 256;

TimePoint now() { return std::chrono::steady_clock::now(); }

}  // namespace

void PulseThread::start(Tell tell, Failed failed) {
  if (thread_.joinable()) throw std::logic_error("[pulse] start: it was started before");
  tell_ = std::move(tell);
  failed_ = std::move(failed);
  thread_ = std::thread([this] { run(); });
}

void PulseThread::give(Order order) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    orders_.push_back(std::move(order));
  }
  wake_up_.ring();
}

PulseThread::Inbox PulseThread::open_inbox(std::uint32_t slot, std::string_view advertised) const {
  std::optional<DatagramSocket> own = socket_.open_for_one(slot);
  if (!own) return {.address = address_beside(advertised), .socket = nullptr};
  std::string address = own->address_beside(advertised);
  return {.address = std::move(address), .socket = std::make_shared<DatagramSocket>(*std::move(own))};
}

void PulseThread::trust(std::uint32_t slot, const NodeName& peer, Incarnation incarnation, const PulseKey& key,
                        Inbox inbox) {
  give([this, slot, peer, incarnation, key, socket = std::move(inbox.socket)](Pulse& pulse, TimePoint) {
    pulse.trust(slot, peer, incarnation, key);
    if (socket) inboxes_.insert_or_assign(slot, socket);
  });
}

void PulseThread::distrust(std::uint32_t slot) {
  give([this, slot](Pulse& pulse, TimePoint) {
    pulse.distrust(slot);
    inboxes_.erase(slot);
  });
}

void PulseThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_up_.ring();
  if (thread_.joinable()) thread_.join();
}

void PulseThread::run() {
  try {
    serve();
  } catch (...) {
    failed_(detail::failure_of_current_exception("the pulse"));
  }
}

void PulseThread::serve() {
  while (obey()) {
    read();
    beat();
    wait();
  }
}

bool PulseThread::obey() {
  std::vector<Order> orders;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return false;
    orders.swap(orders_);
  }
  for (const Order& order : orders) order(pulse_, now());
  return true;
}

void PulseThread::read() {
  std::vector<pollfd> all{{.fd = socket_.descriptor(), .events = POLLIN, .revents = 0}};
  for (const auto& [slot, inbox] : inboxes_) all.push_back({.fd = inbox->descriptor(), .events = POLLIN, .revents = 0});
  if (::poll(all.data(), all.size(), 0) == 0) return;
  auto place = all.begin();
  if (place->revents != 0) read(socket_, kDatagramsPerTurn);
  for (const auto& [slot, inbox] : inboxes_) {
    if ((++place)->revents != 0) read(*inbox, kDatagramsPerInbox);
  }
}

void PulseThread::read(const DatagramSocket& socket, std::size_t most) {
  constexpr std::size_t kMarkBytes = std::tuple_size_v<PulseMark>;
  static_assert(sizeof(Datagram::bytes) > kMarkBytes + Beat::kBytes);  // a longer datagram is not taken for a beat
  DatagramSocket::Batch batch;
  std::size_t count = batch.size();
  for (std::size_t all = 0; count == batch.size() && all < most; all += count) {
    count = socket.receive(batch);
    for (const Datagram& datagram : std::span(batch).first(count)) {
      const auto beat = datagram.content().subspan(std::min(datagram.size, kMarkBytes));
      if (const auto event = pulse_.take(beat, now(), datagram.file)) tell_(*event);
    }
  }
}

void PulseThread::beat() {
  const Pulse::Due due = pulse_.tick(now());
  for (const Pulse::GivePage& give : due.gives) give(pulse_.page());
  std::vector<DatagramSocket::Letter> letters;
  for (const Pulse::Outgoing& beat : due.beats) {
    if (beat.file >= 0) socket_.send(beat.to, beat.bytes, beat.file);
    else letters.push_back({&beat.to, beat.bytes});
  }
  socket_.send_all(letters);
  for (const FailureDetector::Event& event : due.events) tell_(event);
  next_ = due.next;
}

void PulseThread::wait() {
  pollfd readable{.fd = wake_up_.descriptor(), .events = POLLIN, .revents = 0};
  timespec timeout{};
  if (next_) {
    const Duration left = std::max(*next_ - now(), Duration{0});
    timeout.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
    timeout.tv_nsec = (left % std::chrono::seconds{1}).count();
  }
  if (::ppoll(&readable, 1, next_ ? &timeout : nullptr, nullptr) == 1) wake_up_.silence();
}

}  // namespace troupe
