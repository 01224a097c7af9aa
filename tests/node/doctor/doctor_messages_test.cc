// Messages between `troupe doctor` and agents as JSON.
#include "node/doctor/doctor_messages.h"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "node/hosts/agent_frames.h"

using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(doctor_messages)

namespace {

const std::string kToken(kTokenSize, 't');

const HostFacts kFacts{.system = "Linux 6.1.0 x86_64",
                       .cores = 8,
                       .memory = 16'000'000'000,
                       .memory_free = 12'000'000'000,
                       .shared = 8'000'000'000,
                       .shared_free = 7'000'000'000,
                       .descriptors_max = kNoLimit,
                       .locked_max = 65536,
                       .zmq = "4.3.4",
                       .zmq_curve = true,
                       .sodium = "1.0.18",
                       .aes = false};
const ListenOrder kListen{"eth0", "tcp://10.0.0.1:5", {"a", "c"}, "keys", 29500, "29500-29599", "1-2", kToken};
const Listening kListening{"", "10.0.0.2", 29501, true, 29600, {100, 99}, {10, 10}};
const ReachOrder kReach{{{"10.0.0.2", 29501, true, 29600, kToken}, {"fd77::1", 1, false, 0, kToken}}, 7'500};
const Reached kReached{
    {{"10.0.0.1", {ReachOutcome::reached, "", 400}, {ReachOutcome::timed_out, "", 0}, {ReachOutcome::failed, "no", 0}},
     {}}};

/// Returns the text after one change to a message.
template <class Message>
std::string changed(const Message& message, const std::function<void(nlohmann::json&)>& change) {
  auto value = nlohmann::json::parse(json_of(message));
  change(value);
  return value.dump();
}

template <class Message>
void refuse_all(const Message& message, const std::vector<std::function<void(nlohmann::json&)>>& changes) {
  BOOST_CHECK_NO_THROW((void)parse_body<Message>(changed(message, [](nlohmann::json&) {})));
  for (std::size_t i = 0; i < changes.size(); ++i) {
    BOOST_TEST_CONTEXT("change " << i) {
      BOOST_CHECK_THROW((void)parse_body<Message>(changed(message, changes[i])), AgentProtocolError);
    }
  }
}

template <class Message>
void refuse_pieces(const Message& message) {
  const std::string whole = json_of(message);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    BOOST_CHECK_THROW((void)parse_body<Message>(whole.substr(0, size)), AgentProtocolError);
  }
  for (const char* body : {"[]", "null", "{}", "3", "\"x\"", "\xff"}) {
    BOOST_CHECK_THROW((void)parse_body<Message>(body), AgentProtocolError);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_message_arrives_as_it_was) {
  BOOST_CHECK(parse_body<HostFacts>(json_of(kFacts)) == kFacts);
  BOOST_CHECK(parse_body<ListenOrder>(json_of(kListen)) == kListen);
  BOOST_CHECK(parse_body<Listening>(json_of(kListening)) == kListening);
  BOOST_CHECK(parse_body<ReachOrder>(json_of(kReach)) == kReach);
  BOOST_CHECK(parse_body<Reached>(json_of(kReached)) == kReached);
}

BOOST_AUTO_TEST_CASE(pieces_and_other_values_are_refused) {
  refuse_pieces(kFacts);
  refuse_pieces(kListen);
  refuse_pieces(kListening);
  refuse_pieces(kReach);
  refuse_pieces(kReached);
  BOOST_CHECK_THROW((void)parse_body<Reached>(std::string(100'000, '[')), AgentProtocolError);
}

BOOST_AUTO_TEST_CASE(facts_out_of_range_are_refused) {
  refuse_all(kFacts, {[](auto& value) { value["memory"] = -1; }, [](auto& value) { value["memory"] = 1e300; },
                      [](auto& value) { value["cores"] = (1 << 20) + 1; }, [](auto& value) { value["aes"] = 1; },
                      [](auto& value) { value["zmq"] = std::string(1025, 'x'); },
                      [](auto& value) { value["zmq"] = nullptr; }, [](auto& value) { value.erase("sodium"); }});
}

BOOST_AUTO_TEST_CASE(places_out_of_range_are_refused) {
  refuse_all(kListening,
             {[](auto& value) { value["port"] = 65536; }, [](auto& value) { value["udp"] = "yes"; },
              [](auto& value) { value["ports"]["free"] = 101; }, [](auto& value) { value["ports"]["tried"] = 65536; },
              [](auto& value) { value["ports"] = 3; }, [](auto& value) { value["port"] = 0; },
              [](auto& value) { value["address"] = ""; }, [](auto& value) { value["address"] = "first.example"; },
              [](auto& value) { value["address"] = std::string(1024, '1'); }});
  BOOST_TEST(parse_body<Listening>(json_of(Listening{.problem = "no port"})).problem == "no port");
  refuse_all(kListen, {[](auto& value) { value["token"] = "short"; }, [](auto& value) { value["toward"] = "a"; },
                       [](auto& value) { value["toward"][0] = 3; }});
  refuse_all(kReach,
             {[](auto& value) { value["places"][0]["token"] = std::string(33, 't'); },
              [](auto& value) { value["places"][0] = 3; }, [](auto& value) { value["patience_ms"] = 3'600'001; },
              [](auto& value) {
                while (value["places"].size() <= 256) value["places"].push_back(value["places"][0]);
              }});
}

BOOST_AUTO_TEST_CASE(outcomes_that_are_none_are_refused) {
  refuse_all(kReached,
             {[](auto& value) { value["ways"][0]["tcp"]["outcome"] = 7; },
              [](auto& value) { value["ways"][0]["tcp"]["outcome"] = "reached"; },
              [](auto& value) { value["ways"][0]["udp"]["text"] = std::string(2000, 'x'); },
              [](auto& value) { value["ways"][0]["udp"]["microseconds"] = kNoLimit; },
              [](auto& value) { value["ways"][0].erase("from"); }, [](auto& value) { value["ways"] = "all"; }});
}

BOOST_AUTO_TEST_CASE(texts_of_the_system_need_not_be_utf8) {
  HostFacts facts = kFacts;
  facts.system = "a \xff";
  BOOST_TEST(parse_body<HostFacts>(json_of(facts)).system == "a \xEF\xBF\xBD");
}

BOOST_AUTO_TEST_SUITE_END()
