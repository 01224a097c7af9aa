#include "tensor/io/checkpoint_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>

namespace troupe::detail {
namespace {

constexpr std::string_view kBegin = "troupe-checkpoint-";
constexpr std::string_view kEnd = ".safetensors";
// Half of the largest number, so that the generations after it are numbers too.
constexpr std::uint64_t kGenerationMax = std::numeric_limits<std::uint64_t>::max() / 2;

/// Returns the beginning of a part's name with letters and digits only, for people who look into the directory.
std::string readable(std::string_view part) {
  std::string text(part.substr(0, 64));
  std::ranges::replace_if(
      text, [](char c) { return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')); }, '_');
  return text;
}

/// Removes a number and the '-' after it from the front of `text`; nullopt if it does not begin with them.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return number;
}

}  // namespace

std::string checkpoint_file_name(std::uint64_t generation, std::size_t index, std::string_view part) {
  return fmt::format("{}{}-{}-{}{}", kBegin, generation, index, readable(part), kEnd);
}

std::optional<std::uint64_t> generation_of(std::string_view name) {
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  std::string_view left = name.substr(kBegin.size());
  const auto generation = take_number(left);
  const auto index = generation ? take_number(left) : std::nullopt;
  if (!index || *generation > kGenerationMax || left.size() < kEnd.size()) return std::nullopt;
  const std::string_view part = left.substr(0, left.size() - kEnd.size());
  if (name != checkpoint_file_name(*generation, *index, part)) return std::nullopt;
  return generation;
}

std::uint64_t generation_of(std::span<const ManifestFile> files) {
  std::uint64_t newest = 0;
  for (const ManifestFile& file : files) {
    std::string_view left = file.name;
    if (left.starts_with(kBegin)) left.remove_prefix(kBegin.size());
    const std::uint64_t generation = take_number(left).value_or(0);
    if (generation <= kGenerationMax) newest = std::max(newest, generation);
  }
  return newest;
}

std::string path_in(const std::string& directory, std::string_view name) {
  return (std::filesystem::path(directory) / name).string();
}

}  // namespace troupe::detail
