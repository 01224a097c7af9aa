#include "actors/profile/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>
#include <utility>

#include "actors/calls/scope_state.h"

namespace troupe::detail {

std::uint64_t bytes_of(const RecordedEvent& event) {
  return sizeof event + event.name.size() + event.caller.size() + event.to.size() + event.inputs.size() +
         event.context.size() + event.path.size() * sizeof(std::uint32_t);
}

bool NodeRecording::wants(const ScopeState& scope) {
  if (options_.everything) return true;
  if (scope.trace == 0 || scope.trace != options_.trace) return false;
  if (scope.context) {
    const std::lock_guard lock(mutex_);
    if (contexts_.contains(*scope.context)) return true;
    if (contexts_.size() < kContextsMax) contexts_.insert(*scope.context);
    else ++lost_;  // its passes are not recorded
  }
  return true;
}

bool NodeRecording::wants(const ContextId& context) const {
  if (options_.everything) return true;
  const std::lock_guard lock(mutex_);
  return contexts_.contains(context);
}

void NodeRecording::add(RecordedEvent event) noexcept {
  const std::lock_guard lock(mutex_);
  if (has_ended_) return;
  event.name.resize(std::min(event.name.size(), kNameMax));
  const std::uint64_t bytes = bytes_of(event);
  if (added_ >= options_.events_max || bytes > kBytesMax - bytes_) {
    ++lost_;
    return;
  }
  try {
    event.thread =
        threads_.try_emplace(std::this_thread::get_id(), static_cast<std::uint32_t>(threads_.size())).first->second;
    events_.push_back(std::move(event));
    bytes_ += bytes;
    ++added_;
  } catch (const std::bad_alloc&) {
    ++lost_;
  }
}

void NodeRecording::lose() noexcept {
  const std::lock_guard lock(mutex_);
  if (!has_ended_) ++lost_;
}

std::uint64_t NodeRecording::end() noexcept {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  return lost_;
}

void NodeRecording::forget() noexcept {
  std::vector<RecordedEvent> forgotten;  // freed without the lock
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  forgotten.swap(events_);
  taken_ = 0;
  bytes_ = 0;
}

std::vector<RecordedEvent> NodeRecording::take(std::size_t count) {
  const std::lock_guard lock(mutex_);
  std::size_t end = taken_;
  for (std::uint64_t bytes = 0; end < events_.size() && end - taken_ < count && bytes < kBytesOfOneAnswer; ++end)
    bytes += bytes_of(events_[end]);
  std::vector<RecordedEvent> taken;
  taken.reserve(end - taken_);
  std::move(events_.begin() + static_cast<std::ptrdiff_t>(taken_), events_.begin() + static_cast<std::ptrdiff_t>(end),
            std::back_inserter(taken));
  taken_ = end;
  if (taken_ == events_.size()) {
    std::vector<RecordedEvent>().swap(events_);  // their memory, too
    taken_ = 0;
    bytes_ = 0;
  }
  return taken;
}

void Recordings::add(std::shared_ptr<NodeRecording> recording) {
  const std::lock_guard lock(mutex_);
  if (all_.size() >= kRecordingsMax)
    throw std::runtime_error(fmt::format("[Profiler] {} profiles are being recorded on this node", kRecordingsMax));
  all_.push_back(std::move(recording));
  count_ = all_.size();
}

void Recordings::remove(const NodeRecording& recording) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [&](const auto& each) { return each.get() == &recording; });
  count_ = all_.size();
}

void Recordings::lose() const noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& each : all_) each->lose();
}

template <class Place>
RecordingList Recordings::wanting(const Place& place) const noexcept {
  RecordingList list;
  if (!any()) return list;
  try {
    const std::lock_guard lock(mutex_);
    std::ranges::copy_if(all_, std::back_inserter(list), [&](const auto& each) { return each->wants(place); });
    return list;
  } catch (const std::bad_alloc&) {  // a program goes on without its profile
  }
  lose();
  return {};
}

RecordingList Recordings::of(const ScopeState& scope) const noexcept { return wanting(scope); }
RecordingList Recordings::of(const ContextId& context) const noexcept { return wanting(context); }

}  // namespace troupe::detail
