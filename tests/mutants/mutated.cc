#include "tests/mutants/mutated.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace mutants {

Mutated::Mutated(const Source& source, std::vector<Switched> points) : source_(source), points_(std::move(points)) {
  std::vector<const Switched*> all;
  for (const Switched& one : points_) all.push_back(&one);
  std::ranges::sort(all, {}, [](const Switched* one) {  // containing ranges first
    const Range range = one->point->range;
    return std::tuple(range.begin, -static_cast<std::ptrdiff_t>(range.end), one->point->change, one->number);
  });
  lines_.emplace_back();
  out(source.path().ends_with(".h") ? "#pragma once\n" : "");
  out("#include \"tests/mutants/selector.h\"\n");
  out(source.all().substr(0, source.token(0).begin));
  write({0, source.size()}, all);
  out("\n");
}

void Mutated::out(std::string_view text) {
  for (const char c : text) {
    text_ += c;
    if (c == '\n') lines_.push_back(around_);
  }
}

void Mutated::write(Range range, const std::vector<const Switched*>& all) {
  std::vector<const Switched*> points;
  std::ranges::copy_if(all, std::back_inserter(points),
                       [&](const Switched* one) { return range.contains(one->point->range); });
  std::size_t at = range.begin;  // the next token
  // Copies with the white space and comments before each token, except those before the range.
  const auto copy_to = [&](std::size_t end) {
    if (at == end) return;
    if (at > range.begin)
      out(source_.all().substr(source_.token(at - 1).end, source_.token(at).begin - source_.token(at - 1).end));
    out(source_.text(at, end));
    at = end;
  };
  for (std::size_t i = 0; i < points.size();) {
    const Range whole = points[i]->point->range;
    std::vector<const Switched*> same;
    std::vector<const Switched*> inside;
    for (; i < points.size() && whole.contains(points[i]->point->range); ++i) {
      (points[i]->point->range == whole ? same : inside).push_back(points[i]);
    }
    copy_to(whole.begin);
    if (whole.begin > range.begin)
      out(source_.all().substr(source_.token(whole.begin - 1).end,
                               source_.token(whole.begin).begin - source_.token(whole.begin - 1).end));
    write_point(same, 0, inside);
    at = whole.end;
  }
  copy_to(range.end);
}

/// `same` are the points of one range, from `i` on. Each is consulted if those before it are off.
void Mutated::write_point(const std::vector<const Switched*>& same, std::size_t i,
                          const std::vector<const Switched*>& inside) {
  if (i == same.size()) return write(same.front()->point->range, inside);
  const Point& point = *same[i]->point;
  const std::string is_on = "::mutants::is_on(" + std::to_string(same[i]->number) + ")";
  around_.push_back({same[i], false});
  out("\n");
  const auto rest = [&] { write_point(same, i + 1, inside); };
  switch (point.change) {
    case Change::deleted:
      out("if (" + is_on + ") {} else ");
      rest();
      break;
    case Change::negated:
      if (point.name != kNone) {
        rest();
        out("; " + is_on + " != static_cast<bool>(" + std::string(source_.text(point.name)) + ")");
      } else {
        out("(" + is_on + " != static_cast<bool>(");
        rest();
        out("))");
      }
      break;
    case Change::swapped:
      out("(" + is_on + " ? ");
      write_copy(point.second, inside);
      out(" : ");
      write(point.first, inside);
      out("), (" + is_on + " ? ");
      write_copy(point.first, inside);
      out(" : ");
      write(point.second, inside);
      out(")");
      break;
    case Change::relation:
      out("(" + is_on + " ? ");
      write_copy(point.first, inside);
      out(" " + point.instead + " ");
      write_copy(point.second, inside);
      out(" : ");
      rest();
      out(")");
      break;
    case Change::number:
      out("(" + is_on + " ? " + point.instead + " : ");
      rest();
      out(")");
      break;
  }
  around_.pop_back();
  out("\n");
}

void Mutated::write_copy(Range range, const std::vector<const Switched*>& inside) {
  around_.back().is_copy = true;
  out("\n");
  write(range, inside);
  around_.back().is_copy = false;
  out("\n");
}

std::optional<int> Mutated::to_blame(int line) const {
  const auto at = static_cast<std::size_t>(line) - 1;
  if (at >= lines_.size() || lines_[at].empty()) return std::nullopt;
  const auto& frames = lines_[at];
  // An error in a copy is the copy's fault: without it, the original code would have the error too.
  const auto copy = std::ranges::find(frames, true, &Frame::is_copy);
  return copy != frames.end() ? copy->point->number : frames.back().point->number;
}

std::optional<int> Mutated::to_blame_after(int line) const {
  for (int at = line; at <= static_cast<int>(lines_.size()); ++at) {
    if (const auto number = to_blame(at)) return number;
  }
  return std::nullopt;
}

std::optional<int> Mutated::to_blame_for_end(int line) const {
  const auto change = [](const Frame& frame) { return frame.point->point->change; };
  for (auto at = std::min(static_cast<std::size_t>(line), lines_.size()); at-- > 0;) {  // the nearest deletion first
    const auto deleted = std::ranges::find(lines_[at], Change::deleted, change);
    if (deleted != lines_[at].end()) return deleted->point->number;
  }
  return std::nullopt;
}

}  // namespace mutants
