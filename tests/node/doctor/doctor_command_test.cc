// `troupe doctor` as users run it: agents on this machine, each with a loopback address of its own, and agents that are
// broken, silent or lie.
#include "node/doctor/doctor_command.h"

#include <signal.h>
#include <sys/stat.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "node/doctor/doctor_messages.h"
#include "node/hosts/agent_frames.h"
#include "node/hosts/agent_messages.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using namespace troupe::detail;
using Lines = std::vector<std::string>;

/// Returns a [[host]] on this machine whose agent is started by `script`; by default the true one.
std::string host_of(const std::string& name, const std::string& address,
                    const std::string& script = "exec " TROUPE_PROGRAM " agent") {
  return "[[host]]\nname = \"" + name + "\"\naddress = \"" + address + "\"\nagent = [\"sh\", \"-c\", '''" + script +
         "''']\n";
}

std::string role_of(const std::string& command = "sh") {
  return "[[role]]\nname = \"n\"\ncount = 4\ncommand = [\"" + command + "\"]\n";
}

std::string welcome(const std::string& version = TROUPE_VERSION) {
  return std::string(kAgentGreeting) + encode_frame(AgentFrameKind::welcome, json_of(AgentWelcome{version, "b", 1}));
}

std::string time_of(std::uint64_t microseconds) {
  std::string body;
  put_u64(body, microseconds);
  return encode_frame(AgentFrameKind::time, body);
}

/// Returns the text of the lines between that of a host and the next one's, without marks that are ok.
Lines unwell(const Lines& lines, const std::string& host) {
  Lines result;
  auto line = std::find(lines.begin(), lines.end(), host);
  BOOST_TEST_REQUIRE((line != lines.end()));
  for (++line; line != lines.end() && line->starts_with("  "); ++line) {
    if (!line->starts_with("  ok ")) result.push_back(*line);
  }
  return result;
}

