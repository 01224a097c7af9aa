#include "node/launch/recent_lines.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/control/report_json.h"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

const RecentLines::Time kStart{};

/// What the launcher of ps and trainer0 would answer.
struct Launched {
  void print(std::size_t node, std::string_view line, Output stream = Output::out) { lines.add(node, stream, line); }

  /// Returns "ps:one trainer0!two next 2": ! for standard error; "waits" if there is no answer yet.
  std::string ask(std::string_view verb, std::string_view words, RecentLines::Time now = kStart) {
    const auto answer = lines.answer(verb, words, ++last_id, now);
    return answer ? text_of(*answer) : "waits";
  }
  static std::string text_of(const std::string& answer) {
    try {
      const LogReport report = parse_log_report(answer);
      std::string text;
      for (const LogLine& line : report.lines) text += line.node + (line.is_error ? "!" : ":") + line.text + " ";
      return text + "next " + std::to_string(report.next) + (report.more ? " more" : "") + (report.over ? " over" : "");
    } catch (const ReportError& error) {
      return error.what();
    }
  }
  /// Returns the answers that came later, with their questions.
  std::string later(RecentLines::Time now = kStart) {
    std::string text;
    for (const auto& [id, answer] : lines.take_answers(now)) text += std::to_string(id) + "=" + text_of(answer) + ";";
    return text;
  }

  RecentLines lines{{"ps", "trainer0"}};
  std::uint64_t last_id = 0;
};

BOOST_FIXTURE_TEST_SUITE(recent_lines, Launched)

BOOST_AUTO_TEST_CASE(lines_of_all_nodes_or_one_from_the_last_question_on) {
  BOOST_TEST(ask("logs", "0") == "next 0");
  print(0, "one");
  print(1, "two", Output::err);
  print(0, "three");
  BOOST_TEST(ask("logs", "0") == "ps:one trainer0!two ps:three next 3");
  BOOST_TEST(ask("logs", "1") == "trainer0!two ps:three next 3");
  BOOST_TEST(ask("logs", "1 ps") == "ps:three next 3");
  BOOST_TEST(ask("logs", "0 trainer0") == "trainer0!two next 3");
  BOOST_TEST(ask("logs", "3") == "next 3");
  BOOST_TEST(ask("logs", "18446744073709551615") == "next 3");
}

BOOST_AUTO_TEST_CASE(the_newest_lines_of_all_nodes_or_one) {
  BOOST_TEST(ask("newest", "2") == "next 0");
  print(0, "one");
  print(1, "two");
  print(0, "three");
  print(0, "four");
  BOOST_TEST(ask("newest", "0") == "next 4");
  BOOST_TEST(ask("newest", "3") == "trainer0:two ps:three ps:four next 4");
  BOOST_TEST(ask("newest", "1 trainer0") == "trainer0:two next 4");
  BOOST_TEST(ask("newest", "2 ps") == "ps:three ps:four next 4");
  BOOST_TEST(ask("newest", "18446744073709551615") == "ps:one trainer0:two ps:three ps:four next 4");
}

BOOST_AUTO_TEST_CASE(questions_that_make_no_sense_are_refused) {
  for (const char* words : {"", "x", "-1", "0x", "18446744073709551616"}) {
    BOOST_TEST(ask("follow", words) == "it is told no line");
  }
  for (const char* words : {"0 ", "0 nobody", "0 ps trainer0"}) BOOST_TEST(ask("logs", words) == "it has no such node");
}

BOOST_AUTO_TEST_CASE(who_follows_waits_for_a_line_of_the_node) {
  BOOST_TEST(ask("follow", "0 ps") == "waits");
  BOOST_TEST(ask("follow", "0") == "waits");
  BOOST_TEST(later() == "");
  print(1, "one");
  BOOST_TEST(later() == "2=trainer0:one next 1;");
  print(0, "two");
  BOOST_TEST(later() == "1=ps:two next 2;");
  BOOST_TEST(later() == "");
  BOOST_TEST(ask("follow", "1") == "ps:two next 2");
}

BOOST_AUTO_TEST_CASE(who_follows_a_silent_node_is_told_so_in_time) {
  BOOST_TEST(!lines.next_due());
  BOOST_TEST(ask("follow", "0 ps") == "waits");
  BOOST_TEST((lines.next_due() == kStart + RecentLines::kPatience));
  print(1, "one");
  BOOST_TEST(later(kStart + RecentLines::kPatience - 1ms) == "");
  BOOST_TEST(later(kStart + RecentLines::kPatience) == "1=next 1;");
  BOOST_TEST(!lines.next_due());
}

BOOST_AUTO_TEST_CASE(the_end_is_told_to_all_who_follow) {
  BOOST_TEST(!lines.is_followed(kStart));
  BOOST_TEST(ask("follow", "0") == "waits");
  BOOST_TEST(ask("follow", "0") == "waits");
  print(0, "last");
  BOOST_TEST(later() == "1=ps:last next 1;2=ps:last next 1;");
  lines.end();
  BOOST_TEST(lines.is_followed(kStart));
  BOOST_TEST(ask("follow", "1") == "next 1 over");
  BOOST_TEST(lines.is_followed(kStart));  // the other one
  BOOST_TEST(ask("follow", "1") == "next 1 over");
  BOOST_TEST(!lines.is_followed(kStart));
}

