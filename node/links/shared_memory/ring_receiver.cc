#include "node/links/shared_memory/ring_receiver.h"

#include <algorithm>
#include <bit>
#include <system_error>
#include <utility>

#include "actors/core/guarded.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kPacketsPerTurn = 64;  // of one ring, before others have theirs

// No ring has more at once. What a peer still writes while its ring is removed is lost with the connection.
constexpr std::size_t kPacketsLeftMax = kRingBytes / 8;

Error no_room(std::string why) {
  return Error{.code = ErrorCode::resource_exhausted,
               .message = "no ring can be read: " + std::move(why),
               .operation = "listen",
               .execution = Execution::never};
}

}  // namespace

Result<RingReceiver::Place> RingReceiver::add(const NodeName& from, Incarnation incarnation,
                                              std::shared_ptr<const Mapping> ring) {
  auto incoming = std::make_shared<Incoming>(Incoming{from, incarnation, RingReader(std::move(ring))});
  const std::lock_guard lock(mutex_);
  if (stopped_) return make_error(ErrorCode::shutting_down, "the link has stopped");
  if (!doorbell_) {
    auto made = Doorbell::make();
    if (!made) return made.error();
    doorbell_ = std::make_shared<const Doorbell>(std::move(made).value());
    incoming_.resize(kOwnBell + 1);
  }
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      return no_room(error.code().message());
    }
  }
  const auto free = std::find(incoming_.begin() + kOwnBell + 1, incoming_.end(), nullptr);
  const auto bell = static_cast<std::uint32_t>(free - incoming_.begin());
  if (bell == kBellsMax) return no_room("all bells are in use");
  if (free == incoming_.end()) incoming_.emplace_back();
  incoming_[bell] = std::move(incoming);
  return Place{.doorbell = doorbell_->descriptor(), .bell = bell};
}

void RingReceiver::remove(std::uint32_t bell) {
  std::shared_ptr<Incoming> left;
  {
    std::unique_lock lock(mutex_);
    left = std::exchange(incoming_.at(bell), nullptr);
    if (!left) return;
    ++removing_;
    served_.wait(lock, [&] { return serving_ != left.get(); });
    --removing_;
  }
  (void)deliver(*left, kPacketsLeftMax);
}

void RingReceiver::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (doorbell_) doorbell_->ring(kOwnBell);
  }
  if (thread_.joinable()) thread_.join();
}

void RingReceiver::run() {
  const std::shared_ptr<const Doorbell> doorbell = [this] {
    const std::lock_guard lock(mutex_);
    return doorbell_;
  }();
  try {
    Doorbell::Rung rung{};
    while (true) {
      const bool any = doorbell->take(rung);
      {
        const std::lock_guard lock(mutex_);
        if (stopped_) return;
      }
      // Nothing was heard for kSleepMax: looks at all rings, in case a bell was lost with the process that rang it.
      if (!any && !doorbell->sleep()) serve_all();
      for (std::size_t word = 0; word < rung.size(); ++word) {
        for (; rung[word] != 0; rung[word] &= rung[word] - 1)
          serve(static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(rung[word]))));
      }
    }
  } catch (...) {
    callbacks_.failed(failure_of_current_exception("the receiver of rings"));
  }
}

void RingReceiver::serve_all() {
  std::size_t bells = 0;
  {
    const std::lock_guard lock(mutex_);
    bells = incoming_.size();
  }
  for (std::uint32_t bell = 0; bell < bells; ++bell) serve(bell);
}

void RingReceiver::serve(std::uint32_t bell) {
  std::shared_ptr<Incoming> ring;
  std::shared_ptr<const Doorbell> doorbell;
  {
    const std::lock_guard lock(mutex_);
    if (bell >= incoming_.size() || !incoming_[bell]) return;
    ring = incoming_[bell];
    doorbell = doorbell_;
    serving_ = ring.get();
  }
  RingReader::Took last = RingReader::Took::broken;
  try {
    last = deliver(*ring, kPacketsPerTurn);
  } catch (...) {
    finish_serving(bell, last);
    throw;
  }
  finish_serving(bell, last);
  if (last == RingReader::Took::packet) doorbell->ring(bell);  // there may be more
  if (last == RingReader::Took::broken) callbacks_.broken(ring->from);
}

void RingReceiver::finish_serving(std::uint32_t bell, RingReader::Took last) {
  bool waited_for = false;
  {
    const std::lock_guard lock(mutex_);
    if (last == RingReader::Took::broken && incoming_[bell].get() == serving_) incoming_[bell] = nullptr;
    serving_ = nullptr;
    waited_for = removing_ > 0;
  }
  if (waited_for) served_.notify_all();
}

RingReader::Took RingReceiver::deliver(Incoming& ring, std::size_t packets) {
  RingReader::Took last = RingReader::Took::nothing;
  for (std::size_t i = 0; i < packets; ++i) {
    Frames packet;
    last = ring.reader.take(packet);
    if (last == RingReader::Took::nothing || last == RingReader::Took::broken) return last;
    if (last == RingReader::Took::no_memory) {
      callbacks_.lost();
    } else {
      callbacks_.packet(ring.from, ring.incarnation, std::move(packet));
    }
  }
  return last == RingReader::Took::no_memory ? RingReader::Took::packet : last;
}

}  // namespace troupe::detail
