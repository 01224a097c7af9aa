// What waits between nodes and a slow reader: who waits for whom, what is dropped, and what is counted.
#include "node/launch/log_backlog.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

const LogBacklog::Time kStart{};
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
const std::string kLine = std::string(LogBacklog::kPieceMax - 1, 'x') + "\n";
constexpr std::size_t kFilling = LogBacklog::kMax / (LogBacklog::kPieceMax + LogBacklog::kPieceCost) + 1;

/// Returns whether nodes wait at `now`, and not any more kPatience later.
bool has_room_in_the_end(LogBacklog& backlog, LogBacklog::Time now) {
  const LogBacklog::Time due = now + LogBacklog::kPatience;
  for (; now < due; now = *backlog.next_due()) {
    if (backlog.has_room(now)) return false;
  }
  return now == due && backlog.has_room(due);
}

/// A backlog whose reader takes nothing.
struct Stuck {
  Stuck() {
    fill();
    BOOST_TEST_REQUIRE(has_room_in_the_end(backlog, kStart));
    static_cast<void>(backlog.take(1));  // what was dropped at once
  }

  /// Prints kFilling lines as node 0: as many as an empty backlog takes before it is full.
  void fill() {
    for (std::size_t i = 0; i < kFilling; ++i) backlog.push(0, Output::out, kLine);
  }

  LogBacklog backlog;
};

/// Returns all texts, each with its node in front, or - for a word.
std::string shown(const LogBacklog::Taken& taken) {
  std::string text;
  for (const LogPiece& piece : taken.pieces) text += (piece.node ? std::to_string(*piece.node) : "-") + piece.text;
  return text;
}

/// Returns the ends of lines in what was taken, and of lines that are counted as dropped.
std::uint64_t lines_of(const LogBacklog::Taken& taken) {
  std::uint64_t count = 0;
  for (const LogLoss& loss : taken.losses) count += loss.lines;
  for (const LogPiece& piece : taken.pieces) count += piece.text.ends_with('\n') ? 1 : 0;
  return count;
}

BOOST_AUTO_TEST_SUITE(log_backlog)

BOOST_AUTO_TEST_CASE(pieces_come_out_in_their_order_and_short_ones_of_a_stream_together) {
  LogBacklog backlog;
  BOOST_TEST(backlog.empty());
  backlog.push(0, Output::out, "one\n");
  backlog.push(0, Output::out, "two\n");
  backlog.push(0, Output::err, "three\n");
  backlog.push_word(Output::err, "word\n");
  backlog.push_word(Output::err, "another\n");
  backlog.push(1, Output::out, "four");
  BOOST_TEST(shown(backlog.take(1)) == "0one\ntwo\n");
  BOOST_TEST(shown(backlog.take(kAll)) == "0three\n-word\n-another\n1four");
  BOOST_TEST(backlog.empty());
  BOOST_TEST(backlog.size() == 0U);
}

BOOST_AUTO_TEST_CASE(nodes_wait_for_a_reader_that_takes_enough_and_nothing_is_dropped) {
  LogBacklog backlog;
  std::uint64_t printed = 0;
  std::uint64_t taken = 0;
  LogBacklog::Time now = kStart;
  for (int second = 0; second < 100; ++second, now += LogBacklog::kPatience - 1ms) {
    for (; backlog.has_room(now); ++printed) backlog.push(0, Output::out, kLine);
    for (auto asked = 100ms; asked < LogBacklog::kPatience; asked += 100ms) BOOST_TEST(!backlog.has_room(now + asked));
    for (std::size_t bytes = 0; bytes < LogBacklog::kMax && !backlog.empty(); bytes += kLine.size()) {
      const LogBacklog::Taken some = backlog.take(1);
      BOOST_TEST(some.losses.empty());
      taken += lines_of(some);
    }
  }
  BOOST_TEST(taken + lines_of(backlog.take(kAll)) == printed);
}

