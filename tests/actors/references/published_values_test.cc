#include "actors/references/published_values.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actors/references/rref_handle.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(published_values)

namespace {

using Handle = PublishedValues::Handle;
using Lines = std::vector<std::string>;
const auto per_element = boost::test_tools::per_element();

/// Handles that are told apart by their ids only.
Handle handle(std::uint64_t serial) {
  return std::make_shared<RRefHandle>(std::weak_ptr<NodeCore>(), RRefId{"a", 1, serial}, NodeLife{"a", {1, 1}}, "i32",
                                      RRefOrigin("here"));
}

struct Table : PublishedValues {
  /// Answers become lines: "x: 7" for the handle of serial 7, "x: make", "x: not this type".
  Answer line(const std::string& who) {
    return [this, who](const Result<Handle>& answer) {
      lines.push_back(who + ": " +
                      (!answer          ? answer.error().message
                       : answer.value() ? std::to_string(answer.value()->id().serial)
                                        : "make"));
    };
  }
  Lines take() { return std::exchange(lines, {}); }
  Lines lines;
};

}  // namespace

BOOST_AUTO_TEST_CASE(those_who_look_wait_for_the_value_and_later_ones_get_it_at_once) {
  Table table;
  table.find("net", "T", table.line("x"));
  table.find("net", "U", table.line("y"));
  table.find("other", "T", table.line("z"));
  BOOST_TEST(table.take().empty());
  BOOST_TEST(!table.publish("net", {"T", handle(7)}));
  BOOST_TEST(table.take() == (Lines{"x: 7", "y: the value published as \"net\" is of type T, not U"}), per_element);
  table.find("net", "T", table.line("x"));
  table.make("net", "T", table.line("y"));
  table.make("net", "U", table.line("z"));
  BOOST_TEST(table.take() == (Lines{"x: 7", "y: 7", "z: the value published as \"net\" is of type T, not U"}),
             per_element);
  BOOST_TEST(table.names() == Lines{"net"}, per_element);
}

BOOST_AUTO_TEST_CASE(one_caller_makes_the_value_and_all_others_wait_for_it) {
  Table table;
  table.make("net", "T", table.line("x"));
  BOOST_TEST(table.take() == Lines{"x: make"}, per_element);
  std::thread([&] { table.make("net", "T", table.line("y")); }).join();
  table.find("net", "T", table.line("z"));
  BOOST_TEST(table.take().empty());
  table.made("net", {"T", handle(1)});
  BOOST_TEST(table.take() == (Lines{"y: 1", "z: 1"}), per_element);
}

BOOST_AUTO_TEST_CASE(next_caller_makes_the_value_when_the_first_gives_up) {
  Table table;
  table.make("net", "T", table.line("x"));
  std::uint64_t second = 0;
  std::thread([&] {
    table.find("net", "T", table.line("y"));
    second = table.make("net", "T", table.line("gone"));
    table.make("net", "T", table.line("z"));
  }).join();
  BOOST_TEST(table.withdraw(second));
  BOOST_TEST(!table.withdraw(second));
  table.take();
  table.give_up("net");
  BOOST_TEST(table.take() == Lines{"z: make"}, per_element);
  table.give_up("net");
  BOOST_TEST(table.take().empty());  // y waits on
  table.make("net", "T", table.line("x"));
  table.made("net", {"T", handle(2)});
  BOOST_TEST(table.take() == (Lines{"x: make", "y: 2"}), per_element);
}

BOOST_AUTO_TEST_CASE(what_a_name_refuses_is_said) {
  Table table;
  BOOST_TEST(table.publish("", {"T", handle(1)})->message == "a value is published under a name: it is empty");
  table.find("", "T", table.line("x"));
  BOOST_TEST(table.take() == Lines{"x: the name of a published value is empty"}, per_element);
  BOOST_TEST(!table.publish("net", {"T", handle(1)}));
  BOOST_TEST(table.publish("net", {"T", handle(2)})->message == "a value is published as \"net\" already");
  table.make("table", "T", table.line("x"));
  BOOST_TEST(table.publish("table", {"T", handle(2)})->message == "the value of \"table\" is being made by node_local");
  table.begin_making("table");
  table.make("table", "T", table.line("y"));
  BOOST_TEST(table.take() == (Lines{"x: make", "y: the value of \"table\" is needed while this thread makes it"}),
             per_element);
}

BOOST_AUTO_TEST_CASE(name_is_free_again_once_its_value_is_released) {
  Table table;
  const Handle held = handle(1);
  BOOST_TEST(!table.unpublish("net"));
  BOOST_TEST(!table.publish("net", {"T", held}));
  BOOST_TEST(held.use_count() == 2);
  BOOST_TEST(table.unpublish("net"));
  BOOST_TEST(held.use_count() == 1);
  BOOST_TEST(table.names().empty());
  table.find("net", "T", table.line("x"));
  BOOST_TEST(!table.publish("net", {"T", handle(2)}));
  BOOST_TEST(table.take() == Lines{"x: 2"}, per_element);
}

BOOST_AUTO_TEST_CASE(end_of_the_node_ends_every_wait_and_releases_every_value) {
  Table table;
  const Handle held = handle(1);
  BOOST_TEST(!table.publish("net", {"T", held}));
  table.find("other", "T", table.line("x"));
  Error why;
  why.message = "the node has shut down";
  table.stop(why);
  BOOST_TEST(held.use_count() == 1);
  table.find("other", "T", table.line("y"));
  BOOST_TEST(table.take() == (Lines{"x: the node has shut down", "y: the node has shut down"}), per_element);
  BOOST_TEST(table.publish("more", {"T", handle(2)})->message == "the node has shut down");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
