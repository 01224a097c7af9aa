#include "node/launch/log_backlog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::detail {
namespace {

// What is dropped at once: one count for many lines, instead of one for each.
constexpr std::size_t kDroppedMin = LogBacklog::kMax / 8;

constexpr std::string_view kLineEnds = "\r\n";  // or of what is shown until more comes, as of a progress bar

/// Returns "12,345".
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

/// Returns "1.2 MiB".
std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKiB = 1 << 10;
  constexpr std::uint64_t kMiB = 1 << 20;
  if (bytes < kKiB) return fmt::format("{} B", bytes);
  if (bytes < kMiB) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kKiB);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB);
}

}  // namespace

std::string text_of(const LogLoss& loss, std::string_view label, std::string_view why) {
  const std::uint64_t lines = std::max<std::uint64_t>(loss.lines, 1);  // one without an end is a line, too
  return fmt::format("{} line{} ({}) of {} {} dropped: {}", grouped(lines), lines == 1 ? "" : "s",
                     size_text(loss.bytes), label, lines == 1 ? "was" : "were", why);
}

void LogBacklog::push(std::size_t node, Output stream, std::string_view bytes) {
  append(node, stream, bytes);
  if (slow_ && size_ > kMax) drop_oldest();
}

void LogBacklog::push_loss(const LogLoss& loss) {
  pieces_.push_back({loss.node, loss.stream, {}, loss});
  lost_lines_[loss.node] += loss.lines;
  size_ += kPieceCost;
  if (slow_ && size_ > kMax) drop_oldest();
}

void LogBacklog::push_word(Output stream, std::string_view text) { append(std::nullopt, stream, text); }

void LogBacklog::push_end(std::size_t node, Output stream, std::string_view text) {
  push_word(stream, text);
  pieces_.back().ends = node;
}

bool LogBacklog::has_room(Time now) {
  if (seen_) waited_ += std::min<Time::duration>(now - *std::exchange(seen_, now), kAskedWithin);
  if (waited_ >= kPatience) {
    slow_ = true;
    waited_ = {};
    taken_ = 0;
    if (size_ > kMax) drop_oldest();
  }
  waits_ = !slow_ && size_ >= (waits_ ? kMax / 2 : kMax);
  if (waits_ && !seen_) {
    seen_ = now;
    taken_ = 0;
  }
  return !waits_;
}

std::optional<LogBacklog::Time> LogBacklog::next_due() const {
  if (!waits_ || !seen_) return std::nullopt;
  return *seen_ + std::min<Time::duration>(kAskedWithin, kPatience - waited_);
}

LogBacklog::Taken LogBacklog::take(std::size_t bytes) {
  Taken taken;
  std::size_t size = 0;
  while (!pieces_.empty() && size < bytes) {
    LogPiece piece = std::move(pieces_.front());
    pieces_.pop_front();
    size_ -= piece.text.size() + kPieceCost;
    taken_ += piece.text.size();
    end_dropped_line(piece);
    if (piece.ends) end_dropped_lines_of(*piece.ends);
    if (piece.text.empty() && !piece.loss) continue;
    size += piece.text.size();
    taken.pieces.push_back(std::move(piece));
  }
  for (auto& [stream, dropped] : dropped_) {
    if (!dropped.is_to_be_told()) continue;
    taken.losses.push_back({stream.first, stream.second, dropped.lines, dropped.bytes});
    dropped.lines = dropped.bytes = 0;
  }
  lost_ = 0;
  if (pieces_.empty() || taken_ >= kMax) {
    slow_ = false;
    seen_.reset();
    waited_ = {};
  }
  return taken;
}

std::uint64_t LogBacklog::lost_lines(std::size_t node) const {
  const auto lost = lost_lines_.find(node);
  return lost == lost_lines_.end() ? 0 : lost->second;
}

void LogBacklog::clear() { *this = LogBacklog(); }

void LogBacklog::append(std::optional<std::size_t> node, Output stream, std::string_view bytes) {
  const bool continues = node && !pieces_.empty() && pieces_.back().node == node && pieces_.back().stream == stream &&
                         !pieces_.back().loss && pieces_.back().text.size() + bytes.size() <= kPieceMax;
  if (!continues) {
    pieces_.push_back({node, stream, {}});
    size_ += kPieceCost;
  }
  pieces_.back().text += bytes;
  size_ += bytes.size();
}

void LogBacklog::drop_oldest() {
  std::deque<LogPiece> kept;
  for (LogPiece& piece : pieces_) {
    if (!piece.node || size_ + kDroppedMin <= kMax) {
      kept.push_back(std::move(piece));
      continue;
    }
    size_ -= piece.text.size() + kPieceCost;
    Dropped& dropped = drop(*piece.node, piece.stream, piece.text);
    if (!piece.loss) continue;
    dropped.lines += piece.loss->lines;
    dropped.bytes += piece.loss->bytes;
    lost_ += piece.loss->bytes;
  }
  pieces_ = std::move(kept);
}

LogBacklog::Dropped& LogBacklog::drop(std::size_t node, Output stream, std::string_view bytes) {
  Dropped& dropped = dropped_[{node, stream}];
  const auto lines = static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  dropped.lines += lines;
  lost_lines_[node] += lines;
  dropped.bytes += bytes.size();
  dropped.in_line = !bytes.empty() && kLineEnds.find(bytes.back()) == std::string_view::npos;
  lost_ += bytes.size();
  return dropped;
}

/// Drops the rest of the line whose begin was dropped.
void LogBacklog::end_dropped_line(LogPiece& piece) {
  if (!piece.node) return;
  const auto dropped = dropped_.find({*piece.node, piece.stream});
  if (dropped == dropped_.end() || !dropped->second.in_line) return;
  if (piece.loss) {
    dropped->second.in_line = false;
    return;
  }
  const std::string_view text = piece.text;
  std::size_t size = std::min(text.find_first_of(kLineEnds), text.size() - 1) + 1;
  if (text.substr(size - 1).starts_with("\r\n")) ++size;
  drop(*piece.node, piece.stream, text.substr(0, size));
  piece.text.erase(0, size);
}

void LogBacklog::end_dropped_lines_of(std::size_t node) {
  for (auto& [stream, dropped] : dropped_) {
    if (stream.first == node) dropped.in_line = false;
  }
}

}  // namespace troupe::detail
