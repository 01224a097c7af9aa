#include "node/sim/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace troupe::sim {

void Trace::decided(Duration time, std::string_view node, std::string_view what, std::uint64_t choice,
                    std::uint64_t choices) {
  Line& line = next(time, node, what);
  line.choice = choice;
  line.choices = choices;
  mix(static_cast<std::uint64_t>(time.count()));
  mix(choice);
  mix(choices);
  for (std::string_view text : {node, what}) {
    mix(text.size());
    for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(8, text.size()))) {
      std::uint64_t piece = 0;
      std::memcpy(&piece, text.data(), std::min<std::size_t>(8, text.size()));
      mix(piece);
    }
  }
}

void Trace::remark(Duration time, std::string_view node, std::string_view text) { next(time, node, text).choices = 0; }

Trace::Line& Trace::next(Duration time, std::string_view node, std::string_view what) {
  Line& line = ring_[count_++ % ring_.size()];
  line.time = time;
  line.node.assign(node);
  line.what.assign(what);
  return line;
}

// FNV-1a over words, with a rotation so that high bits matter.
void Trace::mix(std::uint64_t value) {
  hash_ = (hash_ ^ value) * 0x100000001B3U;
  hash_ = (hash_ << 23U) | (hash_ >> 41U);
}

std::string Trace::text(std::size_t lines) const {
  std::string text;
  const std::uint64_t kept = std::min<std::uint64_t>({lines, count_, ring_.size()});
  for (std::uint64_t i = count_ - kept; i < count_; ++i) {
    const Line& line = ring_[i % ring_.size()];
    fmt::format_to(std::back_inserter(text), "{:12.6f} ms  {:10} {}", static_cast<double>(line.time.count()) / 1e6,
                   line.node, line.what);
    if (line.choices > 1) fmt::format_to(std::back_inserter(text), "  ({} of {})", line.choice + 1, line.choices);
    text += '\n';
  }
  return text;
}

}  // namespace troupe::sim
