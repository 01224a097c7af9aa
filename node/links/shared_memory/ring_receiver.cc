#include "node/links/shared_memory/ring_receiver.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <system_error>
#include <utility>

#include "actors/core/guarded.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kPacketsPerTurn = 64;  // of one ring, before others have theirs

// No ring has more at once. What a peer still writes while its ring is removed is lost with the connection.
constexpr std::size_t kPacketsLeftMax = kRingBytes / 8;

/// Wakes a thread of this process that sleeps at a berth; what that thread receives itself needs no waking.
class Waker final : public WaitPoint::Waker {
 public:
  Waker(const Doorbell& doorbell, Berth berth) : doorbell_(doorbell), berth_(berth) {}
  void wake() const noexcept override {
    if (std::this_thread::get_id() != thread_) doorbell_.wake(berth_);
  }

 private:
  const Doorbell& doorbell_;
  const Berth berth_;
  const std::thread::id thread_ = std::this_thread::get_id();
};

/// Returns whether this process has a second processor, so that peers run while it spins.
bool has_several_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 1;
}

/// Leaves the processor to its other thread for a few cycles.
void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

Error no_room(std::string why) {
  return Error{.code = ErrorCode::resource_exhausted,
               .message = "no ring can be read: " + std::move(why),
               .operation = "listen",
               .execution = Execution::never};
}

}  // namespace

RingReceiver::RingReceiver(Callbacks callbacks, Options options)
    : callbacks_(std::move(callbacks)),
      sleep_max_(options.sleep_max),
      spins_(options.spins && has_several_processors()) {}

Result<RingReceiver::Place> RingReceiver::add(const NodeName& from, Incarnation incarnation,
                                              std::shared_ptr<const Mapping> ring) {
  const std::shared_ptr<Incoming> incoming(
      new Incoming{.from = from, .incarnation = incarnation, .reader = RingReader(std::move(ring))});
  const std::lock_guard lock(mutex_);
  if (stopped_) return make_error(ErrorCode::shutting_down, "the link has stopped");
  if (!doorbell_) {
    auto made = Doorbell::make();
    if (!made) return made.error();
    doorbell_.emplace(std::move(made).value());
  }
  if (!thread_.joinable()) {
    try {
      open_role();
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      close_role();
      return no_room(error.code().message());
    }
  }
  const auto free = std::find(incoming_.begin(), incoming_.end(), nullptr);
  const auto bell = static_cast<std::uint32_t>(free - incoming_.begin());
  if (bell == kBellsMax) return no_room("all bells are in use");
  if (free == incoming_.end()) incoming_.emplace_back();
  incoming_[bell] = std::move(incoming);
  return Place{.doorbell = doorbell_->descriptor(), .bell = bell};
}

void RingReceiver::allow(std::uint32_t bell, std::uint32_t run) {
  {
    const std::lock_guard lock(mutex_);
    if (bell >= incoming_.size() || !incoming_[bell]) return;
    Incoming& ring = *incoming_[bell];
    // The news may be late, and the ring read further already. Numbers of runs wrap around.
    if (static_cast<std::int32_t>(run - ring.run) > 0) ring.run = run;
    ring.waits_since.reset();
  }
  doorbell_->ring(bell);  // packets may have come before the news that they may be read
}