BOOST_AUTO_TEST_CASE(who_waits_is_told_of_the_end_and_who_left_is_not_waited_for) {
  BOOST_TEST(ask("follow", "0") == "waits");
  lines.end();
  BOOST_TEST(later() == "1=next 0 over;");
  BOOST_TEST(!lines.is_followed(kStart));
  Launched other;
  BOOST_TEST(other.ask("follow", "0") == "waits");
  other.print(0, "one");
  static_cast<void>(other.later());
  other.lines.end();
  BOOST_TEST(other.lines.is_followed(kStart + RecentLines::kPatience));
  BOOST_TEST(!other.lines.is_followed(kStart + 2 * RecentLines::kPatience));
}

BOOST_AUTO_TEST_CASE(a_node_that_prints_much_loses_its_own_oldest_lines_only) {
  print(0, "of ps");
  const std::string kilobyte(1024, 'x');
  constexpr std::uint64_t kKept = RecentLines::kKeptMax / (1024 + RecentLines::kLineCost);
  constexpr std::uint64_t kCount = 2 * kKept;
  for (std::uint64_t i = 0; i < kCount; ++i) print(1, kilobyte);
  const LogReport all = parse_log_report(*lines.answer("logs", "0", 1, kStart));
  BOOST_REQUIRE(all.lines.size() == 1 + kKept);
  BOOST_TEST(all.lines[0].text == "of ps");
  BOOST_TEST(all.lines[1].place == kCount - kKept);
  BOOST_TEST(all.lines.back().place == kCount - 1);
  print(1, std::string(3 * RecentLines::kKeptMax, 'y'));  // longer than all that is kept: it alone
  BOOST_TEST(parse_log_report(*lines.answer("logs", "0 trainer0", 2, kStart)).lines.size() == 1U);
}

BOOST_AUTO_TEST_CASE(lines_that_never_came_leave_a_gap) {
  print(0, "one");
  lines.skip(0, 41);
  print(0, "two");
  const LogReport report = parse_log_report(*lines.answer("logs", "0", 1, kStart));
  BOOST_REQUIRE(report.lines.size() == 2U);
  BOOST_TEST(report.lines[1].place == 42U);
}

BOOST_AUTO_TEST_CASE(short_lines_count_for_more_than_their_text) {
  RecentLines many(std::vector<std::string>(16, "node"));
  for (int i = 0; i < 1'000'000; ++i) many.add(static_cast<std::size_t>(i % 16), Output::out, "");
  std::size_t count = 0;
  std::uint64_t next = 0;
  for (bool more = true; more;) {
    const std::string answer = *many.answer("logs", std::to_string(next), 1, kStart);
    BOOST_TEST(answer.size() < 4 * RecentLines::kAnswerMax);
    const LogReport report = parse_log_report(answer);
    next = report.next;
    count += report.lines.size();
    more = report.more;
  }
  BOOST_TEST(count == 16 * RecentLines::kKeptMax / RecentLines::kLineCost);
}

BOOST_AUTO_TEST_CASE(a_question_looks_at_the_lines_of_its_answer_and_at_few_others) {
  constexpr std::size_t kNodes = 16;
  constexpr std::uint64_t kKeptOfEach = RecentLines::kKeptMax / RecentLines::kLineCost;  // 2048 empty lines
  constexpr std::uint64_t kFound = kNodes * 12;  // by halving 2048 lines of each node
  RecentLines many(std::vector<std::string>(kNodes, "node"));
  for (std::size_t i = 0; i < kNodes * kKeptOfEach; ++i) many.add(i % kNodes, Output::out, "");
  const LogReport first = parse_log_report(*many.answer("logs", "0", 1, kStart));
  BOOST_TEST(first.more);
  BOOST_TEST(many.looked_at() <= first.lines.size() + 1 + kFound);
  const std::uint64_t before = many.looked_at();
  const LogReport newest = parse_log_report(*many.answer("newest", "50", 2, kStart));
  BOOST_TEST(newest.lines.size() == 50U);
  BOOST_TEST(many.looked_at() - before <= 2 * 50 + kFound);
}

BOOST_AUTO_TEST_CASE(an_answer_is_bounded_and_the_next_goes_on) {
  RecentLines many(std::vector<std::string>(16, "node"));
  const std::string line(RecentLines::kKeptMax / 4 - RecentLines::kLineCost, 'x');
  for (std::size_t i = 0; i < 64; ++i) many.add(i % 16, Output::out, line);
  many.end();
  std::size_t count = 0;
  std::uint64_t next = 0;
  for (bool over = false; !over;) {
    const std::string answer = *many.answer("logs", std::to_string(next), 1, kStart);
    BOOST_TEST(answer.size() < 2 * RecentLines::kAnswerMax);
    const LogReport report = parse_log_report(answer);
    BOOST_REQUIRE((report.over || report.next > next));
    BOOST_TEST(report.more != report.over);
    BOOST_TEST(report.end == 64U);
    next = report.next;
    count += report.lines.size();
    over = report.over;
  }
  BOOST_TEST(count == 64U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
