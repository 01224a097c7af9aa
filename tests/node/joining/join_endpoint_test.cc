// A newcomer and a join endpoint, and what strangers do to that.
#include "node/joining/join_endpoint.h"

#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/joining/introduce.h"
#include "node/keys/introduction.h"
#include "node/links/socket_address.h"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;

/// The endpoint of member "m", which lets in whoever says "newcomer" with the key of the newcomer.
struct Endpoint {
  explicit Endpoint(JoinEndpoint::Options options = {}) {
    if (options.listen.empty()) options.listen = "tcp://127.0.0.1:*";
    options.log = [this](std::string_view line) {
      const std::lock_guard lock(mutex);
      log += line;
      log += '\n';
    };
    endpoint = JoinEndpoint::open(std::move(options), ring, [this](std::string_view said, const std::string& from) {
                 ++asked;
                 BOOST_TEST(from.starts_with("127.0.0.1:"));
                 return answer_to(said);
               }).value();
  }
  [[nodiscard]] Result<MemberList::Member> answer_to(std::string_view said) const {
    if (said == "newcomer") return MemberList::Member{"n", newcomer.public_key()};
    return Error{.code = ErrorCode::not_authorized, .message = "no " + std::string(said)};
  }
  [[nodiscard]] IntroductionPlace place() const { return {endpoint->address(), "m", ring.own_keys().public_key()}; }
  [[nodiscard]] Result<Unit> introduced(const std::string& says, Duration limit = 20s) const {
    return introduce(place(), newcomer, says, std::chrono::steady_clock::now() + limit);
  }
  [[nodiscard]] std::string logged() const {
    const std::lock_guard lock(mutex);
    return log;
  }

  const KeyRing ring = make_run_keys(std::vector<NodeName>{"m"}).front();
  const KeyPair newcomer = KeyPair::random();
  std::atomic<int> asked = 0;
  mutable std::mutex mutex;
  std::string log;  ///< guarded by mutex
  std::unique_ptr<JoinEndpoint> endpoint;
};