void RingReceiver::drain(std::uint32_t bell) {
  std::shared_ptr<Incoming> ring;
  std::uint32_t run = 0;
  {
    std::unique_lock lock(mutex_);
    if (bell >= incoming_.size() || !incoming_[bell] || incoming_[bell]->is_broken) return;
    ring = incoming_[bell];
    ring->is_drained = true;
    run = ring->run;
    wait_until_served(lock, *ring);
    if (ring->is_broken) {
      ring->is_drained = false;
      return;
    }
  }
  const auto finish = [&] {
    const std::lock_guard lock(mutex_);
    ring->is_drained = false;
  };
  try {
    (void)deliver(*ring, run, kPacketsLeftMax);
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

void RingReceiver::close(std::uint32_t bell) {
  const std::lock_guard lock(mutex_);
  if (bell < incoming_.size() && incoming_[bell]) incoming_[bell]->is_broken = true;
}

void RingReceiver::remove(std::uint32_t bell) {
  std::shared_ptr<Incoming> left;
  {
    std::unique_lock lock(mutex_);
    left = std::exchange(incoming_.at(bell), nullptr);
    if (!left) return;
    wait_until_served(lock, *left);
    if (left->is_broken) return;
  }
  (void)deliver(*left, std::numeric_limits<std::uint32_t>::max(), kPacketsLeftMax);
}

void RingReceiver::wait_until_served(std::unique_lock<std::mutex>& lock, const Incoming& ring) {
  ++removing_;
  served_.wait(lock, [&] { return serving_ != &ring; });
  --removing_;
}

void RingReceiver::stop() {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    thread.swap(thread_);
  }
  if (!thread.joinable()) return;
  for (const Berth berth : {Berth::waiter, Berth::idle, Berth::receiver}) doorbell_->wake(berth);
  thread.join();  // it ends with the role: no other thread has it
}

bool RingReceiver::take_role() {
  const std::lock_guard lock(role_mutex_);
  if (!role_.take()) return false;
  doorbell_->expect(Berth::nobody);
  return true;
}

/// REQUIRES: this thread has the role.
void RingReceiver::release_role() {
  Berth next = Berth::nobody;
  {
    const std::lock_guard lock(role_mutex_);
    role_.release();
    next = role_.next();
    doorbell_->expect(next);
  }
  if (doorbell_->any_rung() || stopped_) doorbell_->wake(next);
}

void RingReceiver::open_role() {
  const std::lock_guard lock(role_mutex_);
  role_.open();
}

void RingReceiver::close_role() {
  const std::lock_guard lock(role_mutex_);
  role_.close();
}

bool RingReceiver::is_closed() const {
  const std::lock_guard lock(role_mutex_);
  return role_.is_closed();
}

bool RingReceiver::become_idle() {
  const std::lock_guard lock(role_mutex_);
  if (!role_.add_idle()) return false;
  if (role_.is_free()) doorbell_->expect(Berth::idle);
  return true;
}

void RingReceiver::be_idle_no_longer() {
  {
    const std::lock_guard lock(role_mutex_);
    role_.remove_idle();
    if (!role_.is_free()) return;  // the thread that has the role will look who is next
    doorbell_->expect(Berth::receiver);
  }
  if (doorbell_->any_rung() || stopped_) doorbell_->wake(Berth::receiver);
}

/// REQUIRES: an exception is being handled; this thread has the role.
void RingReceiver::fail() noexcept {
  const Error why = failure_of_current_exception("the receiver of rings");
  close_role();
  for (const Berth berth : {Berth::idle, Berth::receiver}) doorbell_->wake(berth);  // they end
  callbacks_.failed(why);
}

void RingReceiver::run() {
  try {
    while (!stopped_) {
      if (receive_rung()) continue;
      doorbell_->settle(Berth::receiver);
      release_role();
      if (!wait_for_role()) return;
    }
    close_role();
  } catch (...) {
    fail();
  }
}

/// Sleeps until this thread is needed and the role is free. Returns false if nothing more is received.
bool RingReceiver::wait_for_role() {
  while (!is_closed()) {
    const bool in_time = doorbell_->wait(Berth::receiver, sleep_max_);
    doorbell_->settle(Berth::receiver);
    if (!take_role()) continue;  // another thread has it, and wakes this one if it leaves work
    // Nothing was heard for long: looks at all rings, in case a bell was lost with the process that rang it.
    if (!in_time) serve_all();
    return true;
  }
  return false;
}

std::optional<bool> RingReceiver::work_until(WaitPoint& point, std::optional<TimePoint> due) {
  if (!take_role()) return std::nullopt;
  const Waker waker(*doorbell_, Berth::waiter);
  std::optional<bool> came;
  try {
    came = point.wake_too(waker) ? receive_until(point, due) : true;
  } catch (...) {
    fail();
    point.wake_no_longer();
    return std::nullopt;
  }
  point.wake_no_longer();
  release_role();
  return came;
}

/// REQUIRES: this thread has the role.
std::optional<bool> RingReceiver::receive_until(const WaitPoint& point, std::optional<TimePoint> due) {
  while (true) {
    if (point.signalled()) return true;
    if (stopped_) return std::nullopt;
    std::chrono::nanoseconds at_most = sleep_max_;
    if (due) {
      const auto left = *due - std::chrono::steady_clock::now();
      if (left <= Duration::zero()) return false;
      at_most = std::min<std::chrono::nanoseconds>(at_most, left);
    }
    if (receive_rung() || look(waiter_spin_, point)) continue;
    doorbell_->settle(Berth::waiter);
    doorbell_->expect(Berth::waiter);
    if (doorbell_->any_rung() || point.signalled() || stopped_) continue;
    if (!doorbell_->wait(Berth::waiter, at_most)) serve_all();
  }
}

std::optional<bool> RingReceiver::work_while_idle(WaitPoint& point) {
  if (!become_idle()) return std::nullopt;
  const Waker waker(*doorbell_, Berth::idle);
  const std::optional<bool> came = point.wake_too(waker) ? receive_while_idle(point) : true;
  point.wake_no_longer();
  be_idle_no_longer();
  return came;
}

/// Takes the role when something has come, and gives it back at once: a thread that waits may want it. The own thread
/// makes up for lost bells.
std::optional<bool> RingReceiver::receive_while_idle(const WaitPoint& point) {
  const auto is_over = [&] { return point.signalled() || stopped_; };
  while (!is_over() && !is_closed()) {
    doorbell_->settle(Berth::idle);
    if (take_role()) {
      try {
        while (!is_over() && (receive_rung() || look(idle_spin_, point))) {
        }
      } catch (...) {
        fail();
        return std::nullopt;
      }
      doorbell_->settle(Berth::idle);
      release_role();
    }
    // A peer can suppress the wake-up for a job or a stop, too: its word is in their page. Only one thread of the node
    // sleeps here, so that looking again now and then is cheap.
    while (!is_over() && !is_closed() && !doorbell_->wait(Berth::idle, sleep_max_)) {
    }
  }
  return point.signalled() ? std::optional(true) : std::nullopt;
}

/// Looks for bells for a moment, if that pays. Returns whether something has come. REQUIRES: this thread has the role.
bool RingReceiver::look(Spin& spin, const WaitPoint& point) {
  if (!spins_) return false;
  const Spin::Clock::time_point begin = Spin::Clock::now();
  if (!spin.is_due(begin)) return false;
  constexpr int kLooks = 32;  // between two looks at the clock, about a microsecond
  constexpr int kRounds = 4;  // of looks, before a thread that could run here has its turn: it may be the peer's
  bool something = false;
  Spin::Clock::time_point now = begin;
  for (int round = 1; !something && now - begin < Spin::kLimit; ++round) {
    for (int i = 0; i < kLooks && !something; ++i) {
      relax();
      something = doorbell_->any_rung();
    }
    something = something || stopped_ || point.signalled();
    if (!something && round % kRounds == 0) ::sched_yield();
    now = Spin::Clock::now();
  }
  spin.ended(begin, now, something);
  return something;
}

/// Serves the rings whose bells were rung. Returns whether there were any. REQUIRES: this thread has the role.
bool RingReceiver::receive_rung() {
  std::uint64_t words = doorbell_->take_words();
  if (words == 0) return false;
  for (; words != 0; words &= words - 1) {
    const auto word = static_cast<std::uint32_t>(std::countr_zero(words));
    for (std::uint64_t bells = doorbell_->take_bells(word); bells != 0; bells &= bells - 1)
      serve(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bells)));
  }
  return true;
}

