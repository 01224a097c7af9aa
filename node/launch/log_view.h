// How `troupe up` shows its nodes' output: whole lines with the node's name in front, and below them, on a terminal,
// the nodes' progress bars. No descriptors: bytes go in, text comes out.
//
// A node draws a bar by ending (or starting) a line with \r instead of \n. A terminal shows each node's newest bar in
// the last rows; elsewhere only the bar's final state appears, as a line ended by \n.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "node/launch/log_backlog.h"
#include "node/launch/output.h"

namespace troupe {

/// Text for one of the launcher's own two streams.
struct ShownText {
  Output stream;
  std::string text;
};

class LogView {
 public:
  struct Options {
    std::array<bool, 2> is_terminal{};  ///< by Output
    bool colours = true;                ///< on terminals
    std::size_t columns = 80;           ///< bars are cut to this width, or left out if it has no room for one
  };

  /// Receives each line of a node, without its end.
  using OnLine = std::function<void(std::size_t node, Output stream, std::string_view line)>;

  /// `labels`: the text in brackets, one per node: "trainer/1".
  LogView(std::vector<std::string> labels, Options options, OnLine on_line = {});

  /// Takes `bytes` of `node`, which may start and end anywhere in a line.
  void write(std::size_t node, Output stream, std::string_view bytes);

  /// `node` has ended: shows its unfinished line and removes its bar.
  void end(std::size_t node);

  enum class Tone : std::uint8_t { quiet, plain, failure };
  /// Shows a line of the launcher itself. It is never dropped.
  void say(Output stream, std::string_view line, Tone tone = Tone::plain);

  /// Output of a node was dropped on its host. An unfinished line of it ends so.
  void lose(const detail::LogLoss& loss);

  /// The terminal's width has changed.
  void set_columns(std::size_t columns) { options_.columns = columns; }

  /// Returns text to write, in this order: the oldest lines until they have `bytes` together, and the bars as they are.
  [[nodiscard]] std::vector<ShownText> take(std::size_t bytes = std::numeric_limits<std::size_t>::max());

  /// Returns the lines that were not taken.
  [[nodiscard]] detail::LogBacklog& backlog() { return backlog_; }
  [[nodiscard]] const detail::LogBacklog& backlog() const { return backlog_; }

  static constexpr std::string_view kSlowHost = "the connection to its host is slower than they came";
  /// Returns "[troupe] 12,345 lines (1.2 MiB) of trainer/1 were dropped: `why`".
  [[nodiscard]] std::string line_of(const detail::LogLoss& loss, std::string_view why) const;

  /// Returns "[trainer/1]".
  [[nodiscard]] std::string prefix(std::size_t node) const { return "[" + nodes_[node].label + "]"; }
  /// Returns the last non-empty line of `node`, of both streams.
  [[nodiscard]] const std::string& last_line(std::size_t node) const { return nodes_[node].last_line; }
  /// Returns the last non-empty line of its standard output.
  [[nodiscard]] const std::string& last_output_line(std::size_t node) const { return nodes_[node].last_output_line; }

 private:
  struct Pending {
    std::string text;       ///< since the last end of line
    bool after_cr = false;  ///< `text` follows a \r: it replaces the bar
    std::string bar;        ///< what the last \r ended
  };
  struct NodeView {
    std::string label;
    std::array<Pending, 2> pending;   ///< by Output
    Output newest_bar = Output::out;  ///< the stream whose bar has changed last
    std::string last_line;
    std::string last_output_line;
  };

  void end_of_line(std::size_t node, Output stream);
  void carriage_return(std::size_t node, Output stream);
  void show_line(std::size_t node, Output stream, std::string_view line);
  [[nodiscard]] std::string toned(Output stream, std::string_view line, Tone tone) const;
  void set_bar(std::size_t node, Output stream, std::string_view bar);
  /// Returns the newest bar of `view`; empty if it has none.
  static const std::string& bar_of(const NodeView& view);
  bool coloured(Output stream) const { return options_.colours && options_.is_terminal[index(stream)]; }
  std::string coloured_prefix(std::size_t node, Output stream) const;
  std::string bar_rows() const;
  static std::size_t index(Output stream) { return static_cast<std::size_t>(stream); }

  std::vector<NodeView> nodes_;
  Options options_;
  OnLine on_line_;
  detail::LogBacklog backlog_;
  std::string rows_shown_;  ///< the bars on the terminal now
  std::size_t rows_shown_count_ = 0;
};

}  // namespace troupe