bool has(const Lines& lines, const std::string& text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

struct Clusters : TemporaryDirectory {
  TroupeRun start(const std::string& text, std::vector<std::string> more = {}) {
    std::ofstream(path() / "cluster.toml") << text;
    std::vector<std::string> arguments{"doctor", "cluster.toml", "--set", "cluster.network=loopback"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return TroupeRun(path(), arguments);
  }

  TroupeRun::Result doctor(const std::string& text, std::vector<std::string> more = {}) {
    auto run = start(text, std::move(more));
    auto result = run.finish();
    BOOST_TEST(run.all_gone());
    return result;
  }

  /// Returns what is said about host "b", which answers with `bytes` whatever it is asked.
  Lines with_answer(const std::string& bytes, std::vector<std::string> more = {}) {
    std::ofstream(path() / "answer", std::ios::binary) << bytes;
    const auto result =
        doctor(host_of("a", "127.0.0.2") + host_of("b", "127.0.0.3", "cat answer; exec sleep 1000") + role_of(),
               std::move(more));
    BOOST_TEST(result.status == 1);
    BOOST_TEST(result.last().starts_with("doctor: 2 hosts, "));
    return unwell(result.lines, "b");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(doctor_command, Clusters)

BOOST_AUTO_TEST_CASE(hosts_that_are_well_have_no_problem) {
  const auto result =
      doctor(host_of("a", "127.0.0.2") + host_of("b", "127.0.0.3") + host_of("c", "127.0.0.4") + role_of());
  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.last().starts_with("doctor: 3 hosts, 0 problems, "));
  for (const char* line : {"reaches b, c by tcp and udp", "reaches c, a by tcp and udp", "reaches a, b by tcp and udp",
                           "address    127.0.0.4", "1 of 1 there"}) {
    BOOST_TEST(has(result.lines, line), line);
  }
}

BOOST_AUTO_TEST_CASE(json_has_the_same) {
  const auto result = doctor(host_of("a", "127.0.0.2") + role_of(), {"--json"});
  BOOST_TEST(result.status == 0);
  const auto whole = nlohmann::json::parse(result.last());
  BOOST_TEST(whole.at("problems") == 0);
  BOOST_TEST(whole.at("hosts").at(0).at("findings").at(0).at("check") == "login");
}

BOOST_AUTO_TEST_CASE(a_host_without_a_login_is_a_problem_of_its_own) {
  const auto result =
      doctor(host_of("a", "127.0.0.2") + host_of("b", "127.0.0.3", "echo no; echo route >&2; exit 255") +
             host_of("c", "127.0.0.4") + role_of());
  BOOST_TEST(result.status == 1);
  const Lines b = unwell(result.lines, "b");
  BOOST_TEST_REQUIRE(b.size() == 2u);
  BOOST_TEST(b[0].starts_with("  problem  login     "));
  BOOST_TEST(has(b, "sh ended before an agent answered: exit status 255; its last line: "));
  BOOST_TEST(has(b, "try it: sh -c '"));
  BOOST_TEST(has(result.lines, "reaches c by tcp and udp"));
  BOOST_TEST(result.last().starts_with("doctor: 3 hosts, 1 problem, "));
}

BOOST_AUTO_TEST_CASE(a_host_that_never_answers_is_given_up) {
  const auto result = doctor(host_of("a", "127.0.0.2") + host_of("b", "127.0.0.3", "exec sleep 1000") + role_of(),
                             {"--timeout", "0.3"});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(has(unwell(result.lines, "b"), "problem  login      no agent has answered within 300 ms"));
}

BOOST_AUTO_TEST_CASE(a_host_that_is_silent_after_its_welcome_is_given_up) {
  const Lines b = with_answer(welcome(), {"--timeout", "0.3"});
  BOOST_TEST((has(b, "no answer to its clock within 300 ms") || has(b, "no word from its agent for 300 ms")));
}

BOOST_AUTO_TEST_CASE(a_host_that_lives_and_does_not_answer_is_given_up_at_that_step) {
  std::ofstream(path() / "welcome", std::ios::binary) << welcome();
  std::ofstream(path() / "pong", std::ios::binary) << encode_frame(AgentFrameKind::pong, "");
  const auto result =
      doctor(host_of("a", "127.0.0.2") + host_of("b", "127.0.0.3", "cat welcome; while cat pong; do sleep 0.01; done") +
                 role_of(),
             {"--timeout", "1"});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(has(unwell(result.lines, "b"), "problem  agent      no answer to its clock within 1.0 s"));
  BOOST_TEST(has(result.lines, "1 of 1 there"));  // the other host goes on
}

BOOST_AUTO_TEST_CASE(another_version_is_a_problem) {
  BOOST_TEST(has(with_answer(welcome("0.0.1")), "it has troupe 0.0.1, here is " TROUPE_VERSION));
}

BOOST_AUTO_TEST_CASE(an_agent_that_lies_is_given_up) {
  const std::vector<std::pair<std::string, std::string>> lies{
      {welcome() + time_of(1), "a message that answers nothing, 73"},
      {std::string(100'000, 'x'), "bytes of other output"},
  };
  for (const auto& [bytes, why] : lies) {
    BOOST_TEST_CONTEXT(why) { BOOST_TEST(has(with_answer(bytes), why)); }
  }
}

BOOST_AUTO_TEST_CASE(answers_that_cannot_be_are_problems) {
  std::string huge;
  put_u64(huge, 253'402'300'800'000'000U);
  const std::vector<std::pair<std::string, std::string>> lies{
      {encode_frame(AgentFrameKind::time, "short"), "a body ends 3 bytes early"},
      {encode_frame(AgentFrameKind::time, huge), "a time after the year 9999"},
      {encode_frame(AgentFrameKind::facts, "{}"), "a message that answers nothing, 74"},
      {encode_frame(AgentFrameKind::refused, json_of(AgentRefused{{"no"}})), "refuses to say its clock: no"},
  };
  for (const auto& [bytes, why] : lies) {
    BOOST_TEST_CONTEXT(why) {
      std::ofstream(path() / "welcome", std::ios::binary) << welcome();
      std::ofstream(path() / "answer", std::ios::binary) << bytes;
      // The first question is a frame without a body, 5 bytes.
      const auto result = doctor(
          host_of("a", "127.0.0.2") +
          host_of("b", "127.0.0.3", "cat welcome; head -c 5 >/dev/null; cat answer; exec sleep 1000") + role_of());
      BOOST_TEST(result.status == 1);
      BOOST_TEST(has(unwell(result.lines, "b"), why));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_clock_that_is_wrong_is_a_warning) {
  std::ofstream(path() / "welcome", std::ios::binary) << welcome();
  std::ofstream(path() / "time", std::ios::binary) << time_of(0);  // 1970
  const std::string script =
      "cat welcome; for i in 1 2 3; do head -c 5 >/dev/null; cat time; done; head -c 5 >/dev/null; exit 3";
  const auto result = doctor(host_of("a", "127.0.0.2") + host_of("b", "127.0.0.3", script) + role_of());
  const Lines b = unwell(result.lines, "b");
  BOOST_TEST(has(b, "warning  clock"));
  BOOST_TEST(has(b, "s behind, known to within "));
  BOOST_TEST(has(b, "problem  agent      its agent ended: exit status 3"));
}

BOOST_AUTO_TEST_CASE(programs_that_are_missing_are_named_and_not_copied) {
  std::ofstream(path() / "program") << "#!/bin/sh\n";
  std::filesystem::permissions(path() / "program", std::filesystem::perms::owner_all);
  std::filesystem::create_directory(path() / "there");
  const std::string there = "working_dir = \"" + (path() / "there").string() + "\"\n";
  const std::string text = host_of("a", "127.0.0.2") + host_of("b", "127.0.0.3") + there + role_of("./program");
  const auto result = doctor(text);
  BOOST_TEST(result.status == 1);
  BOOST_TEST(unwell(result.lines, "a").empty());
  BOOST_TEST(has(unwell(result.lines, "b"), "problem  programs   no program " + (path() / "there/program").string()));
  const auto copied = doctor("[cluster]\ncopy = true\n" + text);
  BOOST_TEST(copied.status == 0);
  BOOST_TEST(has(copied.lines, "ok       programs   0 of 1 there, 1 to be copied"));
}

BOOST_AUTO_TEST_CASE(an_address_that_cannot_be_listened_at_is_a_problem) {
  const auto result = doctor(host_of("a", "127.0.0.2") + host_of("b", "198.51.100.7") + role_of());
  BOOST_TEST(result.status == 1);
  BOOST_TEST(has(unwell(result.lines, "b"), "can be reached from other machines"));
}

BOOST_AUTO_TEST_CASE(a_wrong_file_and_an_interrupt_have_their_status) {
  BOOST_TEST(doctor("[[host]]\nnom = \"a\"\n").status == 2);
  BOOST_TEST_REQUIRE(mkfifo((path() / "started").c_str(), 0600) == 0);
  auto run = start(host_of("a", "127.0.0.2", "echo >started; exec sleep 1000") + role_of(), {"--timeout", "3600"});
  std::ifstream(path() / "started").get();  // waits for the agent
  run.signal(SIGINT);
  const auto result = run.finish();
  BOOST_TEST(result.status == 130);
  BOOST_TEST(result.last() == "troupe doctor: ended by SIGINT");
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