void RingReceiver::serve_all() {
  std::size_t bells = 0;
  {
    const std::lock_guard lock(mutex_);
    bells = incoming_.size();
  }
  for (std::uint32_t bell = 0; bell < bells; ++bell) serve(bell);
}

/// REQUIRES: this thread has the role.
void RingReceiver::serve(std::uint32_t bell) {
  std::shared_ptr<Incoming> ring;
  std::uint32_t run = 0;
  {
    const std::lock_guard lock(mutex_);
    if (bell >= incoming_.size() || !incoming_[bell]) return;
    if (incoming_[bell]->is_drained || incoming_[bell]->is_broken) return;
    ring = incoming_[bell];
    run = ring->run;
    serving_ = ring.get();
  }
  Delivered delivered;
  try {
    delivered = deliver(*ring, run, kPacketsPerTurn);
  } catch (...) {
    static_cast<void>(finish_serving(bell, *ring, RingReader::Took::nothing));
    throw;
  }
  const bool breaks = finish_serving(bell, *ring, delivered.last);
  if (delivered.packets == kPacketsPerTurn) doorbell_->remind(bell);  // there may be more
  if (breaks) callbacks_.broken(ring->from);
}

/// `ring` was served; by now it may have been removed. Returns whether it has broken now.
bool RingReceiver::finish_serving(std::uint32_t bell, Incoming& ring, RingReader::Took last) {
  bool waited_for = false;
  bool goes_on = false;
  bool breaks = false;
  {
    const std::lock_guard lock(mutex_);
    goes_on = last == RingReader::Took::later && has_waited_for_long(ring);
    if (goes_on) {
      ring.run = ring.reader.found_run();
      ring.waits_since.reset();
    }
    // Its bell is free when its owner removes it.
    if (last == RingReader::Took::broken) breaks = !ring.is_broken.exchange(true);
    serving_ = nullptr;
    waited_for = removing_ > 0;
  }
  if (waited_for) served_.notify_all();
  if (goes_on) doorbell_->remind(bell);
  return breaks;
}

/// Returns true if a packet has waited for the news that its run may be read until that must be lost. REQUIRES: mutex_
/// is held.
bool RingReceiver::has_waited_for_long(Incoming& ring) const {
  const TimePoint now = std::chrono::steady_clock::now();
  if (!ring.waits_since) ring.waits_since = now;
  return now - *ring.waits_since >= sleep_max_;
}

RingReceiver::Delivered RingReceiver::deliver(Incoming& ring, std::uint32_t run, std::size_t packets) {
  using enum RingReader::Took;
  Delivered delivered;
  while (delivered.packets < packets && !ring.is_broken) {
    Frames frames;
    delivered.last = ring.reader.take(frames, run);
    if (delivered.last != packet && delivered.last != no_memory) break;
    ++delivered.packets;
    if (delivered.last == no_memory) {
      callbacks_.lost();
    } else {
      callbacks_.packet(ring.from, ring.incarnation, std::move(frames));
    }
  }
  return delivered;
}

}  // namespace troupe::detail
