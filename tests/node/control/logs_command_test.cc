#include "node/control/logs_command.h"

#include <boost/test/unit_test.hpp>

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "node/control/control_listener.h"
#include "node/control/report_json.h"
#include "node/launch/recent_lines.h"
#include "tests/support/fresh_control_name.h"
#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using detail::ControlListener;
using detail::LogText;
using detail::RecentLines;
using detail::without_commands;

/// A launcher whose node prints nothing. It ends when the first question of a follower has had an answer.
class QuietLauncher {
 public:
  QuietLauncher() : thread_([this] { run(); }) {}
  ~QuietLauncher() { thread_.join(); }

  const ControlName name = fresh_control_name("");
  std::atomic<int> quiet_answers = 0;  ///< that came because their time was over

 private:
  std::optional<std::string> answer(std::string_view question, std::uint64_t id) {
    if (question == "nodes") return json_of(LaunchReport{"quiet", "/quiet.toml", 1s, {}});
    const std::size_t verb = question.find(' ');
    auto answer =
        lines_.answer(question.substr(0, verb), question.substr(verb + 1), id, ControlListener::Time::clock::now());
    over_ = over_ || (answer && quiet_answers > 0);
    return answer;
  }

  void run() {
    const auto limit = ControlListener::Time::clock::now() + 10s;
    while (true) {
      const auto now = ControlListener::Time::clock::now();
      listener_.work(now);
      for (auto& [id, text] : lines_.take_answers(now)) {
        listener_.take_answer(id, std::move(text));
        ++quiet_answers;
        lines_.end();
      }
      if (now > limit || (over_ && listener_.connections() == 0)) return;
      std::vector<pollfd> polled;
      listener_.add_polled(polled);
      auto due = limit;
      for (const auto& other : {listener_.next_due(), lines_.next_due()}) due = std::min(due, other.value_or(due));
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - now);
      static_cast<void>(::poll(polled.data(), polled.size(), static_cast<int>(std::max(left, 0ms).count())));
    }
  }

  RecentLines lines_{{"ps"}};
  bool over_ = false;
  ControlListener listener_{name, ControlListener::AnswerOrLater([this](std::string_view question, std::uint64_t id) {
                              return answer(question, id);
                            })};
  std::thread thread_;
};

const std::vector<NodeName> kSixNodes{"n0", "n1", "n2", "n3", "n4", "n5"};

void print_of_each_of_six(RecentLines& lines, std::size_t bytes) {
  const std::string kilobyte(1024 - RecentLines::kLineCost, 'x');
  for (std::size_t i = 0; i < 6 * (bytes >> 10); ++i) lines.add(i % 6, Output::out, kilobyte);
}

/// Returns the status of the command while `listener`, its launcher, answers.
int show_logs_of(ControlListener& listener, const LogsOptions& options) {
  std::atomic<bool> done = false;
  int status = -1;
  const std::jthread reader([&] {
    status = show_logs(options);
    done = true;
  });
  while (!done) {
    std::vector<pollfd> polled;
    listener.add_polled(polled);
    static_cast<void>(::poll(polled.data(), polled.size(), 10));
    listener.work(ControlListener::Time::clock::now());
  }
  return status;
}

BOOST_AUTO_TEST_SUITE(logs_command)

BOOST_AUTO_TEST_CASE(lines_have_names_when_they_are_of_several_nodes) {
  const std::vector<LogLine> lines{{"ps", 4, false, "one"}, {"trainer0", 9, true, ""}, {"ps", 5, false, "two"}};
  BOOST_TEST(LogText(LogText::Names::shown).of(lines) == "[ps] one\n[trainer0] \n[ps] two\n");
  BOOST_TEST(LogText(LogText::Names::hidden).of(lines) == "one\n\ntwo\n");
}

BOOST_AUTO_TEST_CASE(lines_that_are_missing_are_counted) {
  LogText text(LogText::Names::shown);
  BOOST_TEST(text.of(std::vector<LogLine>{{"ps", 4, false, "a"}, {"ps", 8, false, "b"}}) ==
             "[ps] a\n[ps] ... 3 lines are not kept any more\n[ps] b\n");
  BOOST_TEST(text.of(std::vector<LogLine>{{"trainer0", 7, false, "c"}, {"ps", 9, false, "d"}}) ==
             "[trainer0] c\n[ps] d\n");
}

