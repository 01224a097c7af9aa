// Members tell each other of signed lists (MB-10) and take what the owner of the cluster has signed (MB-11).
#include "actors/membership/signed_list.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
#include "tests/actors/bare_peer.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using detail::SignedListHolder;

std::vector<std::byte> list_of(std::uint8_t serial) { return {std::byte{serial}}; }

/// A list is one byte, its serial; 255 is one that nobody has signed.
class HandList final : public SignedListHolder {
 public:
  explicit HandList(std::uint64_t serial) : serial_(serial) {}
  [[nodiscard]] std::uint64_t serial() const override { return serial_; }
  [[nodiscard]] bool knows(const NodeName& member) const override { return known.contains(member); }
  [[nodiscard]] std::vector<std::byte> bytes() const override { return list_of(static_cast<std::uint8_t>(serial_)); }
  [[nodiscard]] Result<std::uint64_t> take(std::span<const std::byte> bytes, const NodeName& from) override {
    takes += from;
    if (bytes.size() != 1 || bytes[0] == std::byte{255}) return Error{.code = ErrorCode::bad_argument, .message = ""};
    const auto serial = static_cast<std::uint64_t>(bytes[0]);
    serial_ = std::max(serial_, serial);
    return serial;
  }
  /// A certificate is one byte; 255 is one that nobody has signed, 254 one of a newcomer that stays out.
  [[nodiscard]] Result<Unit> take_certificate(std::span<const std::byte> bytes, const NodeName& /*from*/) override {
    if (bytes.size() != 1 || bytes[0] == std::byte{255}) return Error{.code = ErrorCode::bad_argument, .message = ""};
    if (bytes[0] == std::byte{254}) return Error{.code = ErrorCode::not_authorized, .message = ""};
    shown.emplace_back(bytes.begin(), bytes.end());
    return Unit{};
  }
  [[nodiscard]] std::vector<std::vector<std::byte>> certificates() const override { return shown; }
  void change_to(std::uint64_t serial) { serial_ = serial; }
  std::vector<std::vector<std::byte>> shown;
  std::set<NodeName> known;

  std::string takes;  ///< from whom, in order

 private:
  std::uint64_t serial_;
};

/// The node goes by list 5.
struct Sharing : AmongBarePeers {
  Sharing() { membership().share_list(list); }
  [[nodiscard]] detail::Membership& membership() { return core().membership(); }

  /// Returns the serials that the peer has been told.
  static std::string told(BarePeer& peer) {
    std::string serials;
    for (const auto& known : peer.take<msg::SignedListKnown>()) serials += std::to_string(known.serial);
    return serials;
  }
  /// Returns how many requests for its list the peer has, and answers them.
  std::size_t answer(BarePeer& peer, const msg::AnyMessage& message) {
    const auto asked = peer.take_heard<msg::SignedListFetch>();
    for (const auto& one : asked) peer.answer("m", one, message);
    return asked.size();
  }

  std::shared_ptr<HandList> list = std::make_shared<HandList>(5);
};

BOOST_AUTO_TEST_SUITE(signed_list)

BOOST_FIXTURE_TEST_CASE(each_peer_that_comes_is_told_and_all_when_the_list_changes, Sharing) {
  const auto first = peer("p1");
  BOOST_TEST(told(*first) == "5");
  const auto second = peer("p2", 2);
  BOOST_TEST(told(*second) == "5");
  membership().list_changed();  // it has not
  BOOST_TEST(told(*first) == "");
  list->change_to(6);
  membership().list_changed();
  BOOST_TEST(told(*first) == "6");
  BOOST_TEST(told(*second) == "6");
}

BOOST_FIXTURE_TEST_CASE(a_newer_list_is_taken_and_told_to_all, Sharing) {
  const auto first = peer("p1");
  const auto second = peer("p2", 2);
  static_cast<void>(told(*first) + told(*second));
  first->say("m", "membership", msg::SignedListKnown{7});
  BOOST_TEST(answer(*first, msg::SignedList{list_of(7)}) == 1U);
  BOOST_TEST(list->serial() == 7U);
  BOOST_TEST(told(*second) == "7");
  second->say("m", "membership", msg::SignedListKnown{7});
  BOOST_TEST(answer(*second, msg::SignedList{list_of(7)}) == 0U);
}

BOOST_FIXTURE_TEST_CASE(who_asks_gets_the_list, Sharing) {
  const auto first = peer("p1");
  const auto asked = first->ask("m", "membership", msg::SignedListFetch{3});
  BOOST_REQUIRE(*asked);
  BOOST_REQUIRE((*asked)->ok());
  BOOST_TEST(((*asked)->value().get<msg::SignedList>().bytes == list_of(5)));
}

BOOST_FIXTURE_TEST_CASE(who_lies_is_not_asked_again, Sharing,
                        *boost::unit_test::label("attack") * boost::unit_test::label("S11")) {
  const msg::AnyMessage lies[] = {msg::SignedList{{std::byte{255}}}, msg::SignedList{list_of(6)}, msg::SignedList{}};
  std::uint64_t life = 10;
  for (const msg::AnyMessage& lie : lies) {
    const auto liar = peer("liar", ++life);
    list->change_to(5);
    liar->say("m", "membership", msg::SignedListKnown{9});
    BOOST_TEST(answer(*liar, lie) == 1U);
    BOOST_TEST(list->serial() < 7U);
    liar->say("m", "membership", msg::SignedListKnown{10});
    clock->advance(1h);
    BOOST_TEST(answer(*liar, lie) == 0U);
    liar->die();
  }
}

