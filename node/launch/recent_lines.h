// The newest lines that nodes have printed, for `troupe logs`: kept by the launcher, asked for at its control socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/control/cluster_report.h"
#include "node/launch/log_view.h"

namespace troupe::detail {

/// Answers "newest COUNT [NODE]" and "logs FROM [NODE]" at once, and "follow FROM [NODE]" when there is a line, the
/// cluster has ended, or kPatience has passed. FROM is 0 or `next` of the answer before; an answer is a LogReport as
/// JSON. A question looks at no more lines than its answer has, or COUNT, and at a few of each node. A plain class: one
/// thread at a time.
class RecentLines {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kLineCost = 64;          ///< bytes that a line counts for besides its text
  static constexpr std::size_t kKeptMax = 128 << 10;    ///< bytes of one node's lines; older ones are dropped
  static constexpr std::size_t kAnswerMax = 512 << 10;  ///< bytes of lines in an answer; `next` leads to the rest
  static constexpr std::chrono::milliseconds kPatience = LogReport::kPatience;

  /// `names`: of the nodes; answers have them.
  explicit RecentLines(std::vector<std::string> names);

  /// A node has printed a line.
  void add(std::size_t node, Output stream, std::string_view line);

  /// A node has printed lines that did not come here.
  void skip(std::size_t node, std::uint64_t lines) { nodes_[node].count += lines; }

  /// Returns the answer to a question if it is known now; otherwise take_answers() has it later. `words`: behind the
  /// verb.
  [[nodiscard]] std::optional<std::string> answer(std::string_view verb, std::string_view words, std::uint64_t id,
                                                  Time now);

  /// Returns the ids and answers of questions that wait no longer.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::string>> take_answers(Time now);

  /// Returns when take_answers() is next needed without a new line; nullopt: never.
  [[nodiscard]] std::optional<Time> next_due() const;

  /// There will be no more lines: answers say so.
  void end() { over_ = true; }

  /// Returns at how many lines all questions together have looked.
  [[nodiscard]] std::uint64_t looked_at() const { return looked_at_; }

  /// Returns whether a follower does not know of the end yet and is expected to ask soon.
  [[nodiscard]] bool is_followed(Time now) const;

 private:
  struct Line {
    std::uint64_t number = 0;  ///< of all nodes
    std::uint64_t place = 0;   ///< of its node
    Output stream = Output::out;
    std::string text;
    [[nodiscard]] std::size_t cost() const { return kLineCost + text.size(); }
  };
  struct NodeLines {
    std::string name;
    std::deque<Line> kept;
    std::size_t bytes = 0;
    std::uint64_t count = 0;
  };
  struct Question {
    std::uint64_t id = 0;
    std::uint64_t from = 0;
    std::optional<std::size_t> node;
    Time due;
  };

  [[nodiscard]] LogReport since(std::uint64_t from, std::optional<std::size_t> node);
  [[nodiscard]] std::uint64_t first_of_newest(std::uint64_t count, std::optional<std::size_t> node);
  std::string told(const LogReport& report);

  std::vector<NodeLines> nodes_;
  std::uint64_t count_ = 0;
  std::uint64_t looked_at_ = 0;
  bool over_ = false;
  std::vector<Question> waiting_;  ///< the oldest first
  std::size_t followers_ = 0;      ///< the most that have waited at once
  std::size_t told_end_ = 0;       ///< followers that know of the end
  std::optional<Time> followed_;   ///< when somebody asked last
};

}  // namespace troupe::detail
