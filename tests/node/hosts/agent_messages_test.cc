// Messages between launcher and agent as JSON.
#include "node/hosts/agent_messages.h"

#include <boost/test/unit_test.hpp>

#include <string>

#include "node/hosts/agent_frames.h"

using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(agent_messages)

BOOST_AUTO_TEST_CASE(every_message_arrives_as_it_was) {
  const AgentWelcome welcome{"0.1", "b", 8};
  BOOST_CHECK(parse_body<AgentWelcome>(json_of(welcome)) == welcome);
  const AgentPrepare prepare{"id",
                             "keys",
                             std::chrono::milliseconds(7),
                             {{"/x", "ab", 5'000'000'000, true}},
                             AgentSeed{"eth0", 29500, "29500-29599", {"a", "c"}}};
  BOOST_CHECK(parse_body<AgentPrepare>(json_of(prepare)) == prepare);
  AgentPrepare without = prepare;
  without.seed.reset();
  BOOST_CHECK(parse_body<AgentPrepare>(json_of(without)) == without);
  const AgentPrepared prepared{{0, 2}, "tcp://10.0.0.1:5"};
  BOOST_CHECK(parse_body<AgentPrepared>(json_of(prepared)) == prepared);
  const AgentStart start{
      "tcp://10.0.0.1:5", "eth1", 3, {{"n0", 1, {"--a", "b c", "\"'\\\n"}, "/w", {{"K", "v=\t"}}}}, {{"ALL", "x"}}};
  BOOST_CHECK(parse_body<AgentStart>(json_of(start)) == start);
  const AgentStarted started{{7, 8}};
  BOOST_CHECK(parse_body<AgentStarted>(json_of(started)) == started);
  const AgentRefused refused{{"one", "two"}};
  BOOST_CHECK(parse_body<AgentRefused>(json_of(refused)) == refused);
}

BOOST_AUTO_TEST_CASE(what_is_no_message_is_refused) {
  for (const char* body :
       {"", "{", "[]", "null", "{}", R"({"pids": 3})", R"({"pids": ["x"]})", "\xff", "{\"pids\":[1"}) {
    BOOST_TEST_CONTEXT(body) { BOOST_CHECK_THROW((void)parse_body<AgentStarted>(body), AgentProtocolError); }
  }
  const std::string deep(100'000, '[');
  BOOST_CHECK_THROW((void)parse_body<AgentStarted>(deep), AgentProtocolError);
}

BOOST_AUTO_TEST_CASE(arguments_that_are_no_text_are_refused_and_problems_are_not) {
  AgentStart start;
  start.nodes.push_back({"n", 0, {"\xff"}, "", {}});
  BOOST_CHECK_THROW((void)json_of(start), AgentProtocolError);
  BOOST_TEST(parse_body<AgentRefused>(json_of(AgentRefused{{"a \xff"}})).problems.at(0) == "a \xEF\xBF\xBD");
}

BOOST_AUTO_TEST_SUITE_END()
