#include "tests/chaos/delayed_wire.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <exception>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace troupe::testing {
namespace {

using Clock = std::chrono::steady_clock;

/// Makes a device of `place`; frames that leave through it are read here, and what is written here arrives there.
detail::FileDescriptor make_device(const NetworkNamespace& place, const std::string& name) {
  const NetworkNamespace::Inside inside(place);
  detail::FileDescriptor device(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  if (!device.is_open() || ::ioctl(device.get(), TUNSETIFF, &request) != 0) {
    throw std::system_error(errno, std::generic_category(), "no device " + name);
  }
  return device;
}

/// One direction.
class Way {
 public:
  Way(int from, int to, std::chrono::milliseconds delay) : from_(from), to_(to), delay_(delay) {}

  [[nodiscard]] int from() const { return from_; }

  void take_frames() {
    std::array<std::byte, 66'000> buffer;
    ssize_t size = 0;
    while ((size = ::read(from_, buffer.data(), buffer.size())) > 0) {
      frames_.emplace_back(Clock::now() + delay_, std::vector<std::byte>(buffer.begin(), buffer.begin() + size));
    }
  }

  /// Returns the milliseconds until the next frame is due; -1 if there is none.
  [[nodiscard]] int deliver() {
    const auto now = Clock::now();
    while (!frames_.empty() && frames_.front().first <= now) {
      // A frame that the device does not take is lost, as on any wire.
      static_cast<void>(::write(to_, frames_.front().second.data(), frames_.front().second.size()));
      frames_.pop_front();
    }
    if (frames_.empty()) return -1;
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(frames_.front().first - now).count());
  }

 private:
  const int from_;
  const int to_;
  const std::chrono::milliseconds delay_;
  std::deque<std::pair<Clock::time_point, std::vector<std::byte>>> frames_;
};

void carry(std::array<Way, 2> ways, int stop) {
  std::array<pollfd, 3> polled{pollfd{stop, POLLIN, 0}, {ways[0].from(), POLLIN, 0}, {ways[1].from(), POLLIN, 0}};
  while (polled[0].revents == 0) {
    int wait = -1;
    for (Way& way : ways) {
      way.take_frames();
      const int next = way.deliver();
      if (next >= 0) wait = wait < 0 ? next : std::min(wait, next);
    }
    ::poll(polled.data(), polled.size(), wait);
  }
}

}  // namespace

boost::test_tools::assertion_result NeedsDelayedWire::operator()(boost::unit_test::test_unit_id /*unit*/) const {
  boost::test_tools::assertion_result result = true;
  try {
    make_device(NetworkNamespace(), "wire");
  } catch (const std::exception& error) {
    result = false;
    result.message() << error.what();
  }
  return result;
}

DelayedWire::DelayedWire(const NetworkNamespace& hub, const NetworkNamespace& machine, std::size_t number,
                         std::chrono::milliseconds delay) {
  const std::string port = fmt::format("port{}", number);
  hub.run("ip link delete " + port);
  hub_end_ = make_device(hub, port);
  machine_end_ = make_device(machine, "wire");
  stop_ = detail::FileDescriptor(::eventfd(0, EFD_CLOEXEC));
  hub.run(fmt::format("ip link set {0} master hub && ip link set {0} up", port));
  bring_up_wire(machine, number);
  carrier_ = std::thread(
      carry, std::array{Way(hub_end_.get(), machine_end_.get(), delay), Way(machine_end_.get(), hub_end_.get(), delay)},
      stop_.get());
}

DelayedWire::~DelayedWire() {
  ::eventfd_write(stop_.get(), 1);
  carrier_.join();
}

}  // namespace troupe::testing
