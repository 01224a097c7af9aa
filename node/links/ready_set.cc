#include "node/links/ready_set.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <system_error>

namespace troupe {
namespace {

constexpr std::size_t kKeysPerWait = 64;

int epoll_ms(Duration timeout) {
  if (timeout < Duration{0}) return -1;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  return static_cast<int>(std::min<decltype(ms)>(ms, std::numeric_limits<int>::max()));
}

}  // namespace

ReadySet::ReadySet() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.is_open()) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

Result<Unit> ReadySet::add(int descriptor, Key key) {
  ::epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return Unit{};
  return Error{.code = ErrorCode::resource_exhausted,
               .message = "cannot watch a descriptor: " + std::generic_category().message(errno),
               .execution = Execution::never};
}

void ReadySet::remove(int descriptor) { (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

void ReadySet::watch_room(int descriptor, Key key, Room room) {
  const std::uint32_t events = EPOLLIN | (room == Room::watched ? EPOLLOUT : 0U);
  ::epoll_event event{.events = events, .data = {.u64 = key}};
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
}

std::vector<ReadySet::Key> ReadySet::wait(Duration timeout) {
  std::vector<Key> keys;
  for (const Event& event : wait_for_room(timeout)) keys.push_back(event.key);
  return keys;
}

std::vector<ReadySet::Event> ReadySet::wait_for_room(Duration timeout) {
  std::array<::epoll_event, kKeysPerWait> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), epoll_ms(timeout));
  std::vector<Event> told;
  for (int i = 0; i < count; ++i) {
    const ::epoll_event& event = events[static_cast<std::size_t>(i)];
    told.push_back({event.data.u64, (event.events & ~std::uint32_t{EPOLLOUT}) != 0});
  }
  return told;
}

}  // namespace troupe