BOOST_AUTO_TEST_CASE(nodes_that_wait_go_on_when_half_is_taken) {
  LogBacklog backlog;
  while (backlog.has_room(kStart)) backlog.push(0, Output::out, kLine);
  static_cast<void>(backlog.take(LogBacklog::kMax / 4));
  BOOST_TEST(!backlog.has_room(kStart));
  static_cast<void>(backlog.take(LogBacklog::kMax / 4));
  BOOST_TEST(backlog.has_room(kStart));
  BOOST_TEST(!backlog.next_due());
}

BOOST_AUTO_TEST_CASE(nodes_wait_for_a_reader_that_takes_too_little_once_and_it_gets_the_newest) {
  LogBacklog backlog;
  std::uint64_t printed = 0;
  while (backlog.has_room(kStart)) backlog.push(0, Output::out, std::to_string(printed++) + kLine);
  static_cast<void>(backlog.take(kLine.size()));
  BOOST_TEST_REQUIRE(has_room_in_the_end(backlog, kStart));
  for (int i = 0; i < 10'000; ++i) {
    BOOST_TEST_REQUIRE(backlog.has_room(kStart + LogBacklog::kPatience + i * 1ms));
    backlog.push(0, Output::out, std::to_string(printed++) + kLine);
    BOOST_TEST_REQUIRE(backlog.size() <= LogBacklog::kMax);
  }
  const LogBacklog::Taken taken = backlog.take(kAll);
  BOOST_TEST_REQUIRE(taken.losses.size() == 1U);
  BOOST_TEST(lines_of(taken) == printed - 1);
  BOOST_TEST(taken.pieces.front().text.starts_with(std::to_string(1 + taken.losses[0].lines) + "x"));
  BOOST_TEST(taken.pieces.back().text.starts_with(std::to_string(printed - 1) + "x"));
}

BOOST_AUTO_TEST_CASE(time_in_which_nobody_asks_is_not_the_readers) {
  LogBacklog backlog;
  while (backlog.has_room(kStart)) backlog.push(0, Output::out, kLine);
  LogBacklog::Time now = kStart;
  for (int i = 0; i < 9; ++i) BOOST_TEST(!backlog.has_room(now += 1h));  // as after a launcher is stopped
  BOOST_TEST(backlog.has_room(now + LogBacklog::kAskedWithin));
}

BOOST_AUTO_TEST_CASE(nodes_wait_again_for_a_reader_that_has_taken_all_or_enough) {
  Stuck all;
  static_cast<void>(all.backlog.take(kAll));
  all.fill();
  BOOST_TEST(!all.backlog.has_room(kStart + 10s));
  Stuck enough;
  for (std::size_t bytes = 0; bytes < LogBacklog::kMax; bytes += kLine.size()) {
    static_cast<void>(enough.backlog.take(1));
    enough.backlog.push(0, Output::out, kLine);
  }
  enough.fill();
  BOOST_TEST(!enough.backlog.has_room(kStart + LogBacklog::kPatience + 1ms));
}

BOOST_FIXTURE_TEST_CASE(a_reader_that_takes_a_little_at_a_time_stays_slow, Stuck) {
  LogBacklog::Time now = kStart + LogBacklog::kPatience;
  for (int i = 0; i < 1'000; ++i, now += 10ms) {  // 4 KiB in each 10 ms, of 10 KiB that would be enough
    static_cast<void>(backlog.take(1));
    for (int line = 0; line < 2; ++line) backlog.push(0, Output::out, kLine);
    BOOST_TEST_REQUIRE(backlog.has_room(now));
  }
}

BOOST_FIXTURE_TEST_CASE(each_stream_of_each_node_has_its_count_and_words_are_never_dropped, Stuck) {
  static_cast<void>(backlog.take(kAll));
  backlog.push(1, Output::out, "a\nb\n");
  backlog.push_word(Output::err, "word\n");
  backlog.push(1, Output::err, "c\n");
  backlog.push(2, Output::err, "d\n");
  fill();
  BOOST_TEST(has_room_in_the_end(backlog, kStart + 10s));
  const LogBacklog::Taken taken = backlog.take(1);
  BOOST_TEST_REQUIRE(taken.losses.size() == 4U);
  BOOST_TEST((taken.losses[1] == LogLoss{1, Output::out, 2, 4}));
  BOOST_TEST((taken.losses[2] == LogLoss{1, Output::err, 1, 2}));
  BOOST_TEST((taken.losses[3] == LogLoss{2, Output::err, 1, 2}));
  BOOST_TEST(taken.losses[0].node == 0U);
  BOOST_TEST(taken.losses[0].bytes == taken.losses[0].lines * kLine.size());
  BOOST_TEST_REQUIRE(taken.pieces.size() == 1U);
  BOOST_TEST(taken.pieces[0].text == "word\n");
  BOOST_TEST(taken.losses[0].lines + lines_of(backlog.take(kAll)) == kFilling);
}

