#include "node/joining/rendezvous_file.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(rendezvous_file)

using namespace std::chrono_literals;

Peer node(const std::string& name, std::uint64_t life = 1) {
  return {.name = name, .incarnation = {.high = life, .low = 0xabc}, .address = "test://" + name};
}

/// A file that does not exist yet, and the addresses with a listener.
struct Place {
  [[nodiscard]] RendezvousFile file(const std::string& cluster = "mnist") const {
    return {path, cluster, [this](const std::vector<std::string>& addresses, std::optional<TimePoint> /*due*/) {
              return listens(addresses);
            }};
  }
  [[nodiscard]] std::vector<bool> listens(const std::vector<std::string>& addresses) const {
    std::vector<bool> answers;
    for (const std::string& address : addresses) answers.push_back(listening.contains(address));
    return answers;
  }
  /// Returns the answer to `self` when it joins. From then on its address has a listener.
  [[nodiscard]] Result<std::vector<Peer>> come(const Peer& self, const std::string& cluster = "mnist") {
    listening.insert(self.address);
    return file(cluster).join_or_found(self, in(5s));
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  static TimePoint in(Duration time) { return std::chrono::steady_clock::now() + time; }

  testing::TemporaryDirectory directory;
  std::filesystem::path path = directory.path() / "rendezvous";
  std::set<std::string> listening;
};

std::vector<NodeName> names_of(const Result<std::vector<Peer>>& nodes) {
  std::vector<NodeName> names;
  for (const Peer& peer : nodes.value()) names.push_back(peer.name);
  return names;
}
using Names = std::vector<NodeName>;

BOOST_AUTO_TEST_CASE(first_node_founds_and_the_next_joins_through_it) {
  Place place;
  BOOST_TEST(place.come(node("a")).value().empty());
  BOOST_TEST(place.text() == "troupe-rendezvous 1 mnist\n00000000000000010000000000000abc a test://a\n");
  const std::vector<Peer> there = place.come(node("b")).value();
  BOOST_REQUIRE(there.size() == 1U);
  BOOST_TEST((there[0] == node("a")));
}

BOOST_AUTO_TEST_CASE(of_many_that_come_at_once_one_founds) {
  Place place;
  for (int i = 0; i < 32; ++i) place.listening.insert(fmt::format("test://n{}", i));
  std::atomic<int> founders = 0;
  std::atomic<int> joiners = 0;
  {
    std::vector<std::jthread> nodes;
    for (int i = 0; i < 32; ++i) {
      nodes.emplace_back([&, i] {
        const auto there = place.file().join_or_found(node(fmt::format("n{}", i)), Place::in(20s));
        if (there) ++(there.value().empty() ? founders : joiners);
      });
    }
  }
  BOOST_TEST(founders == 1);
  BOOST_TEST(joiners == 31);
}

BOOST_AUTO_TEST_CASE(members_stand_in_the_file_once_they_say_so_with_their_last_life) {
  Place place;
  BOOST_TEST(place.come(node("a")).value().empty());
  BOOST_TEST((names_of(place.come(node("b"))) == Names{"a"}));
  BOOST_TEST(place.file().add(node("b"), Place::in(5s)).ok());
  BOOST_TEST((names_of(place.come(node("c"))) == Names{"a", "b"}));
  BOOST_TEST(place.file().add(node("a", 2), Place::in(5s)).ok());
  BOOST_TEST((place.come(node("c")).value() == std::vector<Peer>{node("b"), node("a", 2)}));
}

BOOST_AUTO_TEST_CASE(file_of_a_cluster_that_has_ended_is_taken) {
  Place place;
  BOOST_TEST(place.come(node("a")).value().empty());
  BOOST_TEST(place.file().add(node("b"), Place::in(5s)).ok());
  place.listening.clear();
  BOOST_TEST(place.come(node("c", 7)).value().empty());
  BOOST_TEST((place.come(node("d")).value() == std::vector<Peer>{node("c", 7)}));
}

BOOST_AUTO_TEST_CASE(first_node_may_leave_and_its_line_with_it) {
  Place place;
  BOOST_TEST(place.come(node("a")).value().empty());
  place.listening.insert("test://b");
  BOOST_TEST(place.file().add(node("b"), Place::in(5s)).ok());
  place.listening.erase("test://a");
  BOOST_TEST((names_of(place.come(node("c"))) == Names{"b"}));
  BOOST_TEST(place.text().find("test://a") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(node_that_comes_back_to_its_own_address_does_not_join_through_itself) {
  Place place;
  BOOST_TEST(place.come(node("a", 1)).value().empty());
  BOOST_TEST(place.come(node("a", 2)).value().empty());
  BOOST_TEST((place.come(node("b")).value() == std::vector<Peer>{node("a", 2)}));
}

BOOST_AUTO_TEST_CASE(file_of_another_cluster_is_refused_while_it_lives_and_taken_when_it_has_ended) {
  Place place;
  BOOST_TEST(place.come(node("a"), "other").value().empty());
  const Error error = place.come(node("b")).error();
  BOOST_TEST((error.code == ErrorCode::bad_argument));
  BOOST_TEST(error.message ==
             "the rendezvous file " + place.path.string() +
                 " belongs to cluster \"other\", whose node a listens at test://a; this node is of cluster \"mnist\"");
  place.listening.erase("test://a");
  BOOST_TEST(place.come(node("b")).value().empty());
  BOOST_TEST((place.file("other").add(node("a"), Place::in(5s)).error().code == ErrorCode::bad_argument));
}

BOOST_AUTO_TEST_CASE(file_that_holds_something_else_is_left_alone) {
  for (const std::string text : {"a poem\n", "troupe-rendezvous 2 mnist\n", "troupe-rendezvous 1 mnist\nhalf a line",
                                 "troupe-rendezvous 1 mnist\n00000000000000010000000000000abc a\n"}) {
    Place place;
    place.write(text);
    const Error error = place.come(node("a")).error();
    BOOST_TEST((error.code == ErrorCode::bad_argument));
    BOOST_TEST(error.message ==
               "the rendezvous file " + place.path.string() + " holds something else than the nodes of a cluster");
    BOOST_TEST(place.text() == text);
  }
}

BOOST_AUTO_TEST_CASE(empty_file_is_free_and_addresses_may_have_spaces) {
  Place place;
  place.write("");
  Peer spacious = node("a");
  spacious.address = "ipc:///run/my nodes/a";
  BOOST_TEST(place.come(spacious).value().empty());
  BOOST_TEST((place.come(node("b")).value() == std::vector<Peer>{spacious}));
}

BOOST_AUTO_TEST_CASE(places_that_cannot_be_used_are_clear_errors) {
  Place place;
  place.path = place.directory.path() / "missing" / "rendezvous";
  BOOST_TEST(place.come(node("a")).error().message ==
             "the rendezvous file " + place.path.string() + " cannot be opened: No such file or directory");
  place.path = "/dev/null";
  BOOST_TEST(place.come(node("a")).error().message == "the rendezvous file /dev/null is no regular file");
  place.path = place.directory.path() / "rendezvous";
  BOOST_TEST((place.come(node("a"), "two\nlines").error().code == ErrorCode::bad_argument));
}

BOOST_AUTO_TEST_CASE(lock_of_another_process_is_waited_for_in_time) {
  Place place;
  place.write("");
  const int other = ::open(place.path.c_str(), O_RDWR | O_CLOEXEC);
  BOOST_REQUIRE(::flock(other, LOCK_EX) == 0);
  const Error error = place.file().join_or_found(node("a"), Place::in(30ms)).error();
  BOOST_TEST((error.code == ErrorCode::timeout));
  BOOST_TEST(error.message == "the rendezvous file " + place.path.string() + " is locked by another process");
  ::close(other);
  BOOST_TEST(place.come(node("a")).value().empty());
}

BOOST_AUTO_TEST_CASE(all_nodes_are_tested_at_once_and_without_the_lock) {
  Place place;
  for (int i = 0; i < 40; ++i) {
    if (i == 0) BOOST_TEST(place.come(node("n0")).value().empty());
    BOOST_TEST(place.file().add(node(fmt::format("n{}", i)), Place::in(5s)).ok());
  }
  place.listening.clear();
  std::vector<std::size_t> counts;
  const RendezvousFile file(place.path, "mnist", [&](const std::vector<std::string>& addresses, auto due) {
    counts.push_back(addresses.size());
    BOOST_TEST(due.has_value());
    const int other = ::open(place.path.c_str(), O_RDWR | O_CLOEXEC);
    BOOST_TEST(::flock(other, LOCK_EX | LOCK_NB) == 0);
    ::close(other);
    return place.listens(addresses);
  });
  BOOST_TEST(file.join_or_found(node("late"), Place::in(5s)).value().empty());
  BOOST_TEST(counts == std::vector<std::size_t>{40});
}

BOOST_AUTO_TEST_CASE(who_came_while_nodes_were_tested_is_tested_too) {
  Place place;
  BOOST_TEST(place.come(node("a")).value().empty());
  place.listening.clear();
  std::vector<std::vector<std::string>> tested;
  const RendezvousFile file(place.path, "mnist", [&](const std::vector<std::string>& addresses, auto /*due*/) {
    std::vector<bool> answers = place.listens(addresses);
    if (tested.empty()) BOOST_TEST(place.come(node("b")).value().empty());  // takes over the file
    tested.push_back(addresses);
    return answers;
  });
  BOOST_TEST((file.join_or_found(node("c"), Place::in(5s)).value() == std::vector<Peer>{node("b")}));
  BOOST_TEST((tested == std::vector<std::vector<std::string>>{{"test://a"}, {"test://b"}}));
}

BOOST_AUTO_TEST_CASE(file_of_which_nothing_is_known_in_time_stays) {
  Place place;
  BOOST_TEST(place.come(node("a")).value().empty());
  const std::string before = place.text();
  const RendezvousFile file(place.path, "mnist", [&](const std::vector<std::string>& addresses, auto due) {
    while (std::chrono::steady_clock::now() < *due) std::this_thread::yield();
    return std::vector<bool>(addresses.size(), false);
  });
  const Error error = file.join_or_found(node("b"), Place::in(20ms)).error();
  BOOST_TEST((error.code == ErrorCode::timeout));
  BOOST_TEST(error.message == "the rendezvous file " + place.path.string() +
                                  " lists nodes, and which of them listen was not known in time");
  BOOST_TEST(place.text() == before);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
