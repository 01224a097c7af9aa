// Lines with their node's name, and progress bars in the last rows of a terminal.
#include "node/launch/log_view.h"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace troupe;
using troupe::detail::LogBacklog;

BOOST_AUTO_TEST_SUITE(log_view)

namespace {

LogView view(LogView::Options options = {}) { return LogView({"ps", "trainer/0", "trainer/1"}, options); }

constexpr LogView::Options kTerminal{.is_terminal = {true, true}, .colours = false, .columns = 24};

/// Returns the output on both streams together.
std::string shown(LogView& view) {
  std::string text;
  for (const ShownText& piece : view.take()) text += piece.text;
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(only_whole_lines_appear_however_the_bytes_come) {
  LogView logs = view();
  logs.write(2, Output::out, "hel");
  BOOST_TEST(shown(logs) == "");
  logs.write(0, Output::out, "one\ntwo\nthr");
  logs.write(2, Output::out, "lo\n\n");
  BOOST_TEST(shown(logs) == "[ps] one\n[ps] two\n[trainer/1] hello\n[trainer/1]\n");
  logs.end(0);
  BOOST_TEST(shown(logs) == "[ps] thr\n");
}

BOOST_AUTO_TEST_CASE(both_streams_of_a_node_keep_their_own_lines) {
  LogView logs = view();
  logs.write(0, Output::out, "a");
  logs.write(0, Output::err, "b\n");
  logs.write(0, Output::out, "c\n");
  const auto pieces = logs.take();
  BOOST_TEST_REQUIRE(pieces.size() == 2u);
  BOOST_CHECK(pieces[0].stream == Output::err);
  BOOST_TEST(pieces[0].text == "[ps] b\n");
  BOOST_CHECK(pieces[1].stream == Output::out);
  BOOST_TEST(pieces[1].text == "[ps] ac\n");
}

BOOST_AUTO_TEST_CASE(last_lines_are_remembered) {
  LogView logs = view();
  logs.write(1, Output::out, "accuracy 97\n\n");
  logs.write(1, Output::err, "warning\n");
  BOOST_TEST(logs.last_output_line(1) == "accuracy 97");
  BOOST_TEST(logs.last_line(1) == "warning");
  BOOST_TEST(logs.last_line(0) == "");
}

BOOST_AUTO_TEST_CASE(away_from_a_terminal_only_the_final_state_of_a_bar_appears) {
  for (const std::string text : {"10%\r50%\r100%\r\n", "\r10%\r50%\r100%\n", "\r10%\r50%\r100%\r\n"}) {
    LogView logs = view();
    for (const char byte : text) logs.write(0, Output::out, std::string_view(&byte, 1));
    logs.write(0, Output::out, "done\n");
    BOOST_TEST(shown(logs) == "[ps] 100%\n[ps] done\n");
  }
}

BOOST_AUTO_TEST_CASE(windows_line_ends_are_line_ends) {
  LogView logs = view();
  logs.write(0, Output::out, "one\r\ntwo\r\n");
  BOOST_TEST(shown(logs) == "[ps] one\n[ps] two\n");
}

BOOST_AUTO_TEST_CASE(a_bar_that_a_dead_node_left_becomes_a_line) {
  LogView logs = view(kTerminal);
  logs.write(0, Output::out, "\r50%");
  BOOST_TEST(shown(logs) == "[ps] 50%");
  logs.end(0);
  BOOST_TEST(shown(logs) == "\r\x1b[K[ps] 50%\n");
}

BOOST_AUTO_TEST_CASE(each_stream_has_its_own_bar_and_the_newest_is_shown) {
  LogView logs = view(kTerminal);
  logs.write(0, Output::out, "payload 1\r");
  logs.write(0, Output::err, "50%\r");
  BOOST_TEST(shown(logs) == "[ps] 50%");
  logs.write(0, Output::out, "\n");
  BOOST_TEST(shown(logs) == "\r\x1b[K[ps] payload 1\n[ps] 50%");
  logs.write(0, Output::err, "\n");
  BOOST_TEST(shown(logs) == "\r\x1b[K[ps] 50%\n");
}

BOOST_AUTO_TEST_CASE(a_terminal_keeps_the_bars_below_the_lines) {
  LogView logs = view(kTerminal);
  logs.write(1, Output::out, "\r10%");
  logs.write(2, Output::out, "20%\r");
  BOOST_TEST(shown(logs) == "[trainer/0] 10%\n[trainer/1] 20%");
  BOOST_TEST(shown(logs) == "");  // nothing changed
  logs.write(0, Output::out, "hello\n");
  BOOST_TEST(shown(logs) == "\r\x1b[K\x1b[1A\r\x1b[K[ps] hello\n[trainer/0] 10%\n[trainer/1] 20%");
  logs.write(1, Output::out, "\r100%\n");
  BOOST_TEST(shown(logs) == "\r\x1b[K\x1b[1A\r\x1b[K[trainer/0] 100%\n[trainer/1] 20%");
}

BOOST_AUTO_TEST_CASE(bars_are_cut_to_the_width_and_lose_commands_that_move_the_cursor) {
  LogView logs = view(kTerminal);  // 24 columns: 5 for "[ps] ", 3 stay free, 16 for the bar
  logs.write(0, Output::out, "\r\x1b[2K\x1b[32m0123456789äöü34567890123\x1b[0m");
  BOOST_TEST(shown(logs) == "[ps] \x1b[32m0123456789äöü345");
}

// A row that wraps is never erased.
BOOST_AUTO_TEST_CASE(wide_characters_count_for_two_columns_and_marks_over_others_for_none) {
  const auto row_of = [](const std::string& bar) {
    LogView logs = view({.is_terminal = {true, true}, .colours = false, .columns = 20});  // 12 for the bar
    logs.write(0, Output::out, "\r" + bar);
    return shown(logs);
  };
  const auto times = [](int count, const std::string& text) {
    std::string result;
    for (int i = 0; i < count; ++i) result += text;
    return result;
  };
  BOOST_TEST(row_of(times(20, "🙂")) == "[ps] " + times(6, "🙂"));
  BOOST_TEST(row_of("a" + times(20, "進")) == "[ps] a" + times(5, "進"));
  BOOST_TEST(row_of(times(20, "e\u0301")) == "[ps] " + times(12, "e\u0301"));
  BOOST_TEST(row_of(times(20, "█")) == "[ps] " + times(12, "█"));
  BOOST_TEST(row_of(times(20, "\xf0")) == "[ps] " + times(12, "\xf0"));  // no UTF-8: each byte takes a column
}

BOOST_AUTO_TEST_CASE(a_row_without_room_for_a_bar_is_left_out) {
  LogView logs = view(kTerminal);
  logs.write(1, Output::out, "\rhalf");
  BOOST_TEST(shown(logs) == "[trainer/0] half");
  logs.set_columns(15);  // 12 for "[trainer/0] ", 3 stay free
  BOOST_TEST(shown(logs) == "\r\x1b[K");
  logs.write(0, Output::out, "\rquarter");
  BOOST_TEST(shown(logs) == "[ps] quarter");
  logs.set_columns(16);
  BOOST_TEST(shown(logs) == "\r\x1b[K[ps] quarter\n[trainer/0] h");
}

BOOST_AUTO_TEST_CASE(prefixes_are_coloured_on_a_terminal_only) {
  LogView logs = view({.is_terminal = {true, false}});
  logs.write(0, Output::out, "a\n");
  logs.write(0, Output::err, "b\n");
  logs.say(Output::out, "bad", LogView::Tone::failure);
  BOOST_TEST(shown(logs) == "\x1b[36m[ps]\x1b[0m a\n[ps] b\n\x1b[1;31mbad\x1b[0m\n");
}

BOOST_AUTO_TEST_CASE(a_line_without_end_is_shown_in_pieces) {
  LogView logs = view();
  logs.write(0, Output::out, std::string(70'000, 'x'));
  BOOST_TEST(shown(logs).size() == 70'000u + 6);
}

BOOST_AUTO_TEST_CASE(lines_that_were_dropped_are_counted_where_they_stood) {
  LogView logs = view();
  logs.write(1, Output::out, "one\nan unfinished");
  logs.lose({1, Output::out, 12'345, 1'258'291});
  logs.write(1, Output::out, "two\n");
  logs.lose({1, Output::err, 1, 8});
  BOOST_TEST(
      shown(logs) ==
      "[trainer/0] one\n[trainer/0] an unfinished\n"
      "[troupe] 12,345 lines (1.2 MiB) of trainer/0 were dropped: the connection to its host is slower than they "
      "came\n[trainer/0] two\n"
      "[troupe] 1 line (8 B) of trainer/0 was dropped: the connection to its host is slower than they came\n");
}

BOOST_AUTO_TEST_CASE(a_slow_reader_gets_the_newest_lines_and_all_words) {
  LogView logs = view();
  logs.say(Output::out, "[troupe] begins");
  const std::string line(1023, 'x');
  LogBacklog::Time now{};
  std::size_t printed = 0;
  while (logs.backlog().has_room(now)) logs.write(0, Output::out, std::to_string(printed++) + line + "\n");
  while (!logs.backlog().has_room(now)) now += LogBacklog::kAskedWithin;
  for (int i = 0; i < 2'000 && logs.backlog().has_room(now); ++i) {
    logs.write(0, Output::out, std::to_string(printed++) + line + "\n");
  }
  logs.say(Output::out, "[troupe] ends");
  const std::string text = shown(logs);
  BOOST_TEST(text.starts_with("[troupe] "));
  const std::size_t counted =
      text.find(" of ps were dropped: the reader is slower than they came\n[troupe] begins\n[ps] ");
  BOOST_TEST_REQUIRE(counted != std::string::npos);
  BOOST_TEST(text.ends_with(std::to_string(printed - 1) + line + "\n[troupe] ends\n"));
}

BOOST_AUTO_TEST_SUITE_END()
