#include "node/joining/listening.h"

#include <boost/test/unit_test.hpp>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "node/file_descriptor.h"
#include "node/links/zmq_link.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(listening)

using namespace std::chrono_literals;

std::unique_ptr<ZmqLink> listen_at(const std::string& place) {
  ZmqLinkOptions options;
  options.name = "a";
  options.bind = place;
  return ZmqLink::open(std::move(options)).value();
}

BOOST_AUTO_TEST_CASE(link_is_seen_from_its_opening_to_its_end) {
  const testing::TemporaryDirectory directory;
  const std::string path = "ipc://" + (directory.path() / "node a").string();
  for (const std::string& place :
       {std::string("tcp://127.0.0.1:*"), fmt::format("ipc://@troupe-listening-{}", getpid()), path}) {
    std::unique_ptr<ZmqLink> link = listen_at(place);
    const std::string address = link->address();
    BOOST_TEST(may_listen(address, 2s), address);
    link.reset();
    BOOST_TEST(!may_listen(address, 2s), address);
  }
}

BOOST_AUTO_TEST_CASE(address_of_an_unknown_kind_may_be_listened_at) {
  for (const char* address : {"carrier://loft", "tcp://ps.example:1", "ipc://", "nonsense"})
    BOOST_TEST(may_listen(address, 0ms));
}

/// A port of this machine that answers nobody: the queue of those who want to connect is full.
class SilentPort {
 public:
  SilentPort() {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    BOOST_REQUIRE(::bind(listener_.get(), address, size) == 0);
    BOOST_REQUIRE(::listen(listener_.get(), 0) == 0);
    BOOST_REQUIRE(::getsockname(listener_.get(), address, &size) == 0);
    text_ = fmt::format("tcp://127.0.0.1:{}", ntohs(place.sin_port));
    for (detail::FileDescriptor& each : waiting_) (void)::connect(each.get(), address, size);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static detail::FileDescriptor socket() {
    return detail::FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }
  detail::FileDescriptor listener_ = socket();
  std::array<detail::FileDescriptor, 4> waiting_{socket(), socket(), socket(), socket()};
  std::string text_;
};

BOOST_AUTO_TEST_CASE(many_that_do_not_answer_take_no_longer_than_one) {
  const SilentPort silent;
  const std::unique_ptr<ZmqLink> link = listen_at("tcp://127.0.0.1:*");
  std::vector<std::string> addresses(600, silent.text());
  addresses.push_back(link->address());
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<bool> answers = may_listen(addresses, 50ms, std::nullopt);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 600 * 50ms / 10));
  BOOST_TEST(answers.back());
  BOOST_TEST(std::ranges::count(answers, true) == 1);
}

BOOST_AUTO_TEST_CASE(what_is_not_known_in_time_may_listen) {
  const SilentPort silent;
  const std::vector<std::string> addresses(600, silent.text());
  const std::vector<bool> answers = may_listen(addresses, 1h, std::chrono::steady_clock::now() + 20ms);
  BOOST_TEST(std::ranges::count(answers, true) == 600);
}

BOOST_AUTO_TEST_CASE(few_descriptors_are_enough_for_many_addresses) {
  const SilentPort silent;
  rlimit usual{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const detail::FileDescriptor next(::dup(STDERR_FILENO));
  rlimit few = usual;
  few.rlim_cur = static_cast<rlim_t>(next.get()) + 4;
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const std::vector<bool> answers = may_listen(std::vector<std::string>(10, silent.text()), 5ms, std::nullopt);
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  BOOST_TEST(std::ranges::count(answers, false) == 10);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
