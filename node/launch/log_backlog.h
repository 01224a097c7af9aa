// What nodes have printed and their reader has not taken yet: bounded, and what was dropped is counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/launch/output.h"

namespace troupe::detail {

/// Output that was dropped.
struct LogLoss {
  std::size_t node = 0;
  Output stream = Output::out;
  std::uint64_t lines = 0;  ///< ends of lines
  std::uint64_t bytes = 0;
  friend bool operator==(const LogLoss&, const LogLoss&) = default;
};

/// Output of a node, or a word of somebody else.
struct LogPiece {
  std::optional<std::size_t> node;  ///< nullopt: a word
  Output stream;
  std::string text;
  std::optional<LogLoss> loss = {};      ///< instead of a text
  std::optional<std::size_t> ends = {};  ///< a word: nothing of this node follows
};

/// Returns "12,345 lines (1.2 MiB) of ps were dropped: `why`".
[[nodiscard]] std::string text_of(const LogLoss& loss, std::string_view label, std::string_view why);

/// Between nodes and a reader that may be slower than they print. Nodes wait for a reader that takes kMax bytes in each
/// kPatience, and nothing is dropped. For a slower one nobody waits: beyond kMax bytes the oldest output is dropped,
/// until the reader takes that much again or has taken all. The oldest, because the newest says why a run ends.
///
/// All pieces of a stream that follow a loss begin at the begin of a line, or of what '\r' leaves of one, as in a
/// progress bar. A line without an end is a loss when its end comes, or its node's. Words are never dropped. A plain
/// class: one thread at a time.
class LogBacklog {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kMax = 1 << 20;
  static constexpr std::size_t kPieceMax = 4096;  ///< short output of one stream becomes pieces of up to this size
  static constexpr std::size_t kPieceCost = 64;   ///< bytes that a piece counts for besides its text
  static constexpr std::chrono::milliseconds kPatience{1'000};
  /// A longer time between two calls of has_room() counts as this one: then this process did not run, not the reader.
  static constexpr std::chrono::milliseconds kAskedWithin{100};

  /// Appends output of a node, which may begin and end anywhere in a line.
  void push(std::size_t node, Output stream, std::string_view bytes);

  /// Appends that output was dropped before it came here. If that is dropped, too, it is counted with the rest.
  void push_loss(const LogLoss& loss);

  /// Appends a word, a piece of its own.
  void push_word(Output stream, std::string_view text);

  /// Appends a word with which `node` ends: nothing of it follows.
  void push_end(std::size_t node, Output stream, std::string_view text);

  [[nodiscard]] bool empty() const { return pieces_.empty() && lost_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Returns whether more output should be read from nodes; if not, ask again after take() and at next_due().
  [[nodiscard]] bool has_room(Time now);

  /// Returns when has_room() must be asked again without take(); nullopt: never.
  [[nodiscard]] std::optional<Time> next_due() const;

  struct Taken {
    std::vector<LogLoss> losses;  ///< of what came before the pieces
    std::vector<LogPiece> pieces;
  };
  /// Takes the oldest pieces, until they have `bytes` together.
  [[nodiscard]] Taken take(std::size_t bytes);

  /// Returns how many ends of lines of `node` were dropped until now, here or before they came here.
  [[nodiscard]] std::uint64_t lost_lines(std::size_t node) const;

  /// Drops all, and counts nothing.
  void clear();

 private:
  using Stream = std::pair<std::size_t, Output>;
  struct Dropped {
    std::uint64_t lines = 0;
    std::uint64_t bytes = 0;
    bool in_line = false;  ///< it ended within a line, whose rest is dropped, too
    [[nodiscard]] bool is_to_be_told() const { return bytes > 0 && (lines > 0 || !in_line); }
  };

  void append(std::optional<std::size_t> node, Output stream, std::string_view bytes);
  void drop_oldest();
  Dropped& drop(std::size_t node, Output stream, std::string_view bytes);
  void end_dropped_line(LogPiece& piece);
  void end_dropped_lines_of(std::size_t node);

  std::deque<LogPiece> pieces_;
  std::size_t size_ = 0;
  std::map<Stream, Dropped> dropped_;
  std::map<std::size_t, std::uint64_t> lost_lines_;
  std::uint64_t lost_ = 0;    ///< bytes of dropped_, since the last take()
  bool waits_ = false;        ///< nodes are not read
  bool slow_ = false;         ///< the reader is
  std::optional<Time> seen_;  ///< the last has_room(), while the reader is measured; nullopt: nobody waits for it
  Time::duration waited_{};   ///< of kPatience
  std::size_t taken_ = 0;     ///< meanwhile
};

}  // namespace troupe::detail
