#include "node/joining/rendezvous_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "node/node_name.h"

namespace troupe {
namespace {

constexpr std::string_view kFirstWords = "troupe-rendezvous 1 ";
constexpr std::size_t kDigits = 16;

/// Takes what is before the next `end` from the front of `text`, and that; nullopt: there is none.
std::optional<std::string_view> take_until(std::string_view& text, char end) {
  const std::size_t size = text.find(end);
  if (size == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(size + 1);
  return taken;
}

/// Reads 16 lower-case hexadecimal digits.
bool read_digits(std::string_view digits, std::uint64_t& number) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (digits.size() != kDigits || !std::ranges::all_of(digits, is_digit)) return false;
  return std::from_chars(digits.data(), digits.data() + digits.size(), number, 16).ec == std::errc{};
}

std::optional<Peer> node_of(std::string_view line) {
  const auto life = take_until(line, ' ');
  const auto name = take_until(line, ' ');
  Peer node;
  if (!life || !name || life->size() != 2 * kDigits || !read_digits(life->substr(0, kDigits), node.incarnation.high) ||
      !read_digits(life->substr(kDigits), node.incarnation.low)) {
    return std::nullopt;
  }
  if (!is_valid_node_name(*name) || line.empty() || !fits_rendezvous_line(line)) return std::nullopt;
  node.name = *name;
  node.address = line;
  return node;
}

}  // namespace

bool fits_rendezvous_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

std::optional<RendezvousContent> RendezvousContent::parse(std::string_view text) {
  if (!text.starts_with(kFirstWords)) return std::nullopt;
  text.remove_prefix(kFirstWords.size());
  const auto cluster_id = take_until(text, '\n');
  if (!cluster_id || !fits_rendezvous_line(*cluster_id)) return std::nullopt;
  RendezvousContent content{.cluster_id = std::string(*cluster_id), .nodes = {}};
  while (!text.empty()) {
    const auto line = take_until(text, '\n');
    std::optional<Peer> node = line ? node_of(*line) : std::nullopt;
    if (!node) return std::nullopt;
    content.nodes.push_back(*std::move(node));
  }
  return content;
}

std::string RendezvousContent::text() const {
  std::string text = fmt::format("{}{}\n", kFirstWords, cluster_id);
  for (const Peer& node : nodes) {
    text += fmt::format("{:016x}{:016x} {} {}\n", node.incarnation.high, node.incarnation.low, node.name, node.address);
  }
  return text;
}

}  // namespace troupe