BOOST_FIXTURE_TEST_CASE(what_follows_a_loss_begins_with_a_whole_line, Stuck) {
  static_cast<void>(backlog.take(kAll));
  backlog.push(1, Output::out, "the begin");
  fill();
  BOOST_TEST(has_room_in_the_end(backlog, kStart + 10s));
  backlog.push(1, Output::out, " and more");
  backlog.push(1, Output::err, "other\n");
  backlog.push(1, Output::out, " and the end\nwhole\n");
  const LogBacklog::Taken taken = backlog.take(kAll);
  BOOST_TEST((taken.losses.at(1) == LogLoss{1, Output::out, 1, 31}));  // 9 + 9 + 13
  BOOST_TEST_REQUIRE(taken.pieces.size() >= 2U);
  BOOST_TEST(taken.pieces.end()[-2].text == "other\n");
  BOOST_TEST(taken.pieces.end()[-1].text == "whole\n");
  backlog.push(1, Output::out, "next\n");
  BOOST_TEST(shown(backlog.take(kAll)) == "1next\n");
}

BOOST_FIXTURE_TEST_CASE(a_loss_that_came_from_elsewhere_is_passed_on_or_counted, Stuck) {
  static_cast<void>(backlog.take(kAll));
  const LogLoss loss{1, Output::out, 7, 700};
  backlog.push(1, Output::out, "one\n");
  backlog.push_loss(loss);
  backlog.push(1, Output::out, "two\n");
  const LogBacklog::Taken taken = backlog.take(kAll);
  BOOST_TEST_REQUIRE(taken.pieces.size() == 3U);
  BOOST_TEST((taken.pieces[1].loss == loss));
  BOOST_TEST(backlog.lost_lines(1) == 7U);
  backlog.push(1, Output::out, "one\n");
  backlog.push_loss(loss);
  fill();
  BOOST_TEST(has_room_in_the_end(backlog, kStart + 10s));
  BOOST_TEST(backlog.lost_lines(1) == 15U);  // 7 + 7 + 1, before the reader is told of it and after
  BOOST_TEST((backlog.take(1).losses.at(1) == LogLoss{1, Output::out, 8, 704}));
  BOOST_TEST(backlog.lost_lines(1) == 15U);
  BOOST_TEST(backlog.lost_lines(2) == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_loss_that_nothing_follows_is_told, Stuck) {
  static_cast<void>(backlog.take(kAll));
  backlog.push(1, Output::out, std::string(2 * LogBacklog::kMax, 'x') + "\n");
  BOOST_TEST(has_room_in_the_end(backlog, kStart + 10s));
  BOOST_TEST(!backlog.empty());
  BOOST_TEST((backlog.take(1).losses.at(0) == LogLoss{1, Output::out, 1, 2 * LogBacklog::kMax + 1}));
  BOOST_TEST(backlog.empty());
}

BOOST_FIXTURE_TEST_CASE(a_progress_bar_goes_on_after_a_loss, Stuck) {
  static_cast<void>(backlog.take(kAll));
  backlog.push(1, Output::err, "1%\r2");
  fill();
  BOOST_TEST(has_room_in_the_end(backlog, kStart + 10s));
  backlog.push(1, Output::err, "%\r3%\r");
  LogBacklog::Taken taken = backlog.take(kAll);
  BOOST_TEST((taken.losses.at(1) == LogLoss{1, Output::err, 0, 6}));
  BOOST_TEST(taken.pieces.back().text == "3%\r");
  backlog.push(1, Output::err, "4%\r");
  BOOST_TEST(shown(backlog.take(kAll)) == "14%\r");
  backlog.push(1, Output::err, "5%\r");
  fill();
  BOOST_TEST(has_room_in_the_end(backlog, kStart + 20s));
  backlog.push(1, Output::err, "6%\r");
  taken = backlog.take(kAll);
  BOOST_TEST((taken.losses.at(1) == LogLoss{1, Output::err, 0, 3}));
  BOOST_TEST(taken.pieces.back().text == "6%\r");
}

BOOST_FIXTURE_TEST_CASE(a_line_that_ends_with_two_characters_is_dropped_with_both, Stuck) {
  static_cast<void>(backlog.take(kAll));
  backlog.push(1, Output::out, "the begin");
  fill();
  BOOST_TEST(has_room_in_the_end(backlog, kStart + 10s));
  backlog.push(1, Output::out, " and the end\r\nwhole\r\n");
  const LogBacklog::Taken taken = backlog.take(kAll);
  BOOST_TEST((taken.losses.at(1) == LogLoss{1, Output::out, 1, 23}));
  BOOST_TEST(taken.pieces.back().text == "whole\r\n");
}

BOOST_FIXTURE_TEST_CASE(a_long_line_is_one_loss_when_it_ends, Stuck) {
  constexpr std::size_t kPiece = 64 << 10;
  static_cast<void>(backlog.take(kAll));
  backlog.push(1, Output::out, "begin");
  fill();
  BOOST_TEST(has_room_in_the_end(backlog, kStart + 10s));
  BOOST_TEST(backlog.take(kAll).losses.size() == 1U);  // of node 0
  for (int i = 0; i < 10; ++i) {
    backlog.push(1, Output::out, std::string(kPiece, 'x'));
    const LogBacklog::Taken taken = backlog.take(kAll);
    BOOST_TEST((taken.losses.empty() && taken.pieces.empty()));
    BOOST_TEST(backlog.empty());
  }
  backlog.push(1, Output::out, "end\n");
  const LogBacklog::Taken taken = backlog.take(kAll);
  BOOST_TEST_REQUIRE(taken.losses.size() == 1U);
  BOOST_TEST((taken.losses[0] == LogLoss{1, Output::out, 1, 10 * kPiece + sizeof("beginend")}));
}

BOOST_FIXTURE_TEST_CASE(a_line_that_its_node_does_not_end_is_a_loss_when_the_node_ends, Stuck) {
  static_cast<void>(backlog.take(kAll));
  backlog.push(1, Output::out, "begin");
  fill();
  BOOST_TEST(has_room_in_the_end(backlog, kStart + 10s));
  static_cast<void>(backlog.take(kAll));
  backlog.push(1, Output::out, "more");
  backlog.push_end(0, Output::out, "0 ends");
  backlog.push(1, Output::out, "most");
  backlog.push_end(1, Output::out, "1 ends");
  BOOST_TEST(backlog.take(1).losses.empty());
  const LogBacklog::Taken taken = backlog.take(kAll);
  BOOST_TEST(shown(taken) == "-1 ends");
  BOOST_TEST_REQUIRE(taken.losses.size() == 1U);
  BOOST_TEST((taken.losses[0] == LogLoss{1, Output::out, 0, sizeof("beginmoremost") - 1}));
  BOOST_TEST(backlog.empty());
}

BOOST_AUTO_TEST_CASE(a_loss_is_one_line) {
  BOOST_TEST(text_of({0, Output::out, 12'345, 1'258'291}, "ps0", "why") ==
             "12,345 lines (1.2 MiB) of ps0 were dropped: why");
  BOOST_TEST(text_of({0, Output::out, 1, 1'536}, "ps0", "why") == "1 line (1.5 KiB) of ps0 was dropped: why");
  BOOST_TEST(text_of({0, Output::out, 0, 100}, "ps0", "why") == "1 line (100 B) of ps0 was dropped: why");
  BOOST_TEST(text_of({0, Output::out, 1'234'567, 1 << 30}, "ps0", "why") ==
             "1,234,567 lines (1024.0 MiB) of ps0 were dropped: why");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