// As a node that has no memory for its list just now.
BOOST_FIXTURE_TEST_CASE(who_fails_is_asked_again, Sharing) {
  const auto first = peer("p1");
  first->say("m", "membership", msg::SignedListKnown{8});
  BOOST_TEST(answer(*first, msg::Failure{Error{.code = ErrorCode::resource_exhausted, .message = "no memory"}}) == 1U);
  clock->advance(1s);
  BOOST_TEST(answer(*first, msg::SignedList{list_of(8)}) == 1U);
  BOOST_TEST(list->serial() == 8U);
}

BOOST_FIXTURE_TEST_CASE(who_does_not_answer_holds_nobody_up, Sharing,
                        *boost::unit_test::label("attack") * boost::unit_test::label("S11")) {
  const auto silent = peer("silent");
  const auto other = peer("other", 2);
  silent->say("m", "membership", msg::SignedListKnown{200});
  other->say("m", "membership", msg::SignedListKnown{6});
  BOOST_TEST(answer(*other, msg::SignedList{list_of(6)}) == 0U);
  clock->advance(30s);
  BOOST_TEST(answer(*other, msg::SignedList{list_of(6)}) == 0U);
  clock->advance(1s);
  BOOST_TEST(answer(*other, msg::SignedList{list_of(6)}) == 1U);
  BOOST_TEST(list->serial() == 6U);
}

BOOST_FIXTURE_TEST_CASE(another_is_asked_when_the_one_that_was_asked_is_gone, Sharing) {
  const auto first = peer("p1");
  const auto second = peer("p2", 2);
  first->say("m", "membership", msg::SignedListKnown{8});
  second->say("m", "membership", msg::SignedListKnown{7});
  first->die();
  clock->advance(1s);
  BOOST_TEST(answer(*second, msg::SignedList{list_of(7)}) == 1U);
  BOOST_TEST(list->serial() == 7U);
}

BOOST_FIXTURE_TEST_CASE(a_list_that_the_pool_refuses_to_read_is_asked_for_again, Sharing) {
  const auto first = peer("p1");
  first->say("m", "membership", msg::SignedListKnown{8});
  pool->refuses = Error{.code = ErrorCode::resource_exhausted, .message = "full"};
  BOOST_TEST(answer(*first, msg::SignedList{list_of(8)}) == 1U);
  BOOST_TEST(list->takes == "");
  pool->refuses.reset();
  clock->advance(1s);
  BOOST_TEST(answer(*first, msg::SignedList{list_of(8)}) == 1U);
  BOOST_TEST(list->takes == "p1");
}

BOOST_AUTO_TEST_CASE(a_node_without_a_list_says_so_and_asks_nobody) {
  AmongBarePeers nodes;
  const auto first = nodes.peer("p1");
  BOOST_TEST(first->take<msg::SignedListKnown>().empty());
  first->say("m", "membership", msg::SignedListKnown{7});
  BOOST_TEST(first->take<msg::SignedListFetch>().empty());
  const auto asked = first->ask("m", "membership", msg::SignedListFetch{3});
  BOOST_REQUIRE(*asked);
  BOOST_REQUIRE(!(*asked)->ok());
  BOOST_TEST((*asked)->error().message == "this node has no signed list of members");
}

std::string certificates_told(BarePeer& peer) {
  std::string told;
  for (const auto& certificate : peer.take<msg::SignedCertificate>())
    told += std::to_string(std::to_integer<int>(certificate.bytes.at(0)));
  return told;
}

BOOST_FIXTURE_TEST_CASE(a_certificate_is_told_to_all_that_are_up_and_to_each_that_comes_before_a_list_has_it, Sharing) {
  const auto first = peer("p1");
  const auto second = peer("p2");
  BOOST_TEST(certificates_told(*first) == "");
  list->shown.push_back({std::byte{7}});
  membership().certified({std::byte{7}});
  BOOST_TEST(certificates_told(*first) == "7");
  BOOST_TEST(certificates_told(*second) == "7");
  const auto third = peer("p3");
  BOOST_TEST(certificates_told(*third) == "7");
  list->shown.clear();  // a list has come
  const auto fourth = peer("p4");
  BOOST_TEST(certificates_told(*fourth) == "");
}

BOOST_FIXTURE_TEST_CASE(a_certificate_that_is_told_is_taken_before_the_next_word_and_not_passed_on, Sharing) {
  const auto first = peer("p1");
  const auto second = peer("p2");
  first->say("m", "membership", msg::SignedCertificate{{std::byte{7}}});
  BOOST_TEST(list->shown.size() == 1U);
  BOOST_TEST(certificates_told(*second) == "");
}

BOOST_FIXTURE_TEST_CASE(who_tells_of_a_certificate_that_nobody_has_signed_is_given_up, Sharing,
                        *boost::unit_test::label("attack") * boost::unit_test::label("S11")) {
  const auto honest = peer("p1");
  honest->say("m", "membership", msg::SignedCertificate{{std::byte{254}}});  // an old one: it may not know
  BOOST_TEST(core().membership().is_up("p1"));
  const auto liar = peer("p2");
  liar->say("m", "membership", msg::SignedCertificate{{std::byte{255}}});
  BOOST_TEST(!core().membership().is_up("p2"));
  BOOST_TEST(list->shown.empty());
}

BOOST_AUTO_TEST_CASE(a_node_without_a_list_lets_nobody_in_by_a_certificate) {
  AmongBarePeers nodes;
  const auto first = nodes.peer("p1");
  first->say("m", "membership", msg::SignedCertificate{{std::byte{255}}});
  BOOST_TEST(nodes.core().membership().is_up("p1"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
