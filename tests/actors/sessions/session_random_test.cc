// Two sessions over links that lose, repeat and reorder, by seed.
#include "actors/sessions/session.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/actors/sessions/alice_and_bob.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(session_random)

using namespace std::chrono_literals;
using boost::unit_test::label;
using testing::at;
using testing::kAlice;
using testing::kBob;
using testing::name_of_message;
using testing::parcel;

/// Two sessions over links that lose, repeat and reorder, with messages of every class and size, small grants, calls
/// that begin in any order, and some that are withdrawn, as some answers are.
class World {
 public:
  explicit World(unsigned seed)
      : random_(seed), loss_(std::uniform_real_distribution<>(0, 0.3)(random_)), options_(options(random_)) {
    for (int side = 0; side < 2; ++side) {
      sides_.push_back(std::make_unique<Side>(side == 0 ? kAlice : kBob, side == 0 ? kBob : kAlice, options_));
    }
  }

  void run() {
    for (int i = 0; i < 120; ++i) {
      for (int side = 0; side < 2; ++side) send(side);
      for (auto steps = random_() % 6; steps > 0; --steps) step();
    }
    for (int steps = 0; steps < 400'000 && !done(); ++steps) step();
    BOOST_TEST(done());
    for (int side = 0; side < 2; ++side) check(*sides_[side], *sides_[1 - side]);
  }

 private:
  struct Sent {
    std::string name, key;
    std::uint64_t request = 0;
    bool is_answer = false;
    bool taken_back = false;
  };
  struct Side {
    Side(Incarnation self, Incarnation peer, const SessionOptions& options)
        : session(self, peer, options, [this] { told = true; }) {}
    Session session;
    bool told = false;
    std::deque<Frames> wire[2];  ///< to the peer, by link lane
    std::vector<Sent> sent;
    std::vector<std::string> got;
    std::vector<std::unique_ptr<CallCredit>> waiting;  ///< calls that have not begun
    std::uint64_t begun_bytes = 0, held_bytes = 0;
  };

  static SessionOptions options(std::mt19937& random) {
    SessionOptions options;
    options.out.window_messages = 1 + random() % 50;
    options.out.window_bytes = 200 + random() % 2000;
    options.out.resend_bytes_max = random() % 2 == 0 ? 300 : 1 << 20;
    options.in.ack_messages = 1 + random() % 40;
    const std::uint64_t bytes = 1 + random() % 600;
    options.grants = {.calls = 1 + random() % 5, .nested = 1 + random() % 3, .bytes = {0, bytes, bytes, bytes, bytes}};
    options.first_grants = {.calls = 1, .nested = 1, .bytes = {0, 1, 1, 1, 1}};
    return options;
  }

  void send(int side) {
    Side& from = *sides_[side];
    Sent sent;
    sent.name = std::to_string(from.sent.size());
    const auto kind = random_() % 6;
    Posting posting;
    if (kind < 3) posting.of = kind == 0 ? Posting::Class::nested_call : Posting::Class::call;
    if (kind == 3) posting.of = Posting::Class::answer;
    if (kind < 4) {
      posting.request = RequestId{from.sent.size() + 1};
      sent.request = posting.request.value;
      sent.is_answer = kind == 3;
    }
    if (kind < 3) {
      if (random_() % 2 == 0) posting.order_key = sent.key = "rref/" + std::to_string(random_() % 3);
    }
    const std::size_t bytes = random_() % 3 == 0 ? random_() % 1500 : random_() % 60;
    const bool rides = posting.of == Posting::Class::word && random_() % 2 == 0;
    put((rides ? from.session.ride(now_, parcel(sent.name, bytes))
               : from.session.send(now_, parcel(sent.name, bytes), std::move(posting)))
            .value(),
        from);
    from.sent.push_back(std::move(sent));
  }

  void put(Session::Packets packets, Side& from) {
    for (Session::Packet& packet : packets) {
      if (chance() < loss_) continue;
      auto& wire = from.wire[packet.lane == LinkLane::bulk ? 1 : 0];
      for (int copies = chance() < 0.2 ? 2 : 1; copies > 0; --copies) {
        const auto back = chance() < 0.3 ? random_() % (wire.size() + 1) : 0;
        wire.insert(wire.end() - static_cast<std::ptrdiff_t>(back), packet.frames);
      }
    }
  }

  void step() {
    const int side = static_cast<int>(random_() % 2);
    Side& from = *sides_[side];
    Side& to = *sides_[1 - side];
    switch (random_() % 6) {
      case 0:
      case 1:
      case 2: {
        auto& wire = from.wire[from.wire[0].empty() || random_() % 2 == 0 ? 1 : 0];
        if (wire.empty()) break;
        Frames packet = std::move(wire.front());
        wire.pop_front();
        return arrive(to, std::move(packet));
      }
      case 3: {  // a call begins
        if (to.waiting.empty()) break;
        const auto which = to.waiting.begin() + static_cast<std::ptrdiff_t>(random_() % to.waiting.size());
        to.waiting.erase(which);
        break;
      }
      case 4: {  // a caller gives up
        if (from.sent.empty() || random_() % 20 != 0) break;
        Sent& sent = from.sent[random_() % from.sent.size()];
        if (sent.request == 0) break;
        const RequestId request{sent.request};
        Session::TakenBack taken =
            sent.is_answer ? from.session.take_back_answer(now_, request) : from.session.take_back(now_, request);
        sent.taken_back = sent.taken_back || taken.in_time;
        put(std::move(taken.on_link), from);
        break;
      }
      default: now_ += 10ms;
    }
    for (auto& each : sides_) {
      if (each->told && random_() % 2 == 0) {
        each->told = false;
        put(each->session.grant().on_link, *each);
      }
      put(each->session.tick(now_), *each);
    }
  }

  void arrive(Side& to, Frames packet) {
    BOOST_TEST(is_intact(packet));
    auto received = to.session.receive(now_, std::move(packet));
    BOOST_REQUIRE(received.ok());
    BOOST_TEST(received.value().no_memory_for.empty());
    for (Session::Delivered& message : received.value().delivered) {
      to.got.push_back(name_of_message(message.frames));
      if (message.charge == Charge::none) continue;
      to.waiting.push_back(std::make_unique<CallCredit>(to.session.account(), message.charge, message.bytes));
    }
    BOOST_TEST(to.waiting.size() <= options_.grants.calls + options_.grants.nested);
    put(std::move(received.value().on_link), to);
  }

  [[nodiscard]] bool done() const {
    return std::ranges::all_of(sides_,
                               [](const auto& side) { return side->session.flushed() && side->waiting.empty(); });
  }

  static void check(const Side& sender, const Side& receiver) {
    std::map<std::string, std::vector<std::string>> by_key;
    std::set<std::string> expected;
    for (const Sent& sent : sender.sent) {
      if (sent.taken_back) continue;
      expected.insert(sent.name);
      if (!sent.key.empty()) by_key[sent.key].push_back(sent.name);
    }
    BOOST_TEST(receiver.got.size() == expected.size());
    BOOST_TEST((std::set<std::string>(receiver.got.begin(), receiver.got.end()) == expected));
    for (const auto& [key, names] : by_key) {
      std::vector<std::string> order;
      std::ranges::copy_if(receiver.got, std::back_inserter(order),
                           [&](const auto& name) { return std::ranges::count(names, name) > 0; });
      BOOST_TEST((order == names));
    }
    BOOST_TEST(sender.session.waiting_bytes() == 0U);
    BOOST_TEST(sender.session.answers().bytes() == 0U);
  }

  double chance() { return std::uniform_real_distribution<>(0, 1)(random_); }

  std::mt19937 random_;
  double loss_;
  SessionOptions options_;
  TimePoint now_ = at(0ms);
  std::vector<std::unique_ptr<Side>> sides_;
};

BOOST_AUTO_TEST_CASE(every_message_arrives_once_within_the_grants_over_links_that_lose_repeat_and_reorder,
                     *label("fault-F01") * label("fault-F03") * label("fault-F04")) {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) { World(seed).run(); }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