/// A connection of somebody who says what he likes.
class Stranger {
 public:
  explicit Stranger(const std::string& address, std::string_view from = "127.0.0.1:0") {
    const SocketAddress own = host_address(from).value();
    BOOST_REQUIRE(::bind(socket_.get(), own.get(), own.size) == 0);
    const SocketAddress to = host_address(std::string_view(address).substr(std::string_view("tcp://").size())).value();
    BOOST_REQUIRE(::connect(socket_.get(), to.get(), to.size) == 0);
  }
  void say(std::span<const std::byte> bytes) const {
    (void)::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  /// Returns whether the endpoint ends the connection within 20 s, without a word.
  [[nodiscard]] bool is_ended(int patience_ms = 20'000) const {
    pollfd polled{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    std::byte byte{};
    return ::poll(&polled, 1, patience_ms) == 1 && ::recv(socket_.get(), &byte, 1, 0) <= 0;
  }

 private:
  FileDescriptor socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

BOOST_AUTO_TEST_SUITE(join_endpoint)

BOOST_AUTO_TEST_CASE(a_newcomer_is_let_in_or_told_why_not, *label("S11")) {
  Endpoint member;
  BOOST_TEST(member.introduced("newcomer").ok());
  BOOST_TEST(member.introduced("newcomer").ok());
  const auto refused = member.introduced("thief");
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST((refused.error().code == ErrorCode::not_authorized));
  BOOST_TEST(refused.error().message == "m does not let this node in: no thief");
  BOOST_TEST(refused.error().endpoint == member.endpoint->address());
  BOOST_TEST(member.logged().find("was not let in: no thief\n") != std::string::npos);
  BOOST_TEST(member.endpoint->refused() == 1U);
  BOOST_TEST(member.asked == 3);
}

BOOST_AUTO_TEST_CASE(who_shows_the_certificate_of_another_is_not_told_that_it_is_in, *label("attack") * label("S4")) {
  Endpoint member;
  const auto refused = introduce(member.place(), KeyPair::random(), "newcomer", std::chrono::steady_clock::now() + 20s);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(refused.error().message == "m does not let this node in: the certificate is of another key");
}

BOOST_AUTO_TEST_CASE(an_endpoint_of_another_key_is_found_out, *label("attack") * label("S2")) {
  Endpoint impostor;
  IntroductionPlace place = impostor.place();
  place.key = KeyPair::random().public_key();
  const auto refused = introduce(place, impostor.newcomer, "newcomer", std::chrono::steady_clock::now() + 20s);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST((refused.error().code == ErrorCode::auth_failed));
  BOOST_TEST(refused.error().message == "m does not let this node in: what is at " + place.endpoint +
                                            " does not answer with the key that the list of members has of m");
  BOOST_TEST(impostor.asked == 0);
}

BOOST_AUTO_TEST_CASE(where_nobody_listens_a_newcomer_tries_until_its_deadline) {
  IntroductionPlace place{"", "m", KeyPair::random().public_key()};
  {
    const Endpoint was_there;
    place.endpoint = was_there.endpoint->address();
  }
  const auto gone = introduce(place, KeyPair::random(), "newcomer", std::chrono::steady_clock::now() + 250ms);
  BOOST_REQUIRE(!gone.ok());
  BOOST_TEST((gone.error().code == ErrorCode::peer_unreachable));
  BOOST_TEST(gone.error().message == "m does not let this node in: " + place.endpoint + ": Connection refused");

  auto waits = std::async(std::launch::async, [&] {
    return introduce(place, KeyPair::random(), "thief", std::chrono::steady_clock::now() + 20s);
  });
  JoinEndpoint::Options options;
  options.listen = place.endpoint;
  const Endpoint later(options);
  BOOST_TEST((waits.get().error().code == ErrorCode::auth_failed));  // heard, and of another key
}

BOOST_AUTO_TEST_CASE(an_endpoint_that_never_answers_is_given_up_at_the_deadline) {
  const FileDescriptor silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  SocketAddress address = host_address("127.0.0.1:0").value();
  BOOST_REQUIRE(::bind(silent.get(), address.get(), address.size) == 0 && ::listen(silent.get(), 1) == 0);
  BOOST_REQUIRE(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address.bytes), &address.size) == 0);
  const IntroductionPlace place{"tcp://" + host_and_port_of(address), "m", KeyPair::random().public_key()};
  const auto refused = introduce(place, KeyPair::random(), "newcomer", std::chrono::steady_clock::now() + 100ms);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST((refused.error().code == ErrorCode::peer_unreachable));
  BOOST_TEST(refused.error().message == "m does not let this node in: " + place.endpoint + ": Connection timed out");
}

BOOST_AUTO_TEST_CASE(strangers_that_say_nothing_lose_their_places_and_keep_nobody_out, *label("attack") * label("S7")) {
  JoinEndpoint::Options options;
  options.patience = 1h;
  Endpoint member(options);
  std::vector<Stranger> silent;
  for (int i = 0; i < 200; ++i) silent.emplace_back(member.endpoint->address());
  BOOST_TEST(member.introduced("newcomer").ok());
  BOOST_TEST(silent.front().is_ended());
  BOOST_TEST(silent[100].is_ended());
}

BOOST_AUTO_TEST_CASE(a_request_that_does_not_come_in_time_ends, *label("attack") * label("S7")) {
  JoinEndpoint::Options options;
  options.patience = 20ms;
  Endpoint member(options);
  const Stranger slow(member.endpoint->address());
  slow.say(std::as_bytes(std::span(std::string_view("TRPI"))));
  BOOST_TEST(slow.is_ended());
}

BOOST_AUTO_TEST_CASE(what_is_no_request_ends_at_once, *label("attack") * label("S7")) {
  JoinEndpoint::Options options;
  options.patience = 1h;
  Endpoint member(options);
  const auto request =
      Introduction{member.newcomer.public_key(), "newcomer"}.sealed_to(member.ring.own_keys().public_key()).value();
  for (std::size_t byte : {0U, 4U, 5U, 7U}) {  // magic, version, length
    auto changed = request;
    changed[byte] = std::byte{0xff};
    const Stranger stranger(member.endpoint->address());
    stranger.say(changed);
    BOOST_TEST(stranger.is_ended());
  }
  auto changed = request;
  changed.back() ^= std::byte{1};
  const Stranger stranger(member.endpoint->address());
  stranger.say(changed);
  BOOST_TEST(!stranger.is_ended());  // it is told that the member could not read it
  const auto lowest = Introduction{{}, "newcomer"}.sealed_to(member.ring.own_keys().public_key()).value();
  const Stranger without_key(member.endpoint->address());  // its answer could be read by all
  without_key.say(lowest);
  BOOST_TEST(without_key.is_ended());
  BOOST_TEST(member.asked == 1);
  BOOST_TEST(member.introduced("newcomer").ok());
}

BOOST_AUTO_TEST_CASE(a_request_may_come_in_pieces) {
  JoinEndpoint::Options options;
  options.patience = 1h;
  Endpoint member(options);
  const auto request =
      Introduction{member.newcomer.public_key(), "newcomer"}.sealed_to(member.ring.own_keys().public_key()).value();
  const Stranger slow(member.endpoint->address());
  for (const std::byte& byte : request) slow.say({&byte, 1});
  BOOST_TEST(!slow.is_ended());  // it is answered
}

BOOST_AUTO_TEST_CASE(no_more_requests_are_opened_than_one_in_each_interval, *label("attack") * label("S7")) {
  JoinEndpoint::Options options;
  options.interval = 1h;
  options.patience = 50ms;
  Endpoint member(options);
  BOOST_TEST(member.introduced("newcomer").ok());
  BOOST_TEST(!member.introduced("newcomer", 200ms).ok());
  BOOST_TEST(member.asked == 1);
}

BOOST_AUTO_TEST_CASE(who_asks_most_makes_room_for_others, *label("attack") * label("S7")) {
  JoinEndpoint::Options options;
  options.interval = options.patience = 1h;
  Endpoint member(options);
  BOOST_TEST(member.introduced("newcomer").ok());  // from now on nobody has a turn
  const auto request =
      Introduction{member.newcomer.public_key(), "newcomer"}.sealed_to(member.ring.own_keys().public_key()).value();
  const Stranger elsewhere(member.endpoint->address(), "127.0.0.2:0");
  elsewhere.say(request);
  std::vector<Stranger> greedy;
  for (int i = 0; i < 200; ++i) {
    greedy.emplace_back(member.endpoint->address());
    greedy.back().say(request);
  }
  const auto due = std::chrono::steady_clock::now() + 20s;
  std::ptrdiff_t ended = 0;
  while (ended < 137 && std::chrono::steady_clock::now() < due) {
    ended = std::ranges::count_if(greedy, [](const Stranger& each) { return each.is_ended(0); });
  }
  BOOST_TEST(ended == 137);  // 64 are there
  BOOST_TEST(!elsewhere.is_ended(0));
}

BOOST_AUTO_TEST_CASE(a_newcomer_that_had_no_turn_asks_again) {
  const FileDescriptor busy(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  SocketAddress address = host_address("127.0.0.1:0").value();
  BOOST_REQUIRE(::bind(busy.get(), address.get(), address.size) == 0 && ::listen(busy.get(), 1) == 0);
  BOOST_REQUIRE(::getsockname(busy.get(), reinterpret_cast<sockaddr*>(&address.bytes), &address.size) == 0);
  const IntroductionPlace place{"tcp://" + host_and_port_of(address), "m", KeyPair::random().public_key()};
  auto newcomer = std::async(std::launch::async, [&] {
    return introduce(place, KeyPair::random(), "newcomer", std::chrono::steady_clock::now() + 20s);
  });
  for (int i = 0; i < 5; ++i) (void)FileDescriptor(::accept(busy.get(), nullptr, nullptr));
  const FileDescriptor last(::accept(busy.get(), nullptr, nullptr));
  const auto answer = not_for_this_member();
  BOOST_TEST(::send(last.get(), answer.data(), answer.size(), MSG_NOSIGNAL) == std::ssize(answer));
  BOOST_TEST((newcomer.get().error().code == ErrorCode::auth_failed));
}

BOOST_AUTO_TEST_CASE(an_endpoint_ends_while_strangers_are_connected) {
  std::vector<Stranger> silent;
  Endpoint member;
  for (int i = 0; i < 5; ++i) silent.emplace_back(member.endpoint->address());
  member.endpoint.reset();
  BOOST_TEST(silent.back().is_ended());
}

BOOST_AUTO_TEST_CASE(an_address_that_is_none_or_in_use_is_named) {
  const Endpoint member;
  const auto refusal = [&](const std::string& listen) {
    const auto opened = JoinEndpoint::open({.listen = listen}, member.ring, {});
    return opened.ok() ? std::string() : opened.error().message;
  };
  BOOST_TEST(refusal("7001") == "newcomers cannot be heard at 7001: that is not tcp://HOST:PORT");
  BOOST_TEST(refusal("ipc://x") == "newcomers cannot be heard at ipc://x: that is not tcp://HOST:PORT");
  const std::string in_use = member.endpoint->address();
  BOOST_TEST(refusal(in_use) == "newcomers cannot be heard at " + in_use + ": Address already in use");
  BOOST_TEST(refusal("tcp://*:*").empty());
  BOOST_TEST(refusal("tcp://[::1]:*").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