BOOST_AUTO_TEST_CASE(no_line_commands_the_terminal, *boost::unit_test::label("attack")) {
  BOOST_TEST(without_commands("\x1b[1;31mred\x1b[0m and \x1b[2Jplain") == "red and plain");
  BOOST_TEST(without_commands("\x1b]0;title\x07\r\t\x7f.") == "\\x1b]0;title\\x07  \\x7f.");
  BOOST_TEST(without_commands("\x1b[") == "");
  BOOST_TEST(without_commands("\x1b[12") == "");
  BOOST_TEST(without_commands("\x1b") == "\\x1b");
  BOOST_TEST(without_commands("grüße") == "grüße");
}

BOOST_AUTO_TEST_CASE(who_follows_waits_as_long_as_a_launcher_without_lines_and_its_own_patience_more) {
  QuietLauncher launcher;
  LogsOptions options;
  options.cluster = launcher.name.cluster_id;
  options.follow = Follow::yes;
  options.patience = RecentLines::kPatience - 100ms;
  BOOST_TEST(show_logs(options) == 0);
  BOOST_TEST(launcher.quiet_answers == 1);
}

BOOST_AUTO_TEST_CASE(nodes_that_print_without_end_do_not_keep_one_who_does_not_follow) {
  RecentLines lines(kSixNodes);
  print_of_each_of_six(lines, RecentLines::kKeptMax);
  int answers = 0;
  LogsOptions options;
  options.cluster = fresh_control_name("").cluster_id;
  options.lines = 1'000'000;
  ControlListener listener(ControlName{options.cluster, ""}, [&](std::string_view question) {
    if (question == "nodes") return json_of(LaunchReport{"flooded", "/flooded.toml", 1s, {}});
    const std::size_t verb = question.find(' ');
    std::string answer = *lines.answer(question.substr(0, verb), question.substr(verb + 1), 1, {});
    if (++answers < 20) print_of_each_of_six(lines, 100 << 10);  // more than an answer takes
    return answer;
  });
  BOOST_TEST(show_logs_of(listener, options) == 0);
  BOOST_TEST(answers <= 3);
}

BOOST_AUTO_TEST_CASE(who_wants_few_lines_asks_for_those_alone) {
  RecentLines lines(kSixNodes);
  print_of_each_of_six(lines, RecentLines::kKeptMax);
  std::vector<std::string> questions;
  LogsOptions options;
  options.cluster = fresh_control_name("").cluster_id;
  options.lines = 7;
  ControlListener listener(ControlName{options.cluster, ""}, [&](std::string_view question) {
    if (question == "nodes") return json_of(LaunchReport{"large", "/large.toml", 1s, {}});
    questions.emplace_back(question);
    const std::size_t verb = question.find(' ');
    return *lines.answer(question.substr(0, verb), question.substr(verb + 1), 1, {});
  });
  BOOST_TEST(show_logs_of(listener, options) == 0);
  BOOST_TEST(questions == std::vector<std::string>{"newest 7"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_older_launcher_which_tells_no_end_is_read_to_its_last_line) {
  RecentLines lines(kSixNodes);
  print_of_each_of_six(lines, RecentLines::kKeptMax);
  bool is_read = false;
  LogsOptions options;
  options.cluster = fresh_control_name("").cluster_id;
  ControlListener listener(ControlName{options.cluster, ""}, [&](std::string_view question) {
    if (question == "nodes") return json_of(LaunchReport{"older", "/older.toml", 1s, {}});
    if (!question.starts_with("logs ")) return json_of_error("it does not know this question");
    auto answer = nlohmann::json::parse(*lines.answer("logs", question.substr(5), 1, {}));
    answer.erase("end");
    is_read = !answer.at("more");
    return answer.dump();
  });
  BOOST_TEST(show_logs_of(listener, options) == 0);
  BOOST_TEST(is_read);
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_refused_by_each_command) {
  const auto check = [](std::vector<std::string> arguments, const std::string& refusal) {
    const std::string command = arguments.front();
    const auto result = TroupeRun(".", std::move(arguments)).finish();
    BOOST_TEST(result.status == 2);
    BOOST_TEST(result.last() == "troupe: " + refusal + " (see troupe " + command + " --help)");
  };
  for (const std::string number : {"nan", "-nan", "inf", "-1", "0", "2s", ""}) {
    check({"status", "--timeout", number}, "--timeout: \"" + number + "\" is no number of seconds from 0.001 to 3600");
    check({"doctor", "h", "--timeout", number},
          "--timeout: \"" + number + "\" is no number of seconds from 0.1 to 3600");
  }
  for (const std::string number : {"-1", "1.5", "99999999999999999999", "many", ""}) {
    check({"logs", "--lines", number}, "--lines: \"" + number + "\" is no number from 0 on");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
