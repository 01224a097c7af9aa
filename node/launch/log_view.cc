#include "node/launch/log_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t kLineBytesMax = 64 * 1024;
constexpr std::size_t kRowsMax = 8;
constexpr std::array<std::string_view, 6> kColours = {"\x1b[36m", "\x1b[33m", "\x1b[32m",
                                                      "\x1b[35m", "\x1b[34m", "\x1b[96m"};
constexpr std::string_view kFailureColour = "\x1b[1;31m";
constexpr std::string_view kQuietColour = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kEraseRow = "\r\x1b[K";
constexpr std::string_view kRowUp = "\x1b[1A";

std::string_view trimmed(std::string_view text) {
  const auto end = text.find_last_not_of(" \r");
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

struct CodePoints {
  char32_t first;
  char32_t last;
};

// By Unicode's East Asian Width and its emoji. Where terminals differ, as for flags and characters that other ones make
// an emoji, the larger number counts: a row that is too short is no harm.
constexpr std::array kWide = std::to_array<CodePoints>(
    {{0x1100, 0x115f},  {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x23f0, 0x23f0},
     {0x23f3, 0x23f3},  {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2630, 0x2637},   {0x2648, 0x2653},
     {0x267f, 0x267f},  {0x268a, 0x268f},   {0x2693, 0x2693},   {0x26a1, 0x26a1},   {0x26aa, 0x26ab},
     {0x26bd, 0x26be},  {0x26c4, 0x26c5},   {0x26ce, 0x26ce},   {0x26d4, 0x26d4},   {0x26ea, 0x26ea},
     {0x26f2, 0x26f3},  {0x26f5, 0x26f5},   {0x26fa, 0x26fa},   {0x26fd, 0x26fd},   {0x2705, 0x2705},
     {0x270a, 0x270b},  {0x2728, 0x2728},   {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},
     {0x2757, 0x2757},  {0x2795, 0x2797},   {0x27b0, 0x27b0},   {0x27bf, 0x27bf},   {0x2b1b, 0x2b1c},
     {0x2b50, 0x2b50},  {0x2b55, 0x2b55},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97f},
     {0xac00, 0xd7a3},  {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
     {0xffe0, 0xffe6},  {0x16fe0, 0x18dff}, {0x1aff0, 0x1b2ff}, {0x1d300, 0x1d376}, {0x1f000, 0x1faff},
     {0x20000, 0x3fffd}});
constexpr std::array kNarrowest = std::to_array<CodePoints>({{0x0300, 0x036f},
                                                             {0x0483, 0x0489},
                                                             {0x1ab0, 0x1aff},
                                                             {0x1dc0, 0x1dff},
                                                             {0x200b, 0x200f},
                                                             {0x202a, 0x202e},
                                                             {0x2060, 0x2064},
                                                             {0x20d0, 0x20ff},
                                                             {0xfe00, 0xfe0e},
                                                             {0xfe20, 0xfe2f},
                                                             {0xfeff, 0xfeff}});

/// Returns how many columns of a terminal `point` takes at most: 0 for marks that go over the character before.
std::size_t columns_of(char32_t point) {
  const auto has_it = [point](const CodePoints& range) { return range.first <= point && point <= range.last; };
  if (std::ranges::any_of(kNarrowest, has_it)) return 0;
  return std::ranges::any_of(kWide, has_it) ? 2 : 1;
}

/// Returns the bytes of the UTF-8 character at the begin of `text`; one byte if there is none.
std::string_view first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t size = lead >= 0xf0U ? 4 : lead >= 0xe0U ? 3 : lead >= 0xc0U ? 2 : 1;
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; };
  if (size > text.size() || !std::ranges::all_of(text.substr(1, size - 1), continues)) return text.substr(0, 1);
  return text.substr(0, size);
}

char32_t code_point_of(std::string_view character) {
  char32_t point = static_cast<unsigned char>(character.front());
  if (character.size() > 1) point &= 0x7fU >> character.size();
  for (const char byte : character.substr(1)) point = point << 6U | (static_cast<unsigned char>(byte) & 0x3fU);
  return point;
}

/// Returns the prefix of `text` that fits into `columns`, with its colours but without other terminal commands.
std::string fitted(std::string_view text, std::size_t columns) {
  std::string result;
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with("\x1b[")) {
      const std::size_t final_byte = std::min(text.find_first_not_of("0123456789;?", i + 2), text.size() - 1);
      if (text[final_byte] == 'm') result += text.substr(i, final_byte + 1 - i);
      i = final_byte + 1;
      continue;
    }
    const std::string_view character = first_character(text.substr(i));
    width += columns_of(code_point_of(character));
    if (width > columns) break;
    if (static_cast<unsigned char>(character.front()) >= 0x20U) result += character;
    i += character.size();
  }
  return result;
}

}  // namespace

LogView::LogView(std::vector<std::string> labels, Options options, OnLine on_line)
    : options_(options), on_line_(std::move(on_line)) {
  for (std::string& label : labels) {
    NodeView node;
    node.label = std::move(label);
    nodes_.push_back(std::move(node));
  }
}

void LogView::write(std::size_t node, Output stream, std::string_view bytes) {
  Pending& pending = nodes_[node].pending[index(stream)];
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    pending.text += bytes.substr(0, end);
    if (end == bytes.size()) break;
    if (bytes[end] == '\n') {
      end_of_line(node, stream);
    } else {
      carriage_return(node, stream);
    }
    bytes.remove_prefix(end + 1);
  }
  if (pending.text.size() > kLineBytesMax) end_of_line(node, stream);
  if (pending.after_cr && !trimmed(pending.text).empty()) set_bar(node, stream, trimmed(pending.text));
}

