#include "samples/progress.h"

#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <utility>

namespace samples {

Progress::Style Progress::style_of_stdout() { return isatty(STDOUT_FILENO) == 1 ? Style::bar : Style::lines; }

Progress::Progress(std::ostream& out, Style style, std::string title, std::int64_t total)
    : out_(out), style_(style), title_(std::move(title)), total_(total) {}

void Progress::update(std::int64_t done, std::string_view note) {
  constexpr std::int64_t kBarWidth = 20;
  const std::int64_t tenths = done * 10 / total_;
  if (style_ == Style::lines && tenths == tenths_shown_) return;
  tenths_shown_ = tenths;

  std::string line = title_;
  if (style_ == Style::bar) {
    const auto filled = static_cast<std::size_t>(std::clamp<std::int64_t>(done * kBarWidth / total_, 0, kBarWidth));
    line.append(" [").append(filled, '#').append(kBarWidth - filled, '.').append("]");
  }
  line.append(" ").append(std::to_string(done)).append("/").append(std::to_string(total_)).append(" ").append(note);
  // A shorter line must cover all of the longer one it replaces.
  const std::size_t width = line.size();
  if (style_ == Style::bar && width < width_shown_) line.append(width_shown_ - width, ' ');
  width_shown_ = width;
  out_ << line << (style_ == Style::lines || done == total_ ? '\n' : '\r') << std::flush;
}

}  // namespace samples
