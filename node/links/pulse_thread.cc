#include "node/links/pulse_thread.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "actors/core/guarded.h"

namespace troupe {
namespace {

// Bounds a turn, so that a flood of foreign datagrams does not delay this node's beats.
constexpr int kDatagramsPerTurn = 4096;

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
  std::array<std::byte, Beat::kBytes + 1> buffer{};  // one more, so that a longer datagram is not taken for a beat
  for (int i = 0; i < kDatagramsPerTurn; ++i) {
    const auto datagram = socket_.receive(buffer);
    if (!datagram) return;
    if (const auto event = pulse_.take(*datagram, now())) tell_(*event);
  }
}

void PulseThread::beat() {
  const Pulse::Due due = pulse_.tick(now());
  for (const Pulse::Outgoing& beat : due.beats) socket_.send(beat.to, beat.bytes);
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
