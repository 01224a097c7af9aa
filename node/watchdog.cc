#include "node/watchdog.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "actors/core/query.h"

namespace troupe::detail {
namespace {

using std::chrono::milliseconds;
using RouterSigns = Query<PendingCall>;

Duration step_for(Duration limit) { return std::clamp<Duration>(limit / 30, milliseconds(1), milliseconds(1000)); }

/// Sends the probe on the clock's thread: the sender may have to run the router, and get stuck in it. Returns null if
/// there is no memory for it: that says nothing about the router, and the next step asks again.
std::shared_ptr<RouterSigns> ask_for_sign(const std::shared_ptr<NodeCore>& node) {
  try {
    auto signs = std::make_shared<RouterSigns>(node->future_home());
    node->clock().at(node->clock().now(), [weak = std::weak_ptr(node), slot = signs->slot()] {
      if (const auto core = weak.lock()) core->list_requests(0, slot);
    });
    return signs;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

Duration OutstandingTime::at(TimePoint now, bool outstanding) {
  if (last_ && outstanding) sum_ += std::min(now - *last_, 2 * step_);
  if (!outstanding) sum_ = Duration::zero();
  last_ = now;
  return sum_;
}

Watchdog::Watchdog(const std::shared_ptr<NodeCore>& node, Duration limit, Stuck stuck)
    : node_(node),
      limit_(limit),
      stuck_(std::move(stuck)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Watchdog::run(const std::stop_token& stop) {
  const Duration step = step_for(limit_);
  OutstandingTime silent(step);
  std::shared_ptr<RouterSigns> asked;
  std::mutex mutex;
  std::condition_variable_any never;
  while (!stop.stop_requested()) {
    {
      const std::shared_ptr<NodeCore> node = node_.lock();
      if (!node || node->stopped()) return;
      const bool outstanding = asked && !asked->wait(Duration::zero()).complete;
      if (silent.at(std::chrono::steady_clock::now(), outstanding) >= limit_) {
        return stuck_(fmt::format(
            "the router of {} has not turned for {:.1f} s of this process's running time, although it has work",
            node->name(), std::chrono::duration<double>(limit_).count()));
      }
      if (!outstanding) asked = ask_for_sign(node);
    }
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, step, [] { return false; });
  }
}

void end_stuck_process(const std::string& why) {
  spdlog::critical("{}: the process ends", why);
  spdlog::default_logger()->flush();
  std::abort();
}

}  // namespace troupe::detail