void LogView::carriage_return(std::size_t node, Output stream) {
  Pending& pending = nodes_[node].pending[index(stream)];
  if (!pending.text.empty()) set_bar(node, stream, trimmed(pending.text));
  pending.text.clear();
  pending.after_cr = true;
}

void LogView::end_of_line(std::size_t node, Output stream) {
  Pending& pending = nodes_[node].pending[index(stream)];
  // "bar 100%\r\n" and "\rbar 100%\n" both leave the bar as the line.
  std::string line = std::move(pending.text);
  if (line.empty()) line = std::move(pending.bar);
  pending = {};
  show_line(node, stream, line);
}

void LogView::end(std::size_t node) {
  for (const Output stream : {Output::out, Output::err}) {
    const Pending& pending = nodes_[node].pending[index(stream)];
    if (!pending.text.empty() || !pending.bar.empty()) end_of_line(node, stream);
  }
}

void LogView::set_bar(std::size_t node, Output stream, std::string_view bar) {
  nodes_[node].pending[index(stream)].bar = bar;
  nodes_[node].newest_bar = stream;
}

const std::string& LogView::bar_of(const NodeView& view) {
  const std::string& newest = view.pending[index(view.newest_bar)].bar;
  return newest.empty() ? view.pending[1 - index(view.newest_bar)].bar : newest;
}

void LogView::show_line(std::size_t node, Output stream, std::string_view line) {
  NodeView& view = nodes_[node];
  if (!trimmed(line).empty()) {
    view.last_line = line;
    if (stream == Output::out) view.last_output_line = line;
  }
  if (on_line_) on_line_(node, stream, line);
  const std::string_view space = line.empty() ? "" : " ";
  backlog_.push(node, stream, fmt::format("{}{}{}\n", coloured_prefix(node, stream), space, line));
}

void LogView::say(Output stream, std::string_view line, Tone tone) {
  backlog_.push_word(stream, toned(stream, line, tone));
}

void LogView::lose(const detail::LogLoss& loss) {
  if (!nodes_[loss.node].pending[index(loss.stream)].text.empty()) end_of_line(loss.node, loss.stream);
  backlog_.push_loss(loss);
}

std::string LogView::line_of(const detail::LogLoss& loss, std::string_view why) const {
  return "[troupe] " + text_of(loss, nodes_[loss.node].label, why);
}

std::string LogView::toned(Output stream, std::string_view line, Tone tone) const {
  if (tone == Tone::plain || !coloured(stream)) return fmt::format("{}\n", line);
  return fmt::format("{}{}{}\n", tone == Tone::failure ? kFailureColour : kQuietColour, line, kPlain);
}

std::vector<ShownText> LogView::take(std::size_t bytes) {
  std::vector<ShownText> result;
  const std::string rows = bar_rows();
  // One terminal for both streams is the usual case; the bars live on standard error if that is a terminal.
  const Output bars = options_.is_terminal[index(Output::err)] ? Output::err : Output::out;
  const detail::LogBacklog::Taken taken = backlog_.take(bytes);
  const bool redraw = !taken.losses.empty() || !taken.pieces.empty() || rows != rows_shown_;
  if (redraw && rows_shown_count_ > 0) {
    std::string erase(kEraseRow);
    for (std::size_t i = 1; i < rows_shown_count_; ++i) erase.append(kRowUp).append(kEraseRow);
    result.push_back({bars, std::move(erase)});
  }
  const auto put = [&result](Output stream, std::string_view text) {
    if (result.empty() || result.back().stream != stream) result.push_back({stream, {}});
    result.back().text += text;
  };
  const auto put_loss = [&](const detail::LogLoss& loss, std::string_view why) {
    put(loss.stream, toned(loss.stream, line_of(loss, why), Tone::quiet));
  };
  for (const detail::LogLoss& loss : taken.losses) put_loss(loss, "the reader is slower than they came");
  for (const detail::LogPiece& piece : taken.pieces) {
    if (piece.loss) {
      put_loss(*piece.loss, kSlowHost);
    } else {
      put(piece.stream, piece.text);
    }
  }
  if (redraw && !rows.empty()) result.push_back({bars, rows});
  rows_shown_ = rows;
  rows_shown_count_ = rows.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(rows.begin(), rows.end(), '\n'));
  return result;
}

std::string LogView::bar_rows() const {
  std::string rows;
  if (!options_.is_terminal[0] && !options_.is_terminal[1]) return rows;
  std::size_t count = 0;
  for (std::size_t node = 0; node < nodes_.size() && count < kRowsMax; ++node) {
    const std::string& bar = bar_of(nodes_[node]);
    // "[label] " in front, and behind it room for the "^C" that a terminal echoes: a row that wraps cannot be erased.
    const std::size_t taken = nodes_[node].label.size() + 3 + 3;
    if (bar.empty() || options_.columns <= taken) continue;
    const Output bars = options_.is_terminal[index(Output::err)] ? Output::err : Output::out;
    rows += fmt::format("{}{} {}{}", count == 0 ? "" : "\n", coloured_prefix(node, bars),
                        fitted(bar, options_.columns - taken), coloured(bars) ? kPlain : "");
    ++count;
  }
  return rows;
}

std::string LogView::coloured_prefix(std::size_t node, Output stream) const {
  if (!coloured(stream)) return prefix(node);
  return fmt::format("{}{}{}", kColours[node % kColours.size()], prefix(node), kPlain);
}

}  // namespace troupe
